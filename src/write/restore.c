/* restore.c - buckets that are opened go on where the latest snapshot ends (WR2).
 *
 * The manifests are read once for all buckets that a batch opens; few partitions are looked for by
 * a filter, so that the manifests of others are skipped.
 *
 * Rule: org.apache.paimon.operation.{FileSystemWriteRestore,AbstractFileStoreWrite.
 * scanExistingFileMetas}; spec: write-path, 1 and 4.
 */
#include "base/bytes.h"
#include "model/partition.h"
#include "plan/entries.h"
#include "plan/plan.h"
#include "write/compact_inline.h"

#define MAX_FILTERED 32   /* partitions */
#define SNAPSHOT_TRIES 64 /* one behind the other, as they expire */
#define SAME_TRIES 5      /* of one that is still the latest */

/* What a bucket has in the snapshot, for its compaction. */
typedef struct restored {
  tn_data_file *files;
  size_t n_files, files_capacity;
  tn_index_entry *vectors;
  size_t n_vectors, vectors_capacity;
} restored;

typedef struct restore {
  tn_write *w;
  tn_open_bucket **buckets;
  size_t n_buckets;
  tn_arena arena;
  restored *states; /* by the numbers of buckets; NULL: the writer does not compact */
  int64_t snapshot_id;
} restore;

/* ------------------------------------------------------------------ the filter */

/* The AND of what a partition's columns are. NULL: no filter can tell. */
static tarn_status partition_filter(restore *r, tn_slice partition, const tn_pred **out,
                                    tarn_error *err) {
  const tn_schema *schema = r->w->table->schema;
  const tn_pred **parts =
      tn_arena_calloc(&r->arena, (size_t)schema->n_partition_keys, sizeof(*parts));
  tn_datum *values;
  *out = NULL;
  if (parts == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_partition_values(&r->arena, schema, partition, &values, err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_field *field = &schema->fields[schema->partition_columns[i]];
    if (field->type.root == TN_FLOAT || field->type.root == TN_DOUBLE) {
      return TARN_OK; /* filters and partitions differ in what equal is */
    }
    parts[i] = values[i].is_null ? tn_pred_leaf(&r->arena, TN_PRED_IS_NULL, field, NULL, 0)
                                 : tn_pred_leaf(&r->arena, TN_PRED_EQ, field, &values[i], 1);
    if (parts[i] == NULL) {
      return tn_oom(err);
    }
  }
  *out = schema->n_partition_keys == 1
             ? parts[0]
             : tn_pred_compound(&r->arena, TN_PRED_AND, parts, schema->n_partition_keys);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status make_filter(restore *r, tn_scan_filter *filter, tarn_error *err) {
  const tn_pred *parts[MAX_FILTERED], *all = NULL;
  int32_t n = 0;
  bool is_known = r->w->n_partition_columns > 0;
  for (size_t i = 0; i < r->n_buckets && is_known; i++) {
    tn_slice partition = r->buckets[i]->partition;
    if (i > 0 && partition.data == r->buckets[i - 1]->partition.data) {
      continue;
    }
    is_known = n < MAX_FILTERED;
    if (is_known) {
      TN_TRY(partition_filter(r, partition, &parts[n], err));
      is_known = parts[n++] != NULL;
    }
  }
  if (is_known) {
    all = n == 1 ? parts[0] : tn_pred_compound(&r->arena, TN_PRED_OR, parts, n);
    if (all == NULL) {
      return tn_oom(err);
    }
  }
  return tn_scan_filter_init(filter, r->w->table, all, &r->arena, err);
}

/* ------------------------------------------------------------------ entries */

static tarn_status refuse_bucket_count(const tn_write *w, const tn_scan_entry *e, tarn_error *err) {
  tn_buf text;
  tarn_status st = TARN_OK;
  tn_buf_init(&text, &w->env->mem, 1 << 16);
  if (w->n_partition_columns > 0) {
    st = tn_buf_text(&text, "partition {", err);
    st = st == TARN_OK ? tn_partition_path(w->table, e->partition->bytes, &text, err) : st;
    st = st == TARN_OK ? tn_buf_text(&text, "}", err) : st;
  } else {
    st = tn_buf_text(&text, "table", err);
  }
  if (st == TARN_OK) {
    st = tn_fail(
        err, TARN_E_INVALID,
        "Try to write %.*s with a new bucket num %d, but the previous bucket num is %d. "
        "Please switch to batch mode, and perform INSERT OVERWRITE to rescale current data "
        "layout first.",
        TN_SLICE_ARG(tn_buf_slice(&text)), (int)w->table->facts.bucket, (int)e->total_buckets);
  }
  tn_buf_reset(&text);
  return st;
}

/* The open bucket that is to be restored; NULL: it is none. */
static tn_open_bucket *find_bucket(const restore *r, tn_slice partition, int32_t bucket) {
  const tn_router *router = &r->w->router;
  const tn_map_entry *entry = tn_map_find(&router->partitions, partition);
  uint8_t key[8];
  if (entry == NULL) {
    return NULL;
  }
  tn_store_le32(key, (uint32_t)entry->value.num);
  tn_store_le32(key + 4, (uint32_t)bucket);
  entry = tn_map_find(&router->places, tn_slice_of(key, 8));
  if (entry == NULL || !router->buckets[entry->value.num]->must_restore) {
    return NULL;
  }
  return router->buckets[entry->value.num];
}

static tarn_status take_file(restore *r, const tn_open_bucket *b, const tn_scan_entry *e,
                             tarn_error *err) {
  restored *state = &r->states[b->number];
  void *items = state->files;
  if (!tn_arena_grow(&r->arena, &items, &state->files_capacity, state->n_files,
                     sizeof(*state->files))) {
    return tn_oom(err);
  }
  state->files = items;
  tn_scan_entry_file(e, &state->files[state->n_files++]);
  return TARN_OK;
}

static tarn_status take_entry(restore *r, const tn_scan_entry *e, tarn_error *err) {
  tn_open_bucket *b = find_bucket(r, e->partition->bytes, e->bucket);
  if (b == NULL) {
    return TARN_OK;
  }
  if (e->total_buckets != r->w->table->facts.bucket) {
    return refuse_bucket_count(r->w, e, err);
  }
  /* Rows that wait have their numbers. */
  if (e->max_sequence >= b->next_sequence && b->n_stored == 0 && b->n_spilled == 0 &&
      b->writer == NULL) {
    if (e->max_sequence == INT64_MAX) {
      return tn_fail(err, TARN_E_LIMIT, "sequence numbers are used up");
    }
    b->next_sequence = e->max_sequence + 1;
  }
  return r->states != NULL ? take_file(r, b, e, err) : TARN_OK;
}

/* ------------------------------------------------------------------ deletion vectors */

static tarn_status copy_vectors(restore *r, const tn_index_entry *from, tn_index_entry *to,
                                tarn_error *err) {
  const tn_dv_range *ranges = from->dv_ranges.items;
  tn_dv_range *copies = tn_arena_calloc(&r->arena, (size_t)from->dv_ranges.count, sizeof(*copies));
  *to = (tn_index_entry){.bucket = from->bucket,
                         .has_dv_ranges = from->has_dv_ranges,
                         .has_external_path = from->has_external_path};
  if (copies == NULL || !tn_arena_slice(&r->arena, from->partition, &to->partition) ||
      !tn_arena_slice(&r->arena, from->index_type, &to->index_type) ||
      !tn_arena_slice(&r->arena, from->file_name, &to->file_name) ||
      !tn_arena_slice(&r->arena, from->external_path, &to->external_path)) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < from->dv_ranges.count; i++) {
    copies[i] = ranges[i];
    if (!tn_arena_slice(&r->arena, ranges[i].data_file, &copies[i].data_file)) {
      return tn_oom(err);
    }
  }
  to->dv_ranges = from->dv_ranges;
  to->dv_ranges.items = copies;
  return TARN_OK;
}

static tarn_status on_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  restore *r = ctx;
  const tn_open_bucket *b = find_bucket(r, e->partition, e->bucket);
  restored *state = b != NULL ? &r->states[b->number] : NULL;
  void *items;
  if (b == NULL || !tn_slice_is(e->index_type, "DELETION_VECTORS")) {
    return TARN_OK;
  }
  items = state->vectors;
  if (!tn_arena_grow(&r->arena, &items, &state->vectors_capacity, state->n_vectors,
                     sizeof(*state->vectors))) {
    return tn_oom(err);
  }
  state->vectors = items;
  return copy_vectors(r, e, &state->vectors[state->n_vectors++], err);
}

static tarn_status read_vectors(restore *r, const tn_snapshot *s, tarn_error *err) {
  const tn_table *table = r->w->table;
  const tn_manifest_name name = {s->index_manifest, -1, -1};
  if (!table->facts.deletion_vectors || s->index_manifest == NULL) {
    return TARN_OK;
  }
  return tn_index_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name,
                                on_index, r, err);
}

/* ------------------------------------------------------------------ a snapshot */

/* Buckets that have files are compacted with them. */
static tarn_status open_compactions(restore *r, tarn_error *err) {
  for (size_t i = 0; i < r->n_buckets; i++) {
    tn_open_bucket *b = r->buckets[i];
    const restored *state = &r->states[b->number];
    if (state->n_files > 0) {
      TN_TRY(tn_inline_open(r->w, b, r->snapshot_id, state->files, (int32_t)state->n_files,
                            state->vectors, (int32_t)state->n_vectors, err));
    }
  }
  return TARN_OK;
}

static tarn_status read_snapshot(restore *r, const tn_snapshot *s, tarn_error *err) {
  tn_scan_filter filter = {0};
  tn_manifest_refs manifests = {0};
  tn_entries entries = {0};
  tn_entries_request request = {
      .table = r->w->table, .filter = &filter, .row_limit = -1, .cancel = r->w->options.cancel};
  tarn_status st = TARN_OK;
  r->states = NULL;
  r->snapshot_id = s->id;
  if (r->w->compaction != NULL) {
    request.keeps_stats = true;
    r->states = tn_arena_calloc(&r->arena, r->w->router.n_buckets, sizeof(*r->states));
    if (r->states == NULL) {
      return tn_oom(err);
    }
  }
  TN_TRY_TO(done, make_filter(r, &filter, err));
  TN_TRY_TO(done, tn_manifest_refs_read(&manifests, r->w->table, s, &filter, &r->arena, err));
  request.manifests = manifests.items;
  request.n_manifests = (int32_t)manifests.count;
  TN_TRY_TO(done, tn_entries_read(&request, &entries, err));
  for (int64_t i = 0; i < entries.count; i++) {
    TN_TRY_TO(done, take_entry(r, entries.items[i], err));
  }
  if (r->states != NULL) {
    TN_TRY_TO(done, read_vectors(r, s, err));
    st = open_compactions(r, err);
    tn_inline_saw(r->w, s->id);
  }
done:
  tn_entries_reset(&entries);
  return st;
}

/* Does a writer of the table look at what its buckets hold? */
static bool restores(const tn_write *w, bool is_redone) {
  return (is_redone || !w->options.ignores_previous) &&
         (w->table->facts.bucket_mode == TN_BUCKETS_FIXED ||
          w->table->facts.bucket_mode == TN_BUCKETS_DYNAMIC ||
          w->table->facts.bucket_mode == TN_BUCKETS_CROSS);
}

tarn_status tn_restore(tn_write *w, tn_open_bucket **buckets, size_t n, bool is_redone,
                       tarn_error *err) {
  restore r = {.w = w, .buckets = buckets, .n_buckets = n};
  tarn_status st = TARN_OK;
  tn_table *table = w->table;
  int64_t tried = 0;
  int n_same = 0;
  tn_arena_init(&r.arena, &w->env->mem, TN_PLAN_ARENA_BYTES);
  for (int i = 0; restores(w, is_redone) && i < SNAPSHOT_TRIES; i++) {
    tn_snapshot snapshot;
    int64_t id;
    tn_arena_reset(&r.arena);
    st = tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err);
    if (st != TARN_OK || id == 0) {
      break;
    }
    st = tn_snapshot_read(table->env, table->storage, table->branch_path, id, &r.arena, &snapshot,
                          err);
    st = st == TARN_OK ? read_snapshot(&r, &snapshot, err) : st;
    n_same = id == tried ? n_same + 1 : 1;
    tried = id;
    if (st != TARN_E_NOT_FOUND || n_same == SAME_TRIES) { /* else it was expired meanwhile */
      break;
    }
  }
  tn_arena_reset(&r.arena);
  return tn_table_fault(table, st, err);
}
