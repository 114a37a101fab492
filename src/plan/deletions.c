/* deletions.c - the index manifest's deletion vectors, by data file. */
#include "plan/deletions.h"

#include "datafile/index_place.h"

typedef struct deletion {
  tn_slice partition;
  int32_t bucket;
  tn_dv_place place;
  struct deletion *next; /* of the same file name */
} deletion;

typedef struct reading {
  tn_table *table;
  tn_arena *arena;
  tn_deletions *out;
  tn_map partitions; /* bytes of the partitions that are planned, as the plan holds them */
} reading;

static tarn_status add_range(reading *r, const tn_index_entry *entry, tn_slice partition,
                             const tn_dv_range *range, const char *path, tarn_error *err) {
  deletion *d = tn_arena_calloc(r->arena, 1, sizeof(*d));
  tn_map_entry *slot;
  tn_slice name;
  bool is_new;
  if (d == NULL || !tn_arena_slice(r->arena, range->data_file, &name)) {
    return tn_oom(err);
  }
  if (range->offset < 0 || range->length < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector of %.*s at %d, %d bytes", path,
                   TN_SLICE_ARG(range->data_file), (int)range->offset, (int)range->length);
  }
  d->partition = partition;
  d->bucket = entry->bucket;
  d->place.path = path;
  d->place.offset = range->offset;
  d->place.length = range->length;
  d->place.cardinality =
      range->has_cardinality && range->cardinality >= 0 ? range->cardinality : -1;
  TN_TRY(tn_map_put(&r->out->by_file, name, &slot, &is_new, err));
  d->next = slot->value.ptr;  // of two for one file the later one is found
  slot->value.ptr = d;
  return TARN_OK;
}

/* As recorded when it is whole: splits have it in their bytes, as Java's do. */
static tarn_status container_path(reading *r, const tn_index_entry *entry, const char **out,
                                  tarn_error *err) {
  if (!entry->has_external_path) {
    return tn_index_file_path(r->table, entry, r->arena, out, err);
  }
  *out =
      tn_arena_strndup(r->arena, (const char *)entry->external_path.data, entry->external_path.len);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status on_entry(void *ctx, const tn_index_entry *entry, tarn_error *err) {
  reading *r = ctx;
  const tn_map_entry *partition;
  const char *path;
  if (!tn_slice_is(entry->index_type, "DELETION_VECTORS") || !entry->has_dv_ranges ||
      entry->dv_ranges.count == 0) {
    return TARN_OK;
  }
  partition = tn_map_find(&r->partitions, entry->partition);
  if (partition == NULL) {
    return TARN_OK;
  }
  TN_TRY(container_path(r, entry, &path, err));
  for (int64_t i = 0; i < entry->dv_ranges.count; i++) {
    const tn_dv_range *range = &((const tn_dv_range *)entry->dv_ranges.items)[i];
    TN_TRY(add_range(r, entry, partition->key, range, path, err));
  }
  return TARN_OK;
}

tarn_status tn_deletions_read(tn_table *table, const char *name, const tn_file_groups *groups,
                              tn_arena *arena, tn_deletions *out, tarn_error *err) {
  const tn_manifest_name manifest = {name, -1, -1};
  reading r = {.table = table, .arena = arena, .out = out};
  tarn_status st = TARN_OK;
  tn_map_init(&out->by_file, &table->env->mem);
  tn_map_init(&r.partitions, &table->env->mem);
  for (int64_t g = 0; g < groups->count; g++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&r.partitions, groups->items[g].partition, &slot, NULL, err));
  }
  TN_TRY_TO(done, tn_index_manifest_read(table->env, table->storage, &tn_plan_readers, table->path,
                                         &manifest, on_entry, &r, err));
done:
  tn_map_reset(&r.partitions);
  return st;
}

void tn_deletions_reset(tn_deletions *deletions) {
  tn_map_reset(&deletions->by_file);
}

void tn_deletions_find(const tn_deletions *deletions, tn_slice partition, int32_t bucket,
                       tn_slice file_name, tn_dv_place *out) {
  const tn_map_entry *slot = tn_map_find(&deletions->by_file, file_name);
  const deletion *d = slot != NULL ? slot->value.ptr : NULL;
  while (d != NULL && (d->bucket != bucket || !tn_slice_equal(d->partition, partition))) {
    d = d->next;
  }
  *out = d != NULL ? d->place : (tn_dv_place){NULL, 0, 0, -1};
}
