/* Rows whose columns lie in several files side by side; ids and sequence numbers of rows. */
#include <stdio.h>

#include "read_test.h"

#include "base/bytes.h"
#include "codec/hash.h"
#include "datafile/row_tracking.h"

#define TRACKED "row-tracking.enabled=true"
#define EVOLVED "row-tracking.enabled=true;data-evolution.enabled=true"

static void begin(read_test *t, const char *fields) {
  rt_begin(t, 1);
  tm_schema(&t->tm, 0, fields, "", "", EVOLVED);
  rt_open(t, "");
  rt_split(t, false);
}

/* A file of these columns, for the rows from `first` on. */
static tn_data_file *add(read_test *t, const char *name, int64_t first, int64_t sequence,
                         const char *columns, const char *rows, const char *write_cols) {
  tn_data_file *f = rt_add(t, dm_append(&t->tm, "/t/bucket-0", name, columns, rows));
  f->has_first_row_id = first >= 0;
  f->first_row_id = first >= 0 ? first : 0;
  f->min_sequence = f->max_sequence = sequence;
  f->has_write_cols = write_cols != NULL;
  if (write_cols != NULL) {
    f->write_cols = tm_texts(&t->tm, write_cols);
  }
  return f;
}

/* A file of BLOBs "aa,null,b" of one column. */
static tn_data_file *add_blobs(read_test *t, const char *name, int64_t first, int64_t sequence,
                               const char *values, const char *column) {
  tn_buf bytes, index;
  int64_t last = 0, rows = 0;
  tn_data_file file = {.schema_id = t->tm.schema->id, .has_first_row_id = true};
  uint8_t tail[12];
  tn_buf_init(&bytes, &t->tm.env->mem, 1u << 26);
  tn_buf_init(&index, &t->tm.env->mem, 1u << 20);
  for (const char *at = values; *at != '\0'; rows++) {
    size_t n = strcspn(at, ","), from = bytes.len;
    bool is_null = n == 4 && memcmp(at, "null", 4) == 0;
    int64_t length = is_null ? -1 : (int64_t)n + 16;
    uint64_t z = ((uint64_t)(length - last) << 1) ^ (uint64_t)((length - last) >> 63);
    if (!is_null) {
      tn_store_le32(tail, 1481511375u);
      OK(tn_buf_append(&bytes, tail, 4, err));
      OK(tn_buf_append(&bytes, at, n, err));
      tn_store_le64(tail, n + 16);
      OK(tn_buf_append(&bytes, tail, 8, err));
      tn_store_le32(tail, tn_crc32(0, bytes.data + from, bytes.len - from));
      OK(tn_buf_append(&bytes, tail, 4, err));
    }
    for (last = length; z > 0x7f; z >>= 7) {
      OK(tn_buf_append(&index, &(uint8_t){(uint8_t)(z | 0x80)}, 1, err));
    }
    OK(tn_buf_append(&index, &(uint8_t){(uint8_t)z}, 1, err));
    at += n + (at[n] == ',');
  }
  tn_store_le32(tail, (uint32_t)index.len);
  tail[4] = 1;
  OK(tn_buf_append(&bytes, index.data, index.len, err));
  OK(tn_buf_append(&bytes, tail, 5, err));
  OK(tn_storage_memory_put(t->tm.storage, dm_path(&t->tm, "/t/bucket-0", name),
                           tn_buf_slice(&bytes), err));
  file.file_name = tm_text(name);
  file.file_size = (int64_t)bytes.len;
  file.row_count = rows;
  file.first_row_id = first;
  file.min_sequence = file.max_sequence = sequence;
  file.min_key = file.max_key = tn_binary_row_empty();
  file.has_write_cols = true;
  file.write_cols = tm_texts(&t->tm, column);
  tn_buf_reset(&bytes);
  tn_buf_reset(&index);
  return rt_add(t, file);
}

/* Columns by name, those of row tracking, too. */
static void select_columns(read_test *t, const char *names) {
  const tn_schema *schema = t->table->schema;
  t->o.n_fields = 0;
  while (*names != '\0') {
    size_t n = strcspn(names, ",");
    tn_slice name = tn_slice_of(names, n);
    int32_t at = tn_fields_find(schema->fields, schema->n_fields, name);
    int32_t tracked = tn_fields_find(tn_row_tracking_fields, TN_N_ROW_TRACKING_FIELDS, name);
    assert_true(at >= 0 || tracked >= 0);
    t->fields[t->o.n_fields++] = at >= 0 ? schema->fields[at] : tn_row_tracking_fields[tracked];
    names += n + (names[n] == ',');
  }
  t->o.fields = t->fields;
}

/* A predicate on a column of row tracking. */
static const tn_pred *tracked_pred(read_test *t, int32_t id, tn_pred_op op, int64_t a, int64_t b) {
  tn_datum literals[2] = {{.v.i64 = a}, {.v.i64 = b}};
  return tn_pred_leaf(&t->tm.arena, op, tn_row_tracking_field(id), literals,
                      op == TN_PRED_BETWEEN || op == TN_PRED_IN ? 2 : 1);
}

/* rt_read() makes the predicate of t->where; this one is given. */
static void assert_where(read_test *t, const tn_pred *pred, const char *expected) {
  tn_read *read;
  t->o.predicate = pred;
  t->text.len = 0;
  OK(tn_read_create(t->tm.env, &t->o, t->split_ptrs, t->n_splits, &read, err));
  for (;;) {
    tn_batch batch;
    int64_t n;
    OK(tn_read_next(read, &batch, err));
    n = batch.n_rows;
    if (n > 0) {
      dm_text(&batch, &t->text);
    }
    tn_batch_reset(t->tm.env, &batch);
    if (n == 0) {
      break;
    }
  }
  tn_read_free(read);
  OK(tn_buf_append(&t->text, "", 1, err));
  assert_string_equal((const char *)t->text.data, expected);
}

/* ------------------------------------------------------------------ columns from files */

static void evolution__takes_each_column_from_its_newest_file(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a STRING|2 b STRING");
  add(&t, "a.avro", 0, 1, "id INT|a STRING|b STRING", "1|a1|b1;2|a2|b2;3|a3|b3", NULL);
  add(&t, "b.avro", 0, 3, "b STRING", "x;null;z", "b");
  add(&t, "c.avro", 0, 2, "a STRING|b STRING", "p|no;q|no;r|no", "a,b");
  rt_assert(&t, "1|p|x;2|q|null;3|r|z"); /* a null in the newer file is the value */
  rt_select(&t, "b");
  rt_assert(&t, "x;null;z");
  rt_select(&t, "a,id,a");
  rt_assert(&t, "p|1|p;q|2|q;r|3|r");
  rt_end(&t);
}

static void evolution__reads_files_of_single_groups(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a STRING");
  t.splits[0].is_raw_convertible = true;
  add(&t, "b.avro", 2, 2, "id INT|a STRING", "3|c", NULL);
  add(&t, "a.avro", 0, 1, "id INT", "1;2", "id");
  rt_assert(&t, "1|null;2|null;3|c");
  t.where = "a IS NULL AND id > 1";
  rt_assert(&t, "2|null");
  rt_end(&t);
}

static void evolution__reads_no_file_for_columns_that_none_holds(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a STRING|2 n INT");
  add(&t, "a.avro", 0, 1, "id INT", "1;2", "id");
  add(&t, "gone.avro", 0, 2, "a STRING", "x;y", "a");
  tn_storage_memory_remove(t.tm.storage, "/t/bucket-0/gone.avro");
  rt_select(&t, "n,id");
  rt_assert(&t, "null|1;null|2");
  rt_select(&t, "a");
  rt_assert_fails(&t, TARN_E_NOT_FOUND, "gone.avro");
  rt_end(&t);
}

static void evolution__follows_columns_through_schemas(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT|1 old INT|2 gone INT", "", "", EVOLVED);
  tn_data_file first =
      dm_append(&t.tm, "/t/bucket-0", "a.avro", "id INT|old INT|gone INT", "1|10|7;2|20|7");
  tm_schema(&t.tm, 1, "0 id INT|1 new BIGINT|3 gone INT", "", "", EVOLVED);
  rt_open(&t, "");
  rt_split(&t, false);
  tn_data_file *f = rt_add(&t, first);
  f->has_first_row_id = true;
  add(&t, "b.avro", 0, 2, "gone INT", "8;9", "gone");
  rt_assert(&t, "1|10|8;2|20|9");
  t.where = "new = 20";
  rt_assert(&t, "2|20|9");
  rt_end(&t);
}

static void evolution__reads_files_over_a_part_of_the_rows(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT|a INT", "1|1;2|2;3|3;4|4", NULL);
  add(&t, "b.avro", 1, 2, "a INT", "20;30", "a");
  add(&t, "c.avro", 3, 3, "a INT", "40;50", "a");
  rt_assert(&t, "1|1;2|20;3|30;4|40;null|50");
  t.where = "a > 2 AND a < 50";
  rt_assert(&t, "2|20;3|30;4|40");
  rt_end(&t);
}

static void evolution__does_not_trust_the_order_of_files(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "d.avro", 2, 4, "a INT", "9", "a");
  add(&t, "a.avro", 0, 1, "id INT|a INT", "1|1;2|2", NULL);
  add(&t, "c.avro", 2, 3, "id INT|a INT", "3|3", NULL);
  add(&t, "b.avro", 0, 2, "a INT", "7;8", "a");
  rt_assert(&t, "1|7;2|8;3|9");
  rt_end(&t);
}

static void evolution__counts_rows_without_columns(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT", "1;2;3", "id");
  add(&t, "b.avro", 0, 2, "a INT", "1;2;3", "a");
  rt_select(&t, "");
  rt_assert(&t, "();();()");
  t.o.limit = 2;
  rt_assert(&t, "();()");
  rt_end(&t);
}

static void evolution__gives_kinds_of_rows(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT", "1;2", "id");
  add(&t, "b.avro", 0, 2, "a INT", "3;4", "a");
  t.o.with_row_kind = true;
  rt_assert(&t, "0|1|3;0|2|4");
  rt_end(&t);
}

/* ------------------------------------------------------------------ filters */

static void evolution__filters_exactly_over_all_files(void **state) {
  static const struct {
    const char *where, *rows;
  } cases[] = {
      {"b = 2", "2|y|2"},
      {"a = 'x' AND b = 1", "1|x|1"},
      {"a = 'x' OR b = 4", "1|x|1;3|x|3;4|null|4"},
      {"a = 'old'", ""}, /* only in the older file */
      {"id > 1 AND a IS NOT NULL", "2|y|2;3|x|3"},
      {"id < 0", ""},
  };
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a STRING|2 b INT");
  add(&t, "a.avro", 0, 1, "id INT|a STRING", "1|old;2|old;3|old;4|old", "id,a");
  add(&t, "b.avro", 0, 2, "a STRING", "x;y;x;null", "a");
  add(&t, "c.avro", 0, 3, "b INT", "1;2;3;4", "b");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    t.where = cases[i].where;
    rt_assert(&t, cases[i].rows);
  }
  rt_select(&t, "b");
  t.where = "a = 'x'";
  rt_assert(&t, "1;3");
  rt_end(&t);
}

static void evolution__drops_rows_that_any_vector_deletes(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT|a INT", "1|1;2|2;3|3;4|4;5|5", NULL);
  rt_delete(&t, "0,3");
  add(&t, "b.avro", 1, 2, "a INT", "20;30;40", "a");
  rt_delete(&t, "1");
  rt_assert(&t, "2|20;5|5");
  t.where = "a >= 5";
  rt_assert(&t, "2|20;5|5");
  rt_end(&t);
}

static void evolution__gives_the_same_in_batches_of_any_size(void **state) {
  read_test t;
  tn_buf left, right, whole;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  tn_buf_init(&left, &t.tm.env->mem, 1u << 20);
  tn_buf_init(&right, &t.tm.env->mem, 1u << 20);
  tn_buf_init(&whole, &t.tm.env->mem, 1u << 20);
  for (int i = 0; i < 300; i++) {
    OK(tn_buf_printf(&left, err, "%s%d", i > 0 ? ";" : "", i));
    OK(tn_buf_printf(&right, err, "%s%d", i > 0 ? ";" : "", i % 7));
    if (i % 7 == 3 && i >= 50) {
      OK(tn_buf_printf(&whole, err, "%s%d|3", whole.len > 0 ? ";" : "", i));
    }
  }
  OK(tn_buf_append(&left, "", 1, err));
  OK(tn_buf_append(&right, "", 1, err));
  OK(tn_buf_append(&whole, "", 1, err));
  add(&t, "a.avro", 0, 1, "id INT", (const char *)left.data, "id");
  add(&t, "b.avro", 0, 2, "a INT", (const char *)right.data, "a");
  t.where = "a = 3 AND id >= 50";
  for (int64_t n = 1; n < 400; n += 37) {
    t.o.batch_rows = n;
    rt_assert(&t, (const char *)whole.data);
  }
  tn_buf_reset(&left);
  tn_buf_reset(&right);
  tn_buf_reset(&whole);
  rt_end(&t);
}

static void evolution__gives_the_same_with_threads(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 4);
  tm_schema(&t.tm, 0, "0 id INT|1 a INT", "", "", EVOLVED);
  rt_open(&t, "");
  rt_split(&t, false);
  for (int i = 0; i < 8; i++) {
    char name[16], id[16], a[16];
    snprintf(name, sizeof(name), "a%d.avro", i);
    snprintf(id, sizeof(id), "%d;%d", 2 * i, 2 * i + 1);
    snprintf(a, sizeof(a), "%d;%d", i, -i);
    add(&t, name, 2 * i, 1, "id INT", id, "id");
    name[0] = 'b';
    add(&t, name, 2 * i, 2, "a INT", a, "a");
  }
  t.sorts_rows = true;
  t.where = "id >= 10";
  rt_assert(&t, "10|5;11|-5;12|6;13|-6;14|7;15|-7");
  rt_end(&t);
}

/* ------------------------------------------------------------------ BLOBs */

static void evolution__puts_rolled_files_of_blobs_side_by_side(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 p BLOB|2 q BLOB");
  add(&t, "a.avro", 10, 1, "id INT", "1;2;3;4;5", "id");
  add_blobs(&t, "p1.blob", 10, 1, "aa,null", "p");
  add_blobs(&t, "p2.blob", 12, 1, "bbb,c,dd", "p");
  add_blobs(&t, "q.blob", 10, 1, "1,2,3,4,5", "q");
  add_blobs(&t, "q2.blob", 13, 2, "44,null", "q");
  rt_assert(&t, "1|aa|1;2|null|2;3|bbb|3;4|c|44;5|dd|null");
  t.where = "id = 2 OR id = 5";
  rt_assert(&t, "2|null|2;5|dd|null");
  rt_select(&t, "p");
  rt_assert(&t, "null;dd");
  rt_end(&t);
}

static void evolution__reads_only_the_blobs_of_rows_that_are_left(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 p BLOB");
  add(&t, "a.avro", 0, 1, "id INT", "1;2;3", "id");
  add_blobs(&t, "p1.blob", 0, 1, "aa,bb", "p");
  add_blobs(&t, "p2.blob", 2, 1, "cc", "p");
  tn_storage_memory_remove(t.tm.storage, "/t/bucket-0/p1.blob");
  t.where = "id = 3";
  rt_assert(&t, "3|cc");
  t.where = "id >= 2";
  rt_assert_fails(&t, TARN_E_NOT_FOUND, "p1.blob");
  rt_end(&t);
}

static void evolution__tells_of_blobs_that_no_file_holds(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 p BLOB");
  add(&t, "a.avro", 0, 1, "id INT", "1;2;3", "id");
  add_blobs(&t, "p1.blob", 0, 1, "aa,bb", "p");
  rt_assert_fails(&t, TARN_E_CORRUPT, "rows 2 to 2");
  rt_select(&t, "id");
  rt_assert(&t, "1;2;3");
  rt_end(&t);
}

static void evolution__gives_descriptors_when_asked(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT|1 p BLOB", "", "", EVOLVED);
  rt_open(&t, "blob-as-descriptor=true");
  rt_split(&t, false)->bucket_path = "file:/t/bucket-0";
  add(&t, "a.avro", 0, 1, "id INT", "1", "id");
  add_blobs(&t, "p.blob", 0, 1, "abc", "p");
  tarn_error error;
  rt_select(&t, "p");
  assert_int_equal(rt_read(&t, &error), TARN_OK);
  assert_int_equal(t.text.len, 13 + strlen("file:/t/bucket-0/p.blob") + 16);
  assert_memory_equal(t.text.data + 13, "file:/t/bucket-0/p.blob", 23);
  rt_end(&t);
}

/* ------------------------------------------------------------------ row tracking */

static void tracking__tells_ids_and_sequence_numbers(void **state) {
  read_test t;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT|a INT", "1|1;2|2", NULL);
  add(&t, "b.avro", 0, 4, "a INT", "3;4", "a");
  add(&t, "c.avro", 2, 2, "id INT|a INT", "3|3", NULL);
  select_columns(&t, "id,_ROW_ID,_SEQUENCE_NUMBER");
  rt_assert(&t, "1|0|4;2|1|4;3|2|2"); /* the number of the newest file of a row */
  assert_where(&t, tracked_pred(&t, TN_FIELD_ID_ROW_ID, TN_PRED_GE, 1, 0), "2|1|4;3|2|2");
  assert_where(&t, tracked_pred(&t, TN_FIELD_ID_ROW_ID, TN_PRED_IN, 0, 2), "1|0|4;3|2|2");
  assert_where(&t, tracked_pred(&t, TN_FIELD_ID_SEQUENCE_NUMBER, TN_PRED_EQ, 2, 0), "3|2|2");
  select_columns(&t, "_ROW_ID");
  rt_assert(&t, "0;1;2");
  rt_end(&t);
}

static void tracking__reads_no_file_whose_ids_are_not_wanted(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT", "", "", TRACKED);
  rt_open(&t, "");
  rt_split(&t, true);
  add(&t, "a.avro", 0, 1, "id INT", "1;2;3", NULL);
  add(&t, "b.avro", 3, 2, "id INT", "4;5", NULL);
  tn_storage_memory_remove(t.tm.storage, "/t/bucket-0/a.avro");
  select_columns(&t, "id,_ROW_ID");
  assert_where(&t, tracked_pred(&t, TN_FIELD_ID_ROW_ID, TN_PRED_BETWEEN, 4, 9), "5|4");
  rt_end(&t);
}

static void tracking__prefers_what_the_file_stores(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT", "", "", TRACKED);
  rt_open(&t, "");
  rt_split(&t, true);
  /* a compaction, without ids in its entry; then one that has both */
  add(&t, "a.avro", -1, 30, "id INT|_ROW_ID BIGINT|_SEQUENCE_NUMBER BIGINT", "1|7|3;2|null|null",
      "id,_ROW_ID,_SEQUENCE_NUMBER");
  add(&t, "b.avro", 100, 9, "id INT|_ROW_ID BIGINT|_SEQUENCE_NUMBER BIGINT", "3|null|5;4|8|null",
      "id,_ROW_ID,_SEQUENCE_NUMBER");
  select_columns(&t, "id,_ROW_ID,_SEQUENCE_NUMBER");
  rt_assert(&t, "1|7|3;2|null|30;3|100|5;4|8|9");
  assert_where(&t, tracked_pred(&t, TN_FIELD_ID_ROW_ID, TN_PRED_LT, 9, 0), "1|7|3;4|8|9");
  rt_end(&t);
}

static void tracking__needs_the_option(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT", "", "", "");
  rt_open(&t, "");
  rt_split(&t, true);
  add(&t, "a.avro", -1, 1, "id INT", "1", NULL);
  select_columns(&t, "id,_ROW_ID");
  rt_assert_fails(&t, TARN_E_UNSUPPORTED, "row-tracking.enabled");
  rt_end(&t);
}

/* ------------------------------------------------------------------ faults */

static void evolution__tells_of_wrong_entries(void **state) {
  read_test t;
  tn_data_file *f;
  (void)state;
  begin(&t, "0 id INT|1 a INT");
  add(&t, "a.avro", 0, 1, "id INT", "1;2", "id");
  f = add(&t, "b.avro", 0, 2, "a INT", "1;2", "a");
  f->first_row_id = -5;
  rt_assert_fails(&t, TARN_E_CORRUPT, "b.avro");
  f->first_row_id = INT64_MAX;
  rt_assert_fails(&t, TARN_E_CORRUPT, "b.avro");
  f->first_row_id = 0;
  f->row_count = 3; /* the file holds two */
  rt_assert_fails(&t, TARN_E_CORRUPT, "b.avro");
  f->row_count = -1;
  rt_assert_fails(&t, TARN_E_CORRUPT, "b.avro");
  rt_end(&t);
}

static void evolution__goes_on_without_lost_files_when_allowed(void **state) {
  read_test t;
  (void)state;
  rt_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 id INT|1 a INT", "", "", EVOLVED);
  rt_open(&t, "scan.ignore-lost-files=true");
  rt_split(&t, false);
  add(&t, "a.avro", 0, 1, "id INT", "1;2", "id");
  add(&t, "b.avro", 0, 2, "a INT", "1;2", "a");
  add(&t, "c.avro", 2, 3, "id INT|a INT", "3|3", NULL);
  tn_storage_memory_remove(t.tm.storage, "/t/bucket-0/b.avro");
  rt_assert(&t, "3|3"); /* rows without one of their files are not shown */
  rt_select(&t, "id");
  rt_assert(&t, "1;2;3");
  rt_end(&t);
}

static void make_evolved(read_test *t, tarn_env *env) {
  rt_begin_in(t, env);
  tm_schema(&t->tm, 0, "0 id INT|1 a INT|2 p BLOB", "", "", EVOLVED);
  rt_open(t, "");
  rt_split(t, false);
  add(t, "a.avro", 0, 1, "id INT", "1;2;3", "id");
  rt_delete(t, "1");
  add(t, "b.avro", 0, 2, "a INT", "1;2;3", "a");
  add_blobs(t, "p1.blob", 0, 1, "aa,bb", "p");
  add_blobs(t, "p2.blob", 2, 1, "cc", "p");
  select_columns(t, "p,a,id,_ROW_ID");
  t->o.predicate = tm_where(&t->tm, t->table, "a > 1 OR id = 1");
}

static void evolution__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(rt_fail_each_allocation(make_evolved, 2) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(evolution__takes_each_column_from_its_newest_file),
      cmocka_unit_test(evolution__reads_files_of_single_groups),
      cmocka_unit_test(evolution__reads_no_file_for_columns_that_none_holds),
      cmocka_unit_test(evolution__follows_columns_through_schemas),
      cmocka_unit_test(evolution__reads_files_over_a_part_of_the_rows),
      cmocka_unit_test(evolution__does_not_trust_the_order_of_files),
      cmocka_unit_test(evolution__counts_rows_without_columns),
      cmocka_unit_test(evolution__gives_kinds_of_rows),
      cmocka_unit_test(evolution__filters_exactly_over_all_files),
      cmocka_unit_test(evolution__drops_rows_that_any_vector_deletes),
      cmocka_unit_test(evolution__gives_the_same_in_batches_of_any_size),
      cmocka_unit_test(evolution__gives_the_same_with_threads),
      cmocka_unit_test(evolution__puts_rolled_files_of_blobs_side_by_side),
      cmocka_unit_test(evolution__reads_only_the_blobs_of_rows_that_are_left),
      cmocka_unit_test(evolution__tells_of_blobs_that_no_file_holds),
      cmocka_unit_test(evolution__gives_descriptors_when_asked),
      cmocka_unit_test(tracking__tells_ids_and_sequence_numbers),
      cmocka_unit_test(tracking__reads_no_file_whose_ids_are_not_wanted),
      cmocka_unit_test(tracking__prefers_what_the_file_stores),
      cmocka_unit_test(tracking__needs_the_option),
      cmocka_unit_test(evolution__tells_of_wrong_entries),
      cmocka_unit_test(evolution__goes_on_without_lost_files_when_allowed),
      cmocka_unit_test(evolution__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
