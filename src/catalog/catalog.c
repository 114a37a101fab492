/* catalog.c - databases and tables of a warehouse on a file system.
 * Rule: org.apache.paimon.catalog.FileSystemCatalog. */
#include "catalog/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "catalog/place.h"
#include "catalog/system.h"
#include "model/snapshot.h"

#define NAMES_LIMIT_BYTES ((size_t)64 << 20)

static const char database_suffix[] = TN_DATABASE_SUFFIX;

/* ------------------------------------------------------------------ opening */

static int compare_options(const void *a, const void *b) {
  return strcmp(((const tn_option *)a)->key, ((const tn_option *)b)->key);
}

/* Put an option, the later one of two with one key. */
static tarn_status put_option(tn_catalog *catalog, tn_option *options, const char *key,
                              const char *value, tarn_error *err) {
  int32_t at = 0;
  while (at < catalog->n_options && strcmp(options[at].key, key) != 0) {
    at++;
  }
  options[at].key = tn_arena_strdup(&catalog->arena, key);
  options[at].value = tn_arena_strdup(&catalog->arena, value);
  catalog->n_options += at == catalog->n_options;
  return options[at].key != NULL && options[at].value != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status keep_options(tn_catalog *catalog, const char *warehouse,
                                const tn_option *options, int32_t n_options, tarn_error *err) {
  tn_option *kept = tn_arena_calloc(&catalog->arena, (size_t)n_options + 1, sizeof(*kept));
  const char *metastore;
  if (kept == NULL) {
    return tn_oom(err);
  }
  catalog->options = kept;
  for (int32_t i = 0; i < n_options; i++) {
    TN_TRY(put_option(catalog, kept, options[i].key, options[i].value, err));
  }
  if (warehouse != NULL) {
    TN_TRY(put_option(catalog, kept, "warehouse", warehouse, err));
  }
  qsort(kept, (size_t)catalog->n_options, sizeof(*kept), compare_options);
  metastore = tn_catalog_option(catalog, "metastore");
  if (metastore != NULL && strcmp(metastore, "filesystem") != 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "metastore '%s' is not in this release: only 'filesystem' is", metastore);
  }
  return tn_catalog_option(catalog, "warehouse") != NULL
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "a catalog needs the option 'warehouse'");
}

const char *tn_catalog_option(const tn_catalog *catalog, const char *key) {
  for (int32_t i = 0; i < catalog->n_options; i++) {
    if (strcmp(catalog->options[i].key, key) == 0) {
      return catalog->options[i].value;
    }
  }
  return NULL;
}

tarn_status tn_catalog_open(tarn_env *env, const char *warehouse, const tn_option *options,
                            int32_t n_options, tn_catalog **out, tarn_error *err) {
  tn_catalog *catalog = tn_calloc(&env->mem, 1, sizeof(*catalog));
  tn_file_info info;
  tarn_status st;
  *out = NULL;
  if (catalog == NULL) {
    return tn_oom(err);
  }
  catalog->env = env;
  tn_arena_init(&catalog->arena, &env->mem, NAMES_LIMIT_BYTES);
  TN_TRY_TO(fail, keep_options(catalog, warehouse, options, n_options, err));
  TN_TRY_TO(fail, tn_storage_for_uri(env, &catalog->arena, tn_catalog_option(catalog, "warehouse"),
                                     &catalog->storage, &catalog->warehouse, err));
  st = tn_storage_info(catalog->storage, catalog->warehouse, &info, err);
  if (st == TARN_E_NOT_FOUND) {
    st = tn_fail(err, st, "%s is not there: make that folder first, or name another one",
                 catalog->warehouse);
  } else if (st == TARN_OK && !info.is_directory) {
    st = tn_fail(err, TARN_E_NOT_FOUND, "%s is not a folder", catalog->warehouse);
  }
  if (st != TARN_OK) {
    tn_error_context(err, st, "warehouse");
    goto fail;
  }
  *out = catalog;
  return TARN_OK;
fail:
  tn_catalog_free(catalog);
  return st;
}

void tn_catalog_free(tn_catalog *catalog) {
  if (catalog != NULL) {
    tarn_env *env = catalog->env;
    tn_storage_release(catalog->storage);
    tn_arena_reset(&catalog->arena);
    tn_free(&env->mem, catalog);
  }
}

/* ------------------------------------------------------------------ listing */

typedef struct name_list {
  tn_catalog *catalog;
  tn_arena *arena;
  const char *folder; /* whose entries are visited */
  const char **names;
  size_t count, capacity;
} name_list;

static tarn_status add_name(name_list *list, const char *name, size_t n_bytes, tarn_error *err) {
  if (!tn_arena_grow(list->arena, (void **)&list->names, &list->capacity, list->count,
                     sizeof(*list->names))) {
    return tn_oom(err);
  }
  list->names[list->count] = tn_arena_strndup(list->arena, name, n_bytes);
  return list->names[list->count++] != NULL ? TARN_OK : tn_oom(err);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(name_list *list) {
  if (list->count > 1) {
    qsort(list->names, list->count, sizeof(*list->names), compare_names);
  }
}

static tarn_status visit_database(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  size_t n = strlen(name), suffix = sizeof(database_suffix) - 1;
  if (!is_directory || n <= suffix || strcmp(name + n - suffix, database_suffix) != 0) {
    return TARN_OK;
  }
  return add_name(ctx, name, n - suffix, err);
}

tarn_status tn_catalog_databases(tn_catalog *catalog, tn_arena *arena, const char ***names,
                                 int32_t *n_names, tarn_error *err) {
  name_list list = {catalog, arena, catalog->warehouse, NULL, 0, 0};
  TN_TRY(tn_storage_list(catalog->storage, catalog->warehouse, visit_database, &list, err));
  sort_names(&list);
  *names = list.names;
  *n_names = (int32_t)list.count;
  return TARN_OK;
}

tarn_status tn_place_has_schema(tarn_env *env, tn_storage *storage, const char *root, bool *out,
                                tarn_error *err) {
  tn_arena scratch;
  int64_t *ids;
  int32_t n_ids = 0;
  tarn_status st;
  tn_arena_init(&scratch, &env->mem, NAMES_LIMIT_BYTES);
  st = tn_schema_ids(env, storage, root, &scratch, &ids, &n_ids, err);
  tn_arena_reset(&scratch);
  *out = st == TARN_OK && n_ids > 0;
  return st == TARN_E_NOT_FOUND ? TARN_OK : st;
}

static tarn_status visit_table(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  name_list *list = ctx;
  const char *root;
  bool is_table;
  if (!is_directory || name[0] == '.') {
    return TARN_OK;
  }
  root = tn_arena_printf(list->arena, "%s/%s", list->folder, name);
  if (root == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_place_has_schema(list->catalog->env, list->catalog->storage, root, &is_table, err));
  return is_table ? add_name(list, name, strlen(name), err) : TARN_OK;
}

/* NOT_FOUND for a name, with the nearest of those that exist. */
static tarn_status not_found(const char *what, const char *name, const char *where,
                             const char *const *names, int32_t n_names, tarn_error *err) {
  tn_nearest nearest;
  tn_nearest_init(&nearest, tn_slice_text(name));
  for (int32_t i = 0; i < n_names; i++) {
    tn_nearest_offer(&nearest, names[i]);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "%s '%s' does not exist in %s%s", what, name, where,
                 tn_nearest_hint(&nearest).text);
}

tarn_status tn_place_no_database(tn_catalog *catalog, const char *database, tn_arena *arena,
                                 tarn_error *err) {
  const char **databases;
  int32_t n;
  TN_TRY(tn_catalog_databases(catalog, arena, &databases, &n, err));
  return not_found("database", database, catalog->warehouse, databases, n, err);
}

tarn_status tn_catalog_tables(tn_catalog *catalog, const char *database, tn_arena *arena,
                              const char ***names, int32_t *n_names, tarn_error *err) {
  name_list list = {catalog, arena, NULL, NULL, 0, 0};
  tarn_status st;
  if (strcmp(database, TN_SYSTEM_DATABASE) == 0) {
    return tn_system_global_names(catalog, arena, names, n_names, err);
  }
  list.folder = tn_arena_printf(arena, "%s/%s%s", catalog->warehouse, database, database_suffix);
  if (list.folder == NULL) {
    return tn_oom(err);
  }
  st = tn_storage_list(catalog->storage, list.folder, visit_table, &list, err);
  if (st == TARN_E_NOT_FOUND) {
    return tn_place_no_database(catalog, database, arena, err);
  }
  TN_TRY(st);
  sort_names(&list);
  *names = list.names;
  *n_names = (int32_t)list.count;
  return TARN_OK;
}

/* ------------------------------------------------------------------ opening tables */

tarn_status tn_place_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                           tn_arena *arena, tn_place *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (name->path != NULL) {
    TN_TRY(tn_storage_for_uri(env, arena, name->path, &out->storage, &out->path, err));
  } else if (catalog == NULL) {
    return tn_fail(err, TARN_E_INVALID, "table '%s.%s': no warehouse was given", name->database,
                   name->table);
  } else {
    out->storage = tn_storage_retain(catalog->storage);
    out->path = tn_arena_printf(arena, "%s/%s%s/%s", catalog->warehouse, name->database,
                                database_suffix, name->table);
  }
  out->full_name = name->database[0] != '\0'
                       ? tn_arena_printf(arena, "%s.%s", name->database, name->table)
                       : name->table;
  out->branch = name->branch != NULL ? name->branch : "main";
  out->branch_path = name->branch != NULL && out->path != NULL
                         ? tn_arena_printf(arena, "%s/branch/branch-%s", out->path, name->branch)
                         : out->path;
  if (out->path == NULL || out->full_name == NULL || out->branch_path == NULL) {
    tn_storage_release(out->storage);
    out->storage = NULL;
    return tn_oom(err);
  }
  return TARN_OK;
}

tarn_status tn_place_missing(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                             const tn_place *place, tn_arena *arena, tarn_error *err) {
  const char **names = NULL;
  int32_t n_names = 0;
  bool is_table;
  TN_TRY(tn_place_has_schema(env, place->storage, place->path, &is_table, err));
  if (is_table) {
    tn_branch *branches;
    TN_TRY(tn_branch_list(env, place->storage, place->path, arena, &branches, &n_names, err));
    names = tn_arena_alloc(arena, (size_t)n_names * sizeof(*names));
    if (names == NULL) {
      return tn_oom(err);
    }
    for (int32_t i = 0; i < n_names; i++) {
      names[i] = branches[i].name;
    }
    return not_found("branch", place->branch, place->full_name, names, n_names, err);
  }
  if (name->path != NULL) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "%s is not a Paimon table: it has no schema/schema-N file", place->path);
  }
  TN_TRY(tn_catalog_tables(catalog, name->database, arena, &names, &n_names, err));
  for (int32_t i = 0; i < n_names; i++) {
    names[i] = tn_arena_printf(arena, "%s.%s", name->database, names[i]);
    if (names[i] == NULL) {
      return tn_oom(err);
    }
  }
  return not_found("table", place->full_name, catalog->warehouse, names, n_names, err);
}

/* The dynamic option `branch` of a table opened as main: snapshots and files of the branch under
 * main's columns and options (spec: layout, 1). A blank one is main (BranchManager
 * #normalizeBranch). */
static const char *branch_option(const tn_option *dynamic, int32_t n_dynamic) {
  const char *branch = NULL;
  for (int32_t i = 0; i < n_dynamic; i++) {
    if (strcmp(dynamic[i].key, "branch") == 0) {
      branch = dynamic[i].value;
    }
  }
  return branch != NULL && branch[strspn(branch, " \t\n\v\f\r")] != '\0' &&
                 strcmp(branch, "main") != 0
             ? branch
             : NULL;
}

tarn_status tn_catalog_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                             const tn_option *dynamic, int32_t n_dynamic, tn_table **out,
                             tarn_error *err) {
  tn_place place = {0};
  tn_schema *schema = NULL;
  tn_arena scratch;
  int64_t *ids = NULL;
  int32_t n_ids = 0;
  const char *branch = branch_option(dynamic, n_dynamic);
  tarn_status st;
  *out = NULL;
  tn_arena_init(&scratch, &env->mem, NAMES_LIMIT_BYTES);
  TN_TRY_TO(done, tn_place_table(env, catalog, name, &scratch, &place, err));
  st = tn_schema_ids(env, place.storage, place.branch_path, &scratch, &ids, &n_ids, err);
  if (st == TARN_E_NOT_FOUND || (st == TARN_OK && n_ids == 0)) {
    st = tn_place_missing(env, catalog, name, &place, &scratch, err);
  }
  if (st != TARN_OK) {
    goto done;
  }
  TN_TRY_TO(done,
            tn_schema_load(env, place.storage, place.branch_path, ids[n_ids - 1], &schema, err));
  if (branch != NULL && name->branch == NULL) {
    bool exists;
    place.branch = branch;
    place.branch_path = tn_arena_printf(&scratch, "%s/branch/branch-%s", place.path, branch);
    if (place.branch_path == NULL) {
      st = tn_oom(err);
      goto done;
    }
    TN_TRY_TO(done, tn_place_has_schema(env, place.storage, place.branch_path, &exists, err));
    if (!exists || !tn_branch_can_be(branch)) {
      st = tn_place_missing(env, catalog, name, &place, &scratch, err);
      goto done;
    }
  }
  st = tn_table_create(env, place.storage, place.full_name, place.path, place.branch,
                       place.branch_path, schema, dynamic, n_dynamic, out, err);
  if (st != TARN_OK) {
    tn_error_context(err, st, "table %s", place.full_name);
  }
done:
  tn_schema_release(schema);
  tn_storage_release(place.storage);
  tn_arena_reset(&scratch);
  return st;
}
