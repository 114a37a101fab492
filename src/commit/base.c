/* base.c - live files of partitions, by way of the planner's scan of manifests.
 *
 * A predicate that is never narrower than the partitions asked for prunes manifests and entries;
 * what it lets through is told by the bytes of the partition.
 */
#include "commit/base.h"

#define MAX_PARTITIONS_IN_FILTER 64

/* Equality of these types is that of their bytes. */
static bool is_filterable(const tn_type *type) {
  switch (type->root) {
    case TN_BOOLEAN:
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
    case TN_DATE:
    case TN_CHAR:
    case TN_VARCHAR:
      return true;
    default:
      return false;
  }
}

/* All filterable columns of one partition; NULL in *out: there are none. */
static tarn_status partition_filter(const tn_schema *schema, tn_slice partition, tn_arena *arena,
                                    const tn_pred **out, tarn_error *err) {
  const tn_pred **leaves =
      tn_arena_calloc(arena, (size_t)schema->n_partition_keys + 1, sizeof(const tn_pred *));
  tn_datum *values;
  int32_t n = 0;
  *out = NULL;
  if (leaves == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_partition_values(arena, schema, partition, &values, err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_field *field = &schema->fields[schema->partition_columns[i]];
    if (is_filterable(&field->type)) {
      leaves[n] = tn_pred_leaf(arena, values[i].is_null ? TN_PRED_IS_NULL : TN_PRED_EQ, field,
                               &values[i], values[i].is_null ? 0 : 1);
      if (leaves[n++] == NULL) {
        return tn_oom(err);
      }
    }
  }
  if (n > 0) {
    *out = n == 1 ? leaves[0] : tn_pred_compound(arena, TN_PRED_AND, leaves, n);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

static tarn_status filter_of(const tn_schema *schema, const tn_map *only, tn_arena *arena,
                             const tn_pred **out, tarn_error *err) {
  const tn_pred *parts[MAX_PARTITIONS_IN_FILTER];
  *out = NULL;
  if (only == NULL || only->count == 0 || only->count > MAX_PARTITIONS_IN_FILTER) {
    return TARN_OK;
  }
  for (size_t i = 0; i < only->count; i++) {
    TN_TRY(partition_filter(schema, only->entries[i].key, arena, &parts[i], err));
    if (parts[i] == NULL) {
      return TARN_OK;
    }
  }
  *out = only->count == 1 ? parts[0]
                          : tn_pred_compound(arena, TN_PRED_OR, parts, (int32_t)only->count);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status manifest_refs(tn_commit_job *job, const tn_base_request *request,
                                 tn_arena *arena, tn_manifest_refs *refs, tarn_error *err) {
  const tn_snapshot *s = request->snapshot;
  tn_metas metas = {NULL, 0, 0};
  if (request->is_delta) {
    TN_TRY(tn_metas_read_list(job->table, s->delta_manifest_list, s->delta_manifest_list_size,
                              arena, &metas, err));
  } else if (request->is_before) {
    TN_TRY(tn_metas_read_list(job->table, s->base_manifest_list, s->base_manifest_list_size, arena,
                              &metas, err));
  } else {
    TN_TRY(tn_metas_read(job->table, s, arena, &metas, err));
  }
  for (size_t i = 0; i < metas.count; i++) {
    TN_TRY(tn_manifest_refs_add(refs, arena, &metas.items[i], err));
  }
  return TARN_OK;
}

tarn_status tn_base_read(tn_commit_job *job, const tn_base_request *request, tn_arena *arena,
                         tn_base *out, tarn_error *err) {
  tn_scan_filter *filter = tn_arena_calloc(arena, 1, sizeof(*filter));
  const tn_pred *predicate = request->filter;
  tn_manifest_refs refs = {NULL, 0, 0};
  tn_entries_request entries = {.table = job->table,
                                .filter = filter,
                                .hides_postpone = request->hides_postpone,
                                .keeps_stats = request->keeps_stats,
                                .row_limit = -1,
                                .cancel = job->options->cancel};
  *out = (tn_base){.count = 0};
  if (filter == NULL) {
    return tn_oom(err);
  }
  if (predicate == NULL) {
    TN_TRY(filter_of(job->table->schema, request->only, arena, &predicate, err));
  }
  TN_TRY(tn_scan_filter_init(filter, job->table, predicate, arena, err));
  TN_TRY(manifest_refs(job, request, arena, &refs, err));
  entries.manifests = refs.items;
  entries.n_manifests = (int32_t)refs.count;
  TN_TRY(tn_entries_read(&entries, &out->entries, err));
  out->items =
      tn_arena_calloc(arena, (size_t)out->entries.count + 1, sizeof(const tn_scan_entry *));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < out->entries.count; i++) {
    const tn_scan_entry *e = out->entries.items[i];
    if (request->only == NULL || tn_map_find(request->only, e->partition->bytes) != NULL) {
      out->items[out->count++] = e;
    }
  }
  return TARN_OK;
}

void tn_base_reset(tn_base *base) {
  tn_entries_reset(&base->entries);
  *base = (tn_base){.count = 0};
}

/* ------------------------------------------------------------------ one partition */

typedef struct partition_get {
  const tn_schema *schema;
  const tn_datum *values;
} partition_get;

static tarn_status get_value(void *ctx, const tn_pred *leaf, tn_datum *out, tarn_error *err) {
  const partition_get *g = ctx;
  int32_t i = tn_schema_partition_key(g->schema, leaf->field_id);
  if (i < 0) {
    return tn_fail(err, TARN_E_INVALID, "'%s' is no partition column: partitions are overwritten",
                   leaf->name);
  }
  *out = g->values[i];
  return TARN_OK;
}

tarn_status tn_partition_matches(tn_commit_job *job, const tn_pred *filter, tn_slice partition,
                                 tn_arena *arena, bool *out, tarn_error *err) {
  partition_get get = {.schema = job->table->schema};
  tn_datum *values;
  *out = true;
  if (filter == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_partition_values(arena, job->table->schema, partition, &values, err));
  get.values = values;
  return tn_pred_test(filter, get_value, &get, out, err);
}
