/* Writing the files of a bucket: rolling, names and places, metadata, what is left after failures.
 */
#include "datafile/data_writer.h"

#include <errno.h>

#include "datafile/data_reader.h"
#include "support/test.h"
#include "support/torture.h"
#include "table_maker.h"

#define MAX_ROWS 6000

/* A table, and what is written to it. */
typedef struct writing {
  table_maker tm;
  tn_table *table;
  tn_write_shape *shape;
  tn_data_writer_request request;
  tn_data_file *files;
  int32_t n_files;
  bool is_key_value;
} writing;

static int64_t noon(void *ctx) {
  (void)ctx;
  return 1700000000123;
}

static void begin(writing *w, const char *fields, const char *partition_keys,
                  const char *primary_keys, const char *options) {
  memset(w, 0, sizeof(*w));
  tm_begin(&w->tm, 1);
  w->tm.env->clock_ms = noon;
  tm_schema(&w->tm, 3, fields, partition_keys, primary_keys, options);
  w->table = tm_table(&w->tm, "");
  w->is_key_value = primary_keys[0] != '\0';
  w->request.partition = tn_binary_row_empty();
  w->request.rolls = true;
}

static void end(writing *w) {
  tn_write_shape_free(w->shape);
  tn_table_release(w->table);
  tm_end(&w->tm);
}

static void make_shape(writing *w) {
  OK(tn_write_shape_create(w->table, w->is_key_value, NULL, 0, &w->shape, err));
  w->request.shape = w->shape;
}

/* ------------------------------------------------------------------ rows */

/* Value of column c in row i: integers and texts that tell the row. */
static tn_datum value_of(const tn_field *field, int64_t i, char text[32]) {
  tn_datum value = {0};
  if (field->id == TN_FIELD_ID_VALUE_KIND) {
    value.v.i64 = i % 4;
  } else if (field->id == TN_FIELD_ID_SEQUENCE_NUMBER) {
    value.v.i64 = 1000 - i;
  } else if (tn_type_is_string(&field->type)) {
    snprintf(text, 32, "text of row %d", (int)i);
    value.v.bytes = tn_slice_text(text);
  } else {
    value.v.i64 = i;
  }
  return value;
}

static tarn_status fill(tarn_env *env, const tn_field *field, int64_t begin, int64_t n, tn_vec *vec,
                        tarn_error *err) {
  size_t at = 0, width = tn_layout_width(tn_type_layout(&field->type));
  TN_TRY(tn_vec_alloc(env, vec, n, 32 * (size_t)n, err));
  for (int64_t i = 0; i < n; i++) {
    char text[32];
    tn_datum value = value_of(field, begin + i, text);
    if (tn_type_is_string(&field->type)) {
      memcpy((uint8_t *)vec->values + at, text, value.v.bytes.len);
      at += value.v.bytes.len;
      vec->offsets[i + 1] = (int32_t)at;
    } else {
      memcpy((uint8_t *)vec->values + (size_t)i * width, &value.v.i64, width);
    }
  }
  return TARN_OK;
}

/* Rows [begin, begin + n) to a writer. */
static tarn_status write_rows(tn_write_shape *shape, tarn_env *env, tn_data_writer *writer,
                              int64_t begin, int64_t n, tarn_error *err) {
  int32_t n_fields;
  const tn_field *fields = tn_write_shape_fields(shape, &n_fields);
  tn_batch batch;
  tarn_status st;
  TN_TRY(tn_batch_init(env, fields, n_fields, &batch, err));
  batch.n_rows = n;
  st = TARN_OK;
  for (int32_t c = 0; c < n_fields && st == TARN_OK; c++) {
    st = fill(env, &fields[c], begin, n, &batch.columns[c], err);
  }
  if (st == TARN_OK) {
    st = tn_data_writer_write(writer, &batch, err);
  }
  tn_batch_reset(env, &batch);
  return st;
}

/* n rows in batches, and the files that come of them. */
static void write_all(writing *w, int64_t n, int64_t batch_rows) {
  tn_data_writer *writer;
  if (w->shape == NULL) {
    make_shape(w);
  }
  OK(tn_data_writer_create(&w->request, &writer, err));
  for (int64_t at = 0; at < n; at += batch_rows) {
    OK(write_rows(w->shape, w->tm.env, writer, at, batch_rows < n - at ? batch_rows : n - at, err));
  }
  OK(tn_data_writer_finish(writer, &w->tm.arena, &w->files, &w->n_files, err));
  tn_data_writer_free(writer);
}

/* ------------------------------------------------------------------ files that are there */

typedef struct listing {
  tn_storage *storage;
  const char *folder;
  int n_files;
} listing;

static tarn_status count_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  listing *l = ctx;
  char path[1024];
  if (!is_directory) {
    l->n_files += strncmp(name, "schema-", 7) != 0;
    return TARN_OK;
  }
  snprintf(path, sizeof(path), "%s/%s", l->folder, name);
  listing inner = {l->storage, path, 0};
  tarn_status st = tn_storage_list(l->storage, path, count_entry, &inner, err);
  l->n_files += inner.n_files;
  return st;
}

static int files_below(tn_storage *storage, const char *folder) {
  listing l = {storage, folder, 0};
  tarn_error err;
  tarn_status st = tn_storage_list(storage, folder, count_entry, &l, &err);
  assert_true(st == TARN_OK || st == TARN_E_NOT_FOUND);
  return l.n_files;
}

static bool has_text(tn_slice s, const char *start, const char *end) {
  size_t n = strlen(end);
  return tn_slice_starts_with(s, tn_slice_text(start)) && s.len >= n &&
         memcmp(s.data + s.len - n, end, n) == 0;
}

#define assert_slice(slice, text)                                      \
  do {                                                                 \
    if (!tn_slice_is((slice), (text))) {                               \
      fail_msg("\"%.*s\" is not \"%s\"", TN_SLICE_ARG(slice), (text)); \
    }                                                                  \
  } while (0)

/* ------------------------------------------------------------------ metadata */

static void data_writer__describes_a_file_of_rows(void **state) {
  writing w;
  tn_file_info info;
  (void)state;
  begin(&w, "0 a INT|1 b STRING", "", "", "bucket=-1");
  w.request.first_sequence = 40;
  write_all(&w, 10, 4);
  assert_int_equal(w.n_files, 1);
  const tn_data_file *f = &w.files[0];
  assert_true(has_text(f->file_name, "data-", "-0.parquet"));
  assert_int_equal(f->file_name.len, strlen("data-") + TN_UUID_CHARS + strlen("-0.parquet"));
  OK(tn_storage_info(w.tm.storage,
                     tn_arena_printf(&w.tm.arena, "/t/bucket-0/%.*s", TN_SLICE_ARG(f->file_name)),
                     &info, err));
  assert_int_equal(f->file_size, info.size_bytes);
  assert_int_equal(f->row_count, 10);
  assert_int_equal(f->min_sequence, 40);
  assert_int_equal(f->max_sequence, 49);
  assert_int_equal(f->schema_id, 3);
  assert_true(f->has_creation_time && f->creation_time_ms == 1700000000123);
  assert_true(f->has_delete_row_count && f->delete_row_count == 0);
  assert_true(f->has_source && f->source == TN_SOURCE_APPEND);
  assert_false(f->has_embedded_index || f->has_external_path || f->has_write_cols ||
               f->has_first_row_id);
  assert_true(tn_slice_equal(f->min_key, tn_binary_row_empty()));
  assert_true(tn_slice_equal(f->key_stats.max_values, tn_binary_row_empty()));
  assert_true(f->key_stats.has_null_counts && f->key_stats.null_counts.count == 0);
  end(&w);
}

static void data_writer__describes_a_key_value_file(void **state) {
  writing w;
  (void)state;
  begin(&w, "0 v STRING|1 k BIGINT NOT NULL", "", "k", "bucket=1");
  w.request.level = 2;
  w.request.is_compaction = true;
  write_all(&w, 10, 4);
  assert_int_equal(w.n_files, 1);
  const tn_data_file *f = &w.files[0];
  assert_true(tn_slice_equal(f->min_key, tm_row(&w.tm, "BIGINT", "0")));
  assert_true(tn_slice_equal(f->max_key, tm_row(&w.tm, "BIGINT", "9")));
  assert_true(tn_slice_equal(f->key_stats.max_values, tm_row(&w.tm, "BIGINT", "9")));
  assert_true(
      tn_slice_equal(f->value_stats.max_values, tm_row(&w.tm, "STRING|BIGINT", "text of row 9|9")));
  assert_int_equal(f->min_sequence, 991);
  assert_int_equal(f->max_sequence, 1000);
  assert_int_equal(f->delete_row_count, 5); /* kinds 0 1 2 3 0 1 2 3 0 1 */
  assert_int_equal(f->level, 2);
  assert_int_equal(f->source, TN_SOURCE_COMPACT);
  end(&w);
}

static void data_writer__stamps_local_time(void **state) {
  writing w;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  (void)state;
  options.time_zone = "+08:00";
  OK(tarn_env_create(&options, &env, err));
  env->clock_ms = noon;
  memset(&w, 0, sizeof(w));
  tm_begin_in(&w.tm, env);
  tm_schema(&w.tm, 0, "0 a INT", "", "", "bucket=-1");
  w.table = tm_table(&w.tm, "");
  w.request.partition = tn_binary_row_empty();
  write_all(&w, 1, 1);
  assert_true(w.files[0].creation_time_ms == 1700000000123 + 8 * 3600 * 1000);
  end(&w);
}

static void data_writer__writes_some_columns(void **state) {
  static const int32_t columns[] = {2, 0};
  writing w;
  (void)state;
  begin(&w, "0 a INT|1 b STRING|2 c BIGINT", "", "", "bucket=-1;row-tracking.enabled=true");
  OK(tn_write_shape_create(w.table, false, columns, 2, &w.shape, err));
  w.request.shape = w.shape;
  write_all(&w, 3, 3);
  const tn_slice *names = w.files[0].write_cols.items;
  assert_true(w.files[0].has_write_cols && w.files[0].write_cols.count == 2);
  assert_slice(names[0], "c");
  assert_slice(names[1], "a");
  assert_true(
      tn_slice_equal(w.files[0].value_stats.max_values, tm_row(&w.tm, "BIGINT|INT", "2|2")));
  end(&w);
}

static void data_writer__makes_no_file_of_no_rows(void **state) {
  writing w;
  (void)state;
  begin(&w, "0 a INT", "", "", "bucket=-1");
  write_all(&w, 0, 1);
  assert_int_equal(w.n_files, 0);
  assert_int_equal(files_below(w.tm.storage, "/t"), 0);
  end(&w);
}

/* ------------------------------------------------------------------ rolling */

typedef struct rolling {
  const char *options;
  int64_t n_rows, batch_rows;
  bool is_compaction, rolls;
  int32_t n_files;
  int64_t first_rows, last_rows; /* of the first and of the last file */
} rolling;

static const rolling rollings[] = {
    {"target-file-size=1kb", 5000, 5000, false, true, 5, 1000, 1000},
    {"target-file-size=1kb", 5000, 700, false, true, 5, 1000, 1000},
    {"target-file-size=1kb", 5500, 1, false, true, 6, 1000, 500},
    {"target-file-size=2kb;file.format=avro", 1500, 1500, true, true, 1, 1500, 1500},
    {"target-file-size=20kb;file.format=avro;file.compression=null", 6000, 999, true, true, 3, 3000,
     -1},
    {"target-file-size=1kb", 5000, 5000, false, false, 1, 5000, 5000},
    {"", 5000, 5000, false, true, 1, 5000, 5000},
    {"target-file-row-num=30", 100, 100, false, true, 4, 30, 10},
    {"target-file-row-num=30", 100, 7, false, true, 4, 30, 10},
    {"target-file-row-num=50", 100, 50, false, true, 2, 50, 50},
    {"target-file-row-num=30", 100, 100, true, true, 1, 100, 100},
};

static void check_rolling(const rolling *r, bool is_key_value) {
  writing w;
  int64_t n_rows = 0;
  begin(&w, "0 k BIGINT NOT NULL|1 b STRING", "", is_key_value ? "k" : "",
        tn_slice_text(r->options).len > 0 ? r->options : "bucket=1");
  w.request.is_compaction = r->is_compaction;
  w.request.rolls = r->rolls;
  write_all(&w, r->n_rows, r->batch_rows);
  if (r->last_rows >= 0) {
    assert_int_equal(w.n_files, r->n_files);
    assert_int_equal(w.files[0].row_count, r->first_rows);
    assert_int_equal(w.files[w.n_files - 1].row_count, r->last_rows);
  }
  for (int32_t i = 0; i < w.n_files; i++) {
    const tn_data_file *f = &w.files[i];
    assert_int_equal(f->max_sequence - f->min_sequence + 1, f->row_count);
    assert_true(has_text(f->file_name, "data-",
                         tn_arena_printf(&w.tm.arena, "-%d.%s", i,
                                         strstr(r->options, "avro") != NULL ? "avro" : "parquet")));
    if (is_key_value) {
      assert_true(tn_slice_equal(
          f->min_key, tm_row(&w.tm, "BIGINT", tn_arena_printf(&w.tm.arena, "%d", (int)n_rows))));
    } else {
      assert_int_equal(f->min_sequence, n_rows);
    }
    assert_true(i + 1 == w.n_files || f->row_count % 10 == 0);
    n_rows += f->row_count;
  }
  assert_int_equal(n_rows, r->n_rows);
  assert_int_equal(files_below(w.tm.storage, "/t"), w.n_files);
  end(&w);
}

static void data_writer__rolls_as_java_does(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(rollings); i++) {
    check_rolling(&rollings[i], false);
    check_rolling(&rollings[i], true);
  }
}

static void data_writer__gives_its_size(void **state) {
  writing w;
  tn_data_writer *writer;
  (void)state;
  begin(&w, "0 a INT|1 b STRING", "", "", "bucket=-1");
  make_shape(&w);
  OK(tn_data_writer_create(&w.request, &writer, err));
  assert_int_equal(tn_data_writer_size(writer), 0);
  OK(write_rows(w.shape, w.tm.env, writer, 0, 5000, err));
  assert_true(tn_data_writer_size(writer) > 1000);
  tn_data_writer_free(writer);
  assert_int_equal(files_below(w.tm.storage, "/t"), 0);
  end(&w);
}

/* ------------------------------------------------------------------ names and places */

typedef struct place {
  const char *options;
  int32_t bucket, level;
  bool is_changelog;
  const char *folder;      /* where the file is */
  const char *start, *end; /* of its name */
  const char *outer;       /* what _EXTERNAL_PATH begins with; NULL: none */
} place;

static const place places[] = {
    {"bucket=1", 0, 0, false, "/t/k=7/bucket-0", "data-", ".parquet", NULL},
    {"bucket=5", 3, 0, true, "/t/k=7/bucket-3", "changelog-", ".parquet", NULL},
    {"bucket=1;data-file.prefix=x;changelog-file.prefix=y-", 0, 0, false, "/t/k=7/bucket-0", "x",
     ".parquet", NULL},
    {"bucket=1;data-file.prefix=x;changelog-file.prefix=y-", 0, 0, true, "/t/k=7/bucket-0", "y-",
     ".parquet", NULL},
    {"bucket=1;file.format=Avro", 0, 0, false, "/t/k=7/bucket-0", "data-", ".avro", NULL},
    {"bucket=1;file.format.per.level=0:avro, 5:parquet", 0, 0, false, "/t/k=7/bucket-0", "data-",
     ".avro", NULL},
    {"bucket=1;file.format.per.level=0:avro, 5:parquet", 0, 1, false, "/t/k=7/bucket-0", "data-",
     ".parquet", NULL},
    {"bucket=1;file.format.per.level=0:avro", 0, 0, true, "/t/k=7/bucket-0", "changelog-", ".avro",
     NULL},
    {"bucket=1;changelog-file.format=avro", 0, 0, false, "/t/k=7/bucket-0", "data-", ".parquet",
     NULL},
    {"bucket=1;changelog-file.format=avro", 0, 0, true, "/t/k=7/bucket-0", "changelog-", ".avro",
     NULL},
    {"bucket=1;file.suffix.include.compression=true", 0, 0, false, "/t/k=7/bucket-0", "data-",
     "-0.zst.parquet", NULL},
    {"bucket=1;file.suffix.include.compression=true;file.compression=none", 0, 0, false,
     "/t/k=7/bucket-0", "data-", "-0.parquet", NULL},
    {"bucket=1;file.suffix.include.compression=true;file.compression=LZ4", 0, 0, false,
     "/t/k=7/bucket-0", "data-", "-0.lz4.parquet", NULL},
    {"bucket=1;data-file.path-directory=data", 0, 0, false, "/t/data/k=7/bucket-0", "data-",
     ".parquet", NULL},
    {"bucket=1;data-file.external-paths=file:///o/", 0, 0, false, "/t/k=7/bucket-0", "data-",
     ".parquet", NULL},
    {"bucket=1;data-file.external-paths=file:///o/;data-file.external-paths.strategy=round-robin",
     0, 0, false, "/o/k=7/bucket-0", "data-", ".parquet", "file:/o/k=7/bucket-0/data-"},
    {"bucket=1;data-file.external-paths=s3://b/p, "
     "file:/o;data-file.external-paths.specific-fs=FILE;"
     "data-file.external-paths.strategy=specific-fs",
     0, 0, false, "/o/k=7/bucket-0", "data-", ".parquet", "file:/o/k=7/bucket-0/data-"},
    {"bucket=1;data-file.external-paths=file:/o,file:/o;data-file.external-paths.weights=1, 5;"
     "data-file.external-paths.strategy=weight-robin",
     0, 0, false, "/o/k=7/bucket-0", "data-", ".parquet", "file:/o/k=7/bucket-0/data-"},
};

static void data_writer__puts_files_where_options_say(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(places); i++) {
    const place *p = &places[i];
    writing w;
    begin(&w, "0 k INT NOT NULL|1 id BIGINT NOT NULL", "k", "k,id", p->options);
    w.request.partition = tm_row(&w.tm, "INT", "7");
    w.request.bucket = p->bucket;
    w.request.level = p->level;
    w.request.is_changelog = p->is_changelog;
    write_all(&w, 2, 2);
    assert_int_equal(w.n_files, 1);
    if (!has_text(w.files[0].file_name, p->start, p->end)) {
      fail_msg("%s: %.*s", p->options, TN_SLICE_ARG(w.files[0].file_name));
    }
    assert_int_equal(files_below(w.tm.storage, p->folder), 1);
    assert_int_equal(w.files[0].has_external_path, p->outer != NULL);
    assert_true(p->outer == NULL || has_text(w.files[0].external_path, p->outer, p->end));
    tn_data_file_delete(w.table, w.request.partition, p->bucket, &w.files[0]);
    assert_int_equal(files_below(w.tm.storage, p->folder), 0);
    end(&w);
  }
}

/* Guava's murmur3_32 of "data-00000000-0000-4000-8000-000000000000-0.parquet" ends in these bits.
 */
static void set_random(void *ctx, void *out, size_t n) {
  (void)ctx;
  memset(out, 0, n);
}

static void data_writer__injects_entropy(void **state) {
  writing w;
  (void)state;
  begin(&w, "0 a INT", "", "",
        "bucket=-1;data-file.external-paths=file:/o;"
        "data-file.external-paths.strategy=entropy-inject");
  w.tm.env->random = set_random;
  write_all(&w, 1, 1);
  assert_slice(w.files[0].external_path,
               "file:/o/bucket-0/"
               "1110/0110/0001/11000000"
               "/data-00000000-0000-4000-8000-000000000000-0.parquet");
  end(&w);
}

static void data_writer__takes_turns_with_external_paths(void **state) {
  writing w;
  (void)state;
  begin(&w, "0 a INT", "", "",
        "bucket=-1;target-file-row-num=1;data-file.external-paths=file:/o,file:/p,file:/q;"
        "data-file.external-paths.strategy=round-robin");
  write_all(&w, 6, 6);
  assert_int_equal(w.n_files, 6);
  assert_int_equal(files_below(w.tm.storage, "/o"), 2);
  assert_int_equal(files_below(w.tm.storage, "/p"), 2);
  assert_int_equal(files_below(w.tm.storage, "/q"), 2);
  end(&w);
}

static void data_writer__counts_the_names_of_a_bucket_up(void **state) {
  writing w;
  tn_data_file_names names = {{0}, 0};
  tn_slice first;
  (void)state;
  begin(&w, "0 k INT NOT NULL", "", "k", "bucket=1");
  w.request.names = &names;
  write_all(&w, 2, 2);
  first = w.files[0].file_name;
  w.request.is_changelog = true;
  write_all(&w, 2, 2);
  assert_true(has_text(first, "data-", "-0.parquet"));
  assert_true(has_text(w.files[0].file_name, "changelog-", "-1.parquet"));
  assert_memory_equal(first.data + 5, w.files[0].file_name.data + 10, TN_UUID_CHARS);
  end(&w);
}

/* ------------------------------------------------------------------ columns of files */

static void columns_of(writing *w, const char *path, tn_buf *out) {
  tn_file *file;
  tn_format_file *format;
  tn_field *fields;
  int32_t n;
  const tn_format_ops *ops = NULL;
  OK(tn_storage_open(w->tm.storage, path, &file, err));
  OK(tn_format_by_name(tn_slice_text("parquet"), &ops, err));
  OK(ops->open(w->tm.env, file, &format, err));
  OK(ops->schema(format, &w->tm.arena, &fields, &n, err));
  for (int32_t i = 0; i < n; i++) {
    OK(tn_buf_printf(out, err, "%d %s %s%s|", fields[i].id, fields[i].name,
                     tn_type_text_of(&fields[i].type).text,
                     fields[i].type.is_nullable ? "" : " NOT NULL"));
  }
  OK(tn_buf_append(out, "", 1, err));
  ops->release(format);
  tn_file_release(file);
}

static void data_writer__puts_keys_in_front_unless_files_are_thin(void **state) {
  static const char *const expected[2] = {
      "1073741826 _KEY_k2 INT NOT NULL|1073741824 _KEY_k1 STRING NOT NULL|"
      "2147483646 _SEQUENCE_NUMBER BIGINT NOT NULL|2147483645 _VALUE_KIND TINYINT NOT NULL|"
      "0 pt INT NOT NULL|1 k1 STRING NOT NULL|2 v INT|3 k2 INT NOT NULL|",
      "2147483646 _SEQUENCE_NUMBER BIGINT NOT NULL|2147483645 _VALUE_KIND TINYINT NOT NULL|"
      "0 pt INT NOT NULL|1 k1 STRING NOT NULL|2 v INT|3 k2 INT NOT NULL|"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    writing w;
    tn_buf text;
    begin(&w, "0 pt INT NOT NULL|1 k1 STRING NOT NULL|2 v INT|3 k2 INT NOT NULL", "pt", "pt,k2,k1",
          i == 0 ? "bucket=1" : "bucket=1;data-file.thin-mode=true");
    w.request.partition = tm_row(&w.tm, "INT", "0");
    write_all(&w, 1, 1);
    tn_buf_init(&text, &w.tm.env->mem, 1u << 16);
    columns_of(
        &w,
        tn_arena_printf(&w.tm.arena, "/t/pt=0/bucket-0/%.*s", TN_SLICE_ARG(w.files[0].file_name)),
        &text);
    assert_string_equal((const char *)text.data, expected[i]);
    assert_true(tn_slice_equal(w.files[0].min_key, tm_row(&w.tm, "INT|STRING", "0|text of row 0")));
    tn_buf_reset(&text);
    end(&w);
  }
}

/* ------------------------------------------------------------------ indexes */

static void data_writer__embeds_small_indexes(void **state) {
  static const char *const thresholds[2] = {"1 mb", "1 b"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    writing w;
    char options[200];
    snprintf(options, sizeof(options),
             "bucket=-1;file-index.bitmap.columns=a;file-index.in-manifest-threshold=%s",
             thresholds[i]);
    begin(&w, "0 a INT|1 b STRING", "", "", options);
    write_all(&w, 20, 20);
    const tn_data_file *f = &w.files[0];
    assert_int_equal(f->has_embedded_index, i == 0);
    assert_int_equal(f->extra_files.count, i);
    assert_int_equal(files_below(w.tm.storage, "/t"), 1 + i);
    if (i == 1) {
      assert_slice(((const tn_slice *)f->extra_files.items)[0],
                   tn_arena_printf(&w.tm.arena, "%.*s.index", TN_SLICE_ARG(f->file_name)));
    }
    tn_data_file_delete(w.table, w.request.partition, 0, f);
    assert_int_equal(files_below(w.tm.storage, "/t"), 0);
    end(&w);
  }
}

static void data_writer__builds_no_indexes_of_changelogs(void **state) {
  writing w;
  (void)state;
  begin(&w, "0 a INT NOT NULL", "", "a", "bucket=1;file-index.bitmap.columns=a");
  w.request.is_changelog = true;
  write_all(&w, 2, 2);
  assert_false(w.files[0].has_embedded_index);
  assert_int_equal(w.files[0].extra_files.count, 0);
  end(&w);
}

/* ------------------------------------------------------------------ refusals */

typedef struct refusal {
  const char *fields, *options;
  tarn_status status;
  const char *text;
} refusal;

static const refusal refusals[] = {
    {"0 a INT NOT NULL", "file.format=orc", TARN_E_UNSUPPORTED, "orc"},
    {"0 a INT NOT NULL", "file.format.per.level=3:orc", TARN_E_UNSUPPORTED, "orc"},
    {"0 a INT NOT NULL", "file.format.per.level=x:avro", TARN_E_INVALID, "file.format.per.level"},
    {"0 a INT NOT NULL", "file.compression.per.level=0", TARN_E_INVALID,
     "file.compression.per.level"},
    {"0 a INT NOT NULL", "file.compression=zip", TARN_E_UNSUPPORTED, "zip"},
    {"0 a INT NOT NULL", "changelog-file.compression=zip", TARN_E_UNSUPPORTED, "zip"},
    {"0 a INT NOT NULL", "metadata.stats-mode=most", TARN_E_INVALID, "most"},
    {"0 a INT NOT NULL", "metadata.stats-mode.per.level=1:most", TARN_E_INVALID, "most"},
    {"0 a INT NOT NULL", "fields.a.stats-mode=most", TARN_E_INVALID, "fields.a.stats-mode"},
    {"0 a INT NOT NULL", "target-file-row-num=0", TARN_E_INVALID, "target-file-row-num"},
    {"0 a INT NOT NULL", "parquet.page.size=x", TARN_E_INVALID, "parquet.page.size"},
    {"0 a INT NOT NULL", "parquet.writer.version=v2", TARN_E_UNSUPPORTED, "parquet.writer.version"},
    {"0 a INT NOT NULL|1 t TIMESTAMP(9)", "file.format=avro", TARN_E_UNSUPPORTED, "t"},
    {"0 a INT NOT NULL|1 t BLOB", "", TARN_E_UNSUPPORTED, "column 't': BLOB"},
    {"0 a INT NOT NULL|1 v VECTOR<FLOAT, 3>", "", TARN_E_UNSUPPORTED, "v"},
    {"0 a INT NOT NULL", "file-index.bsi.columns=x", TARN_E_INVALID, "no column 'x'"},
    {"0 a INT NOT NULL",
     "data-file.external-paths=s3://b;data-file.external-paths.strategy=round-robin",
     TARN_E_UNSUPPORTED, "s3"},
    {"0 a INT NOT NULL",
     "data-file.external-paths=/o;data-file.external-paths.strategy=round-robin", TARN_E_INVALID,
     "no scheme"},
    {"0 a INT NOT NULL",
     "data-file.external-paths=file:/o;data-file.external-paths.strategy=specific-fs",
     TARN_E_INVALID, "specific-fs"},
    {"0 a INT NOT NULL",
     "data-file.external-paths=file:/o,file:/p;data-file.external-paths.strategy=weight-robin;"
     "data-file.external-paths.weights=1",
     TARN_E_INVALID, "weights"},
};

static void write_shape__refuses_by_name(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(refusals); i++) {
    writing w;
    tarn_error err = {0};
    begin(&w, refusals[i].fields, "", "a", refusals[i].options);
    if (tn_write_shape_create(w.table, true, NULL, 0, &w.shape, &err) != refusals[i].status) {
      fail_msg("%s: %s", refusals[i].options, err.message);
    }
    assert_null(w.shape);
    assert_contains(err.message, refusals[i].text);
    end(&w);
  }
}

static void data_writer__is_used_once(void **state) {
  writing w;
  tn_data_writer *writer;
  tarn_error error;
  (void)state;
  begin(&w, "0 a INT", "", "", "bucket=-1");
  make_shape(&w);
  OK(tn_data_writer_create(&w.request, &writer, err));
  OK(write_rows(w.shape, w.tm.env, writer, 0, 3, err));
  OK(tn_data_writer_finish(writer, &w.tm.arena, &w.files, &w.n_files, err));
  assert_int_equal(write_rows(w.shape, w.tm.env, writer, 0, 3, &error), TARN_E_STATE);
  assert_int_equal(tn_data_writer_finish(writer, &w.tm.arena, &w.files, &w.n_files, &error),
                   TARN_E_STATE);
  tn_data_writer_free(writer);
  assert_int_equal(files_below(w.tm.storage, "/t"), 1); /* given out: it stays */
  end(&w);
}

/* ------------------------------------------------------------------ failures */

#define BUSY_OPTIONS                                                                              \
  "bucket=1;target-file-row-num=60;file-index.bitmap.columns=b;file-index.in-manifest-threshold=" \
  "1b"

/* Three files with indexes beside them. */
static tarn_status write_busy(tn_table *table, tn_arena *arena, bool *is_finished,
                              tarn_error *err) {
  tn_write_shape *shape = NULL;
  tn_data_writer *writer = NULL;
  tn_data_file *files;
  int32_t n_files;
  tarn_status st;
  TN_TRY_TO(done, tn_write_shape_create(table, true, NULL, 0, &shape, err));
  TN_TRY_TO(done, tn_data_writer_create(
                      &(tn_data_writer_request){
                          .shape = shape, .partition = tn_binary_row_empty(), .rolls = true},
                      &writer, err));
  TN_TRY_TO(done, write_rows(shape, table->env, writer, 0, 100, err));
  TN_TRY_TO(done, write_rows(shape, table->env, writer, 100, 50, err));
  st = tn_data_writer_finish(writer, arena, &files, &n_files, err);
  *is_finished = st == TARN_OK;
done:
  tn_data_writer_free(writer);
  tn_write_shape_free(shape);
  return st;
}

static void data_writer__leaves_nothing_when_a_call_fails(void **state) {
  int64_t n_calls = 0;
  (void)state;
  for (int64_t n = 1;; n++) {
    tn_storage_fault fault = {.fail_at_write = n, .os_errno = ENOSPC};
    writing w;
    tn_storage *faulty;
    tn_table *table;
    tarn_error error = {0};
    bool is_finished = false;
    begin(&w, "0 k BIGINT NOT NULL|1 b STRING", "", "k", BUSY_OPTIONS);
    OK(tn_storage_faulty(w.tm.storage, &fault, &faulty, err));
    OK(tn_table_create(w.tm.env, faulty, "d.t", "/t", "main", "/t", w.tm.schema, NULL, 0, &table,
                       err));
    if (write_busy(table, &w.tm.arena, &is_finished, &error) == TARN_OK) {
      n_calls = n;
    } else if (files_below(w.tm.storage, "/t") != 0) {
      fail_msg("call %d fails: %d files stay", (int)n, files_below(w.tm.storage, "/t"));
    }
    tn_table_release(table);
    tn_storage_release(faulty);
    end(&w);
    if (is_finished) {
      break;
    }
  }
  assert_true(n_calls > 20);
}

static void data_writer__has_synced_what_it_gives(void **state) {
  writing w;
  bool is_finished = false;
  (void)state;
  begin(&w, "0 k BIGINT NOT NULL|1 b STRING", "", "k", BUSY_OPTIONS);
  OK(write_busy(w.table, &w.tm.arena, &is_finished, err));
  tn_storage_memory_crash(w.tm.storage);
  assert_int_equal(files_below(w.tm.storage, "/t"), 6);
  end(&w);
}

static tarn_status write_once(void *ctx, tarn_env *env, tarn_error *err) {
  table_maker tm;
  tn_table *table = NULL;
  tarn_status st;
  bool is_finished = false;
  (void)ctx;
  memset(&tm, 0, sizeof(tm));
  /* The table is made without failures: it is no part of what is tried. */
  const tn_test_alloc *alloc = env->mem.hooks.ctx;
  tn_test_alloc *hook = (tn_test_alloc *)(uintptr_t)alloc;
  int64_t fail_at = hook->fail_at, calls = hook->calls;
  hook->fail_at = 0;
  tm_begin_in(&tm, env);
  tm_schema(&tm, 0, "0 k BIGINT NOT NULL|1 b STRING", "", "k", BUSY_OPTIONS);
  table = tm_table(&tm, "");
  hook->calls = calls;
  hook->fail_at = fail_at;
  st = write_busy(table, &tm.arena, &is_finished, err);
  hook->fail_at = 0;
  if (st != TARN_OK) {
    assert_int_equal(files_below(tm.storage, "/t"), 0);
  }
  tn_table_release(table);
  tm.env = NULL; /* it is not ours */
  tm_end(&tm);
  return st;
}

static void data_writer__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(write_once, NULL, TARN_OK) > 100);
}

/* From no memory to enough: a full budget is LIMIT, and leaves nothing. */
static void data_writer__keeps_to_the_budget(void **state) {
  const size_t budget = (size_t)64 << 20;
  bool was_full = false, is_finished = false;
  (void)state;
  for (size_t left = 8u << 10; !is_finished; left *= 2) {
    tarn_error error = {0};
    tarn_env *env = tn_test_env(1, budget);
    writing w = {0};
    tarn_status st;
    assert_true(left <= budget);
    tm_begin_in(&w.tm, env);
    tm_schema(&w.tm, 0, "0 k BIGINT NOT NULL|1 b STRING", "", "k", BUSY_OPTIONS);
    w.table = tm_table(&w.tm, "");
    OK(tn_reserve(&env->mem, budget - left, "the test", err));
    st = write_busy(w.table, &w.tm.arena, &is_finished, &error);
    assert_true(st == TARN_OK || st == TARN_E_LIMIT);
    assert_true(env->mem.peak_bytes <= budget);
    assert_int_equal(files_below(w.tm.storage, "/t"), st == TARN_OK ? 6 : 0);
    was_full |= st == TARN_E_LIMIT;
    tn_unreserve(&env->mem, budget - left);
    end(&w);
  }
  assert_true(was_full);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_writer__describes_a_file_of_rows),
      cmocka_unit_test(data_writer__describes_a_key_value_file),
      cmocka_unit_test(data_writer__stamps_local_time),
      cmocka_unit_test(data_writer__writes_some_columns),
      cmocka_unit_test(data_writer__makes_no_file_of_no_rows),
      cmocka_unit_test(data_writer__rolls_as_java_does),
      cmocka_unit_test(data_writer__gives_its_size),
      cmocka_unit_test(data_writer__puts_files_where_options_say),
      cmocka_unit_test(data_writer__injects_entropy),
      cmocka_unit_test(data_writer__takes_turns_with_external_paths),
      cmocka_unit_test(data_writer__counts_the_names_of_a_bucket_up),
      cmocka_unit_test(data_writer__puts_keys_in_front_unless_files_are_thin),
      cmocka_unit_test(data_writer__embeds_small_indexes),
      cmocka_unit_test(data_writer__builds_no_indexes_of_changelogs),
      cmocka_unit_test(write_shape__refuses_by_name),
      cmocka_unit_test(data_writer__is_used_once),
      cmocka_unit_test(data_writer__leaves_nothing_when_a_call_fails),
      cmocka_unit_test(data_writer__has_synced_what_it_gives),
      cmocka_unit_test(data_writer__survives_failing_allocations),
      cmocka_unit_test(data_writer__keeps_to_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
