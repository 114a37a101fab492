/* system_text.c - texts and times of system tables as Java has them. Spec: system-tables,
 * "Conventions". */
#include "catalog/system_kinds.h"
#include "column/time_text.h"
#include "model/java_map.h"
#include "model/partition.h"

/* ------------------------------------------------------------------ times */

static int64_t floor_second(int64_t ms) {
  return ms / 1000 - (ms % 1000 < 0);
}

int64_t tn_system_local_ms(const tarn_env *env, int64_t epoch_ms) {
  return epoch_ms + (int64_t)tn_zone_offset_at(env->zone, floor_second(epoch_ms)) * 1000;
}

int64_t tn_system_epoch_ms(const tarn_env *env, int64_t local_ms) {
  int64_t second = floor_second(local_ms);
  return tn_zone_local_to_utc(env->zone, second) * 1000 + (local_ms - second * 1000);
}

/* ------------------------------------------------------------------ row strings */

static tarn_status row_text(const tn_table *table, const tn_datum *values, tn_buf *out,
                            tarn_error *err) {
  const tn_schema *schema = table->schema;
  TN_TRY(tn_buf_text(out, "{", err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_type *type = &schema->fields[schema->partition_columns[i]].type;
    TN_TRY(tn_buf_text(out, i > 0 ? ", " : "", err));
    if (!values[i].is_null && (tn_type_is_string(type) || tn_type_is_bytes(type))) {
      TN_TRY(tn_buf_java_text(out, values[i].v.bytes, err));
    } else {
      TN_TRY(tn_datum_to_text(type, &values[i], table->env->zone, out, err));
    }
  }
  return tn_buf_text(out, "}", err);
}

tarn_status tn_system_partition_text(const tn_table *table, tn_slice partition, tn_buf *out,
                                     tarn_error *err) {
  tn_arena scratch;
  tn_datum *values;
  tarn_status st;
  tn_arena_init(&scratch, &table->env->mem, TN_SYSTEM_TEXT_BYTES);
  st = tn_partition_values(&scratch, table->schema, partition, &values, err);
  if (st == TARN_OK) {
    st = row_text(table, values, out, err);
  }
  tn_arena_reset(&scratch);
  return st;
}

tarn_status tn_system_rows_partition(tn_system_rows *rows, int32_t column, const tn_table *table,
                                     tn_slice partition, tarn_error *err) {
  tarn_status st;
  tn_buf text;
  if (partition.len == 0 || !tn_system_rows_wants(rows, column)) {
    return TARN_OK;
  }
  tn_buf_init(&text, &rows->env->mem, TN_SYSTEM_TEXT_BYTES);
  st = tn_system_partition_text(table, partition, &text, err);
  if (st == TARN_OK) {
    st = tn_system_rows_slice(rows, column, tn_buf_slice(&text), err);
  }
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ internal forms of Java */

tarn_status tn_system_java_text(const tn_type *type, const tn_datum *value, const tn_zone *zone,
                                tn_buf *out, tarn_error *err) {
  if (value->is_null) {
    return tn_buf_text(out, "null", err);
  }
  switch (type->root) {
    case TN_DATE:
    case TN_TIME:
      return tn_buf_printf(out, err, "%lld", (long long)value->v.i64);
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return tn_timestamp_java_text(type, value, out, err);
    case TN_CHAR:
    case TN_VARCHAR:
      return tn_buf_java_text(out, value->v.bytes, err);
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      // Java shows the identity of an array, which tells nothing.
      for (size_t i = 0; i < value->v.bytes.len; i++) {
        TN_TRY(tn_buf_printf(out, err, "%02x", value->v.bytes.data[i]));
      }
      return TARN_OK;
    default:
      return tn_datum_to_text(type, value, zone, out, err);
  }
}

/* ------------------------------------------------------------------ maps of Java */

tarn_status tn_system_java_order(tn_arena *arena, const tn_option *items, int32_t n,
                                 int32_t **order, tarn_error *err) {
  const char **keys = tn_arena_calloc(arena, (size_t)n + 1, sizeof(*keys));
  uint32_t slots = 16;
  *order = tn_arena_calloc(arena, (size_t)n + 1, sizeof(**order));
  if (keys == NULL || *order == NULL) {
    return tn_oom(err);
  }
  while (slots < 1u << 30 && (uint32_t)n > slots / 4 * 3) {
    slots *= 2;
  }
  for (int32_t i = 0; i < n; i++) {
    keys[i] = items[i].key;
  }
  return tn_java_slot_order(arena, keys, (size_t)n, slots, *order, err);
}
