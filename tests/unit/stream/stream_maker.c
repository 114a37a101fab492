/* stream_maker.c - commits, and streams told as text. */
#include "stream_maker.h"

#include <stdio.h>
#include <string.h>

#include "column/rowkind.h"

#define TEXT_LIMIT ((size_t)4 << 20)

static int64_t clock_ms(void *ctx) {
  return ((stream_maker *)ctx)->now;
}

void sm_begin_in(stream_maker *m, tarn_env *env, const char *fields, const char *partition_keys,
                 const char *primary_keys, const char *options) {
  memset(m, 0, sizeof(*m));
  env->clock_ms = clock_ms;
  env->clock_ctx = m;
  wm_begin_in(&m->w, env, fields, partition_keys, primary_keys, options);
  wm_open(&m->w);
}

void sm_begin(stream_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options) {
  memset(m, 0, sizeof(*m));
  wm_begin(&m->w, fields, partition_keys, primary_keys, options);
  m->w.tm.env->clock_ms = clock_ms;
  m->w.tm.env->clock_ctx = m;
}

void sm_end(stream_maker *m) {
  wm_end(&m->w);
}

void sm_end_in(stream_maker *m) {
  wm_close(&m->w);
  tn_table_release(m->w.table);
  m->w.tm.env = NULL;
  tm_end(&m->w.tm);
}

/* ------------------------------------------------------------------ commits */

static int64_t latest(stream_maker *m) {
  int64_t id = 0;
  OK(tn_snapshot_latest_id(m->w.tm.env, m->w.tm.storage, "/t", &id, err));
  return id;
}

int64_t sm_commit_at(stream_maker *m, const char *rows, int64_t watermark) {
  tn_committable c;
  m->now += 1000;
  wm_write(&m->w, rows);
  c = wm_prepare(&m->w);
  c.has_watermark = watermark >= 0;
  c.watermark = watermark;
  wm_commit_it(&m->w, &c);
  return latest(m);
}

int64_t sm_commit(stream_maker *m, const char *rows) {
  return sm_commit_at(m, rows, -1);
}

int64_t sm_overwrite(stream_maker *m, const char *rows) {
  tn_commit_options options = {.user = "overwriter"};
  tn_commit_result result;
  tn_committable c;
  m->now += 1000;
  wm_write(&m->w, rows);
  c = wm_prepare(&m->w);
  OK(tn_commit_overwrite(m->w.table, &options, &c, NULL, false, &result, err));
  return latest(m);
}

/* New files become the changelog of a compaction that has nothing else. */
int64_t sm_changelog(stream_maker *m, const char *rows) {
  tn_committable c;
  m->now += 1000;
  wm_write(&m->w, rows);
  c = wm_prepare(&m->w);
  for (int32_t i = 0; i < c.n_messages; i++) {
    tn_commit_message *message = &c.messages[i];
    message->compact_changelog =
        message->changelog_files.n > 0 ? message->changelog_files : message->new_files;
    message->new_files.n = 0;
    message->changelog_files.n = 0;
  }
  wm_commit_it(&m->w, &c);
  return latest(m);
}

void sm_expire(stream_maker *m, int64_t id, bool is_kept) {
  char from[64], to[64];
  tn_buf bytes;
  snprintf(from, sizeof(from), "/t/snapshot/snapshot-%lld", (long long)id);
  snprintf(to, sizeof(to), "/t/changelog/changelog-%lld", (long long)id);
  tn_buf_init(&bytes, &m->w.tm.env->mem, TEXT_LIMIT);
  OK(tn_storage_read_all(m->w.tm.storage, from, &bytes, err));
  if (is_kept) {
    OK(tn_storage_memory_put(m->w.tm.storage, to, tn_buf_slice(&bytes), err));
  }
  tn_buf_reset(&bytes);
  tn_storage_memory_remove(m->w.tm.storage, from);
  tn_storage_memory_remove(m->w.tm.storage, "/t/snapshot/EARLIEST");
}

tn_table *sm_table(stream_maker *m, const char *options) {
  return tm_table(&m->w.tm, options);
}

/* ------------------------------------------------------------------ rows */

const char *sm_keep(stream_maker *m, tn_buf *text) {
  const char *kept = tn_arena_strndup(&m->w.tm.arena, (const char *)text->data, text->len);
  assert_non_null(kept);
  tn_buf_reset(text);
  return kept;
}

static void put_value(tn_buf *out, const tn_vec *column, int64_t row) {
  if (tn_vec_is_null(column, row)) {
    OK(tn_buf_text(out, "null", err));
  } else if (column->layout == TN_LAYOUT_BYTES) {
    tn_slice s = tn_vec_bytes(column, row);
    OK(tn_buf_append(out, s.data, s.len, err));
  } else if (column->layout == TN_LAYOUT_I64) {
    OK(tn_buf_printf(out, err, "%lld", (long long)((const int64_t *)column->values)[row]));
  } else {
    assert_int_equal(column->layout, TN_LAYOUT_I32);
    OK(tn_buf_printf(out, err, "%d", (int)((const int32_t *)column->values)[row]));
  }
}

void sm_put_rows(tn_buf *out, const tn_batch *batch) {
  static const char *const kinds[] = {"+I ", "-U ", "+U ", "-D "};
  for (int64_t i = 0; i < batch->n_rows; i++) {
    OK(tn_buf_text(out, out->len > 0 ? ";" : "", err));
    OK(tn_buf_text(out, kinds[((const int8_t *)batch->columns[0].values)[i] & 3], err));
    for (int32_t c = 1; c < batch->n_columns; c++) {
      OK(tn_buf_text(out, c > 1 ? "|" : "", err));
      put_value(out, &batch->columns[c], i);
    }
  }
}

tn_source_reader *sm_reader(stream_maker *m, tn_table *table, int64_t batch_rows) {
  const tn_read_options options = {
      .table = table,
      .fields = table->schema->fields,
      .n_fields = table->schema->n_fields,
      .limit = -1,
      .with_row_kind = true,
      .batch_rows = batch_rows,
  };
  tn_source_reader *reader = NULL;
  OK(tn_source_reader_create(m->w.tm.env, &options, &reader, err));
  return reader;
}

const char *sm_read_all(stream_maker *m, tn_source_reader *reader) {
  tn_buf text;
  tn_buf_init(&text, &m->w.tm.env->mem, TEXT_LIMIT);
  for (;;) {
    tn_source_batch where;
    tn_batch batch;
    int64_t finished;
    OK(tn_source_reader_next(reader, &batch, &where, &finished, err));
    if (batch.n_rows == 0) {
      tn_batch_reset(m->w.tm.env, &batch);
      return sm_keep(m, &text);
    }
    sm_put_rows(&text, &batch);
    tn_batch_reset(m->w.tm.env, &batch);
  }
}

const char *sm_rows(stream_maker *m, tn_table *table, const tn_plan *plan) {
  tn_source_reader *reader = sm_reader(m, table, 0);
  const char *text;
  for (int32_t i = 0; i < plan->n_splits; i++) {
    tn_source_split split = {.id = "x", .split = &plan->splits[i]};
    split.plan = tn_plan_retain(plan->splits[i].plan);
    OK(tn_split_queue_push(tn_source_reader_splits(reader), &split, err));
  }
  text = sm_read_all(m, reader);
  tn_source_reader_free(reader);
  return text;
}

/* ------------------------------------------------------------------ scans */

tn_stream_scan *sm_scan(stream_maker *m, tn_table *table) {
  const tn_stream_scan_options options = {.table = table};
  tn_stream_scan *scan = NULL;
  (void)m;
  OK(tn_stream_scan_create(&options, &scan, err));
  return scan;
}

const char *sm_step(stream_maker *m, tn_stream_scan *scan, tn_table *table) {
  tn_arena *arena = &m->w.tm.arena;
  tn_stream_outcome outcome;
  tn_plan *plan;
  tarn_error error = {0};
  int64_t next;
  const char *text = NULL;
  tarn_status st = tn_stream_scan_plan(scan, &outcome, &plan, &error);
  if (st != TARN_OK) {
    assert_null(plan);
    return tn_arena_printf(arena, "%s %s", tarn_status_name(st), error.message);
  }
  switch (outcome) {
    case TN_STREAM_WAITING:
      text = "waiting";
      break;
    case TN_STREAM_ENDED:
      text = "ended";
      break;
    case TN_STREAM_STARTED:
      assert_true(tn_stream_scan_position(scan, &next));
      text = tn_arena_printf(arena, "started %lld", (long long)next);
      break;
    default:
      assert_non_null(plan);
      text =
          tn_arena_printf(arena, "%lld: %s", (long long)plan->snapshot.id, sm_rows(m, table, plan));
  }
  assert_non_null(text);
  tn_plan_release(plan);
  return text;
}
