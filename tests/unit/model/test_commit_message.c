/* Commit messages and committables: Java's bytes decoded and encoded again; old versions; damage.
 */
#include "base/bytes.h"
#include "model/commit_message.h"
#include "model/index_meta.h"
#include "model/wire.h"
#include "unit/model/model_test.h"

#define OUT_LIMIT ((size_t)1 << 24)

static void expect_bytes(tn_buf *found, tn_slice wanted) {
  assert_int_equal(found->len, wanted.len);
  assert_memory_equal(found->data, wanted.data, wanted.len);
  tn_buf_reset(found);
}

static void message__is_encoded_as_java_wrote_it(void **state) {
  static const char *const FILES[] = {"commitmessage-v11-minimal.hex", "commitmessage-v11.hex"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice bytes = data_hex(f, FILES[i]);
    tn_commit_message m;
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    expect_ok(f, tn_commit_message_decode(bytes, 11, &f->arena, &m, &f->err));
    expect_ok(f, tn_commit_message_encode(&m, &out, &f->err));
    expect_bytes(&out, bytes);
  }
}

static void message__has_all_its_lists(void **state) {
  fixture *f = *state;
  tn_commit_message m;
  const tn_dv_range *range;
  expect_ok(f, tn_commit_message_decode(data_hex(f, "commitmessage-v11.hex"), 11, &f->arena, &m,
                                        &f->err));
  assert_int_equal(m.partition.len, 44);
  assert_int_equal(m.bucket, 1);
  assert_true(m.has_total_buckets);
  assert_int_equal(m.total_buckets, 2);
  assert_int_equal(m.new_files.n, 1);
  assert_true(tn_slice_is(m.new_files.items[0].file_name, "d.orc"));
  assert_int_equal(m.new_files.items[0].creation_time_ms, 1700000000123);
  assert_int_equal(m.new_indexes.n, 2);
  assert_true(tn_slice_is(m.new_indexes.items[0].index_type, "DELETION_VECTORS"));
  assert_int_equal(m.new_indexes.items[0].kind, TN_FILE_ADD);
  assert_int_equal(m.new_indexes.items[0].bucket, 1);
  assert_int_equal(m.new_indexes.items[0].dv_ranges.count, 1);
  range = m.new_indexes.items[0].dv_ranges.items;
  assert_true(tn_slice_is(range->data_file, "d.orc"));
  assert_int_equal(range->offset, 1);
  assert_int_equal(range->length, 22);
  assert_int_equal(range->cardinality, 4);
  assert_true(tn_slice_is(m.new_indexes.items[1].index_type, "HASH"));
  assert_int_equal(m.new_indexes.items[1].row_count, 10);
  assert_int_equal(m.deleted_files.n, 0);
  assert_int_equal(m.compact_before.n, 1);
  assert_int_equal(m.compact_after.n, 1);
  assert_int_equal(m.compact_after.items[0].row_count, 10);
}

static void index__is_encoded_as_java_wrote_it(void **state) {
  static const char *const FILES[] = {"indexfilemeta-v11-dv.hex", "indexfilemeta-v11-global.hex"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_slice bytes = data_hex(f, FILES[i]); /* with its length in front */
    tn_index_entry entry;
    tn_buf out;
    tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
    bytes = tn_slice_of(bytes.data + 4, bytes.len - 4);
    expect_ok(f, tn_index_meta_decode(bytes, TN_INDEX_META_WRITTEN, &f->arena, &entry, &f->err));
    expect_ok(f, tn_index_meta_encode(&entry, &out, &f->err));
    expect_bytes(&out, bytes);
    if (i == 1) {
      assert_int_equal(entry.global_index.last_row_id, 99);
      assert_int_equal(entry.global_index.extra_field_ids.count, 1);
      assert_int_equal(*(const int32_t *)entry.global_index.extra_field_ids.items, 2);
      assert_int_equal(entry.global_index.index_meta.len, 1);
    }
  }
}

static void committable__is_encoded_as_java_wrote_it(void **state) {
  fixture *f = *state;
  tn_slice bytes = data_hex(f, "manifestcommittable-v5.hex");
  tn_committable c;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_committable_decode(bytes, 5, &f->arena, &c, &f->err));
  assert_int_equal(c.identifier, 7);
  assert_true(c.has_watermark);
  assert_int_equal(c.watermark, 1234567890);
  assert_int_equal(c.n_properties, 1);
  assert_string_equal(c.properties[0].key, "k1");
  assert_string_equal(c.properties[0].value, "v1");
  assert_int_equal(c.n_messages, 1);
  expect_ok(f, tn_committable_encode(&c, &out, &f->err));
  expect_bytes(&out, bytes);
}

static void committable__without_a_watermark_and_with_odd_texts(void **state) {
  fixture *f = *state;
  tn_property properties[] = {{"\xF0\x9F\x98\x80 \xC3\xA9", ""}, {"bad \xFF", "\xE2\x82\xAC"}};
  tn_committable c = {.identifier = INT64_MAX, .properties = properties, .n_properties = 2}, again;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
  expect_ok(f, tn_committable_encode(&c, &out, &f->err));
  expect_ok(f, tn_committable_decode(tn_buf_slice(&out), 5, &f->arena, &again, &f->err));
  assert_false(again.has_watermark);
  assert_int_equal(again.identifier, INT64_MAX);
  assert_int_equal(again.n_properties, 2);
  assert_string_equal(again.properties[0].key, "\xF0\x9F\x98\x80 \xC3\xA9");
  assert_string_equal(again.properties[1].key, "bad \xEF\xBF\xBD");
  assert_string_equal(again.properties[1].value, "\xE2\x82\xAC");
  /* Two surrogates of three bytes each, as Java has them. */
  assert_memory_equal(out.data + 8 + 1 + 4, "\0\x09\xED\xA0\xBD\xED\xB8\x80 \xC3\xA9", 11);
  tn_buf_reset(&out);
}

/* Version 4 has log offsets in front of the properties. */
static void committable__of_version_4_skips_log_offsets(void **state) {
  fixture *f = *state;
  tn_committable c;
  tn_slice bytes = hex(f,
                       "0000000000000007 01 00000001 00000003 0000000000000009 00000001 0001 61 "
                       "0001 62 0000000b 00000000");
  expect_ok(f, tn_committable_decode(bytes, 4, &f->arena, &c, &f->err));
  assert_int_equal(c.n_properties, 1);
  assert_string_equal(c.properties[0].value, "b");
  assert_int_equal(c.n_messages, 0);
}

static void committable__refuses_other_versions(void **state) {
  fixture *f = *state;
  tn_committable c;
  tn_commit_message m;
  tn_slice bytes = data_hex(f, "manifestcommittable-v5.hex");
  static const int32_t WRONG[] = {-1, 0, 1, 6};
  static const int32_t WRONG_MESSAGES[] = {INT32_MIN, -1, 0, 1, 2, 14, INT32_MAX};
  for (size_t i = 0; i < TN_COUNT(WRONG); i++) {
    expect_error(f, tn_committable_decode(bytes, WRONG[i], &f->arena, &c, &f->err),
                 TARN_E_UNSUPPORTED, "version");
  }
  for (size_t i = 0; i < TN_COUNT(WRONG_MESSAGES); i++) {
    expect_error(f, tn_commit_message_decode(bytes, WRONG_MESSAGES[i], &f->arena, &m, &f->err),
                 TARN_E_UNSUPPORTED, "version");
  }
}

/* In old versions the index files stand behind all data files, for both parts. */
static void message__of_old_versions_tells_indexes_by_the_compaction(void **state) {
  fixture *f = *state;
  tn_slice index, file, whole = data_hex(f, "commitmessage-v11-minimal.hex");
  for (int with_compaction = 0; with_compaction < 2; with_compaction++) {
    tn_commit_message m;
    tn_buf bytes, row;
    tn_index_entry entry = {.index_type = tn_slice_text("HASH"),
                            .file_name = tn_slice_text("index-1")};
    tn_binary_row_writer w;
    tn_buf_init(&bytes, &f->env->mem, OUT_LIMIT);
    tn_buf_init(&row, &f->env->mem, OUT_LIMIT);
    /* Layout 2 of an index: five fields. */
    expect_ok(f, tn_binary_row_begin(&w, &row, 5, &f->err));
    expect_ok(f, tn_binary_row_set_bytes(&w, 0, entry.index_type, &f->err));
    expect_ok(f, tn_binary_row_set_bytes(&w, 1, entry.file_name, &f->err));
    tn_binary_row_set_slot(&w, 2, 5);
    tn_binary_row_set_slot(&w, 3, 6);
    tn_binary_row_set_null(&w, 4);
    index = tn_buf_slice(&row);
    /* The one file of the minimal message: its list begins behind partition, bucket and mark. */
    file = tn_slice_of(whole.data + 16 + 4 + 1, 4 + 4 + 352);
    assert_int_equal(tn_load_be32(file.data), 1);
    expect_ok(f, tn_wire_put_bytes(&bytes, tn_binary_row_empty(), &f->err));
    expect_ok(f, tn_wire_put_i32(&bytes, 0, &f->err));
    expect_ok(f, tn_wire_put_bool(&bytes, false, &f->err));
    for (int list = 0; list < 6; list++) {
      if (list == 0 || (list == 4 && with_compaction)) {
        expect_ok(f, tn_buf_append(&bytes, file.data, file.len, &f->err));
      } else {
        expect_ok(f, tn_wire_put_i32(&bytes, 0, &f->err));
      }
    }
    expect_ok(f, tn_wire_put_i32(&bytes, 1, &f->err));
    expect_ok(f, tn_wire_put_bytes(&bytes, index, &f->err));
    expect_ok(f, tn_wire_put_i32(&bytes, 0, &f->err));
    expect_ok(f, tn_commit_message_decode(tn_buf_slice(&bytes), 8, &f->arena, &m, &f->err));
    assert_int_equal(m.new_indexes.n, 1 - with_compaction);
    assert_int_equal(m.compact_new_indexes.n, with_compaction);
    assert_int_equal(m.compact_after.n, with_compaction);
    tn_buf_reset(&bytes);
    tn_buf_reset(&row);
  }
}

static void message__of_cut_bytes_is_corrupt(void **state) {
  fixture *f = *state;
  tn_slice bytes = data_hex(f, "commitmessage-v11.hex");
  for (size_t n = 0; n < bytes.len; n++) {
    uint8_t *cut = malloc(n + 1); /* so that a sanitizer sees what is behind it */
    tn_commit_message m;
    memcpy(cut, bytes.data, n);
    expect_error(f, tn_commit_message_decode(tn_slice_of(cut, n), 11, &f->arena, &m, &f->err),
                 TARN_E_CORRUPT, "");
    free(cut);
  }
}

static void message__of_damaged_bytes_never_reads_outside(void **state) {
  fixture *f = *state;
  tn_slice bytes = data_hex(f, "commitmessage-v11.hex");
  for (size_t at = 0; at < bytes.len; at++) {
    static const uint8_t VALUES[] = {0x00, 0x7F, 0x80, 0xFF};
    for (size_t i = 0; i < TN_COUNT(VALUES); i++) {
      uint8_t *bad = malloc(bytes.len);
      tn_commit_message m;
      tn_buf out;
      tn_arena arena;
      tn_arena_init(&arena, &f->env->mem, SIZE_MAX);
      tn_buf_init(&out, &f->env->mem, OUT_LIMIT);
      memcpy(bad, bytes.data, bytes.len);
      bad[at] = VALUES[i];
      if (tn_commit_message_decode(tn_slice_of(bad, bytes.len), 11, &arena, &m, NULL) == TARN_OK) {
        expect_ok(f, tn_commit_message_encode(&m, &out, &f->err));
      }
      tn_buf_reset(&out);
      tn_arena_reset(&arena);
      free(bad);
    }
  }
}

static tarn_status torture(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_committable c = {.n_messages = 1};
  tn_commit_message m;
  tn_arena arena;
  tn_buf out;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_buf_init(&out, &env->mem, OUT_LIMIT);
  TN_TRY_TO(done, tn_commit_message_decode(*(tn_slice *)ctx, 11, &arena, &m, err));
  c.messages = &m;
  TN_TRY_TO(done, tn_committable_encode(&c, &out, err));
  TN_TRY_TO(done, tn_committable_decode(tn_buf_slice(&out), 5, &arena, &c, err));
done:
  tn_buf_reset(&out);
  tn_arena_reset(&arena);
  return st;
}

static void message__survives_failing_allocations(void **state) {
  fixture *f = *state;
  tn_slice bytes = data_hex(f, "commitmessage-v11.hex");
  assert_true(tn_torture(torture, &bytes, TARN_OK) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(message__is_encoded_as_java_wrote_it),
      MODEL_TEST(message__has_all_its_lists),
      MODEL_TEST(index__is_encoded_as_java_wrote_it),
      MODEL_TEST(committable__is_encoded_as_java_wrote_it),
      MODEL_TEST(committable__without_a_watermark_and_with_odd_texts),
      MODEL_TEST(committable__of_version_4_skips_log_offsets),
      MODEL_TEST(committable__refuses_other_versions),
      MODEL_TEST(message__of_old_versions_tells_indexes_by_the_compaction),
      MODEL_TEST(message__of_cut_bytes_is_corrupt),
      MODEL_TEST(message__of_damaged_bytes_never_reads_outside),
      MODEL_TEST(message__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("commit_message", tests, NULL, NULL);
}
