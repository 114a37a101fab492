/* read.c - the splits of a read, one after the other or several at once.
 *
 * The work is cut into units: a split, or when there are fewer splits than threads some files of a
 * raw one. With one thread the caller pulls unit after unit. With more:
 *
 *   unit          waiting -> active -> done         at most as many active as there are threads
 *   its task      makes one batch, puts it into the unit's queue, submits itself again unless the
 *                 queue is full
 *   tn_read_next  takes the first batch of any active unit and submits the unit's task again if it
 *                 had stopped; when there is no batch yet, runs a task itself, or waits
 *
 * Batches of a split keep their order: of units of one split only the first active one is taken
 * from. A unit after the first is started, and goes on, only while the memory budget has room for
 * it; one that runs out of memory before its first batch starts again once it is alone.
 *
 * The mutex guards the units' state (but not their readers, which belong to the running task) and
 * is_stopping. It is held neither across reading nor while tasks are submitted.
 */
#include "read/read.h"

#include <pthread.h>
#include <string.h>

#include "plan/fallback.h"
#include "read/diff_reader.h"
#include "read/joiner.h"
#include "read/newer_types.h"
#include "read/split_reader.h"

#define QUEUE 4                  /* batches that a unit may be ahead */
#define MAX_BATCH_ROWS (1 << 18) /* whatever is asked for: smaller batches are always right */

typedef struct unit {
  tn_task task;
  tn_read *read;
  const tn_read_context *c; /* of its split */
  const tn_split *split;
  int32_t first_file, n_files; /* all of the split's, or those of this part of a raw split */
  int64_t guessed_bytes;       /* that its reader will hold */
  tn_split_reader *reader;
  tn_batch queue[QUEUE];
  int32_t head, n_queued;
  bool is_scheduled; /* its task is queued or runs */
  bool is_open;      /* has a reader, or is about to */
  bool has_given;    /* a batch was made */
  bool is_done;      /* no more batches; st tells why */
  bool wants_alone;  /* ran out of memory beside others */
  tarn_status st;
  tarn_error error;
} unit;

/* What is asked of splits of one table. */
typedef struct table_context {
  tn_read_context c;
  tn_read_context changes; /* the same for streaming splits: their row kinds are kept, if seen */
  struct table_context *next;
} table_context;

struct tn_read {
  tn_read_context c;
  tn_read_context changes; /* c for streaming splits */
  table_context *others;   /* tables of other branches */
  tn_plan **plans;         /* retained, one a split */
  int32_t n_plans;
  unit *units;
  int32_t n_units, next_unit; /* the next to become active */
  unit **active;              /* in order of units */
  int32_t n_active, max_active;
  tn_group group;
  pthread_mutex_t mutex;
  pthread_cond_t has_news; /* a task has ended */
  bool has_mutex, is_stopping;
  tn_joiner joiner;
  int64_t n_left; /* rows that the limit leaves; -1: no limit */
  bool is_ended;
  tarn_status failed;
  tarn_error error;
};

/* ------------------------------------------------------------------ units */

static tarn_status open_unit(unit *u, tarn_error *err) {
  const tn_read_context *c = u->c;
  tn_split_way way = tn_split_choose_way(c, u->split);
  tn_file_list list = {
      .split = u->split,
      .first = u->first_file,
      .n_files = u->n_files,
      .has_kinds = way != TN_SPLIT_RAW,
      /* Of a stream of changes a value filter might skip a -U and keep its +U. */
      .pushes_values = !u->split->is_streaming || !c->o.table->facts.has_primary_key,
      .filter = c->o.predicate,
  };
  if (u->split->is_incremental && c->o.table->facts.has_primary_key) {
    return tn_diff_split_read(c, u->split, &u->reader, err);
  }
  if (way == TN_SPLIT_MERGED) {
    return tn_merge_split_read(c, u->split, &u->reader, err);
  }
  return tn_file_list_read(c, &list, &u->reader, err);
}

/* The next batch of a unit; n_rows == 0: its end. Only the thread that runs the unit. */
static tarn_status next_of_unit(unit *u, tn_batch *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (u->reader == NULL) {
    TN_TRY(open_unit(u, err));
  }
  TN_TRY(u->reader->ops->next(u->reader, out, err));
  for (int32_t i = 0; i < out->n_columns && u->c->out_fields != u->read->c.out_fields; i++) {
    tn_vec_retype(&out->columns[i], &u->read->c.out_fields[i].type);
  }
  out->fields = u->read->c.out_fields;
  return TARN_OK;
}

static void close_unit(unit *u) {
  tn_split_reader_free(u->reader);
  u->reader = NULL;
}

/* ------------------------------------------------------------------ working ahead */

static bool is_budget_short(const tn_read *read) {
  const tn_mem *mem = &read->c.env->mem;
  return atomic_load_explicit(&mem->reserved_bytes, memory_order_relaxed) >
         mem->budget_bytes / 4 * 3;
}

/* Does another unit hold memory? Units of the same split wait for this one, so they do not count.
 */
static bool has_company(const unit *u) {
  const tn_read *read = u->read;
  for (int32_t i = 0; i < read->n_active; i++) {
    const unit *other = read->active[i];
    if (other != u && other->split != u->split &&
        (other->is_open || other->is_scheduled || other->n_queued > 0)) {
      return true;
    }
  }
  return false;
}

/* May the unit make another batch? Called with the mutex held. */
static bool may_go_on(const unit *u) {
  const tn_read *read = u->read;
  bool is_first = read->active[0] == u;
  if (read->is_stopping || u->is_done || u->n_queued == QUEUE) {
    return false;
  }
  if (u->wants_alone) {
    return is_first && !has_company(u);
  }
  /* When the first waits to be alone, the others must come to their ends. */
  return is_first || read->active[0]->wants_alone || !is_budget_short(read);
}

/* One batch of a unit, into its queue. */
static void run_unit(tn_task *task) {
  unit *u = TN_CONTAINER_OF(task, unit, task);
  tn_read *read = u->read;
  tn_batch batch = {0};
  tarn_status st;
  bool is_end, goes_on;
  pthread_mutex_lock(&read->mutex);
  if (!may_go_on(u)) {
    u->is_scheduled = false;
    pthread_cond_broadcast(&read->has_news);
    pthread_mutex_unlock(&read->mutex);
    return;
  }
  u->is_open = true;
  pthread_mutex_unlock(&read->mutex);

  st = next_of_unit(u, &batch, &u->error);
  is_end = st != TARN_OK || batch.n_rows == 0;
  if (is_end) {
    tn_batch_reset(read->c.env, &batch);
    close_unit(u);
  }

  pthread_mutex_lock(&read->mutex);
  u->is_open = !is_end;
  if (!is_end) {
    tn_batch_move(&u->queue[(u->head + u->n_queued) % QUEUE], &batch);
    u->n_queued++;
    u->has_given = true;
  } else if (st == TARN_E_LIMIT && !u->has_given && has_company(u)) {
    u->wants_alone = true;
    u->st = st;
  } else {
    u->is_done = true;
    u->st = st;
  }
  goes_on = may_go_on(u);
  u->is_scheduled = goes_on;
  pthread_cond_broadcast(&read->has_news);
  pthread_mutex_unlock(&read->mutex);
  if (goes_on) {
    tn_group_submit(&read->group, &u->task);
  }
}

/* May the next unit become active? */
static bool has_room(const tn_read *read) {
  int64_t most = (int64_t)(read->c.env->mem.budget_bytes / 4 * 3);
  int64_t sum;
  if (read->next_unit == read->n_units || read->n_active == read->max_active) {
    return false;
  }
  sum = read->units[read->next_unit].guessed_bytes;
  for (int32_t i = 0; i < read->n_active; i++) {
    if (read->active[i]->wants_alone) {
      return false;
    }
    sum += read->active[i]->guessed_bytes;
  }
  return read->n_active == 0 || (sum <= most && !is_budget_short(read));
}

/* Make units active while there is room; drop those that are done and empty. Returns the unit that
 * has a batch or a failure to give, or NULL. Called with the mutex held. */
static unit *find_ready(tn_read *read) {
  int32_t n = 0;
  unit *ready = NULL;
  for (int32_t i = 0; i < read->n_active; i++) {
    unit *u = read->active[i];
    if (u->is_done && u->n_queued == 0 && u->st == TARN_OK) {
      continue; /* its task has ended: is_done is set at its end */
    }
    read->active[n++] = u;
  }
  read->n_active = n;
  while (has_room(read)) {
    read->active[read->n_active++] = &read->units[read->next_unit++];
  }
  for (int32_t i = 0; i < read->n_active && ready == NULL; i++) {
    unit *u = read->active[i];
    bool is_first_of_split = i == 0 || read->active[i - 1]->split != u->split;
    if (is_first_of_split && (u->n_queued > 0 || (u->is_done && u->st != TARN_OK))) {
      ready = u;
    }
  }
  return ready;
}

/* Submit the tasks of active units that stand still and may go on. */
static void schedule(tn_read *read) {
  for (;;) {
    unit *u = NULL;
    pthread_mutex_lock(&read->mutex);
    for (int32_t i = 0; i < read->n_active && u == NULL; i++) {
      if (!read->active[i]->is_scheduled && may_go_on(read->active[i])) {
        u = read->active[i];
        u->is_scheduled = true;
      }
    }
    pthread_mutex_unlock(&read->mutex);
    if (u == NULL) {
      return;
    }
    tn_group_submit(&read->group, &u->task);
  }
}

/* Until a task has ended. */
static void wait_for_news(tn_read *read) {
  bool is_any_scheduled = false;
  pthread_mutex_lock(&read->mutex);
  if (find_ready(read) == NULL && read->n_active > 0) {
    for (int32_t i = 0; i < read->n_active; i++) {
      is_any_scheduled |= read->active[i]->is_scheduled;
    }
    if (is_any_scheduled) {
      pthread_cond_wait(&read->has_news, &read->mutex);
    } else if (!may_go_on(read->active[0])) {
      read->active[0]->is_done = true; /* short of memory, and others cannot give theirs back */
    }
  }
  pthread_mutex_unlock(&read->mutex);
}

/* The next batch of any unit. */
static tarn_status next_parallel(tn_read *read, tn_batch *out, tarn_error *err) {
  for (;;) {
    unit *u;
    bool is_end, is_alone;
    tarn_status st = TARN_OK;
    pthread_mutex_lock(&read->mutex);
    u = find_ready(read);
    is_alone = read->n_active == 1 && !has_room(read);
    is_end = u == NULL && read->n_active == 0;
    if (u != NULL && u->n_queued > 0) {
      tn_batch_move(out, &u->queue[u->head]);
      u->head = (u->head + 1) % QUEUE;
      u->n_queued--;
    } else if (u != NULL) {
      st = u->st;
      if (err != NULL) {
        *err = u->error;
      }
    }
    pthread_mutex_unlock(&read->mutex);
    if (is_end || st != TARN_OK) {
      return st;
    }
    schedule(read);
    if (u != NULL) {
      return TARN_OK;
    }
    /* A lone unit stays with the worker that has it: taking turns would gain nothing, and spread
     * its memory over the heaps of two threads. */
    if (is_alone || !tn_pool_help(read->c.env->pool)) {
      wait_for_news(read);
    }
  }
}

/* ------------------------------------------------------------------ one thread */

static tarn_status next_serial(tn_read *read, tn_batch *out, tarn_error *err) {
  while (read->next_unit < read->n_units) {
    unit *u = &read->units[read->next_unit];
    TN_TRY(next_of_unit(u, out, err));
    if (out->n_rows > 0) {
      return TARN_OK;
    }
    tn_batch_reset(read->c.env, out);
    close_unit(u);
    read->next_unit++;
  }
  return TARN_OK;
}

/* The first n rows of a batch. */
static tarn_status cut_batch(tn_read *read, int64_t n, tn_batch *batch, tarn_error *err) {
  for (int32_t i = 0; i < batch->n_columns; i++) {
    tn_vec cut = {0};
    TN_TRY(tn_vec_copy_range(read->c.env, &batch->columns[i], 0, n, &cut, err));
    tn_vec_reset(read->c.env, &batch->columns[i]);
    tn_vec_move(&batch->columns[i], &cut);
  }
  batch->n_rows = n;
  return TARN_OK;
}

/* The next rows, not more than the limit leaves; small batches are joined. */
static tarn_status next_rows(tn_read *read, tn_batch *out, tarn_error *err) {
  while (!read->is_ended && !tn_joiner_is_ready(&read->joiner)) {
    tn_batch batch = {0};
    TN_TRY(tn_cancel_check(read->c.o.cancel, err));
    TN_TRY(read->max_active > 1 ? next_parallel(read, &batch, err)
                                : next_serial(read, &batch, err));
    if (batch.n_rows == 0) {
      read->is_ended = true;
      tn_batch_reset(read->c.env, &batch);
      break;
    }
    if (read->n_left >= 0 && batch.n_rows > read->n_left) {
      tarn_status st = cut_batch(read, read->n_left, &batch, err);
      if (st != TARN_OK) {
        tn_batch_reset(read->c.env, &batch);
        return st;
      }
    }
    read->n_left -= read->n_left >= 0 ? batch.n_rows : 0;
    read->is_ended = read->n_left == 0;
    TN_TRY(tn_joiner_add(&read->joiner, &batch, err));
  }
  return tn_joiner_take(&read->joiner, out, err);
}

tarn_status tn_read_next(tn_read *read, tn_batch *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (read->failed == TARN_OK) {
    read->failed =
        tn_table_fault(read->c.o.table, next_rows(read, out, &read->error), &read->error);
  }
  if (read->failed != TARN_OK && err != NULL) {
    *err = read->error;
  }
  return read->failed;
}

/* ------------------------------------------------------------------ create */

static const tn_field row_kind_field = {
    .id = TN_FIELD_ID_ROWKIND, .name = "_row_kind", .type = {.root = TN_TINYINT}};

static bool is_key_column(void *ctx, int32_t field_id) {
  return tn_schema_key_column(ctx, field_id) >= 0;
}

/* Rows of streaming splits that are changes keep their kinds where kinds are seen at all. */
static void keep_kinds(const tn_read_context *c, tn_read_context *changes) {
  *changes = *c;
  changes->o.keeps_deletes = c->o.keeps_deletes || c->o.with_row_kind;
}

static tarn_status make_context(tarn_env *env, const tn_read_options *o, tn_read_context *c,
                                tarn_error *err) {
  const tn_table_facts *facts = &o->table->facts;
  tn_field *fields;
  int32_t n = 0;
  c->env = env;
  c->o = *o;
  tn_table_retain(o->table);
  tn_arena_init(&c->arena, &env->mem, (size_t)1 << 30);
  c->engine = !facts->has_primary_key                        ? NULL
              : facts->merge_engine == TN_ENGINE_DEDUPLICATE ? &tn_engine_deduplicate
              : facts->merge_engine == TN_ENGINE_FIRST_ROW   ? &tn_engine_first_row
              : facts->merge_engine == TN_ENGINE_AGGREGATION ? &tn_engine_aggregation
                                                             : &tn_engine_partial_update;
  c->batch_rows = o->batch_rows > 0 ? o->batch_rows : TN_READ_BATCH_ROWS;
  c->batch_rows = c->batch_rows < MAX_BATCH_ROWS ? c->batch_rows : MAX_BATCH_ROWS;
  if (o->predicate == NULL && o->limit > 0 && o->limit < c->batch_rows) {
    c->batch_rows = o->limit;
  }
  fields = tn_arena_calloc(&c->arena, (size_t)o->n_fields + 1, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  if (o->with_row_kind) {
    fields[n++] = row_kind_field;
  }
  for (int32_t i = 0; i < o->n_fields; i++) {
    fields[n++] = o->fields[i];
  }
  c->out_fields = o->with_row_kind ? fields : o->fields;
  c->n_out = n;
  // What the key alone decides, and the rest.
  return tn_pred_part(&c->arena, c->o.predicate, is_key_column, c->o.table->schema, &c->key_filter,
                      &c->value_filter, err);
}

/* The same columns of another branch's table: those that stand in the same places. */
static tarn_status make_other(tn_read *read, tn_table *table, table_context **out,
                              tarn_error *err) {
  const tn_schema *own = read->c.o.table->schema, *other = table->schema;
  tn_arena *arena = &read->c.arena;
  table_context *t = tn_arena_calloc(arena, 1, sizeof(*t));
  tn_read_options o = read->c.o;
  tn_field *fields = tn_arena_calloc(arena, (size_t)o.n_fields + 1, sizeof(*fields));
  if (t == NULL || fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < o.n_fields; i++) {
    int32_t at = tn_fields_find_id(own->fields, own->n_fields, o.fields[i].id);
    fields[i] = o.fields[i];
    if (at >= 0 && at < other->n_fields) {
      fields[i].id = other->fields[at].id;
      fields[i].name = other->fields[at].name;
    }
  }
  o.table = table;
  o.fields = fields;
  if (o.predicate != NULL) {
    TN_TRY(tn_fallback_translate(own, other, o.predicate, arena, &o.predicate, err));
  }
  t->next = read->others;
  read->others = t;
  *out = t;
  TN_TRY(make_context(read->c.env, &o, &t->c, err));
  keep_kinds(&t->c, &t->changes);
  return TARN_OK;
}

/* What is asked of a split; others: the list of a read that is being made. */
static tarn_status find_context(tn_read *read, const tn_split *split, const tn_read_context **out,
                                tarn_error *err) {
  table_context *t = read->others;
  *out = split->is_streaming ? &read->changes : &read->c;
  if (split->table == NULL || split->table == read->c.o.table) {
    return TARN_OK;
  }
  while (t != NULL && t->c.o.table != split->table) {
    t = t->next;
  }
  if (t == NULL) {
    TN_TRY(make_other(read, split->table, &t, err));
  }
  *out = split->is_streaming ? &t->changes : &t->c;
  return TARN_OK;
}

/* *good_schema: of files whose values the context's columns hold. */
static tarn_status check_split(const tn_read_context *c, const tn_split *split,
                               int64_t *good_schema, tarn_error *err) {
  if (split->is_incremental && split->is_streaming && c->o.table->facts.has_primary_key) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "table %s: a split of a streaming read with files before and after",
                   c->o.table->full_name);
  }
  return tn_newer_types_check(&c->o, split, good_schema, err);
}

/* How many units a split makes: one, or for a raw split when there are threads to spare one for
 * each file, up to a few a thread. */
static int32_t parts_of(const tn_read *read, const tn_read_context *c, const tn_split *split,
                        int32_t n_splits) {
  int32_t most = 4 * read->max_active;
  if (read->max_active == 1 || n_splits >= read->max_active ||
      tn_split_choose_way(c, split) == TN_SPLIT_MERGED) {
    return 1;
  }
  return split->n_files < most ? split->n_files : most;
}

/* A guess of what reading a unit holds: pages of each file that is open at once. */
static int64_t guess_bytes(const unit *u) {
  const int64_t most = 2 << 20;
  bool is_merged = tn_split_choose_way(u->c, u->split) == TN_SPLIT_MERGED;
  int64_t sum = most;
  for (int32_t i = 0; i < u->n_files && is_merged; i++) {
    int64_t size = u->split->files[i].file_size;
    sum += size < 0 ? 0 : size < most / 4 ? size * 4 : most;
  }
  return sum;
}

static tarn_status make_units(tn_read *read, const tn_split *const *splits, int32_t n_splits,
                              tarn_error *err) {
  int64_t n = 0;
  const tn_read_context *c;
  for (int32_t i = 0; i < n_splits; i++) {
    TN_TRY(find_context(read, splits[i], &c, err));
    n += parts_of(read, c, splits[i], n_splits);
  }
  if (n > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a read of %lld parts", (long long)n);
  }
  read->units = tn_calloc(&read->c.env->mem, (size_t)n + 1, sizeof(*read->units));
  read->active = tn_calloc(&read->c.env->mem, (size_t)read->max_active + 1, sizeof(*read->active));
  if (read->units == NULL || read->active == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_splits; i++) {
    int32_t n_parts, n_files = splits[i]->n_files;
    TN_TRY(find_context(read, splits[i], &c, err));
    n_parts = parts_of(read, c, splits[i], n_splits);
    for (int32_t p = 0; p < n_parts; p++) {
      unit *u = &read->units[read->n_units++];
      u->task.run = run_unit;
      u->read = read;
      u->c = c;
      u->split = splits[i];
      u->first_file = (int32_t)((int64_t)n_files * p / n_parts);
      u->n_files = (int32_t)((int64_t)n_files * (p + 1) / n_parts) - u->first_file;
      u->guessed_bytes = guess_bytes(u);
    }
  }
  return TARN_OK;
}

tarn_status tn_read_create(tarn_env *env, const tn_read_options *options,
                           const tn_split *const *splits, int32_t n_splits, tn_read **out,
                           tarn_error *err) {
  tn_read *read = tn_calloc(&env->mem, 1, sizeof(*read));
  const tn_read_context *before = NULL;
  int64_t good_schema = INT64_MIN;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (read == NULL) {
    return tn_oom(err);
  }
  read->n_left = options->limit >= 0 ? options->limit : -1;
  read->is_ended = options->limit == 0;
  read->max_active = tn_pool_threads(env->pool);
  tn_group_init(&read->group, env->pool);
  TN_TRY_TO(done, make_context(env, options, &read->c, err));
  keep_kinds(&read->c, &read->changes);
  tn_joiner_init(&read->joiner, env, read->c.out_fields, read->c.n_out, read->c.batch_rows);
  pthread_mutex_init(&read->mutex, NULL);
  pthread_cond_init(&read->has_news, NULL);
  read->has_mutex = true;
  read->plans = tn_calloc(&env->mem, (size_t)n_splits + 1, sizeof(*read->plans));
  if (read->plans == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int32_t i = 0; i < n_splits; i++) {
    const tn_read_context *c;
    TN_TRY_TO(done, find_context(read, splits[i], &c, err));
    good_schema = c == before ? good_schema : INT64_MIN;
    before = c;
    TN_TRY_TO(done, check_split(c, splits[i], &good_schema, err));
    read->plans[read->n_plans++] = tn_plan_retain(splits[i]->plan);
  }
  TN_TRY_TO(done, make_units(read, splits, n_splits, err));
done:
  if (st != TARN_OK) {
    tn_read_free(read);
    return st;
  }
  *out = read;
  return TARN_OK;
}

void tn_read_free(tn_read *read) {
  tarn_env *env;
  if (read == NULL) {
    return;
  }
  env = read->c.env;
  if (read->has_mutex) {
    pthread_mutex_lock(&read->mutex);
    read->is_stopping = true;
    pthread_mutex_unlock(&read->mutex);
    tn_group_wait(&read->group);
    pthread_cond_destroy(&read->has_news);
    pthread_mutex_destroy(&read->mutex);
  }
  for (int32_t i = 0; i < read->n_units; i++) {
    unit *u = &read->units[i];
    for (int32_t k = 0; k < QUEUE; k++) {
      tn_batch_reset(env, &u->queue[k]);
    }
    close_unit(u);
  }
  tn_joiner_reset(&read->joiner);
  for (int32_t i = 0; i < read->n_plans; i++) {
    tn_plan_release(read->plans[i]);
  }
  tn_free(&env->mem, read->plans);
  tn_free(&env->mem, read->units);
  tn_free(&env->mem, read->active);
  for (table_context *t = read->others; t != NULL; t = t->next) {
    tn_table_release(t->c.o.table);
    tn_arena_reset(&t->c.arena);
  }
  tn_arena_reset(&read->c.arena);
  tn_table_release(read->c.o.table);
  tn_free(&env->mem, read);
}
