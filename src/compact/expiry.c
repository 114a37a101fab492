/* expiry.c - record-level expiry: rows whose time column is too old leave with a compaction.
 *
 * A row without a time never expires. Times are whole seconds, divided towards zero as Java does.
 * Rule: org.apache.paimon.io.RecordLevelExpire; spec: compaction, 11.
 */
#include "base/bytes.h"
#include "column/time_text.h"
#include "compact/rewriter.h"
#include "plan/scan_filter.h"

/* BIGINT values from here on are milliseconds. */
#define LEAST_MILLIS 1000000000000LL

static int64_t seconds_of(tn_expiry_unit unit, const tn_type *type, const tn_datum *value) {
  int64_t seconds, nanos;
  switch (unit) {
    case TN_EXPIRY_SECONDS:
      return value->v.i64;
    case TN_EXPIRY_BY_SIZE:
      return value->v.i64 >= LEAST_MILLIS ? value->v.i64 / 1000 : value->v.i64;
    default:
      if (!tn_timestamp_split(type, value, &seconds, &nanos)) {
        return INT64_MAX;
      }
      return seconds < 0 && nanos >= 1000000 ? seconds + 1 : seconds;
  }
}

/* Times before this are over. */
static int64_t oldest(const tn_rewriter *r, int64_t now_ms) {
  int64_t now = now_ms / 1000, span = r->options->expire_seconds;
  return span < 0 || now < INT64_MIN + span ? INT64_MIN : now - span;
}

tarn_status tn_expiry_apply(const tn_rewriter *r, int64_t now_ms, tn_vec *time, uint8_t *alive,
                            tarn_error *err) {
  int64_t least = oldest(r, now_ms);
  TN_TRY(tn_vec_flatten(r->env, time, err));
  for (int64_t i = 0; i < time->length; i++) {
    tn_datum value = tn_vec_datum(time, i);
    if (!value.is_null && seconds_of(r->options->time_unit, time->type, &value) < least) {
      tn_bit_clear(alive, i);
    }
  }
  return TARN_OK;
}

/* The least time by the file's statistics, of the column as the file has it. */
static tarn_status least_time(const tn_rewriter *r, const tn_schema *schema,
                              const tn_data_file *file, const tn_type **type, tn_stat *stat,
                              bool *is_known, tarn_error *err) {
  const tn_field *wanted = &r->table->schema->fields[r->options->time_column];
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, wanted->id);
  tn_pred leaf = {.op = TN_PRED_LT};
  *is_known = false;
  if (at < 0) {
    return TARN_OK; /* the column came later: all null */
  }
  *type = &schema->fields[at].type;
  leaf.field_id = wanted->id;
  leaf.name = schema->fields[at].name;
  leaf.type = **type;
  TN_TRY(tn_scan_filter_stat(schema, file, &leaf, stat, is_known, err));
  *is_known = *is_known && stat->has_bounds && !stat->min.is_null;
  return TARN_OK;
}

/* May a value of the type be read as one of the time column's unit? */
static bool has_unit(tn_expiry_unit unit, const tn_type *type) {
  bool is_timestamp = type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ;
  return unit == TN_EXPIRY_SECONDS || unit == TN_EXPIRY_BY_SIZE ? tn_type_is_integer(type)
                                                                : is_timestamp;
}

tarn_status tn_rewriter_has_expired(tn_rewriter *r, const tn_data_file *file, int64_t now_ms,
                                    bool *out, tarn_error *err) {
  tn_schema *schema;
  const tn_type *type = NULL;
  tn_stat stat;
  bool is_known;
  tarn_status st;
  *out = false;
  if (!r->options->has_record_expiry || !r->table->facts.has_primary_key) {
    return TARN_OK;
  }
  TN_TRY(tn_table_schema(r->table, file->schema_id, &schema, err));
  st = least_time(r, schema, file, &type, &stat, &is_known, err);
  if (st == TARN_OK && is_known && has_unit(r->options->time_unit, type)) {
    *out = seconds_of(r->options->time_unit, type, &stat.min) < oldest(r, now_ms);
  }
  tn_schema_release(schema);
  return st;
}
