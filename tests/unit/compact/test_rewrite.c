/* test_rewrite.c - sections of runs rewritten: rows, changelog, marks, refusals, failures. */
#include "rewrite_maker.h"

#include <errno.h>
#include <stdio.h>

#include "datafile/row_tracking.h"
#include "support/files.h"
#include "support/torture.h"

typedef struct rewrite_case {
  const char *options; /* besides file.format=avro */
  tn_rewrite_mode mode;
  int32_t output_level; /* 0: 5 */
  bool keeps_deletes, no_data, has_marks;
  const char *files[8];
  const char *expected;
} rewrite_case;

static void open_case(rewrite_maker *m, tarn_env *env, const rewrite_case *c, const char *columns,
                      const char *format) {
  char options[512];
  snprintf(options, sizeof(options), "bucket=1;file.format=%s%s%s", format,
           c->options[0] != '\0' ? ";" : "", c->options);
  rm_open_in(m, env, columns, "k", options);
  m->request.mode = c->mode;
  m->request.output_level = c->output_level > 0 ? c->output_level : 5;
  m->request.drops_deletes = !c->keeps_deletes;
  m->request.writes_data = !c->no_data;
  if (c->has_marks) {
    m->request.marks = (tn_rewrite_marks){rm_mark, m};
  }
  for (int i = 0; i < 8 && c->files[i] != NULL; i++) {
    rm_file(m, c->files[i]);
  }
}

static void run_cases(const rewrite_case *cases, size_t n, const char *columns) {
  for (size_t i = 0; i < n; i++) {
    static const char *const formats[] = {"avro", "parquet"};
    for (int f = 0; f < 2; f++) {
      rewrite_maker m;
      open_case(&m, NULL, &cases[i], columns, formats[f]);
      rm_assert(&m, cases[i].expected);
      rm_close(&m);
    }
  }
}

#define KV "k INT NOT NULL|v STRING"
#define KSV "k INT NOT NULL|s INT|v STRING"
#define KSUM "k INT NOT NULL|n INT"

/* ------------------------------------------------------------------ plain */

static void rewrite__merges_plainly(void **state) {
  static const rewrite_case cases[] = {
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|+|1|c;4|-|2|d", "0L5 1|+|1|a;2|+|2|b;2|+|3|x"},
       .expected = "[3|+I|1|c;2|+I|3|x]"},
      /* Retractions stay where something older may lie below. */
      {"", TN_REWRITE_PLAIN, 3, .keeps_deletes = true,
       .files = {"0L0 3|u|1|c;4|-|2|d", "0L3 1|+|1|a;2|+|2|b"}, .expected = "[3|+U|1|c;4|-D|2|d]"},
      /* All gone: no file. */
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|-|1|c", "0L5 1|+|1|a"}, .expected = ""},
      /* Sections of one run and of more go to one writer. */
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 5|+|1|a;6|-|2|b", "1L0 7|+|4|e", "1L5 1|+|4|d;2|+|6|f"},
       .expected = "[5|+I|1|a;7|+I|4|e;2|+I|6|f]"},
      /* Rows that a vector deletes are no rows. */
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L4 5|+|1|a;6|+|2|b;7|+|3|c ~1", "0L5 1|+|1|d;2|+|2|e ~0"},
       .expected = "[5|+I|1|a;2|+I|2|e;7|+I|3|c]"},
      {"", TN_REWRITE_PLAIN, 5, .files = {"0L5 5|+|1|a;6|+|2|b;7|+|3|c ~0,2"},
       .expected = "[6|+I|2|b]"},
      {"ignore-delete=true", TN_REWRITE_PLAIN, 5, .files = {"0L0 3|-|1|c", "0L5 1|+|1|a"},
       .expected = "[1|+I|1|a]"},
      {"merge-engine=first-row", TN_REWRITE_PLAIN, 5, .files = {"0L4 3|+|1|c", "0L5 1|+|1|a"},
       .expected = "[1|+I|1|a]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

static void rewrite__orders_by_sequence_fields(void **state) {
  static const rewrite_case cases[] = {
      {"sequence.field=s", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|4|c;4|+|2|9|d", "0L5 1|+|1|5|a;2|+|2|8|b"},
       .expected = "[1|+I|1|5|a;4|+I|2|9|d]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSV);
}

static void rewrite__folds(void **state) {
  static const rewrite_case cases[] = {
      {"merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|10;4|+|2|1", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|15;4|+I|2|1;2|+I|3|7]"},
      /* A lone retraction is taken unchanged ... */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_PLAIN, 3,
       .keeps_deletes = true, .files = {"0L0 3|-|1|10", "0L3 2|+|3|7"},
       .expected = "[3|-D|1|10;2|+I|3|7]"},
      /* ... but not where the table needs lookup. */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum;force-lookup=true",
       TN_REWRITE_LOOKUP, 3, .keeps_deletes = true, .files = {"0L0 3|-|1|10", "0L3 2|+|3|7"},
       .expected = "[3|+I|1|-10;2|+I|3|7]"},
      {"merge-engine=partial-update", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|null;4|+|2|1", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|5;4|+I|2|1;2|+I|3|7]"},
      /* Of rows at levels > 0 one counts: the other's value is in it. */
      {"merge-engine=aggregation;fields.n.aggregate-function=sum;force-lookup=true",
       TN_REWRITE_PLAIN, 5, .files = {"0L4 3|+|1|12", "0L5 1|+|1|5;2|+|3|7"},
       .expected = "[3|+I|1|12;2|+I|3|7]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

/* ------------------------------------------------------------------ changelog of full compaction
 */

#define FULL "changelog-producer=full-compaction"

static void rewrite__tells_changes_against_the_top_level(void **state) {
  static const rewrite_case cases[] = {
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L0 1|+|1|a;2|+|2|b"},
       .expected = "[1|+I|1|a;2|+I|2|b] ~[1|+I|1|a;2|+I|2|b]"},
      {FULL, TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"},
       .expected = "[4|+I|1|a;3|+I|3|c;6|+I|4|d] "
                   "~[1|-U|1|a;4|+U|1|a;2|-D|2|b;6|+I|4|d]"},
      {FULL ";changelog-producer.row-deduplicate=true", TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"},
       .expected = "[4|+I|1|a;3|+I|3|c;6|+I|4|d] ~[2|-D|2|b;6|+I|4|d]"},
      /* Steps between are not seen. */
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L0 8|+|1|c", "0L0 4|-|1|b", "0L3 2|+|1|a"},
       .expected = "[8|+I|1|c] ~[8|+I|1|c]"},
      /* An upgrade: rows are told, not written. */
      {FULL, TN_REWRITE_FULL, 5, .no_data = true, .files = {"0L0 1|u|1|a;2|+|2|b"},
       .expected = " ~[1|+I|1|a;2|+I|2|b]"},
      /* The top level alone has nothing to tell. */
      {FULL, TN_REWRITE_FULL, 5, .files = {"0L5 1|+|1|a;2|+|2|b ~0"}, .expected = "[2|+I|2|b]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

/* The top row counts as what was there, though the merge leaves it out (its value is in level 3).
 */
static void rewrite__sees_the_top_row_below_others(void **state) {
  static const rewrite_case cases[] = {
      {FULL ";force-lookup=true;merge-engine=aggregation;fields.n.aggregate-function=sum",
       TN_REWRITE_FULL, 5, .files = {"0L0 9|+|1|10", "0L3 8|+|1|12", "0L5 1|+|1|5;1|+|2|6"},
       .expected = "[9|+I|1|22;1|+I|2|6] ~[1|-U|1|5;9|+U|1|22]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

static void rewrite__refuses_two_rows_at_the_top(void **state) {
  static const rewrite_case c = {FULL, TN_REWRITE_FULL, 5,
                                 .files = {"0L0 9|+|1|c", "0L5 1|+|1|a", "0L5 2|+|1|b"}};
  rewrite_maker m;
  (void)state;
  open_case(&m, NULL, &c, KV, "avro");
  rm_assert_fails(&m, TARN_E_CORRUPT, "another file of level 5");
  assert_int_equal(rm_n_files(&m), 3);
  rm_close(&m);
}

/* ------------------------------------------------------------------ lookup */

#define LOOKUP "changelog-producer=lookup"

static void rewrite__looks_up_deeper_rows(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 4|+|1|c;5|-|2|x;6|-|3|y;7|+|8|n", "dL5 1|+|1|a;2|+|2|b;3|+|7|z"},
       .expected = "[4|+I|1|c;7|+I|8|n] ~[1|-U|1|a;4|+U|1|c;2|-D|2|b;7|+I|8|n]"},
      /* Retractions that are kept. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .keeps_deletes = true,
       .files = {"0L0 4|+|1|c;5|-|2|x", "dL5 1|+|1|a;2|+|2|b"},
       .expected = "[4|+I|1|c;5|-D|2|x] ~[1|-U|1|a;4|+U|1|c;2|-D|2|b]"},
      /* The shallower row counts, in the input and below it. */
      {LOOKUP, TN_REWRITE_LOOKUP, 3,
       .files = {"0L0 8|+|1|d;9|+|2|e", "0L3 5|+|1|c", "dL4 3|+|1|x;4|+|2|b", "dL5 1|+|2|y"},
       .expected = "[8|+I|1|d;9|+I|2|e] ~[5|-U|1|c;8|+U|1|d;4|-U|2|b;9|+U|2|e]"},
      /* What was retracted was not there. */
      {LOOKUP, TN_REWRITE_LOOKUP, 3, .keeps_deletes = true,
       .files = {"0L0 8|+|1|d;9|-|2|e", "dL4 3|-|1|x;4|-|2|b"},
       .expected = "[8|+I|1|d;9|-D|2|e] ~[8|+I|1|d]"},
      /* No row of level 0, no change. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d", "0L3 5|+|2|c", "0L4 3|+|2|b", "dL5 1|+|2|y"},
       .expected = "[8|+I|1|d;5|+I|2|c] ~[8|+I|1|d]"},
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L3 5|+|2|c", "0L4 3|+|2|b", "dL5 1|+|2|y"},
       .expected = "[5|+I|2|c]"},
      /* An upgrade. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .no_data = true,
       .files = {"0L0 8|+|1|d;9|+|2|e", "dL5 1|+|2|y"},
       .expected = " ~[8|+I|1|d;1|-U|2|y;9|+U|2|e]"},
      {LOOKUP ";changelog-producer.row-deduplicate=true", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d;9|+|2|null;9|+|3|x", "dL5 1|+|1|d;2|+|2|null;3|+|3|null"},
       .expected = "[8|+I|1|d;9|+I|2|null;9|+I|3|x] ~[3|-U|3|null;9|+U|3|x]"},
      /* Without the producer there is nothing to tell. */
      {"force-lookup=true", TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|d", "dL5 1|+|1|y"},
       .expected = "[8|+I|1|d]"},
      /* Rows that a vector deletes are not found. */
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|d;9|+|2|e", "dL5 1|+|1|x;2|+|2|y ~0"},
       .expected = "[8|+I|1|d;9|+I|2|e] ~[8|+I|1|d;2|-U|2|y;9|+U|2|e]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

static void rewrite__marks_superseded_rows(void **state) {
  static const rewrite_case cases[] = {
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = "[8|+I|1|d] !f1:1 f1:3"},
      /* Rows of the input go with it; those below them are marked already. */
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|+|2|e", "0L4 4|+|1|c", "dL5 1|+|1|x;2|+|2|y ~0"},
       .expected = "[8|+I|1|d;9|+I|2|e] !f2:1"},
      {LOOKUP ";deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 3, .has_marks = true,
       .no_data = true, .files = {"0L0 8|+|1|d", "dL4 4|+|5|c", "dL5 1|+|1|x;2|+|5|y"},
       .expected = " ~[1|-U|1|x;8|+U|1|d] !f2:0"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
}

/* Only marks are wanted: values are not read. */
static void rewrite__marks_by_keys_alone(void **state) {
  static const rewrite_case cases[] = {
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = " !f1:1 f1:3"},
      {"deletion-vectors.enabled=true;sort-spill-threshold=2", TN_REWRITE_LOOKUP, 4,
       .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "0L0 7|+|2|c", "0L0 7|+|5|c",
                 "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"},
       .expected = " !f3:1 f3:2 f3:3"},
      {"deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 5, .has_marks = true, .no_data = true,
       .files = {"0L0 8|+|1|d;9|-|3|e"}, .expected = ""},
  };
  char *folder = tn_test_temp_dir();
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    open_case(&m, NULL, &cases[i], KV, "avro");
    m.spill_folder = folder;
    rm_assert(&m, cases[i].expected);
    assert_int_equal(m.result.n_spilled_bytes > 0, i == 1);
    rm_close(&m);
  }
  tn_test_temp_dir_remove(folder);
}

static void rewrite__folds_what_it_looks_up(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP ";merge-engine=aggregation;fields.n.aggregate-function=sum", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|10;9|+|2|1", "dL5 1|+|1|5"},
       .expected = "[8|+I|1|15;9|+I|2|1] ~[1|-U|1|5;8|+U|1|15;9|+I|2|1]"},
      {LOOKUP ";merge-engine=partial-update", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|null;9|+|2|1", "dL5 1|+|1|5"},
       .expected = "[8|+I|1|5;9|+I|2|1] ~[1|-U|1|5;8|+U|1|5;9|+I|2|1]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSUM);
}

static void rewrite__ignores_columns_that_may_differ(void **state) {
  static const rewrite_case cases[] = {
      {LOOKUP ";changelog-producer.row-deduplicate=true;"
              "changelog-producer.row-deduplicate-ignore-fields=s",
       TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|1|6|a;9|+|2|6|b", "dL5 1|+|1|5|a;2|+|2|5|x"},
       .expected = "[8|+I|1|6|a;9|+I|2|6|b] ~[2|-U|2|5|x;9|+U|2|6|b]"},
  };
  (void)state;
  run_cases(cases, TN_COUNT(cases), KSV);
}

static void rewrite__keeps_first_rows(void **state) {
#define FIRST "merge-engine=first-row;"
  static const rewrite_case cases[] = {
      {FIRST LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d;9|+|2|e;9|+|3|f", "0L4 4|+|2|c", "dL5 1|+|3|x"},
       .expected = "[8|+I|1|d;4|+I|2|c] ~[8|+I|1|d]"},
      {FIRST "changelog-producer=none", TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 8|+|1|d", "dL5 1|+|3|x"}, .expected = "[8|+I|1|d]"},
      {FIRST LOOKUP, TN_REWRITE_LOOKUP, 5, .no_data = true, .files = {"0L0 8|+|1|d"},
       .expected = " ~[8|+I|1|d]"},
  };
  static const rewrite_case refused = {FIRST LOOKUP, TN_REWRITE_LOOKUP, 4,
                                       .files = {"0L0 8|-|1|d"}};
  rewrite_maker m;
  (void)state;
  run_cases(cases, TN_COUNT(cases), KV);
  open_case(&m, NULL, &refused, KV, "avro");
  rm_assert_fails(&m, TARN_E_INVALID, "first-row");
  rm_close(&m);
}

/* Few keys of level 0 against many deeper rows, and many against few: the same. */
static void rewrite__finds_few_keys_among_many(void **state) {
  char *rows = malloc(1 << 16), *at = rows;
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1;deletion-vectors.enabled=true;" LOOKUP);
  m.request.mode = TN_REWRITE_LOOKUP;
  m.request.output_level = 4;
  m.request.marks = (tn_rewrite_marks){rm_mark, &m};
  rm_file(&m, "0L0 9001|+|20|a;9002|+|21|b;9003|+|3001|c;9004|+|3998|d");
  rm_file(&m, "0L0 9005|-|1000|e");
  at += sprintf(at, "dL5 ");
  for (int i = 0; i < 2000; i++) { /* even keys */
    at += sprintf(at, "%s%d|+|%d|x%d", i > 0 ? ";" : "", i + 1, 2 * i, i);
  }
  rm_file(&m, rows);
  rm_assert(&m,
            "[9001|+I|20|a;9002|+I|21|b;9003|+I|3001|c;9004|+I|3998|d] "
            "~[11|-U|20|x10;9001|+U|20|a;9002|+I|21|b;501|-D|1000|x500;9003|+I|3001|c;"
            "2000|-U|3998|x1999;9004|+U|3998|d] !f2:10 f2:500 f2:1999");
  rm_close(&m);
  free(rows);
}

/* ------------------------------------------------------------------ a model */

#define MODEL_KEYS 3000

/* What a key has in each file; sequence 0: nothing. */
typedef struct model_row {
  int sequence;
  bool is_delete;
} model_row;

typedef struct model {
  model_row base[MODEL_KEYS], middle[MODEL_KEYS], fresh[2][MODEL_KEYS];
  bool is_text; /* keys are strings */
  uint64_t state;
  char *text; /* of a file */
  char *data, *changelog, *marks;
} model;

static int random_below(model *d, int n) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((d->state >> 33) % (uint64_t)n);
}

/* Keys with a chance of one in `rarity`; one at least. */
static void fill(model *d, model_row *rows, int rarity, int first_sequence, bool has_deletes) {
  int forced = random_below(d, MODEL_KEYS);
  for (int k = 0; k < MODEL_KEYS; k++) {
    rows[k] = (model_row){0};
    if (k == forced || random_below(d, rarity) == 0) {
      rows[k].sequence = first_sequence + k;
      rows[k].is_delete = has_deletes && random_below(d, 3) == 0;
    }
  }
}

static const char *put_row(const model *d, char *out, const char *kind, int k, int sequence) {
  return sprintf(out, d->is_text ? "%d|%s|key %06d|v%d" : "%d|%s|%d|v%d", sequence, kind, k,
                 sequence) > 0
             ? out
             : NULL;
}

static const char *file_text(model *d, const char *place, const model_row *rows) {
  char *at = d->text + sprintf(d->text, "%s ", place), row[64];
  bool is_first = true;
  for (int k = 0; k < MODEL_KEYS; k++) {
    if (rows[k].sequence > 0) {
      put_row(d, row, rows[k].is_delete ? "-" : "+", k, rows[k].sequence);
      at += sprintf(at, "%s%s", is_first ? "" : ";", row);
      is_first = false;
    }
  }
  return d->text;
}

static void add_text(char *out, const char *row, const char *separator) {
  size_t n = strlen(out);
  sprintf(out + n, "%s%s", n > 0 ? separator : "", row);
}

/* What a lookup compaction of fresh and middle files to level 4 over the base gives. */
static void predict(model *d) {
  int position = 0;
  d->data[0] = d->changelog[0] = d->marks[0] = '\0';
  for (int k = 0; k < MODEL_KEYS; k++) {
    const model_row *base = &d->base[k], *middle = &d->middle[k], *newest = middle;
    const model_row *before = middle->sequence > 0 ? middle : base;
    int at = position;
    bool is_fresh = false, had, has;
    char row[64];
    position += base->sequence > 0;
    for (int f = 0; f < 2; f++) {
      is_fresh |= d->fresh[f][k].sequence > 0;
      newest = d->fresh[f][k].sequence > newest->sequence ? &d->fresh[f][k] : newest;
    }
    if (newest->sequence == 0) {
      continue;
    }
    had = before->sequence > 0 && !before->is_delete;
    has = !newest->is_delete;
    if (has) {
      add_text(d->data, put_row(d, row, "+I", k, newest->sequence), ";");
    }
    if (!is_fresh) {
      continue;
    }
    if (before == base && base->sequence > 0) {
      sprintf(row, "f3:%d", at);
      add_text(d->marks, row, " ");
    }
    if (had) {
      add_text(d->changelog, put_row(d, row, has ? "-U" : "-D", k, before->sequence), ";");
    }
    if (has) {
      add_text(d->changelog, put_row(d, row, had ? "+U" : "+I", k, newest->sequence), ";");
    }
  }
}

static void assert_rows(rewrite_maker *m, const tn_data_file *files, int32_t n, const char *rows) {
  const char *text = rm_rows(m, files, n);
  size_t len = strlen(text);
  assert_int_equal(n, rows[0] != '\0');
  if (n > 0 && (strncmp(text + 1, rows, len - 2) != 0 || strlen(rows) != len - 2)) {
    fail_msg("expected %s, got %s", rows, text);
  }
}

static void check_model(model *d, int rarity, const char *options) {
  rewrite_maker m;
  char all[512];
  snprintf(all, sizeof(all), "bucket=1;deletion-vectors.enabled=true;%s;" LOOKUP, options);
  rm_open(&m, d->is_text ? "k STRING NOT NULL|v STRING" : KV, "k", all);
  fill(d, d->base, 2, 1, false);
  fill(d, d->middle, 20, 10000, false);
  fill(d, d->fresh[0], rarity, 20000, true);
  fill(d, d->fresh[1], rarity, 30000, true);
  rm_file(&m, file_text(d, "0L0", d->base));
  OK(rm_try(&m, err)); /* the base, as the product writes it */
  rm_begin_again(&m);
  rm_file(&m, file_text(d, "0L0", d->fresh[0]));
  rm_file(&m, file_text(d, "0L0", d->fresh[1]));
  rm_file(&m, file_text(d, "0L4", d->middle));
  rm_deeper(&m, &m.result.files[0]);
  m.request.mode = TN_REWRITE_LOOKUP;
  m.request.output_level = 4;
  m.request.marks = (tn_rewrite_marks){rm_mark, &m};
  predict(d);
  OK(rm_try(&m, err));
  assert_rows(&m, m.result.files, m.result.n_files, d->data);
  assert_rows(&m, m.result.changelog, m.result.n_changelog, d->changelog);
  OK(tn_buf_append(&m.marks, "", 1, err));
  assert_string_equal((const char *)m.marks.data, d->marks);
  rm_close(&m);
}

static void rewrite__agrees_with_a_model(void **state) {
  static const char *const options[] = {"file.format=avro", "file.format=parquet",
                                        "parquet.page.row.count.limit=100;file.compression=none"};
  static const int rarities[] = {2, 40, 1000};
  model *d = calloc(1, sizeof(*d));
  (void)state;
  d->text = malloc(1 << 18);
  d->data = malloc(1 << 18);
  d->changelog = malloc(1 << 18);
  d->marks = malloc(1 << 18);
  for (int i = 0; i < 24; i++) {
    d->state = (uint64_t)i * 7919 + 1;
    d->is_text = i % 2 == 1;
    check_model(d, rarities[i % 3], options[(i / 3) % 3]);
  }
  free(d->text);
  free(d->data);
  free(d->changelog);
  free(d->marks);
  free(d);
}

/* ------------------------------------------------------------------ expiry */

static void rewrite__drops_what_expired(void **state) {
#define EXPIRES "record-level.expire-time=100 s;record-level.time-field=s"
  static const rewrite_case cases[] = {
      /* Before merging: an older row comes back. now: 1000 s. */
      {EXPIRES, TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|899|c;4|+|2|900|d", "0L5 1|+|1|950|a;2|+|2|950|b;2|+|3|null|x"},
       .expected = "[1|+I|1|950|a;4|+I|2|900|d;2|+I|3|null|x]"},
      {EXPIRES, TN_REWRITE_PLAIN, 5, .files = {"0L5 1|+|1|899|a;2|+|2|950|b;2|+|3|null|x ~1"},
       .expected = "[2|+I|3|null|x]"},
      /* What is looked up, too; but rows that a vector must mark are met. */
      {EXPIRES ";" LOOKUP, TN_REWRITE_LOOKUP, 4,
       .files = {"0L0 9|+|1|950|c;9|+|2|800|d", "dL5 1|+|1|800|a;1|+|2|950|b"},
       .expected = "[9|+I|1|950|c] ~[9|+I|1|950|c]"},
      {EXPIRES ";deletion-vectors.enabled=true;" LOOKUP, TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 9|+|1|950|c", "dL5 1|+|1|800|a"},
       .expected = "[9|+I|1|950|c] ~[1|-U|1|800|a;9|+U|1|950|c] !f1:0"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    open_case(&m, NULL, &cases[i], KSV, "avro");
    m.request.now_ms = 1000999;
    rm_assert(&m, cases[i].expected);
    rm_close(&m);
  }
}

/* BIGINT times count milliseconds from 10^12 on. */
static void rewrite__knows_units_of_time(void **state) {
  static const struct {
    int64_t now_ms;
    const char *rows, *expected;
  } cases[] = {
      {1000999, "0L5 1|+|1|899;1|+|2|900", "[1|+I|2|900]"},
      {1000000100999, "0L5 1|+|1|999999999;1|+|2|1000000000000", "[1|+I|2|1000000000000]"},
      {1000000101000, "0L5 1|+|1|1000000000999;1|+|2|1000000001000", "[1|+I|2|1000000001000]"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    rewrite_maker m;
    rm_open(&m, "k INT NOT NULL|s BIGINT", "k", "bucket=1;" EXPIRES);
    m.request.now_ms = cases[i].now_ms;
    rm_file(&m, cases[i].rows);
    rm_assert(&m, cases[i].expected);
    rm_close(&m);
  }
}

static void has_expired__asks_statistics(void **state) {
  static const rewrite_case c = {"record-level.expire-time=100 s;record-level.time-field=s",
                                 TN_REWRITE_PLAIN, 5,
                                 .files = {"0L0 3|+|1|950|c", "0L5 2|+|2|960|b;2|+|3|null|x"}};
  rewrite_maker m;
  bool is_old;
  (void)state;
  open_case(&m, NULL, &c, KSV, "parquet");
  m.request.now_ms = 1000999;
  rm_assert(&m, "[3|+I|1|950|c;2|+I|2|960|b;2|+I|3|null|x]");
  OK(tn_rewriter_has_expired(m.rewriter, &m.result.files[0], 1050999, &is_old, err));
  assert_false(is_old);
  OK(tn_rewriter_has_expired(m.rewriter, &m.result.files[0], 1051000, &is_old, err));
  assert_true(is_old);
  /* Without statistics nothing is known to be old. */
  OK(tn_rewriter_has_expired(m.rewriter, &m.metas[0], 99999999, &is_old, err));
  assert_false(is_old);
  rm_close(&m);
}

/* ------------------------------------------------------------------ files */

static bool ends_with(tn_slice text, const char *end) {
  size_t n = strlen(end);
  return text.len >= n && memcmp(text.data + text.len - n, end, n) == 0;
}

static void rewrite__describes_its_files(void **state) {
  rewrite_maker m;
  const tn_data_file *f;
  (void)state;
  rm_open(&m, KV, "k",
          "bucket=1;file.format=parquet;file.format.per.level=4:avro;" LOOKUP
          ";changelog-file.format=parquet;changelog-file.prefix=changes-");
  m.request.mode = TN_REWRITE_LOOKUP;
  m.request.output_level = 4;
  rm_file(&m, "0L0 3|+|2|b;4|u|5|c");
  rm_file(&m, "dL5 1|+|2|a");
  OK(rm_try(&m, err));
  assert_int_equal(m.result.n_files, 1);
  assert_int_equal(m.result.n_changelog, 1);
  f = &m.result.files[0];
  assert_int_equal(f->level, 4);
  assert_int_equal(f->source, TN_SOURCE_COMPACT);
  assert_int_equal(f->row_count, 2);
  assert_int_equal(f->min_sequence, 3);
  assert_int_equal(f->max_sequence, 4);
  assert_true(ends_with(f->file_name, ".avro"));
  f = &m.result.changelog[0];
  assert_int_equal(f->level, 4);
  assert_int_equal(f->source, TN_SOURCE_APPEND);
  assert_int_equal(f->row_count, 3);
  assert_int_equal(f->delete_row_count, 1);
  assert_int_equal(f->min_sequence, 1);
  assert_memory_equal(f->file_name.data, "changes-", 8);
  assert_true(ends_with(f->file_name, ".parquet"));
  assert_int_equal(m.result.n_rows_in, 2);
  assert_int_equal(m.result.n_rows_out, 2);
  rm_close(&m);
}

static void rewrite__rolls_at_the_target_size(void **state) {
  char *rows = malloc(1 << 18), *at = rows;
  rewrite_maker m;
  int64_t n = 0;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1;target-file-size=2 kb;file.compression=none");
  at += sprintf(at, "0L0 ");
  for (int i = 0; i < 4000; i++) {
    at += sprintf(at, "%s%d|+|%d|value %d", i > 0 ? ";" : "", i + 10000, i, i);
  }
  rm_file(&m, rows);
  rm_file(&m, "0L5 1|+|5|x");
  OK(rm_try(&m, err));
  assert_true(m.result.n_files > 1);
  for (int32_t i = 0; i < m.result.n_files; i++) {
    n += m.result.files[i].row_count;
  }
  assert_int_equal(n, 4000);
  rm_close(&m);
  free(rows);
}

static void rewrite__copies_the_smallest_of_many_runs(void **state) {
  char *folder = tn_test_temp_dir();
  rewrite_maker m;
  (void)state;
  rm_open(&m, KSV, "k",
          "bucket=1;sort-spill-threshold=2;record-level.expire-time=100 s;"
          "record-level.time-field=s");
  m.spill_folder = folder;
  m.request.now_ms = 1000000;
  rm_file(&m, "0L0 9|+|1|950|i;9|+|6|950|q")->file_size = 5000;
  rm_file(&m, "0L0 8|+|1|950|h;8|-|2|950|h");
  rm_file(&m, "0L0 7|+|1|950|g;7|+|3|800|g");
  rm_file(&m, "0L3 6|+|1|950|f;6|+|3|950|f;6|+|4|950|z ~2");
  rm_file(&m, "0L5 1|+|2|950|a;2|+|5|950|b")->file_size = 9000;
  rm_assert(&m, "[9|+I|1|950|i;6|+I|3|950|f;2|+I|5|950|b;9|+I|6|950|q]");
  assert_true(m.result.n_spilled_bytes > 0);
  rm_close(&m);
  tn_test_temp_dir_remove(folder);
}

/* A run holds files of any level: each row keeps that of its file, on disk, too. */
static void rewrite__keeps_levels_within_runs(void **state) {
  char *folder = tn_test_temp_dir();
  (void)state;
  for (int spills = 0; spills < 2; spills++) {
    tn_rewrite_run runs[3];
    rewrite_maker m;
    rm_open(&m, KV, "k", "bucket=1;sort-spill-threshold=2;" LOOKUP);
    m.spill_folder = spills ? folder : NULL;
    m.request.mode = TN_REWRITE_LOOKUP;
    m.request.output_level = 4;
    rm_file(&m, "0L0 7|+|1|a;8|+|2|b");
    rm_file(&m, "0L4 3|+|5|c;4|+|6|d");
    rm_file(&m, "0L4 1|+|1|x;2|+|2|y");
    rm_file(&m, "0L0 9|+|5|e;9|-|6|f");
    rm_file(&m, "0L0 6|+|2|z;6|+|6|g")->file_size = 9000;
    runs[0] = (tn_rewrite_run){&m.files[0], 2};
    runs[1] = (tn_rewrite_run){&m.files[2], 2};
    runs[2] = (tn_rewrite_run){&m.files[4], 1};
    m.sections[0] = (tn_rewrite_section){runs, 3};
    rm_assert(&m,
              "[7|+I|1|a;8|+I|2|b;9|+I|5|e] "
              "~[1|-U|1|x;7|+U|1|a;2|-U|2|y;8|+U|2|b;3|-U|5|c;9|+U|5|e;4|-D|6|d]");
    assert_int_equal(m.result.n_spilled_bytes > 0, spills);
    rm_close(&m);
  }
  tn_test_temp_dir_remove(folder);
}

static void rewrite__reads_old_schemas(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L5 1|+|1|a;2|+|2|b");
  tm_schema(&m.tm, 1, "0 k INT NOT NULL|1 w STRING|2 n INT", "", "k", "bucket=1");
  tn_table_release(m.table);
  m.table = tm_table(&m.tm, "");
  m.columns = "k INT NOT NULL|w STRING|n INT";
  tm_put(&m.tm, "schema/schema-0",
         "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},"
         "{\"id\":1,\"name\":\"v\",\"type\":\"STRING\"}],\"highestFieldId\":1,\"partitionKeys\":[],"
         "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"},\"timeMillis\":1}");
  rm_file(&m, "0L0 3|+|2|c|7")->schema_id = 1;
  rm_assert(&m, "[1|+I|1|a|null;3|+I|2|c|7]");
  assert_int_equal(m.result.files[0].schema_id, 1);
  rm_close(&m);
}

/* ------------------------------------------------------------------ failures */

static void rewrite__tells_of_lost_files(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "0L5 1|+|1|b")->file_name = tn_slice_text("gone.avro");
  rm_assert_fails(&m, TARN_E_NOT_FOUND, "gone.avro");
  assert_int_equal(rm_n_files(&m), 2);
  rm_close(&m);
}

static void rewrite__leaves_no_file_when_it_fails(void **state) {
  rewrite_maker m;
  (void)state;
  /* The first section is written when the second one fails. */
  rm_open(&m, KV, "k", "bucket=1;" FULL);
  m.request.mode = TN_REWRITE_FULL;
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "1L0 1|+|5|b")->row_count = 2;
  rm_assert_fails(&m, TARN_E_CORRUPT, "f1.avro");
  assert_int_equal(rm_n_files(&m), 2);
  assert_int_equal(m.result.n_files, 0);
  rm_close(&m);
}

static void rewriter__refuses_what_it_cannot_do(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "", "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true");
  rm_assert_fails(&m, TARN_E_UNSUPPORTED, "data-evolution.enabled");
  rm_close(&m);
}

/* The set-up is made in an environment of its own that never fails; only rewriting does. */
static void fail_each_allocation(const rewrite_case *c, const char *format, const char *folder) {
  int64_t n_calls = 1;
  for (int64_t at = 1; at <= n_calls; at++) {
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tarn_env *env = NULL;
    rewrite_maker m;
    tarn_error error = {0};
    tarn_status st;
    int64_t before;
    int n_files;
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.threads = 1;
    options.allocator = &hooks;
    OK(tarn_env_create(&options, &env, err));
    open_case(&m, env, c, KV, format);
    m.spill_folder = folder;
    n_files = rm_n_files(&m);
    before = atomic_load(&alloc.calls);
    atomic_store(&alloc.fail_at, before + at);
    st = rm_try(&m, &error);
    atomic_store(&alloc.fail_at, 0);
    if (st != TARN_OK) {
      assert_int_equal(st, TARN_E_NOMEM);
      assert_int_equal(rm_n_files(&m), n_files);
      n_calls = at + 1;
    } else {
      n_calls = atomic_load(&alloc.calls) - before > at ? at + 1 : at;
    }
    rm_close(&m);
    assert_int_equal(atomic_load(&alloc.live_blocks), 0);
  }
}

static void rewrite__survives_failed_allocations(void **state) {
  static char many[2048] = "dL5 "; /* so many rows that the keys of level 0 are looked for first */
  const rewrite_case cases[] = {
      {"", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 3|+|1|c;4|-|2|d", "0L5 1|+|1|a;2|+|2|b ~1", "1L5 1|+|9|a"}},
      {FULL ";changelog-producer.row-deduplicate=true", TN_REWRITE_FULL, 5,
       .files = {"0L0 4|+|1|a;5|-|2|x;6|+|4|d;7|-|9|y", "0L5 1|+|1|a;2|+|2|b;3|+|3|c"}},
      {LOOKUP ";deletion-vectors.enabled=true", TN_REWRITE_LOOKUP, 4, .has_marks = true,
       .files = {"0L0 8|+|1|d;9|-|3|e", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|3|z"}},
      {LOOKUP, TN_REWRITE_LOOKUP, 4, .files = {"0L0 8|+|20|d", many}},
      {"sort-spill-threshold=2", TN_REWRITE_PLAIN, 5,
       .files = {"0L0 9|+|1|d", "0L0 8|-|1|d;8|+|2|x", "0L0 7|+|1|x", "0L5 1|+|1|a"}},
  };
  char *folder = tn_test_temp_dir(), *at = many + strlen(many);
  (void)state;
  for (int k = 0; k < 100; k++) {
    at += sprintf(at, "%s1|+|%d|x", k > 0 ? ";" : "", k);
  }
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    fail_each_allocation(&cases[i], i == 0 ? "parquet" : "avro", folder);
  }
  tn_test_temp_dir_remove(folder);
}

/* A dead row between two of other keys, behind so many rows of one run that those are taken without
 * comparing: the key of the dead one is not that of the row before it. */
static void rewrite__steps_over_dead_rows(void **state) {
  for (int dead = 2; dead < 60; dead++) {
    rewrite_maker m;
    char deep[1200] = "0L5 ", shallow[40], vector[16];
    int64_t n = 0;
    (void)state;
    rm_open(&m, KV, "k", "bucket=1");
    for (int k = 0; k < 60; k++) {
      sprintf(deep + strlen(deep), "%s1|+|%d|a", k > 0 ? ";" : "", k);
    }
    sprintf(vector, " ~%d", dead);
    strcat(deep, vector);
    sprintf(shallow, "0L4 2|+|%d|b", dead);
    rm_file(&m, shallow);
    rm_file(&m, deep);
    OK(rm_try(&m, err));
    for (int i = 0; i < m.result.n_files; i++) {
      n += m.result.files[i].row_count;
    }
    assert_int_equal(n, 60);
    rm_close(&m);
  }
}

/* Each step of writing and reading fails in turn: no file stays. */
static void rewrite__leaves_no_file_when_the_disk_fails(void **state) {
  static const rewrite_case c = {
      LOOKUP ";file.format.per.level=0:avro,4:parquet", TN_REWRITE_LOOKUP, 4,
      .files = {"0L0 8|+|1|d;9|-|3|e", "1L0 8|+|7|d", "dL5 1|+|0|w;1|+|1|x;2|+|2|y;3|+|7|z"}};
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    bool is_done = false;
    int64_t n;
    for (n = 1; !is_done; n++) {
      tn_storage_fault fault = {
          .fail_at_write = kind == 0 ? n : 0, .fail_at_call = kind == 1 ? n : 0, .os_errno = EIO};
      tn_storage *faulty;
      tn_table *table;
      tarn_error error = {0};
      rewrite_maker m;
      open_case(&m, NULL, &c, KV, "avro");
      OK(tn_storage_faulty(m.tm.storage, &fault, &faulty, err));
      OK(tn_table_create(m.tm.env, faulty, "d.t", "/t", "main", "/t", m.tm.schema, NULL, 0, &table,
                         err));
      tn_storage_release(faulty); /* the table holds it */
      tn_table_release(m.table);
      m.table = table;
      is_done = rm_try(&m, &error) == TARN_OK;
      assert_int_equal(rm_n_files(&m), is_done ? 5 : 3);
      assert_int_equal(m.result.n_files, is_done);
      rm_close(&m);
    }
    assert_true(n > 3);
  }
}

static void rewrite__can_be_cancelled(void **state) {
  tarn_cancel cancel = {.is_set = true};
  rewrite_maker m;
  (void)state;
  rm_open(&m, KV, "k", "bucket=1");
  rm_file(&m, "0L0 3|+|1|a");
  rm_file(&m, "0L5 1|+|1|b");
  m.cancel = &cancel;
  rm_assert_fails(&m, TARN_E_CANCELLED, "cancelled");
  assert_int_equal(rm_n_files(&m), 2);
  rm_close(&m);
}

/* ------------------------------------------------------------------ append files */

static tarn_status concat(rewrite_maker *m, tarn_error *err) {
  tn_concat_request q = {.partition = m->request.partition,
                         .files = m->files,
                         .n_files = m->n_files,
                         .names = &m->names};
  TN_TRY(rm_rewriter(m, err));
  return tn_concat(m->rewriter, &q, &m->tm.arena, &m->result, err);
}

static void concat__joins_files(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1");
  rm_file(&m, "0L0 3|a;1|b")->min_sequence = 7;
  rm_file(&m, "0L0 2|c;9|d;5|null ~1");
  OK(concat(&m, err));
  assert_string_equal(RM_FILES(&m), "[3|a;1|b;2|c;5|null]");
  assert_int_equal(m.result.files[0].min_sequence, 7);
  assert_int_equal(m.result.files[0].max_sequence, 10);
  assert_int_equal(m.result.files[0].level, 0);
  assert_int_equal(m.result.files[0].source, TN_SOURCE_COMPACT);
  assert_int_equal(m.result.n_rows_in, 5);
  assert_int_equal(m.result.n_rows_out, 4);
  rm_close(&m);
}

static void concat__of_deleted_rows_is_empty(void **state) {
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1");
  rm_file(&m, "0L0 3|a;1|b ~0,1");
  OK(concat(&m, err));
  assert_int_equal(m.result.n_files, 0);
  assert_int_equal(rm_n_files(&m), 1);
  rm_close(&m);
}

/* Ids and sequence numbers of rows come along, as columns of the file. */
static void concat__keeps_ids_of_rows(void **state) {
  static const char *const names[] = {"k", "v", "_ROW_ID", "_SEQUENCE_NUMBER"};
  tn_field fields[3] = {{.name = "k"}};
  tn_data_shape *shape;
  tn_data_reader *reader;
  tn_batch batch = {0};
  const uint8_t *alive;
  tn_data_request request = {0};
  const tn_slice *columns;
  tn_data_file *made;
  rewrite_maker m;
  (void)state;
  rm_open(&m, "k INT|v STRING", "", "bucket=-1;row-tracking.enabled=true");
  for (int i = 0; i < 2; i++) {
    tn_data_file *f = rm_file(&m, i == 0 ? "0L0 3|a;1|b" : "0L0 2|c;9|d ~0");
    f->has_first_row_id = true;
    f->first_row_id = 10 * (i + 1);
    f->min_sequence = f->max_sequence = i + 1;
  }
  OK(concat(&m, err));
  assert_int_equal(m.result.n_files, 1);
  made = &m.result.files[0];
  assert_false(made->has_first_row_id);
  assert_true(made->has_write_cols);
  assert_int_equal(made->write_cols.count, 4);
  columns = made->write_cols.items;
  for (int i = 0; i < 4; i++) {
    assert_true(tn_slice_is(columns[i], names[i]));
  }
  fields[0] = m.table->schema->fields[0];
  fields[1] = tn_row_tracking_fields[0];
  fields[2] = tn_row_tracking_fields[1];
  OK(tn_data_shape_create(m.table, fields, 3, NULL, 0, false, &shape, err));
  request = (tn_data_request){
      .shape = shape,
      .file = made,
      .partition = m.request.partition,
      .path = dm_path(&m.tm, "/t/bucket-0",
                      (const char *)tn_arena_strndup(
                          &m.tm.arena, (const char *)made->file_name.data, made->file_name.len))};
  OK(tn_data_reader_open(&request, &reader, err));
  OK(tn_data_reader_next(reader, 100, &batch, &alive, err));
  assert_int_equal(batch.n_rows, 3);
  {
    static const int64_t expected[3][3] = {{3, 10, 1}, {1, 11, 1}, {9, 21, 2}};
    for (int i = 0; i < 3; i++) {
      for (int c = 0; c < 3; c++) {
        assert_int_equal(tn_vec_datum(&batch.columns[c], i).v.i64, expected[i][c]);
      }
    }
  }
  tn_batch_reset(m.tm.env, &batch);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
  rm_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__merges_plainly),
      cmocka_unit_test(rewrite__orders_by_sequence_fields),
      cmocka_unit_test(rewrite__folds),
      cmocka_unit_test(rewrite__tells_changes_against_the_top_level),
      cmocka_unit_test(rewrite__sees_the_top_row_below_others),
      cmocka_unit_test(rewrite__refuses_two_rows_at_the_top),
      cmocka_unit_test(rewrite__looks_up_deeper_rows),
      cmocka_unit_test(rewrite__marks_superseded_rows),
      cmocka_unit_test(rewrite__marks_by_keys_alone),
      cmocka_unit_test(rewrite__folds_what_it_looks_up),
      cmocka_unit_test(rewrite__ignores_columns_that_may_differ),
      cmocka_unit_test(rewrite__keeps_first_rows),
      cmocka_unit_test(rewrite__finds_few_keys_among_many),
      cmocka_unit_test(rewrite__agrees_with_a_model),
      cmocka_unit_test(rewrite__drops_what_expired),
      cmocka_unit_test(rewrite__knows_units_of_time),
      cmocka_unit_test(has_expired__asks_statistics),
      cmocka_unit_test(rewrite__describes_its_files),
      cmocka_unit_test(rewrite__rolls_at_the_target_size),
      cmocka_unit_test(rewrite__copies_the_smallest_of_many_runs),
      cmocka_unit_test(rewrite__keeps_levels_within_runs),
      cmocka_unit_test(rewrite__reads_old_schemas),
      cmocka_unit_test(rewrite__tells_of_lost_files),
      cmocka_unit_test(rewrite__leaves_no_file_when_it_fails),
      cmocka_unit_test(rewrite__leaves_no_file_when_the_disk_fails),
      cmocka_unit_test(rewrite__steps_over_dead_rows),
      cmocka_unit_test(rewrite__can_be_cancelled),
      cmocka_unit_test(rewriter__refuses_what_it_cannot_do),
      cmocka_unit_test(rewrite__survives_failed_allocations),
      cmocka_unit_test(concat__joins_files),
      cmocka_unit_test(concat__of_deleted_rows_is_empty),
      cmocka_unit_test(concat__keeps_ids_of_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
