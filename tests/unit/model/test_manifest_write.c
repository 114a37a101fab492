/* Manifests written: what Java wrote is read and written again, byte for byte but for the sync
 * marker and compression.
 */
#include "format/avro/avro.h" /* before cmocka, which makes a macro of skip */
#include "format/avro/avro_write.h"

#include "model/manifest_write.h"
#include "unit/model/model_test.h"

static const tn_record_readers READERS = {.avro = tn_avro_read_records};

/* ------------------------------------------------------------------ files taken apart */

/* Header without the sync marker, then the data of all blocks. */
static tn_slice contents(fixture *f, tn_slice file) {
  tn_avro_header header;
  tn_avro_unpacker unpacker;
  tn_buf out;
  tn_slice copy;
  bool is_short;
  tn_buf_init(&out, &f->env->mem, 1 << 24);
  tn_avro_unpacker_init(&unpacker, f->env);
  expect_ok(f, tn_avro_header_decode(&f->arena, file, "f", &header, &is_short, &f->err));
  expect_ok(f, tn_buf_append(&out, file.data, header.n_bytes - TN_AVRO_SYNC_BYTES, &f->err));
  for (size_t at = header.n_bytes; at < file.len;) {
    tn_avro_block block;
    tn_slice data;
    expect_ok(f, tn_avro_block_decode(tn_slice_of(file.data + at, file.len - at), (int64_t)at,
                                      (int64_t)file.len, "f", &block, &f->err));
    expect_ok(f, tn_avro_unpack(&unpacker, &header, &block,
                                tn_slice_of(file.data + block.data_offset, (size_t)block.n_bytes),
                                "f", &data, &f->err));
    expect_ok(f, tn_buf_append(&out, data.data, data.len, &f->err));
    at = (size_t)(block.data_offset + block.n_bytes) + TN_AVRO_SYNC_BYTES;
  }
  assert_true(tn_arena_slice(&f->arena, tn_buf_slice(&out), &copy));
  tn_avro_unpacker_reset(&unpacker);
  tn_buf_reset(&out);
  return copy;
}

static void expect_contents(fixture *f, tn_slice found, tn_slice wanted) {
  tn_slice a = contents(f, found), b = contents(f, wanted);
  assert_int_equal(a.len, b.len);
  assert_memory_equal(a.data, b.data, b.len);
}

/* ------------------------------------------------------------------ copying */

static tarn_status copy_file(void *ctx, const tn_manifest_file *record, tarn_error *err) {
  return tn_manifest_writer_add_file(ctx, record, err);
}

static tarn_status copy_entry(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  return tn_manifest_writer_add_entry(ctx, record, err);
}

static tarn_status copy_index(void *ctx, const tn_index_entry *record, tarn_error *err) {
  return tn_manifest_writer_add_index(ctx, record, err);
}

static tarn_status copy_manifest(tarn_env *env, tn_slice file, tn_manifest_kind kind,
                                 tn_manifest_writer *writer, tarn_error *err) {
  const tn_manifest_name name = {"m", -1, -1};
  tn_storage *storage = NULL;
  tarn_status st = TARN_OK;
  memset(writer, 0, sizeof(*writer));
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/manifest/m", file, err));
  TN_TRY_TO(done, tn_manifest_writer_begin(env, &tn_avro_record_writer, kind, "zstd", writer, err));
  switch (kind) {
    case TN_MANIFEST_LIST:
      st = tn_manifest_list_read(env, storage, &READERS, "/t", &name, copy_file, writer, err);
      break;
    case TN_MANIFEST:
      st = tn_manifest_read(env, storage, &READERS, "/t", &name, copy_entry, writer, err);
      break;
    case TN_INDEX_MANIFEST:
      st = tn_index_manifest_read(env, storage, &READERS, "/t", &name, copy_index, writer, err);
      break;
  }
done:
  tn_storage_release(storage);
  if (st != TARN_OK) {
    tn_manifest_writer_end(writer);
  }
  return st;
}

static void manifest__is_written_as_java_wrote_it(void **state) {
  static const struct {
    const char *file;
    tn_manifest_kind kind;
  } FILES[] = {
      {"avro-file-manifest-list-1.4.2.hex", TN_MANIFEST_LIST},
      {"avro-file-manifest-1.4.2.hex", TN_MANIFEST},
      {"avro-file-manifest-upgrade-1.4.2.hex", TN_MANIFEST},
      {"avro-file-index-manifest-1.4.2.hex", TN_INDEX_MANIFEST},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice java = data_hex(f, FILES[i].file), ours;
    tn_manifest_writer writer;
    expect_ok(f, copy_manifest(f->env, java, FILES[i].kind, &writer, &f->err));
    assert_true(writer.n_records > 0);
    expect_ok(f, tn_manifest_writer_finish(&writer, &ours, &f->err));
    assert_int_equal(tn_manifest_writer_size(&writer), ours.len);
    expect_contents(f, ours, java);
    tn_manifest_writer_end(&writer);
  }
}

/* Records of old releases get today's schema; what they lack is null. */
static void manifest__of_an_old_release_gets_the_new_schema(void **state) {
  static const struct {
    const char *file;
    tn_manifest_kind kind;
  } FILES[] = {
      {"avro-file-manifest-list-1.0.1.hex", TN_MANIFEST_LIST},
      {"avro-file-manifest-1.0.1.hex", TN_MANIFEST},
      {"avro-file-index-manifest-1.0.1.hex", TN_INDEX_MANIFEST},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice java = data_hex(f, FILES[i].file), ours, again;
    tn_manifest_writer first, second;
    expect_ok(f, copy_manifest(f->env, java, FILES[i].kind, &first, &f->err));
    expect_ok(f, tn_manifest_writer_finish(&first, &ours, &f->err));
    expect_ok(f, copy_manifest(f->env, ours, FILES[i].kind, &second, &f->err));
    assert_int_equal(second.n_records, first.n_records);
    expect_ok(f, tn_manifest_writer_finish(&second, &again, &f->err));
    expect_contents(f, again, ours);
    tn_manifest_writer_end(&first);
    tn_manifest_writer_end(&second);
  }
}

/* The base list of a first snapshot, of 1,006 bytes in Java, too. */
static void list__of_no_manifests_is_a_file(void **state) {
  fixture *f = *state;
  tn_manifest_writer writer;
  tn_slice file;
  expect_ok(f, tn_manifest_writer_begin(f->env, &tn_avro_record_writer, TN_MANIFEST_LIST, "zstd",
                                        &writer, &f->err));
  expect_ok(f, tn_manifest_writer_finish(&writer, &file, &f->err));
  assert_int_equal(file.len, 1006);
  tn_manifest_writer_end(&writer);
  tn_manifest_writer_end(&writer);
}

typedef struct last_entry {
  tn_arena *arena;
  tn_manifest_entry entry;
} last_entry;

static tarn_status keep_entry(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  last_entry *last = ctx;
  last->entry = *record;
  return tn_data_file_copy(last->arena, &record->file, true, &last->entry.file, err);
}

static void entry__without_statistics_has_those_of_no_column(void **state) {
  fixture *f = *state;
  const tn_manifest_name name = {"m", -1, -1};
  tn_manifest_entry entry = {.partition = tn_binary_row_empty(),
                             .file = {.file_name = tn_slice_text("data-1.parquet"),
                                      .min_key = tn_binary_row_empty(),
                                      .max_key = tn_binary_row_empty()}};
  last_entry last = {.arena = &f->arena};
  tn_manifest_writer writer;
  tn_slice file;
  expect_ok(f, tn_manifest_writer_begin(f->env, &tn_avro_record_writer, TN_MANIFEST, "zstd",
                                        &writer, &f->err));
  expect_ok(f, tn_manifest_writer_add_entry(&writer, &entry, &f->err));
  expect_ok(f, tn_manifest_writer_finish(&writer, &file, &f->err));
  put_bytes(f, "/t/manifest/m", file);
  expect_ok(
      f, tn_manifest_read(f->env, f->storage, &READERS, "/t", &name, keep_entry, &last, &f->err));
  assert_int_equal(last.entry.version, TN_MANIFEST_VERSION);
  assert_true(tn_slice_equal(last.entry.file.key_stats.min_values, tn_binary_row_empty()));
  assert_true(tn_slice_equal(last.entry.file.value_stats.max_values, tn_binary_row_empty()));
  assert_true(last.entry.file.value_stats.has_null_counts);
  assert_true(last.entry.file.has_value_stats_cols);
  assert_int_equal(last.entry.file.value_stats_cols.count, 0);
  assert_false(last.entry.file.has_write_cols);
  tn_manifest_writer_end(&writer);
}

static tarn_status expect_global(void *ctx, const tn_index_entry *record, tarn_error *err) {
  const tn_global_index *g = &record->global_index;
  (void)err;
  ++*(int *)ctx;
  assert_true(record->has_global_index);
  assert_int_equal(g->first_row_id, 5);
  assert_int_equal(g->last_row_id, 10);
  assert_int_equal(g->field_id, 3);
  assert_true(g->has_extra_field_ids);
  assert_int_equal(g->extra_field_ids.count, 2);
  assert_int_equal(((const int32_t *)g->extra_field_ids.items)[1], -7);
  assert_true(g->has_index_meta);
  assert_true(tn_slice_is(g->index_meta, "meta"));
  assert_false(record->has_dv_ranges);
  assert_true(tn_slice_is(record->external_path, "/x"));
  return TARN_OK;
}

static void index__keeps_what_a_global_index_covers(void **state) {
  static int32_t extra[] = {4, -7};
  fixture *f = *state;
  const tn_manifest_name name = {"m", -1, 1};
  tn_index_entry entry = {.partition = tn_binary_row_empty(),
                          .index_type = tn_slice_text("btree"),
                          .file_name = tn_slice_text("btree-1"),
                          .external_path = tn_slice_text("/x"),
                          .has_external_path = true,
                          .has_global_index = true,
                          .global_index = {.first_row_id = 5,
                                           .last_row_id = 10,
                                           .field_id = 3,
                                           .extra_field_ids = {extra, 2},
                                           .has_extra_field_ids = true,
                                           .index_meta = tn_slice_text("meta"),
                                           .has_index_meta = true}};
  tn_manifest_writer writer;
  tn_slice file;
  int n_seen = 0;
  expect_ok(f, tn_manifest_writer_begin(f->env, &tn_avro_record_writer, TN_INDEX_MANIFEST, "null",
                                        &writer, &f->err));
  expect_ok(f, tn_manifest_writer_add_index(&writer, &entry, &f->err));
  expect_ok(f, tn_manifest_writer_finish(&writer, &file, &f->err));
  put_bytes(f, "/t/manifest/m", file);
  expect_ok(f, tn_index_manifest_read(f->env, f->storage, &READERS, "/t", &name, expect_global,
                                      &n_seen, &f->err));
  assert_int_equal(n_seen, 1);
  tn_manifest_writer_end(&writer);
}

static void index__of_paimon_2_is_refused(void **state) {
  fixture *f = *state;
  tn_index_entry entry = {.partition = tn_binary_row_empty(),
                          .index_type = tn_slice_text("btree"),
                          .file_name = tn_slice_text("btree-1"),
                          .has_global_index = true,
                          .global_index = {.has_source_meta = true}};
  tn_manifest_writer writer;
  expect_ok(f, tn_manifest_writer_begin(f->env, &tn_avro_record_writer, TN_INDEX_MANIFEST, "null",
                                        &writer, &f->err));
  expect_error(f, tn_manifest_writer_add_index(&writer, &entry, &f->err), TARN_E_UNSUPPORTED,
               "btree-1");
  tn_manifest_writer_end(&writer);
  expect_error(f,
               tn_manifest_writer_begin(f->env, &tn_avro_record_writer, TN_INDEX_MANIFEST, "lzo",
                                        &writer, &f->err),
               TARN_E_UNSUPPORTED, "lzo");
  tn_manifest_writer_end(&writer);
}

static tarn_status torture(void *ctx, tarn_env *env, tarn_error *err) {
  tn_manifest_writer writer;
  tn_slice file;
  tarn_status st;
  TN_TRY(copy_manifest(env, *(tn_slice *)ctx, TN_MANIFEST, &writer, err));
  st = tn_manifest_writer_finish(&writer, &file, err);
  tn_manifest_writer_end(&writer);
  return st;
}

static void writer__survives_failing_allocations(void **state) {
  fixture *f = *state;
  tn_slice file = data_hex(f, "avro-file-manifest-1.4.2.hex");
  assert_true(tn_torture(torture, &file, TARN_OK) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(manifest__is_written_as_java_wrote_it),
      MODEL_TEST(manifest__of_an_old_release_gets_the_new_schema),
      MODEL_TEST(list__of_no_manifests_is_a_file),
      MODEL_TEST(entry__without_statistics_has_those_of_no_column),
      MODEL_TEST(index__keeps_what_a_global_index_covers),
      MODEL_TEST(index__of_paimon_2_is_refused),
      MODEL_TEST(writer__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("manifest_write", tests, NULL, NULL);
}
