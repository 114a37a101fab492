/* test_stream_views.c - streams of $audit_log and $binlog: filters on what they show, some of their
 * columns, limits, and checkpoints between any two batches. */
#include <inttypes.h>
#include <stdlib.h>

#include "api_test.h"

#define TEXT 1024

static const char *const schema_json =
    "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"name\":\"v\",\"type\":\"INT\"}],"
    "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\",\"changelog-producer\":\"input\"}}";

typedef struct row {
  int8_t kind;
  int32_t k, v;
} row;

enum { INSERT, BEFORE, AFTER, DELETE };

static void commit(fixture *f, tarn_writer *writer, tarn_committer *committer, int64_t id,
                   const row *rows, int32_t n) {
  int8_t kinds[16];
  int32_t k[16], v[16];
  const void *kind_buffers[] = {NULL, kinds}, *k_buffers[] = {NULL, k}, *v_buffers[] = {NULL, v},
             *none[] = {NULL};
  struct ArrowArray columns[3] = {
      {.length = n, .n_buffers = 2, .buffers = kind_buffers, .release = keep_array},
      {.length = n, .n_buffers = 2, .buffers = k_buffers, .release = keep_array},
      {.length = n, .n_buffers = 2, .buffers = v_buffers, .release = keep_array}};
  struct ArrowArray *children[] = {&columns[0], &columns[1], &columns[2]};
  struct ArrowArray array = {.length = n,
                             .n_buffers = 1,
                             .buffers = none,
                             .n_children = 3,
                             .children = children,
                             .release = keep_array};
  struct ArrowSchema fields[3] = {{.format = "c", .name = "_row_kind", .release = keep_schema},
                                  {.format = "i", .name = "k", .release = keep_schema},
                                  {.format = "i", .name = "v", .release = keep_schema}};
  struct ArrowSchema *field_list[] = {&fields[0], &fields[1], &fields[2]};
  struct ArrowSchema schema = {
      .format = "+s", .name = "", .n_children = 3, .children = field_list, .release = keep_schema};
  tarn_messages *messages;
  for (int32_t i = 0; i < n; i++) {
    kinds[i] = rows[i].kind;
    k[i] = rows[i].k;
    v[i] = rows[i].v;
  }
  assert_works(tarn_writer_write(writer, &schema, &array, &f->err), f->err);
  assert_works(tarn_writer_prepare(writer, id, &messages, &f->err), f->err);
  assert_works(tarn_committer_commit(committer, id, messages, NULL, NULL, &f->err), f->err);
  tarn_messages_free(messages);
}

/* Four commits; the third one ends with a -U that has no +U. */
static void begin_changes(fixture *f) {
  static const row first[] = {{INSERT, 1, 10}, {INSERT, 2, 20}};
  static const row second[] = {{BEFORE, 1, 10}, {AFTER, 1, 11}, {DELETE, 2, 20}};
  static const row third[] = {{BEFORE, 1, 11}};
  static const row fourth[] = {{INSERT, 3, 30}, {BEFORE, 3, 30}, {AFTER, 3, 31}};
  tarn_writer *writer;
  tarn_committer *committer;
  begin_with(f, schema_json);
  assert_works(tarn_writer_create(f->table, NULL, &writer, &f->err), f->err);
  assert_works(tarn_committer_create(f->table, NULL, &committer, &f->err), f->err);
  commit(f, writer, committer, 1, first, 2);
  commit(f, writer, committer, 2, second, 3);
  commit(f, writer, committer, 3, third, 1);
  commit(f, writer, committer, 4, fourth, 3);
  tarn_committer_free(committer);
  tarn_writer_free(writer);
}

/* ------------------------------------------------------------------ rows as text */

static void put(char *out, const char *text) {
  size_t n = strlen(out);
  assert_true(n + strlen(text) < TEXT);
  memcpy(out + n, text, strlen(text) + 1);
}

static void put_int(char *out, int32_t value) {
  char digits[16];
  (void)snprintf(digits, sizeof(digits), "%" PRId32, value);
  put(out, digits);
}

static void put_value(char *out, const struct ArrowSchema *schema, const struct ArrowArray *a,
                      int64_t i) {
  if (schema->format[0] == 'u') {
    const int32_t *offsets = a->buffers[1];
    char text[8] = "";
    memcpy(text, (const char *)a->buffers[2] + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
    put(out, text);
  } else if (schema->format[0] == 'i') {
    put_int(out, ((const int32_t *)a->buffers[1])[i]);
  } else if (schema->format[0] == 'c') {
    put_int(out, ((const int8_t *)a->buffers[1])[i]);
  } else {
    const int32_t *offsets = a->buffers[1];
    assert_string_equal(schema->format, "+l");
    put(out, "[");
    for (int32_t e = offsets[i]; e < offsets[i + 1]; e++) {
      put(out, e > offsets[i] ? "," : "");
      put_int(out, ((const int32_t *)a->children[0]->buffers[1])[e]);
    }
    put(out, "]");
  }
}

/* ------------------------------------------------------------------ following */

typedef struct ask {
  const char *table;
  const char *where;
  const char *columns[3];
  int64_t limit; /* 0: none */
  int32_t with_row_kind;
} ask;

typedef struct followed {
  tarn_table *table;
  tarn_predicate *predicate;
  tarn_scan *scan;
  tarn_stream *stream;
  tarn_stream_reader *reader;
} followed;

/* state: NULL: anew. */
static void follow(fixture *f, const ask *a, int64_t batch_rows, const tarn_string *state,
                   followed *out) {
  static const tarn_option from_1[] = {{"scan.mode", "from-timestamp"},
                                       {"scan.timestamp-millis", "0"}};
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  memset(out, 0, sizeof(*out));
  assert_works(tarn_table_open(f->env, f->catalog, a->table, from_1, 2, &out->table, &f->err),
               f->err);
  if (a->where != NULL) {
    assert_works(tarn_predicate_parse(out->table, a->where, &out->predicate, NULL, &f->err),
                 f->err);
  }
  o.predicate = out->predicate;
  o.columns = a->columns[0] != NULL ? a->columns : NULL;
  while (o.n_columns < 3 && a->columns[o.n_columns] != NULL) {
    o.n_columns++;
  }
  o.batch_rows = batch_rows;
  o.limit = a->limit > 0 ? a->limit : -1;
  o.with_row_kind = a->with_row_kind;
  assert_works(tarn_scan_create(out->table, &o, &out->scan, &f->err), f->err);
  assert_works(tarn_stream_create(out->scan, NULL, &out->stream, &f->err), f->err);
  if (state != NULL) {
    assert_works(tarn_stream_restore(out->stream, state->data, state->length, NULL, &f->err),
                 f->err);
  }
  assert_works(tarn_stream_reader_create(out->stream, 0, &out->reader, &f->err), f->err);
}

static void leave(followed *w) {
  tarn_stream_reader_free(w->reader);
  tarn_stream_free(w->stream);
  tarn_scan_free(w->scan);
  tarn_predicate_free(w->predicate);
  tarn_table_free(w->table);
}

/* As many batches, or all that there are; how many there were. */
static int64_t read_batches(fixture *f, followed *w, int64_t most, char *out) {
  struct ArrowSchema schema;
  int64_t n = 0;
  assert_works(tarn_stream_schema(w->stream, &schema, &f->err), f->err);
  for (; n < most; n++) {
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    struct ArrowArray array;
    assert_works(tarn_stream_reader_next(w->reader, &array, &batch, &f->err), f->err);
    if (array.release == NULL) {
      break;
    }
    assert_true(batch.snapshot_id >= 1 && batch.snapshot_id <= 4);
    for (int64_t i = 0; i < array.length; i++) {
      put(out, out[0] != '\0' ? ";" : "");
      for (int64_t c = 0; c < array.n_children; c++) {
        put(out, c > 0 ? " " : "");
        put_value(out, schema.children[c], array.children[c], i);
      }
    }
    array.release(&array);
  }
  schema.release(&schema);
  return n;
}

static const struct {
  ask ask;
  const char *rows;
} cases[] = {
    {{"db.t$audit_log", NULL, {NULL}, 0, 0},
     "+I 1 10;+I 2 20;-U 1 10;+U 1 11;-D 2 20;-U 1 11;+I 3 30;-U 3 30;+U 3 31"},
    {{"db.t$audit_log", "rowkind = '+U'", {NULL}, 0, 0}, "+U 1 11;+U 3 31"},
    {{"db.t$audit_log", "rowkind in ('-U', '-D') and k = 1", {"v", "rowkind"}, 0, 0},
     "10 -U;11 -U"},
    {{"db.t$audit_log", "rowkind <> '-D' and v > 10", {"k"}, 0, 0}, "2;1;1;3;3;3"},
    {{"db.t$audit_log", "rowkind = '-D' or v = 31", {"v"}, 0, 1}, "0 20;0 31"},
    {{"db.t$audit_log", "rowkind = '+I'", {"k"}, 2, 0}, "1;2"},
    {{"db.t$audit_log", "v = 99", {NULL}, 0, 0}, ""},
    {{"db.t$binlog", NULL, {NULL}, 0, 0},
     "+I [1] [10];+I [2] [20];+U [1,1] [10,11];-D [2] [20];-U [1] [11];+I [3] [30];"
     "+U [3,3] [30,31]"},
    {{"db.t$binlog", "rowkind = '+U'", {"v"}, 0, 0}, "[10,11];[30,31]"},
    {{"db.t$binlog", "rowkind = '-U' or rowkind = '-D'", {"rowkind", "k"}, 0, 0}, "-D [2];-U [1]"},
    {{"db.t$binlog", NULL, {"v"}, 3, 0}, "[10];[20];[10,11]"},
    {{"db.t$binlog", "rowkind <> '+I'", {"v"}, 2, 1}, "0 [10,11];0 [20]"},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static void views__show_what_passes_the_filter(void **state) {
  fixture f;
  (void)state;
  begin_changes(&f);
  for (size_t i = 0; i < N_CASES; i++) {
    for (int64_t batch_rows = 1; batch_rows <= 4; batch_rows++) {
      char text[TEXT] = "";
      followed w;
      follow(&f, &cases[i].ask, batch_rows, NULL, &w);
      (void)read_batches(&f, &w, 100, text);
      if (strcmp(text, cases[i].rows) != 0) {
        fail_msg("case %zu, batches of %d: %s, expected %s", i, (int)batch_rows, text,
                 cases[i].rows);
      }
      leave(&w);
    }
  }
  end(&f);
}

/* Stopped behind any batch, the rest comes from the state, whatever waited for its other half. */
static void views__go_on_from_a_checkpoint_anywhere(void **state) {
  fixture f;
  (void)state;
  begin_changes(&f);
  for (size_t i = 0; i < N_CASES; i++) {
    for (int64_t most = 0, n = most; n == most && cases[i].ask.limit == 0; most++) {
      char text[TEXT] = "";
      tarn_string bytes;
      followed w;
      follow(&f, &cases[i].ask, 1, NULL, &w);
      n = read_batches(&f, &w, most, text);
      assert_works(tarn_stream_checkpoint(w.stream, 1, 0, &bytes, &f.err), f.err);
      leave(&w);
      follow(&f, &cases[i].ask, 2, &bytes, &w);
      (void)read_batches(&f, &w, 100, text);
      leave(&w);
      tarn_string_free(&bytes);
      if (strcmp(text, cases[i].rows) != 0) {
        fail_msg("case %zu behind %d batches: %s, expected %s", i, (int)most, text, cases[i].rows);
      }
    }
  }
  end(&f);
}

/* Rows that a limit kept back are not behind the position. */
static void views__a_limit_leaves_the_rest_to_the_state(void **state) {
  static const char *const whole = "[10];[20];[10,11];[20];[11];[30];[30,31]";
  fixture f;
  (void)state;
  begin_changes(&f);
  for (int64_t limit = 1; limit <= 7; limit++) {
    ask a = {"db.t$binlog", NULL, {"v"}, limit, 0};
    char text[TEXT] = "";
    tarn_string bytes;
    followed w;
    follow(&f, &a, 0, NULL, &w);
    (void)read_batches(&f, &w, 100, text);
    assert_works(tarn_stream_checkpoint(w.stream, 1, 0, &bytes, &f.err), f.err);
    leave(&w);
    a.limit = 0;
    follow(&f, &a, 0, &bytes, &w);
    (void)read_batches(&f, &w, 100, text);
    leave(&w);
    tarn_string_free(&bytes);
    assert_string_equal(text, whole);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views__show_what_passes_the_filter),
      cmocka_unit_test(views__go_on_from_a_checkpoint_anywhere),
      cmocka_unit_test(views__a_limit_leaves_the_rest_to_the_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
