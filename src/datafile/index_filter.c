/* index_filter.c - finding the index, asking it, rows as ranges. */
#include "datafile/index_filter.h"

#include "datafile/column_map.h"
#include "index/file_index.h"

/* A range costs as much as about so many rows that are read in vain. */
#define MAX_GAP_ROWS 512

#define SUFFIX ".index"

static bool is_index_name(tn_slice name) {
  size_t n = sizeof(SUFFIX) - 1;
  return name.len >= n && memcmp(name.data + name.len - n, SUFFIX, n) == 0;
}

/* The name of the index file; no bytes: there is none. */
static tarn_status find_index_file(const tn_data_request *q, tn_slice *out, tarn_error *err) {
  const tn_slice *names = q->file->extra_files.items;
  *out = tn_slice_of(NULL, 0);
  for (size_t i = 0; i < (size_t)q->file->extra_files.count; i++) {
    if (!is_index_name(names[i])) {
      continue;
    }
    if (out->len > 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s has two index files: %.*s and %.*s", q->path,
                     TN_SLICE_ARG(*out), TN_SLICE_ARG(names[i]));
    }
    *out = names[i];
  }
  return TARN_OK;
}

/* *out NULL: the file has no index. */
static tarn_status open_index(const tn_data_request *q, tn_file_index **out, tarn_error *err) {
  const tn_table *table = q->shape->table;
  const char *slash = strrchr(q->path, '/');
  tn_arena arena;
  tn_slice name;
  char *path;
  tarn_status st;
  *out = NULL;
  if (q->file->has_embedded_index && q->file->embedded_index.len > 0) {
    return tn_file_index_open(table->env, q->file->embedded_index, q->path, out, err);
  }
  TN_TRY(find_index_file(q, &name, err));
  if (name.len == 0) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &table->env->mem, 1u << 20);
  path = tn_arena_printf(&arena, "%.*s%.*s", slash != NULL ? (int)(slash + 1 - q->path) : 0,
                         q->path, TN_SLICE_ARG(name));
  st = path != NULL ? tn_file_index_load(table->env, table->storage, path, out, err) : tn_oom(err);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status ask(const tn_data_request *q, const tn_schema *schema,
                       const tn_pred *const *preds, int32_t n_preds, tn_index_result *result,
                       tarn_error *err) {
  tn_file_index *index;
  tarn_status st = open_index(q, &index, err);
  for (int32_t i = 0; st == TARN_OK && index != NULL && i < n_preds; i++) {
    tn_index_result one = {0};
    st = tn_file_index_test(index, schema->fields, schema->n_fields, q->file->row_count, preds[i],
                            &one, err);
    tn_index_result_and(result, &one);
    if (result->verdict == TN_INDEX_SKIP) {
      break;
    }
  }
  tn_file_index_release(index);
  return st;
}

/* Is the file to be read as if it had no index? */
static bool goes_without(const tn_data_request *q, tarn_status st, const tarn_error *err) {
  const tn_table_facts *facts = &q->shape->table->facts;
  bool is_broken = st == TARN_E_CORRUPT || st == TARN_E_IO;
  if (st != TARN_E_UNSUPPORTED && !(st == TARN_E_NOT_FOUND && facts->ignore_lost_files) &&
      !(is_broken && facts->ignore_corrupt_files)) {
    return false;
  }
  tn_log(q->shape->table->env, TARN_LOG_WARN, "event=file_index_not_used file=%s error=\"%s\"",
         q->path, err->message);
  return true;
}

static tarn_status narrow(const tn_data_request *q, const tn_index_result *result,
                          tn_ranges *ranges, tarn_error *err) {
  tn_ranges found;
  tarn_status st = TARN_OK;
  if (result->verdict == TN_INDEX_REMAIN) {
    return TARN_OK;
  }
  tn_ranges_init(&found, ranges->mem);
  if (result->verdict == TN_INDEX_ROWS) {
    st = tn_index_result_ranges(result, q->deletions, MAX_GAP_ROWS, &found, err);
  }
  if (st == TARN_OK) {
    st = tn_ranges_intersect(ranges, &found, err);
  }
  tn_ranges_reset(&found);
  return st;
}

tarn_status tn_index_filter(const tn_data_request *q, const tn_schema *schema,
                            const tn_pred *const *preds, int32_t n_preds, tn_ranges *ranges,
                            tarn_error *err) {
  tn_index_result result = {0};
  tarn_error local;
  tarn_error *e = err != NULL ? err : &local;
  tarn_status st;
  if (!q->shape->table->facts.file_index_read || n_preds == 0 || q->file->row_count > INT32_MAX ||
      (q->deletions != NULL && tn_dv_version(q->deletions) != 1)) {
    return TARN_OK;
  }
  st = ask(q, schema, preds, n_preds, &result, e);
  if (st == TARN_OK) {
    st = narrow(q, &result, ranges, e);
  } else if (goes_without(q, st, e)) {
    st = TARN_OK;
  } else if (st == TARN_E_CORRUPT || st == TARN_E_NOT_FOUND) {
    tn_error_context(e, st, "file index ('file-index.read.enabled' = false reads without it)");
  }
  tn_index_result_reset(&result);
  return st;
}
