/* Manifest lists, manifests and index manifests: against what another reader makes of Java's files;
 * copies.
 */
#include "format/avro/avro.h" /* before cmocka, which makes a macro of skip */
#include "format/parquet/parquet.h"

#include "model/manifest.h"
#include "unit/model/model_test.h"

static const tn_record_readers READERS = {tn_avro_read_records, tn_pq_read_records};
static const tn_record_readers AVRO_ALONE = {.avro = tn_avro_read_records};

/* ------------------------------------------------------------------ showing */

static void show(tn_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void show(tn_buf *out, const char *fmt, ...) {
  char text[2048];
  va_list args;
  int n;
  va_start(args, fmt);
  n = vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < sizeof(text));
  assert_int_equal(tn_buf_append(out, text, (size_t)n, NULL), TARN_OK);
}

static void show_hex(tn_buf *out, tn_slice bytes) {
  for (size_t i = 0; i < bytes.len; i++) {
    show(out, "%02x", bytes.data[i]);
  }
}

static void show_text(tn_buf *out, const char *name, tn_slice text) {
  show(out, "%s%.*s", name, TN_SLICE_ARG(text));
}

static void show_texts(tn_buf *out, const char *name, tn_record_array array) {
  show(out, "%s[", name);
  for (int64_t i = 0; i < array.count; i++) {
    show_text(out, i > 0 ? "," : "", ((const tn_slice *)array.items)[i]);
  }
  show(out, "]");
}

static void show_stats(tn_buf *out, const tn_simple_stats *stats) {
  const int64_t *counts = stats->null_counts.items;
  show(out, " (");
  show_hex(out, stats->min_values);
  show(out, ",");
  show_hex(out, stats->max_values);
  show(out, ",[");
  for (int64_t i = 0; i < stats->null_counts.count; i++) {
    if (counts[i] == INT64_MIN) {
      show(out, "%s?", i > 0 ? "," : "");
    } else {
      show(out, "%s%lld", i > 0 ? "," : "", (long long)counts[i]);
    }
  }
  show(out, "])");
}

static void show_file(tn_buf *out, const tn_data_file *d) {
  show_text(out, " ", d->file_name);
  show(out, " %lld %lld ", (long long)d->file_size, (long long)d->row_count);
  show_hex(out, d->min_key);
  show(out, " ");
  show_hex(out, d->max_key);
  show_stats(out, &d->key_stats);
  show_stats(out, &d->value_stats);
  show(out, " %lld %lld %lld %d", (long long)d->min_sequence, (long long)d->max_sequence,
       (long long)d->schema_id, d->level);
  show_texts(out, " ", d->extra_files);
  if (d->has_creation_time) {
    show(out, " _CREATION_TIME=%lld", (long long)d->creation_time_ms);
  }
  if (d->has_delete_row_count) {
    show(out, " _DELETE_ROW_COUNT=%lld", (long long)d->delete_row_count);
  }
  if (d->has_embedded_index) {
    show(out, " _EMBEDDED_FILE_INDEX=");
    show_hex(out, d->embedded_index);
  }
  if (d->has_source) {
    show(out, " _FILE_SOURCE=%d", d->source);
  }
  if (d->has_value_stats_cols) {
    show_texts(out, " _VALUE_STATS_COLS=", d->value_stats_cols);
  }
  if (d->has_external_path) {
    show_text(out, " _EXTERNAL_PATH=", d->external_path);
  }
  if (d->has_first_row_id) {
    show(out, " _FIRST_ROW_ID=%lld", (long long)d->first_row_id);
  }
  if (d->has_write_cols) {
    show_texts(out, " _WRITE_COLS=", d->write_cols);
  }
}

static tarn_status show_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  tn_buf *out = ctx;
  (void)err;
  show(out, "%d %d ", e->version, e->kind);
  show_hex(out, e->partition);
  show(out, " %d %d", e->bucket, e->total_buckets);
  show_file(out, &e->file);
  show(out, "\n");
  return TARN_OK;
}

static tarn_status show_list(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  tn_buf *out = ctx;
  const struct {
    const char *name;
    bool is_there;
    int64_t value;
  } OPTIONAL[] = {
      {"_MIN_BUCKET", m->has_buckets_min, m->min_bucket},
      {"_MAX_BUCKET", m->has_buckets_max, m->max_bucket},
      {"_MIN_LEVEL", m->has_level_min, m->min_level},
      {"_MAX_LEVEL", m->has_level_max, m->max_level},
      {"_MIN_ROW_ID", m->has_row_id_min, m->min_row_id},
      {"_MAX_ROW_ID", m->has_row_id_max, m->max_row_id},
  };
  (void)err;
  show(out, "%d", m->version);
  show_text(out, " ", m->file_name);
  show(out, " %lld +%lld -%lld", (long long)m->file_size, (long long)m->n_added,
       (long long)m->n_deleted);
  show_stats(out, &m->partition_stats);
  show(out, " %lld", (long long)m->schema_id);
  for (size_t i = 0; i < TN_COUNT(OPTIONAL); i++) {
    if (OPTIONAL[i].is_there) {
      show(out, " %s=%lld", OPTIONAL[i].name, (long long)OPTIONAL[i].value);
    }
  }
  show(out, "\n");
  return TARN_OK;
}

static tarn_status show_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  tn_buf *out = ctx;
  (void)err;
  show(out, "%d %d ", e->version, e->kind);
  show_hex(out, e->partition);
  show(out, " %d", e->bucket);
  show_text(out, " ", e->index_type);
  show_text(out, " ", e->file_name);
  show(out, " %lld %lld", (long long)e->file_size, (long long)e->row_count);
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    const tn_dv_range *r = &((const tn_dv_range *)e->dv_ranges.items)[i];
    show_text(out, " ", r->data_file);
    show(out, ":%d:%d", r->offset, r->length);
    if (r->has_cardinality) {
      show(out, " _CARDINALITY=%lld", (long long)r->cardinality);
    }
  }
  if (e->has_external_path) {
    show_text(out, " _EXTERNAL_PATH=", e->external_path);
  }
  show(out, "\n");
  return TARN_OK;
}

static tarn_status read_shown(fixture *f, const char *kind, const char *name, tn_buf *out) {
  if (strcmp(kind, "list") == 0) {
    return tn_manifest_list_read(f->env, f->storage, &READERS, "/t",
                                 &(tn_manifest_name){name, -1, -1}, show_list, out, &f->err);
  }
  if (strcmp(kind, "index") == 0) {
    return tn_index_manifest_read(f->env, f->storage, &READERS, "/t",
                                  &(tn_manifest_name){name, -1, -1}, show_index, out, &f->err);
  }
  return tn_manifest_read(f->env, f->storage, &READERS, "/t", &(tn_manifest_name){name, -1, -1},
                          show_entry, out, &f->err);
}

/* ------------------------------------------------------------------ reading */

static void manifests__are_read_as_others_read_them(void **state) {
  static const char *const FILES[][2] = {
      {"list", "avro-file-manifest-list-1.0.1.hex"},
      {"list", "avro-file-manifest-list-1.4.2.hex"},
      {"entries", "avro-file-manifest-1.0.1.hex"},
      {"entries", "avro-file-manifest-1.4.2.hex"},
      {"entries", "avro-file-manifest-upgrade-1.4.2.hex"},
      {"index", "avro-file-index-manifest-1.0.1.hex"},
      {"index", "avro-file-index-manifest-1.4.2.hex"},
      {"list", "parquet-manifest-list-1.4.2.hex"},
      {"entries", "parquet-manifest-1.4.2.hex"},
      {"entries", "parquet-manifest-external-1.4.2.hex"},
      {"index", "parquet-index-manifest-1.4.2.hex"},
  };
  fixture *f = *state;
  const char *lines = (const char *)data_file(f, "manifests.txt").data;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_buf found, wanted;
    size_t n = strlen(FILES[i][1]);
    tn_buf_init(&found, &f->env->mem, 1 << 20);
    tn_buf_init(&wanted, &f->env->mem, 1 << 20);
    for (const char *line = lines; line != NULL && *line != '\0';) {
      const char *end = strchr(line, '\n') + 1;
      if (strncmp(line, FILES[i][1], n) == 0) {
        expect_ok(f, tn_buf_append(&wanted, line + n + 1, (size_t)(end - line) - n - 1, &f->err));
      }
      line = end;
    }
    put_bytes(f, "/t/manifest/m", data_hex(f, FILES[i][1]));
    expect_ok(f, read_shown(f, FILES[i][0], "m", &found));
    expect_ok(f, tn_buf_append(&found, "", 1, &f->err));
    expect_ok(f, tn_buf_append(&wanted, "", 1, &f->err));
    assert_true(found.len > 100);
    assert_string_equal((const char *)found.data, (const char *)wanted.data);
    tn_buf_reset(&found);
    tn_buf_reset(&wanted);
  }
}

static void manifests__are_found_by_their_first_bytes(void **state) {
  static const struct {
    const char *bytes;
    tarn_status status;
    const char *message;
  } CASES[] = {
      {"PAR1....", TARN_E_CORRUPT, "/t/manifest/m: not a Parquet file"},
      {"ORC.....", TARN_E_UNSUPPORTED, "/t/manifest/m: a manifest in ORC is not supported"},
      {"{\"a\":1}", TARN_E_CORRUPT, "/t/manifest/m: not a manifest"},
      {"", TARN_E_CORRUPT, "/t/manifest/m: not a manifest"},
  };
  fixture *f = *state;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, 1 << 20);
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    put_file(f, "/t/manifest/m", CASES[i].bytes);
    expect_error(f, read_shown(f, "entries", "m", &out), CASES[i].status, CASES[i].message);
  }
  expect_error(f, read_shown(f, "list", "gone", &out), TARN_E_NOT_FOUND, "/t/manifest/gone");
  put_file(f, "/t/manifest/m", "PAR1....");
  expect_error(f,
               tn_manifest_read(f->env, f->storage, &AVRO_ALONE, "/t",
                                &(tn_manifest_name){"m", -1, -1}, show_entry, &out, &f->err),
               TARN_E_UNSUPPORTED, "/t/manifest/m: a manifest in Parquet is not supported");
  tn_buf_reset(&out);
}

/* A manifest list read as a manifest and the like: records without a file, or of another version.
 */
static void manifests__refuse_records_of_another_kind(void **state) {
  fixture *f = *state;
  tn_buf out;
  tn_buf_init(&out, &f->env->mem, 1 << 20);
  put_bytes(f, "/t/manifest/list", data_hex(f, "avro-file-manifest-list-1.4.2.hex"));
  put_bytes(f, "/t/manifest/index", data_hex(f, "avro-file-index-manifest-1.4.2.hex"));
  put_bytes(f, "/t/manifest/entries", data_hex(f, "avro-file-manifest-1.4.2.hex"));
  expect_error(f, read_shown(f, "entries", "list", &out), TARN_E_CORRUPT,
               "/t/manifest/list: a record without _FILE_NAME");
  expect_error(f, read_shown(f, "list", "entries", &out), TARN_E_CORRUPT,
               "/t/manifest/entries: a record without _FILE_NAME");
  expect_error(f, read_shown(f, "list", "index", &out), TARN_E_UNSUPPORTED,
               "a record of version 1; only 2 can be read");
  expect_error(f, read_shown(f, "index", "entries", &out), TARN_E_UNSUPPORTED,
               "a record of version 2; only 1 can be read");
  put_bytes(f, "/t/manifest/list", data_hex(f, "parquet-manifest-list-1.4.2.hex"));
  put_bytes(f, "/t/manifest/index", data_hex(f, "parquet-index-manifest-1.4.2.hex"));
  expect_error(f, read_shown(f, "entries", "list", &out), TARN_E_CORRUPT,
               "/t/manifest/list: a record without _FILE_NAME");
  expect_error(f, read_shown(f, "list", "index", &out), TARN_E_UNSUPPORTED,
               "a record of version 1; only 2 can be read");
  assert_int_equal(out.len, 0);
  tn_buf_reset(&out);
}

/* ------------------------------------------------------------------ copies */

static tn_slice text(const char *s) {
  return tn_slice_text(s);
}

static tn_manifest_entry make_entry(void) {
  static tn_slice extra[2], cols[1], write[1];
  static int64_t counts[2] = {1, INT64_MIN};
  tn_manifest_entry e = {.version = 2, .kind = 1, .bucket = 3, .total_buckets = 4};
  extra[0] = text("x.index");
  extra[1] = text("");
  cols[0] = text("c");
  write[0] = text("w");
  e.partition = text("partition");
  e.file = (tn_data_file){
      .file_name = text("f.parquet"),
      .file_size = 7,
      .row_count = 5,
      .min_key = text("k0"),
      .max_key = text("k1"),
      .key_stats = {.min_values = text("a"), .max_values = text("b")},
      .value_stats = {.min_values = text("c"),
                      .max_values = text("d"),
                      .null_counts = {counts, 2},
                      .has_null_counts = true},
      .level = 2,
      .extra_files = {extra, 2},
      .embedded_index = text("index"),
      .has_embedded_index = true,
      .value_stats_cols = {cols, 1},
      .has_value_stats_cols = true,
      .external_path = text("/x/f.parquet"),
      .has_external_path = true,
      .write_cols = {write, 1},
      .has_write_cols = true,
  };
  return e;
}

static void data_file_copy__is_deep(void **state) {
  fixture *f = *state;
  tn_manifest_entry e = make_entry();
  tn_data_file copy;
  tn_buf a, b;
  char name[] = "f.parquet";
  tn_buf_init(&a, &f->env->mem, 1 << 16);
  tn_buf_init(&b, &f->env->mem, 1 << 16);
  show_file(&a, &e.file);
  e.file.file_name = text(name);
  expect_ok(f, tn_data_file_copy(&f->arena, &e.file, true, &copy, &f->err));
  memset(name, 'x', sizeof(name) - 1); /* what was copied from is gone */
  show_file(&b, &copy);
  expect_ok(f, tn_buf_append(&a, "", 1, &f->err));
  expect_ok(f, tn_buf_append(&b, "", 1, &f->err));
  assert_string_equal((const char *)a.data, (const char *)b.data);
  assert_ptr_not_equal(copy.value_stats.null_counts.items, e.file.value_stats.null_counts.items);
  assert_ptr_not_equal(copy.extra_files.items, e.file.extra_files.items);
  tn_buf_reset(&a);
  tn_buf_reset(&b);
}

static void data_file_copy__leaves_statistics_out(void **state) {
  fixture *f = *state;
  tn_manifest_entry e = make_entry();
  tn_data_file copy;
  expect_ok(f, tn_data_file_copy(&f->arena, &e.file, false, &copy, &f->err));
  assert_int_equal(copy.key_stats.min_values.len + copy.value_stats.max_values.len, 0);
  assert_int_equal(copy.value_stats.null_counts.count, 0);
  assert_false(copy.has_value_stats_cols || copy.value_stats.has_null_counts);
  assert_true(tn_slice_is(copy.min_key, "k0"));
  assert_true(tn_slice_is(copy.embedded_index, "index"));
  assert_int_equal(copy.write_cols.count, 1);
}

/* ------------------------------------------------------------------ damage and need */

static tarn_status take_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  (void)err;
  *(size_t *)ctx += e->file.file_name.len + e->partition.len;
  return TARN_OK;
}

static void damage_every_byte(fixture *f, const char *name) {
  tn_slice file = data_hex(f, name);
  uint8_t *bytes = (uint8_t *)(uintptr_t)file.data;
  size_t sum = 0;
  for (size_t i = 0; i < file.len; i++) {
    tarn_status st;
    bytes[i] ^= 0x21;
    put_bytes(f, "/t/manifest/m", file);
    st = tn_manifest_read(f->env, f->storage, &READERS, "/t", &(tn_manifest_name){"m", -1, -1},
                          take_entry, &sum, &f->err);
    assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED ||
                st == TARN_E_LIMIT);
    bytes[i] ^= 0x21;
  }
}

static void manifest_read__survives_damage_of_every_byte(void **state) {
  damage_every_byte(*state, "avro-file-manifest-1.4.2.hex");
}

static void manifest_read__survives_damage_of_every_byte_of_parquet(void **state) {
  damage_every_byte(*state, "parquet-manifest-1.4.2.hex");
}

/* A file that was cut between two blocks decodes without a fault of its own. */
static void manifest_read__notices_what_is_missing(void **state) {
  fixture *f = *state;
  tn_slice file = data_hex(f, "avro-file-manifest-1.4.2.hex");
  size_t sum = 0;
  const struct {
    tn_manifest_name name;
    tarn_status expected;
  } cases[] = {
      {{"m", (int64_t)file.len, 2}, TARN_OK},
      {{"m", (int64_t)file.len - 1, -1}, TARN_OK},
      {{"m", (int64_t)file.len + 1, 2}, TARN_E_CORRUPT},
      {{"m", -1, 1}, TARN_E_CORRUPT},
      {{"m", -1, 3}, TARN_E_CORRUPT},
  };
  put_bytes(f, "/t/manifest/m", file);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_manifest_read(f->env, f->storage, &READERS, "/t", &cases[i].name,
                                      take_entry, &sum, &f->err),
                     cases[i].expected);
  }
}

static tarn_status copy_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  tn_data_file copy;
  return tn_data_file_copy(ctx, &e->file, true, &copy, err);
}

static tarn_status read_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st;
  tn_storage *storage = NULL;
  tn_arena arena;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/manifest/m", *(tn_slice *)ctx, err));
  TN_TRY_TO(done, tn_manifest_read(env, storage, &READERS, "/t", &(tn_manifest_name){"m", -1, -1},
                                   copy_entry, &arena, err));
done:
  tn_arena_reset(&arena);
  tn_storage_release(storage);
  return st;
}

static void manifest_read__survives_any_failed_allocation(void **state) {
  fixture *f = *state;
  tn_slice file = data_hex(f, "avro-file-manifest-1.4.2.hex");
  assert_true(tn_torture(read_in_need, &file, TARN_OK) > 10);
  file = data_hex(f, "parquet-manifest-1.4.2.hex");
  assert_true(tn_torture(read_in_need, &file, TARN_OK) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(manifests__are_read_as_others_read_them),
      MODEL_TEST(manifests__are_found_by_their_first_bytes),
      MODEL_TEST(manifests__refuse_records_of_another_kind),
      MODEL_TEST(data_file_copy__is_deep),
      MODEL_TEST(data_file_copy__leaves_statistics_out),
      MODEL_TEST(manifest_read__survives_damage_of_every_byte),
      MODEL_TEST(manifest_read__survives_damage_of_every_byte_of_parquet),
      MODEL_TEST(manifest_read__notices_what_is_missing),
      MODEL_TEST(manifest_read__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
