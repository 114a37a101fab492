/* stream_source.c - streams as handles: coordinator, readers, checkpoints.
 *
 * The mutex of a stream guards its coordinator, which plans while it is held: whoever asks for
 * splits meanwhile would have to wait for that plan all the same. A reader's own rows are read
 * without it.
 */
#include <pthread.h>

#include "api/handles.h"
#include "base/bytes.h"
#include "stream/kinds.h"
#include "stream/start.h"
#include "stream/state.h"
#include "stream/views.h"
#include "stream/wait.h"

#define STATE_LIMIT ((size_t)1 << 30)
#define SNAPSHOT_FIELD_ID (TN_FIELD_ID_ROWKIND - 1)

/* What readers give: the columns of a scan, and that of snapshots. */
typedef struct row_shape {
  tarn_scan *scan;     /* retained */
  tn_field *fields;    /* owned */
  char *snapshot_name; /* owned */
  int32_t n_fields;
  int32_t snapshot_at; /* -1: no such column */
} row_shape;

struct tarn_stream {
  tarn_env *env;
  tarn_scan *scan;
  row_shape shape;
  int32_t n_readers;
  int64_t interval_ms;
  tn_wait *wait;
  pthread_mutex_t mutex; /* guards what follows */
  bool has_mutex;
  tn_enumerator *coordinator;
  tarn_stream_reader **readers; /* by number; NULL: none here */
  tn_stream_view view;          /* of a system table: what of the filter planning tests */
};

struct tarn_stream_reader {
  tarn_env *env;
  tarn_stream *stream; /* NULL: it is fed */
  int32_t number;
  row_shape shape; /* of its own when it is fed; else that of the stream, not owned */
  tn_source_reader *source;
  bool has_view;
  tn_stream_view view;       /* of a system table: how its rows look */
  int64_t n_left;            /* of a limit that counts rows as they are shown; -1: none */
  tn_source_batch last;      /* where the rows that were read last come from */
  tn_batch next;             /* read, and to be given later; they count as held back */
  tn_source_batch next_from; /* where these come from */
  int64_t finished;          /* fed: since they were taken */
};

/* ------------------------------------------------------------------ system tables */

static bool is_binlog(const tn_system *system) {
  return strcmp(system->name, "binlog") == 0;
}

/* Is it one that shows the rows of a stream? */
static tarn_status check_system(const tarn_table *table, tarn_error *err) {
  const tn_system *system = table->system;
  if (system == NULL ||
      (table->table != NULL && (is_binlog(system) || strcmp(system->name, "audit_log") == 0))) {
    return TARN_OK;
  }
  return tn_fail(err, TARN_E_UNSUPPORTED, "system table $%s cannot be streamed", system->name);
}

static tarn_status init_view(const tarn_scan *scan, tn_stream_view *out, tarn_error *err) {
  const tn_stream_view_options options = {
      .table = scan->table->table,
      .is_binlog = is_binlog(scan->table->system),
      .columns = scan->table->system->fields,
      .n_columns = scan->table->system->n_fields,
      .fields = scan->read_fields,
      .n_fields = scan->n_read,
      .with_row_kind = scan->with_row_kind,
      .predicate = scan->predicate != NULL ? scan->predicate->root : NULL,
  };
  return tn_stream_view_init(&options, out, err);
}

/* ------------------------------------------------------------------ shapes */

static void free_shape(tarn_env *env, row_shape *shape) {
  tn_free(&env->mem, shape->fields);
  tn_free(&env->mem, shape->snapshot_name);
  tn_api_scan_release(shape->scan);
  memset(shape, 0, sizeof(*shape));
}

static tarn_status make_shape(tarn_scan *scan, const tarn_stream_options *o, row_shape *out,
                              tarn_error *err) {
  tn_mem *mem = &scan->env->mem;
  const char *name = o->snapshot_name != NULL ? o->snapshot_name : "_snapshot";
  int32_t n = 0;
  memset(out, 0, sizeof(*out));
  out->snapshot_at = -1;
  if (o->with_snapshot && tn_fields_find(scan->out_fields, scan->n_out, tn_slice_text(name)) >= 0) {
    return tn_fail(err, TARN_E_EXISTS,
                   "the table has a column '%s' of its own: set snapshot_name to another name",
                   name);
  }
  out->scan = scan;
  atomic_fetch_add_explicit(&scan->refs, 1, memory_order_relaxed);
  out->fields = tn_calloc(mem, (size_t)scan->n_out + 1, sizeof(*out->fields));
  out->snapshot_name = tn_strdup(mem, name);
  if (out->fields == NULL || out->snapshot_name == NULL) {
    free_shape(scan->env, out);
    return tn_oom(err);
  }
  for (int32_t i = 0; i <= scan->n_out; i++) {
    if (o->with_snapshot && i == (scan->with_row_kind ? 1 : 0)) {
      out->snapshot_at = n;
      out->fields[n++] = (tn_field){.id = SNAPSHOT_FIELD_ID,
                                    .name = out->snapshot_name,
                                    .type = {.root = TN_BIGINT, .is_nullable = true}};
    }
    if (i < scan->n_out) {
      out->fields[n++] = scan->out_fields[i];
    }
  }
  out->n_fields = n;
  return TARN_OK;
}

static tarn_status fill_snapshot(tarn_env *env, const tn_source_batch *where, int64_t n,
                                 tn_vec *out, tarn_error *err) {
  int64_t *ids;
  TN_TRY(tn_vec_alloc(env, out, n, 0, err));
  ids = out->values;
  for (int64_t i = 0; i < n; i++) {
    ids[i] = where->is_overwrite ? 0 : where->snapshot_id;
  }
  if (where->is_overwrite) {
    TN_TRY(tn_vec_alloc_valid(env, out, false, err));
    out->null_count = n;
  }
  return TARN_OK;
}

/* Rows that were read as the caller wants them; consumes `read`. */
static tarn_status export_rows(const row_shape *shape, tn_batch *read, const tn_source_batch *where,
                               struct ArrowArray *out, tarn_error *err) {
  tarn_env *env = shape->scan->env;
  tn_batch projected, whole;
  tarn_status st = TARN_OK;
  memset(&projected, 0, sizeof(projected));
  memset(&whole, 0, sizeof(whole));
  TN_TRY(tn_api_project(shape->scan, read, &projected, err));
  if (shape->snapshot_at < 0) {
    return tn_arrow_export_batch(env, &projected, &shape->scan->arrow, out, err);
  }
  TN_TRY_TO(done, tn_batch_init(env, shape->fields, shape->n_fields, &whole, err));
  whole.n_rows = projected.n_rows;
  for (int32_t i = 0, from = 0; i < shape->n_fields; i++) {
    if (i == shape->snapshot_at) {
      TN_TRY_TO(done, fill_snapshot(env, where, whole.n_rows, &whole.columns[i], err));
    } else {
      tn_vec_reset(env, &whole.columns[i]);
      tn_vec_move(&whole.columns[i], &projected.columns[from++]);
      whole.columns[i].type = &shape->fields[i].type;
    }
  }
  st = tn_arrow_export_batch(env, &whole, &shape->scan->arrow, out, err);
done:
  tn_batch_reset(env, &whole);
  tn_batch_reset(env, &projected);
  return st;
}

/* ------------------------------------------------------------------ stream */

static tarn_status take_options(const tarn_stream_options *options, tarn_stream_options *out,
                                tarn_error *err) {
  const tarn_stream_options none = TARN_STREAM_OPTIONS_INIT;
  *out = none;
  if (options == NULL) {
    return TARN_OK;
  }
  if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof(*out)) {
    return tn_fail(err, TARN_E_INVALID,
                   "tarn_stream_options.struct_size is %zu, expected at most %zu: use "
                   "TARN_STREAM_OPTIONS_INIT",
                   options->struct_size, sizeof(*out));
  }
  memcpy(out, options, options->struct_size);
  return TARN_OK;
}

static tarn_status check_scan(const tarn_scan *scan, tarn_error *err) {
  TN_TRY(tn_env_check(scan->env, err));
  return check_system(scan->table, err);
}

static tarn_status open_stream(tarn_stream *s, const tarn_stream_options *o, tarn_error *err) {
  tarn_scan *scan = s->scan;
  tn_table *table = scan->table->table;
  tn_enumerator_options options = {
      .scan = {.table = table,
               .predicate = scan->predicate != NULL ? scan->predicate->root : NULL,
               .keeps_stats = scan->keeps_stats,
               .cancel = scan->cancel},
      .n_readers = s->n_readers,
      .max_plans = o->max_plans,
  };
  if (!o->allows_endless_consumer) {
    TN_TRY(tn_stream_check_consumer(table, err));
  }
  if (scan->table->system != NULL) {
    TN_TRY(init_view(scan, &s->view, err));
    options.scan.predicate = s->view.pushed;
  }
  TN_TRY(make_shape(scan, o, &s->shape, err));
  // Watched before anything is looked for, so that no snapshot is missed.
  TN_TRY(tn_wait_create(table, &s->wait, err));
  TN_TRY(
      tn_options_int(&table->options, "continuous.discovery-interval", &s->interval_ms, NULL, err));
  TN_TRY(tn_enumerator_create(&options, &s->coordinator, err));
  s->readers = tn_calloc(&s->env->mem, (size_t)s->n_readers, sizeof(tarn_stream_reader *));
  if (s->readers == NULL) {
    return tn_oom(err);
  }
  if (pthread_mutex_init(&s->mutex, NULL) != 0) {
    return tn_fail(err, TARN_E_NOMEM, "no memory for a mutex");
  }
  s->has_mutex = true;
  return TARN_OK;
}

tarn_status tarn_stream_create(tarn_scan *scan, const tarn_stream_options *options,
                               tarn_stream **out, tarn_error *err) {
  tarn_stream_options o;
  tarn_stream *s;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(check_scan(scan, err));
  TN_TRY(take_options(options, &o, err));
  s = tn_calloc(&scan->env->mem, 1, sizeof(*s));
  if (s == NULL) {
    return tn_oom(err);
  }
  s->env = scan->env;
  s->scan = scan;
  s->n_readers = o.n_readers != 0 ? o.n_readers : 1;
  st = open_stream(s, &o, err);
  if (st != TARN_OK) {
    tarn_stream_free(s);
    return st;
  }
  *out = s;
  return TARN_OK;
}

void tarn_stream_free(tarn_stream *s) {
  if (s != NULL) {
    tarn_env *env = s->env;
    if (s->has_mutex) {
      (void)pthread_mutex_destroy(&s->mutex);
    }
    tn_enumerator_free(s->coordinator);
    tn_stream_view_reset(&s->view);
    tn_wait_free(s->wait);
    tn_free(&env->mem, s->readers);
    free_shape(env, &s->shape);
    tn_free(&env->mem, s);
  }
}

static tarn_status lock(tarn_stream *s, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(s->env, err));
  (void)pthread_mutex_lock(&s->mutex);
  return TARN_OK;
}

static void unlock(tarn_stream *s) {
  (void)pthread_mutex_unlock(&s->mutex);
}

tarn_status tarn_stream_schema(tarn_stream *s, struct ArrowSchema *out, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(s->env, err));
  return tn_arrow_export_schema(s->env, s->shape.fields, s->shape.n_fields, &s->scan->arrow, out,
                                err);
}

tarn_status tarn_stream_get_kinds(tarn_table *table, tarn_stream_kinds *out, tarn_error *err) {
  static const tarn_stream_kinds kinds[] = {
      [TN_KINDS_INSERT] = TARN_STREAM_INSERTS,
      [TN_KINDS_UPSERT] = TARN_STREAM_UPSERTS,
      [TN_KINDS_ALL] = TARN_STREAM_CHANGES,
  };
  tn_stream_kinds own;
  tn_error_reset(err);
  TN_TRY(tn_env_check(table->env, err));
  TN_TRY(check_system(table, err));
  if (table->system != NULL) {
    *out = TARN_STREAM_INSERTS;
    return TARN_OK;
  }
  TN_TRY(tn_stream_kinds_of(table->table, &own, err));
  *out = kinds[own];
  return TARN_OK;
}

int32_t tarn_stream_max_readers(const tarn_stream *s) {
  return tn_enumerator_max_readers(s->coordinator);
}

/* ------------------------------------------------------------------ plans by hand */

tarn_status tarn_stream_plan(tarn_stream *s, tarn_stream_outcome *outcome, tarn_plan **plan,
                             tarn_error *err) {
  static const tarn_stream_outcome outcomes[] = {
      [TN_STREAM_PLANNED] = TARN_STREAM_PLANNED,
      [TN_STREAM_STARTED] = TARN_STREAM_STARTED,
      [TN_STREAM_WAITING] = TARN_STREAM_WAITING,
      [TN_STREAM_ENDED] = TARN_STREAM_ENDED,
  };
  tn_stream_outcome own = TN_STREAM_WAITING;
  tn_plan *made = NULL;
  tarn_plan *p;
  tarn_status st;
  *plan = NULL;
  TN_TRY(lock(s, err));
  p = tn_alloc(&s->env->mem, sizeof(*p));
  st = p != NULL ? tn_stream_scan_plan(tn_enumerator_scan(s->coordinator), &own, &made, err)
                 : tn_oom(err);
  unlock(s);
  *outcome = outcomes[own];
  if (st != TARN_OK || made == NULL) {
    tn_free(&s->env->mem, p);
    return st;
  }
  p->plan = made;
  *plan = p;
  return TARN_OK;
}

int64_t tarn_stream_position(tarn_stream *s) {
  int64_t next = 0;
  if (lock(s, NULL) == TARN_OK) {
    if (!tn_stream_scan_position(tn_enumerator_scan(s->coordinator), &next)) {
      next = 0;
    }
    unlock(s);
  }
  return next;
}

tarn_status tarn_stream_seek(tarn_stream *s, int64_t next, int32_t is_full, tarn_error *err) {
  uint8_t empty[12];
  tarn_status st;
  tn_error_reset(err);
  if (next < 0) {
    return tn_fail(err, TARN_E_INVALID, "the next snapshot cannot be %lld", (long long)next);
  }
  tn_store_be32(empty, 0);
  tn_store_be64(empty + 4, (uint64_t)(next != 0 ? next : -1));
  TN_TRY(lock(s, err));
  st = tn_enumerator_restore(s->coordinator, tn_slice_of(empty, sizeof(empty)), NULL, err);
  if (st == TARN_OK) {
    tn_stream_scan_restore(tn_enumerator_scan(s->coordinator), next != 0, next, is_full != 0);
  }
  unlock(s);
  return st;
}

tarn_status tarn_stream_check(tarn_stream *s, tarn_error *err) {
  tarn_status st;
  TN_TRY(lock(s, err));
  st = tn_stream_scan_check(tn_enumerator_scan(s->coordinator), err);
  unlock(s);
  return st;
}

/* ------------------------------------------------------------------ waiting, lag */

tarn_status tarn_stream_wait(tarn_stream *s, int64_t timeout_ms, tarn_cancel *cancel,
                             int32_t *has_news, tarn_error *err) {
  bool news;
  int64_t held_ms;
  tn_error_reset(err);
  *has_news = 0;
  TN_TRY(tn_env_check(s->env, err));
  if (timeout_ms < 0 || timeout_ms > s->interval_ms) {
    timeout_ms = s->interval_ms;
  }
  TN_TRY(lock(s, err));
  if (tn_stream_scan_held_back(tn_enumerator_scan(s->coordinator), &held_ms) &&
      held_ms < timeout_ms) {
    timeout_ms = held_ms;
  }
  unlock(s);
  TN_TRY(tn_wait_for(s->wait, timeout_ms, cancel, &news, err));
  *has_news = news;
  return TARN_OK;
}

static tarn_status check_status(const tarn_stream_status *out, tarn_error *err) {
  return out->struct_size == sizeof(*out)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "tarn_stream_status.struct_size is %zu, expected %zu: use "
                       "TARN_STREAM_STATUS_INIT",
                       out->struct_size, sizeof(*out));
}

static void take_lag(const tn_stream_lag *lag, tarn_stream_status *out) {
  out->latest_snapshot = lag->latest;
  out->lag_snapshots = lag->snapshots;
  out->lag_rows = lag->rows;
  out->lag_ms = lag->ms;
}

static void take_metrics(const tn_stream_metrics *m, tarn_stream_status *out) {
  out->plans = m->plans;
  out->plan_ms = m->last_ms;
  out->plans_ms = m->sum_ms;
  out->planned_snapshot = m->last_snapshot;
  out->planned_manifests = m->last_manifests;
  out->planned_files = m->last_resulted;
  out->skipped_files = m->last_skipped;
  out->skipped_overwrites = m->overwrites_passed_over;
}

tarn_status tarn_stream_get_status(tarn_stream *s, tarn_stream_status *out, tarn_error *err) {
  tn_stream_scan *scan;
  tn_stream_lag lag;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(check_status(out, err));
  TN_TRY(lock(s, err));
  scan = tn_enumerator_scan(s->coordinator);
  st = tn_stream_scan_lag(scan, false, 0, &lag, err);
  if (st == TARN_OK) {
    take_lag(&lag, out);
    out->next_snapshot =
        tn_stream_scan_position(scan, &out->next_snapshot) ? out->next_snapshot : 0;
    out->pending_splits = tn_enumerator_pending(s->coordinator);
    out->has_watermark = tn_stream_scan_watermark(scan, &out->watermark);
    out->snapshot_ms = tn_stream_scan_time(scan, &out->snapshot_ms) ? out->snapshot_ms : 0;
    out->is_prompt = tn_wait_is_prompt(s->wait);
    take_metrics(tn_stream_scan_metrics(scan), out);
  }
  unlock(s);
  return st;
}

tarn_status tarn_stream_get_consumer_lag(tarn_stream *s, const char *consumer_id,
                                         tarn_stream_status *out, tarn_error *err) {
  tn_stream_lag lag;
  tarn_status st;
  int64_t next;
  bool found;
  tn_error_reset(err);
  TN_TRY(check_status(out, err));
  TN_TRY(lock(s, err));
  st = tn_consumer_next(s->scan->table->table, consumer_id, &next, &found, err);
  if (st == TARN_OK && !found) {
    st = tn_fail(err, TARN_E_NOT_FOUND, "consumer '%s' does not exist", consumer_id);
  }
  if (st == TARN_OK) {
    st = tn_stream_scan_lag(tn_enumerator_scan(s->coordinator), true, next, &lag, err);
  }
  if (st == TARN_OK) {
    take_lag(&lag, out);
    out->next_snapshot = next;
  }
  unlock(s);
  return st;
}

/* ------------------------------------------------------------------ readers */

static tarn_status make_reader(tarn_scan *scan, tarn_stream_reader **out, tarn_error *err) {
  tn_read_options o = {
      .table = scan->table->table,
      .fields = scan->read_fields,
      .n_fields = scan->n_read,
      .predicate = scan->predicate != NULL ? scan->predicate->root : NULL,
      .limit = scan->limit,
      .with_row_kind = scan->with_row_kind,
      .batch_rows = scan->batch_rows,
      .cancel = scan->cancel,
  };
  tarn_stream_reader *r = tn_calloc(&scan->env->mem, 1, sizeof(*r));
  tarn_status st;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->env = scan->env;
  r->n_left = -1;
  st = TARN_OK;
  if (scan->table->system != NULL) {
    st = init_view(scan, &r->view, err);
    r->has_view = st == TARN_OK;
    o.fields = r->view.read;
    o.n_fields = r->view.n_read;
    o.predicate = r->view.pushed;
    o.with_row_kind = true;
    if (r->view.is_binlog || r->view.rest != NULL) {
      r->n_left = scan->limit;
      o.limit = -1;
    }
  }
  st = st == TARN_OK ? tn_source_reader_create(scan->env, &o, &r->source, err) : st;
  if (st != TARN_OK) {
    tn_stream_view_reset(&r->view);
    tn_free(&scan->env->mem, r);
    return st;
  }
  *out = r;
  return TARN_OK;
}

tarn_status tarn_stream_reader_create(tarn_stream *s, int32_t number, tarn_stream_reader **out,
                                      tarn_error *err) {
  tarn_stream_reader *r = NULL;
  tarn_status st = TARN_OK;
  *out = NULL;
  TN_TRY(lock(s, err));
  if (number < 0 || number >= s->n_readers || s->readers[number] != NULL) {
    st = tn_fail(err, TARN_E_INVALID, "reader %d of %d: %s", (int)number, (int)s->n_readers,
                 number >= 0 && number < s->n_readers ? "it is there already" : "no such number");
  }
  if (st == TARN_OK) {
    st = make_reader(s->scan, &r, err);
  }
  if (st == TARN_OK) {
    r->stream = s;
    r->number = number;
    r->shape = s->shape;
    s->readers[number] = r;
    *out = r;
  }
  unlock(s);
  return st;
}

void tarn_stream_reader_free(tarn_stream_reader *r) {
  if (r == NULL) {
    return;
  }
  tarn_env *env = r->env;
  tarn_stream *s = r->stream;
  if (s != NULL) {
    (void)pthread_mutex_lock(&s->mutex);
    // What finds no memory to go back to is lost to this stream, not to its checkpoints.
    (void)!tn_enumerator_add_back(s->coordinator, r->number, tn_source_reader_splits(r->source),
                                  NULL);
    s->readers[r->number] = NULL;
    unlock(s);
  } else {
    free_shape(env, &r->shape);
  }
  tn_source_reader_free(r->source);
  tn_batch_reset(env, &r->next);
  tn_stream_view_reset(&r->view);
  tn_free(&env->mem, r);
}

/* Ask the stream for splits; *out: whether there are, or will be. Plans one step when it has none.
 */
static tarn_status ask_for_splits(tarn_stream_reader *r, tn_assignment *out, tarn_error *err) {
  tarn_stream *s = r->stream;
  tn_split_queue *splits = tn_source_reader_splits(r->source);
  tn_discovery discovery = TN_DISCOVERED_SPLITS;
  tarn_status st;
  (void)pthread_mutex_lock(&s->mutex);
  st = tn_enumerator_request(s->coordinator, r->number, splits, out, err);
  while (st == TARN_OK && *out == TN_ASSIGN_LATER && discovery == TN_DISCOVERED_SPLITS) {
    st = tn_enumerator_discover(s->coordinator, &discovery, err);
    if (st == TARN_OK && discovery != TN_DISCOVERED_NOTHING) {
      st = tn_enumerator_request(s->coordinator, r->number, splits, out, err);
    }
  }
  unlock(s);
  return st;
}

static void tell_finished(tarn_stream_reader *r, int64_t n) {
  if (r->stream == NULL) {
    r->finished += n;
  } else if (n > 0) {
    (void)pthread_mutex_lock(&r->stream->mutex);
    tn_enumerator_finished(r->stream->coordinator, r->number, n);
    unlock(r->stream);
  }
}

/* Rows that were read, as many as `n` of the source, are to be read again, and all behind them. */
static void read_again(tarn_stream_reader *r, int64_t n) {
  n += tn_stream_view_held(&r->view) + r->next.n_rows;
  tn_batch_reset(r->env, &r->next);
  if (r->has_view) {
    tn_stream_view_forget(&r->view);
  }
  tn_source_reader_hold(r->source, 0);
  tn_source_reader_take_back(r->source, n);
}

/* Rows as the system table shows them, *n_source of the source; consumes `rows`. There may be none:
 * the other half of an update is still to come, or the filter lets none pass. */
static tarn_status dress_rows(tarn_stream_reader *r, tn_batch *rows, bool is_end, tn_batch *out,
                              int64_t *n_source, tarn_error *err) {
  int64_t n = is_end ? 0 : rows->n_rows + tn_stream_view_held(&r->view), n_over;
  tarn_status st = tn_stream_view_dress(&r->view, rows, !is_end, r->n_left, out, &n_over, err);
  if (st != TARN_OK) {
    tn_stream_view_forget(&r->view);
    read_again(r, n);
    return st;
  }
  n -= n_over + tn_stream_view_held(&r->view);
  if (n_over > 0) {
    read_again(r, n_over);
  } else {
    tn_source_reader_hold(r->source, tn_stream_view_held(&r->view) + r->next.n_rows);
  }
  r->n_left -= r->n_left >= 0 ? out->n_rows : 0;
  *n_source = n;
  return TARN_OK;
}

/* What the source gives next. A split that has ended lets nothing wait for a row behind it: then
 * *is_end, and the rows that came from the next one are given later. */
static tarn_status next_read(tarn_stream_reader *r, tn_batch *out, bool *is_end, tarn_error *err) {
  tn_source_batch where;
  int64_t finished = 0;
  tarn_status st;
  *is_end = false;
  if (r->next.n_rows > 0) {
    tn_batch_move(out, &r->next);
    r->last = r->next_from;
    return TARN_OK;
  }
  st = tn_source_reader_next(r->source, out, &where, &finished, err);
  tell_finished(r, finished);
  if (st == TARN_OK && finished > 0 && r->has_view && tn_stream_view_held(&r->view) > 0) {
    *is_end = true;
    tn_batch_move(&r->next, out);
    r->next_from = where;
  } else if (st == TARN_OK && out->n_rows > 0) {
    r->last = where;
  }
  return st;
}

/* The next rows; out->n_rows == 0: none now, or *has_ended. n_source: as many of the source. */
static tarn_status next_rows(tarn_stream_reader *r, tn_batch *out, int64_t *n_source,
                             bool *has_ended, tarn_error *err) {
  *has_ended = false;
  memset(out, 0, sizeof(*out));
  while (r->n_left != 0) {
    tn_assignment assignment;
    bool is_end;
    TN_TRY(next_read(r, out, &is_end, err));
    *n_source = out->n_rows;
    if (r->has_view && (out->n_rows > 0 || is_end)) {
      tn_batch rows;
      tn_batch_move(&rows, out);
      TN_TRY(dress_rows(r, &rows, is_end, out, n_source, err));
      if (out->n_rows == 0) {
        tn_batch_reset(r->env, out);
        continue;
      }
    }
    if (out->n_rows > 0) {
      return TARN_OK;
    }
    *has_ended = tn_source_reader_is_full(r->source);
    if (*has_ended || r->stream == NULL) {
      return TARN_OK;
    }
    TN_TRY(ask_for_splits(r, &assignment, err));
    if (assignment != TN_ASSIGNED) {
      *has_ended = assignment == TN_ASSIGN_NEVER;
      return TARN_OK;
    }
  }
  *has_ended = true;
  return TARN_OK;
}

tarn_status tarn_stream_reader_next(tarn_stream_reader *r, struct ArrowArray *out,
                                    tarn_stream_batch *batch, tarn_error *err) {
  tn_batch rows;
  bool has_ended;
  int64_t n_source = 0;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(r->env, err));
  if (batch->struct_size != sizeof(*batch)) {
    return tn_fail(err, TARN_E_INVALID,
                   "tarn_stream_batch.struct_size is %zu, expected %zu: use TARN_STREAM_BATCH_INIT",
                   batch->struct_size, sizeof(*batch));
  }
  TN_TRY(next_rows(r, &rows, &n_source, &has_ended, err));
  if (rows.n_rows == 0) {
    *batch = (tarn_stream_batch){.struct_size = sizeof(*batch), .has_ended = has_ended};
    tn_batch_reset(r->env, &rows);
    return TARN_OK;
  }
  *batch = (tarn_stream_batch){sizeof(*batch),    r->last.snapshot_id, r->last.is_overwrite,
                               r->last.first_row, r->last.created_ms,  has_ended};
  st = export_rows(&r->shape, &rows, &r->last, out, err);
  if (st != TARN_OK) {
    read_again(r, n_source);
  }
  return st;
}

/* ------------------------------------------------------------------ checkpoints */

tarn_status tarn_stream_checkpoint(tarn_stream *s, int64_t id, int64_t rows, tarn_string *out,
                                   tarn_error *err) {
  tn_source_reader **sources;
  int32_t n = 0;
  tarn_status st;
  tn_buf bytes;
  memset(out, 0, sizeof(*out));
  TN_TRY(lock(s, err));
  tn_buf_init(&bytes, &s->env->mem, STATE_LIMIT);
  sources = tn_calloc(&s->env->mem, (size_t)s->n_readers, sizeof(*sources));
  for (int32_t i = 0; sources != NULL && i < s->n_readers; i++) {
    if (s->readers[i] != NULL) {
      sources[n++] = s->readers[i]->source;
    }
  }
  st = sources != NULL ? tn_stream_state_save(s->scan->table->table, s->coordinator, sources, n, id,
                                              rows, &bytes, err)
                       : tn_oom(err);
  tn_free(&s->env->mem, sources);
  unlock(s);
  return tn_api_string(st, &bytes, out, err);
}

/* Plan until there is a snapshot for the next checkpoint. */
static tarn_status plan_aligned(tarn_stream *s, int64_t *snapshot_id, tn_discovery *discovery,
                                tarn_error *err) {
  tarn_status st = lock(s, err);
  if (st != TARN_OK) {
    return st;
  }
  do {
    *discovery = TN_DISCOVERY_PAUSED;
    if (tn_enumerator_aligned(s->coordinator, snapshot_id)) {
      break;
    }
    *snapshot_id = 0;
    st = tn_enumerator_discover(s->coordinator, discovery, err);
  } while (st == TARN_OK && *discovery == TN_DISCOVERED_SPLITS);
  unlock(s);
  return st;
}

tarn_status tarn_stream_align(tarn_stream *s, tarn_cancel *cancel, int64_t *snapshot_id,
                              tarn_error *err) {
  int64_t timeout_ms, begin_ms = tn_env_now_ms(s->env);
  tn_error_reset(err);
  *snapshot_id = 0;
  TN_TRY(tn_env_check(s->env, err));
  if (!tn_enumerator_is_aligned(s->coordinator, &timeout_ms)) {
    return tn_fail(err, TARN_E_STATE, "source.checkpoint-align.enabled is not set");
  }
  for (;;) {
    tn_discovery discovery;
    int64_t left;
    int32_t has_news;
    TN_TRY(plan_aligned(s, snapshot_id, &discovery, err));
    if (discovery != TN_DISCOVERED_NOTHING) {
      return TARN_OK;
    }
    left = timeout_ms - (tn_env_now_ms(s->env) - begin_ms);
    if (left <= 0) {
      return tn_fail(err, TARN_E_TIMEOUT,
                     "%s: Timeout while waiting for snapshot from paimon source. Snapshot %lld did "
                     "not come within source.checkpoint-align.timeout (%lld ms): checkpoints "
                     "should not be more frequent than the table's commits",
                     s->scan->table->table->full_name, (long long)tarn_stream_position(s),
                     (long long)timeout_ms);
    }
    TN_TRY(tarn_stream_wait(s, left, cancel, &has_news, err));
  }
}

tarn_status tarn_stream_complete(tarn_stream *s, int64_t id, tarn_error *err) {
  tarn_status st;
  TN_TRY(lock(s, err));
  st = tn_enumerator_complete(s->coordinator, id, err);
  unlock(s);
  return st;
}

tarn_status tarn_stream_restore(tarn_stream *s, const void *bytes, size_t n_bytes, int64_t *rows,
                                tarn_error *err) {
  int64_t given = 0;
  tarn_status st = TARN_OK;
  TN_TRY(lock(s, err));
  for (int32_t i = 0; i < s->n_readers; i++) {
    if (s->readers[i] != NULL) {
      st = tn_fail(err, TARN_E_STATE, "a stream is restored before it has readers");
    }
  }
  if (st == TARN_OK) {
    st = tn_stream_state_load(s->scan->table->table, tn_slice_of(bytes, n_bytes), s->coordinator,
                              &given, err);
  }
  unlock(s);
  if (st == TARN_OK && rows != NULL) {
    *rows = given;
  }
  return st;
}

/* ------------------------------------------------------------------ readers elsewhere */

tarn_status tarn_stream_discover(tarn_stream *s, int32_t *more, tarn_error *err) {
  tn_discovery discovery = TN_DISCOVERED_NOTHING;
  tarn_status st;
  TN_TRY(lock(s, err));
  st = tn_enumerator_discover(s->coordinator, &discovery, err);
  unlock(s);
  *more = discovery == TN_DISCOVERED_SPLITS;
  return st;
}

tarn_status tarn_stream_assign(tarn_stream *s, int32_t number, tarn_string *out, int64_t *n,
                               int32_t *has_ended, tarn_error *err) {
  tn_assignment assignment = TN_ASSIGN_LATER;
  tn_split_queue splits;
  tn_buf bytes;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  *n = 0;
  *has_ended = 0;
  TN_TRY(lock(s, err));
  tn_buf_init(&bytes, &s->env->mem, STATE_LIMIT);
  tn_split_queue_init(&splits, &s->env->mem);
  st = tn_enumerator_request(s->coordinator, number, &splits, &assignment, err);
  if (st == TARN_OK) {
    *n = (int64_t)splits.count;
    *has_ended = assignment == TN_ASSIGN_NEVER;
    st = tn_pending_splits_encode(&splits, 1, false, 0, &bytes, err);
    if (st != TARN_OK) {
      (void)!tn_enumerator_add_back(s->coordinator, number, &splits, NULL);
    }
  }
  tn_split_queue_reset(&splits);
  unlock(s);
  return tn_api_string(st, &bytes, out, err);
}

tarn_status tarn_stream_finished(tarn_stream *s, int32_t number, int64_t n, tarn_error *err) {
  TN_TRY(lock(s, err));
  if (number < 0 || number >= s->n_readers) {
    unlock(s);
    return tn_fail(err, TARN_E_INVALID, "reader %d of %d", (int)number, (int)s->n_readers);
  }
  tn_enumerator_finished(s->coordinator, number, n);
  unlock(s);
  return TARN_OK;
}

tarn_status tarn_stream_add_back(tarn_stream *s, int32_t number, const void *bytes, size_t n_bytes,
                                 tarn_error *err) {
  tn_split_queue splits;
  bool has_next;
  int64_t next;
  tarn_status st;
  TN_TRY(lock(s, err));
  tn_split_queue_init(&splits, &s->env->mem);
  st = tn_pending_splits_decode(s->scan->table->table, tn_slice_of(bytes, n_bytes), &splits,
                                &has_next, &next, err);
  if (st == TARN_OK) {
    st = tn_enumerator_add_back(s->coordinator, number, &splits, err);
  }
  tn_split_queue_reset(&splits);
  unlock(s);
  return st;
}

tarn_status tarn_stream_reader_open(tarn_scan *scan, const tarn_stream_options *options,
                                    tarn_stream_reader **out, tarn_error *err) {
  tarn_stream_options o;
  tarn_stream_reader *r;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(check_scan(scan, err));
  TN_TRY(take_options(options, &o, err));
  TN_TRY(make_reader(scan, &r, err));
  st = make_shape(scan, &o, &r->shape, err);
  if (st != TARN_OK) {
    tarn_stream_reader_free(r);
    return st;
  }
  *out = r;
  return TARN_OK;
}

tarn_status tarn_stream_reader_add(tarn_stream_reader *r, const void *bytes, size_t n_bytes,
                                   tarn_error *err) {
  tn_split_queue splits;
  tn_source_split split;
  bool has_next;
  int64_t next;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(r->env, err));
  tn_split_queue_init(&splits, &r->env->mem);
  st = tn_pending_splits_decode(r->shape.scan->table->table, tn_slice_of(bytes, n_bytes), &splits,
                                &has_next, &next, err);
  while (st == TARN_OK && tn_split_queue_pop(&splits, &split)) {
    st = tn_split_queue_push(tn_source_reader_splits(r->source), &split, err);
    if (st != TARN_OK) {
      tn_source_split_reset(&split);
    }
  }
  tn_split_queue_reset(&splits);
  return st;
}

int64_t tarn_stream_reader_take_finished(tarn_stream_reader *r) {
  int64_t n = r->finished;
  r->finished = 0;
  return n;
}

tarn_status tarn_stream_reader_checkpoint(tarn_stream_reader *r, tarn_string *out,
                                          tarn_error *err) {
  tn_buf bytes;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(r->env, err));
  tn_buf_init(&bytes, &r->env->mem, STATE_LIMIT);
  st = tn_source_reader_checkpoint(r->source, &bytes, err);
  return tn_api_string(st, &bytes, out, err);
}
