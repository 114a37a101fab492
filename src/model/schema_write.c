/* schema_write.c - schemas, in the order of Java's members. */
#include "model/schema_write.h"

#include "model/json_pretty.h"

static tarn_status put_fields(tn_buf *out, const tn_schema *s, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "\"fields\":[", err));
  for (int32_t i = 0; i < s->n_fields; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_field_to_json(&s->fields[i], out, err));
  }
  return tn_buf_text(out, "]", err);
}

static tarn_status put_schema(tn_buf *out, const tn_schema *s, tarn_error *err) {
  TN_TRY(
      tn_buf_printf(out, err, "{\"version\":%d,\"id\":%lld,", (int)s->version, (long long)s->id));
  TN_TRY(put_fields(out, s, err));
  TN_TRY(tn_buf_printf(out, err,
                       ",\"highestFieldId\":%d,\"partitionKeys\":", (int)s->highest_field_id));
  TN_TRY(tn_json_quote_list(out, s->partition_keys, s->n_partition_keys, err));
  TN_TRY(tn_buf_text(out, ",\"primaryKeys\":", err));
  TN_TRY(tn_json_quote_list(out, s->primary_keys, s->n_primary_keys, err));
  TN_TRY(tn_buf_text(out, ",\"options\":", err));
  TN_TRY(tn_options_to_json(s->options, s->n_options, out, err));
  if (s->comment != NULL) {
    TN_TRY(tn_buf_text(out, ",\"comment\":", err));
    TN_TRY(tn_json_quote(out, tn_slice_text(s->comment), err));
  }
  return tn_buf_printf(out, err, ",\"timeMillis\":%lld}", (long long)s->time_ms);
}

tarn_status tn_schema_encode(const tn_schema *schema, tn_buf *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf compact;
  tn_buf_init(&compact, out->mem, out->limit_bytes);
  TN_TRY_TO(done, put_schema(&compact, schema, err));
  TN_TRY_TO(done, tn_json_pretty(tn_buf_slice(&compact), out, err));
done:
  tn_buf_reset(&compact);
  return st;
}
