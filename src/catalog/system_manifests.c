/* system_manifests.c - system tables of what manifests and their lists hold: partitions, buckets,
 * manifests, indexes. Rule: PartitionsTable, BucketsTable, ManifestsTable, TableIndexesTable of
 * org.apache.paimon.table.system; spec: system-tables. */
#include <stdlib.h>

#include "catalog/system_kinds.h"
#include "plan/entries.h"
#include "plan/groups.h"
#include "plan/travel.h"

/* ------------------------------------------------------------------ lists, entries, groups */

/* A reading of manifests. */
typedef struct manifest_scan {
  tn_table *table;
  tn_arena *scratch;
  const tarn_cancel *cancel;
  tn_manifest_refs manifests;
} manifest_scan;

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

static tarn_status keep_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  manifest_scan *m_scan = ctx;
  return m->n_added > 0 || m->n_deleted > 0
             ? tn_manifest_refs_add(&m_scan->manifests, m_scan->scratch, m, err)
             : TARN_OK;
}

typedef tarn_status (*groups_sink)(void *ctx, const tn_file_groups *groups, tarn_error *err);

/* The live files of a snapshot by partition and bucket, level 0 among them; borrowed for the call
 * of the sink. */
static tarn_status read_groups(manifest_scan *scan, const tn_snapshot *s, bool hides_postpone,
                               groups_sink sink, void *ctx, tarn_error *err) {
  tn_table *table = scan->table;
  tn_scan_filter filter = {0};
  tn_entries entries = {0};
  tn_entries_request request = {.table = table,
                                .filter = &filter,
                                .hides_postpone = hides_postpone,
                                .row_limit = -1,
                                .cancel = scan->cancel};
  const tn_manifest_name names[] = {
      {s->base_manifest_list, s->base_manifest_list_size, -1},
      {s->delta_manifest_list, s->delta_manifest_list_size, -1},
  };
  tn_file_groups groups = {0};
  tarn_status st;
  TN_TRY(tn_scan_filter_init(&filter, table, NULL, scan->scratch, err));
  TN_TRY(read_lists(table, names, TN_COUNT(names), keep_manifest, scan, err));
  request.manifests = scan->manifests.items;
  request.n_manifests = (int32_t)scan->manifests.count;
  TN_TRY_TO(done, tn_entries_read(&request, &entries, err));
  TN_TRY_TO(done, tn_groups_make(table, entries.items, entries.count, scan->scratch, &groups, err));
  st = sink(ctx, &groups, err);
done:
  tn_entries_reset(&entries);
  return st;
}

static void add_files(tn_partition_sum *sum, const tn_file_group *group) {
  uint64_t n_rows = (uint64_t)sum->n_rows, n_bytes = (uint64_t)sum->n_bytes;
  for (int64_t i = 0; i < group->n_files; i++) {
    const tn_scan_entry *e = group->files[i];
    n_rows += (uint64_t)e->row_count;
    n_bytes += (uint64_t)e->file_size;
    if (e->has_creation_time && e->creation_time_ms > sum->last_ms) {
      sum->last_ms = e->creation_time_ms;
    }
  }
  sum->n_rows = (int64_t)n_rows;
  sum->n_bytes = (int64_t)n_bytes;
  sum->n_files += group->n_files;
}

typedef struct partition_walk {
  tn_partition_sink sink;
  void *ctx;
} partition_walk;

/* Groups of one partition lie together. */
static tarn_status sum_partitions(void *ctx, const tn_file_groups *groups, tarn_error *err) {
  const partition_walk *walk = ctx;
  for (int64_t g = 0; g < groups->count;) {
    const tn_file_group *first = &groups->items[g];
    tn_partition_sum sum = {.partition = first->partition};
    for (; g < groups->count && groups->items[g].partition_index == first->partition_index; g++) {
      add_files(&sum, &groups->items[g]);
    }
    TN_TRY(walk->sink(walk->ctx, &sum, err));
  }
  return TARN_OK;
}

tarn_status tn_system_each_partition(tn_table *table, tn_arena *scratch, const tarn_cancel *cancel,
                                     tn_partition_sink sink, void *ctx, tarn_error *err) {
  manifest_scan scan = {.table = table, .scratch = scratch, .cancel = cancel};
  partition_walk walk = {sink, ctx};
  tn_travel travel = {0};
  TN_TRY(tn_travel_resolve(table, scratch, &travel, err));
  return travel.has_snapshot
             ? read_groups(&scan, &travel.snapshot, table->facts.bucket_mode == TN_BUCKETS_POSTPONE,
                           sum_partitions, &walk, err)
             : TARN_OK;
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
static void set_sum(tn_system_rows *rows, int32_t column, const tn_partition_sum *sum) {
  tn_system_rows_int(rows, column, sum->n_rows);
  tn_system_rows_int(rows, column + 1, sum->n_bytes);
  tn_system_rows_int(rows, column + 2, sum->n_files);
  /* Recorded as local wall clock already. */
  tn_system_rows_int(rows, column + 3, sum->last_ms);
}

static tarn_status add_partition(void *ctx, const tn_partition_sum *sum, tarn_error *err) {
  tn_system_scan *scan = ctx;
  tarn_status st;
  tn_buf text;
  TN_TRY(tn_system_rows_add(&scan->rows, err));
  tn_buf_init(&text, &scan->env->mem, TN_SYSTEM_TEXT_BYTES);
  st = tn_partition_text(scan->table, sum->partition, &text, err);
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

static tarn_status add_buckets(void *ctx, const tn_file_groups *groups, tarn_error *err) {
  tn_system_scan *scan = ctx;
  tn_system_rows *rows = &scan->rows;
  for (int64_t g = 0; g < groups->count; g++) {
    const tn_file_group *group = &groups->items[g];
    tn_partition_sum sum = {0};
    add_files(&sum, group);
    TN_TRY(tn_system_rows_add(rows, err));
    TN_TRY(tn_system_rows_partition(rows, 0, scan->table, group->partition, err));
    tn_system_rows_int(rows, 1, group->bucket);
    set_sum(rows, 2, &sum);
  }
  return TARN_OK;
}

/* Always of the latest snapshot: BucketsTable makes a reader without a starting scanner. All that
 * is there counts, level 0 and bucket-postpone, too. */
static tarn_status bucket_rows(tn_system_scan *scan, tarn_error *err) {
  tn_table *table = scan->table;
  manifest_scan reading = {.table = table, .scratch = &scan->scratch, .cancel = scan->cancel};
  tn_snapshot snapshot;
  int64_t id;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  if (id <= 0) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, &scan->scratch,
                          &snapshot, err));
  TN_TRY(read_groups(&reading, &snapshot, false, add_buckets, scan, err));
  sort_rows(&scan->rows);
  return TARN_OK;
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
TN_SYSTEM_KIND(buckets, bucket_fields, bucket_keys, bucket_rows);
TN_SYSTEM_KIND(manifests, manifest_fields, file_keys, manifest_rows);
TN_SYSTEM_KIND(table_indexes, index_fields, file_keys, index_rows);
