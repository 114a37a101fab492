/* partition.c - partition values as text and as folders. */
#include "model/partition.h"

#include "base/utf8.h"
#include "column/time_text.h"

#define MAX_PATH_BYTES ((size_t)1 << 20)

/* ------------------------------------------------------------------ values */

tarn_status tn_partition_values(tn_arena *arena, const tn_schema *schema, tn_slice partition,
                                tn_datum **out, tarn_error *err) {
  int32_t n = schema->n_partition_keys;
  tn_binary_row row;
  tn_datum *values;
  TN_TRY(tn_binary_row_decode(partition, "partition", &row, err));
  if (row.arity != n) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "a partition of %d fields in a table with %d partition keys", row.arity, n);
  }
  values = tn_arena_calloc(arena, (size_t)n, sizeof(tn_datum));
  if (values == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const tn_type *type = &schema->fields[schema->partition_columns[i]].type;
    tn_datum value;
    tarn_status st = tn_binary_row_get(&row, i, type, &value, err);
    if (st != TARN_OK) {
      return tn_error_context(err, st, "partition column '%s'", schema->partition_keys[i]);
    }
    if (!tn_datum_copy(arena, type, &value, &values[i])) {
      return tn_oom(err);
    }
  }
  *out = values;
  return TARN_OK;
}

/* ------------------------------------------------------------------ text of a value */

/* Character.isWhitespace of the character of n bytes at p. */
static bool is_java_blank(const uint8_t *p, size_t n) {
  uint32_t c;
  if (n == 1) {
    return (p[0] >= 0x09 && p[0] <= 0x0d) || (p[0] >= 0x1c && p[0] <= 0x20);
  }
  if (n != 3) {
    return false;
  }
  c = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 ||
         c == 0x205f || c == 0x3000;
}

static bool is_all_blank(tn_slice text) {
  for (size_t i = 0; i < text.len;) {
    size_t n = tn_utf8_step(text.data + i, text.len - i);
    if (n == 0 || !is_java_blank(text.data + i, n)) {
      return false;
    }
    i += n;
  }
  return true;
}

/* What a value is called, into the emptied buffer; the default name for nulls and blanks. */
static tarn_status value_text(const tn_table *table, bool legacy, const tn_type *type,
                              const tn_datum *value, tn_buf *out, tarn_error *err) {
  out->len = 0;
  if (value->is_null) {
    return tn_buf_text(out, table->facts.partition_default_name, err);
  }
  switch (type->root) {
    case TN_DATE:
    case TN_TIME:
      TN_TRY(legacy ? tn_buf_printf(out, err, "%lld", (long long)value->v.i64)
                    : tn_datum_to_text(type, value, table->env->zone, out, err));
      break;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      TN_TRY(legacy ? tn_timestamp_java_text(type, value, out, err)
                    : tn_datum_to_text(type, value, table->env->zone, out, err));
      break;
    case TN_CHAR:
    case TN_VARCHAR:
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      TN_TRY(tn_buf_java_text(out, value->v.bytes, err));
      break;
    default:
      TN_TRY(tn_datum_to_text(type, value, table->env->zone, out, err));
      break;
  }
  if (is_all_blank(tn_buf_slice(out))) {
    out->len = 0;
    return tn_buf_text(out, table->facts.partition_default_name, err);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ paths */

static bool is_escaped(uint8_t c) {
  return c < 0x20 || c == 0x7f || (c < 0x80 && strchr("\"#%'*/:=?[\\]^{}", c) != NULL);
}

/* Append the escaped form of a path component. */
static tarn_status escape(tn_slice text, tn_buf *out, tarn_error *err) {
  for (size_t i = 0; i < text.len; i++) {
    if (is_escaped(text.data[i])) {
      TN_TRY(tn_buf_printf(out, err, "%%%02X", text.data[i]));
    } else {
      TN_TRY(tn_buf_append(out, text.data + i, 1, err));
    }
  }
  return TARN_OK;
}

/* Call `each` for every key and the text of its value. */
static tarn_status walk_partition(const tn_table *table, tn_slice partition, bool legacy,
                                  tn_buf *out,
                                  tarn_status (*each)(const tn_table *table, int32_t key,
                                                      tn_slice text, tn_buf *out, tarn_error *err),
                                  tarn_error *err) {
  const tn_schema *schema = table->schema;
  tarn_status st;
  tn_datum *values;
  tn_arena arena;
  tn_buf text;
  tn_arena_init(&arena, &table->env->mem, SIZE_MAX);
  tn_buf_init(&text, &table->env->mem, (size_t)1 << 30);
  TN_TRY_TO(done, tn_partition_values(&arena, schema, partition, &values, err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_type *type = &schema->fields[schema->partition_columns[i]].type;
    TN_TRY_TO(done, value_text(table, legacy, type, &values[i], &text, err));
    TN_TRY_TO(done, each(table, i, tn_buf_slice(&text), out, err));
  }
done:
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status append_folder(const tn_table *table, int32_t key, tn_slice text, tn_buf *out,
                                 tarn_error *err) {
  const char *name = table->schema->partition_keys[key];
  const tn_type *type = &table->schema->fields[table->schema->partition_columns[key]].type;
  if (table->facts.partition_legacy_name && tn_type_is_bytes(type)) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "partition column '%s' of a binary type under legacy partition names: Java puts "
                   "the identity of an object into the folder's name, so it cannot be found",
                   name);
  }
  TN_TRY(escape(tn_slice_text(name), out, err));
  TN_TRY(tn_buf_text(out, "=", err));
  TN_TRY(escape(text, out, err));
  return tn_buf_text(out, "/", err);
}

static tarn_status append_shown(const tn_table *table, int32_t key, tn_slice text, tn_buf *out,
                                tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "%s%s=", key > 0 ? "/" : "", table->schema->partition_keys[key]));
  return tn_buf_append(out, text.data, text.len, err);
}

tarn_status tn_partition_path(const tn_table *table, tn_slice partition, tn_buf *out,
                              tarn_error *err) {
  return walk_partition(table, partition, table->facts.partition_legacy_name, out, append_folder,
                        err);
}

tarn_status tn_partition_text(const tn_table *table, tn_slice partition, tn_buf *out,
                              tarn_error *err) {
  return walk_partition(table, partition, false, out, append_shown, err);
}

tarn_status tn_bucket_path(const tn_table *table, tn_slice partition, int32_t bucket, tn_buf *out,
                           tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "%s/", table->path));
  if (table->facts.data_path_directory != NULL) {
    TN_TRY(tn_buf_printf(out, err, "%s/", table->facts.data_path_directory));
  }
  TN_TRY(tn_partition_path(table, partition, out, err));
  return bucket == -2 ? tn_buf_text(out, "bucket-postpone", err)
                      : tn_buf_printf(out, err, "bucket-%d", bucket);
}

tarn_status tn_bucket_folder(const tn_table *table, tn_slice partition, int32_t bucket,
                             tn_arena *arena, const char **out, tarn_error *err) {
  tn_buf path;
  tarn_status st;
  tn_buf_init(&path, arena->mem, MAX_PATH_BYTES);
  st = tn_bucket_path(table, partition, bucket, &path, err);
  if (st == TARN_OK) {
    *out = tn_arena_strndup(arena, (const char *)path.data, path.len);
    st = *out != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_reset(&path);
  return st;
}
