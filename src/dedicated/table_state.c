/* table_state.c - the latest snapshot's files, bucket by bucket.
 *
 * A snapshot that expires while it is read is read anew, from the one that is the latest then.
 */
#include "base/bytes.h"
#include "base/map.h"
#include "commit/index_manifest.h"
#include "datafile/index_place.h"
#include "dedicated/run.h"
#include "model/partition.h"
#include "read/read.h"

#define SNAPSHOT_TRIES 5

/* ------------------------------------------------------------------ entries */

static bool is_partition_column(void *ctx, int32_t field_id) {
  return tn_schema_partition_key(ctx, field_id) >= 0;
}

static tarn_status read_entries(tn_table *table, const tn_pred *predicate,
                                const tarn_cancel *cancel, tn_live_table *live, tarn_error *err) {
  tn_scan_filter filter = {0};
  tn_manifest_refs manifests = {0};
  tn_entries_request request = {
      .table = table, .filter = &filter, .keeps_stats = true, .row_limit = -1, .cancel = cancel};
  if (predicate != NULL && !tn_pred_only_uses(predicate, is_partition_column, table->schema)) {
    return tn_fail(
        err, TARN_E_INVALID,
        "%s: whole partitions are compacted: the predicate may use partition columns only",
        table->full_name);
  }
  TN_TRY(tn_scan_filter_init(&filter, table, predicate, &live->arena, err));
  TN_TRY(tn_manifest_refs_read(&manifests, table, &live->snapshot, &filter, &live->arena, err));
  request.manifests = manifests.items;
  request.n_manifests = (int32_t)manifests.count;
  return tn_entries_read(&request, &live->entries, err);
}

/* ------------------------------------------------------------------ buckets */

typedef struct grouping {
  tn_live_table *live;
  tn_map numbers; /* partition and bucket -> number of the bucket */
  tn_buf key;
} grouping;

static tarn_status make_key(grouping *g, tn_slice partition, int32_t bucket, tarn_error *err) {
  uint8_t number[4];
  tn_store_le32(number, (uint32_t)bucket);
  g->key.len = 0;
  TN_TRY(tn_buf_append(&g->key, number, sizeof(number), err));
  return tn_buf_append(&g->key, partition.data, partition.len, err);
}

/* numbers[i]: the bucket of entry i. */
static tarn_status number_buckets(grouping *g, uint32_t *numbers, tarn_error *err) {
  tn_live_table *live = g->live;
  size_t room = 0;
  for (int64_t i = 0; i < live->entries.count; i++) {
    const tn_scan_entry *e = live->entries.items[i];
    tn_map_entry *slot;
    TN_TRY(make_key(g, e->partition->bytes, e->bucket, err));
    slot = tn_map_find(&g->numbers, tn_buf_slice(&g->key));
    if (slot == NULL) {
      tn_slice key;
      if (!tn_arena_slice(&live->arena, tn_buf_slice(&g->key), &key) ||
          !tn_arena_grow(&live->arena, (void **)&live->buckets, &room, (size_t)live->n_buckets,
                         sizeof(*live->buckets))) {
        return tn_oom(err);
      }
      TN_TRY(tn_map_put(&g->numbers, key, &slot, NULL, err));
      slot->value.num = live->n_buckets;
      live->buckets[live->n_buckets++] = (tn_live_bucket){
          .partition = e->partition->bytes, .bucket = e->bucket, .total_buckets = e->total_buckets};
    }
    numbers[i] = (uint32_t)slot->value.num;
    live->buckets[numbers[i]].n_entries++;
  }
  return TARN_OK;
}

static tarn_status deal_entries(tn_live_table *live, const uint32_t *numbers, tarn_error *err) {
  size_t n = (size_t)live->entries.count;
  const tn_scan_entry **all = tn_arena_calloc(&live->arena, n, sizeof(*all));
  if (all == NULL) {
    return tn_oom(err);
  }
  for (int64_t b = 0; b < live->n_buckets; b++) {
    live->buckets[b].entries = all;
    all += live->buckets[b].n_entries;
    live->buckets[b].n_entries = 0;
  }
  for (size_t i = 0; i < n; i++) {
    tn_live_bucket *b = &live->buckets[numbers[i]];
    b->entries[b->n_entries++] = live->entries.items[i];
    b->total_buckets = live->entries.items[i]->total_buckets; /* that of the newest */
  }
  return TARN_OK;
}

static tarn_status deal_vectors(grouping *g, const tn_table *table, tarn_error *err) {
  tn_live_table *live = g->live;
  tn_index_list indexes;
  size_t *rooms = tn_arena_calloc(&live->arena, (size_t)live->n_buckets, sizeof(*rooms));
  if (rooms == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_index_list_read((tn_table *)table, live->snapshot.index_manifest, &live->arena,
                            &indexes, err));
  for (size_t i = 0; i < indexes.count; i++) {
    const tn_index_entry *e = &indexes.items[i];
    const tn_map_entry *slot;
    tn_live_bucket *b;
    if (!tn_index_is_vectors(e)) {
      continue;
    }
    TN_TRY(make_key(g, e->partition, e->bucket, err));
    slot = tn_map_find(&g->numbers, tn_buf_slice(&g->key));
    if (slot == NULL) {
      continue;
    }
    b = &live->buckets[slot->value.num];
    if (!tn_arena_grow(&live->arena, (void **)&b->vectors, &rooms[slot->value.num],
                       (size_t)b->n_vectors, sizeof(*b->vectors))) {
      return tn_oom(err);
    }
    b->vectors[b->n_vectors++] = *e;
  }
  return TARN_OK;
}

static tarn_status group(tn_live_table *live, const tn_table *table, tarn_error *err) {
  tn_mem *mem = &table->env->mem;
  grouping g = {.live = live};
  size_t n = (size_t)live->entries.count;
  uint32_t *numbers = tn_calloc(mem, n + 1, sizeof(*numbers));
  tarn_status st = TARN_OK;
  tn_map_init(&g.numbers, mem);
  tn_buf_init(&g.key, mem, (size_t)1 << 30);
  if (numbers == NULL || n > UINT32_MAX) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, number_buckets(&g, numbers, err));
  TN_TRY_TO(done, deal_entries(live, numbers, err));
  if (table->facts.deletion_vectors) {
    st = deal_vectors(&g, table, err);
  }
done:
  tn_buf_reset(&g.key);
  tn_map_reset(&g.numbers);
  tn_free(mem, numbers);
  return st;
}

/* ------------------------------------------------------------------ all */

void tn_live_table_reset(tn_live_table *live) {
  if (live->arena.mem != NULL) {
    tn_entries_reset(&live->entries);
    tn_arena_reset(&live->arena);
    *live = (tn_live_table){0};
  }
}

static tarn_status try_read(tn_table *table, const tn_pred *predicate, const tarn_cancel *cancel,
                            tn_live_table *live, tarn_error *err) {
  int64_t id;
  *live = (tn_live_table){0};
  tn_arena_init(&live->arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  live->entries.mem = &table->env->mem;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  if (id == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, &live->arena,
                          &live->snapshot, err));
  live->has_snapshot = true;
  TN_TRY(read_entries(table, predicate, cancel, live, err));
  return group(live, table, err);
}

tarn_status tn_live_table_read(tn_table *table, const tn_pred *predicate, const tarn_cancel *cancel,
                               tn_live_table *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int i = 0; i < SNAPSHOT_TRIES; i++) {
    st = try_read(table, predicate, cancel, out, err);
    if (st != TARN_E_NOT_FOUND) {
      break;
    }
    tn_live_table_reset(out); /* it was expired meanwhile */
  }
  return tn_table_fault(table, st, err);
}

tarn_status tn_live_bucket_files(const tn_live_bucket *bucket, tn_arena *arena, tn_data_file **out,
                                 tarn_error *err) {
  tn_data_file *files = tn_arena_calloc(arena, (size_t)bucket->n_entries, sizeof(*files));
  if (files == NULL || bucket->n_entries > INT32_MAX) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < bucket->n_entries; i++) {
    tn_scan_entry_file(bucket->entries[i], &files[i]);
  }
  *out = files;
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading a bucket */

/* Where the vectors of the split's files lie. */
static tarn_status place_vectors(const tn_table *table, const tn_live_bucket *b, tn_plan *plan,
                                 tn_split *split, tarn_error *err) {
  tn_dv_place *places = tn_arena_calloc(&plan->arena, (size_t)split->n_files, sizeof(*places));
  tarn_status st = TARN_OK;
  tn_map numbers; /* name -> file */
  if (places == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&numbers, &table->env->mem);
  for (int32_t i = 0; i < split->n_files; i++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&numbers, split->files[i].file_name, &slot, NULL, err));
    slot->value.num = i;
  }
  for (int32_t k = 0; k < b->n_vectors; k++) {
    const tn_index_entry *e = &b->vectors[k];
    const tn_dv_range *ranges = e->dv_ranges.items;
    const char *path;
    TN_TRY_TO(done, tn_index_file_path(table, e, &plan->arena, &path, err));
    for (int64_t i = 0; e->has_dv_ranges && i < e->dv_ranges.count; i++) {
      const tn_map_entry *slot = tn_map_find(&numbers, ranges[i].data_file);
      if (slot != NULL) {
        places[slot->value.num] =
            (tn_dv_place){path, ranges[i].offset, ranges[i].length,
                          ranges[i].has_cardinality ? ranges[i].cardinality : -1};
      }
    }
  }
  split->deletions = places;
done:
  tn_map_reset(&numbers);
  return st;
}

static tarn_status fill_plan(const tn_compact_run_state *run, const tn_live_bucket *b,
                             const tn_data_file *const *order, bool with_kinds, tn_plan *plan,
                             tarn_error *err) {
  tn_split *split = tn_arena_calloc(&plan->arena, 1, sizeof(*split));
  tn_data_file *files;
  if (split == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_live_bucket_files(b, &plan->arena, &files, err));
  for (int64_t i = 0; i < b->n_entries && order != NULL; i++) {
    files[i] = *order[i];
  }
  *split = (tn_split){.plan = plan,
                      .partition = b->partition,
                      .bucket = b->bucket,
                      .has_total_buckets = true,
                      .total_buckets = b->total_buckets,
                      .files = files,
                      .n_files = (int32_t)b->n_entries,
                      .is_streaming = with_kinds,
                      .is_raw_convertible = !with_kinds};
  TN_TRY(tn_bucket_folder(run->table, b->partition, b->bucket, &plan->arena, &split->bucket_path,
                          err));
  plan->splits = split;
  plan->n_splits = 1;
  return b->n_vectors > 0 ? place_vectors(run->table, b, plan, split, err) : TARN_OK;
}

tarn_status tn_run_plan(const tn_compact_run_state *run, const tn_live_bucket *bucket,
                        const tn_data_file *const *order, bool with_kinds, tn_plan **out,
                        tarn_error *err) {
  tn_plan *plan = tn_calloc(&run->env->mem, 1, sizeof(*plan));
  tarn_status st;
  *out = NULL;
  if (plan == NULL) {
    return tn_oom(err);
  }
  atomic_init(&plan->refs, 1);
  plan->env = run->env;
  tn_arena_init(&plan->arena, &run->env->mem, TN_PLAN_ARENA_BYTES);
  plan->table = tn_table_retain(run->table);
  plan->kind = with_kinds ? TN_PLAN_DELTA : TN_PLAN_STATE;
  st = fill_plan(run, bucket, order, with_kinds, plan, err);
  if (st != TARN_OK) {
    tn_plan_release(plan);
    return st;
  }
  *out = plan;
  return TARN_OK;
}

tarn_status tn_run_read(const tn_compact_run_state *run, const tn_live_bucket *bucket,
                        const tn_field *fields, int32_t n_fields,
                        tarn_status (*take)(void *ctx, tn_batch *batch, tarn_error *err), void *ctx,
                        tarn_error *err) {
  const tn_read_options options = {.table = run->table,
                                   .fields = fields,
                                   .n_fields = n_fields,
                                   .limit = -1,
                                   .cancel = run->q->cancel};
  tn_plan *plan = NULL;
  tn_read *read = NULL;
  const tn_split *split;
  bool is_end = false;
  tarn_status st;
  TN_TRY(tn_run_plan(run, bucket, NULL, false, &plan, err));
  split = &plan->splits[0];
  st = tn_read_create(run->env, &options, &split, 1, &read, err);
  while (st == TARN_OK && !is_end) {
    tn_batch batch = {0};
    st = tn_read_next(read, &batch, err);
    is_end = batch.n_rows == 0;
    if (st == TARN_OK && !is_end) {
      st = take(ctx, &batch, err);
    }
    tn_batch_reset(run->env, &batch);
  }
  tn_read_free(read);
  tn_plan_release(plan);
  return st;
}
