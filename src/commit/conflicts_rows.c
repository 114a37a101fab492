/* conflicts_rows.c - the rules of row ids, in tables with data evolution.
 *
 *   files of the same rows have the same range of ids
 *   files that come with ids are of rows that there are
 *   on request: nobody has updated these rows since a snapshot
 */
#include <stdio.h>

#include "base/sort.h"
#include "commit/detection.h"
#include "plan/evolution.h"

/* ------------------------------------------------------------------ ranges of rows */

/* Columns that never share a file with others lie beside the rows of data files. */
static bool is_beside(const tn_conflict_file *f) {
  return tn_is_blob_file(f->name) || tn_is_vector_file(f->name);
}

static int64_t last_row_id(const tn_conflict_file *f) {
  int64_t last;
  return __builtin_add_overflow(f->first_row_id, f->row_count - 1, &last) ? INT64_MAX : last;
}

static int compare_row_ids(void *ctx, const void *a, const void *b) {
  const tn_conflict_file *x = a, *y = b;
  int64_t p = last_row_id(x), q = last_row_id(y);
  (void)ctx;
  if (x->first_row_id != y->first_row_id) {
    return x->first_row_id < y->first_row_id ? -1 : 1;
  }
  return (p > q) - (p < q);
}

/* Does the commit bring columns of rows that are there, or put such files together? */
static bool touches_ranges(const tn_detection *d) {
  for (size_t i = 0; i < d->delta.count; i++) {
    if (d->delta.items[i].is_add && d->delta.items[i].has_first_row_id) {
      return true;
    }
  }
  return d->job->options->checks_row_ids || d->check->kind == TN_COMMIT_COMPACT;
}

/* The files of a kind by the ids of their rows. */
typedef struct row_files {
  const void **items; /* file */
  int64_t count;
} row_files;

static tarn_status begin_row_files(const tn_detection *d, int64_t n, row_files *out) {
  *out = (row_files){tn_arena_calloc(d->arena, (size_t)n + 1, sizeof(*out->items)), 0};
  return out->items != NULL ? TARN_OK : tn_oom(d->err);
}

static void add_row_file(row_files *list, const tn_conflict_file *f) {
  if (f->has_first_row_id) {
    list->items[list->count++] = f;
  }
}

static tarn_status sort_row_files(const tn_detection *d, row_files *list) {
  const void **scratch = tn_arena_calloc(d->arena, (size_t)list->count + 1, sizeof(*list->items));
  if (scratch == NULL) {
    return tn_oom(d->err);
  }
  tn_sort_stable(list->items, scratch, list->count, compare_row_ids, NULL);
  return TARN_OK;
}

/* Files of one range of rows hold columns of the same rows: their ranges are equal. */
static tarn_status check_row_id_ranges(const tn_detection *d) {
  int64_t end = INT64_MIN;
  const tn_conflict_file *first = NULL;
  row_files data;
  TN_TRY(begin_row_files(d, d->n_live, &data));
  for (int64_t i = 0; i < d->n_live; i++) {
    if (!is_beside(d->live[i])) {
      add_row_file(&data, d->live[i]);
    }
  }
  TN_TRY(sort_row_files(d, &data));
  for (int64_t i = 0; i < data.count; i++) {
    const tn_conflict_file *f = data.items[i];
    first = f->first_row_id > end ? f : first;
    end = last_row_id(f) > end ? last_row_id(f) : end;
    if (f->first_row_id != first->first_row_id || last_row_id(f) != last_row_id(first)) {
      char names[600];
      snprintf(names, sizeof(names), "%.*s, %.*s.", TN_SLICE_ARG(first->name),
               TN_SLICE_ARG(f->name));
      return tn_conflict(d,
                         "For Data Evolution table, multiple 'MERGE INTO' and 'COMPACT' operations "
                         "have encountered conflicts, data files:",
                         names);
    }
  }
  return TARN_OK;
}

static tarn_status rows_gone(const tn_detection *d, const tn_conflict_file *f) {
  const tn_table *table = d->job->table;
  return tn_fail(d->err, TARN_E_CONFLICT,
                 "%s: columns were written for rows %lld to %lld (file %.*s), which snapshot %lld "
                 "does not have in that partition: they were overwritten or deleted meanwhile, or "
                 "never there; look their ids up again (_ROW_ID in %s$row_tracking), and write the "
                 "columns anew",
                 table->full_name, (long long)f->first_row_id, (long long)last_row_id(f),
                 TN_SLICE_ARG(f->name),
                 (long long)(d->check->latest != NULL ? d->check->latest->id : 0),
                 table->full_name);
}

/* Files that come with row ids are of rows that there are. Java's writers do not look: columns of
 * rows that went become rows of these columns alone. */
tarn_status tn_conflicts_in_rows_gone(const tn_detection *d) {
  int64_t next = 0, end = INT64_MIN;
  row_files held, added;
  if (!d->job->table->facts.data_evolution) {
    return TARN_OK;
  }
  TN_TRY(begin_row_files(d, (int64_t)d->base.count, &held));
  TN_TRY(begin_row_files(d, (int64_t)d->delta.count, &added));
  for (size_t i = 0; i < d->base.count; i++) {
    if (!is_beside(&d->base.items[i])) {
      add_row_file(&held, &d->base.items[i]);
    }
  }
  for (size_t i = 0; i < d->delta.count; i++) {
    if (d->delta.items[i].is_add) {
      add_row_file(&added, &d->delta.items[i]);
    }
  }
  TN_TRY(sort_row_files(d, &held));
  TN_TRY(sort_row_files(d, &added));
  for (int64_t i = 0; i < added.count; i++) {
    const tn_conflict_file *f = added.items[i], *h;
    for (; next < held.count; next++) {
      h = held.items[next];
      if (h->first_row_id > f->first_row_id) {
        break;
      }
      end = last_row_id(h) > end ? last_row_id(h) : end;
    }
    if (end < f->first_row_id) {
      return rows_gone(d, f);
    }
  }
  return TARN_OK;
}

tarn_status tn_conflicts_in_row_ids(const tn_detection *d) {
  if (!d->job->table->facts.data_evolution || !touches_ranges(d)) {
    return TARN_OK;
  }
  TN_TRY(check_row_id_ranges(d));
  return tn_conflicts_in_rows_gone(d);
}

/* ------------------------------------------------------------------ since a snapshot */

static bool meets_delta(const tn_detection *d, const tn_scan_entry *e) {
  const tn_conflict_file f = tn_conflict_file_of(e, true);
  for (size_t i = 0; i < d->delta.count && f.has_first_row_id; i++) {
    const tn_conflict_file *own = &d->delta.items[i];
    if (own->has_first_row_id && own->first_row_id <= last_row_id(&f) &&
        f.first_row_id <= last_row_id(own)) {
      return true;
    }
  }
  return false;
}

/* What one snapshot since then did to rows that were there at that time. */
static tarn_status check_row_ids_of(const tn_detection *d, const tn_snapshot *s,
                                    const tn_map *partitions, int64_t next_row_id) {
  const tn_base_request request = {.snapshot = s, .is_delta = true, .only = partitions};
  tn_base delta;
  tarn_status st = tn_base_read(d->job, &request, d->arena, &delta, d->err);
  for (int64_t i = 0; st == TARN_OK && i < delta.count; i++) {
    const tn_scan_entry *e = delta.items[i];
    if (e->rest != NULL && e->rest->has_first_row_id && e->rest->first_row_id < next_row_id &&
        meets_delta(d, e)) {
      st =
          tn_conflict(d,
                      "For Data Evolution table, multiple 'MERGE INTO' operations have encountered "
                      "conflicts, updating the same file, which can render some updates "
                      "ineffective.",
                      "");
    }
  }
  tn_base_reset(&delta);
  return st;
}

static tarn_status read_snapshot(const tn_detection *d, int64_t id, tn_snapshot *out) {
  const tn_table *table = d->job->table;
  return tn_snapshot_read(table->env, table->storage, table->branch_path, id, d->arena, out,
                          d->err);
}

tarn_status tn_conflicts_in_row_ids_since(const tn_detection *d) {
  const tn_commit_options *options = d->job->options;
  tn_snapshot since;
  tarn_status st = TARN_OK;
  tn_map partitions;
  if (!d->job->table->facts.data_evolution || !options->checks_row_ids) {
    return TARN_OK;
  }
  TN_TRY(read_snapshot(d, options->row_ids_since, &since));
  if (!since.has_next_row_id) {
    return tn_fail(d->err, TARN_E_CORRUPT, "Next row id cannot be null for snapshot %lld.",
                   (long long)since.id);
  }
  tn_map_init(&partitions, &d->job->table->env->mem);
  TN_TRY_TO(done, tn_changes_partitions(d->check->changes, &partitions, d->err));
  for (int64_t id = since.id + 1; id <= d->check->latest->id; id++) {
    tn_snapshot s;
    TN_TRY_TO(done, read_snapshot(d, id, &s));
    if (s.commit_kind != TN_COMMIT_COMPACT) {
      TN_TRY_TO(done, check_row_ids_of(d, &s, &partitions, since.next_row_id));
    }
  }
done:
  tn_map_reset(&partitions);
  return st;
}
