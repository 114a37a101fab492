/* room: model */
/* Options as text, a "key=value" a line: as dynamic options of a table, as sizes and times. */
#include "base/env.h"
#include "model/table.h"

#define MAX_OPTIONS 8

static const char SCHEMA[] =
    "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"p\",\"type\":\"INT\"},"
    "{\"id\":1,\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"id\":2,\"name\":\"v\",\"type\":"
    "{\"type\":\"ARRAY\",\"element\":\"INT\"}},{\"id\":3,\"name\":\"w\",\"type\":\"STRING\"}],"
    "\"partitionKeys\":[],"
    "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"2\"}}";

static int32_t split(char *text, tn_option *options) {
  int32_t n = 0;
  while (text != NULL && n < MAX_OPTIONS) {
    char *end = strchr(text, '\n'), *equals;
    if (end != NULL) {
      *end = '\0';
    }
    equals = strchr(text, '=');
    if (equals != NULL) {
      *equals = '\0';
      options[n++] = (tn_option){text, equals + 1};
    }
    text = end != NULL ? end + 1 : NULL;
  }
  return n;
}

static void try_options(tarn_env *env, const tn_option *options, int32_t n) {
  tarn_error err;
  tn_storage *storage = NULL;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  tn_slice json = tn_slice_of(SCHEMA, sizeof(SCHEMA) - 1);
  int64_t number;
  for (int32_t i = 0; i < n; i++) {
    (void)tn_option_nearest(options[i].key);
    (void)!tn_parse_memory_size(options[i].value, &number, &err);
    (void)!tn_parse_duration(options[i].value, &number, &err);
  }
  if (tn_storage_memory(env, &storage, &err) == TARN_OK &&
      tn_schema_decode(env, json, "f", &schema, &err) == TARN_OK) {
    (void)!tn_table_create(env, storage, "d.t", "/t", "main", "/t", schema, options, n, &table,
                           &err);
  }
  tn_table_release(table);
  tn_schema_release(schema);
  tn_storage_release(storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env;
  tn_option options[MAX_OPTIONS];
  char *text;
  if (tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  text = tn_strndup(&env->mem, (const char *)data, size);
  if (text != NULL) {
    try_options(env, options, split(text, options));
  }
  tn_free(&env->mem, text);
  tarn_env_free(env);
  return 0;
}
