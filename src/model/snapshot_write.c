/* snapshot_write.c - snapshots and what has their form, in the order of Java's members. */
#include "model/snapshot_write.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/civil.h"
#include "model/json_pretty.h"

typedef struct writer {
  tn_buf out; /* compact */
  bool has_members;
  tarn_error *err;
} writer;

static tarn_status key(writer *w, const char *name) {
  TN_TRY(tn_buf_printf(&w->out, w->err, "%s\"%s\":", w->has_members ? "," : "", name));
  w->has_members = true;
  return TARN_OK;
}

static tarn_status number(writer *w, const char *name, int64_t value) {
  TN_TRY(key(w, name));
  return tn_buf_printf(&w->out, w->err, "%lld", (long long)value);
}

static tarn_status number_if(writer *w, const char *name, int64_t value, bool is_there) {
  return is_there ? number(w, name, value) : TARN_OK;
}

static tarn_status text_if(writer *w, const char *name, const char *value) {
  if (value == NULL) {
    return TARN_OK;
  }
  TN_TRY(key(w, name));
  return tn_json_quote(&w->out, tn_slice_text(value), w->err);
}

static tarn_status put_lists(writer *w, const tn_snapshot *s) {
  TN_TRY(text_if(w, "baseManifestList", s->base_manifest_list));
  TN_TRY(number_if(w, "baseManifestListSize", s->base_manifest_list_size,
                   s->base_manifest_list_size >= 0));
  TN_TRY(text_if(w, "deltaManifestList", s->delta_manifest_list));
  TN_TRY(number_if(w, "deltaManifestListSize", s->delta_manifest_list_size,
                   s->delta_manifest_list_size >= 0));
  TN_TRY(text_if(w, "changelogManifestList", s->changelog_manifest_list));
  TN_TRY(number_if(w, "changelogManifestListSize", s->changelog_manifest_list_size,
                   s->changelog_manifest_list != NULL && s->changelog_manifest_list_size >= 0));
  return text_if(w, "indexManifest", s->index_manifest);
}

/* None are left out, as an empty map is in Java. */
static tarn_status put_properties(writer *w, const tn_snapshot *s) {
  if (s->n_properties == 0) {
    return TARN_OK;
  }
  TN_TRY(key(w, "properties"));
  for (int32_t i = 0; i < s->n_properties; i++) {
    TN_TRY(tn_buf_text(&w->out, i == 0 ? "{" : ",", w->err));
    TN_TRY(tn_json_quote(&w->out, tn_slice_text(s->properties[i].key), w->err));
    TN_TRY(tn_buf_text(&w->out, ":", w->err));
    TN_TRY(tn_json_quote(&w->out, tn_slice_text(s->properties[i].value), w->err));
  }
  return tn_buf_text(&w->out, "}", w->err);
}

/* Jackson's array of a LocalDateTime: seconds only when they or what follows is not 0. */
static tarn_status put_local_time(writer *w, int64_t ms) {
  int64_t days = tn_floor_div(ms, 86400000), of_day = ms - days * 86400000, year;
  int32_t month, day;
  int second = (int)(of_day / 1000 % 60), nanos = (int)(of_day % 1000) * 1000000;
  tn_civil_from_days(days, &year, &month, &day);
  TN_TRY(tn_buf_printf(&w->out, w->err, "[%lld,%d,%d,%d,%d", (long long)year, month, day,
                       (int)(of_day / 3600000), (int)(of_day / 60000 % 60)));
  if (second != 0 || nanos != 0) {
    TN_TRY(tn_buf_printf(&w->out, w->err, ",%d", second));
  }
  if (nanos != 0) {
    TN_TRY(tn_buf_printf(&w->out, w->err, ",%d", nanos));
  }
  return tn_buf_text(&w->out, "]", w->err);
}

/* Seconds with nine decimals; nothing at all is "0.0". */
static tarn_status put_duration(writer *w, int64_t ns) {
  uint64_t abs = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
  if (ns == 0) {
    return tn_buf_text(&w->out, "0.0", w->err);
  }
  return tn_buf_printf(&w->out, w->err, "%s%llu.%09llu", ns < 0 ? "-" : "",
                       (unsigned long long)(abs / 1000000000),
                       (unsigned long long)(abs % 1000000000));
}

static tarn_status put_tag(writer *w, const tn_snapshot *s) {
  if (s->has_tag_create) {
    TN_TRY(key(w, "tagCreateTime"));
    TN_TRY(put_local_time(w, s->tag_create_ms));
  }
  if (s->has_tag_retained) {
    TN_TRY(key(w, "tagTimeRetained"));
    TN_TRY(put_duration(w, s->tag_retained_ns));
  }
  return TARN_OK;
}

static tarn_status put_snapshot(writer *w, const tn_snapshot *s) {
  TN_TRY(tn_buf_text(&w->out, "{", w->err));
  TN_TRY(number(w, "version", s->version));
  TN_TRY(text_if(w, "uuid", s->uuid));
  TN_TRY(number(w, "id", s->id));
  TN_TRY(number(w, "schemaId", s->schema_id));
  TN_TRY(put_lists(w, s));
  TN_TRY(text_if(w, "commitUser", s->commit_user));
  TN_TRY(text_if(w, "writerVersion", s->writer_version));
  TN_TRY(number(w, "commitIdentifier", s->commit_identifier));
  TN_TRY(text_if(w, "commitKind", tn_commit_kind_name(s->commit_kind)));
  TN_TRY(number(w, "timeMillis", s->time_ms));
  TN_TRY(number(w, "totalRecordCount", s->total_record_count));
  TN_TRY(number(w, "deltaRecordCount", s->delta_record_count));
  TN_TRY(number_if(w, "changelogRecordCount", s->changelog_record_count,
                   s->has_changelog_record_count));
  TN_TRY(number_if(w, "watermark", s->watermark, s->has_watermark));
  TN_TRY(text_if(w, "statistics", s->statistics));
  TN_TRY(put_properties(w, s));
  TN_TRY(number_if(w, "nextRowId", s->next_row_id, s->has_next_row_id));
  TN_TRY(text_if(w, "operation", s->operation));
  TN_TRY(put_tag(w, s));
  return tn_buf_text(&w->out, "}", w->err);
}

tarn_status tn_snapshot_encode(const tn_snapshot *snapshot, tn_buf *out, tarn_error *err) {
  writer w = {.err = err};
  tarn_status st = TARN_OK;
  tn_buf_init(&w.out, out->mem, out->limit_bytes);
  TN_TRY_TO(done, put_snapshot(&w, snapshot));
  TN_TRY_TO(done, tn_json_pretty(tn_buf_slice(&w.out), out, err));
done:
  tn_buf_reset(&w.out);
  return st;
}

tarn_status tn_consumer_encode(int64_t next_snapshot, tn_buf *out, tarn_error *err) {
  return tn_buf_printf(out, err, "{\n  \"nextSnapshot\" : %lld\n}", (long long)next_snapshot);
}

/* ------------------------------------------------------------------ hints */

static tarn_status hint_path(tn_buf *path, const char *root, const char *folder, const char *name,
                             tarn_error *err) {
  TN_TRY(tn_buf_printf(path, err, "%s/%s/%s", root, folder, name));
  return tn_buf_append(path, "", 1, err);
}

tarn_status tn_hint_write(tn_storage *storage, const char *root, const char *folder,
                          const char *name, int64_t id, tarn_error *err) {
  tarn_status st = TARN_OK;
  char digits[24];
  tn_buf path;
  tn_buf_init(&path, &storage->env->mem, SIZE_MAX / 2);
  snprintf(digits, sizeof(digits), "%lld", (long long)id);
  TN_TRY_TO(done, hint_path(&path, root, folder, name, err));
  TN_TRY_TO(done, tn_storage_replace(storage, (const char *)path.data, tn_slice_text(digits), false,
                                     err));
done:
  tn_buf_reset(&path);
  return st;
}

tarn_status tn_hint_remove(tn_storage *storage, const char *root, const char *folder,
                           const char *name, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf path;
  tn_buf_init(&path, &storage->env->mem, SIZE_MAX / 2);
  TN_TRY_TO(done, hint_path(&path, root, folder, name, err));
  TN_TRY_TO(done, tn_storage_remove(storage, (const char *)path.data, err));
done:
  tn_buf_reset(&path);
  return st;
}
