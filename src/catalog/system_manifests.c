/* system_manifests.c - system tables of what manifests and their lists hold: partitions, buckets,
 * manifests, indexes. Rule: PartitionsTable, BucketsTable, ManifestsTable, TableIndexesTable of
 * org.apache.paimon.table.system; spec: system-tables. */
#include <stdlib.h>

#include "catalog/system_kinds.h"
#include "plan/entries.h"
#include "plan/fallback.h"
#include "plan/travel.h"

/* ------------------------------------------------------------------ lists and entries */

/* Hand on the manifests of lists; an absent list has none. */
static tarn_status read_lists(tn_table *table, const tn_manifest_name *lists, size_t n_lists,
                              tn_manifest_file_sink sink, void *ctx, tarn_error *err) {
  for (size_t i = 0; i < n_lists; i++) {
    if (lists[i].name != NULL) {
      TN_TRY(tn_manifest_list_read(table->env, table->storage, &tn_plan_readers, table->path,
                                   &lists[i], sink, ctx, err));
    }
  }
  return TARN_OK;
}

/* Sums over the entries of a snapshot. As PartitionEntry and BucketEntry do: what is added counts,
 * what is deleted is taken off again, but for its time. */
typedef struct summing {
  tn_table *table;
  tn_arena *scratch;
  const tarn_cancel *cancel;
  bool by_bucket, hides_postpone;
  tn_manifest_refs manifests;
  tn_buf key;
  tn_map sums; /* of tn_file_sum, by partition and, if wanted, bucket */
} summing;

static void summing_init(summing *s, tn_table *table, tn_arena *scratch,
                         const tarn_cancel *cancel) {
  *s = (summing){.table = table, .scratch = scratch, .cancel = cancel};
  tn_buf_init(&s->key, &table->env->mem, TN_SYSTEM_TEXT_BYTES);
  tn_map_init(&s->sums, &table->env->mem);
}

static void summing_reset(summing *s) {
  tn_map_reset(&s->sums);
  tn_buf_reset(&s->key);
}

static tarn_status keep_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  summing *s = ctx;
  return m->n_added > 0 || m->n_deleted > 0
             ? tn_manifest_refs_add(&s->manifests, s->scratch, m, err)
             : TARN_OK;
}

/* The sum that an entry belongs to, made when it is the first one. */
static tarn_status find_sum(summing *s, const tn_manifest_entry *e, tn_file_sum **out,
                            tarn_error *err) {
  tn_map_entry *found;
  tn_slice key;
  s->key.len = 0;
  TN_TRY(tn_buf_append(&s->key, e->partition.data, e->partition.len, err));
  if (s->by_bucket) {
    TN_TRY(tn_buf_append(&s->key, &e->bucket, sizeof(e->bucket), err));
  }
  found = tn_map_find(&s->sums, tn_buf_slice(&s->key));
  if (found == NULL) {
    tn_file_sum *sum = tn_arena_calloc(s->scratch, 1, sizeof(*sum));
    if (sum == NULL || !tn_arena_slice(s->scratch, tn_buf_slice(&s->key), &key)) {
      return tn_oom(err);
    }
    sum->partition = tn_slice_of(key.data, e->partition.len);
    sum->bucket = e->bucket;
    TN_TRY(tn_map_put(&s->sums, key, &found, NULL, err));
    found->value.ptr = sum;
  }
  *out = found->value.ptr;
  return TARN_OK;
}

static int64_t wrapping_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static tarn_status add_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  summing *s = ctx;
  bool is_add = e->kind == TN_FILE_ADD;
  tn_file_sum *sum;
  if (s->hides_postpone && e->bucket < 0) {
    return TARN_OK;
  }
  TN_TRY(find_sum(s, e, &sum, err));
  sum->n_rows = wrapping_add(sum->n_rows, is_add ? e->file.row_count : -e->file.row_count);
  sum->n_bytes = wrapping_add(sum->n_bytes, is_add ? e->file.file_size : -e->file.file_size);
  sum->n_files += is_add ? 1 : -1;
  if (e->file.has_creation_time && e->file.creation_time_ms > sum->last_ms) {
    sum->last_ms = e->file.creation_time_ms;
  }
  return TARN_OK;
}

static tarn_status sum_up(summing *s, const tn_snapshot *snapshot, tarn_error *err) {
  tn_table *table = s->table;
  const tn_manifest_name lists[] = {
      {snapshot->base_manifest_list, snapshot->base_manifest_list_size, -1},
      {snapshot->delta_manifest_list, snapshot->delta_manifest_list_size, -1},
  };
  TN_TRY(read_lists(table, lists, TN_COUNT(lists), keep_manifest, s, err));
  for (size_t i = 0; i < s->manifests.count; i++) {
    const tn_manifest_ref *m = &s->manifests.items[i];
    const tn_manifest_name name = {m->name, m->size_bytes, m->n_added + m->n_deleted};
    TN_TRY(tn_cancel_check(s->cancel, err));
    TN_TRY(tn_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name,
                            add_entry, s, err));
  }
  return TARN_OK;
}

/* Hand on the sums that have files, but those whose partition is in `without`. */
static tarn_status give_sums(const summing *s, const summing *without, tn_file_sum_sink sink,
                             void *ctx, tarn_error *err) {
  for (size_t i = 0; i < s->sums.count; i++) {
    const tn_file_sum *sum = s->sums.entries[i].value.ptr;
    const tn_map_entry *first =
        without != NULL ? tn_map_find(&without->sums, sum->partition) : NULL;
    if (sum->n_files > 0 &&
        (first == NULL || ((const tn_file_sum *)first->value.ptr)->n_files <= 0)) {
      TN_TRY(sink(ctx, s->table, sum, err));
    }
  }
  return TARN_OK;
}

static tarn_status sum_partitions(summing *s, tarn_error *err) {
  tn_travel travel = {0};
  s->hides_postpone = s->table->facts.bucket_mode == TN_BUCKETS_POSTPONE;
  TN_TRY(tn_travel_resolve(s->table, s->scratch, &travel, err));
  return travel.has_snapshot ? sum_up(s, &travel.snapshot, err) : TARN_OK;
}

tarn_status tn_system_each_partition(tn_table *table, tn_arena *scratch, const tarn_cancel *cancel,
                                     tn_file_sum_sink sink, void *ctx, tarn_error *err) {
  tn_table *branches[2] = {NULL, NULL};
  bool has_two = tn_fallback_is_wanted(table);
  summing sums[2];
  tarn_status st = TARN_OK;
  for (int i = 0; i < 2; i++) {
    summing_init(&sums[i], table, scratch, cancel);
  }
  for (int i = 0; i < (has_two ? 2 : 1); i++) {
    if (has_two) {
      TN_TRY_TO(done, tn_fallback_branch(table, i == 1, &branches[i], err));
      sums[i].table = branches[i] != NULL ? branches[i] : table;
    }
    TN_TRY_TO(done, sum_partitions(&sums[i], err));
    TN_TRY_TO(done, give_sums(&sums[i], i == 1 ? &sums[0] : NULL, sink, ctx, err));
  }
done:
  for (int i = 0; i < 2; i++) {
    summing_reset(&sums[i]);
    tn_table_release(branches[i]);
  }
  return st;
}

/* ------------------------------------------------------------------ $partitions */

static const tn_field partition_fields[] = {
    TN_TEXT(0, "partition", TN_NULLABLE),
    TN_LONG(1, "record_count", TN_NOT_NULL),
    TN_LONG(2, "file_size_in_bytes", TN_NOT_NULL),
    TN_LONG(3, "file_count", TN_NOT_NULL),
    TN_TIME3(4, "last_update_time", TN_NULLABLE),
    TN_TIME3(5, "created_at", TN_NULLABLE),
    TN_TEXT(6, "created_by", TN_NULLABLE),
    TN_TEXT(7, "updated_by", TN_NULLABLE),
    TN_TEXT(8, "options", TN_NULLABLE),
};

/* By the text of the first column, then by the number of the second one. */
static int compare_rows(const void *a, const void *b) {
  const tn_cell *x = *(const tn_cell *const *)a, *y = *(const tn_cell *const *)b;
  int c = tn_slice_compare(x[0].v.text, y[0].v.text);
  return c != 0 ? c : (x[1].v.number > y[1].v.number) - (x[1].v.number < y[1].v.number);
}

static void sort_rows(tn_system_rows *rows) {
  if (rows->count > 1) {
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
  }
}

/* Four columns from `column` on. */
static void set_sum(tn_system_rows *rows, int32_t column, const tn_file_sum *sum) {
  tn_system_rows_int(rows, column, sum->n_rows);
  tn_system_rows_int(rows, column + 1, sum->n_bytes);
  tn_system_rows_int(rows, column + 2, sum->n_files);
  /* Recorded as local wall clock already. */
  tn_system_rows_int(rows, column + 3, sum->last_ms);
}

static tarn_status add_partition(void *ctx, const tn_table *table, const tn_file_sum *sum,
                                 tarn_error *err) {
  tn_system_scan *scan = ctx;
  tarn_status st;
  tn_buf text;
  TN_TRY(tn_system_rows_add(&scan->rows, err));
  tn_buf_init(&text, &scan->env->mem, TN_SYSTEM_TEXT_BYTES);
  st = tn_partition_text(table, sum->partition, &text, err);
  if (st == TARN_OK) {
    st = tn_system_rows_slice(&scan->rows, 0, tn_buf_slice(&text), err);
  }
  tn_buf_reset(&text);
  set_sum(&scan->rows, 1, sum);
  return st;
}

static tarn_status partition_rows(tn_system_scan *scan, tarn_error *err) {
  TN_TRY(tn_system_each_partition(scan->table, &scan->scratch, scan->cancel, add_partition, scan,
                                  err));
  sort_rows(&scan->rows);
  return TARN_OK;
}

/* ------------------------------------------------------------------ $buckets */

static const tn_field bucket_fields[] = {
    TN_TEXT(0, "partition", TN_NULLABLE),    TN_INTEGER(1, "bucket", TN_NOT_NULL),
    TN_LONG(2, "record_count", TN_NOT_NULL), TN_LONG(3, "file_size_in_bytes", TN_NOT_NULL),
    TN_LONG(4, "file_count", TN_NOT_NULL),   TN_TIME3(5, "last_update_time", TN_NULLABLE),
};

static tarn_status add_bucket(void *ctx, const tn_table *table, const tn_file_sum *sum,
                              tarn_error *err) {
  tn_system_rows *rows = &((tn_system_scan *)ctx)->rows;
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_partition(rows, 0, table, sum->partition, err));
  tn_system_rows_int(rows, 1, sum->bucket);
  set_sum(rows, 2, sum);
  return TARN_OK;
}

/* Always of the latest snapshot: BucketsTable makes a reader without a starting scanner. All that
 * is there counts, level 0 and bucket-postpone, too. */
static tarn_status bucket_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_snapshot snapshot;
  summing sums;
  int64_t id;
  tarn_status st;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  if (id <= 0) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, &scan->scratch,
                          &snapshot, err));
  summing_init(&sums, table, &scan->scratch, scan->cancel);
  sums.by_bucket = true;
  TN_TRY_TO(done, sum_up(&sums, &snapshot, err));
  TN_TRY_TO(done, give_sums(&sums, NULL, add_bucket, scan, err));
  sort_rows(&scan->rows);
done:
  summing_reset(&sums);
  return st;
}

/* ------------------------------------------------------------------ $manifests */

static const tn_field manifest_fields[] = {
    TN_TEXT(0, "file_name", TN_NOT_NULL),           TN_LONG(1, "file_size", TN_NOT_NULL),
    TN_LONG(2, "num_added_files", TN_NOT_NULL),     TN_LONG(3, "num_deleted_files", TN_NOT_NULL),
    TN_LONG(4, "schema_id", TN_NOT_NULL),           TN_TEXT(5, "min_partition_stats", TN_NULLABLE),
    TN_TEXT(6, "max_partition_stats", TN_NULLABLE), TN_LONG(7, "min_row_id", TN_NULLABLE),
    TN_LONG(8, "max_row_id", TN_NULLABLE),
};

static tarn_status add_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  tn_system_scan *scan = ctx;
  tn_system_rows *rows = &scan->rows;
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_slice(rows, 0, m->file_name, err));
  tn_system_rows_int(rows, 1, m->file_size);
  tn_system_rows_int(rows, 2, m->n_added);
  tn_system_rows_int(rows, 3, m->n_deleted);
  tn_system_rows_int(rows, 4, m->schema_id);
  TN_TRY(tn_system_rows_partition(rows, 5, scan->table, m->partition_stats.min_values, err));
  TN_TRY(tn_system_rows_partition(rows, 6, scan->table, m->partition_stats.max_values, err));
  if (m->has_row_id_min) {
    tn_system_rows_int(rows, 7, m->min_row_id);
  }
  if (m->has_row_id_max) {
    tn_system_rows_int(rows, 8, m->max_row_id);
  }
  return TARN_OK;
}

static tarn_status manifest_rows(tn_system_scan *scan, tarn_error *err) {
  tn_travel travel = {0};
  const tn_snapshot *s = &travel.snapshot;
  TN_TRY(tn_travel_resolve(scan->table, &scan->scratch, &travel, err));
  if (travel.has_snapshot) {
    const tn_manifest_name lists[] = {
        {s->base_manifest_list, s->base_manifest_list_size, -1},
        {s->delta_manifest_list, s->delta_manifest_list_size, -1},
        {s->changelog_manifest_list, s->changelog_manifest_list_size, -1},
    };
    TN_TRY(read_lists(scan->table, lists, TN_COUNT(lists), add_manifest, scan, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ $table_indexes */

static const tn_field vector_fields[] = {
    TN_TEXT(0, "f0", TN_NOT_NULL),
    TN_INTEGER(1, "f1", TN_NOT_NULL),
    TN_INTEGER(2, "f2", TN_NOT_NULL),
    TN_LONG(3, "_CARDINALITY", TN_NULLABLE),
};
static const tn_field vector_element[] = {
    {.id = -1,
     .name = "element",
     .type = {.root = TN_ROW,
              .is_nullable = true,
              .n_fields = (int32_t)TN_COUNT(vector_fields),
              .fields = vector_fields}},
};
static const tn_field index_fields[] = {
    TN_TEXT(0, "partition", TN_NULLABLE),
    TN_INTEGER(1, "bucket", TN_NOT_NULL),
    TN_TEXT(2, "index_type", TN_NOT_NULL),
    TN_TEXT(3, "file_name", TN_NOT_NULL),
    TN_LONG(4, "file_size", TN_NOT_NULL),
    TN_LONG(5, "row_count", TN_NOT_NULL),
    TN_LIST(6, "dv_ranges", TN_NULLABLE, vector_element),
};

static tarn_status add_vectors(tn_system_rows *rows, const tn_index_entry *e, tarn_error *err) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  tn_cell *items;
  TN_TRY(tn_system_rows_list(rows, 6, e->dv_ranges.count, &items, err));
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    tn_cell *cells;
    TN_TRY(tn_system_cell_row(rows, &items[i], (int32_t)TN_COUNT(vector_fields), err));
    cells = items[i].v.list.items;
    TN_TRY(tn_system_cell_text(rows, &cells[0], ranges[i].data_file, err));
    tn_system_cell_int(&cells[1], ranges[i].offset);
    tn_system_cell_int(&cells[2], ranges[i].length);
    if (ranges[i].has_cardinality) {
      tn_system_cell_int(&cells[3], ranges[i].cardinality);
    }
  }
  return TARN_OK;
}

static tarn_status add_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  tn_system_scan *scan = ctx;
  tn_system_rows *rows = &scan->rows;
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_partition(rows, 0, scan->table, e->partition, err));
  tn_system_rows_int(rows, 1, e->bucket);
  TN_TRY(tn_system_rows_slice(rows, 2, e->index_type, err));
  TN_TRY(tn_system_rows_slice(rows, 3, e->file_name, err));
  tn_system_rows_int(rows, 4, e->file_size);
  tn_system_rows_int(rows, 5, e->row_count);
  return e->has_dv_ranges && tn_system_rows_wants(rows, 6) ? add_vectors(rows, e, err) : TARN_OK;
}

static tarn_status index_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  tn_travel travel = {0};
  tn_manifest_name name = {NULL, -1, -1};
  TN_TRY(tn_travel_resolve(table, &scan->scratch, &travel, err));
  if (!travel.has_snapshot || travel.snapshot.index_manifest == NULL) {
    return TARN_OK;
  }
  name.name = travel.snapshot.index_manifest;
  return tn_index_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name,
                                add_index, scan, err);
}

/* ------------------------------------------------------------------ kinds */

static const char *const partition_keys[] = {"partition"},
                         *const bucket_keys[] = {"partition", "bucket"},
                         *const file_keys[] = {"file_name"};

TN_SYSTEM_KIND(partitions, partition_fields, partition_keys, partition_rows);
TN_TIMELESS_KIND(buckets, bucket_fields, bucket_keys, bucket_rows);
TN_SYSTEM_KIND(manifests, manifest_fields, file_keys, manifest_rows);
TN_SYSTEM_KIND(table_indexes, index_fields, file_keys, index_rows);
