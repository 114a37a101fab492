/* room: stream */
/* fuzz_stream_state.c - any bytes as splits of a stream in Java's form. */
#include "stream/source_split.h"

#include "model/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A table without columns that count: splits name their files themselves. */
static tn_table *make_table(tarn_env *env) {
  static const char json[] =
      "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"}],"
      "\"highestFieldId\":0,\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":"
      "\"1\"},\"timeMillis\":0}";
  tn_storage *storage = NULL;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  if (tn_storage_memory(env, &storage, NULL) != TARN_OK) {
    return NULL;
  }
  if (tn_storage_memory_put(storage, "/t/schema/schema-0", tn_slice_text(json), NULL) == TARN_OK &&
      tn_schema_load(env, storage, "/t", 0, &schema, NULL) == TARN_OK) {
    (void)!tn_table_create(env, storage, "db.t", "/t", "main", "/t", schema, NULL, 0, &table, NULL);
  }
  tn_schema_release(schema);
  tn_storage_release(storage);
  return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tarn_env *env;
  static tn_table *table;
  tn_split_queue queue;
  bool has_next;
  int64_t next;
  if (env == NULL && tarn_env_create(NULL, &env, NULL) != TARN_OK) {
    return 0;
  }
  if (table == NULL && (table = make_table(env)) == NULL) {
    return 0;
  }
  tn_split_queue_init(&queue, &env->mem);
  if (tn_pending_splits_decode(table, tn_slice_of(data, size), &queue, &has_next, &next, NULL) ==
      TARN_OK) {
    tn_buf out;
    tn_buf_init(&out, &env->mem, (size_t)1 << 28);
    (void)!tn_pending_splits_encode(&queue, 1, has_next, next, &out, NULL);
    tn_buf_reset(&out);
  }
  tn_split_queue_reset(&queue);
  return 0;
}
