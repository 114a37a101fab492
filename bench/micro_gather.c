/* room: column
 *
 * micro_gather - nanoseconds a row of tn_vec_gather, the inner loop of the merge.
 *
 * 12 sources of 170,000 rows, interleaved at random, rows of a source ascending; gathered in
 * batches of 8,192 rows, as a merge of 12 runs does. Prints the best of seven passes.
 *
 *   cc -O2 -std=c11 ... bench/micro_gather.c with room_column; or target micro_gather of bench/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "column/vector.h"

#define N_SOURCES 12
#define N_ROWS 170000
#define N_REFS ((int64_t)N_SOURCES * N_ROWS)
#define BATCH 8192
#define PASSES 7

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_gather: %s\n", err->message);
    exit(1);
  }
}

static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*seed >> 33);
}

static void make_refs(tn_row_ref *refs) {
  static uint32_t at[N_SOURCES];
  uint64_t seed = 1;
  for (int64_t i = 0; i < N_REFS; i++) {
    uint32_t s = next_random(&seed) % N_SOURCES;
    while (at[s] == N_ROWS) {
      s = (s + 1) % N_SOURCES;
    }
    refs[i] = (tn_row_ref){s, at[s]++};
  }
}

static void make_fixed(tarn_env *env, tn_vec *vec, bool has_nulls) {
  tarn_error err;
  size_t width = tn_layout_width(vec->layout);
  must(tn_vec_alloc(env, vec, N_ROWS, 0, &err), &err);
  memset(vec->values, 7, N_ROWS * width);
  if (has_nulls) {
    must(tn_vec_alloc_valid(env, vec, true, &err), &err);
    for (int64_t i = 0; i < N_ROWS; i += 10) {
      tn_bit_clear(vec->valid, i);
      vec->null_count++;
    }
  }
}

/* len bytes a row; `spread` makes lengths from len - spread to len + spread. */
static void make_strings(tarn_env *env, const tn_type *type, int64_t len, int64_t spread,
                         char encoding, tn_vec *vec) {
  tarn_error err;
  tn_vec flat;
  uint64_t seed = 5;
  must(tn_vec_init(env, type, &flat, &err), &err);
  must(tn_vec_alloc(env, &flat, N_ROWS, (size_t)(N_ROWS * (len + spread)), &err), &err);
  memset(flat.values, 'x', (size_t)(N_ROWS * (len + spread)));
  for (int64_t i = 0; i < N_ROWS; i++) {
    int64_t more = spread > 0 ? next_random(&seed) % (2 * spread + 1) - spread : 0;
    flat.offsets[i + 1] = flat.offsets[i] + (int32_t)(len + more);
  }
  if (encoding == 'f') {
    tn_vec_move(vec, &flat);
    return;
  }
  if (encoding == 'v') {
    must(tn_vec_init_views(env, type, N_ROWS, vec, &err), &err);
    for (int64_t i = 0; i < N_ROWS; i++) {
      tn_slice s = tn_vec_bytes(&flat, i);
      ((tn_view *)vec->values)[i] = (tn_view){s.data, (int64_t)s.len};
    }
    must(tn_vec_retain_buffer(env, vec, flat.values_buffer, &err), &err);
  } else {
    tn_dictionary *dictionary;
    flat.length = 1000;
    must(tn_dictionary_create(env, &flat, &dictionary, &err), &err);
    must(tn_vec_init_dict(env, type, N_ROWS, dictionary, vec, &err), &err);
    for (int64_t i = 0; i < N_ROWS; i++) {
      ((int32_t *)vec->values)[i] = (int32_t)(next_random(&seed) % 1000);
    }
    tn_dictionary_release(dictionary);
  }
  tn_vec_reset(env, &flat);
}

static void measure(tarn_env *env, const char *name, const tn_vec *sources,
                    const tn_row_ref *refs) {
  const tn_vec *list[N_SOURCES];
  double best = 0;
  tn_vec out;
  memset(&out, 0, sizeof(out));
  for (int i = 0; i < N_SOURCES; i++) {
    list[i] = &sources[i];
  }
  for (int pass = 0; pass < PASSES; pass++) {
    double begin = now_ns(), ns;
    for (int64_t i = 0; i < N_REFS; i += BATCH) {
      int64_t n = N_REFS - i < BATCH ? N_REFS - i : BATCH;
      tarn_error err;
      must(tn_vec_gather(env, sources[0].type, list, N_SOURCES, refs + i, n, &out, &err), &err);
    }
    ns = (now_ns() - begin) / (double)N_REFS;
    best = pass == 0 || ns < best ? ns : best;
  }
  tn_vec_reset(env, &out);
  printf("%-34s %6.2f ns/row\n", name, best);
}

static const tn_type int64_type = {.root = TN_BIGINT, .is_nullable = true};
static const tn_type int32_type = {.root = TN_INT, .is_nullable = true};
static const tn_type decimal_type = {.root = TN_DECIMAL, .is_nullable = true, .precision = 20};
static const tn_type string_type = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX};

static const struct bench_case {
  const char *name;
  const tn_type *type;
  bool has_nulls;
  int64_t len, spread;
  char encoding;
} cases[] = {{"int32", &int32_type, false, 0, 0, 'f'},
             {"int64", &int64_type, false, 0, 0, 'f'},
             {"int64, a tenth null", &int64_type, true, 0, 0, 'f'},
             {"decimal (16 bytes)", &decimal_type, false, 0, 0, 'f'},
             {"strings of 25 from views", &string_type, false, 25, 0, 'v'},
             {"strings of 25 from flat", &string_type, false, 25, 0, 'f'},
             {"strings of 25 from a dictionary", &string_type, false, 25, 0, 'd'},
             {"strings of 5 to 45 from views", &string_type, false, 25, 20, 'v'},
             {"strings of 10 from views", &string_type, false, 10, 0, 'v'},
             {"strings of 100 from views", &string_type, false, 100, 0, 'v'}};

int main(void) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tarn_error err;
  tn_row_ref *refs = malloc((size_t)N_REFS * sizeof(*refs));
  options.memory_budget_bytes = (size_t)2 << 30;
  must(tarn_env_create(&options, &env, &err), &err);
  if (refs == NULL) {
    return 1;
  }
  make_refs(refs);
  for (size_t c = 0; c < TN_COUNT(cases); c++) {
    tn_vec sources[N_SOURCES];
    for (int i = 0; i < N_SOURCES; i++) {
      memset(&sources[i], 0, sizeof(sources[i]));
      if (cases[c].len > 0) {
        make_strings(env, cases[c].type, cases[c].len, cases[c].spread, cases[c].encoding,
                     &sources[i]);
      } else {
        must(tn_vec_init(env, cases[c].type, &sources[i], &err), &err);
        make_fixed(env, &sources[i], cases[c].has_nulls);
      }
    }
    measure(env, cases[c].name, sources, refs);
    for (int i = 0; i < N_SOURCES; i++) {
      tn_vec_reset(env, &sources[i]);
    }
  }
  free(refs);
  tarn_env_free(env);
  return 0;
}
