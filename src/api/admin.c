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
  tn_api_name n;
  tarn_status st = tn_api_name_begin(env, name, &n, err);
  if (st == TARN_OK) {
    st = tn_ddl_create(env, catalog->catalog, &n.parts, tn_slice_text(schema_json), err);
  }
  tn_api_name_end(&n);
  return st;
}

tarn_status tarn_table_alter(tarn_catalog *catalog, const char *name, const char *changes_json,
                             int64_t *schema_id, tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  int64_t id = -1;
  tn_api_name n;
  tarn_status st = tn_api_name_begin(env, name, &n, err);
  if (st == TARN_OK) {
    st = tn_ddl_alter(env, catalog->catalog, &n.parts, tn_slice_text(changes_json), &id, err);
  }
  if (st == TARN_OK && schema_id != NULL) {
    *schema_id = id;
  }
  tn_api_name_end(&n);
  return st;
}

tarn_status tarn_table_rename(tarn_catalog *catalog, const char *from, const char *to,
                              tarn_error *err) {
  tn_table_name target;
  tn_api_name n;
  tarn_status st = tn_api_name_begin(catalog->catalog->env, from, &n, err);
  if (st == TARN_OK) {
    st = tn_table_name_parse(&n.scratch, to, &target, err);
  }
  if (st == TARN_OK) {
    st = tn_ddl_rename(catalog->catalog, &n.parts, &target, err);
  }
  tn_api_name_end(&n);
  return st;
}

tarn_status tarn_table_drop(tarn_catalog *catalog, const char *name, tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  tn_api_name n;
  tarn_status st = tn_api_name_begin(env, name, &n, err);
  if (st == TARN_OK) {
    st = tn_ddl_drop(env, catalog->catalog, &n.parts, err);
  }
  tn_api_name_end(&n);
  return st;
}
