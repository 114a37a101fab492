/* stream.c - rows as an ArrowArrayStream: from splits, from a system table, from one file.
 *
 * A stream is a source of batches and the way to export them. After a failure every further
 * get_next fails alike.
 */
#include <errno.h>

#include "api/handles.h"
#include "base/bytes.h"

typedef struct row_stream {
  tarn_env *env;
  /* The next batch of out_fields; n_rows == 0: the end. */
  tarn_status (*next)(struct row_stream *stream, tn_batch *out, tarn_error *err);
  void (*free_source)(struct row_stream *stream);
  const tn_field *out_fields;
  int32_t n_out;
  tn_arrow_options arrow;
  tarn_status failed;
  tarn_error error;

  tarn_scan *scan;        /* retained; NULL for a file */
  tarn_predicate *filter; /* the scan's and the run-time one together; retained */
  tn_read *read;          /* splits */
  tn_system_read *system; /* system table */
  tn_api_file_rows *file; /* file */
} row_stream;

static int errno_of(tarn_status status) {
  switch (status) {
    case TARN_OK:
      return 0;
    case TARN_E_NOMEM:
      return ENOMEM;
    case TARN_E_INVALID:
      return EINVAL;
    case TARN_E_CANCELLED:
      return ECANCELED;
    case TARN_E_UNSUPPORTED:
      return ENOSYS;
    default:
      return EIO;
  }
}

static int note_failure(row_stream *s, tarn_status status) {
  s->failed = status;
  s->error.status = status;
  return errno_of(status);
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  row_stream *s = stream->private_data;
  tarn_status st =
      tn_arrow_export_schema(s->env, s->out_fields, s->n_out, &s->arrow, out, &s->error);
  return st == TARN_OK ? 0 : note_failure(s, st);
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  row_stream *s = stream->private_data;
  tn_batch batch;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (s->failed != TARN_OK) {
    return errno_of(s->failed);
  }
  memset(&batch, 0, sizeof(batch));
  st = tn_env_check(s->env, &s->error);
  if (st == TARN_OK) {
    st = s->next(s, &batch, &s->error);
  }
  if (st == TARN_OK && batch.n_rows > 0) {
    st = tn_arrow_export_batch(s->env, &batch, &s->arrow, out, &s->error);
  }
  tn_batch_reset(s->env, &batch);
  return st == TARN_OK ? 0 : note_failure(s, st);
}

static const char *stream_last_error(struct ArrowArrayStream *stream) {
  row_stream *s = stream->private_data;
  return s->failed != TARN_OK ? s->error.message : NULL;
}

static void stream_release(struct ArrowArrayStream *stream) {
  row_stream *s = stream->private_data;
  tarn_env *env = s->env;
  s->free_source(s);
  tn_predicate_release(s->filter);
  tn_api_scan_release(s->scan);
  tn_free(&env->mem, s);
  stream->release = NULL;
  stream->private_data = NULL;
}

tarn_status tarn_stream_error(struct ArrowArrayStream *stream, tarn_error *err) {
  row_stream *s;
  tn_error_reset(err);
  if (stream->release != stream_release) {
    return tn_fail(err, TARN_E_INVALID, "this stream is not one of Tarn's");
  }
  s = stream->private_data;
  if (s->failed != TARN_OK && err != NULL) {
    *err = s->error;
  }
  return s->failed;
}

static tarn_status make_stream(tarn_env *env, row_stream **out, tarn_error *err) {
  *out = tn_calloc(&env->mem, 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  (*out)->env = env;
  return TARN_OK;
}

static void hand_over(row_stream *s, struct ArrowArrayStream *out) {
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_last_error;
  out->release = stream_release;
  out->private_data = s;
}

/* ------------------------------------------------------------------ splits */

static tarn_status next_of_read(row_stream *s, tn_batch *out, tarn_error *err) {
  tn_batch read;
  memset(&read, 0, sizeof(read));
  TN_TRY(tn_read_next(s->read, &read, err));
  if (read.n_rows == 0) {
    tn_batch_reset(s->env, &read);
    return TARN_OK;
  }
  return tn_api_project(s->scan, &read, out, err);
}

static void free_read(row_stream *s) {
  tn_read_free(s->read);
}

/* ------------------------------------------------------------------ system tables */

static tarn_status next_of_system(row_stream *s, tn_batch *out, tarn_error *err) {
  tn_batch rows;
  memset(&rows, 0, sizeof(rows));
  TN_TRY(tn_system_read_next(s->system, &rows, err));
  if (rows.n_rows == 0) {
    tn_batch_reset(s->env, &rows);
    return TARN_OK;
  }
  return tn_api_project(s->scan, &rows, out, err);
}

static void free_system(row_stream *s) {
  tn_system_read_free(s->system);
}

static tarn_status open_system(row_stream *s, tarn_scan *scan, tarn_error *err) {
  const tn_system_request request = {
      .system = scan->table->system,
      .fields = scan->read_fields,
      .n_fields = scan->n_read,
      .predicate = s->filter != NULL ? s->filter->root : NULL,
      .limit = scan->limit,
      .with_row_kind = scan->with_row_kind,
      .batch_rows = scan->batch_rows,
      .cancel = scan->cancel,
  };
  TN_TRY(tn_system_read_create(&request, &s->system, err));
  s->next = next_of_system;
  s->free_source = free_system;
  return TARN_OK;
}

/* The scan's predicate and the run-time one, retained; NULL when there is neither. */
static tarn_status join_filters(tarn_scan *scan, tarn_predicate *run_time_filter,
                                tarn_predicate **out, tarn_error *err) {
  tarn_predicate *both[2] = {scan->predicate, run_time_filter};
  if (scan->predicate != NULL && run_time_filter != NULL) {
    return tarn_predicate_and(scan->env, both, 2, out, err);
  }
  *out = scan->predicate != NULL ? scan->predicate : run_time_filter;
  if (*out != NULL) {
    tn_predicate_retain(*out);
  }
  return TARN_OK;
}

tarn_status tn_api_stream(tarn_scan *scan, const tn_split *const *splits, int32_t n_splits,
                          tarn_predicate *run_time_filter, struct ArrowArrayStream *out,
                          tarn_error *err) {
  row_stream *s;
  tarn_status st;
  TN_TRY(make_stream(scan->env, &s, err));
  s->out_fields = scan->out_fields;
  s->n_out = scan->n_out;
  s->arrow = scan->arrow;
  TN_TRY_TO(fail, join_filters(scan, run_time_filter, &s->filter, err));
  if (scan->table->system != NULL) {
    TN_TRY_TO(fail, open_system(s, scan, err));
  } else {
    tn_read_options o = {0};
    o.table = scan->table->table;
    o.fields = scan->read_fields;
    o.n_fields = scan->n_read;
    o.predicate = s->filter != NULL ? s->filter->root : NULL;
    o.limit = scan->limit;
    o.with_row_kind = scan->with_row_kind;
    o.batch_rows = scan->batch_rows;
    o.cancel = scan->cancel;
    TN_TRY_TO(fail, tn_read_create(scan->env, &o, splits, n_splits, &s->read, err));
    s->next = next_of_read;
    s->free_source = free_read;
  }
  s->scan = scan;
  atomic_fetch_add_explicit(&scan->refs, 1, memory_order_relaxed);
  hand_over(s, out);
  return TARN_OK;
fail:
  tn_predicate_release(s->filter);
  tn_free(&scan->env->mem, s);
  return st;
}

tarn_status tarn_plan_read(tarn_scan *scan, const tarn_plan *plan, tarn_predicate *run_time_filter,
                           struct ArrowArrayStream *out, tarn_error *err) {
  int32_t n = plan->plan->n_splits;
  const tn_split **splits;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(scan->env, err));
  splits = tn_calloc(&scan->env->mem, (size_t)n, sizeof(*splits));
  if (splits == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    splits[i] = &plan->plan->splits[i];
  }
  st = tn_api_stream(scan, splits, n, run_time_filter, out, err);
  tn_free(&scan->env->mem, splits);
  return st;
}

tarn_status tarn_split_read(tarn_scan *scan, const tarn_split *split,
                            tarn_predicate *run_time_filter, struct ArrowArrayStream *out,
                            tarn_error *err) {
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(scan->env, err));
  return tn_api_stream(scan, &split->split, 1, run_time_filter, out, err);
}

tarn_status tarn_scan_read(tarn_scan *scan, struct ArrowArrayStream *out, tarn_error *err) {
  tarn_plan *plan = NULL;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(scan->env, err));
  if (scan->table->system != NULL) {
    return tn_api_stream(scan, NULL, 0, NULL, out, err);
  }
  TN_TRY(tarn_scan_plan(scan, &plan, err));
  st = tarn_plan_read(scan, plan, NULL, out, err);
  tarn_plan_free(plan);
  return st;
}

/* ------------------------------------------------------------------ a file */

static tarn_status next_of_file(row_stream *s, tn_batch *out, tarn_error *err) {
  tn_api_file_rows *f = s->file;
  int64_t max_rows = f->limit >= 0 && f->limit < 8192 ? f->limit : 8192;
  if (max_rows == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_batch_init(s->env, f->fields, f->n_fields, out, err));
  TN_TRY(tn_reader_next(f->reader, max_rows, out, err));
  if (f->limit >= 0) {
    f->limit -= out->n_rows;
  }
  return TARN_OK;
}

static void free_file(row_stream *s) {
  tn_api_file_rows *f = s->file;
  tn_reader_free(f->reader);
  tn_format_file_release(f->file);
  tn_arena_reset(&f->arena);
  tn_free(&s->env->mem, f);
}

tarn_status tn_api_file_stream(tn_api_file_rows *rows, struct ArrowArrayStream *out,
                               tarn_error *err) {
  row_stream *s;
  TN_TRY(make_stream(rows->env, &s, err));
  s->out_fields = rows->fields;
  s->n_out = rows->n_fields;
  s->arrow = rows->arrow;
  s->file = rows;
  s->next = next_of_file;
  s->free_source = free_file;
  hand_over(s, out);
  return TARN_OK;
}
