/* admin.c - databases and tables come, change and go. */
#include "catalog/ddl.h"

#include "api/handles.h"

tarn_status tarn_database_create(tarn_catalog *catalog, const char *name, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(catalog->catalog->env, err));
  return tn_database_create(catalog->catalog, name, err);
}

tarn_status tarn_database_drop(tarn_catalog *catalog, const char *name, int32_t cascade,
                               tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(catalog->catalog->env, err));
  return tn_database_drop(catalog->catalog, name, cascade != 0, err);
}

tarn_status tarn_database_alter(tarn_catalog *catalog, const char *name, const tarn_option *changes,
                                size_t n, tarn_error *err) {
  (void)changes; /* none of them is known */
  tn_error_reset(err);
  TN_TRY(tn_env_check(catalog->catalog->env, err));
  return tn_database_alter(name, n, err);
}

tarn_status tarn_table_create(tarn_catalog *catalog, const char *name, const char *schema_json,
                              tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  tn_table_name parts;
  tn_arena scratch;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(env, err));
  tn_arena_init(&scratch, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, tn_table_name_parse(&scratch, name, &parts, err));
  st = tn_ddl_create(env, catalog->catalog, &parts, tn_slice_text(schema_json), err);
done:
  tn_arena_reset(&scratch);
  return st;
}

tarn_status tarn_table_alter(tarn_catalog *catalog, const char *name, const char *changes_json,
                             int64_t *schema_id, tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  tn_table_name parts;
  tn_arena scratch;
  int64_t id = -1;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(env, err));
  tn_arena_init(&scratch, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, tn_table_name_parse(&scratch, name, &parts, err));
  TN_TRY_TO(done,
            tn_ddl_alter(env, catalog->catalog, &parts, tn_slice_text(changes_json), &id, err));
  if (schema_id != NULL) {
    *schema_id = id;
  }
done:
  tn_arena_reset(&scratch);
  return st;
}

tarn_status tarn_table_rename(tarn_catalog *catalog, const char *from, const char *to,
                              tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  tn_table_name names[2];
  tn_arena scratch;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(env, err));
  tn_arena_init(&scratch, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, tn_table_name_parse(&scratch, from, &names[0], err));
  TN_TRY_TO(done, tn_table_name_parse(&scratch, to, &names[1], err));
  st = tn_ddl_rename(catalog->catalog, &names[0], &names[1], err);
done:
  tn_arena_reset(&scratch);
  return st;
}

tarn_status tarn_table_drop(tarn_catalog *catalog, const char *name, tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  tn_table_name parts;
  tn_arena scratch;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(env, err));
  tn_arena_init(&scratch, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, tn_table_name_parse(&scratch, name, &parts, err));
  st = tn_ddl_drop(env, catalog->catalog, &parts, err);
done:
  tn_arena_reset(&scratch);
  return st;
}
