/* newest.c - the table with its latest schema, for jobs that were opened with an older one. */
#include "compact/newest.h"

#include <string.h>

#define IDS_LIMIT ((size_t)1 << 26)

/* ------------------------------------------------------------------ the table anew */

static tarn_status load_latest(tn_table *table, tn_arena *arena, tn_schema **out, tarn_error *err) {
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_schema_ids(table->env, table->storage, table->branch_path, arena, &ids, &n, err));
  return tn_schema_load(table->env, table->storage, table->branch_path, ids[n - 1], out, err);
}

/* What the table was opened with beside its schema: options that say something else than that. */
static tarn_status find_dynamic(const tn_table *table, tn_arena *arena, tn_option **out, int32_t *n,
                                tarn_error *err) {
  tn_option *list = tn_arena_calloc(arena, (size_t)table->options.count + 1, sizeof(*list));
  *n = 0;
  if (list == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < table->options.count; i++) {
    const tn_option *option = &table->options.items[i];
    const char *stored = tn_schema_option(table->named_by, option->key);
    if (stored == NULL || strcmp(stored, option->value) != 0) {
      list[(*n)++] = *option;
    }
  }
  *out = list;
  return TARN_OK;
}

static tarn_status renew(tn_table *t, tn_arena *arena, tn_table **out, tarn_error *err) {
  tn_option *dynamic;
  int32_t n;
  tn_schema *schema;
  tarn_status st;
  TN_TRY(find_dynamic(t, arena, &dynamic, &n, err));
  TN_TRY(load_latest(t, arena, &schema, err));
  if (schema->id <= t->schema->id) { /* the files' schema is gone: who reads them says so */
    *out = tn_table_retain(t);
    st = TARN_OK;
  } else {
    st = tn_table_create(t->env, t->storage, t->full_name, t->path, t->branch, t->branch_path,
                         schema, dynamic, n, out, err);
  }
  tn_schema_release(schema);
  return st;
}

tarn_status tn_table_renew(tn_table *table, int64_t files_id, tn_table **out, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  *out = NULL;
  if (files_id <= table->schema->id) {
    *out = tn_table_retain(table);
    return TARN_OK;
  }
  tn_arena_init(&arena, &table->env->mem, IDS_LIMIT);
  st = renew(table, &arena, out, err);
  tn_arena_reset(&arena);
  return tn_table_fault(table, st, err);
}

/* ------------------------------------------------------------------ going on */

/* Are these the same columns, in the same order? Types of keys may not be changed. */
static bool same_columns(const tn_table *a, const int32_t *columns_a, int32_t n_a,
                         const tn_table *b, const int32_t *columns_b, int32_t n_b) {
  if (n_a != n_b) {
    return false;
  }
  for (int32_t i = 0; i < n_a; i++) {
    if (a->schema->fields[columns_a[i]].id != b->schema->fields[columns_b[i]].id) {
      return false;
    }
  }
  return true;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* What is another one in `now`; NULL: nothing that matters. */
static const char *find_difference(const tn_table *before, const tn_table *now) {
  const tn_schema *s = before->schema, *t = now->schema;
  const tn_table_facts *f = &before->facts, *g = &now->facts;
  if (f->has_primary_key != g->has_primary_key ||
      !same_columns(before, s->key_columns, s->n_key_columns, now, t->key_columns,
                    t->n_key_columns)) {
    return "primary key";
  }
  if (!same_columns(before, s->partition_columns, s->n_partition_keys, now, t->partition_columns,
                    t->n_partition_keys)) {
    return "list of partition columns";
  }
  if (f->bucket_mode != g->bucket_mode || f->bucket != g->bucket ||
      f->bucket_function != g->bucket_function ||
      !same_columns(before, f->bucket_columns, f->n_bucket_columns, now, g->bucket_columns,
                    g->n_bucket_columns)) {
    return "way into buckets";
  }
  if (f->merge_engine != g->merge_engine || f->ignore_delete != g->ignore_delete) {
    return "merge engine";
  }
  if (f->sequence_descending != g->sequence_descending ||
      !same_columns(before, f->sequence_columns, f->n_sequence_columns, now, g->sequence_columns,
                    g->n_sequence_columns)) {
    return "sequence field";
  }
  if (f->changelog_producer != g->changelog_producer || f->needs_lookup != g->needs_lookup) {
    return "changelog producer";
  }
  if (f->deletion_vectors != g->deletion_vectors) {
    return "setting of deletion vectors";
  }
  if (f->row_tracking != g->row_tracking || f->data_evolution != g->data_evolution) {
    return "setting of row tracking";
  }
  return same_text(f->data_path_directory, g->data_path_directory) &&
                 same_text(f->partition_default_name, g->partition_default_name) &&
                 f->partition_legacy_name == g->partition_legacy_name
             ? NULL
             : "layout of folders";
}

tarn_status tn_table_check_alike(const tn_table *before, const tn_table *now, tarn_error *err) {
  const char *what = find_difference(before, now);
  return what == NULL
             ? TARN_OK
             : tn_fail(err, TARN_E_STATE,
                       "%s: the schema has changed from %lld to %lld, with another %s, since the "
                       "writer was opened, which cannot compact what was written with it: open the "
                       "writer again; what it has committed is there",
                       before->full_name, (long long)before->schema->id, (long long)now->schema->id,
                       what);
}
