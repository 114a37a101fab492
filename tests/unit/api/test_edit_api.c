/* test_edit_api.c - rows of append tables deleted and changed through the public calls. */
#include "api_test.h"
#include "base/compat.h"

static void begin(fixture *f, const char *options) {
  char schema[600];
  snprintf(schema, sizeof(schema),
           "{\"fields\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"INT NOT "
           "NULL\"}],\"options\":{%s}}",
           options);
  begin_with(f, schema);
}

/* Columns k and v. */
typedef struct rows {
  int32_t values[2][64];
  uint8_t valid[8];
  const void *buffers[2][2], *none[1];
  struct ArrowArray array, columns[2], *children[2];
  struct ArrowSchema schema, column_schemas[2], *schema_children[2];
} rows;

static void make_rows(rows *r, const int32_t *k, const int32_t *v, int64_t n, bool is_null) {
  static const char *const names[] = {"k", "v"};
  memset(r, 0, sizeof(*r));
  memcpy(r->values[0], k, (size_t)n * sizeof(*k));
  memcpy(r->values[1], v, (size_t)n * sizeof(*v));
  for (int c = 0; c < 2; c++) {
    bool has_nulls = is_null && c == 1;
    r->buffers[c][0] = has_nulls ? r->valid : NULL;
    r->buffers[c][1] = r->values[c];
    r->columns[c] = (struct ArrowArray){.length = n,
                                        .null_count = has_nulls ? n : 0,
                                        .n_buffers = 2,
                                        .buffers = r->buffers[c],
                                        .release = keep_array};
    r->children[c] = &r->columns[c];
    r->column_schemas[c] = (struct ArrowSchema){
        .format = "i", .name = names[c], .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
    r->schema_children[c] = &r->column_schemas[c];
  }
  r->array = (struct ArrowArray){.length = n,
                                 .n_buffers = 1,
                                 .buffers = r->none,
                                 .n_children = 2,
                                 .children = r->children,
                                 .release = keep_array};
  r->schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = 2,
                                   .children = r->schema_children,
                                   .release = keep_schema};
}

static tarn_status commit(fixture *f, tarn_messages *messages) {
  tarn_committer *c;
  tarn_status st;
  assert_works(tarn_committer_create(f->table, NULL, &c, &f->err), f->err);
  st = tarn_committer_commit(c, TARN_BATCH_COMMIT, messages, NULL, NULL, &f->err);
  if (st != TARN_OK) {
    tarn_error err;
    assert_works(tarn_committer_abort(c, messages, &err), err);
  }
  tarn_messages_free(messages);
  tarn_committer_free(c);
  return st;
}

/* One file with the rows first .. first + n, v = 10 * k. */
static void write_file(fixture *f, int32_t first, int32_t n) {
  int32_t k[64], v[64];
  tarn_messages *messages;
  tarn_writer *w;
  rows r;
  for (int32_t i = 0; i < n; i++) {
    k[i] = first + i;
    v[i] = 10 * k[i];
  }
  make_rows(&r, k, v, n, false);
  assert_works(tarn_writer_create(f->table, NULL, &w, &f->err), f->err);
  assert_works(tarn_writer_write(w, &r.schema, &r.array, &f->err), f->err);
  assert_works(tarn_writer_prepare(w, TARN_BATCH_COMMIT, &messages, &f->err), f->err);
  assert_works(commit(f, messages), f->err);
  tarn_writer_free(w);
}

static const int32_t *values_of(const struct ArrowArray *array, int column) {
  const struct ArrowArray *c = array->children[column];
  return (const int32_t *)c->buffers[1] + c->offset;
}

/* "k:v k:v ", in the order of reading. */
static void expect_rows(fixture *f, const char *expected) {
  char text[2000] = "";
  size_t at = 0;
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  tarn_scan *scan;
  assert_works(tarn_scan_create(f->table, NULL, &scan, &f->err), f->err);
  assert_works(tarn_scan_read(scan, &stream, &f->err), f->err);
  for (;;) {
    assert_int_equal(stream.get_next(&stream, &array), 0);
    if (array.release == NULL) {
      break;
    }
    for (int64_t i = 0; i < array.length; i++) {
      at += (size_t)snprintf(text + at, sizeof(text) - at, "%d:%d ", values_of(&array, 0)[i],
                             values_of(&array, 1)[i]);
    }
    array.release(&array);
  }
  stream.release(&stream);
  tarn_scan_free(scan);
  assert_string_equal(text, expected);
}

static tarn_edit *open_edit(fixture *f, const char *where, bool is_update) {
  tarn_edit_options o = TARN_EDIT_OPTIONS_INIT;
  tarn_edit *edit;
  int64_t position;
  o.is_update = is_update;
  if (where != NULL) {
    assert_works(tarn_predicate_parse(f->table, where, &o.predicate, &position, &f->err), f->err);
  }
  assert_works(tarn_edit_create(f->table, &o, &edit, &f->err), f->err);
  tarn_predicate_free(o.predicate);
  assert_int_equal(strlen(tarn_edit_commit_user(edit)), 36);
  return edit;
}

/* All rows that match: out, or v = 1. */
static tarn_messages *run_edit(fixture *f, tarn_edit *edit, bool is_update, int64_t expected) {
  tarn_messages *messages;
  int64_t n, all = 0;
  for (;;) {
    struct ArrowArray found = {0};
    int32_t ones[64];
    rows r;
    assert_works(tarn_edit_next(edit, is_update ? &found : NULL, &n, &f->err), f->err);
    if (n == 0) {
      break;
    }
    all += n;
    if (is_update) {
      assert_int_equal(found.length, n);
      for (int64_t i = 0; i < n; i++) {
        ones[i] = 1;
      }
      make_rows(&r, values_of(&found, 0), ones, n, true); /* null in NOT NULL */
      assert_int_equal(tarn_edit_replace(edit, &r.schema, &r.array, &f->err), TARN_E_INVALID);
      make_rows(&r, values_of(&found, 0), ones, n - 1, false);
      assert_int_equal(tarn_edit_replace(edit, &r.schema, &r.array, &f->err), TARN_E_INVALID);
      make_rows(&r, values_of(&found, 0), ones, n, false);
      assert_works(tarn_edit_replace(edit, &r.schema, &r.array, &f->err), f->err);
      found.release(&found);
    }
  }
  assert_int_equal(all, expected);
  assert_works(tarn_edit_prepare(edit, TARN_BATCH_COMMIT, &messages, &f->err), f->err);
  return messages;
}

static void edit(fixture *f, const char *where, bool is_update, int64_t expected) {
  tarn_edit *e = open_edit(f, where, is_update);
  assert_works(commit(f, run_edit(f, e, is_update, expected)), f->err);
  tarn_edit_free(e);
}

/* ------------------------------------------------------------------ tests */

#define VECTORS "\"deletion-vectors.enabled\":\"true\""
#define BUCKETS "\"bucket\":\"1\",\"bucket-key\":\"k\""

static void edit__rewrites_a_file_in_the_order_of_its_rows(void **state) {
  fixture f;
  (void)state;
  begin(&f, "");
  write_file(&f, 0, 6);
  edit(&f, "k IN (1, 4)", true, 2);
  expect_rows(&f, "0:0 1:1 2:20 3:30 4:1 5:50 ");
  edit(&f, "k = 0 OR v = 1", false, 3);
  expect_rows(&f, "2:20 3:30 5:50 ");
  edit(&f, NULL, true, 3);
  expect_rows(&f, "2:1 3:1 5:1 ");
  edit(&f, "v = 1", false, 3);
  expect_rows(&f, "");
  end(&f);
}

static void edit__leaves_files_alone_that_have_no_such_rows(void **state) {
  tarn_messages *messages;
  tarn_edit *e;
  fixture f;
  (void)state;
  begin(&f, "");
  write_file(&f, 0, 3);
  write_file(&f, 10, 3);
  e = open_edit(&f, "k = 11", false);
  messages = run_edit(&f, e, false, 1);
  assert_int_equal(tarn_messages_count(messages), 2); /* a file goes, one comes */
  assert_works(commit(&f, messages), f.err);
  tarn_edit_free(e);
  e = open_edit(&f, "k = 5", false);
  messages = run_edit(&f, e, false, 0);
  assert_int_equal(tarn_messages_count(messages), 0);
  tarn_messages_free(messages);
  tarn_edit_free(e);
  end(&f);
}

static void edit__marks_rows_with_deletion_vectors(void **state) {
  static const char *const options[] = {
      VECTORS, VECTORS ",\"deletion-vectors.bitmap64\":\"true\"", VECTORS "," BUCKETS,
      VECTORS ",\"deletion-vector.index-file.target-size\":\"1 b\""};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    fixture f;
    begin(&f, options[i]);
    write_file(&f, 0, 4);
    write_file(&f, 10, 3);
    edit(&f, "k IN (1, 11)", false, 2);
    expect_rows(&f, "0:0 2:20 3:30 10:100 12:120 ");
    edit(&f, "k = 2", false, 1);
    expect_rows(&f, "0:0 3:30 10:100 12:120 ");
    edit(&f, "k = 3", true, 1);
    expect_rows(&f, "0:0 10:100 12:120 3:1 ");
    edit(&f, "k >= 0", false, 4);
    expect_rows(&f, "");
    end(&f);
  }
}

/* Two that read the same snapshot: the second one's commit must not undo the first one's. */
static void edit__of_rows_that_another_one_changed_is_a_conflict(void **state) {
  static const struct {
    const char *options;
    bool has_vector_before;
  } cases[] = {{"", false},
               {BUCKETS, false},
               {VECTORS, false},
               {VECTORS, true},
               {VECTORS "," BUCKETS, false},
               {VECTORS "," BUCKETS, true}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_messages *first, *second;
    tarn_edit *a, *b;
    fixture f;
    begin(&f, cases[i].options);
    write_file(&f, 0, 5);
    if (cases[i].has_vector_before) {
      edit(&f, "k = 0", false, 1);
    }
    a = open_edit(&f, "k = 1", false);
    b = open_edit(&f, "k = 2", false);
    first = run_edit(&f, a, false, 1);
    second = run_edit(&f, b, false, 1);
    assert_works(commit(&f, first), f.err);
    assert_int_equal(commit(&f, second), TARN_E_CONFLICT);
    expect_rows(&f, cases[i].has_vector_before ? "2:20 3:30 4:40 " : "0:0 2:20 3:30 4:40 ");
    tarn_edit_free(a);
    tarn_edit_free(b);
    edit(&f, "k = 2", false, 1); /* anew */
    end(&f);
  }
}

static void edit__beside_an_append_works(void **state) {
  static const char *const options[] = {"", VECTORS, VECTORS "," BUCKETS};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options); i++) {
    tarn_messages *messages;
    tarn_edit *e;
    fixture f;
    begin(&f, options[i]);
    write_file(&f, 0, 2);
    e = open_edit(&f, "k = 0", false);
    messages = run_edit(&f, e, false, 1);
    write_file(&f, 7, 1);
    assert_works(commit(&f, messages), f.err);
    tarn_edit_free(e);
    edit(&f, "k = 7", false, 1);
    expect_rows(&f, "1:10 ");
    end(&f);
  }
}

static void edit__refuses_calls_out_of_order(void **state) {
  tarn_messages *messages;
  struct ArrowArray found;
  tarn_edit *e;
  int64_t n;
  rows r;
  fixture f;
  (void)state;
  begin(&f, "");
  write_file(&f, 0, 3);
  e = open_edit(&f, NULL, true);
  assert_int_equal(tarn_edit_next(e, NULL, &n, &f.err), TARN_E_INVALID);
  assert_works(tarn_edit_next(e, &found, &n, &f.err), f.err);
  make_rows(&r, values_of(&found, 0), values_of(&found, 1), n, false);
  found.release(&found);
  assert_int_equal(tarn_edit_next(e, &found, &n, &f.err), TARN_E_STATE);
  assert_int_equal(tarn_edit_prepare(e, TARN_BATCH_COMMIT, &messages, &f.err), TARN_E_STATE);
  assert_works(tarn_edit_replace(e, &r.schema, &r.array, &f.err), f.err);
  assert_int_equal(tarn_edit_replace(e, &r.schema, &r.array, &f.err), TARN_E_INVALID);
  tarn_edit_free(e); /* what was written goes */
  expect_rows(&f, "0:0 1:10 2:20 ");
  end(&f);
}

static void edit__refuses_tables_by_name(void **state) {
  static const struct {
    const char *options, *message;
  } cases[] = {{"\"row-tracking.enabled\":\"true\"", "row-tracking.enabled"},
               {"\"row-tracking.enabled\":\"true\",\"data-evolution.enabled\":\"true\"",
                "DELETE operation is not supported when data evolution is enabled yet."}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tarn_edit *e;
    fixture f;
    begin(&f, cases[i].options);
    assert_int_equal(tarn_edit_create(f.table, NULL, &e, &f.err), TARN_E_UNSUPPORTED);
    assert_contains(f.err.message, cases[i].message);
    assert_null(e);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edit__rewrites_a_file_in_the_order_of_its_rows),
      cmocka_unit_test(edit__leaves_files_alone_that_have_no_such_rows),
      cmocka_unit_test(edit__marks_rows_with_deletion_vectors),
      cmocka_unit_test(edit__of_rows_that_another_one_changed_is_a_conflict),
      cmocka_unit_test(edit__beside_an_append_works),
      cmocka_unit_test(edit__refuses_calls_out_of_order),
      cmocka_unit_test(edit__refuses_tables_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
