/* test_rewrite_model.c - lookup compactions of random files, and a model of what they give. */
#include "rewrite_cases.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__agrees_with_a_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
