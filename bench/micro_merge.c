/* room: merge */
/* micro_merge - what merging costs, apart from reading files.
 *
 *   micro_merge [RUNS [ROWS_PER_RUN [KEYS [PASSES [bigint|string [FUNCTION [MODE]]]]]]]
 *
 * Runs of random keys in memory, BIGINT or strings such as "customer-000012345", deduplicated, or
 * aggregated with a function (sum, max, last_value, ...; "-": deduplicated); the key and a BIGINT
 * column that comes late are gathered. MODE numbered gives kinds and sequence numbers, too, full
 * gives them step by step, with the rows of the first run as what was there before; MODE lookup
 * looks the first run up. Prints nanoseconds a row of input, the least of all passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge/merge.h"

static tarn_env *env;
static tarn_error err;
static tn_field fields[2] = {{.id = 0, .name = "k", .type = {.root = TN_BIGINT}},
                             {.id = 1, .name = "v", .type = {.root = TN_BIGINT}}};
static bool has_text_keys;
static tn_fold_layout *layout; /* NULL: deduplicate */
static enum { MERGED, NUMBERED, FULL, LOOKUP } mode;
#define KEY_BYTES 18
static char key_start[KEY_BYTES + 1]; /* what all text keys have in common */

typedef struct run {
  tn_merge_input input;
  int64_t *keys;
  int64_t n, at, given, sequence;
} run;

static void must(tarn_status st) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_merge: %s\n", err.message);
    exit(1);
  }
}

static tarn_status fill(const run *r, const tn_field *field, tn_batch *out, tarn_error *e) {
  TN_TRY(tn_batch_init(env, field, 1, out, e));
  TN_TRY(tn_vec_alloc(env, &out->columns[0], r->at - r->given, 0, e));
  memcpy(out->columns[0].values, r->keys + r->given, (size_t)(r->at - r->given) * 8);
  out->n_rows = r->at - r->given;
  return TARN_OK;
}

static void put_text(int64_t key, char *out) {
  memcpy(out, "customer-", KEY_BYTES - 9);
  for (int d = KEY_BYTES - 1; d >= KEY_BYTES - 9; d--) {
    out[d] = (char)('0' + key % 10);
    key /= 10;
  }
}

/* Keys as texts of KEY_BYTES, in their order. */
static tarn_status fill_texts(const run *r, tn_batch *out, tarn_error *e) {
  int64_t n = r->at - r->given;
  tn_vec *vec;
  char *at;
  TN_TRY(tn_batch_init(env, &fields[0], 1, out, e));
  vec = &out->columns[0];
  TN_TRY(tn_vec_alloc(env, vec, n, (size_t)n * KEY_BYTES, e));
  at = vec->values;
  for (int64_t i = 0; i < n; i++) {
    put_text(r->keys[r->given + i], at);
    at += KEY_BYTES;
    vec->offsets[i + 1] = (int32_t)((i + 1) * KEY_BYTES);
  }
  out->n_rows = n;
  return TARN_OK;
}

static tarn_status next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                        tarn_error *e) {
  run *r = TN_CONTAINER_OF(input, run, input);
  r->given = r->at;
  r->at = r->n - r->at < max_rows ? r->n : r->at + max_rows;
  out->sequence = r->sequence;
  out->level = r->sequence == 0 ? 5 : 0;
  out->is_looked_up = mode == LOOKUP && r->sequence == 0;
  if (r->at == r->given) {
    return TARN_OK;
  }
  return has_text_keys ? fill_texts(r, &out->keys, e) : fill(r, &fields[0], &out->keys, e);
}

static tarn_status values(tn_merge_input *input, tn_batch *out, tarn_error *e) {
  return fill(TN_CONTAINER_OF(input, run, input), &fields[1], out, e);
}

static void keep(tn_merge_input *input) {
  (void)input;
}

static const tn_merge_input_ops ops = {next, values, keep};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Random distinct keys, ascending. */
static void make_keys(run *r, int64_t n, int64_t n_keys, uint64_t *seed) {
  int64_t kept = 0;
  r->keys = malloc((size_t)n * 8);
  for (int64_t i = 0; i < n; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    r->keys[i] = (int64_t)((*seed >> 16) % (uint64_t)n_keys);
  }
  qsort(r->keys, (size_t)n, 8, by_value);
  for (int64_t i = 0; i < n; i++) {
    if (kept == 0 || r->keys[i] != r->keys[kept - 1]) {
      r->keys[kept++] = r->keys[i];
    }
  }
  r->n = kept;
}

static int64_t step_all(const tn_merge_spec *spec, tn_merge_input **inputs, int32_t n_inputs) {
  const tn_merge_changes changes = {.before = mode == FULL ? TN_BEFORE_TOP : TN_BEFORE_DEEPER,
                                    .top_level = 5,
                                    .gives_before_rows = true};
  tn_merger *merger;
  int64_t n = 0;
  must(tn_merger_create_changes(env, spec, &changes, inputs, n_inputs, &merger, &err));
  for (;;) {
    tn_merge_step step;
    int64_t groups;
    must(tn_merger_step(merger, &step, &err));
    groups = step.n_groups;
    n += groups;
    tn_merge_step_reset(env, &step);
    if (groups == 0) {
      break;
    }
  }
  tn_merger_free(merger);
  return n;
}

static int64_t merge_all(run *runs, int32_t n_runs) {
  static const int32_t out_columns[2] = {0, -1};
  tn_merge_spec spec = {.key_fields = fields,
                        .n_keys = 1,
                        .n_key_fields = 1,
                        .value_fields = fields + 1,
                        .n_value_fields = 1,
                        .out_fields = fields,
                        .out_columns = out_columns,
                        .n_out_columns = 2,
                        .common_start = tn_slice_text(has_text_keys ? key_start : ""),
                        .engine = layout != NULL ? &tn_engine_aggregation : &tn_engine_deduplicate,
                        .layout = layout,
                        .batch_rows = 8192,
                        .input_rows = 8192};
  tn_merge_input *inputs[64];
  tn_merger *merger;
  int64_t n = 0;
  for (int32_t i = 0; i < n_runs; i++) {
    runs[i].at = 0;
    inputs[i] = &runs[i].input;
  }
  if (mode > NUMBERED) {
    return step_all(&spec, inputs, n_runs);
  }
  must(tn_merger_create(env, &spec, inputs, n_runs, &merger, &err));
  for (;;) {
    tn_batch batch;
    tn_buffer *kinds = NULL, *numbers = NULL;
    int64_t rows;
    must(tn_merger_next(merger, &batch, mode == NUMBERED ? &kinds : NULL,
                        mode == NUMBERED ? &numbers : NULL, &err));
    rows = batch.n_rows;
    n += rows;
    tn_batch_reset(env, &batch);
    tn_buffer_release(kinds);
    tn_buffer_release(numbers);
    if (rows == 0) {
      break;
    }
  }
  tn_merger_free(merger);
  return n;
}

/* The late column is aggregated. */
static void make_layout(tn_arena *arena, const char *function) {
  static tn_column_merge columns[2] = {{.group = -1, .is_key = true, .delimiter = ","},
                                       {.group = -1, .delimiter = ","}};
  static const tn_merge_options options = {.columns = columns, .n_columns = 2};
  static tn_schema schema = {.fields = fields, .n_fields = 2};
  columns[1].function = function;
  must(tn_fold_layout_make(arena, &tn_engine_aggregation, &options, &schema, fields, 1, 1,
                           fields + 1, 1, &layout, &err));
}

int main(int argc, char **argv) {
  int32_t n_runs = argc > 1 ? atoi(argv[1]) : 6;
  int64_t n_rows = argc > 2 ? atoll(argv[2]) : 230000, n_keys = argc > 3 ? atoll(argv[3]) : 1500000;
  int passes = argc > 4 ? atoi(argv[4]) : 20;
  run runs[64] = {0};
  uint64_t seed = 1;
  int64_t n_in = 0, n_out = 0;
  double best = 1e9;
  tn_arena arena;
  has_text_keys = argc > 5 && strcmp(argv[5], "string") == 0;
  if (has_text_keys) {
    char last[KEY_BYTES];
    int common = 0;
    fields[0].type = (tn_type){.root = TN_VARCHAR, .length = INT32_MAX};
    put_text(0, key_start);
    put_text(n_keys - 1, last);
    while (common < KEY_BYTES && key_start[common] == last[common]) {
      common++;
    }
    key_start[common] = '\0';
  }
  if (n_runs < 1 || n_runs > 64) {
    fprintf(stderr,
            "usage: micro_merge [RUNS (1 to 64) [ROWS_PER_RUN [KEYS [PASSES [bigint|string "
            "[FUNCTION [numbered|full|lookup]]]]]]]\n");
    return 2;
  }
  must(tarn_env_create(NULL, &env, &err));
  tn_arena_init(&arena, &env->mem, (size_t)1 << 20);
  if (argc > 7) {
    mode = strcmp(argv[7], "numbered") == 0 ? NUMBERED
           : strcmp(argv[7], "full") == 0   ? FULL
                                            : LOOKUP;
  }
  if (argc > 6 && strcmp(argv[6], "-") != 0) {
    make_layout(&arena, argv[6]);
  }
  for (int32_t i = 0; i < n_runs; i++) {
    runs[i].input.ops = &ops;
    runs[i].sequence = i;
    make_keys(&runs[i], n_rows, n_keys, &seed);
    n_in += runs[i].n;
  }
  for (int i = 0; i < passes; i++) {
    double start = seconds(), took;
    n_out = merge_all(runs, n_runs);
    took = seconds() - start;
    best = took < best ? took : best;
  }
  printf("%.2f ns a row: %lld rows of %d runs, %lld keys\n", best * 1e9 / (double)n_in,
         (long long)n_in, (int)n_runs, (long long)n_out);
  for (int32_t i = 0; i < n_runs; i++) {
    free(runs[i].keys);
  }
  tn_arena_reset(&arena);
  tarn_env_free(env);
  return 0;
}
