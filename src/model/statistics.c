/* statistics.c - statistics files. */
#include "model/statistics.h"

#include "base/json.h"
#include "model/json_pretty.h"

/* ------------------------------------------------------------------ decoding */

typedef struct named_number {
  const char *key;
  size_t offset;
} named_number;

typedef struct named_text {
  const char *key;
  size_t offset;
} named_text;

static const named_number column_numbers[] = {
    {"distinctCount", offsetof(tn_column_statistics, distinct_count)},
    {"nullCount", offsetof(tn_column_statistics, null_count)},
    {"avgLen", offsetof(tn_column_statistics, avg_len)},
    {"maxLen", offsetof(tn_column_statistics, max_len)},
};

static const named_text column_texts[] = {
    {"min", offsetof(tn_column_statistics, min)},
    {"max", offsetof(tn_column_statistics, max)},
};

static tarn_status number_or_unknown(const tn_json *object, const char *key, const char *path,
                                     int64_t *out, tarn_error *err) {
  bool is_present;
  TN_TRY(tn_json_get_int(object, key, path, out, &is_present, err));
  if (!is_present) {
    *out = -1;
  }
  return TARN_OK;
}

static tarn_status decode_column(tn_arena *arena, const tn_json *json, const char *path,
                                 tn_column_statistics *out, tarn_error *err) {
  int64_t id;
  TN_TRY(tn_json_get_int(json, "colId", path, &id, NULL, err));
  if (id < INT32_MIN || id > INT32_MAX) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: impossible \"colId\": %lld", path, (long long)id);
  }
  out->field_id = (int32_t)id;
  for (size_t i = 0; i < TN_COUNT(column_numbers); i++) {
    TN_TRY(number_or_unknown(json, column_numbers[i].key, path,
                             (int64_t *)(void *)((uint8_t *)out + column_numbers[i].offset), err));
  }
  for (size_t i = 0; i < TN_COUNT(column_texts); i++) {
    const char **to = (const char **)(void *)((uint8_t *)out + column_texts[i].offset);
    bool is_present;
    tn_slice text;
    TN_TRY(tn_json_get_text(json, column_texts[i].key, path, &text, &is_present, err));
    *to = is_present ? tn_arena_strndup(arena, (const char *)text.data, text.len) : NULL;
    if (is_present && *to == NULL) {
      return tn_oom(err);
    }
  }
  return TARN_OK;
}

static tarn_status decode_columns(tn_arena *arena, const tn_json *json, const char *path,
                                  tn_statistics *out, tarn_error *err) {
  tn_json_member member = {0};
  size_t n = tn_json_count(json);
  if (json == NULL) {
    return TARN_OK;
  }
  if (tn_json_kind_of(json) != TN_JSON_OBJECT || n > INT32_MAX / 2) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: \"colStats\" is not an object", path);
  }
  out->columns = tn_arena_calloc(arena, n + 1, sizeof(*out->columns));
  if (out->columns == NULL) {
    return tn_oom(err);
  }
  while (tn_json_next(json, &member)) {
    tn_column_statistics *column = &out->columns[out->n_columns++];
    column->name = tn_arena_strdup(arena, member.key);
    if (column->name == NULL) {
      return tn_oom(err);
    }
    TN_TRY(decode_column(arena, member.value, path, column, err));
  }
  return TARN_OK;
}

static tarn_status decode_root(tn_arena *arena, const tn_json *root, const char *path,
                               tn_statistics *out, tarn_error *err) {
  TN_TRY(tn_json_get_int(root, "snapshotId", path, &out->snapshot_id, NULL, err));
  TN_TRY(tn_json_get_int(root, "schemaId", path, &out->schema_id, NULL, err));
  TN_TRY(number_or_unknown(root, "mergedRecordCount", path, &out->merged_record_count, err));
  TN_TRY(number_or_unknown(root, "mergedRecordSize", path, &out->merged_record_size, err));
  return decode_columns(arena, tn_json_get(root, "colStats"), path, out, err);
}

tarn_status tn_statistics_decode(tn_mem *mem, tn_arena *arena, tn_slice json, const char *path,
                                 tn_statistics *out, tarn_error *err) {
  tn_json_doc *doc = NULL;
  tarn_status st = TARN_OK;
  memset(out, 0, sizeof(*out));
  TN_TRY_TO(done, tn_json_parse(mem, json, path, &doc, err));
  TN_TRY_TO(done, decode_root(arena, tn_json_root(doc), path, out, err));
done:
  tn_json_free(doc);
  return st;
}

/* ------------------------------------------------------------------ encoding */

static tarn_status put_number(tn_buf *out, const char *key, int64_t value, tarn_error *err) {
  return value < 0 ? TARN_OK : tn_buf_printf(out, err, ",\"%s\":%lld", key, (long long)value);
}

static tarn_status put_text(tn_buf *out, const char *key, const char *value, tarn_error *err) {
  if (value == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_buf_printf(out, err, ",\"%s\":", key));
  return tn_json_quote(out, tn_slice_text(value), err);
}

static tarn_status put_column(tn_buf *out, const tn_column_statistics *c, tarn_error *err) {
  TN_TRY(tn_json_quote(out, tn_slice_text(c->name), err));
  TN_TRY(tn_buf_printf(out, err, ":{\"colId\":%d", (int)c->field_id));
  TN_TRY(put_number(out, "distinctCount", c->distinct_count, err));
  TN_TRY(put_text(out, "min", c->min, err));
  TN_TRY(put_text(out, "max", c->max, err));
  TN_TRY(put_number(out, "nullCount", c->null_count, err));
  TN_TRY(put_number(out, "avgLen", c->avg_len, err));
  TN_TRY(put_number(out, "maxLen", c->max_len, err));
  return tn_buf_text(out, "}", err);
}

static tarn_status put_statistics(tn_buf *out, const tn_statistics *s, tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "{\"snapshotId\":%lld,\"schemaId\":%lld",
                       (long long)s->snapshot_id, (long long)s->schema_id));
  TN_TRY(put_number(out, "mergedRecordCount", s->merged_record_count, err));
  TN_TRY(put_number(out, "mergedRecordSize", s->merged_record_size, err));
  TN_TRY(tn_buf_text(out, ",\"colStats\":{", err));
  for (int32_t i = 0; i < s->n_columns; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(put_column(out, &s->columns[i], err));
  }
  return tn_buf_text(out, "}}", err);
}

tarn_status tn_statistics_encode(const tn_statistics *statistics, tn_buf *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf compact;
  tn_buf_init(&compact, out->mem, out->limit_bytes);
  TN_TRY_TO(done, put_statistics(&compact, statistics, err));
  TN_TRY_TO(done, tn_json_pretty(tn_buf_slice(&compact), out, err));
done:
  tn_buf_reset(&compact);
  return st;
}
