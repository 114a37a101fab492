/* test_parquet_api.c - Parquet files from Arrow batches through the public calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"
#include "tarn/tarn.h"

static void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}

static void keep_array(struct ArrowArray *array) {
  (void)array;
}

/* Where the bytes go; fails with EPIPE once it has taken `most` of them. */
typedef struct place {
  uint8_t bytes[1 << 16];
  size_t n, most;
} place;

static int32_t take(void *ctx, const void *bytes, size_t n_bytes) {
  place *p = ctx;
  if (n_bytes > p->most - p->n) {
    return EPIPE;
  }
  memcpy(p->bytes + p->n, bytes, n_bytes);
  p->n += n_bytes;
  return 0;
}

static void begin_place(place *p, size_t most) {
  p->n = 0;
  p->most = most;
}

/* k INT NOT NULL and v a list of texts: [["a", "b"], null, []]. */
typedef struct rows {
  struct ArrowSchema schema, columns[2], *children[2], item, *item_child[1];
  struct ArrowArray array, values[2], *value_children[2], items, *items_child[1];
  int32_t k[3], list_ends[4], text_ends[3];
  char text[2];
  uint8_t valid, valid_k;
  const void *none[1], *k_buffers[2], *list_buffers[2], *text_buffers[3];
} rows;

static void make_rows(rows *r) {
  *r = (rows){.k = {7, 8, 9},
              .list_ends = {0, 2, 2, 2},
              .text_ends = {0, 1, 2},
              .text = {'a', 'b'},
              .valid = 5,
              .valid_k = 7};
  r->k_buffers[1] = r->k;
  r->list_buffers[0] = &r->valid;
  r->list_buffers[1] = r->list_ends;
  r->text_buffers[1] = r->text_ends;
  r->text_buffers[2] = r->text;
  r->item = (struct ArrowSchema){
      .format = "u", .name = "item", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
  r->item_child[0] = &r->item;
  r->columns[0] = (struct ArrowSchema){.format = "i", .name = "k", .release = keep_schema};
  r->columns[1] = (struct ArrowSchema){.format = "+l",
                                       .name = "v",
                                       .flags = ARROW_FLAG_NULLABLE,
                                       .n_children = 1,
                                       .children = r->item_child,
                                       .release = keep_schema};
  r->items = (struct ArrowArray){
      .length = 2, .n_buffers = 3, .buffers = r->text_buffers, .release = keep_array};
  r->items_child[0] = &r->items;
  r->values[0] = (struct ArrowArray){
      .length = 3, .n_buffers = 2, .buffers = r->k_buffers, .release = keep_array};
  r->values[1] = (struct ArrowArray){.length = 3,
                                     .null_count = 1,
                                     .n_buffers = 2,
                                     .buffers = r->list_buffers,
                                     .n_children = 1,
                                     .children = r->items_child,
                                     .release = keep_array};
  for (int i = 0; i < 2; i++) {
    r->children[i] = &r->columns[i];
    r->value_children[i] = &r->values[i];
  }
  r->schema = (struct ArrowSchema){
      .format = "+s", .name = "", .n_children = 2, .children = r->children, .release = keep_schema};
  r->array = (struct ArrowArray){.length = 3,
                                 .n_buffers = 1,
                                 .buffers = r->none,
                                 .n_children = 2,
                                 .children = r->value_children,
                                 .release = keep_array};
}

typedef struct job {
  const struct ArrowSchema *schema; /* NULL: no columns */
  const struct ArrowArray *array;
  int32_t n_batches;
  const tarn_option *options;
  size_t n_options;
  place *out;
} job;

static tarn_status write_file(void *ctx, tarn_env *env, tarn_error *err) {
  const job *j = ctx;
  tarn_parquet_writer *writer = NULL;
  tarn_status st;
  j->out->n = 0;
  st = tarn_parquet_writer_create(env, j->schema, j->options, j->n_options, take, j->out, &writer,
                                  err);
  for (int32_t i = 0; i < j->n_batches && st == TARN_OK; i++) {
    st = tarn_parquet_writer_write(writer, j->array, err);
  }
  if (st == TARN_OK) {
    st = tarn_parquet_writer_finish(writer, err);
  }
  tarn_parquet_writer_free(writer);
  return st;
}

/* The facts of a file that lies in a place, as JSON; free() it. */
static char *facts(tarn_env *env, const place *p) {
  char *folder = tn_test_temp_dir(), *path = tn_test_path(folder, "x.parquet"), *copy;
  tarn_string text = {NULL, 0, NULL};
  tarn_error err;
  tn_test_write_file(path, p->bytes, p->n);
  assert_works(tarn_inspect(env, path, &text, &err), err);
  copy = strdup(text.data);
  tarn_string_free(&text);
  tn_test_temp_dir_remove(folder);
  free(path);
  return copy;
}

/* How many rows a file has, and the sum of its first column, an INT; also that its second column's
 * lists have so many elements. */
static void read_back(tarn_env *env, const place *p, int64_t *n_rows, int64_t *sum,
                      int64_t *n_items) {
  char *folder = tn_test_temp_dir(), *path = tn_test_path(folder, "x.parquet");
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  tarn_error err;
  *n_rows = *sum = *n_items = 0;
  tn_test_write_file(path, p->bytes, p->n);
  assert_works(tarn_inspect_rows(env, path, -1, 0, &stream, &err), err);
  while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
    for (int64_t i = 0; i < array.length; i++) {
      *sum += ((const int32_t *)array.children[0]->buffers[1])[array.children[0]->offset + i];
    }
    *n_rows += array.length;
    *n_items += array.children[1]->children[0]->length;
    array.release(&array);
  }
  stream.release(&stream);
  tn_test_temp_dir_remove(folder);
  free(path);
}

/* ------------------------------------------------------------------ tests */

static void parquet_writer__gives_back_its_rows(void **state) {
  static place p;
  static const tarn_option options[] = {{"file.compression", "snappy"},
                                        {"file.compression", "gzip"},
                                        {"parquet.page.row.count.limit", "2"},
                                        {"file.block-size", "1kb"}};
  tarn_env *env = tn_test_env(1, 0);
  int64_t n, sum, items;
  tarn_error err;
  char *text;
  rows r;
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  for (size_t n_options = 0; n_options <= 4; n_options += 2) {
    job j = {&r.schema, &r.array, 5, options, n_options, &p};
    assert_works(write_file(&j, env, &err), err);
    read_back(env, &p, &n, &sum, &items);
    assert_int_equal(n, 15);
    assert_int_equal(sum, 5 * 24);
    assert_int_equal(items, 10);
    text = facts(env, &p);
    assert_contains(text, n_options == 0 ? "ZSTD" : "GZIP");
    free(text);
  }
  tarn_env_free(env);
}

static void parquet_writer__numbers_columns_and_their_fields(void **state) {
  static place p;
  tarn_env *env = tn_test_env(1, 0);
  job j = {.n_batches = 1, .out = &p};
  tarn_error err;
  char *text;
  rows r;
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  r.columns[0].metadata =
      "\1\0\0\0\11\0\0\0paimon.id\2\0\0\0"
      "41";
  j.schema = &r.schema;
  j.array = &r.array;
  assert_works(write_file(&j, env, &err), err);
  text = facts(env, &p);
  assert_contains(text, "\"id\": 41");
  assert_contains(text, "\"id\": 42");
  free(text);
  tarn_env_free(env);
}

static void parquet_writer__needs_no_rows(void **state) {
  static place p;
  tarn_env *env = tn_test_env(1, 0);
  int64_t n, sum, items;
  tarn_error err;
  rows r;
  job j = {.out = &p};
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  j.schema = &r.schema;
  assert_works(write_file(&j, env, &err), err);
  read_back(env, &p, &n, &sum, &items);
  assert_int_equal(n, 0);
  j.schema = NULL; /* nor columns */
  assert_works(write_file(&j, env, &err), err);
  assert_true(p.n > 12 && memcmp(p.bytes, "PAR1", 4) == 0 &&
              memcmp(p.bytes + p.n - 4, "PAR1", 4) == 0);
  tarn_env_free(env);
}

static void parquet_writer__refuses(void **state) {
  static place p;
  static const struct {
    tarn_option option;
    tarn_status status;
    const char *message;
  } cases[] = {
      {{"file.compresion", "zstd"}, TARN_E_NOT_FOUND, "is it 'file.compression'"},
      {{"avro.codec", "zstd"}, TARN_E_NOT_FOUND, "'avro.codec'"},
      {{"parquet.page.size", "many"}, TARN_E_INVALID, "'parquet.page.size'"},
      {{"file.compression", "lzma"}, TARN_E_UNSUPPORTED, "\"lzma\""},
      {{"parquet.writer.version", "v2"}, TARN_E_UNSUPPORTED, "'parquet.writer.version'"},
  };
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  rows r;
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    job j = {&r.schema, &r.array, 1, &cases[i].option, 1, &p};
    assert_int_equal(write_file(&j, env, &err), cases[i].status);
    assert_contains(err.message, cases[i].message);
  }
  r.columns[0].format = "+ud:0,1"; /* a union */
  {
    job j = {&r.schema, &r.array, 1, NULL, 0, &p};
    assert_int_equal(write_file(&j, env, &err), TARN_E_INVALID);
    assert_contains(err.message, "'k'");
  }
  tarn_env_free(env);
}

static void parquet_writer__refuses_null_where_none_may_be(void **state) {
  static place p;
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  rows r;
  job j = {&r.schema, &r.array, 1, NULL, 0, &p};
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  r.valid_k = 5;
  r.k_buffers[0] = &r.valid_k;
  r.values[0].null_count = 1;
  assert_int_equal(write_file(&j, env, &err), TARN_E_INVALID);
  assert_contains(err.message, "k");
  tarn_env_free(env);
}

static void parquet_writer__tells_why_bytes_were_not_taken(void **state) {
  static place p;
  tarn_env *env = tn_test_env(1, 0);
  tarn_parquet_writer *writer;
  tarn_error err;
  rows r;
  (void)state;
  begin_place(&p, 3);
  make_rows(&r);
  assert_works(tarn_parquet_writer_create(env, &r.schema, NULL, 0, take, &p, &writer, &err), err);
  assert_works(tarn_parquet_writer_write(writer, &r.array, &err), err);
  assert_int_equal(tarn_parquet_writer_finish(writer, &err), TARN_E_IO);
  assert_int_equal(err.os_errno, EPIPE);
  assert_int_equal(tarn_parquet_writer_write(writer, &r.array, &err), TARN_E_STATE);
  assert_int_equal(tarn_parquet_writer_finish(writer, &err), TARN_E_STATE);
  tarn_parquet_writer_free(writer);
  tarn_env_free(env);
}

static void parquet_writer__ends_at_its_end(void **state) {
  static place p;
  tarn_env *env = tn_test_env(1, 0);
  tarn_parquet_writer *writer;
  tarn_error err;
  size_t n;
  rows r;
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  assert_works(tarn_parquet_writer_create(env, &r.schema, NULL, 0, take, &p, &writer, &err), err);
  assert_works(tarn_parquet_writer_finish(writer, &err), err);
  n = p.n;
  assert_int_equal(tarn_parquet_writer_write(writer, &r.array, &err), TARN_E_STATE);
  tarn_parquet_writer_free(writer);
  assert_int_equal(p.n, n);
  tarn_parquet_writer_free(NULL);
  tarn_env_free(env);
}

static void parquet_writer__survives_every_failed_allocation(void **state) {
  static place p;
  rows r;
  job j = {&r.schema, &r.array, 2, NULL, 0, &p};
  (void)state;
  begin_place(&p, sizeof(p.bytes));
  make_rows(&r);
  assert_true(tn_torture(write_file, &j, TARN_OK) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parquet_writer__gives_back_its_rows),
      cmocka_unit_test(parquet_writer__numbers_columns_and_their_fields),
      cmocka_unit_test(parquet_writer__needs_no_rows),
      cmocka_unit_test(parquet_writer__refuses),
      cmocka_unit_test(parquet_writer__refuses_null_where_none_may_be),
      cmocka_unit_test(parquet_writer__tells_why_bytes_were_not_taken),
      cmocka_unit_test(parquet_writer__ends_at_its_end),
      cmocka_unit_test(parquet_writer__survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
