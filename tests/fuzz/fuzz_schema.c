/* room: model */
/* The JSON of schemas, and opening a table with one. */
#include "base/env.h"
#include "model/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env;
  tarn_error err;
  tn_storage *storage = NULL;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  if (tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  if (tn_storage_memory(env, &storage, &err) == TARN_OK &&
      tn_schema_decode(env, tn_slice_of(data, size), "f", &schema, &err) == TARN_OK) {
    (void)!tn_table_create(env, storage, "d.t", "/t", "main", "/t", schema, NULL, 0, &table, &err);
  }
  tn_table_release(table);
  tn_schema_release(schema);
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}
