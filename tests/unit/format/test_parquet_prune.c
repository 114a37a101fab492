/* Pruning Parquet files: what is removed cannot match (F4), and what can be told is removed. */
#include <math.h>

#include "base/bytes.h"
#include "format/parquet/parquet.h"
#include "parquet_cases.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/test.h"

/* ------------------------------------------------------------------ helpers */

/* The columns of a file with ids from 0 on. */
static const tn_field *numbered_schema(format_test *t, tn_format_file *file, int32_t *n) {
  const tn_field *fields = must_schema(t, file, n);
  tn_field *numbered = tn_arena_memdup(&t->arena, fields, (size_t)*n * sizeof(*fields));
  assert_non_null(numbered);
  for (int32_t i = 0; i < *n; i++) {
    numbered[i].id = i;
  }
  return numbered;
}

static tn_ranges prune(format_test *t, tn_format_file *file, const tn_field *fields, int32_t n,
                       const tn_pred *pred) {
  tarn_error err;
  tn_ranges ranges;
  tn_ranges_init(&ranges, &t->env->mem);
  assert_works(tn_ranges_add(&ranges, 0, file->n_rows, &err), err);
  assert_works(file->ops->prune(file, fields, n, pred, &ranges, &err), err);
  return ranges;
}

static bool has_row(const tn_ranges *ranges, int64_t row) {
  for (size_t i = 0; i < ranges->count; i++) {
    if (row >= ranges->items[i].begin && row < ranges->items[i].end) {
      return true;
    }
  }
  return false;
}

static void check_ranges(const tn_ranges *ranges, const tn_range *expected, size_t n) {
  assert_int_equal(ranges->count, n);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(ranges->items[i].begin, expected[i].begin);
    assert_int_equal(ranges->items[i].end, expected[i].end);
  }
}

static tn_pred *leaf(format_test *t, tn_pred_op op, const tn_field *field, const tn_datum *literals,
                     int32_t n) {
  tn_pred *pred = tn_pred_leaf(&t->arena, op, field, literals, n);
  assert_non_null(pred);
  return pred;
}

/* "x = 5 AND ..." over fields. */
static const tn_pred *where(format_test *t, const tn_field *fields, int32_t n, const char *text) {
  tarn_error err;
  const tn_pred *pred;
  assert_works(
      tn_pred_parse(&t->arena, fields, n, t->env->zone, tn_slice_text(text), &pred, NULL, &err),
      err);
  return pred;
}

/* ------------------------------------------------------------------ F4 over all files */

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 8;
}

#define MAX_BATCHES 16

/* The whole file. */
typedef struct whole_file {
  tn_format_file *file;
  const tn_field *fields;
  int32_t n_fields;
  tn_batch batches[MAX_BATCHES];
  int n_batches;
} whole_file;

static void read_whole(format_test *t, const char *name, whole_file *out) {
  tarn_error err;
  tn_reader *reader;
  tn_read_request request;
  memset(&request, 0, sizeof(request));
  out->file = must_open(t, &tn_parquet_format,
                        data_path(t, tn_arena_printf(&t->arena, "%s.parquet", name)));
  out->fields = numbered_schema(t, out->file, &out->n_fields);
  out->n_batches = 0;
  request.fields = out->fields;
  request.n_fields = out->n_fields;
  assert_works(out->file->ops->read(out->file, &request, &reader, &err), err);
  do {
    tn_batch *batch = &out->batches[out->n_batches++];
    assert_true(out->n_batches <= MAX_BATCHES);
    assert_works(tn_batch_init(t->env, out->fields, out->n_fields, batch, &err), err);
    assert_works(tn_reader_next(reader, 10000, batch, &err), err);
  } while (out->batches[out->n_batches - 1].n_rows > 0);
  tn_reader_free(reader);
}

static void free_whole(format_test *t, whole_file *f) {
  for (int i = 0; i < f->n_batches; i++) {
    tn_batch_reset(t->env, &f->batches[i]);
  }
  tn_format_file_release(f->file);
}

static tn_pred *random_leaf(format_test *t, const tn_field *field, const tn_vec *vec,
                            uint32_t *seed) {
  static const tn_pred_op ops[] = {TN_PRED_EQ,          TN_PRED_NE,         TN_PRED_LT,
                                   TN_PRED_LE,          TN_PRED_GT,         TN_PRED_GE,
                                   TN_PRED_IN,          TN_PRED_NOT_IN,     TN_PRED_BETWEEN,
                                   TN_PRED_NOT_BETWEEN, TN_PRED_IS_NULL,    TN_PRED_IS_NOT_NULL,
                                   TN_PRED_IS_NAN,      TN_PRED_IS_NOT_NAN, TN_PRED_STARTS_WITH};
  tn_datum literals[3];
  int32_t n = 1;
  tn_pred_op op = ops[next_random(seed) % TN_COUNT(ops)];
  bool is_float = field->type.root == TN_FLOAT || field->type.root == TN_DOUBLE;
  if ((op == TN_PRED_STARTS_WITH && !tn_type_is_string(&field->type)) ||
      ((op == TN_PRED_IS_NAN || op == TN_PRED_IS_NOT_NAN) && !is_float)) {
    op = TN_PRED_EQ;
  }
  for (int i = 0; i < 3; i++) {
    int64_t row = next_random(seed) % (uint32_t)vec->length;
    for (int64_t k = 0; k < vec->length && tn_vec_is_null(vec, row); k++) {
      row = (row + 1) % vec->length;
    }
    literals[i] = tn_vec_datum(vec, row);
    if (is_float && next_random(seed) % 5 == 0) {
      literals[i].v.f64 = next_random(seed) % 2 == 0 ? NAN : -0.0;
    }
  }
  if (op == TN_PRED_IS_NULL || op == TN_PRED_IS_NOT_NULL || op == TN_PRED_IS_NAN ||
      op == TN_PRED_IS_NOT_NAN) {
    n = 0;
  } else if (op == TN_PRED_IN || op == TN_PRED_NOT_IN) {
    n = 3;
  } else if (op == TN_PRED_BETWEEN || op == TN_PRED_NOT_BETWEEN) {
    n = 2;
  }
  return leaf(t, op, field, literals, n);
}

static const tn_pred *random_pred(format_test *t, const tn_field *fields, const tn_batch *batch,
                                  const int32_t *atomic, uint32_t n_atomic, uint32_t *seed) {
  const tn_pred *parts[3];
  for (int i = 0; i < 3; i++) {
    int32_t c = atomic[next_random(seed) % n_atomic];
    parts[i] = random_leaf(t, &fields[c], &batch->columns[c], seed);
  }
  if (next_random(seed) % 2 == 0) {
    return parts[0];
  }
  parts[1] = tn_pred_compound(&t->arena, TN_PRED_OR, parts + 1, 2);
  assert_non_null(parts[1]);
  const tn_pred *pred =
      tn_pred_compound(&t->arena, next_random(seed) % 2 == 0 ? TN_PRED_AND : TN_PRED_OR, parts, 2);
  assert_non_null(pred);
  return pred;
}

static int64_t check_pred(format_test *t, const whole_file *f, const tn_pred *pred,
                          const char *name) {
  tarn_error err;
  uint8_t selected[2048];
  tn_ranges ranges = prune(t, f->file, f->fields, f->n_fields, pred);
  int64_t pruned = f->file->n_rows - tn_ranges_rows(&ranges);
  for (int b = 0; b < f->n_batches; b++) {
    const tn_batch *batch = &f->batches[b];
    memset(selected, 0xff, sizeof(selected));
    assert_works(tn_pred_filter(t->env, pred, batch, selected, &err), err);
    for (int64_t row = 0; row < batch->n_rows; row++) {
      if (tn_bit_get(selected, row) && !has_row(&ranges, batch->first_position + row)) {
        tn_buf text;
        tn_buf_init(&text, &t->env->mem, 1 << 16);
        assert_works(tn_pred_to_text(pred, t->env->zone, &text, &err), err);
        fail_msg("%s: row %lld matches %.*s and is pruned", name,
                 (long long)(batch->first_position + row), TN_SLICE_ARG(tn_buf_slice(&text)));
      }
    }
  }
  tn_ranges_reset(&ranges);
  return pruned;
}

static void prune__never_removes_a_row_that_matches(void **state) {
  uint32_t seed = 2024;
  int64_t pruned = 0;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    format_test t;
    whole_file f;
    int32_t atomic[64];
    uint32_t n_atomic = 0;
    format_test_begin(&t);
    read_whole(&t, parquet_cases[i].name, &f);
    for (int32_t c = 0; c < f.n_fields; c++) {
      if (!tn_type_is_nested(&f.fields[c].type)) {
        atomic[n_atomic++] = c;
      }
    }
    for (int k = 0; k < 300 && n_atomic > 0 && f.n_batches > 1; k++) {
      const tn_batch *batch = &f.batches[next_random(&seed) % (uint32_t)(f.n_batches - 1)];
      pruned += check_pred(&t, &f, random_pred(&t, f.fields, batch, atomic, n_atomic, &seed),
                           parquet_cases[i].name);
    }
    free_whole(&t, &f);
    format_test_end(&t);
  }
  assert_true(pruned > 0);
}

/* ------------------------------------------------------------------ what is removed */

/* A file of pages of one column `x` INT: row group statistics, then what `text` leaves. */
static tn_ranges prune_file(format_test *t, const char *name, const char *text) {
  int32_t n;
  tn_format_file *file =
      must_open(t, &tn_parquet_format, data_path(t, tn_arena_printf(&t->arena, "%s", name)));
  const tn_field *fields = numbered_schema(t, file, &n);
  tn_ranges ranges = prune(t, file, fields, n, where(t, fields, n, text));
  tn_format_file_release(file);
  return ranges;
}

/* edges_index: 500 rows, `steps` grows by 1000 a row, in pages of some dozens. */
static void prune__pages_by_the_column_index(void **state) {
  format_test t;
  (void)state;
  format_test_begin(&t);
  tn_ranges ranges = prune_file(&t, "edges_index.parquet", "steps BETWEEN 200000 AND 210000");
  assert_int_equal(ranges.count, 1);
  assert_true(ranges.items[0].begin > 100 && ranges.items[0].begin <= 200);
  assert_true(ranges.items[0].end > 210 && ranges.items[0].end < 320);
  tn_ranges_reset(&ranges);
  format_test_end(&t);
}

static void prune__and_intersects_or_unites_pages(void **state) {
  format_test t;
  (void)state;
  format_test_begin(&t);
  tn_ranges low = prune_file(&t, "edges_index.parquet", "steps < 20000");
  tn_ranges high = prune_file(&t, "edges_index.parquet", "steps > 480000");
  tn_ranges both = prune_file(&t, "edges_index.parquet", "steps < 20000 OR steps > 480000");
  tn_ranges none = prune_file(&t, "edges_index.parquet", "steps < 20000 AND steps > 480000");
  assert_int_equal(none.count, 0);
  assert_int_equal(low.count, 1);
  assert_int_equal(high.count, 1);
  check_ranges(&both, (tn_range[]){low.items[0], high.items[0]}, 2);
  tn_ranges_reset(&low);
  tn_ranges_reset(&high);
  tn_ranges_reset(&both);
  tn_ranges_reset(&none);
  format_test_end(&t);
}

static void prune__keeps_within_what_was_wanted(void **state) {
  format_test t;
  tarn_error err;
  int32_t n;
  tn_ranges ranges;
  (void)state;
  format_test_begin(&t);
  tn_format_file *file = must_open(&t, &tn_parquet_format, data_path(&t, "edges_index.parquet"));
  const tn_field *fields = numbered_schema(&t, file, &n);
  tn_ranges_init(&ranges, &t.env->mem);
  assert_works(tn_ranges_add(&ranges, 3, 5, &err), err);
  assert_works(tn_ranges_add(&ranges, 490, 491, &err), err);
  assert_works(
      file->ops->prune(file, fields, n, where(&t, fields, n, "steps < 20000"), &ranges, &err), err);
  check_ranges(&ranges, (tn_range[]){{3, 5}}, 1);
  tn_ranges_reset(&ranges);
  tn_format_file_release(file);
  format_test_end(&t);
}

/* ------------------------------------------------------------------ made files */

/* A file of one row group of `n` rows and one column `x`; the chunk is given to change its
 * statistics. Values are never read here. */
typedef struct made {
  format_test t;
  parquet_maker m;
  tn_format_file *file;
  const tn_field *fields;
  int32_t n_fields;
} made;

static maker_chunk_spec *make_begin(made *f, tn_pq_physical physical, maker_type type,
                                    const char *row) {
  format_test_begin(&f->t);
  maker_begin(&f->m);
  maker_leaf(&f->m, "x", TN_PQ_OPTIONAL, physical, 0, type);
  f->fields = sql_fields(&f->t, row, &f->n_fields);
  return maker_chunk(&f->m, 10);
}

static void make_end(made *f) {
  tarn_error err;
  assert_works(open_bytes(&f->t, &tn_parquet_format, maker_end(&f->m, 10), &f->file, &err), err);
}

static bool keeps(made *f, const char *text) {
  tn_ranges ranges =
      prune(&f->t, f->file, f->fields, f->n_fields, where(&f->t, f->fields, f->n_fields, text));
  bool keeps_all = tn_ranges_rows(&ranges) == 10;
  assert_true(keeps_all || ranges.count == 0);
  tn_ranges_reset(&ranges);
  return keeps_all;
}

static void made_free(made *f) {
  tn_format_file_release(f->file);
  maker_free(&f->m);
  format_test_end(&f->t);
}

/* Known fault B40: decimals in every physical form. */
static void prune__decimals_of_every_physical_type(void **state) {
  static const struct {
    tn_pq_physical physical;
    int32_t length;
    tn_slice min, max; /* -0.05 and 20.00 */
  } forms[] = {
      {TN_PQ_INT32,
       0,
       {(const uint8_t *)"\xfb\xff\xff\xff", 4},
       {(const uint8_t *)"\xd0\7\0\0", 4}},
      {TN_PQ_INT64,
       0,
       {(const uint8_t *)"\xfb\xff\xff\xff\xff\xff\xff\xff", 8},
       {(const uint8_t *)"\xd0\7\0\0\0\0\0\0", 8}},
      {TN_PQ_FIXED,
       4,
       {(const uint8_t *)"\xff\xff\xff\xfb", 4},
       {(const uint8_t *)"\0\0\7\xd0", 4}},
      {TN_PQ_BYTE_ARRAY, 0, {(const uint8_t *)"\xfb", 1}, {(const uint8_t *)"\7\xd0", 2}},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(forms); i++) {
    made f;
    maker_chunk_spec *c;
    format_test_begin(&f.t);
    maker_begin(&f.m);
    maker_decimal(&f.m, "x", forms[i].physical, forms[i].length, 9, 2);
    f.fields = sql_fields(&f.t, "ROW<x DECIMAL(9, 2)>", &f.n_fields);
    c = maker_chunk(&f.m, 10);
    c->min = forms[i].min;
    c->max = forms[i].max;
    make_end(&f);
    assert_true(keeps(&f, "x = 12.34"));
    assert_true(keeps(&f, "x > -0.01"));
    assert_true(keeps(&f, "x < -0.04"));
    assert_false(keeps(&f, "x < -0.05"));
    assert_false(keeps(&f, "x = 20.01"));
    made_free(&f);
  }
}

/* Known fault B41: narrow integers are INT32 in the file. */
static void prune__narrow_integers(void **state) {
  static const char *const rows[] = {"ROW<x TINYINT>", "ROW<x SMALLINT>", "ROW<x INT>",
                                     "ROW<x BIGINT>"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    made f;
    maker_chunk_spec *c = make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, rows[i]);
    c->min = LITERAL("\1\0\0\0");
    c->max = LITERAL("\2\0\0\0");
    make_end(&f);
    assert_true(keeps(&f, "x = 1"));
    assert_true(keeps(&f, "x = 2"));
    assert_false(keeps(&f, "x = 3"));
    assert_false(keeps(&f, "x < 1"));
    made_free(&f);
  }
}

/* Known fault B49: INT96 has no order; whatever the file claims keeps its rows. */
static void prune__int96_bounds_say_nothing(void **state) {
  made f;
  maker_chunk_spec *c = make_begin(&f, TN_PQ_INT96, MAKER_PLAIN_TYPE, "ROW<x TIMESTAMP(9)>");
  (void)state;
  c->min = c->max = LITERAL("\0\0\0\0\0\0\0\0\0\0\0\0");
  make_end(&f);
  assert_true(keeps(&f, "x > '2024-01-01 00:00:00'"));
  made_free(&f);
}

/* Known fault B38: a NaN may be there whatever the bounds say, unless Java wrote them. */
static void prune__float_bounds_are_made_safe(void **state) {
  static const struct {
    const char *writer;
    tn_slice min, max;
    const char *text;
    bool keeps;
  } cases[] = {
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x > 5",
       false},
      {"parquet-mr version 1.9.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x > 5",
       true},
      {"parquet-cpp-arrow version 26.0.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x > 5",
       true},
      {"parquet-cpp-arrow version 26.0.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x < 1",
       false},
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\xc0\x7f", 4},
       "x > 5",
       true},
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\xc0\x7f", 4},
       {(const uint8_t *)"\0\0\xc0\x7f", 4},
       "x < 1",
       true},
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\0\0", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x = -0.0",
       true},
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\x80\xbf", 4},
       {(const uint8_t *)"\0\0\0\x80", 4},
       "x = 0.0",
       true},
      {"parquet-mr version 1.16.0",
       {(const uint8_t *)"\0\0\x80\x3f", 4},
       {(const uint8_t *)"\0\0\0\x40", 4},
       "x IS NAN",
       true},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    made f;
    maker_chunk_spec *c = make_begin(&f, TN_PQ_FLOAT, MAKER_PLAIN_TYPE, "ROW<x FLOAT>");
    f.m.created_by = cases[i].writer;
    c->min = cases[i].min;
    c->max = cases[i].max;
    make_end(&f);
    if (keeps(&f, cases[i].text) != cases[i].keeps) {
      fail_msg("%s by %s is %s", cases[i].text, cases[i].writer,
               cases[i].keeps ? "pruned" : "kept");
    }
    made_free(&f);
  }
}

/* The deprecated bounds were compared as signed numbers: right for signed numbers only. */
static void prune__deprecated_bounds_of_signed_numbers_only(void **state) {
  static const struct {
    tn_pq_physical physical;
    maker_type type;
    const char *row, *text;
    bool keeps;
  } cases[] = {
      {TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>", "x > 900000000", false},
      {TN_PQ_INT32, MAKER_UINT_32, "ROW<x BIGINT>", "x > 900000000", true},
      {TN_PQ_BYTE_ARRAY, MAKER_UTF8, "ROW<x STRING>", "x > 'z'", true},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    made f;
    maker_chunk_spec *c = make_begin(&f, cases[i].physical, cases[i].type, cases[i].row);
    c->has_old_stats = true;
    c->min = LITERAL("\1\0\0\0");
    c->max = LITERAL("\2\0\0\0");
    make_end(&f);
    assert_int_equal(keeps(&f, cases[i].text), cases[i].keeps);
    made_free(&f);
  }
}

static void prune__bytes_by_equality_only(void **state) {
  made f;
  maker_chunk_spec *c = make_begin(&f, TN_PQ_BYTE_ARRAY, MAKER_PLAIN_TYPE, "ROW<x BYTES>");
  tn_datum literal;
  tn_ranges ranges;
  (void)state;
  c->min = LITERAL("b");
  c->max = LITERAL("c");
  make_end(&f);
  memset(&literal, 0, sizeof(literal));
  literal.v.bytes = tn_slice_text("x");
  ranges = prune(&f.t, f.file, f.fields, 1, leaf(&f.t, TN_PRED_EQ, &f.fields[0], &literal, 1));
  assert_int_equal(ranges.count, 0);
  tn_ranges_reset(&ranges);
  ranges = prune(&f.t, f.file, f.fields, 1, leaf(&f.t, TN_PRED_GT, &f.fields[0], &literal, 1));
  assert_int_equal(tn_ranges_rows(&ranges), 10);
  tn_ranges_reset(&ranges);
  made_free(&f);
}

static void prune__null_counts(void **state) {
  static const struct {
    int64_t null_count;
    const char *text;
    bool keeps;
  } cases[] = {
      {0, "x IS NULL", false},     {3, "x IS NULL", true}, {-1, "x IS NULL", true},
      {10, "x IS NULL", true},     {10, "x = 1", false},   {10, "x IS NOT NULL", false},
      {11, "x = 1", true},  // cannot be right: it says nothing
      {10, "x NOT IN (7)", false}, {0, "x <> 1", true},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    made f;
    maker_chunk_spec *c = make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>");
    c->null_count = cases[i].null_count;
    if (cases[i].null_count < 10) {
      c->min = LITERAL("\1\0\0\0");
      c->max = LITERAL("\2\0\0\0");
    }
    make_end(&f);
    if (keeps(&f, cases[i].text) != cases[i].keeps) {
      fail_msg("%s with %lld nulls", cases[i].text, (long long)cases[i].null_count);
    }
    made_free(&f);
  }
}

static void prune__columns_the_file_lacks_are_all_null(void **state) {
  made f;
  (void)state;
  make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT, no INT>");
  make_end(&f);
  assert_true(keeps(&f, "no IS NULL"));
  assert_false(keeps(&f, "no = 1"));
  assert_false(keeps(&f, "x = 1 AND no > 4"));
  assert_true(keeps(&f, "x = 1 OR no > 4"));
  made_free(&f);
}

static void prune__a_leaf_of_an_unknown_column_keeps_all(void **state) {
  made f;
  const tn_field *others;
  int32_t n;
  tn_ranges ranges;
  (void)state;
  make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>");
  make_end(&f);
  others = sql_fields(&f.t, "ROW<a INT, b INT, c INT>", &n);
  ranges = prune(&f.t, f.file, f.fields, f.n_fields, where(&f.t, others, n, "c = 1"));
  assert_int_equal(tn_ranges_rows(&ranges), 10);
  tn_ranges_reset(&ranges);
  made_free(&f);
}

/* Bounds that contradict one another, or do not convert, say nothing. */
static void prune__broken_bounds_say_nothing(void **state) {
  static const struct {
    tn_slice min, max;
  } cases[] = {
      {{(const uint8_t *)"\5\0\0\0", 4}, {(const uint8_t *)"\1\0\0\0", 4}},
      {{(const uint8_t *)"\5\0\0", 3}, {(const uint8_t *)"\5\0\0\0", 4}},
      {{(const uint8_t *)"", 0}, {(const uint8_t *)"", 0}},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    made f;
    maker_chunk_spec *c = make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>");
    c->min = cases[i].min;
    c->max = cases[i].max;
    make_end(&f);
    assert_true(keeps(&f, "x = 100"));
    made_free(&f);
  }
}

/* ------------------------------------------------------------------ dictionaries */

/* Codes alone, of values 2 and 6; bounds that do not tell that 4 is not there. */
static void prune__by_dictionary(void **state) {
  static const struct {
    const char *text;
    bool keeps;
  } cases[] = {
      {"x = 2", true},          {"x = 4", false},       {"x IN (3, 4, 5)", false},
      {"x > 6", false},         {"x IS NULL", true},    {"x BETWEEN 3 AND 5", false},
      {"x <> 2", true},         {"x NOT IN (2)", true}, {"x NOT IN (2, 6)", false},
      {"x = 4 OR x = 6", true},
  };
  made f;
  maker_chunk_spec *c = make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>");
  uint8_t codes[64] = {1, 10 << 1};
  (void)state;
  maker_dictionary(&f.m, 2, LITERAL("\2\0\0\0\6\0\0\0"));
  maker_page(&f.m, &(maker_page_spec){.n_values = 10,
                                      .def = "1111111111",
                                      .encoding = TN_PQ_PLAIN_DICTIONARY,
                                      .values = tn_slice_of(codes, sizeof(codes))});
  for (int i = 0; i < 3; i++) {
    maker_index_page(&f.m);  // so that the dictionary is little against the chunk
  }
  c->min = LITERAL("\2\0\0\0");
  c->max = LITERAL("\6\0\0\0");
  make_end(&f);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    if (keeps(&f, cases[i].text) != cases[i].keeps) {
      fail_msg("%s is %s", cases[i].text, cases[i].keeps ? "pruned" : "kept");
    }
  }
  made_free(&f);
}

/* A page that is not of codes may hold anything. */
static void prune__not_by_a_dictionary_that_was_left(void **state) {
  made f;
  uint8_t codes[64] = {1, 5 << 1};
  (void)state;
  make_begin(&f, TN_PQ_INT32, MAKER_PLAIN_TYPE, "ROW<x INT>");
  maker_dictionary(&f.m, 2, LITERAL("\2\0\0\0\6\0\0\0"));
  maker_page(&f.m, &(maker_page_spec){.n_values = 5,
                                      .def = "11111",
                                      .encoding = TN_PQ_PLAIN_DICTIONARY,
                                      .values = tn_slice_of(codes, sizeof(codes))});
  maker_page(&f.m,
             &(maker_page_spec){.n_values = 5, .def = "10000", .values = LITERAL("\4\0\0\0")});
  make_end(&f);
  assert_true(keeps(&f, "x = 4"));
  made_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prune__never_removes_a_row_that_matches),
      cmocka_unit_test(prune__pages_by_the_column_index),
      cmocka_unit_test(prune__and_intersects_or_unites_pages),
      cmocka_unit_test(prune__keeps_within_what_was_wanted),
      cmocka_unit_test(prune__decimals_of_every_physical_type),
      cmocka_unit_test(prune__narrow_integers),
      cmocka_unit_test(prune__int96_bounds_say_nothing),
      cmocka_unit_test(prune__float_bounds_are_made_safe),
      cmocka_unit_test(prune__deprecated_bounds_of_signed_numbers_only),
      cmocka_unit_test(prune__bytes_by_equality_only),
      cmocka_unit_test(prune__null_counts),
      cmocka_unit_test(prune__columns_the_file_lacks_are_all_null),
      cmocka_unit_test(prune__a_leaf_of_an_unknown_column_keeps_all),
      cmocka_unit_test(prune__broken_bounds_say_nothing),
      cmocka_unit_test(prune__by_dictionary),
      cmocka_unit_test(prune__not_by_a_dictionary_that_was_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
