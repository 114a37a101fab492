/* groups.c - grouping by counting: group of each entry, sizes, places, then one pass of copies. */
#include "plan/groups.h"

#include "base/checked.h"
#include "base/map.h"
#include "base/sort.h"
#include "model/partition.h"

/* Groups by (partition index, bucket); open addressing, a power of two of slots. */
typedef struct group_table {
  uint64_t *keys;
  uint32_t *slots; /* group + 1; 0: free */
  size_t n_slots;
  tn_file_group *groups;
  size_t n_groups, capacity;
  tn_arena *arena;
} group_table;

static size_t slot_of(const group_table *t, uint64_t key) {
  size_t mask = t->n_slots - 1;
  size_t i = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (t->slots[i] != 0 && t->keys[i] != key) {
    i = (i + 1) & mask;
  }
  return i;
}

static tarn_status grow_table(group_table *t, tarn_error *err) {
  group_table bigger = *t;
  bigger.n_slots = t->n_slots > 0 ? t->n_slots * 4 : 1024;
  bigger.keys = tn_arena_calloc(t->arena, bigger.n_slots, sizeof(*bigger.keys));
  bigger.slots = tn_arena_calloc(t->arena, bigger.n_slots, sizeof(*bigger.slots));
  if (bigger.keys == NULL || bigger.slots == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < t->n_slots; i++) {
    if (t->slots[i] != 0) {
      size_t to = slot_of(&bigger, t->keys[i]);
      bigger.keys[to] = t->keys[i];
      bigger.slots[to] = t->slots[i];
    }
  }
  *t = bigger;
  return TARN_OK;
}

/* The group of an entry, made if it is the first of it. */
static tarn_status group_of(group_table *t, const tn_scan_entry *e, uint32_t *out,
                            tarn_error *err) {
  uint64_t key = (uint64_t)e->partition->index << 32 | (uint32_t)e->bucket;
  void *groups = t->groups;
  tn_file_group *g;
  size_t slot;
  if (t->n_slots < 2 * (t->n_groups + 1)) {
    TN_TRY(grow_table(t, err));
  }
  slot = slot_of(t, key);
  if (t->slots[slot] != 0) {
    *out = t->slots[slot] - 1;
    return TARN_OK;
  }
  if (t->n_groups >= UINT32_MAX - 1) {
    return tn_fail(err, TARN_E_LIMIT, "more than %u buckets in a plan", UINT32_MAX - 1);
  }
  if (!tn_arena_grow(t->arena, &groups, &t->capacity, t->n_groups, sizeof(*t->groups))) {
    return tn_oom(err);
  }
  t->groups = groups;
  g = &t->groups[t->n_groups];
  memset(g, 0, sizeof(*g));
  g->partition = e->partition->bytes;
  g->partition_index = e->partition->index;
  g->bucket = e->bucket;
  g->total_buckets = e->total_buckets;
  *out = (uint32_t)t->n_groups++;
  t->keys[slot] = key;
  t->slots[slot] = *out + 1;
  return TARN_OK;
}

/* One number for a partition, whichever worker met it. */
static tarn_status index_partition(tn_map *map, tn_scan_partition *p, tarn_error *err) {
  tn_map_entry *e;
  bool is_new;
  if (p->index != TN_NO_INDEX) {
    return TARN_OK;
  }
  TN_TRY(tn_map_put(map, p->bytes, &e, &is_new, err));
  if (is_new) {
    e->value.num = (int64_t)map->count - 1;
  }
  p->index = (uint32_t)e->value.num;
  return TARN_OK;
}

/* ------------------------------------------------------------------ order of partitions */

typedef struct partition_values {
  const tn_datum *values;
  uint32_t index;
} partition_values;

static int compare_partitions(void *ctx, const void *a, const void *b) {
  const tn_schema *schema = ctx;
  return tn_datum_compare_keys(schema->fields, schema->partition_columns, schema->n_partition_keys,
                               ((const partition_values *)a)->values,
                               ((const partition_values *)b)->values);
}

/* rank[index of a partition] = its place. */
static tarn_status rank_partitions(const tn_table *table, const tn_map *partitions, tn_arena *arena,
                                   uint32_t *rank, tarn_error *err) {
  size_t n = partitions->count;
  partition_values *items = tn_arena_calloc(arena, n + 1, sizeof(*items));
  const void **order = tn_arena_calloc(arena, n + 1, sizeof(*order));
  const void **scratch = tn_arena_calloc(arena, n + 1, sizeof(*scratch));
  if (items == NULL || order == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    tn_datum *values;
    TN_TRY(tn_partition_values(arena, table->schema, partitions->entries[i].key, &values, err));
    items[i].values = values;
    items[i].index = (uint32_t)i;
    order[i] = &items[i];
  }
  tn_sort_stable(order, scratch, (int64_t)n, compare_partitions, table->schema);
  for (size_t i = 0; i < n; i++) {
    rank[((const partition_values *)order[i])->index] = (uint32_t)i;
  }
  return TARN_OK;
}

/* Groups of one partition together, in the order of partitions; stable. */
static tarn_status order_groups(const tn_table *table, const tn_map *partitions, group_table *t,
                                tn_arena *arena, uint32_t *place, tarn_error *err) {
  size_t n = partitions->count;
  uint32_t *rank = tn_arena_calloc(arena, n + 1, sizeof(*rank));
  uint32_t *next = tn_arena_calloc(arena, n + 2, sizeof(*next));
  if (rank == NULL || next == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    rank[i] = (uint32_t)i;
  }
  if (table->facts.plan_sort_partition && table->schema->n_partition_keys > 0) {
    TN_TRY(rank_partitions(table, partitions, arena, rank, err));
  }
  for (size_t g = 0; g < t->n_groups; g++) {
    next[rank[t->groups[g].partition_index] + 1]++;
  }
  for (size_t i = 0; i < n; i++) {
    next[i + 1] += next[i];
  }
  for (size_t g = 0; g < t->n_groups; g++) {
    place[g] = next[rank[t->groups[g].partition_index]]++;
  }
  return TARN_OK;
}

static tarn_status make_groups(const tn_table *table, tn_map *partitions,
                               const tn_scan_entry *const *entries, int64_t n, tn_arena *arena,
                               tn_file_groups *out, tarn_error *err) {
  group_table t = {.arena = arena};
  uint32_t *group = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*group));
  const tn_scan_entry **files = tn_arena_alloc(arena, ((size_t)n + 1) * sizeof(*files));
  uint32_t *place;
  if (group == NULL || files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(index_partition(partitions, entries[i]->partition, err));
    TN_TRY(group_of(&t, entries[i], &group[i], err));
    t.groups[group[i]].n_files++;
  }
  place = tn_arena_calloc(arena, t.n_groups + 1, sizeof(*place));
  out->items = tn_arena_calloc(arena, t.n_groups + 1, sizeof(*out->items));
  if (place == NULL || out->items == NULL) {
    return tn_oom(err);
  }
  TN_TRY(order_groups(table, partitions, &t, arena, place, err));
  for (size_t g = 0; g < t.n_groups; g++) {
    out->items[place[g]] = t.groups[g];
  }
  for (size_t g = 0; g < t.n_groups; g++) {
    out->items[g].files = files;
    files += out->items[g].n_files;
    out->items[g].n_files = 0;
  }
  for (int64_t i = 0; i < n; i++) {
    tn_file_group *g = &out->items[place[group[i]]];
    g->files[g->n_files++] = entries[i];
  }
  out->count = (int64_t)t.n_groups;
  out->n_partitions = (uint32_t)partitions->count;
  return TARN_OK;
}

tarn_status tn_groups_make(const tn_table *table, const tn_scan_entry *const *entries,
                           int64_t n_entries, tn_arena *arena, tn_file_groups *out,
                           tarn_error *err) {
  tn_map partitions;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  tn_map_init(&partitions, arena->mem);
  st = make_groups(table, &partitions, entries, n_entries, arena, out, err);
  tn_map_reset(&partitions);
  return st;
}
