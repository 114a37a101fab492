/* test_normaliser.c - upserts made a complete changelog, against a model; rows kept over ends of
 * every kind. */
#include "base/bytes.h"
#include "column/rowkind.h"
#include "stream/normaliser.h"
#include "support/files.h"
#include "support/random_vec.h"
#include "support/test.h"
#include "support/torture.h"

#define MAX_KEYS 5000
#define MAX_ROWS 700

static const tn_field fields[] = {
    {.id = 0, .name = "_row_kind", .type = {.root = TN_TINYINT}},
    {.id = 1, .name = "_snapshot", .type = {.root = TN_BIGINT, .is_nullable = true}},
    {.id = 2, .name = "id", .type = {.root = TN_INT}},
    {.id = 3, .name = "s", .type = {.root = TN_VARCHAR, .length = INT32_MAX, .is_nullable = true}},
    {.id = 4, .name = "n", .type = {.root = TN_BIGINT, .is_nullable = true}},
};
#define N_FIELDS ((int32_t)TN_COUNT(fields))
static const bool passed[] = {false, true, false, false, false};

typedef struct row {
  int32_t id;
  int32_t text; /* its length, of one character; -1: null */
  int64_t number;
} row;

typedef struct event {
  int8_t kind;
  int64_t snapshot;
  row row;
} event;

typedef struct model {
  bool has_places; /* its numbers are */
  bool is_known[MAX_KEYS];
  row rows[MAX_KEYS];
} model;

/* ------------------------------------------------------------------ the model */

static void model_apply(model *m, const event *e, bool keeps_unchanged, event *out, size_t *n) {
  row *last = &m->rows[e->row.id];
  bool *is_known = &m->is_known[e->row.id];
  if (tn_row_kind_is_retract(e->kind)) {
    if (*is_known && (!m->has_places || last->number == e->row.number)) {
      out[(*n)++] = (event){TN_ROW_DELETE, e->snapshot, *last};
      *is_known = false;
    }
    return;
  }
  if (!*is_known) {
    out[(*n)++] = (event){TN_ROW_INSERT, e->snapshot, e->row};
  } else if (keeps_unchanged || last->text != e->row.text || last->number != e->row.number) {
    out[(*n)++] = (event){TN_ROW_UPDATE_BEFORE, e->snapshot, *last};
    out[(*n)++] = (event){TN_ROW_UPDATE_AFTER, e->snapshot, e->row};
  }
  *is_known = true;
  *last = e->row;
}

static event random_event(random_source *r, int32_t n_keys, int64_t snapshot) {
  static const int8_t kinds[] = {TN_ROW_INSERT,       TN_ROW_INSERT, TN_ROW_UPDATE_AFTER,
                                 TN_ROW_UPDATE_AFTER, TN_ROW_DELETE, TN_ROW_UPDATE_BEFORE};
  return (event){kinds[random_below(r, 6)],
                 snapshot,
                 {(int32_t)random_below(r, (uint32_t)n_keys), (int32_t)random_below(r, 12) - 1,
                  (int64_t)random_below(r, 3)}};
}

/* ------------------------------------------------------------------ batches */

static tarn_status make_batch(tarn_env *env, const event *events, int64_t n, int8_t *kinds,
                              tn_batch *out, tarn_error *err) {
  tarn_status st;
  int32_t at = 0;
  TN_TRY(tn_batch_init(env, fields + 1, N_FIELDS - 1, out, err));
  out->n_rows = n;
  TN_TRY_TO(fail, tn_vec_alloc(env, &out->columns[0], n, 0, err));
  TN_TRY_TO(fail, tn_vec_alloc(env, &out->columns[1], n, 0, err));
  TN_TRY_TO(fail, tn_vec_alloc(env, &out->columns[2], n, (size_t)n * 12, err));
  TN_TRY_TO(fail, tn_vec_alloc_valid(env, &out->columns[2], true, err));
  TN_TRY_TO(fail, tn_vec_alloc(env, &out->columns[3], n, 0, err));
  for (int64_t i = 0; i < n; i++) {
    const row *r = &events[i].row;
    kinds[i] = events[i].kind;
    ((int64_t *)out->columns[0].values)[i] = events[i].snapshot;
    ((int32_t *)out->columns[1].values)[i] = r->id;
    ((int64_t *)out->columns[3].values)[i] = r->number;
    if (r->text < 0) {
      tn_bit_clear(out->columns[2].valid, i);
      out->columns[2].null_count++;
    } else {
      memset((uint8_t *)out->columns[2].values + at, 'a' + r->text, (size_t)r->text);
      at += r->text;
    }
    out->columns[2].offsets[i + 1] = at;
  }
  return TARN_OK;
fail:
  tn_batch_reset(env, out);
  return st;
}

static void check_batch(const tn_batch *got, const event *want, size_t n) {
  assert_int_equal(got->n_rows, n);
  for (size_t i = 0; i < n; i++) {
    const event *e = &want[i];
    tn_slice text;
    assert_int_equal(((const int8_t *)got->columns[0].values)[i], e->kind);
    assert_int_equal(((const int64_t *)got->columns[1].values)[i], e->snapshot);
    assert_int_equal(((const int32_t *)got->columns[2].values)[i], e->row.id);
    assert_int_equal(tn_vec_is_null(&got->columns[3], (int64_t)i), e->row.text < 0);
    text = tn_vec_bytes(&got->columns[3], (int64_t)i);
    assert_int_equal(text.len, e->row.text < 0 ? 0 : e->row.text);
    for (size_t k = 0; k < text.len; k++) {
      assert_int_equal(text.data[k], 'a' + e->row.text);
    }
    assert_int_equal(((const int64_t *)got->columns[4].values)[i], e->row.number);
  }
}

typedef struct walk {
  tarn_env *env;
  tn_normaliser *normaliser;
  char *folder;
  model model;
  bool keeps_unchanged, is_temporary;
  size_t memory_bytes;
  int64_t compact_bytes;
} walk;

static tarn_status open_walk(walk *w, tarn_error *err) {
  static const int32_t keys[] = {2}, places[] = {4};
  const tn_normaliser_options o = {.fields = fields,
                                   .n_fields = N_FIELDS,
                                   .keys = keys,
                                   .n_keys = 1,
                                   .places = places,
                                   .n_places = w->model.has_places ? 1 : 0,
                                   .is_passed = passed,
                                   .keeps_unchanged = w->keeps_unchanged,
                                   .store = {.folder = w->folder,
                                             .is_temporary = w->is_temporary,
                                             .memory_bytes = w->memory_bytes,
                                             .compact_bytes = w->compact_bytes}};
  return tn_normaliser_create(w->env, &o, &w->normaliser, err);
}

/* n random rows, through both. */
static void step(walk *w, random_source *r, int32_t n_keys, int64_t n, int64_t snapshot) {
  static event in[MAX_ROWS], want[2 * MAX_ROWS];
  int8_t kinds[MAX_ROWS];
  size_t n_want = 0;
  tn_batch rows, got;
  tarn_error err;
  for (int64_t i = 0; i < n; i++) {
    in[i] = random_event(r, n_keys, snapshot);
    model_apply(&w->model, &in[i], w->keeps_unchanged, want, &n_want);
  }
  assert_works(make_batch(w->env, in, n, kinds, &rows, &err), err);
  assert_works(tn_normaliser_apply(w->normaliser, kinds, &rows, &got, &err), err);
  check_batch(&got, want, n_want);
  for (int32_t c = 0; c < got.n_columns && got.n_rows > 0; c++) {
    assert_works(tn_vec_validate(&got.columns[c], &err), err);
  }
  tn_batch_reset(w->env, &rows);
  tn_batch_reset(w->env, &got);
}

static void check_counts(walk *w) {
  tn_row_store_stats stats;
  int64_t n = 0;
  for (int32_t i = 0; i < MAX_KEYS; i++) {
    n += w->model.is_known[i];
  }
  tn_row_store_get_stats(tn_normaliser_store(w->normaliser), &stats);
  assert_int_equal(stats.n_keys, n);
}

/* ------------------------------------------------------------------ tests */

/* In no memory worth the name, with compactions: index and log are in files. */
static void normaliser__gives_what_a_model_gives(void **state) {
  static const struct {
    size_t memory;
    int64_t compact;
    int32_t n_keys;
    bool keeps_unchanged, has_places;
  } cases[] = {{1, 1, 7, false, false},
               {1, 4096, 300, true, false},
               {1, 4096, 300, false, true},
               {1, 20000, MAX_KEYS, false, false},
               {1 << 17, 20000, 90, false, false},
               {1 << 20, 1 << 20, MAX_KEYS, true, true}};
  static walk w;
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    random_source r = {.state = 77 + i};
    tn_row_store_stats stats;
    memset(&w, 0, sizeof(w));
    w.env = tn_test_env(1, 0);
    w.folder = tn_test_temp_dir();
    w.is_temporary = true;
    w.memory_bytes = cases[i].memory;
    w.compact_bytes = cases[i].compact;
    w.keeps_unchanged = cases[i].keeps_unchanged;
    w.model.has_places = cases[i].has_places;
    assert_works(open_walk(&w, &err), err);
    for (int64_t k = 0; k < 60; k++) {
      step(&w, &r, cases[i].n_keys, 1 + random_below(&r, MAX_ROWS), k);
    }
    check_counts(&w);
    tn_row_store_get_stats(tn_normaliser_store(w.normaliser), &stats);
    assert_true(stats.n_compactions > 0 || cases[i].compact == 1 << 20);
    assert_true(stats.index_bytes <= 16 * 4 * (MAX_KEYS + 4096));
    tn_normaliser_free(w.normaliser);
    tn_test_temp_dir_remove(w.folder);
    tarn_env_free(w.env);
  }
}

typedef struct checkpoint {
  tn_buf bytes;
  model model;
} checkpoint;

/* Ends of the process anywhere: behind a checkpoint that is stored and told, stored and not told,
 * or taken and not stored. */
static void normaliser__goes_on_from_its_checkpoint(void **state) {
  static walk w;
  static checkpoint stored;
  tarn_error err;
  (void)state;
  for (uint64_t seed = 1; seed <= 25; seed++) {
    random_source r = {.state = seed};
    bool has_stored = false;
    int32_t n_keys = seed % 3 == 0 ? MAX_KEYS : 40;
    memset(&w, 0, sizeof(w));
    w.env = tn_test_env(1, 0);
    w.env->syncs_files = false;
    w.folder = tn_test_temp_dir();
    w.memory_bytes = seed % 2 == 0 ? 1 : 1 << 20;
    w.compact_bytes = seed % 5 == 0 ? 1 << 30 : 9000;
    tn_buf_init(&stored.bytes, &w.env->mem, 1 << 20);
    for (int life = 0; life < 12; life++) {
      assert_works(open_walk(&w, &err), err);
      memset(&w.model, 0, sizeof(w.model));
      if (has_stored) {
        assert_works(tn_row_store_restore(tn_normaliser_store(w.normaliser),
                                          tn_buf_slice(&stored.bytes), &err),
                     err);
        w.model = stored.model;
        check_counts(&w);
      }
      for (uint32_t k = random_below(&r, 12); k > 0; k--) {
        step(&w, &r, n_keys, 1 + random_below(&r, 200), life);
        if (random_below(&r, 3) == 0) {
          tn_buf bytes;
          tn_buf_init(&bytes, &w.env->mem, 1 << 20);
          assert_works(tn_normaliser_checkpoint(w.normaliser, &bytes, &err), err);
          if (random_below(&r, 4) == 0) { /* not stored: the end */
            tn_buf_reset(&bytes);
            break;
          }
          tn_buf_reset(&stored.bytes);
          stored.bytes = bytes;
          stored.model = w.model;
          has_stored = true;
          if (random_below(&r, 4) == 0) { /* not told */
            break;
          }
          tn_row_store_complete(tn_normaliser_store(w.normaliser));
        }
      }
      tn_normaliser_free(w.normaliser);
    }
    tn_buf_reset(&stored.bytes);
    tn_test_temp_dir_remove(w.folder);
    tarn_env_free(w.env);
  }
}

/* ------------------------------------------------------------------ going back */

#define N_STEPS 60

/* A stream and who keeps its place elsewhere: steps 1 to N_STEPS, which are always the same rows,
 * and the checkpoints behind them. */
typedef struct replayed {
  walk w;
  uint64_t seed;
  int32_t n_keys;
  tn_buf taken[N_STEPS + 1]; /* by any run; empty: none */
  model models[N_STEPS + 1];
  int kept; /* the step whose checkpoint is kept; 0: none yet */
} replayed;

static int64_t count_logs(const walk *w) {
  int64_t n = 0;
  for (int i = 0; i < 200; i++) {
    char name[24];
    char *path;
    FILE *f;
    (void)snprintf(name, sizeof(name), "rows-%d", i);
    path = tn_test_path(w->folder, name);
    f = fopen(path, "rb");
    n += f != NULL;
    if (f != NULL) {
      assert_int_equal(fclose(f), 0);
    }
    free(path);
  }
  return n;
}

static void check_older(walk *w, int64_t kept_generation) {
  tn_row_store_stats stats;
  tn_row_store_get_stats(tn_normaliser_store(w->normaliser), &stats);
  assert_true(count_logs(w) <= stats.generation - kept_generation + 4);
  assert_int_equal(stats.n_older,
                   stats.generation > kept_generation ? stats.generation - kept_generation : 0);
}

/* The checkpoint behind a step; that of a run before is the same, byte for byte. */
static void take(replayed *p, int step) {
  tn_buf bytes;
  tarn_error err;
  tn_buf_init(&bytes, &p->w.env->mem, 1 << 20);
  assert_works(tn_normaliser_checkpoint(p->w.normaliser, &bytes, &err), err);
  if (p->taken[step].len > 0) {
    assert_int_equal(p->taken[step].len, bytes.len);
    assert_memory_equal(p->taken[step].data, bytes.data, bytes.len);
  }
  tn_buf_reset(&p->taken[step]);
  p->taken[step] = bytes;
  p->models[step] = p->w.model;
}

/* A run from what is kept; it ends anywhere. */
static void run_from_kept(replayed *p, random_source *r) {
  int last = p->kept + (int)random_below(r, 12);
  tarn_error err;
  assert_works(open_walk(&p->w, &err), err);
  memset(&p->w.model, 0, sizeof(p->w.model));
  if (p->kept > 0) {
    assert_works(tn_row_store_restore(tn_normaliser_store(p->w.normaliser),
                                      tn_buf_slice(&p->taken[p->kept]), &err),
                 err);
    p->w.model = p->models[p->kept];
    check_counts(&p->w);
  }
  for (int i = p->kept + 1; i <= last && i <= N_STEPS; i++) {
    random_source rows = {.state = p->seed * 1000 + (uint64_t)i};
    step(&p->w, &rows, p->n_keys, 1 + random_below(&rows, 200), i);
    if (random_below(r, 2) == 0) {
      take(p, i);
    }
    if (random_below(r, 3) == 0 &&
        p->kept > 0) { /* the news that it is kept comes late, or never */
      assert_works(tn_row_store_complete_until(tn_normaliser_store(p->w.normaliser),
                                               tn_buf_slice(&p->taken[p->kept]), &err),
                   err);
      check_older(&p->w, (int64_t)tn_load_le64(p->taken[p->kept].data + 16));
    }
  }
  tn_normaliser_free(p->w.normaliser);
}

/* Who keeps the place is behind, and has checkpoints of any run: each is come back to. */
static void normaliser__goes_back_to_any_checkpoint_that_may_be_kept(void **state) {
  static replayed p;
  int64_t n_back = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    random_source r = {.state = seed};
    memset(&p, 0, sizeof(p));
    p.seed = seed;
    p.n_keys = seed % 3 == 0 ? 900 : 40;
    p.w.env = tn_test_env(1, 0);
    p.w.env->syncs_files = false;
    p.w.folder = tn_test_temp_dir();
    p.w.memory_bytes = seed % 2 == 0 ? 1 : 1 << 20;
    p.w.compact_bytes = seed % 5 == 0 ? 1 << 30 : 9000;
    for (int i = 0; i <= N_STEPS; i++) {
      tn_buf_init(&p.taken[i], &p.w.env->mem, 1 << 20);
    }
    for (int run = 0; run < 300 && p.kept < N_STEPS; run++) {
      int first = p.kept;
      run_from_kept(&p, &r);
      for (int i = first + 1; i <= N_STEPS; i++) {
        if (p.taken[i].len > 0 && first == 0 && p.kept == 0) { /* a stream that has begun */
          p.kept = i;
        } else if (p.taken[i].len > 0 && random_below(&r, 4) == 0) {
          p.kept = i;
          break;
        }
      }
      for (int i = p.kept + 1; i <= N_STEPS; i++) {
        n_back += p.taken[i].len > 0;
      }
      for (int i = 0; i <= N_STEPS && p.kept == 0; i++) {
        tn_buf_reset(&p.taken[i]); /* it begins anew, as another one */
        tn_buf_init(&p.taken[i], &p.w.env->mem, 1 << 20);
      }
    }
    assert_int_equal(p.kept, N_STEPS);
    for (int i = 0; i <= N_STEPS; i++) {
      tn_buf_reset(&p.taken[i]);
    }
    tn_test_temp_dir_remove(p.w.folder);
    tarn_env_free(p.w.env);
  }
  assert_true(n_back > 100);
}

/* A store that begins anew does not touch what others may have given away just now. */
static void normaliser__beginning_anew_leaves_the_logs_of_runs_before(void **state) {
  static walk w;
  random_source r = {.state = 8};
  model given = {0};
  tarn_error err;
  tn_buf bytes, later;
  (void)state;
  memset(&w, 0, sizeof(w));
  w.env = tn_test_env(1, 0);
  w.folder = tn_test_temp_dir();
  tn_buf_init(&bytes, &w.env->mem, 1 << 20);
  tn_buf_init(&later, &w.env->mem, 1 << 20);
  for (int run = 0; run < 20; run++) {
    tn_buf *out = run == 13 ? &bytes : &later; /* six come to nothing behind it */
    assert_works(open_walk(&w, &err), err);
    memset(&w.model, 0, sizeof(w.model));
    step(&w, &r, 9, 20, 1);
    out->len = 0;
    assert_works(tn_normaliser_checkpoint(w.normaliser, out, &err), err);
    given = run == 13 ? w.model : given;
    step(&w, &r, 9, 20, 2);
    tn_normaliser_free(w.normaliser);
    assert_int_equal(count_logs(&w), run < 8 ? run + 1 : 9); /* its own, too */
  }
  assert_works(open_walk(&w, &err), err);
  memset(&w.model, 0, sizeof(w.model));
  step(&w, &r, 9, 20, 1); /* begins, and is lost */
  tn_normaliser_free(w.normaliser);
  assert_works(open_walk(&w, &err), err);
  assert_works(tn_row_store_restore(tn_normaliser_store(w.normaliser), tn_buf_slice(&bytes), &err),
               err);
  assert_int_equal(count_logs(&w), 1); /* of the others none can be come back to any more */
  w.model = given;
  check_counts(&w);
  step(&w, &r, 9, 50, 3);
  assert_works(tn_normaliser_checkpoint(w.normaliser, &bytes, &err), err);
  tn_row_store_complete(tn_normaliser_store(w.normaliser));
  assert_int_equal(count_logs(&w), 1);
  tn_normaliser_free(w.normaliser);
  tn_buf_reset(&bytes);
  tn_buf_reset(&later);
  tn_test_temp_dir_remove(w.folder);
  tarn_env_free(w.env);
}

/* Rows that are others than those of the run before make what that gave unusable, not wrong. */
static void normaliser__refuses_a_checkpoint_whose_log_went_another_way(void **state) {
  static walk w;
  const event other = {TN_ROW_INSERT, 3, {8, 7, 123456}};
  random_source r = {.state = 8};
  int8_t kinds[1];
  tn_batch rows, got;
  tarn_error err;
  tn_buf first, second;
  (void)state;
  memset(&w, 0, sizeof(w));
  w.env = tn_test_env(1, 0);
  w.folder = tn_test_temp_dir();
  tn_buf_init(&first, &w.env->mem, 1 << 20);
  tn_buf_init(&second, &w.env->mem, 1 << 20);
  assert_works(open_walk(&w, &err), err);
  step(&w, &r, 9, 20, 1);
  assert_works(tn_normaliser_checkpoint(w.normaliser, &first, &err), err);
  step(&w, &r, 9, 20, 2);
  assert_works(tn_normaliser_checkpoint(w.normaliser, &second, &err), err);
  tn_normaliser_free(w.normaliser);
  assert_works(open_walk(&w, &err), err);
  assert_works(tn_row_store_restore(tn_normaliser_store(w.normaliser), tn_buf_slice(&first), &err),
               err);
  assert_works(make_batch(w.env, &other, 1, kinds, &rows, &err), err);
  assert_works(tn_normaliser_apply(w.normaliser, kinds, &rows, &got, &err), err);
  tn_batch_reset(w.env, &rows);
  tn_batch_reset(w.env, &got);
  assert_works(tn_normaliser_checkpoint(w.normaliser, &first, &err), err);
  tn_normaliser_free(w.normaliser);
  assert_works(open_walk(&w, &err), err);
  assert_int_equal(
      tn_row_store_restore(tn_normaliser_store(w.normaliser), tn_buf_slice(&second), &err),
      TARN_E_CORRUPT);
  assert_contains(err.message, "rows-0");
  tn_normaliser_free(w.normaliser);
  tn_buf_reset(&first);
  tn_buf_reset(&second);
  tn_test_temp_dir_remove(w.folder);
  tarn_env_free(w.env);
}

/* ------------------------------------------------------------------ refusals */

/* A folder with a checkpoint of a few rows; returns its bytes. */
static void make_kept(walk *w, tn_buf *bytes) {
  random_source r = {.state = 5};
  tarn_error err;
  memset(w, 0, sizeof(*w));
  w->env = tn_test_env(1, 0);
  w->folder = tn_test_temp_dir();
  tn_buf_init(bytes, &w->env->mem, 1 << 20);
  assert_works(open_walk(w, &err), err);
  step(w, &r, 9, 20, 1);
  assert_works(tn_normaliser_checkpoint(w->normaliser, bytes, &err), err);
  tn_row_store_complete(tn_normaliser_store(w->normaliser));
  tn_normaliser_free(w->normaliser);
}

static tarn_status try_restore(walk *w, tn_slice bytes, tarn_error *err) {
  tarn_status st;
  assert_works(open_walk(w, err), *err);
  st = tn_row_store_restore(tn_normaliser_store(w->normaliser), bytes, err);
  tn_normaliser_free(w->normaliser);
  return st;
}

static void normaliser__refuses_damaged_state(void **state) {
  static walk w;
  tarn_error err;
  tn_buf bytes;
  char *path;
  uint8_t *log;
  size_t n_log;
  (void)state;
  make_kept(&w, &bytes);
  for (size_t i = 0; i < bytes.len; i++) {
    bytes.data[i] ^= 0x10;
    assert_int_not_equal(try_restore(&w, tn_buf_slice(&bytes), &err), TARN_OK);
    bytes.data[i] ^= 0x10;
    assert_int_not_equal(try_restore(&w, tn_slice_of(bytes.data, i), &err), TARN_OK);
  }
  path = tn_test_path(w.folder, "rows-0");
  log = tn_test_read_file(path, &n_log);
  n_log = (size_t)tn_load_le64(bytes.data + 24);
  for (size_t i = 0; i < n_log; i++) {
    bool is_unused = (i >= 12 && i < 16) || (i >= 24 && i < 64) || (i >= 8 && i < 12);
    log[i] ^= 0x10;
    tn_test_write_file(path, log, n_log);
    if (!is_unused) {
      assert_int_not_equal(try_restore(&w, tn_buf_slice(&bytes), &err), TARN_OK);
      assert_contains(err.message, "rows-0");
    }
    log[i] ^= 0x10;
  }
  tn_test_write_file(path, log, n_log - 1);
  assert_int_equal(try_restore(&w, tn_buf_slice(&bytes), &err), TARN_E_CORRUPT);
  assert_contains(err.message, "expected");
  tn_test_write_file(path, log, n_log);
  assert_works(try_restore(&w, tn_buf_slice(&bytes), &err), err);
  assert_int_equal(remove(path), 0);
  assert_int_equal(try_restore(&w, tn_buf_slice(&bytes), &err), TARN_E_NOT_FOUND);
  free(log);
  free(path);
  tn_buf_reset(&bytes);
  tn_test_temp_dir_remove(w.folder);
  tarn_env_free(w.env);
}

static void normaliser__refuses_rows_of_other_columns(void **state) {
  static const int32_t other_key[] = {2, 4};
  static walk w;
  tn_normaliser *n;
  tarn_error err;
  tn_buf bytes;
  (void)state;
  make_kept(&w, &bytes);
  const tn_normaliser_options o = {.fields = fields,
                                   .n_fields = N_FIELDS,
                                   .keys = other_key,
                                   .n_keys = 2,
                                   .is_passed = passed,
                                   .store = {.folder = w.folder}};
  assert_works(tn_normaliser_create(w.env, &o, &n, &err), err);
  assert_int_equal(tn_row_store_restore(tn_normaliser_store(n), tn_buf_slice(&bytes), &err),
                   TARN_E_INVALID);
  assert_contains(err.message, "other columns");
  tn_normaliser_free(n);
  assert_works(try_restore(&w, tn_buf_slice(&bytes), &err), err); /* it is still there */
  tn_buf_reset(&bytes);
  tn_test_temp_dir_remove(w.folder);
  tarn_env_free(w.env);
}

/* After a failure nothing may be kept of it. */
static void normaliser__takes_no_checkpoint_after_a_failure(void **state) {
  static walk w;
  const event e = {TN_ROW_INSERT, 1, {3, 2, 1}};
  int8_t kinds[1];
  tn_batch rows, got;
  tarn_error err;
  tn_buf bytes;
  (void)state;
  memset(&w, 0, sizeof(w));
  w.env = tn_test_env(1, 0);
  w.folder = tn_test_temp_dir();
  tn_buf_init(&bytes, &w.env->mem, 1 << 20);
  assert_works(open_walk(&w, &err), err);
  assert_works(make_batch(w.env, &e, 1, kinds, &rows, &err), err);
  kinds[0] = 4;
  assert_int_equal(tn_normaliser_apply(w.normaliser, kinds, &rows, &got, &err), TARN_E_INVALID);
  assert_contains(err.message, "row kind");
  kinds[0] = TN_ROW_INSERT;
  assert_int_equal(tn_normaliser_apply(w.normaliser, kinds, &rows, &got, &err), TARN_E_STATE);
  assert_int_equal(tn_normaliser_checkpoint(w.normaliser, &bytes, &err), TARN_E_STATE);
  tn_batch_reset(w.env, &rows);
  tn_normaliser_free(w.normaliser);
  tn_test_temp_dir_remove(w.folder);
  tarn_env_free(w.env);
}

static tarn_status torture_once(void *ctx, tarn_env *env, tarn_error *err) {
  static const event events[] = {{TN_ROW_INSERT, 1, {1, 3, 1}},
                                 {TN_ROW_INSERT, 1, {2, -1, 1}},
                                 {TN_ROW_UPDATE_AFTER, 1, {1, 4, 1}},
                                 {TN_ROW_DELETE, 1, {2, -1, 1}},
                                 {TN_ROW_INSERT, 1, {2, 5, 1}}};
  static walk w;
  int8_t kinds[TN_COUNT(events)];
  tn_batch rows, got;
  tn_buf bytes;
  tarn_status st;
  memset(&w, 0, sizeof(w));
  w.env = env;
  w.folder = ctx;
  w.memory_bytes = w.compact_bytes = 1;
  tn_buf_init(&bytes, &env->mem, 1 << 20);
  memset(&rows, 0, sizeof(rows));
  memset(&got, 0, sizeof(got));
  TN_TRY_TO(done, open_walk(&w, err));
  TN_TRY_TO(done, make_batch(env, events, (int64_t)TN_COUNT(events), kinds, &rows, err));
  TN_TRY_TO(done, tn_normaliser_apply(w.normaliser, kinds, &rows, &got, err));
  TN_TRY_TO(done, tn_normaliser_checkpoint(w.normaliser, &bytes, err));
  tn_row_store_complete(tn_normaliser_store(w.normaliser));
  tn_normaliser_free(w.normaliser);
  TN_TRY_TO(done, open_walk(&w, err));
  TN_TRY_TO(done,
            tn_row_store_restore(tn_normaliser_store(w.normaliser), tn_buf_slice(&bytes), err));
done:
  tn_normaliser_free(w.normaliser);
  tn_batch_reset(env, &rows);
  tn_batch_reset(env, &got);
  tn_buf_reset(&bytes);
  return st;
}

static void normaliser__survives_failing_allocations(void **state) {
  char *folder = tn_test_temp_dir();
  (void)state;
  assert_true(tn_torture(torture_once, folder, TARN_OK) > 20);
  tn_test_temp_dir_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(normaliser__gives_what_a_model_gives),
      cmocka_unit_test(normaliser__goes_on_from_its_checkpoint),
      cmocka_unit_test(normaliser__goes_back_to_any_checkpoint_that_may_be_kept),
      cmocka_unit_test(normaliser__beginning_anew_leaves_the_logs_of_runs_before),
      cmocka_unit_test(normaliser__refuses_a_checkpoint_whose_log_went_another_way),
      cmocka_unit_test(normaliser__refuses_damaged_state),
      cmocka_unit_test(normaliser__refuses_rows_of_other_columns),
      cmocka_unit_test(normaliser__takes_no_checkpoint_after_a_failure),
      cmocka_unit_test(normaliser__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
