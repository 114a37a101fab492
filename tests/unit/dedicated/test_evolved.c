/* test_evolved.c - tables with data evolution compacted: rows, their ids and sequence numbers stay;
 * files; what others do at the same time. */
#include <stdio.h>
#include <stdlib.h>

#include "datafile/data_writer.h"
#include "datafile/row_tracking.h"
#include "dedicated/compact_table.h"
#include "format/blob/blob_descriptor.h"
#include "plan/entries.h"
#include "support/torture.h"
#include "write_maker.h"

#define TRACKED "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true"
#define FIELDS "0 k INT|1 a STRING|2 b STRING"
#define MAX_COLUMNS 8

static tn_table_compact_request request_of(const write_maker *m, bool is_full) {
  return (tn_table_compact_request){
      .table = m->table, .is_full = is_full, .user = "c", .identifier = INT64_MAX};
}

static tn_table_compact_result compact(write_maker *m, bool is_full) {
  const tn_table_compact_request q = request_of(m, is_full);
  tn_table_compact_result result;
  OK(tn_table_compact(&q, &result, NULL, err));
  return result;
}

static void commit_rows(write_maker *m, const char *rows) {
  m->options.columns = NULL;
  wm_open(m);
  wm_write(m, rows);
  wm_commit(m);
  wm_close(m);
}

/* Values of one column for rows that are there, as a commit that is still to be made. */
static tn_committable prepare_column(write_maker *m, int32_t column, int64_t first,
                                     const char *values) {
  tn_committable c;
  m->options.columns = &column;
  m->options.n_columns = 1;
  m->options.first_row_id = first;
  wm_open(m);
  wm_write(m, values);
  c = wm_prepare(m);
  wm_close(m);
  m->options.columns = NULL;
  return c;
}

static void commit_column(write_maker *m, int32_t column, int64_t first, const char *values) {
  tn_committable c = prepare_column(m, column, first, values);
  wm_commit_it(m, &c);
}

static tn_snapshot latest(write_maker *m) {
  tn_snapshot s;
  int64_t id;
  OK(tn_snapshot_latest_id(m->tm.env, m->tm.storage, "/t", &id, err));
  OK(tn_snapshot_read(m->tm.env, m->tm.storage, "/t", id, &m->tm.arena, &s, err));
  return s;
}

/* Rows with _ROW_ID and _SEQUENCE_NUMBER behind them, as they come. */
static const char *tracked_rows(write_maker *m) {
  const tn_schema *schema = m->table->schema;
  tn_field fields[MAX_COLUMNS];
  int32_t n = schema->n_fields;
  tn_read_options o = {.table = m->table, .fields = fields, .limit = -1};
  tn_scan scan = {.table = m->table, .limit = -1};
  tn_buf text;
  const char *kept;
  assert_true(n + TN_N_ROW_TRACKING_FIELDS <= MAX_COLUMNS);
  memcpy(fields, schema->fields, (size_t)n * sizeof(*fields));
  memcpy(fields + n, tn_row_tracking_fields, sizeof(tn_row_tracking_fields));
  o.n_fields = n + TN_N_ROW_TRACKING_FIELDS;
  tn_buf_init(&text, &m->tm.env->mem, 1u << 24);
  wm_scan_text(m, &scan, &o, &text);
  kept = tn_arena_strndup(&m->tm.arena, text.len > 0 ? (const char *)text.data : "", text.len);
  tn_buf_reset(&text);
  return kept;
}

/* "0+5 k,a,b s1-2": rows, columns, sequence numbers of each live file, in the order of plans. */
static const char *live_files(write_maker *m) {
  tn_scan scan = {.table = m->table, .limit = -1, .keeps_stats = true};
  char *out = tn_arena_calloc(&m->tm.arena, 1, 8192);
  tn_plan *plan;
  OK(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    for (int32_t k = 0; k < plan->splits[i].n_files; k++) {
      const tn_data_file *f = &plan->splits[i].files[k];
      const tn_slice *columns = f->write_cols.items;
      size_t len = strlen(out);
      len += (size_t)snprintf(out + len, 8192 - len, "%s%lld+%lld ", len > 0 ? "; " : "",
                              (long long)f->first_row_id, (long long)f->row_count);
      for (int32_t c = 0; f->has_write_cols && c < f->write_cols.count; c++) {
        len += (size_t)snprintf(out + len, 8192 - len, "%s%.*s", c > 0 ? "," : "",
                                TN_SLICE_ARG(columns[c]));
      }
      snprintf(out + len, 8192 - len, "%s s%lld-%lld", f->has_write_cols ? "" : "*",
               (long long)f->min_sequence, (long long)f->max_sequence);
      assert_true(f->has_first_row_id);
    }
  }
  tn_plan_release(plan);
  return out;
}

/* ------------------------------------------------------------------ rows and files */

static void compaction__keeps_rows_ids_and_numbers(void **state) {
  static const char *const formats[] = {
      "", ";file.format=avro", ";metadata.stats-dense-store=false;fields.a.stats-mode=none",
      ";fields.a.stats-mode=none", ";metadata.stats-mode=none"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(formats); i++) {
    write_maker m;
    tn_table_compact_result r;
    char options[200];
    snprintf(options, sizeof(options), TRACKED "%s", formats[i]);
    wm_begin(&m, FIELDS, "", "", options);
    commit_rows(&m, "1|a|x;2|b|y");
    commit_rows(&m, "3|c|r");
    commit_column(&m, 2, 0, "p;q");
    commit_rows(&m, "4|d|s");
    assert_string_equal(live_files(&m), "0+2 * s1-1; 0+2 b s3-3; 2+1 * s2-2; 3+1 * s4-4");
    (void)compact(&m, false); /* of five, by the table's option */
    assert_int_equal(latest(&m).id, 4);
    assert_string_equal(tracked_rows(&m), "1|a|p|0|3;2|b|q|1|3;3|c|r|2|2;4|d|s|3|4");
    r = compact(&m, true);
    assert_string_equal(live_files(&m), "0+4 * s1-4");
    assert_string_equal(tracked_rows(&m), "1|a|p|0|3;2|b|q|1|3;3|c|r|2|2;4|d|s|3|4");
    assert_int_equal(latest(&m).commit_kind, TN_COMMIT_COMPACT);
    assert_int_equal(latest(&m).next_row_id, 4);
    assert_int_equal(r.n_files_in, 4);
    assert_int_equal(r.n_rows_in, 6);
    assert_int_equal(r.n_files_out, 1);
    assert_int_equal(r.n_rows_out, 4);
    assert_int_equal(compact(&m, true).last_id, 0);
    /* Once more, of what has numbers of its own. */
    commit_rows(&m, "5|e|t");
    (void)compact(&m, true);
    assert_string_equal(live_files(&m), "0+5 * s1-6");
    assert_string_equal(tracked_rows(&m), "1|a|p|0|3;2|b|q|1|3;3|c|r|2|2;4|d|s|3|4;5|e|t|4|6");
    commit_column(&m, 1, 0, "A;B;C;D;E");
    assert_string_equal(tracked_rows(&m), "1|A|p|0|8;2|B|q|1|8;3|C|r|2|8;4|D|s|3|8;5|E|t|4|8");
    (void)compact(&m, true);
    assert_string_equal(live_files(&m), "0+5 * s1-8");
    assert_string_equal(tracked_rows(&m), "1|A|p|0|8;2|B|q|1|8;3|C|r|2|8;4|D|s|3|8;5|E|t|4|8");
    wm_end(&m);
  }
}

/* What entries list is the table's: Java takes it for that. */
static void entries__list_no_column_of_row_tracking(void **state) {
  write_maker m;
  tn_scan scan = {.limit = -1, .keeps_stats = true};
  tn_plan *plan;
  const tn_data_file *f;
  const tn_slice *names;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED ";fields.a.stats-mode=none");
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  (void)compact(&m, true);
  scan.table = m.table;
  OK(tn_plan_create(&scan, &plan, err));
  assert_int_equal(plan->n_splits, 1);
  f = &plan->splits[0].files[0];
  names = f->value_stats_cols.items;
  assert_false(f->has_write_cols);
  assert_true(f->has_value_stats_cols);
  assert_int_equal(f->value_stats_cols.count, 2);
  assert_true(tn_slice_is(names[0], "k") && tn_slice_is(names[1], "b"));
  tn_plan_release(plan);
  wm_end(&m);
}

static void partitions__are_compacted_apart(void **state) {
  write_maker m;
  tn_table_compact_request q;
  tn_table_compact_result r;
  (void)state;
  wm_begin(&m, "0 p INT|1 v STRING", "p", "", TRACKED);
  commit_rows(&m, "1|a;2|b");
  commit_rows(&m, "1|c");
  commit_rows(&m, "1|d");
  commit_rows(&m, "2|e");
  q = request_of(&m, true);
  OK(tn_table_compact(&q, &r, NULL, err));
  assert_int_equal(r.n_picks, 1); /* only these follow each other */
  assert_string_equal(wm_rows(&m), "1|a;1|c;1|d;2|b;2|e");
  assert_string_equal(live_files(&m), "0+1 * s1-1; 2+2 * s2-3; 1+1 * s1-1; 4+1 * s4-4");
  wm_end(&m);
}

static void blobs__stay_beside_the_new_file(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, "0 k INT|1 pic BLOB|2 b STRING", "", "", TRACKED);
  commit_rows(&m, "1|00|x;2|01|y");
  commit_rows(&m, "3|02|z");
  commit_column(&m, 2, 0, "p;q");
  (void)compact(&m, true);
  assert_string_equal(live_files(&m), "0+2 pic s1-1; 2+1 pic s2-2; 0+3 k,b s1-3");
  assert_string_equal(tracked_rows(&m), "1|00|p|0|3;2|01|q|1|3;3|02|z|2|2");
  assert_int_equal(compact(&m, true).last_id, 0);
  commit_rows(&m, "4|03|w");
  (void)compact(&m, true);
  assert_string_equal(tracked_rows(&m), "1|00|p|0|3;2|01|q|1|3;3|02|z|2|2;4|03|w|3|5");
  wm_end(&m);
}

/* What a column refers to stays where it is. */
static void descriptors__stay_what_they_are(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, "0 k INT|1 pic BLOB", "", "", TRACKED ";blob-descriptor-field=pic");
  tm_put(&m.tm, "other", "0123456");
  for (int i = 0; i < 2; i++) {
    tn_blob_descriptor d = {tn_slice_text("/t/other"), 2 + i, 3};
    size_t bytes = tn_blob_descriptor_bytes(d.uri.len);
    char rows[200];
    tn_batch batch;
    int8_t *kinds;
    int32_t n;
    const tn_field *fields;
    snprintf(rows, sizeof(rows), "%d|%0*d;%d|null", i, (int)bytes, 0, i + 10);
    m.options.columns = NULL;
    wm_open(&m);
    fields = tn_write_fields(m.write, &n);
    wm_batch(m.tm.env, fields, n, rows, &batch, &kinds);
    tn_blob_descriptor_encode(&d, (uint8_t *)batch.columns[1].values + batch.columns[1].offsets[0]);
    OK(tn_write_batch(m.write, &batch, kinds, err));
    tn_batch_reset(m.tm.env, &batch);
    free(kinds);
    wm_commit(&m);
    wm_close(&m);
  }
  (void)compact(&m, true);
  assert_string_equal(live_files(&m), "0+4 * s1-2");
  assert_string_equal(tracked_rows(&m), "0|234|0|1;10|null|1|1;1|345|2|2;11|null|3|2");
  tm_put(&m.tm, "other", "abcdefg");
  assert_string_equal(wm_rows(&m), "0|cde;10|null;11|null;1|def");
  wm_end(&m);
}

/* Vectors that lie in data files, as they were written before they got files of their own. */
static void vectors__in_data_files_are_not_lost(void **state) {
  const tn_option apart = {"vector.file.format", "avro"};
  write_maker m;
  tn_table *inside, *outside;
  (void)state;
  wm_begin(&m, "0 k INT|1 e VECTOR<FLOAT, 2>", "", "", TRACKED ";file.format=avro");
  commit_rows(&m, "1|null");
  commit_rows(&m, "2|null");
  inside = m.table;
  OK(tn_table_create(m.tm.env, m.tm.storage, "db.t", "/t", "main", "/t", inside->schema, &apart, 1,
                     &outside, err));
  m.table = outside;
  assert_int_equal(compact(&m, true).n_picks, 0);
  m.table = inside;
  assert_int_equal(compact(&m, true).n_picks, 1);
  tn_table_release(outside);
  wm_end(&m);
}

static void dry_run__tells_and_writes_nothing(void **state) {
  tn_table_compact_request q;
  tn_table_compact_result r;
  write_maker m;
  tn_buf picks;
  int n;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  n = wm_count_files(&m);
  q = request_of(&m, true);
  q.is_dry_run = true;
  tn_buf_init(&picks, &m.tm.env->mem, 1u << 20);
  OK(tn_table_compact(&q, &r, &picks, err));
  assert_int_equal(r.n_files_in, 2);
  OK(tn_buf_append(&picks, "", 1, err));
  assert_contains((const char *)picks.data,
                  "\"reason\":\"reason=row-ranges first_row=0 rows=2 files=2 bytes=");
  assert_int_equal(wm_count_files(&m), n);
  assert_int_equal(latest(&m).id, 2);
  tn_buf_reset(&picks);
  wm_end(&m);
}

/* ------------------------------------------------------------------ others at the same time */

typedef struct meddler {
  write_maker *m;
  const char *rows;         /* NULL: the commit */
  const tn_committable *of; /* NULL: a compaction */
  bool is_done;
} meddler;

/* Before the job commits. */
static void meddle(void *ctx, const tn_compact_progress *progress) {
  meddler *d = ctx;
  (void)progress;
  if (d->is_done) {
    return;
  }
  d->is_done = true;
  if (d->rows != NULL) {
    commit_rows(d->m, d->rows);
  } else if (d->of != NULL) {
    wm_commit_it(d->m, d->of);
  } else {
    (void)compact(d->m, true);
  }
}

static tarn_status compact_beside(write_maker *m, const char *rows, const tn_committable *of,
                                  tarn_error *err) {
  meddler d = {m, rows, of, false};
  tn_table_compact_request q = request_of(m, true);
  tn_table_compact_result r;
  tarn_status st;
  q.progress = meddle;
  q.progress_ctx = &d;
  st = tn_table_compact(&q, &r, NULL, err);
  assert_true(d.is_done);
  return st;
}

static void rows_meanwhile__stay(void **state) {
  write_maker m;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  OK(compact_beside(&m, "3|c|z", NULL, err));
  assert_string_equal(live_files(&m), "0+2 * s1-2; 2+1 * s3-3");
  assert_string_equal(tracked_rows(&m), "1|a|x|0|1;2|b|y|1|2;3|c|z|2|3");
  wm_end(&m);
}

/* The rows of a file stay its rows: what is written for them meanwhile is newer. */
static void columns_meanwhile__of_the_same_rows_count(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x;2|b|y");
  commit_column(&m, 2, 0, "p;q");
  c = prepare_column(&m, 2, 0, "X;Y");
  OK(compact_beside(&m, NULL, &c, err));
  assert_int_equal(latest(&m).id, 4);
  assert_string_equal(live_files(&m), "0+2 b s3-3; 0+2 * s1-2");
  assert_string_equal(tracked_rows(&m), "1|a|X|0|3;2|b|Y|1|3");
  wm_end(&m);
}

/* The same when the compaction comes first. */
static void columns_behind__of_the_same_rows_count(void **state) {
  write_maker m;
  tn_committable c;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x;2|b|y");
  commit_column(&m, 2, 0, "p;q");
  c = prepare_column(&m, 2, 0, "X;Y");
  (void)compact(&m, true);
  wm_commit_it(&m, &c);
  assert_string_equal(tracked_rows(&m), "1|a|X|0|4;2|b|Y|1|4");
  wm_end(&m);
}

static void columns_meanwhile__of_rows_that_come_together_are_a_conflict(void **state) {
  write_maker m;
  tn_committable c;
  tarn_error why = {0};
  int n;
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  c = prepare_column(&m, 2, 1, "Y");
  n = wm_count_files(&m);
  assert_int_equal(compact_beside(&m, NULL, &c, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "multiple 'MERGE INTO' and 'COMPACT' operations");
  assert_int_equal(wm_count_files(&m), n);
  assert_string_equal(tracked_rows(&m), "1|a|x|0|1;2|b|Y|1|3");
  (void)compact(&m, true);
  assert_string_equal(live_files(&m), "0+2 * s1-3");
  assert_string_equal(tracked_rows(&m), "1|a|x|0|1;2|b|Y|1|3");
  wm_end(&m);
}

static void columns_behind__of_rows_that_came_together_are_a_conflict(void **state) {
  const tn_commit_options options = {.user = "u"};
  write_maker m;
  tn_committable c;
  tn_commit_result result;
  tarn_error why = {0};
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  c = prepare_column(&m, 2, 1, "Y");
  (void)compact(&m, true);
  assert_int_equal(tn_commit_append(m.table, &options, &c, &result, &why), TARN_E_CONFLICT);
  assert_contains(why.message, "multiple 'MERGE INTO' and 'COMPACT' operations");
  assert_string_equal(tracked_rows(&m), "1|a|x|0|1;2|b|y|1|2");
  commit_column(&m, 2, 0, "X;Y");
  assert_string_equal(tracked_rows(&m), "1|a|X|0|4;2|b|Y|1|4");
  wm_end(&m);
}

static void compaction_meanwhile__is_a_conflict_that_leaves_no_file(void **state) {
  write_maker m;
  tarn_error why = {0};
  (void)state;
  wm_begin(&m, FIELDS, "", "", TRACKED);
  commit_rows(&m, "1|a|x");
  commit_rows(&m, "2|b|y");
  assert_int_equal(compact_beside(&m, NULL, NULL, &why), TARN_E_CONFLICT);
  assert_int_equal(wm_count_files(&m), 3);
  assert_string_equal(tracked_rows(&m), "1|a|x|0|1;2|b|y|1|2");
  wm_end(&m);
}

/* ------------------------------------------------------------------ a walk */

#define WALK_STEPS 60
#define WALK_ROWS 400

typedef struct walk_row {
  int32_t k, a, b;
  int64_t sequence;
} walk_row;

typedef struct walk {
  write_maker m;
  uint32_t seed;
  walk_row rows[WALK_ROWS];
  int32_t n_rows;
  int64_t begins[WALK_ROWS + 1]; /* of ranges of rows */
  int32_t n_ranges;
} walk;

static int32_t draw(walk *w, int32_t n) {
  w->seed = w->seed * 1664525u + 1013904223u;
  return (int32_t)((w->seed >> 8) % (uint32_t)n);
}

static void check(walk *w, int step) {
  size_t room = (size_t)w->n_rows * 64 + 1, len = 0;
  char *expected = calloc(1, room);
  const char *found = tracked_rows(&w->m);
  for (int32_t i = 0; i < w->n_rows; i++) {
    const walk_row *r = &w->rows[i];
    len += (size_t)snprintf(expected + len, room - len, "%s%d|a%d|b%d|%d|%lld", i > 0 ? ";" : "",
                            (int)r->k, (int)r->a, (int)r->b, (int)i, (long long)r->sequence);
  }
  if (strcmp(expected, found) != 0) {
    fail_msg("step %d: expected %s, found %s", step, expected, found);
  }
  free(expected);
}

static void append(walk *w) {
  char text[2048] = "";
  int32_t n = 1 + draw(w, 6);
  for (int32_t i = 0; i < n && w->n_rows < WALK_ROWS; i++) {
    walk_row *r = &w->rows[w->n_rows];
    size_t len = strlen(text);
    *r = (walk_row){w->n_rows, draw(w, 100), draw(w, 100), 0};
    snprintf(text + len, sizeof(text) - len, "%s%d|a%d|b%d", i > 0 ? ";" : "", (int)r->k, (int)r->a,
             (int)r->b);
    w->n_rows++;
  }
  commit_rows(&w->m, text);
  for (int64_t i = w->begins[w->n_ranges]; i < w->n_rows; i++) {
    w->rows[i].sequence = latest(&w->m).id;
  }
  w->begins[++w->n_ranges] = w->n_rows;
}

static void update(walk *w) {
  int32_t range = draw(w, w->n_ranges), column = 1 + draw(w, 2);
  int64_t begin = w->begins[range], end = w->begins[range + 1];
  char *text = calloc((size_t)(end - begin) + 1, 8);
  for (int64_t i = begin; i < end; i++) {
    int32_t value = draw(w, 100);
    *(column == 1 ? &w->rows[i].a : &w->rows[i].b) = value;
    sprintf(text + strlen(text), "%s%c%d", i > begin ? ";" : "", column == 1 ? 'a' : 'b',
            (int)value);
  }
  commit_column(&w->m, column, begin, text);
  for (int64_t i = begin; i < end; i++) {
    w->rows[i].sequence = latest(&w->m).id;
  }
  free(text);
}

/* The ranges as plans have them. */
static void find_ranges(walk *w) {
  tn_scan scan = {.table = w->m.table, .limit = -1, .keeps_stats = true};
  tn_plan *plan;
  int64_t next = 0;
  w->n_ranges = 0;
  OK(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    for (int32_t k = 0; k < plan->splits[i].n_files; k++) {
      const tn_data_file *f = &plan->splits[i].files[k];
      if (f->first_row_id == next) {
        w->begins[w->n_ranges++] = next;
        next += f->row_count;
      }
    }
  }
  assert_int_equal(next, w->n_rows);
  w->begins[w->n_ranges] = next;
  tn_plan_release(plan);
}

static void walk__leaves_every_row_as_it_was(void **state) {
  static const char *const options[] = {
      "", ";target-file-size=2kb;source.split.open-file-cost=512b;compaction.min.file-num=3",
      ";file.format=avro;compaction.min.file-num=2", ";source.split.target-size=1kb"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(options) * 2; i++) {
    walk *w = calloc(1, sizeof(*w));
    char all[300];
    int64_t n_compactions = 0;
    w->seed = (uint32_t)i + 1;
    snprintf(all, sizeof(all), TRACKED "%s", options[i / 2]);
    wm_begin(&w->m, FIELDS, "", "", all);
    append(w);
    for (int step = 0; step < WALK_STEPS; step++) {
      int32_t what = draw(w, 10);
      if (what < 5) {
        append(w);
      } else if (what < 8) {
        update(w);
      } else {
        n_compactions += compact(&w->m, what == 9).n_commits;
        find_ranges(w);
      }
      check(w, step);
    }
    assert_true(n_compactions > 2);
    wm_end(&w->m);
    free(w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compaction__keeps_rows_ids_and_numbers),
      cmocka_unit_test(entries__list_no_column_of_row_tracking),
      cmocka_unit_test(partitions__are_compacted_apart),
      cmocka_unit_test(blobs__stay_beside_the_new_file),
      cmocka_unit_test(descriptors__stay_what_they_are),
      cmocka_unit_test(vectors__in_data_files_are_not_lost),
      cmocka_unit_test(dry_run__tells_and_writes_nothing),
      cmocka_unit_test(rows_meanwhile__stay),
      cmocka_unit_test(columns_meanwhile__of_the_same_rows_count),
      cmocka_unit_test(columns_behind__of_the_same_rows_count),
      cmocka_unit_test(columns_meanwhile__of_rows_that_come_together_are_a_conflict),
      cmocka_unit_test(columns_behind__of_rows_that_came_together_are_a_conflict),
      cmocka_unit_test(compaction_meanwhile__is_a_conflict_that_leaves_no_file),
      cmocka_unit_test(walk__leaves_every_row_as_it_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
