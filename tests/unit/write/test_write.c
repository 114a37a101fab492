/* test_write.c - rows, files and messages of tables with and without a primary key. */
#include "write_maker.h"

static const char *const kv = "0 k INT NOT NULL|1 v STRING";

/* ------------------------------------------------------------------ primary keys */

static void pk__the_last_row_of_a_key_stays_and_every_row_has_a_number(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1");
  wm_write(&m, "1|a;2|b;1|c;-D 2|b");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[2 rows, 2-3, -1]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|c");
  wm_end(&m);
}

static void pk__numbers_go_on_where_the_latest_snapshot_ends(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1");
  wm_write(&m, "1|a;2|b");
  wm_commit(&m);
  wm_write(&m, "3|c"); /* the writer goes on */
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 2-2]");
  wm_commit_it(&m, &c);
  wm_open(&m); /* a new one */
  wm_write(&m, "1|d");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 3-3]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|d;2|b;3|c");
  m.options.ignores_previous = true;
  wm_open(&m);
  wm_write(&m, "9|x");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 0-0]");
  wm_end(&m);
}

static void pk__a_bucket_opened_late_sees_what_others_committed(void **state) {
  write_maker m, other;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 p INT NOT NULL", "p", "k,p", "bucket=1");
  wm_write(&m, "1|1");
  wm_commit(&m);
  other = m;
  other.write = NULL;
  wm_open(&other);
  wm_write(&other, "1|2;1|2;1|2");
  wm_commit(&other);
  wm_close(&other);
  m.identifier = other.identifier;
  m.tm = other.tm;
  wm_write(&m, "1|2");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "p=2/b0[1 rows, 3-3]");
  wm_end(&m);
}

static void pk__a_bucket_that_had_no_rows_for_a_commit_looks_again(void **state) {
  write_maker m, other;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 p INT NOT NULL", "p", "k,p", "bucket=1");
  wm_write(&m, "1|1;1|2");
  wm_commit(&m);
  wm_write(&m, "1|1"); /* 2 has none */
  wm_commit(&m);
  other = m;
  other.write = NULL;
  wm_open(&other);
  wm_write(&other, "1|1;1|1;1|2;1|2;1|2");
  wm_commit(&other);
  wm_close(&other);
  m.identifier = other.identifier;
  m.tm = other.tm;
  wm_write(&m, "1|1;1|2");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "p=1/b0[1 rows, 2-2] p=2/b0[1 rows, 4-4]");
  wm_end(&m);
}

static void pk__rows_are_sorted_by_key_within_buckets(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 k STRING NOT NULL|1 v INT", "", "k", "bucket=2");
  wm_write(&m, "prefix-longer-b|1;prefix-longer-a|2;prefix-longer-|3;x|4;|5;prefix-longer-b|6");
  c = wm_prepare(&m);
  wm_commit_it(&m, &c);
  assert_int_equal(c.n_messages, 2);
  assert_string_equal(wm_rows(&m), "prefix-longer-a|2;prefix-longer-b|6;prefix-longer-|3;x|4;|5");
  wm_end(&m);
}

static void pk__another_bucket_count_is_refused_in_javas_words(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 p STRING NOT NULL", "p", "k,p", "bucket=1");
  wm_write(&m, "1|a");
  wm_commit(&m);
  wm_close(&m);
  wm_table(&m, "0 k INT NOT NULL|1 p STRING NOT NULL", "p", "k,p", "bucket=2");
  wm_open(&m);
  assert_int_equal(wm_try_write(&m, "1|a", &err), TARN_E_INVALID);
  assert_contains(err.message,
                  "Try to write partition {p=a/} with a new bucket num 2, but the previous bucket "
                  "num is 1. Please switch to batch mode, and perform INSERT OVERWRITE to rescale "
                  "current data layout first.");
  assert_int_equal(wm_try_write(&m, "1|b", &err), TARN_E_STATE);
  wm_open(&m); /* other partitions can be written */
  wm_write(&m, "1|b");
  wm_end(&m);
}

/* ------------------------------------------------------------------ engines */

static void pk__every_engine_merges_what_is_flushed(void **state) {
  static const struct {
    const char *options, *rows, *file, *table;
  } cases[] = {
      {"merge-engine=partial-update", "1|a|null;1|null|5;2|b|1", "b0[2 rows, 1-2]", "1|a|5;2|b|1"},
      {"merge-engine=aggregation;fields.b.aggregate-function=sum", "1|a|2;1|b|5;2|c|1",
       "b0[2 rows, 1-2]", "1|b|7;2|c|1"},
      {"merge-engine=deduplicate;sequence.field=b", "1|a|9;1|b|5;1|c|null", "b0[1 rows, 0-0]",
       "1|a|9"},
      {"sequence.field=b;sequence.field.sort-order=descending", "1|a|9;1|b|5;1|c|null;1|d|7",
       "b0[1 rows, 1-1]", "1|b|5"},
      {"sequence.field=b", "1|a|5;1|b|5", "b0[1 rows, 1-1]", "1|b|5"},
      {"sequence.field=k,b", "1|a|5;1|b|4", "b0[1 rows, 0-0]", "1|a|5"},
      {"ignore-delete=true", "1|a|1;-D 1|b|2;-U 1|c|3", "b0[1 rows, 0-0]", "1|a|1"},
      {"ignore-update-before=true", "1|a|1;-U 1|c|3;-D 2|x|1", "b0[2 rows, 0-1, -1]", "1|a|1"},
      {"data-file.thin-mode=true", "2|a|1;1|b|2;2|c|3", "b0[2 rows, 1-2]", "1|b|2;2|c|3"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    tn_committable c;
    char options[256];
    snprintf(options, sizeof(options), "bucket=1;%s", cases[i].options);
    wm_begin(&m, "0 k INT NOT NULL|1 a STRING|2 b INT", "", "k", options);
    wm_write(&m, cases[i].rows);
    c = wm_prepare(&m);
    assert_string_equal(wm_messages(&m, &c), cases[i].file);
    wm_commit_it(&m, &c);
    assert_string_equal(wm_rows(&m), cases[i].table);
    wm_end(&m);
  }
}

static void first_row__keeps_the_first_and_refuses_retractions(void **state) {
  write_maker m;
  tn_committable c;
  tarn_error err;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1;merge-engine=first-row");
  wm_write(&m, "1|a;1|b;2|c");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[2 rows, 0-2]");
  wm_write(&m, "-D 1|a");
  assert_int_equal(tn_write_prepare(m.write, 7, &m.tm.arena, &c.messages, &c.n_messages, &err),
                   TARN_E_INVALID);
  assert_contains(err.message, "ignore-delete");
  wm_end(&m);
}

/* Alone of its key it would pass the merger as it is, and no reader could merge it. */
static void engines__refuse_a_retraction_that_is_alone(void **state) {
  static const struct {
    const char *options, *row, *message; /* NULL: it is taken */
  } cases[] = {
      {"merge-engine=partial-update", "-D 1|a|1", "can not accept delete records"},
      {"merge-engine=partial-update", "-U 1|a|1", "can not accept delete records"},
      {"merge-engine=partial-update;ignore-delete=true", "-D 1|a|1", NULL},
      {"merge-engine=partial-update;partial-update.remove-record-on-delete=true", "-D 1|a|1", NULL},
      {"merge-engine=partial-update;fields.b.sequence-group=a", "-D 1|a|1", NULL},
      {"merge-engine=aggregation;fields.b.aggregate-function=max", "-D 1|a|1",
       "'max' does not support retraction"},
      {"merge-engine=aggregation;fields.b.aggregate-function=max", "-U 1|a|1",
       "'max' does not support retraction"},
      {"merge-engine=aggregation;fields.b.aggregate-function=max;fields.b.ignore-retract=true",
       "-U 1|a|1", NULL},
      {"merge-engine=aggregation;fields.b.aggregate-function=max;"
       "aggregation.remove-record-on-delete=true",
       "-D 1|a|1", NULL},
      {"merge-engine=aggregation;fields.b.aggregate-function=sum", "-U 1|a|1", NULL},
      {"merge-engine=deduplicate", "-U 1|a|1", NULL},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    tn_committable c = {0};
    tarn_error err = {0};
    char options[256];
    tarn_status st;
    snprintf(options, sizeof(options), "bucket=1;%s", cases[i].options);
    wm_begin(&m, "0 k INT NOT NULL|1 a STRING|2 b INT", "", "k", options);
    wm_write(&m, "2|a|1");
    wm_write(&m, cases[i].row);
    st = tn_write_prepare(m.write, 7, &m.tm.arena, &c.messages, &c.n_messages, &err);
    assert_int_equal(st, cases[i].message != NULL ? TARN_E_INVALID : TARN_OK);
    if (cases[i].message != NULL) {
      assert_contains(err.message, cases[i].message);
    }
    wm_end(&m);
  }
}

static void changelog_input__has_every_row_sorted(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1;changelog-producer=input");
  wm_write(&m, "2|a;1|b;-U 2|a;+U 2|c");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[2 rows, 1-3]~[4 rows, 0-3, -1]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|b;2|c");
  wm_end(&m);
}

/* ------------------------------------------------------------------ appends */

static void append__keeps_the_order_of_rows(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 a INT|1 b STRING", "", "", "bucket=-1");
  wm_write(&m, "3|x;1|y");
  wm_write(&m, "2|null");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[3 rows, 0-2]");
  assert_int_equal(c.messages[0].total_buckets, -1);
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|y;2|null;3|x");
  wm_write(&m, "4|z");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 3-3]"); /* of this writer */
  wm_open(&m);
  wm_write(&m, "4|z");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 0-0]"); /* of a new one */
  wm_end(&m);
}

static void append__fixed_buckets_go_on_with_their_numbers(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 a INT|1 b STRING", "", "", "bucket=2;bucket-key=a");
  wm_write(&m, "1|x;2|y;3|z;4|w;5|v;null|u");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[5 rows, 0-4] b1[1 rows, 0-0]");
  wm_commit_it(&m, &c);
  wm_open(&m);
  wm_write(&m, "1|x;2|y");
  c = wm_prepare(&m);
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|x;1|x;2|y;2|y;3|z;4|w;5|v;null|u");
  wm_end(&m);
}

static void append__partitions_one_after_the_other_and_mixed(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 a INT|1 p STRING|2 q INT", "p,q", "", "bucket=-1");
  wm_write(&m, "1|x|1;2|y|1;3|x|1;4|null|2;5|y|1;6|x|2");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c),
                      "p=x/q=1/b0[2 rows, 0-1] p=y/q=1/b0[2 rows, 0-1] "
                      "p=__DEFAULT_PARTITION__/q=2/b0[1 rows, 0-0] p=x/q=2/b0[1 rows, 0-0]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|x|1;2|y|1;3|x|1;4|null|2;5|y|1;6|x|2");
  wm_end(&m);
}

static void append__many_partitions_wait_and_lose_nothing(void **state) {
  write_maker m;
  tn_committable c;
  char rows[16384] = "";
  (void)state;
  wm_begin(&m, "0 a INT|1 p INT", "p", "", "bucket=-1;write-max-writers-to-spill=4");
  wm_write(&m, "1|1;2|2;3|1");
  for (int i = 0; i < 200; i++) {
    size_t at = strlen(rows);
    snprintf(rows + at, sizeof(rows) - at, "%s%d|%d", i > 0 ? ";" : "", i, i % 50);
  }
  wm_write(&m, rows);
  c = wm_prepare(&m);
  assert_int_equal(c.n_messages, 50);
  assert_int_equal(wm_count_files(&m), 52); /* two were open before */
  wm_commit_it(&m, &c);
  wm_write(&m, "7|1");
  wm_commit(&m);
  assert_contains(wm_rows(&m), "199|49;");
  wm_end(&m);
}

static void append__refuses_retractions_unless_they_are_ignored(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  wm_begin(&m, "0 a INT", "", "", "bucket=-1");
  assert_int_equal(wm_try_write(&m, "+U 1;-D 2", &err), TARN_E_INVALID);
  assert_contains(err.message,
                  "row 1: Append-only writer can only accept insert or update_after row kind, but "
                  "current row kind is: DELETE.");
  wm_write(&m, "+U 1"); /* nothing of the batch before is there */
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1");
  wm_end(&m);
  wm_begin(&m, "0 a INT", "", "", "bucket=-1;ignore-delete=true");
  wm_write(&m, "1;-D 2;-U 3;4");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1;4");
  wm_end(&m);
}

static void columns__of_rows_that_exist_tell_the_first_row(void **state) {
  write_maker m;
  tn_committable c;
  int32_t columns[] = {1};
  (void)state;
  wm_begin(&m, "0 a INT|1 b STRING", "", "",
           "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true");
  wm_write(&m, "1|x;2|y;3|z");
  wm_commit(&m);
  m.options.columns = columns;
  m.options.n_columns = 1;
  m.options.first_row_id = 0;
  wm_open(&m);
  wm_write(&m, "p;q");
  wm_write(&m, "r");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[3 rows, 0-2, from 0]");
  assert_true(c.messages[0].new_files.items[0].has_write_cols);
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|p;2|q;3|r");
  wm_end(&m);
}

static void postpone__rows_wait_as_they_come(void **state) {
  write_maker m;
  tn_committable c;
  const tn_data_file *file;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 p INT NOT NULL|2 v STRING", "p", "k,p", "bucket=-2");
  wm_write(&m, "3|1|a;1|1|b;-D 3|1|a;7|2|x");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "p=1/b-2[3 rows, -1--1, -1] p=2/b-2[1 rows, -1--1]");
  assert_int_equal(c.messages[0].total_buckets, -2);
  file = &c.messages[0].new_files.items[0];
  assert_memory_equal(file->file_name.data, "data--u-u-s-0-w-", 16);
  assert_memory_equal(file->file_name.data + file->file_name.len - 7, "-0.avro", 7);
  assert_true(file->has_value_stats_cols && file->value_stats_cols.count == 0);
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), ""); /* until a compaction gives them buckets */
  wm_end(&m);
}

static void postpone__many_partitions_wait_in_memory_first(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 p INT NOT NULL", "p", "k,p",
           "bucket=-2;write-max-writers-to-spill=2");
  wm_write(&m, "3|1;1|2;2|3;3|1;-D 3|1");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c),
                      "p=1/b-2[3 rows, -1--1, -1] p=2/b-2[1 rows, -1--1] p=3/b-2[1 rows, -1--1]");
  wm_end(&m);
}

/* ------------------------------------------------------------------ dynamic buckets */

/* The hashes in the index file of message i, as hexadecimal bytes in any order; "" without one. */
static const char *index_bytes(write_maker *m, const tn_committable *c, int32_t i) {
  const tn_commit_message *message = &c->messages[i];
  tn_buf bytes, text;
  const char *path;
  if (message->new_indexes.n == 0) {
    return "";
  }
  path = tn_arena_printf(&m->tm.arena, "/t/index/%.*s",
                         TN_SLICE_ARG(message->new_indexes.items[0].file_name));
  tn_buf_init(&bytes, &m->tm.env->mem, 1 << 20);
  tn_buf_init(&text, &m->tm.env->mem, 1 << 20);
  OK(tn_storage_read_all(m->table->storage, path, &bytes, err));
  assert_int_equal(bytes.len, message->new_indexes.items[0].file_size);
  assert_int_equal(bytes.len, 4 * message->new_indexes.items[0].row_count);
  for (size_t k = 0; k < bytes.len; k++) {
    OK(tn_buf_printf(&text, err, "%02x%s", bytes.data[k], k % 4 == 3 ? " " : ""));
  }
  path = tn_arena_strndup(&m->tm.arena, (const char *)text.data, text.len);
  tn_buf_reset(&bytes);
  tn_buf_reset(&text);
  return path;
}

static void dynamic__keys_fill_bucket_after_bucket_and_stay(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=-1;dynamic-bucket.target-row-num=2");
  wm_write(&m, "1|a;2|b;3|c;4|d;5|e;1|f");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[2 rows, 1-2] b1[2 rows, 0-1] b2[1 rows, 0-0]");
  assert_int_equal(c.messages[0].total_buckets, -1);
  assert_int_equal(strlen(index_bytes(&m, &c, 0)), 18);
  assert_int_equal(strlen(index_bytes(&m, &c, 2)), 9);
  wm_commit_it(&m, &c);
  wm_open(&m); /* knows them from the index files */
  wm_write(&m, "3|x;6|g;1|y");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b1[1 rows, 2-2] b2[1 rows, 1-1] b0[1 rows, 3-3]");
  assert_string_equal(index_bytes(&m, &c, 0), "");
  assert_int_equal(strlen(index_bytes(&m, &c, 1)), 18); /* both keys of it */
  wm_commit_it(&m, &c);
  wm_write(&m, "7|h"); /* this one goes on */
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b3[1 rows, 0-0]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|y;2|b;3|x;4|d;5|e;6|g;7|h");
  m.options.ignores_previous = true;
  wm_open(&m);
  wm_write(&m, "7|h");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 0-0]");
  wm_end(&m);
}

static void dynamic__index_files_have_the_hashes_that_java_has(void **state) {
  write_maker m;
  tn_committable c;
  const char *bytes;
  (void)state;
  wm_begin(&m, "0 k STRING NOT NULL|1 p INT NOT NULL", "p", "k,p", "bucket=-1");
  wm_write(&m, "a|1;abcdefghi|1;a|2");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "p=1/b0[2 rows, 0-1] p=2/b0[1 rows, 0-0]");
  bytes = index_bytes(&m, &c, 0);
  assert_contains(bytes, "3839545e"); /* 943281246 */
  assert_contains(bytes, "3514b8aa"); /* 890550442 */
  assert_string_equal(index_bytes(&m, &c, 1), "3839545e ");
  wm_end(&m);
}

static void dynamic__full_buckets_take_more_when_there_may_be_no_others(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k",
           "bucket=-1;dynamic-bucket.target-row-num=1;dynamic-bucket.max-buckets=2");
  wm_write(&m, "1|a;2|b;3|c;4|d;5|e;6|f;7|g");
  c = wm_prepare(&m);
  assert_int_equal(c.n_messages, 2);
  wm_commit_it(&m, &c);
  wm_open(&m);
  wm_write(&m, "7|x;1|y");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|y;2|b;3|c;4|d;5|e;6|f;7|x");
  wm_end(&m);
}

/* ------------------------------------------------------------------ checks */

static void nulls__are_refused_with_row_and_column(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  wm_begin(&m, "0 k INT NOT NULL|1 a STRING NOT NULL|2 b INT", "", "k", "bucket=1");
  assert_int_equal(wm_try_write(&m, "1|x|1;2|y|null;3|null|1;null|z|1", &err), TARN_E_INVALID);
  assert_contains(err.message, "row 2: Cannot write null to non-null column(a)");
  assert_int_equal(wm_try_write(&m, "null|null|1", &err), TARN_E_INVALID);
  assert_contains(err.message, "row 0: Cannot write null to non-null column(k)");
  wm_end(&m);
}

static void rowkind_field__tells_the_kind(void **state) {
  write_maker m;
  tarn_error err;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1;rowkind.field=v");
  wm_write(&m, "1|+I;2|+I;2|-D;3|+U");
  wm_commit(&m);
  assert_string_equal(wm_rows(&m), "1|+I;3|+U");
  assert_int_equal(wm_try_write(&m, "1|+I;2|x", &err), TARN_E_INVALID);
  assert_contains(err.message, "row 1: Unsupported short string 'x' for row kind.");
  assert_int_equal(wm_try_write(&m, "1|null", &err), TARN_E_INVALID);
  assert_contains(err.message, "row 0: Row kind cannot be null.");
  wm_end(&m);
}

static void tables__that_cannot_be_written_are_refused_by_name(void **state) {
  static const struct {
    const char *keys, *partitions, *options, *text;
    tarn_status status;
  } cases[] = {
      {"", "", "bucket=2", "bucket-key", TARN_E_INVALID},
      {"k", "", "bucket=1;num-levels=1", "Number of levels must be at least 2.", TARN_E_INVALID},
      {"k", "", "bucket=1;rowkind.field=k", "only support string type for rowkind, but k is INT",
       TARN_E_INVALID},
      {"k", "", "bucket=1;rowkind.field=z", "Rowkind field: 'z' can not be found in table schema.",
       TARN_E_INVALID},
      {"", "", "bucket=-1;file.format=orc", "orc", TARN_E_UNSUPPORTED},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m = {.options = {.user = "u"}};
    tarn_error err;
    tm_begin(&m.tm, 1);
    wm_table(&m, "0 k INT NOT NULL|1 p INT", cases[i].partitions, cases[i].keys, cases[i].options);
    assert_int_equal(wm_try_open(&m, &err), cases[i].status);
    assert_contains(err.message, cases[i].text);
    wm_end(&m);
  }
}

/* ------------------------------------------------------------------ ends */

static void free__removes_what_was_not_handed_out(void **state) {
  static const struct {
    const char *keys, *options;
  } cases[] = {{"", "bucket=-1"}, {"k", "bucket=2;changelog-producer=input"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    tn_committable c;
    wm_begin(&m, kv, "", cases[i].keys, cases[i].options);
    wm_write(&m, "1|a;2|b");
    c = wm_prepare(&m);
    wm_write(&m, "3|c;4|d;5|e");
    assert_int_equal(tn_write_refresh(m.write, NULL), TARN_OK);
    wm_write(&m, "3|c;4|d;5|e");
    wm_close(&m);
    assert_int_equal(wm_count_files(&m), i == 0 ? 1 : 2);
    wm_commit_it(&m, &c);
    assert_string_equal(wm_rows(&m), "1|a;2|b");
    wm_end(&m);
  }
}

static void refresh__lets_buckets_start_anew(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1");
  wm_write(&m, "1|a;2|b");
  c = wm_prepare(&m);
  OK(tn_commit_abort(m.table, &c, err));
  OK(tn_write_refresh(m.write, err));
  wm_write(&m, "1|c");
  c = wm_prepare(&m);
  assert_string_equal(wm_messages(&m, &c), "b0[1 rows, 0-0]");
  wm_commit_it(&m, &c);
  assert_string_equal(wm_rows(&m), "1|c");
  assert_int_equal(wm_count_files(&m), 1);
  wm_end(&m);
}

static void prepare__of_nothing_has_no_messages(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, kv, "", "k", "bucket=1");
  c = wm_prepare(&m);
  assert_int_equal(c.n_messages, 0);
  wm_write(&m, "");
  c = wm_prepare(&m);
  assert_int_equal(c.n_messages, 0);
  wm_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pk__the_last_row_of_a_key_stays_and_every_row_has_a_number),
      cmocka_unit_test(pk__numbers_go_on_where_the_latest_snapshot_ends),
      cmocka_unit_test(pk__a_bucket_opened_late_sees_what_others_committed),
      cmocka_unit_test(pk__a_bucket_that_had_no_rows_for_a_commit_looks_again),
      cmocka_unit_test(pk__rows_are_sorted_by_key_within_buckets),
      cmocka_unit_test(pk__another_bucket_count_is_refused_in_javas_words),
      cmocka_unit_test(pk__every_engine_merges_what_is_flushed),
      cmocka_unit_test(first_row__keeps_the_first_and_refuses_retractions),
      cmocka_unit_test(engines__refuse_a_retraction_that_is_alone),
      cmocka_unit_test(changelog_input__has_every_row_sorted),
      cmocka_unit_test(append__keeps_the_order_of_rows),
      cmocka_unit_test(append__fixed_buckets_go_on_with_their_numbers),
      cmocka_unit_test(append__partitions_one_after_the_other_and_mixed),
      cmocka_unit_test(append__many_partitions_wait_and_lose_nothing),
      cmocka_unit_test(append__refuses_retractions_unless_they_are_ignored),
      cmocka_unit_test(columns__of_rows_that_exist_tell_the_first_row),
      cmocka_unit_test(postpone__rows_wait_as_they_come),
      cmocka_unit_test(postpone__many_partitions_wait_in_memory_first),
      cmocka_unit_test(dynamic__keys_fill_bucket_after_bucket_and_stay),
      cmocka_unit_test(dynamic__index_files_have_the_hashes_that_java_has),
      cmocka_unit_test(dynamic__full_buckets_take_more_when_there_may_be_no_others),
      cmocka_unit_test(nulls__are_refused_with_row_and_column),
      cmocka_unit_test(rowkind_field__tells_the_kind),
      cmocka_unit_test(tables__that_cannot_be_written_are_refused_by_name),
      cmocka_unit_test(free__removes_what_was_not_handed_out),
      cmocka_unit_test(refresh__lets_buckets_start_anew),
      cmocka_unit_test(prepare__of_nothing_has_no_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
