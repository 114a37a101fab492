/* room: stream */
/* fuzz_stream_state.c - any bytes as the state of a stream, if they begin as one does (its checksum
 * is put right), else as splits of a stream in Java's form. */
#include <stdlib.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "stream/state.h"

#include "model/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A table without columns that count: splits name their files themselves. */
static tn_table *make_table(tarn_env *env) {
  static const char json[] =
      "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"}],"
      "\"highestFieldId\":0,\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":"
      "\"1\"},\"timeMillis\":1}";
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

static void load_state(tn_table *table, const uint8_t *data, size_t size) {
  const tn_enumerator_options options = {.scan = {.table = table}, .n_readers = 3};
  tn_enumerator *e = NULL;
  uint8_t *bytes = malloc(size);
  int64_t rows;
  tn_buf out;
  if (bytes == NULL || tn_enumerator_create(&options, &e, NULL) != TARN_OK) {
    free(bytes);
    return;
  }
  memcpy(bytes, data, size);
  tn_store_be32(bytes + size - 4, tn_crc32(0, bytes, size - 4));
  tn_buf_init(&out, &table->env->mem, (size_t)1 << 28);
  if (tn_stream_state_load(table, tn_slice_of(bytes, size), e, &rows, NULL) == TARN_OK) {
    (void)!tn_stream_state_save(table, e, NULL, 0, 1, rows, &out, NULL);
  }
  tn_buf_reset(&out);
  tn_enumerator_free(e);
  free(bytes);
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
  if (size >= 16 && memcmp(data, "TARNSTRM", 8) == 0) {
    load_state(table, data, size);
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
