/* test_write_api.c - writers, messages and committers through the public calls, on real folders. */
#include <dirent.h>

#include "api_test.h"

/* ------------------------------------------------------------------ rows by hand */

/* Columns k INT and v STRING of one letter each; kinds: a third column _row_kind. */
typedef struct rows {
  int32_t k[64], at[65];
  char v[65];
  int8_t kinds[64];
  const void *buffers[3][3], *none[1];
  struct ArrowArray array, columns[3], *children[3];
  struct ArrowSchema schema, column_schemas[3], *schema_children[3];
} rows;

static void make_rows(rows *r, int32_t first, const char *letters, const int8_t *kinds) {
  static const char *const names[] = {"k", "v", "_row_kind"}, *const formats[] = {"i", "u", "c"};
  int64_t n = (int64_t)strlen(letters);
  memset(r, 0, sizeof(*r));
  memcpy(r->v, letters, (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    r->k[i] = first + i;
    r->at[i + 1] = i + 1;
    r->kinds[i] = kinds != NULL ? kinds[i] : 0;
  }
  r->buffers[0][1] = r->k;
  r->buffers[1][1] = r->at;
  r->buffers[1][2] = r->v;
  r->buffers[2][1] = r->kinds;
  for (int c = 0; c < 3; c++) {
    r->columns[c] = (struct ArrowArray){
        .length = n, .n_buffers = c == 1 ? 3 : 2, .buffers = r->buffers[c], .release = keep_array};
    r->children[c] = &r->columns[c];
    r->column_schemas[c] =
        (struct ArrowSchema){.format = formats[c], .name = names[c], .release = keep_schema};
    r->schema_children[c] = &r->column_schemas[c];
  }
  r->array = (struct ArrowArray){.length = n,
                                 .n_buffers = 1,
                                 .buffers = r->none,
                                 .n_children = kinds != NULL ? 3 : 2,
                                 .children = r->children,
                                 .release = keep_array};
  r->schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = kinds != NULL ? 3 : 2,
                                   .children = r->schema_children,
                                   .release = keep_schema};
}

static void write_rows(fixture *f, tarn_writer *w, int32_t first, const char *letters,
                       const int8_t *kinds) {
  rows r;
  make_rows(&r, first, letters, kinds);
  assert_works(tarn_writer_write(w, &r.schema, &r.array, &f->err), f->err);
}

/* The table's rows, in any order: how many, and the sum of keys. */
static int64_t count(fixture *f, int64_t *sum) {
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  tarn_scan *scan;
  int64_t n = 0;
  *sum = 0;
  assert_works(tarn_scan_create(f->table, NULL, &scan, &f->err), f->err);
  assert_works(tarn_scan_read(scan, &stream, &f->err), f->err);
  for (;;) {
    assert_int_equal(stream.get_next(&stream, &array), 0);
    if (array.release == NULL) {
      break;
    }
    for (int64_t i = 0; i < array.length; i++) {
      *sum += ((const int32_t *)array.children[0]->buffers[1])[array.children[0]->offset + i];
    }
    n += array.length;
    array.release(&array);
  }
  stream.release(&stream);
  tarn_scan_free(scan);
  return n;
}

static const char *const pk_schema =
    "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
    "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"2\"}}";

/* ------------------------------------------------------------------ tests */

static void writer__rows_are_there_once_they_are_committed(void **state) {
  static const int8_t kinds[] = {0, 3};
  fixture f;
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  tarn_commit_result result = {.struct_size = sizeof(result)};
  tarn_writer_stats stats = {.struct_size = sizeof(stats)};
  int64_t sum;
  (void)state;
  begin_with(&f, pk_schema);
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  assert_int_equal(strlen(tarn_writer_commit_user(w)), 36);
  write_rows(&f, w, 1, "abc", NULL);
  assert_works(tarn_writer_prepare(w, 1, &messages, &f.err), f.err);
  assert_int_equal(count(&f, &sum), 0);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, &result, &f.err), f.err);
  assert_int_equal(result.first_snapshot_id, 1);
  assert_int_equal(result.last_snapshot_id, 1);
  tarn_messages_free(messages);
  write_rows(&f, w, 2, "xy", kinds); /* 2 again, 3 deleted */
  assert_int_equal(tarn_writer_prepare(w, 1, &messages, &f.err), TARN_E_STATE);
  assert_works(tarn_writer_prepare(w, 2, &messages, &f.err), f.err);
  assert_works(tarn_committer_commit(c, 2, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  assert_int_equal(count(&f, &sum), 2);
  assert_int_equal(sum, 3);
  tarn_writer_get_stats(w, &stats);
  assert_int_equal(stats.rows, 5);
  assert_true(stats.files >= 2 && stats.bytes > 0);
  assert_int_equal(stats.preempted, 0);
  assert_int_equal(stats.used_bytes, 0);
  assert_true(stats.total_bytes > 0);
  tarn_committer_free(c);
  tarn_writer_free(w);
  end(&f);
}

/* Two writers compact the same rows: one of them wins, no row is lost, and the other is told. */
static void writer__compacts_and_is_told_when_it_was_in_vain(void **state) {
  fixture f;
  tarn_writer *w[2];
  tarn_committer *c[2];
  tarn_messages *messages[2];
  tarn_commit_result result = {.struct_size = sizeof(result)};
  tarn_writer_options options = TARN_WRITER_OPTIONS_INIT;
  int64_t sum;
  (void)state;
  begin_with(&f, pk_schema);
  options.waits_for_compaction = 1;
  for (int i = 0; i < 2; i++) {
    assert_works(tarn_writer_create(f.table, &options, &w[i], &f.err), f.err);
    assert_works(tarn_committer_create(f.table, NULL, &c[i], &f.err), f.err);
  }
  write_rows(&f, w[0], 1, "abc", NULL);
  assert_works(tarn_writer_prepare(w[0], 1, &messages[0], &f.err), f.err);
  assert_works(tarn_committer_commit(c[0], 1, messages[0], NULL, &result, &f.err), f.err);
  assert_int_equal(result.last_snapshot_id, 1); /* nothing to compact yet */
  tarn_messages_free(messages[0]);
  for (int i = 0; i < 2; i++) {
    write_rows(&f, w[i], i + 1, "ab", NULL);
    assert_works(tarn_writer_compact(w[i], 1, &f.err), f.err);
    assert_works(tarn_writer_prepare(w[i], 2, &messages[i], &f.err), f.err);
  }
  for (int i = 0; i < 2; i++) {
    assert_works(tarn_committer_commit(c[i], 2, messages[i], NULL, &result, &f.err), f.err);
    assert_int_equal(result.compaction_dropped, i);
    assert_int_equal(result.last_snapshot_id - result.first_snapshot_id, 1 - i);
    tarn_messages_free(messages[i]);
  }
  assert_works(tarn_writer_refresh(w[1], &f.err), f.err);
  write_rows(&f, w[1], 9, "x", NULL);
  assert_works(tarn_writer_compact(w[1], 1, &f.err), f.err);
  assert_works(tarn_writer_prepare(w[1], 3, &messages[1], &f.err), f.err);
  assert_works(tarn_committer_commit(c[1], 3, messages[1], NULL, &result, &f.err), f.err);
  assert_int_equal(result.compaction_dropped, 0);
  tarn_messages_free(messages[1]);
  assert_int_equal(count(&f, &sum), 4);
  assert_int_equal(sum, 1 + 2 + 3 + 9);
  for (int i = 0; i < 2; i++) {
    tarn_committer_free(c[i]);
    tarn_writer_free(w[i]);
  }
  end(&f);
}

static void messages__travel_as_bytes_and_are_joined(void **state) {
  fixture f;
  tarn_writer *w[2];
  tarn_committer *c;
  tarn_messages *messages[2], *back;
  tarn_string bytes;
  int64_t sum;
  (void)state;
  begin_with(
      &f, "{\"fields\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}]}");
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  for (int i = 0; i < 2; i++) {
    assert_works(tarn_writer_create(f.table, NULL, &w[i], &f.err), f.err);
    write_rows(&f, w[i], 10 * i, "abc", NULL);
    assert_works(tarn_writer_prepare(w[i], TARN_BATCH_COMMIT, &messages[i], &f.err), f.err);
  }
  assert_works(tarn_messages_encode(messages[1], &bytes, &f.err), f.err);
  assert_memory_equal(bytes.data, "\0\0\0\x0b\0\0\0\x01", 8);
  for (size_t n = 0; n < bytes.length; n++) { /* any bytes at all */
    assert_int_not_equal(tarn_messages_decode(f.table, bytes.data, n, &back, &f.err), TARN_OK);
  }
  assert_works(tarn_messages_decode(f.table, bytes.data, bytes.length, &back, &f.err), f.err);
  tarn_string_free(&bytes);
  tarn_messages_free(messages[1]);
  assert_works(tarn_messages_join(messages[0], back, &f.err), f.err);
  assert_int_equal(tarn_messages_count(messages[0]), 2);
  assert_works(tarn_committer_commit(c, TARN_BATCH_COMMIT, messages[0], NULL, NULL, &f.err), f.err);
  assert_int_equal(count(&f, &sum), 6);
  assert_int_equal(sum, 36);
  tarn_messages_free(messages[0]);
  tarn_committer_free(c);
  tarn_writer_free(w[0]);
  tarn_writer_free(w[1]);
  end(&f);
}

static void committer__recovers_once_and_aborts(void **state) {
  fixture f;
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  tarn_commit_result result = {.struct_size = sizeof(result)};
  tarn_committer_options options = TARN_COMMITTER_OPTIONS_INIT;
  int64_t sum;
  (void)state;
  begin_with(&f, pk_schema);
  options.commit_user = "me";
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  assert_works(tarn_committer_create(f.table, &options, &c, &f.err), f.err);
  write_rows(&f, w, 1, "abc", NULL);
  assert_works(tarn_writer_prepare(w, 5, &messages, &f.err), f.err);
  assert_works(tarn_committer_recover(c, 5, messages, NULL, &result, &f.err), f.err);
  assert_int_equal(result.last_snapshot_id, 1);
  assert_works(tarn_committer_recover(c, 5, messages, NULL, &result, &f.err), f.err);
  assert_int_equal(result.last_snapshot_id, 0);
  tarn_messages_free(messages);
  write_rows(&f, w, 7, "x", NULL);
  assert_works(tarn_writer_prepare(w, 6, &messages, &f.err), f.err);
  assert_works(tarn_committer_abort(c, messages, &f.err), f.err);
  assert_int_equal(tarn_committer_recover(c, 6, messages, NULL, NULL, &f.err), TARN_E_NOT_FOUND);
  tarn_messages_free(messages);
  assert_int_equal(count(&f, &sum), 3);
  tarn_committer_free(c);
  tarn_writer_free(w);
  end(&f);
}

static void committer__overwrites_truncates_and_analyzes(void **state) {
  fixture f;
  tarn_writer *w;
  tarn_writer_options options = TARN_WRITER_OPTIONS_INIT;
  tarn_committer *c;
  tarn_messages *messages;
  int64_t sum;
  (void)state;
  begin_with(&f, pk_schema);
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  write_rows(&f, w, 1, "abc", NULL);
  assert_works(tarn_writer_prepare(w, 1, &messages, &f.err), f.err);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  tarn_writer_free(w);
  options.ignores_previous = 1;
  assert_works(tarn_writer_create(f.table, &options, &w, &f.err), f.err);
  write_rows(&f, w, 50, "z", NULL);
  assert_works(tarn_writer_prepare(w, 2, &messages, &f.err), f.err);
  assert_works(tarn_committer_overwrite(c, 2, NULL, 0, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  tarn_writer_free(w);
  assert_int_equal(count(&f, &sum), 1);
  assert_int_equal(sum, 50);
  assert_works(tarn_committer_analyze(c, 0, NULL, &f.err), f.err);
  assert_works(tarn_committer_analyze(c, 1, NULL, &f.err), f.err);
  {
    tarn_table *statistics;
    tarn_scan *scan;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    const int32_t *at;
    assert_works(tarn_table_open(f.env, f.catalog, "db.t$statistics", NULL, 0, &statistics, &f.err),
                 f.err);
    assert_works(tarn_scan_create(statistics, NULL, &scan, &f.err), f.err);
    assert_works(tarn_scan_read(scan, &stream, &f.err), f.err);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_int_equal(array.length, 1);
    at = array.children[4]->buffers[1];
    {
      char *text = strndup((const char *)array.children[4]->buffers[2], (size_t)at[1]);
      assert_contains(text, "\"min\" : \"50\"");
      assert_contains(text, "\"max\" : \"z\"");
      assert_contains(text, "\"distinctCount\" : 1");
      free(text);
    }
    array.release(&array);
    stream.release(&stream);
    tarn_scan_free(scan);
    tarn_table_free(statistics);
  }
  assert_works(tarn_committer_compact_manifests(c, NULL, &f.err), f.err);
  assert_int_equal(count(&f, &sum), 1);
  assert_works(tarn_committer_truncate(c, NULL, &f.err), f.err);
  assert_int_equal(count(&f, &sum), 0);
  tarn_committer_free(c);
  end(&f);
}

/* One row, by the table as it is now. */
static void commit_row(fixture *f, int32_t k) {
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  assert_works(tarn_writer_create(f->table, NULL, &w, &f->err), f->err);
  assert_works(tarn_committer_create(f->table, NULL, &c, &f->err), f->err);
  write_rows(f, w, k, "a", NULL);
  assert_works(tarn_writer_prepare(w, 1, &messages, &f->err), f->err);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, NULL, &f->err), f->err);
  tarn_messages_free(messages);
  tarn_committer_free(c);
  tarn_writer_free(w);
}

static tarn_status read_column(fixture *f, tarn_table *table, const char *column) {
  struct ArrowArrayStream stream;
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  tarn_scan *scan;
  tarn_status st;
  o.columns = &column;
  o.n_columns = 1;
  assert_works(tarn_scan_create(table, &o, &scan, &f->err), f->err);
  st = tarn_scan_read(scan, &stream, &f->err);
  if (st == TARN_OK) {
    stream.release(&stream);
  }
  tarn_scan_free(scan);
  return st;
}

/* Of a table that was opened before a column got a wider type. */
static void scan__refuses_values_that_its_columns_cannot_hold(void **state) {
  static const struct {
    const char *options;
    tarn_status without; /* the column */
  } cases[] = {{"", TARN_OK}, {",\"sequence.field\":\"v\"", TARN_E_STATE}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    fixture f;
    tarn_table *before;
    char schema[400];
    (void)snprintf(schema, sizeof(schema),
                   "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"name\":\"v\","
                   "\"type\":\"VARCHAR(1)\"}],\"primaryKeys\":[\"k\"],"
                   "\"options\":{\"bucket\":\"1\"%s}}",
                   cases[i].options);
    begin_with(&f, schema);
    commit_row(&f, 1);
    assert_works(tarn_table_alter(f.catalog, "db.t", "[{\"retype\":[\"v\"],\"type\":\"STRING\"}]",
                                  NULL, &f.err),
                 f.err);
    before = f.table;
    f.table = NULL;
    open_table(&f);
    assert_works(read_column(&f, before, "v"), f.err); /* there is no such value yet */
    commit_row(&f, 2);
    assert_int_equal(read_column(&f, before, "v"), TARN_E_STATE);
    assert_contains(f.err.message, "the column 'v' has become STRING; it was VARCHAR(1) when this");
    assert_int_equal(read_column(&f, before, "k"), cases[i].without);
    assert_works(read_column(&f, f.table, "v"), f.err);
    tarn_table_free(before);
    end(&f);
  }
}

static void committer__drops_partitions(void **state) {
  fixture f;
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  tarn_option specs[2] = {{"v", "b"}, {"v", "c"}};
  const tarn_option *lists[2] = {&specs[0], &specs[1]};
  size_t n_keys[2] = {1, 1};
  tarn_option wrong = {"k", "1"};
  int64_t sum;
  (void)state;
  begin_with(&f,
             "{\"fields\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
             "\"partitionKeys\":[\"v\"]}");
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  write_rows(&f, w, 1, "abcab", NULL);
  assert_works(tarn_writer_prepare(w, 1, &messages, &f.err), f.err);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  assert_works(tarn_committer_drop_partitions(c, lists, n_keys, 2, NULL, &f.err), f.err);
  assert_int_equal(count(&f, &sum), 2);
  assert_int_equal(sum, 5);
  lists[0] = &wrong;
  assert_int_equal(tarn_committer_drop_partitions(c, lists, n_keys, 1, NULL, &f.err),
                   TARN_E_INVALID);
  assert_contains(f.err.message, "'k' is no partition column");
  tarn_writer_free(w);
  tarn_committer_free(c);
  end(&f);
}

static void committer__expires_snapshots_as_the_options_say(void **state) {
  fixture f;
  tarn_writer *w;
  tarn_committer *c;
  char *path;
  (void)state;
  begin_with(
      &f,
      "{\"fields\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
      "\"options\":{\"snapshot.num-retained.min\":\"2\",\"snapshot.num-retained.max\":\"2\"}}");
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  for (int32_t i = 1; i <= 5; i++) {
    tarn_messages *messages;
    write_rows(&f, w, i, "a", NULL);
    assert_works(tarn_writer_prepare(w, i, &messages, &f.err), f.err);
    assert_works(tarn_committer_commit(c, i, messages, NULL, NULL, &f.err), f.err);
    tarn_messages_free(messages);
  }
  path = tn_test_path(f.folder, "db.db/t/snapshot");
  {
    DIR *dir = opendir(path);
    int n = 0;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
      n += strncmp(entry->d_name, "snapshot-", 9) == 0;
    }
    closedir(dir);
    assert_int_equal(n, 2);
  }
  free(path);
  tarn_writer_free(w);
  tarn_committer_free(c);
  end(&f);
}

static void writer__large_arrays_are_refused_whole(void **state) {
  enum { N = 50000 };
  fixture f;
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  int32_t *keys = malloc(N * sizeof(*keys)), *at = calloc(N + 1, sizeof(*at));
  uint8_t *valid = malloc(N / 8 + 1);
  rows r;
  int64_t sum;
  (void)state;
  begin_with(&f, pk_schema);
  for (int32_t i = 0; i < N; i++) {
    keys[i] = i;
  }
  memset(valid, 0xff, N / 8 + 1);
  valid[49000 / 8] = 0xfe; /* row 49000 is null */
  make_rows(&r, 0, "a", NULL);
  r.array.length = r.columns[0].length = r.columns[1].length = N;
  r.buffers[0][0] = valid;
  r.buffers[0][1] = keys;
  r.buffers[1][1] = at;
  r.columns[0].null_count = -1;
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  assert_works(tarn_committer_create(f.table, NULL, &c, &f.err), f.err);
  assert_int_equal(tarn_writer_write(w, &r.schema, &r.array, &f.err), TARN_E_INVALID);
  assert_contains(f.err.message, "row 49000: Cannot write null to non-null column(k)");
  write_rows(&f, w, 1, "a", NULL); /* it goes on */
  assert_works(tarn_writer_prepare(w, 1, &messages, &f.err), f.err);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  assert_int_equal(count(&f, &sum), 1);
  valid[49000 / 8] = 0xff;
  assert_works(tarn_writer_write(w, &r.schema, &r.array, &f.err), f.err);
  assert_works(tarn_writer_prepare(w, 2, &messages, &f.err), f.err);
  assert_works(tarn_committer_commit(c, 2, messages, NULL, NULL, &f.err), f.err);
  tarn_messages_free(messages);
  assert_int_equal(count(&f, &sum), N);
  tarn_committer_free(c);
  tarn_writer_free(w);
  free(keys);
  free(at);
  free(valid);
  end(&f);
}

static void writer__refuses_what_is_no_table_or_no_column(void **state) {
  fixture f;
  tarn_writer *w;
  tarn_table *system;
  tarn_writer_options options = TARN_WRITER_OPTIONS_INIT;
  const char *columns[] = {"vv"};
  rows r;
  (void)state;
  begin_with(&f, pk_schema);
  assert_works(tarn_table_open(f.env, f.catalog, "db.t$files", NULL, 0, &system, &f.err), f.err);
  assert_int_equal(tarn_writer_create(system, NULL, &w, &f.err), TARN_E_INVALID);
  assert_contains(f.err.message, "system tables cannot be written");
  tarn_table_free(system);
  options.columns = columns;
  options.n_columns = 1;
  assert_int_equal(tarn_writer_create(f.table, &options, &w, &f.err), TARN_E_NOT_FOUND);
  assert_contains(f.err.message, "did you mean 'v'?");
  assert_works(tarn_writer_create(f.table, NULL, &w, &f.err), f.err);
  make_rows(&r, 0, "a", NULL);
  r.column_schemas[1].name = "w";
  assert_int_equal(tarn_writer_write(w, &r.schema, &r.array, &f.err), TARN_E_NOT_FOUND);
  r.array.release = NULL;
  assert_int_equal(tarn_writer_write(w, &r.schema, &r.array, &f.err), TARN_E_INVALID);
  tarn_writer_free(w);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writer__rows_are_there_once_they_are_committed),
      cmocka_unit_test(writer__compacts_and_is_told_when_it_was_in_vain),
      cmocka_unit_test(messages__travel_as_bytes_and_are_joined),
      cmocka_unit_test(committer__recovers_once_and_aborts),
      cmocka_unit_test(committer__overwrites_truncates_and_analyzes),
      cmocka_unit_test(scan__refuses_values_that_its_columns_cannot_hold),
      cmocka_unit_test(committer__drops_partitions),
      cmocka_unit_test(committer__expires_snapshots_as_the_options_say),
      cmocka_unit_test(writer__large_arrays_are_refused_whole),
      cmocka_unit_test(writer__refuses_what_is_no_table_or_no_column),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
