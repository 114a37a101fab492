/* ddl.c - creating, changing, renaming and dropping on a file system; D1 to D3 are in ddl.h. */
#include "catalog/ddl.h"

#include <string.h>

#include "base/utf8.h"
#include "catalog/place.h"
#include "model/schema_check.h"
#include "model/schema_json_in.h"
#include "model/schema_write.h"
#include "model/snapshot.h"

#define SCRATCH_BYTES ((size_t)256 << 20)
#define SCHEMA_BYTES ((size_t)64 << 20)
#define NAME_BYTES 255 /* of a file's name */

/* ------------------------------------------------------------------ names */

static tarn_status bad_name(const char *what, const char *name, const char *why, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "'%s' cannot be the name of a %s: %s", name, what, why);
}

/* May a folder have the name, with `suffix` behind it? */
static tarn_status check_name(const char *what, const char *name, size_t suffix, tarn_error *err) {
  size_t n = strlen(name);
  if (n == 0) {
    return bad_name(what, name, "it is empty", err);
  }
  if (n + suffix > NAME_BYTES) {
    return bad_name(what, name, "it is too long", err);
  }
  if (name[0] == '.') {
    return bad_name(what, name, "it begins with a dot", err);
  }
  if (strpbrk(name, "/$") != NULL) {
    return bad_name(what, name, "it has a '/' or '$'", err);
  }
  for (size_t i = 0; i < n; i++) {
    if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f) {
      return bad_name(what, name, "it has a control character", err);
    }
  }
  return tn_utf8_check((const uint8_t *)name, n) == n
             ? TARN_OK
             : bad_name(what, name, "it is not UTF-8", err);
}

static tarn_status check_database_name(const char *name, tarn_error *err) {
  TN_TRY(check_name("database", name, sizeof(TN_DATABASE_SUFFIX) - 1, err));
  /* "a.b.t" is table "b.t" of "a". */
  return strchr(name, '.') == NULL ? TARN_OK : bad_name("database", name, "it has a dot", err);
}

static tarn_status check_not_system(const char *database, tarn_error *err) {
  return strcmp(database, TN_SYSTEM_DATABASE) != 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Can't do operation on system database.");
}

/* `method` is Java's name of the call. */
static tarn_status check_data_table(const tn_table_name *name, const char *method,
                                    bool allows_branch, tarn_error *err) {
  if (name->branch != NULL && !allows_branch) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot '%s' for branch table '%s%s%s$branch_%s', please modify the table with "
                   "the default branch.",
                   method, name->database, name->database[0] != '\0' ? "." : "", name->table,
                   name->branch);
  }
  if (name->system != NULL ||
      (name->path == NULL && strcmp(name->database, TN_SYSTEM_DATABASE) == 0)) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot '%s' for system table '%s%s%s%s%s', please use data table.", method,
                   name->database, name->database[0] != '\0' ? "." : "", name->table,
                   name->system != NULL ? "$" : "", name->system != NULL ? name->system : "");
  }
  return TARN_OK;
}

static const char *database_path(const tn_catalog *catalog, const char *name, tn_arena *arena) {
  return tn_arena_printf(arena, "%s/%s" TN_DATABASE_SUFFIX, catalog->warehouse, name);
}

/* Is there such a folder (or anything of that name)? */
static tarn_status exists(tn_storage *storage, const char *path, bool *out, tarn_error *err) {
  tn_file_info info;
  tarn_status st = tn_storage_info(storage, path, &info, err);
  *out = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

static const char *parent_of(const char *path, tn_arena *arena) {
  const char *slash = strrchr(path, '/');
  return slash == NULL   ? tn_arena_strdup(arena, ".")
         : slash == path ? tn_arena_strdup(arena, "/")
                         : tn_arena_strndup(arena, path, (size_t)(slash - path));
}

/* ------------------------------------------------------------------ names of folders (D2) */

/* EXISTS when the new name is taken. Another failure whose outcome is not known is resolved by
 * looking (D3). */
static tarn_status rename_folder(tn_storage *storage, const char *from, const char *to,
                                 tarn_error *err) {
  tarn_status st = tn_storage_rename(storage, from, to, err);
  if (st != TARN_OK && st != TARN_E_EXISTS) {
    bool has_from, has_to;
    if (exists(storage, from, &has_from, NULL) == TARN_OK && !has_from &&
        exists(storage, to, &has_to, NULL) == TARN_OK && has_to) {
      tn_error_reset(err);
      st = TARN_OK;
    }
  }
  return st;
}

/* Under a name that is none of a table or database, in the same folder. */
static tarn_status set_aside(tarn_env *env, tn_storage *storage, const char *path, tn_arena *arena,
                             const char **aside, tarn_error *err) {
  char uuid[TN_UUID_CHARS + 1];
  const char *parent = parent_of(path, arena);
  tarn_status st;
  TN_TRY(tn_env_uuid(env, uuid, err));
  *aside = parent != NULL ? tn_arena_printf(arena, "%s/.dropped-%s", parent, uuid) : NULL;
  if (*aside == NULL) {
    return tn_oom(err);
  }
  TN_TRY(rename_folder(storage, path, *aside, err));
  st = tn_storage_sync_folder(storage, parent, err);
  if (st != TARN_OK && tn_storage_rename(storage, *aside, path, NULL) != TARN_OK) {
    /* A name that may come back keeps its files. */
    tn_log(env, TARN_LOG_WARN, "path=%s message=\"is now %s\"", path, *aside);
  }
  return st;
}

/* It is dropped already: what cannot be removed is told in the log. The schemas go first, for Java
 * takes every folder with a schema for a table, whatever its name. */
static void remove_aside(tarn_env *env, tn_storage *storage, const char *aside, tn_arena *arena) {
  tarn_error error;
  const char *schemas = tn_arena_printf(arena, "%s/schema", aside);
  tarn_status st =
      schemas != NULL ? tn_storage_remove_tree(storage, schemas, &error) : tn_oom(&error);
  if (st == TARN_OK) {
    st = tn_storage_remove_tree(storage, aside, &error);
  }
  if (st != TARN_OK) {
    tn_log(env, TARN_LOG_WARN, "path=%s message=\"files of what was dropped stay behind: %s\"",
           aside, error.message);
  }
}

/* ------------------------------------------------------------------ databases */

/* The folder that a database of the name has, or would have. */
static tarn_status find_database(const tn_catalog *catalog, const char *name, tn_arena *arena,
                                 const char **path, bool *is_there, tarn_error *err) {
  TN_TRY(check_not_system(name, err));
  TN_TRY(check_database_name(name, err));
  *path = database_path(catalog, name, arena);
  return *path != NULL ? exists(catalog->storage, *path, is_there, err) : tn_oom(err);
}

static tarn_status create_database(tn_catalog *catalog, const char *name, tn_arena *arena,
                                   tarn_error *err) {
  const char *path;
  bool is_there;
  TN_TRY(find_database(catalog, name, arena, &path, &is_there, err));
  if (is_there) {
    return tn_fail(err, TARN_E_EXISTS, "Database %s already exists.", name);
  }
  TN_TRY(tn_storage_make_folder(catalog->storage, path, err));
  return tn_storage_sync_folder(catalog->storage, catalog->warehouse, err);
}

tarn_status tn_database_create(tn_catalog *catalog, const char *name, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &catalog->env->mem, SCRATCH_BYTES);
  st = create_database(catalog, name, &arena, err);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status drop_database(tn_catalog *catalog, const char *name, bool cascade,
                                 tn_arena *arena, tarn_error *err) {
  const char *path, *aside, **tables;
  int32_t n_tables;
  bool is_there;
  TN_TRY(find_database(catalog, name, arena, &path, &is_there, err));
  if (!is_there) {
    return tn_place_no_database(catalog, name, arena, err);
  }
  TN_TRY(tn_catalog_tables(catalog, name, arena, &tables, &n_tables, err));
  if (n_tables > 0 && !cascade) {
    return tn_fail(err, TARN_E_INVALID, "Database %s is not empty.", name);
  }
  TN_TRY(set_aside(catalog->env, catalog->storage, path, arena, &aside, err));
  remove_aside(catalog->env, catalog->storage, aside, arena);
  return TARN_OK;
}

tarn_status tn_database_drop(tn_catalog *catalog, const char *name, bool cascade, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &catalog->env->mem, SCRATCH_BYTES);
  st = drop_database(catalog, name, cascade, &arena, err);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_database_alter(const char *name, size_t n_changes, tarn_error *err) {
  TN_TRY(check_not_system(name, err));
  return n_changes == 0 ? TARN_OK
                        : tn_fail(err, TARN_E_UNSUPPORTED, "Alter database is not supported.");
}

/* ------------------------------------------------------------------ publishing schemas (D1) */

/* A publish failed and its outcome is not known (D3). Two changers never write the same bytes but
 * for the same change in the same millisecond. What is there may have a name that is not synced
 * yet.
 */
static tarn_status resolve(tarn_env *env, const tn_place *place, const char *path, tn_slice bytes,
                           tn_arena *arena, tarn_status st, tarn_error *err) {
  const char *folder = parent_of(path, arena), *root = parent_of(place->path, arena);
  tn_buf found;
  tn_buf_init(&found, &env->mem, SCHEMA_BYTES);
  if (folder != NULL && root != NULL &&
      tn_storage_read_all(place->storage, path, &found, NULL) == TARN_OK &&
      tn_slice_equal(tn_buf_slice(&found), bytes) &&
      tn_storage_sync_folders(place->storage, folder, root, NULL) == TARN_OK) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  tn_buf_reset(&found);
  return st;
}

/* EXISTS: somebody was first. */
static tarn_status publish(const tn_place *place, const tn_schema *schema, tarn_error *err) {
  tarn_env *env = schema->env;
  tarn_status st;
  tn_arena arena;
  tn_buf bytes;
  const char *path;
  tn_arena_init(&arena, &env->mem, SCRATCH_BYTES);
  tn_buf_init(&bytes, &env->mem, SCHEMA_BYTES);
  path =
      tn_arena_printf(&arena, "%s/schema/schema-%lld", place->branch_path, (long long)schema->id);
  if (path == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_schema_encode(schema, &bytes, err));
  st = tn_storage_publish(place->storage, path, tn_buf_slice(&bytes), err);
  if (st != TARN_OK && st != TARN_E_EXISTS) {
    st = resolve(env, place, path, tn_buf_slice(&bytes), &arena, st, err);
  }
done:
  tn_buf_reset(&bytes);
  tn_arena_reset(&arena);
  return st;
}

/* Rule: SchemaValidation.validateFallbackBranch. */
static tarn_status check_branches(const tn_place *place, const tn_schema *schema, tn_arena *arena,
                                  tarn_error *err) {
  static const char *const keys[] = {"scan.fallback-branch", "scan.primary-branch"};
  const char *values[2];
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    values[i] = tn_schema_option(schema, keys[i]);
    if (values[i] != NULL && values[i][strspn(values[i], " \t")] == '\0') {
      values[i] = NULL;
    }
  }
  if (values[0] != NULL && values[1] != NULL) {
    return tn_fail(err, TARN_E_INVALID, "Cannot set both '%s' and '%s' at the same time.", keys[0],
                   keys[1]);
  }
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    bool is_main = values[i] != NULL && strcmp(values[i], "main") == 0, is_there;
    const char *root = values[i] == NULL ? NULL
                       : is_main
                           ? place->path
                           : tn_arena_printf(arena, "%s/branch/branch-%s", place->path, values[i]);
    if (values[i] == NULL) {
      continue;
    }
    if (root == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_place_has_schema(schema->env, place->storage, root, &is_there, err));
    if (!is_there || !tn_branch_can_be(values[i])) {
      return tn_fail(err, TARN_E_INVALID,
                     "Cannot set '%s' = '%s' because the branch '%s' does not exist.", keys[i],
                     values[i], values[i]);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ creating tables */

/* Catalog options "table-default.<key>". Rule: AbstractCatalog.copyTableDefaultOptions. */
static tarn_status default_options(const tn_catalog *catalog, tn_arena *arena, tn_option **out,
                                   int32_t *n_out, tarn_error *err) {
  static const char prefix[] = "table-default.";
  int32_t n = catalog != NULL ? catalog->n_options : 0;
  *n_out = 0;
  *out = tn_arena_calloc(arena, (size_t)n + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const tn_option *o = &catalog->options[i];
    if (strncmp(o->key, prefix, sizeof(prefix) - 1) == 0) {
      (*out)[(*n_out)++] = (tn_option){o->key + sizeof(prefix) - 1, o->value};
    }
  }
  return TARN_OK;
}

/* Rule: CatalogUtils.validateCreateTable, AbstractCatalog.validateCustomTablePath. */
static tarn_status check_new(tn_schema *schema, tarn_error *err) {
  const char *automatic = tn_schema_option(schema, "auto-create");
  for (int32_t i = 0; i < schema->n_options; i++) {
    TN_TRY(
        tn_schema_check_option(schema->env, schema->options[i].key, schema->options[i].value, err));
  }
  if (automatic != NULL && (automatic[0] | 0x20) == 't') {
    return tn_fail(err, TARN_E_INVALID, "The value of auto-create property should be false.");
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    TN_TRY(tn_schema_check_default(&schema->arena, schema->env->zone, &schema->fields[i].type,
                                   schema->fields[i].default_value, err));
  }
  return tn_schema_option(schema, "path") == NULL
             ? TARN_OK
             : tn_fail(
                   err, TARN_E_INVALID,
                   "The current catalog FileSystemCatalog does not support specifying the table "
                   "path when creating a table.");
}

/* The database is there, the table is not. */
static tarn_status check_free(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                              const tn_place *place, tn_arena *arena, tarn_error *err) {
  const char *parent = parent_of(place->path, arena);
  bool is_there;
  if (parent == NULL) {
    return tn_oom(err);
  }
  TN_TRY(exists(place->storage, parent, &is_there, err));
  if (!is_there) {
    return name->path == NULL ? tn_place_no_database(catalog, name->database, arena, err)
                              : tn_fail(err, TARN_E_NOT_FOUND, "there is no folder %s", parent);
  }
  TN_TRY(tn_place_has_schema(env, place->storage, place->path, &is_there, err));
  return is_there ? tn_fail(err, TARN_E_EXISTS, "Table %s already exists.", place->full_name)
                  : TARN_OK;
}

static tarn_status create_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                                tn_schema *schema, tn_place *place, tn_arena *arena,
                                tarn_error *err) {
  tn_option *defaults;
  int32_t n_defaults;
  tarn_status st;
  TN_TRY(check_data_table(name, "createTable", false, err));
  TN_TRY(check_name("table", name->table, 0, err));
  TN_TRY(tn_place_table(env, catalog, name, arena, place, err));
  TN_TRY(default_options(catalog, arena, &defaults, &n_defaults, err));
  TN_TRY(tn_schema_normalize(schema, defaults, n_defaults, err));
  TN_TRY(check_new(schema, err));
  TN_TRY(check_free(env, catalog, name, place, arena, err));
  TN_TRY(tn_schema_check(schema, err));
  TN_TRY(check_branches(place, schema, arena, err));
  st = publish(place, schema, err);
  return st != TARN_E_EXISTS
             ? st
             : tn_fail(err, TARN_E_EXISTS, "Table %s already exists.", place->full_name);
}

tarn_status tn_ddl_create(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                          tn_slice json, tarn_error *err) {
  tn_place place = {0};
  tn_schema schema;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, SCRATCH_BYTES);
  TN_TRY_TO(done, tn_schema_from_json(env, json, &schema, err));
  st = create_table(env, catalog, name, &schema, &place, &arena, err);
done:
  tn_arena_reset(&schema.arena);
  tn_storage_release(place.storage);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ altering */

/* The latest schema of a table or branch. */
static tarn_status load_latest(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                               const tn_place *place, tn_arena *arena, tn_schema **out,
                               tarn_error *err) {
  int64_t *ids;
  int32_t n_ids = 0;
  tarn_status st = tn_schema_ids(env, place->storage, place->branch_path, arena, &ids, &n_ids, err);
  if (st == TARN_E_NOT_FOUND) {
    return tn_place_missing(env, catalog, name, place, arena, err);
  }
  TN_TRY(st);
  return tn_schema_load(env, place->storage, place->branch_path, ids[n_ids - 1], out, err);
}

typedef struct change_list {
  tn_schema_change *changes;
  int32_t n;
} change_list;

static tarn_status alter_schema(const tn_place *place, const tn_schema *old,
                                const change_list *list, tn_arena *arena, tn_schema *schema,
                                tarn_error *err) {
  tarn_env *env = old->env;
  tn_change_context context = {.now_ms = tn_env_now_ms(env), .zone = env->zone};
  int64_t snapshot_id;
  tarn_status st;
  context.full_name = strcmp(place->branch, "main") == 0
                          ? place->full_name
                          : tn_arena_printf(arena, "%s$branch_%s", place->full_name, place->branch);
  if (context.full_name == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_snapshot_latest_id(env, place->storage, place->branch_path, &snapshot_id, err));
  context.has_snapshots = snapshot_id > 0;
  for (int32_t i = 0; i < list->n; i++) {
    if (list->changes[i].kind == TN_CHANGE_SET) {
      TN_TRY(tn_schema_check_option(env, list->changes[i].key, list->changes[i].text, err));
    }
  }
  TN_TRY(tn_schema_apply(old, list->changes, list->n, &context, schema, err));
  TN_TRY(tn_schema_check(schema, err));
  TN_TRY(check_branches(place, schema, arena, err));
  st = publish(place, schema, err);
  return st != TARN_E_EXISTS
             ? st
             : tn_fail(err, TARN_E_CONFLICT,
                       "schema %lld of table %s was written by another change at the same time",
                       (long long)schema->id, context.full_name);
}

static tarn_status alter_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                               const change_list *list, tn_arena *arena, int64_t *schema_id,
                               tarn_error *err) {
  tn_place place = {0};
  tn_schema *old = NULL;
  tn_schema schema;
  tarn_status st;
  memset(&schema, 0, sizeof(schema));
  TN_TRY_TO(done, tn_place_table(env, catalog, name, arena, &place, err));
  TN_TRY_TO(done, load_latest(env, catalog, name, &place, arena, &old, err));
  *schema_id = old->id;
  if (list->n > 0) {
    TN_TRY_TO(done, alter_schema(&place, old, list, arena, &schema, err));
    *schema_id = schema.id;
  }
done:
  tn_arena_reset(&schema.arena);
  tn_schema_release(old);
  tn_storage_release(place.storage);
  return st;
}

tarn_status tn_ddl_alter(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                         tn_slice json, int64_t *schema_id, tarn_error *err) {
  change_list list;
  tn_arena arena;
  tarn_status st;
  TN_TRY(check_data_table(name, "alterTable", true, err));
  tn_arena_init(&arena, &env->mem, SCRATCH_BYTES);
  TN_TRY_TO(done, tn_changes_from_json(&arena, json, &list.changes, &list.n, err));
  st = alter_table(env, catalog, name, &list, &arena, schema_id, err);
done:
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ renaming */

static tarn_status rename_table(tn_catalog *catalog, const tn_table_name *from,
                                const tn_table_name *to, tn_place places[2], tn_arena *arena,
                                tarn_error *err) {
  const char *parents[2];
  tarn_env *env = catalog->env;
  tarn_status st;
  bool is_there;
  TN_TRY(tn_place_table(env, catalog, from, arena, &places[0], err));
  TN_TRY(tn_place_table(env, catalog, to, arena, &places[1], err));
  TN_TRY(tn_place_has_schema(env, places[0].storage, places[0].path, &is_there, err));
  if (!is_there) {
    return tn_place_missing(env, catalog, from, &places[0], arena, err);
  }
  TN_TRY(check_free(env, catalog, to, &places[1], arena, err));
  for (int i = 0; i < 2; i++) {
    parents[i] = parent_of(places[i].path, arena);
    if (parents[i] == NULL) {
      return tn_oom(err);
    }
  }
  st = rename_folder(places[0].storage, places[0].path, places[1].path, err);
  if (st == TARN_E_EXISTS) {
    return tn_fail(err, st, "the folder %s is taken", places[1].path);
  }
  TN_TRY(st);
  TN_TRY(tn_storage_sync_folder(places[1].storage, parents[1], err));
  return strcmp(parents[0], parents[1]) != 0
             ? tn_storage_sync_folder(places[0].storage, parents[0], err)
             : TARN_OK;
}

tarn_status tn_ddl_rename(tn_catalog *catalog, const tn_table_name *from, const tn_table_name *to,
                          tarn_error *err) {
  tn_place places[2] = {{0}, {0}};
  tn_arena arena;
  tarn_status st;
  TN_TRY(check_data_table(from, "renameTable", false, err));
  TN_TRY(check_data_table(to, "renameTable", false, err));
  TN_TRY(check_name("table", to->table, 0, err));
  if (from->path != NULL || to->path != NULL) {
    return tn_fail(err, TARN_E_INVALID, "tables are renamed by name: DATABASE.TABLE, not a path");
  }
  tn_arena_init(&arena, &catalog->env->mem, SCRATCH_BYTES);
  st = rename_table(catalog, from, to, places, &arena, err);
  tn_storage_release(places[0].storage);
  tn_storage_release(places[1].storage);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ dropping tables */

/* Where files outside of the table's folder may be. They stay: other tables may have theirs there,
 * too. */
static tarn_status warn_of_files_outside(tarn_env *env, const tn_place *place, const char *root,
                                         tn_arena *arena, tarn_error *err) {
  static const char *const keys[] = {"data-file.external-paths", "global-index.external-path"};
  const char *last[2] = {NULL, NULL};
  int64_t *ids;
  int32_t n_ids = 0;
  tarn_status st = tn_schema_ids(env, place->storage, root, arena, &ids, &n_ids, err);
  if (st == TARN_E_NOT_FOUND) {
    return TARN_OK;
  }
  TN_TRY(st);
  for (int32_t i = 0; i < n_ids; i++) {
    tn_schema *schema = NULL;
    if (tn_schema_load(env, place->storage, root, ids[i], &schema, NULL) != TARN_OK) {
      continue; /* a table that cannot be read can be dropped */
    }
    for (size_t k = 0; k < TN_COUNT(keys); k++) {
      const char *path = tn_schema_option(schema, keys[k]);
      if (path != NULL && (last[k] == NULL || strcmp(last[k], path) != 0)) {
        tn_log(env, TARN_LOG_WARN,
               "table=%s path=%s message=\"files that the dropped table has there stay\"",
               place->full_name, path);
        last[k] = tn_arena_strdup(arena, path);
      }
    }
    tn_schema_release(schema);
  }
  return TARN_OK;
}

static tarn_status drop_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                              tn_place *place, tn_arena *arena, tarn_error *err) {
  tn_branch *branches;
  int32_t n_branches = 0;
  const char *aside;
  bool is_there;
  TN_TRY(tn_place_table(env, catalog, name, arena, place, err));
  TN_TRY(tn_place_has_schema(env, place->storage, place->path, &is_there, err));
  if (!is_there) {
    return tn_place_missing(env, catalog, name, place, arena, err);
  }
  TN_TRY(warn_of_files_outside(env, place, place->path, arena, err));
  TN_TRY(tn_branch_list(env, place->storage, place->path, arena, &branches, &n_branches, err));
  for (int32_t i = 0; i < n_branches; i++) {
    const char *root = tn_arena_printf(arena, "%s/branch/branch-%s", place->path, branches[i].name);
    if (root == NULL) {
      return tn_oom(err);
    }
    TN_TRY(warn_of_files_outside(env, place, root, arena, err));
  }
  TN_TRY(set_aside(env, place->storage, place->path, arena, &aside, err));
  remove_aside(env, place->storage, aside, arena);
  return TARN_OK;
}

tarn_status tn_ddl_drop(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                        tarn_error *err) {
  tn_place place = {0};
  tn_arena arena;
  tarn_status st;
  TN_TRY(check_data_table(name, "dropTable", false, err));
  tn_arena_init(&arena, &env->mem, SCRATCH_BYTES);
  st = drop_table(env, catalog, name, &place, &arena, err);
  tn_storage_release(place.storage);
  tn_arena_reset(&arena);
  return st;
}
