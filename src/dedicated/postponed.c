/* postponed.c - rows that wait in bucket-postpone are written into real buckets, in the order in
 * which they came; one COMPACT snapshot takes their files away.
 *
 * The files are what a writer makes of the rows: they lie at level 0 until picks of their buckets
 * move them up.
 *
 * Rule: org.apache.paimon.flink.action.CompactAction#runPostponeBucket, postpone.*; spec:
 * compaction, 16.
 */
#include "base/sort.h"
#include "dedicated/run.h"
#include "read/read.h"
#include "write/write.h"

/* A partition with rows that wait. */
typedef struct waiting {
  const tn_live_bucket *bucket;
  int32_t n_buckets; /* that they go into */
  tn_data_file *files;
  const tn_data_file **order;
} waiting;

/* A writer into so many buckets a partition. */
typedef struct bucket_writer {
  int32_t n_buckets;
  tn_table *table;
  tn_write *write;
} bucket_writer;

typedef struct mover {
  tn_compact_run_state *run;
  tn_arena arena; /* of the portion */
  waiting *items;
  int64_t n_items;
  bucket_writer *writers;
  size_t n_writers, writer_room;
} mover;

/* ------------------------------------------------------------------ which, and into how many */

static tarn_status standard_count(const tn_table *table, int32_t *out, tarn_error *err) {
  int64_t n;
  bool is_set;
  TN_TRY(tn_options_int(&table->options, "postpone.default-bucket-num", &n, &is_set, err));
  if (is_set && (n < 1 || n > INT32_MAX)) {
    return tn_fail(err, TARN_E_INVALID, "option 'postpone.default-bucket-num' = %lld: at least 1",
                   (long long)n);
  }
  *out = is_set ? (int32_t)n : 1;
  return TARN_OK;
}

/* Real buckets of a partition tell how many it has. */
static tarn_status find_waiting(mover *m, const tn_live_table *live, waiting **out, int64_t *n_out,
                                tarn_error *err) {
  waiting *items = tn_arena_calloc(&m->run->arena, (size_t)live->n_buckets, sizeof(*items));
  tn_map counts; /* partition -> buckets */
  int32_t standard;
  tarn_status st = TARN_OK;
  int64_t n = 0;
  tn_map_init(&counts, &m->run->env->mem);
  if (items == NULL) {
    TN_TRY_TO(done, tn_oom(err));
  }
  TN_TRY_TO(done, standard_count(m->run->table, &standard, err));
  for (int64_t i = 0; i < live->n_buckets; i++) {
    const tn_live_bucket *b = &live->buckets[i];
    if (b->bucket >= 0) {
      tn_map_entry *slot;
      TN_TRY_TO(done, tn_map_put(&counts, b->partition, &slot, NULL, err));
      slot->value.num = b->total_buckets;
    }
  }
  for (int64_t i = 0; i < live->n_buckets; i++) {
    if (live->buckets[i].bucket == TN_POSTPONE_BUCKET) {
      const tn_map_entry *slot = tn_map_find(&counts, live->buckets[i].partition);
      items[n].bucket = &live->buckets[i];
      items[n++].n_buckets = slot != NULL ? (int32_t)slot->value.num : standard;
    }
  }
  *out = items;
  *n_out = n;
done:
  tn_map_reset(&counts);
  return st;
}

/* ------------------------------------------------------------------ the order of files */

/* "<prefix>-u-<user>-s-<number>-w-<uuid>-<count>.<format>": the count, and what is before it. */
static int64_t count_of(tn_slice name, size_t *prefix) {
  size_t dot = name.len, at;
  int64_t n = 0;
  while (dot > 0 && name.data[dot - 1] != '.') {
    dot--;
  }
  at = dot > 0 ? dot - 1 : name.len;
  *prefix = at;
  for (; *prefix > 0 && name.data[*prefix - 1] >= '0' && name.data[*prefix - 1] <= '9';) {
    (*prefix)--;
  }
  for (size_t i = *prefix; i < at && n < INT64_MAX / 16; i++) {
    n = n * 10 + (name.data[i] - '0');
  }
  return n;
}

/* By time; files of one writer by their count. */
static int by_age(void *ctx, const void *left, const void *right) {
  const tn_data_file *a = left, *b = right;
  size_t n_a, n_b;
  int64_t count_a, count_b;
  int order;
  (void)ctx;
  if (a->creation_time_ms != b->creation_time_ms) {
    return a->creation_time_ms < b->creation_time_ms ? -1 : 1;
  }
  count_a = count_of(a->file_name, &n_a);
  count_b = count_of(b->file_name, &n_b);
  order =
      tn_slice_compare(tn_slice_of(a->file_name.data, n_a), tn_slice_of(b->file_name.data, n_b));
  return order != 0 ? order : (count_a > count_b) - (count_a < count_b);
}

static tarn_status sort_files(mover *m, waiting *w, tarn_error *err) {
  int64_t n = w->bucket->n_entries;
  TN_TRY(tn_live_bucket_files(w->bucket, &m->arena, &w->files, err));
  w->order = tn_arena_alloc(&m->arena, 2 * (size_t)n * sizeof(*w->order));
  if (w->order == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    w->order[i] = &w->files[i];
  }
  tn_sort_stable((const void **)w->order, (const void **)(w->order + n), n, by_age, NULL);
  return TARN_OK;
}

static tarn_status tell(mover *m, const waiting *w, tarn_error *err) {
  tn_compact_facts facts = {.reason = "postponed",
                            .n_files = (int32_t)w->bucket->n_entries,
                            .n_level_0 = (int32_t)w->bucket->n_entries,
                            .files = w->order};
  tn_buf text;
  tarn_status st;
  for (int64_t i = 0; i < w->bucket->n_entries; i++) {
    facts.n_bytes += w->files[i].file_size;
  }
  m->run->result->n_picks++;
  if (m->run->q->is_dry_run) {
    m->run->result->n_files_in += w->bucket->n_entries;
    m->run->result->n_bytes_in += facts.n_bytes;
  }
  tn_log(m->run->env, TARN_LOG_DEBUG,
         "event=compaction_picked table=%s bucket=%d reason=postponed files=%lld bytes=%lld",
         m->run->table->full_name, TN_POSTPONE_BUCKET, (long long)w->bucket->n_entries,
         (long long)facts.n_bytes);
  tn_buf_init(&text, &m->run->env->mem, (size_t)64 << 20);
  st = tn_run_tell_pick(m->run, w->bucket->partition, w->bucket->bucket, &facts, &text, err);
  st = st == TARN_OK ? tn_run_add_picks(m->run, &text, err) : st;
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ writers */

/* The table as one with so many buckets. The bucket count of a table is none of the options that a
 * copy may change; this copy is nobody else's. Its writer compacts nothing: see tn_run_buckets. */
static tarn_status real_table(mover *m, int32_t n_buckets, tn_table **out, tarn_error *err) {
  const tn_table *t = m->run->table;
  size_t n = (size_t)t->options.count;
  tn_option *options = tn_arena_calloc(&m->arena, n + 1, sizeof(*options));
  if (options == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    options[i] = t->options.items[i];
  }
  options[n] = (tn_option){"write-only", "true"};
  TN_TRY(tn_table_create(t->env, t->storage, t->full_name, t->path, t->branch, t->branch_path,
                         t->schema, options, (int32_t)n + 1, out, err));
  (*out)->facts.bucket = n_buckets;
  (*out)->facts.bucket_mode = TN_BUCKETS_FIXED;
  return TARN_OK;
}

static tarn_status writer_of(mover *m, int32_t n_buckets, bucket_writer **out, tarn_error *err) {
  const tn_table_compact_request *q = m->run->q;
  const tn_table_write_options options = {.user = q->user,
                                          .keeps_nulls = true,
                                          .first_row_id = -1,
                                          .spill_folder = q->spill_folder,
                                          .cancel = q->cancel};
  bucket_writer *w;
  for (size_t i = 0; i < m->n_writers; i++) {
    if (m->writers[i].n_buckets == n_buckets) {
      *out = &m->writers[i];
      return TARN_OK;
    }
  }
  if (!tn_arena_grow(&m->arena, (void **)&m->writers, &m->writer_room, m->n_writers,
                     sizeof(*m->writers))) {
    return tn_oom(err);
  }
  w = &m->writers[m->n_writers++];
  *w = (bucket_writer){.n_buckets = n_buckets};
  TN_TRY(real_table(m, n_buckets, &w->table, err));
  TN_TRY(tn_write_create(w->table, &options, &w->write, err));
  *out = w;
  return TARN_OK;
}

static void close_writers(mover *m) {
  for (size_t i = 0; i < m->n_writers; i++) {
    tn_write_free(m->writers[i].write);
    tn_table_release(m->writers[i].table);
  }
  m->writers = NULL;
  m->n_writers = m->writer_room = 0;
}

/* ------------------------------------------------------------------ rows */

static tarn_status copy_rows(mover *m, tn_read *read, tn_write *write, tarn_error *err) {
  tarn_env *env = m->run->env;
  tarn_status st = TARN_OK;
  while (st == TARN_OK) {
    tn_batch batch = {0}, rows;
    TN_TRY(tn_cancel_check(m->run->q->cancel, err));
    TN_TRY(tn_read_next(read, &batch, err));
    if (batch.n_rows == 0) {
      tn_batch_reset(env, &batch);
      break;
    }
    rows = batch; /* all columns but the first one, that of the kinds */
    rows.n_columns--;
    rows.fields++;
    rows.columns++;
    st = tn_write_batch(write, &rows, (const int8_t *)batch.columns[0].values, err);
    tn_batch_reset(env, &batch);
  }
  return st;
}

static tarn_status move_rows(mover *m, waiting *w, tarn_error *err) {
  tn_table *table = m->run->table;
  const tn_read_options options = {.table = table,
                                   .fields = table->schema->fields,
                                   .n_fields = table->schema->n_fields,
                                   .limit = -1,
                                   .with_row_kind = true,
                                   .keeps_deletes = true,
                                   .cancel = m->run->q->cancel};
  bucket_writer *writer;
  tn_plan *plan = NULL;
  tn_read *read = NULL;
  const tn_split *split;
  tarn_status st;
  TN_TRY(writer_of(m, w->n_buckets, &writer, err));
  TN_TRY(tn_run_plan(m->run, w->bucket, w->order, true, &plan, err));
  split = &plan->splits[0];
  TN_TRY_TO(done, tn_read_create(m->run->env, &options, &split, 1, &read, err));
  st = copy_rows(m, read, writer->write, err);
done:
  tn_read_free(read);
  tn_plan_release(plan);
  return st;
}

/* ------------------------------------------------------------------ the commit */

/* What a writer gave becomes the compaction's. */
static void turn(tn_commit_message *m) {
  m->compact_after = m->new_files;
  m->compact_changelog = m->changelog_files;
  m->compact_new_indexes = m->new_indexes;
  m->new_files = m->changelog_files = (tn_data_files){NULL, 0};
  m->new_indexes = (tn_index_files){NULL, 0};
}

/* All writers' messages, and one for each partition whose files go. */
static tarn_status make_messages(mover *m, tn_commit_message **out, int32_t *n, tarn_error *err) {
  size_t room = 0;
  *out = NULL;
  *n = 0;
  for (size_t i = 0; i < m->n_writers; i++) {
    tn_commit_message *made;
    int32_t n_made;
    TN_TRY(tn_write_prepare(m->writers[i].write, m->run->q->identifier, &m->arena, &made, &n_made,
                            err));
    for (int32_t k = 0; k < n_made; k++) {
      turn(&made[k]);
      if (!tn_arena_grow(&m->arena, (void **)out, &room, (size_t)*n, sizeof(**out))) {
        tn_run_drop(m->run, made + k, 1);
        return tn_oom(err);
      }
      (*out)[(*n)++] = made[k];
    }
  }
  for (int64_t i = 0; i < m->n_items; i++) {
    const tn_live_bucket *b = m->items[i].bucket;
    if (!tn_arena_grow(&m->arena, (void **)out, &room, (size_t)*n, sizeof(**out))) {
      return tn_oom(err);
    }
    (*out)[(*n)++] =
        (tn_commit_message){.partition = b->partition,
                            .bucket = b->bucket,
                            .total_buckets = b->total_buckets,
                            .has_total_buckets = true,
                            .compact_before = {m->items[i].files, (int32_t)b->n_entries}};
  }
  return TARN_OK;
}

static tarn_status move_portion(mover *m, const tn_snapshot *snapshot, tarn_error *err) {
  tn_commit_message *messages;
  int32_t n;
  tarn_status st;
  for (int64_t i = 0; i < m->n_items; i++) {
    TN_TRY(sort_files(m, &m->items[i], err));
    TN_TRY(tell(m, &m->items[i], err));
    if (!m->run->q->is_dry_run) {
      TN_TRY(move_rows(m, &m->items[i], err));
      tn_run_progress(m->run, 0, 0);
    }
  }
  if (m->run->q->is_dry_run) {
    return TARN_OK;
  }
  st = make_messages(m, &messages, &n, err);
  if (st != TARN_OK) {
    tn_run_drop(m->run, messages, n);
    return st;
  }
  return tn_run_commit(m->run, snapshot, messages, n, err);
}

tarn_status tn_run_postponed(tn_compact_run_state *run, const tn_live_table *live, int64_t *n_moved,
                             tarn_error *err) {
  mover m = {.run = run};
  waiting *all = NULL;
  int64_t n = 0;
  tarn_status st;
  *n_moved = 0;
  st = find_waiting(&m, live, &all, &n, err);
  run->progress.n_units += n;
  for (int64_t i = 0; i < n && st == TARN_OK; i += TN_PORTION) {
    tn_arena_init(&m.arena, &run->env->mem, TN_PLAN_ARENA_BYTES);
    m.items = all + i;
    m.n_items = n - i < TN_PORTION ? n - i : TN_PORTION;
    st = move_portion(&m, &live->snapshot, err);
    *n_moved += m.n_items;
    close_writers(&m);
    tn_arena_reset(&m.arena);
  }
  return st;
}
