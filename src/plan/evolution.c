/* evolution.c - files by row id; statistics of rows whose columns lie in several files. */
#include "plan/evolution.h"

#include "base/sort.h"
#include "datafile/row_tracking.h"

/* ------------------------------------------------------------------ spans */

void tn_row_span_of(const tn_data_file *file, int64_t number, tn_row_span *out) {
  out->file = number;
  if (!tn_data_file_row_ids(file, &out->first, &out->last)) {
    out->first = -1;
    out->last = -1;
  }
}

static int by_row_ids(void *ctx, const void *a, const void *b) {
  const tn_row_span *x = a, *y = b;
  (void)ctx;
  if (x->first != y->first) {
    return x->first < y->first ? -1 : 1;
  }
  return (x->last > y->last) - (x->last < y->last);
}

static int by_file(void *ctx, const void *a, const void *b) {
  const tn_row_span *x = a, *y = b;
  (void)ctx;
  return (x->file > y->file) - (x->file < y->file);
}

tarn_status tn_row_spans_group(tn_arena *arena, tn_row_span *spans, int64_t n, int64_t **begins,
                               int64_t *n_groups, tarn_error *err) {
  size_t room = (size_t)n + 1;
  tn_row_span *before = tn_arena_memdup(arena, spans, room > 1 ? (size_t)n * sizeof(*spans) : 1);
  const void **order = tn_arena_alloc(arena, room * sizeof(*order));
  const void **scratch = tn_arena_alloc(arena, room * sizeof(*scratch));
  int64_t *bounds = tn_arena_alloc(arena, room * sizeof(*bounds));
  int64_t count = 0, begin = 0, end = -1;
  if (before == NULL || order == NULL || scratch == NULL || bounds == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    order[i] = &before[i];
  }
  tn_sort_stable(order, scratch, n, by_row_ids, NULL);
  bounds[0] = 0;
  for (int64_t i = 0; i <= n; i++) {
    const tn_row_span *span = i < n ? order[i] : NULL;
    if (i > begin && (span == NULL || span->first < 0 || span->first > end)) {
      tn_sort_stable(order + begin, scratch, i - begin, by_file, NULL);
      bounds[++count] = i;
      begin = i;
      end = -1;
    }
    end = span != NULL && span->last > end ? span->last : end;
  }
  for (int64_t i = 0; i < n; i++) {
    spans[i] = *(const tn_row_span *)order[i];
  }
  *begins = bounds;
  *n_groups = count;
  return TARN_OK;
}

/* ------------------------------------------------------------------ kinds of files */

bool tn_is_blob_file(tn_slice name) {
  return name.len >= 5 && memcmp(name.data + name.len - 5, ".blob", 5) == 0;
}

/* "<name>.vector.<format>" */
bool tn_is_vector_file(tn_slice name) {
  size_t dot = name.len;
  while (dot > 0 && name.data[dot - 1] != '.') {
    dot--;
  }
  return dot >= 8 && memcmp(name.data + dot - 8, ".vector.", 8) == 0;
}

/* ------------------------------------------------------------------ pruning */

typedef struct joint_stats {
  tn_filter_memo *memo;
  const tn_scan_entry *const *files;
  int64_t n_files;
} joint_stats;

static tarn_status row_id_stat(const joint_stats *j, tn_stat *out, bool *is_known) {
  int64_t min = INT64_MAX, max = -1;
  for (int64_t i = 0; i < j->n_files; i++) {
    const tn_data_file *file = j->files[i]->rest;
    int64_t first, last;
    if (tn_data_file_may_store(file, &tn_row_tracking_fields[0]) ||
        !tn_data_file_row_ids(file, &first, &last)) {
      return TARN_OK;
    }
    min = first < min ? first : min;
    max = last > max ? last : max;
  }
  *out = (tn_stat){.has_bounds = true, .null_count = 0, .row_count = max - min + 1};
  out->min.v.i64 = min;
  out->max.v.i64 = max;
  *is_known = true;
  return TARN_OK;
}

/* Statistics of the newest file that holds the column; what no file holds is unknown, as in Java.
 */
static tarn_status joint_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                              tarn_error *err) {
  const joint_stats *j = ctx;
  const tn_data_file *best = NULL;
  const tn_schema *schema = NULL;
  *is_known = false;
  if (leaf->field_id == TN_FIELD_ID_ROW_ID) {
    return row_id_stat(j, out, is_known);
  }
  for (int64_t i = 0; i < j->n_files && leaf->n_path == 0; i++) {
    const tn_data_file *file = j->files[i]->rest;
    tn_file_schema *s;
    int32_t at;
    if (tn_is_blob_file(file->file_name) ||
        (best != NULL && file->max_sequence <= best->max_sequence)) {
      continue;
    }
    TN_TRY(tn_filter_memo_schema(j->memo, file->schema_id, &s, err));
    at = tn_fields_find_id(s->schema->fields, s->schema->n_fields, leaf->field_id);
    if (at >= 0 && tn_data_file_has_column(file, tn_slice_text(s->schema->fields[at].name))) {
      best = file;
      schema = s->schema;
    }
  }
  return best != NULL ? tn_scan_filter_stat(schema, best, leaf, out, is_known, err) : TARN_OK;
}

/* A column file over a part of the rows leaves older values to the others. */
static bool have_same_rows(const tn_row_span *spans, int64_t n, const tn_file_group *group) {
  const tn_row_span *first = NULL;
  for (int64_t i = 0; i < n; i++) {
    const tn_scan_entry *e = group->files[spans[i].file];
    tn_slice name = tn_slice_of(e->file_name, e->file_name_len);
    if (tn_is_blob_file(name)) {
      continue;
    }
    if (first == NULL) {
      first = &spans[i];
    } else if (first->first != spans[i].first || first->last != spans[i].last) {
      return false;
    }
  }
  return true;
}

static tarn_status prune(const tn_scan_filter *filter, tn_filter_memo *memo, tn_file_group *group,
                         tn_row_span *spans, const int64_t *begins, int64_t n_groups,
                         tn_arena *arena, tarn_error *err) {
  const tn_scan_entry **before =
      tn_arena_memdup(arena, group->files, (size_t)group->n_files * sizeof(*before));
  const tn_scan_entry **together =
      tn_arena_alloc(arena, (size_t)group->n_files * sizeof(*together));
  bool *keeps = tn_arena_calloc(arena, (size_t)group->n_files, sizeof(*keeps));
  int64_t n_kept = 0;
  if (before == NULL || together == NULL || keeps == NULL) {
    return tn_oom(err);
  }
  for (int64_t g = 0; g < n_groups; g++) {
    int64_t n = begins[g + 1] - begins[g];
    bool may_match = true;
    for (int64_t i = 0; i < n; i++) {
      together[i] = before[spans[begins[g] + i].file];
    }
    if (have_same_rows(spans + begins[g], n, group)) {
      joint_stats j = {memo, together, n};
      TN_TRY(tn_pred_may_match(filter->evolution, joint_stat, &j, &may_match, err));
    }
    for (int64_t i = 0; i < n; i++) {
      keeps[spans[begins[g] + i].file] = may_match;
    }
  }
  for (int64_t i = 0; i < group->n_files; i++) {
    if (keeps[i]) {
      group->files[n_kept++] = before[i];
    }
  }
  group->n_files = n_kept;
  return TARN_OK;
}

tarn_status tn_evolution_prune(const tn_scan_filter *filter, tn_file_group *group, tn_arena *arena,
                               tarn_error *err) {
  tn_row_span *spans;
  int64_t *begins, n_groups;
  tn_filter_memo memo;
  tarn_status st;
  if (filter->evolution == NULL || group->n_files == 0) {
    return TARN_OK;
  }
  spans = tn_arena_alloc(arena, (size_t)group->n_files * sizeof(*spans));
  if (spans == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < group->n_files; i++) {
    if (group->files[i]->rest == NULL) {
      return TARN_OK; /* without statistics */
    }
    tn_row_span_of(group->files[i]->rest, i, &spans[i]);
  }
  TN_TRY(tn_row_spans_group(arena, spans, group->n_files, &begins, &n_groups, err));
  tn_filter_memo_init(&memo, filter, arena);
  st = prune(filter, &memo, group, spans, begins, n_groups, arena, err);
  tn_filter_memo_reset(&memo);
  return st;
}
