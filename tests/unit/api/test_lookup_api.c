/* test_lookup_api.c - rows by their keys through the public calls: keys in every shape that arrays
 * may have, rows as arrays. */
#include "api_test.h"

enum { ROWS = 5 };

/* The table: k BIGINT, s STRING, v STRING; a row for each i: (i, "k<i>", "v<i>"), v null for 3. */
static int64_t ks[ROWS] = {0, 1, 2, 3, 4};
static int32_t offsets[ROWS + 1] = {0, 2, 4, 6, 8, 10};
static const char *const key_bytes = "k0k1k2k3k4", *const value_bytes = "v0v1v2v3v4";
static const uint8_t not_3 = 0x17;

typedef struct rows {
  struct ArrowSchema schema, columns[3];
  struct ArrowSchema *schema_children[3];
  struct ArrowArray array, arrays[3];
  struct ArrowArray *children[3];
  const void *buffers[3][3], *none[1];
} rows;

static void make_rows(rows *r, int n_columns) {
  static const char *const names[] = {"k", "s", "v"};
  static const char *const formats[] = {"l", "u", "u"};
  const void *data[] = {ks, key_bytes, value_bytes};
  memset(r, 0, sizeof(*r));
  for (int i = 0; i < n_columns; i++) {
    r->columns[i] =
        (struct ArrowSchema){.format = formats[i], .name = names[i], .release = keep_schema};
    r->schema_children[i] = &r->columns[i];
    r->buffers[i][1] = i == 0 ? data[i] : offsets;
    r->buffers[i][2] = data[i];
    r->arrays[i] = (struct ArrowArray){.length = ROWS,
                                       .n_buffers = i == 0 ? 2 : 3,
                                       .buffers = r->buffers[i],
                                       .release = keep_array};
    r->children[i] = &r->arrays[i];
  }
  r->schema = (struct ArrowSchema){.format = "+s",
                                   .n_children = n_columns,
                                   .children = r->schema_children,
                                   .release = keep_schema};
  r->array = (struct ArrowArray){.length = ROWS,
                                 .n_buffers = 1,
                                 .n_children = n_columns,
                                 .buffers = r->none,
                                 .children = r->children,
                                 .release = keep_array};
}

typedef struct looked {
  fixture f;
  char *local;
  tarn_lookup *lookup;
} looked;

static void write_rows(fixture *f) {
  tarn_writer *w;
  tarn_committer *c;
  tarn_messages *messages;
  rows r;
  make_rows(&r, 3);
  r.columns[2].flags = ARROW_FLAG_NULLABLE;
  r.buffers[2][0] = &not_3;
  r.arrays[2].null_count = 1;
  assert_works(tarn_writer_create(f->table, NULL, &w, &f->err), f->err);
  assert_works(tarn_committer_create(f->table, NULL, &c, &f->err), f->err);
  assert_works(tarn_writer_write(w, &r.schema, &r.array, &f->err), f->err);
  assert_works(tarn_writer_prepare(w, 1, &messages, &f->err), f->err);
  assert_works(tarn_committer_commit(c, 1, messages, NULL, NULL, &f->err), f->err);
  tarn_messages_free(messages);
  tarn_committer_free(c);
  tarn_writer_free(w);
}

static void begin_lookup(looked *l) {
  tarn_lookup_options o = TARN_LOOKUP_OPTIONS_INIT;
  begin_with(&l->f,
             "{\"fields\":[{\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\",\"type\":"
             "\"STRING NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
             "\"primaryKeys\":[\"k\",\"s\"],\"options\":{\"bucket\":\"2\"}}");
  write_rows(&l->f);
  l->local = tn_test_temp_dir();
  o.temp_folder = l->local;
  assert_works(tarn_lookup_open(l->f.table, &o, &l->lookup, &l->f.err), l->f.err);
}

static void end_lookup(looked *l) {
  tarn_lookup_free(l->lookup);
  tn_test_temp_dir_remove(l->local);
  end(&l->f);
}

/* Rows number first, first + 1 ... are found, and are what was written. */
static void assert_found(looked *l, const rows *r, bool with_schema, int64_t first, int64_t n) {
  struct ArrowArray out;
  int64_t at[ROWS];
  assert_works(
      tarn_lookup_get(l->lookup, with_schema ? &r->schema : NULL, &r->array, &out, at, &l->f.err),
      l->f.err);
  assert_int_equal(out.length, n);
  assert_int_equal(out.n_children, 3);
  for (int64_t i = 0; i < n; i++) {
    const struct ArrowArray *v = out.children[2];
    const int32_t *ends = v->buffers[1];
    const uint8_t *valid = v->buffers[0];
    assert_int_equal(at[i], i);
    assert_int_equal(((const int64_t *)out.children[0]->buffers[1])[i], first + i);
    if (first + i == 3) {
      assert_int_equal(v->null_count, 1);
      assert_int_equal(valid[i / 8] >> (i % 8) & 1, 0);
    } else {
      assert_int_equal(ends[i + 1] - ends[i], 2);
      assert_memory_equal((const char *)v->buffers[2] + ends[i], value_bytes + 2 * (first + i), 2);
    }
  }
  out.release(&out);
  assert_null(out.release);
}

static void lookup_api__takes_keys_in_every_shape(void **state) {
  looked l;
  rows r;
  const uint8_t all = 0xff;
  int64_t odd[ROWS + 1];
  (void)state;
  begin_lookup(&l);
  for (int with_schema = 0; with_schema < 2; with_schema++) {
    make_rows(&r, 2);
    assert_found(&l, &r, with_schema, 0, 5);
    r.array.length = 3; /* children may be longer */
    assert_found(&l, &r, with_schema, 0, 3);
    r.array.offset = 2;
    assert_found(&l, &r, with_schema, 2, 3);
    r.array.length = 1;
    assert_found(&l, &r, with_schema, 2, 1);
    r.arrays[0].offset = r.arrays[1].offset = 1; /* on top of that of the struct */
    r.arrays[0].length = r.arrays[1].length = 4;
    assert_found(&l, &r, with_schema, 3, 1);
    make_rows(&r, 2);
    r.buffers[1][0] = &all; /* validity that says nothing */
    r.arrays[1].null_count = -1;
    assert_found(&l, &r, with_schema, 0, 5);
    make_rows(&r, 2);
    r.buffers[0][1] = memcpy((uint8_t *)odd + 4, ks, sizeof(ks)); /* not aligned */
    assert_found(&l, &r, with_schema, 0, 5);
    make_rows(&r, 2);
    r.array.length = 0;
    assert_found(&l, &r, with_schema, 0, 0);
  }
  end_lookup(&l);
}

static void lookup_api__nulls_are_no_keys(void **state) {
  looked l;
  rows r;
  struct ArrowArray out;
  int64_t at[ROWS];
  (void)state;
  begin_lookup(&l);
  make_rows(&r, 2);
  r.buffers[1][0] = &not_3;
  r.arrays[1].null_count = 1;
  assert_works(tarn_lookup_get(l.lookup, NULL, &r.array, &out, at, &l.f.err), l.f.err);
  assert_int_equal(out.length, 4);
  assert_int_equal(at[3], -1);
  assert_int_equal(at[4], 3);
  out.release(&out);
  assert_works(tarn_lookup_get(l.lookup, NULL, &r.array, &out, NULL, &l.f.err), l.f.err);
  out.release(&out);
  end_lookup(&l);
}

typedef struct fault {
  void (*make)(rows *r);
  const char *message;
} fault;

static void no_children(rows *r) {
  r->array.n_children = 1;
}

static void too_short(rows *r) {
  r->arrays[1].length = ROWS - 1;
}

static void no_values(rows *r) {
  r->buffers[0][1] = NULL;
}

static void null_row(rows *r) {
  r->none[0] = &not_3;
  r->array.null_count = 1;
}

static void no_text(rows *r) {
  r->buffers[1][2] = "k0k\xffk2k3k4";
}

static void descending(rows *r) {
  static const int32_t wrong[ROWS + 1] = {0, 2, 4, 3, 8, 10};
  r->buffers[1][1] = wrong;
}

static void released(rows *r) {
  r->arrays[0].release = NULL;
}

/* With our own schema arrays are looked at as closely as with one that is given. */
static void lookup_api__refuses_arrays_that_are_none(void **state) {
  static const fault faults[] = {
      {no_children, "not what its schema says"},
      {too_short, "an array of 4 values"},
      {no_values, "without values"},
      {null_row, "row 3 is null"},
      {no_text, "not UTF-8"},
      {descending, "offsets"},
      {released, "released"},
  };
  looked l;
  (void)state;
  begin_lookup(&l);
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
    struct ArrowArray out;
    rows r;
    make_rows(&r, 2);
    faults[i].make(&r);
    assert_int_equal(tarn_lookup_get(l.lookup, NULL, &r.array, &out, NULL, &l.f.err),
                     TARN_E_INVALID);
    assert_contains(l.f.err.message, faults[i].message);
    assert_null(out.release);
  }
  end_lookup(&l);
}

static void lookup_api__refuses_values_that_its_columns_cannot_hold(void **state) {
  static const char *const columns[] = {"v"};
  fixture f;
  tarn_lookup_options o = TARN_LOOKUP_OPTIONS_INIT;
  tarn_lookup *all, *keys, *anew;
  tarn_table *before;
  char *local = tn_test_temp_dir();
  int64_t snapshot;
  (void)state;
  begin_with(&f,
             "{\"fields\":[{\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\","
             "\"type\":\"STRING\"},{\"name\":\"v\",\"type\":\"VARCHAR(2)\"}],"
             "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"2\"}}");
  write_rows(&f);
  o.temp_folder = local;
  assert_works(tarn_lookup_open(f.table, &o, &all, &f.err), f.err);
  o.columns = (const char *[]){"s"};
  o.n_columns = 1;
  assert_works(tarn_lookup_open(f.table, &o, &keys, &f.err), f.err);
  assert_works(tarn_table_alter(f.catalog, "db.t", "[{\"retype\":[\"v\"],\"type\":\"STRING\"}]",
                                NULL, &f.err),
               f.err);
  before = f.table;
  f.table = NULL;
  open_table(&f);
  write_rows(&f);
  assert_int_equal(tarn_lookup_refresh(all, &snapshot, &f.err), TARN_E_STATE);
  assert_contains(f.err.message, "the column 'v' has become STRING; it was VARCHAR(2) when this");
  // Who does not read the column goes on.
  assert_works(tarn_lookup_refresh(keys, &snapshot, &f.err), f.err);
  assert_int_equal(snapshot, 2);
  o.columns = columns;
  assert_works(tarn_lookup_open(f.table, &o, &anew, &f.err), f.err);
  tarn_lookup_free(anew);
  tarn_lookup_free(keys);
  tarn_lookup_free(all);
  tarn_table_free(before);
  tn_test_temp_dir_remove(local);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookup_api__refuses_values_that_its_columns_cannot_hold),
      cmocka_unit_test(lookup_api__takes_keys_in_every_shape),
      cmocka_unit_test(lookup_api__nulls_are_no_keys),
      cmocka_unit_test(lookup_api__refuses_arrays_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
