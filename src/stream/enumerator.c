/* enumerator.c - discovery, assignment and progress of a stream. */
#include "stream/enumerator.h"

#include <limits.h>
#include <stdio.h>

#include "base/checked.h"
#include "column/binary_row.h"

#define POSTPONE_BUCKET (-2)
#define ARITY_BYTES 4 /* in front of a partition's row, and not of its hash */
#define MAX_PENDING_CHECKPOINTS 10000

/* Numbers of snapshots: of the splits that a reader has, first in, first out. */
typedef struct id_queue {
  int64_t *items;
  size_t capacity, head, count;
} id_queue;

typedef struct reader_state {
  bool is_waiting; /* it asked, and there was nothing */
  bool has_consumed, has_assigned;
  int64_t consumed; /* the latest snapshot of which it finished a split */
  int64_t assigned; /* that of the first split of its last assignment */
  id_queue open;    /* of the splits it has */
} reader_state;

/* What the consumer may be told when a checkpoint is complete. */
typedef struct progress {
  int64_t checkpoint, next;
} progress;

struct tn_enumerator {
  tarn_env *env;
  tn_table *table; /* retained */
  tn_stream_scan *scan;
  int32_t n_readers, n_queues; /* as many queues, or one for all */
  bool shuffles_partitions, is_exactly_once;
  int64_t max_pending, max_splits, max_snapshots; /* max_snapshots <= 0: any */
  int64_t plans_left;                             /* -1: any number */
  char uuid[TN_UUID_CHARS + 1];
  int64_t n_ids;
  tn_split_queue *queues;
  reader_state *readers;
  bool is_finished, stops_trigger;
  int64_t handled;              /* snapshots since the last complete checkpoint */
  bool is_aligned, has_aligned; /* has_aligned: a snapshot was planned for the next checkpoint */
  int64_t aligned, align_timeout_ms;
  bool has_recorded;
  int64_t recorded; /* the position at the last of them */
  progress *progress;
  size_t n_progress, progress_capacity;
  int64_t told; /* what the consumer was told last */
};

/* ------------------------------------------------------------------ making */

/* Option keys of the Flink connector. */
static tarn_status read_flag(const tn_table *table, const char *key, bool *out, tarn_error *err) {
  return tn_options_bool(&table->options, key, out, err);
}

static tarn_status read_options(tn_enumerator *e, tarn_error *err) {
  const tn_table_facts *f = &e->table->facts;
  const tn_options *options = &e->table->options;
  bool keeps_append_order;
  int32_t mode;
  TN_TRY(tn_options_int(options, "scan.max-splits-per-task", &e->max_splits, NULL, err));
  TN_TRY(tn_options_int(options, "scan.max-snapshot.count", &e->max_snapshots, NULL, err));
  TN_TRY(read_flag(e->table, "read.shuffle-bucket-with-partition", &e->shuffles_partitions, err));
  TN_TRY(read_flag(e->table, "bucket-append-ordered", &keeps_append_order, err));
  TN_TRY(tn_options_enum(options, "consumer.mode", &mode, err));
  TN_TRY(read_flag(e->table, "source.checkpoint-align.enabled", &e->is_aligned, err));
  TN_TRY(
      tn_options_int(options, "source.checkpoint-align.timeout", &e->align_timeout_ms, NULL, err));
  if (e->max_splits < 1) {
    return tn_fail(err, TARN_E_INVALID, "option 'scan.max-splits-per-task': %lld",
                   (long long)e->max_splits);
  }
  if (!tn_mul_i64(e->max_splits, e->n_readers, &e->max_pending)) {
    e->max_pending = INT64_MAX;
  }
  e->is_exactly_once = mode == 0;
  e->n_queues = !f->has_primary_key && (f->bucket_mode == TN_BUCKETS_UNAWARE || !keeps_append_order)
                    ? 1
                    : e->n_readers;
  return TARN_OK;
}

tarn_status tn_enumerator_create(const tn_enumerator_options *options, tn_enumerator **out,
                                 tarn_error *err) {
  tarn_env *env = options->scan.table->env;
  tn_enumerator *e;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (options->n_readers < 1 || options->n_readers > TN_MAX_READERS) {
    return tn_fail(err, TARN_E_INVALID, "%d readers: 1 to %d are allowed", (int)options->n_readers,
                   TN_MAX_READERS);
  }
  e = tn_calloc(&env->mem, 1, sizeof(*e));
  if (e == NULL) {
    return tn_oom(err);
  }
  e->env = env;
  e->table = tn_table_retain(options->scan.table);
  e->n_readers = options->n_readers;
  e->plans_left = options->max_plans > 0 ? options->max_plans : -1;
  TN_TRY_TO(fail, tn_stream_scan_create(&options->scan, &e->scan, err));
  TN_TRY_TO(fail, read_options(e, err));
  TN_TRY_TO(fail, tn_env_uuid(env, e->uuid, err));
  e->readers = tn_calloc(&env->mem, (size_t)e->n_readers, sizeof(*e->readers));
  e->queues = tn_calloc(&env->mem, (size_t)e->n_queues, sizeof(*e->queues));
  if (e->readers == NULL || e->queues == NULL) {
    st = tn_oom(err);
    goto fail;
  }
  for (int32_t i = 0; i < e->n_queues; i++) {
    tn_split_queue_init(&e->queues[i], &env->mem);
  }
  *out = e;
  return TARN_OK;
fail:
  tn_enumerator_free(e);
  return st;
}

void tn_enumerator_free(tn_enumerator *e) {
  if (e == NULL) {
    return;
  }
  tarn_env *env = e->env;
  for (int32_t i = 0; e->queues != NULL && i < e->n_queues; i++) {
    tn_split_queue_reset(&e->queues[i]);
  }
  for (int32_t i = 0; e->readers != NULL && i < e->n_readers; i++) {
    tn_free(&env->mem, e->readers[i].open.items);
  }
  tn_free(&env->mem, e->queues);
  tn_free(&env->mem, e->readers);
  tn_free(&env->mem, e->progress);
  tn_stream_scan_free(e->scan);
  tn_table_release(e->table);
  tn_free(&env->mem, e);
}

tn_stream_scan *tn_enumerator_scan(tn_enumerator *e) {
  return e->scan;
}

int32_t tn_enumerator_max_readers(const tn_enumerator *e) {
  return e->table->facts.bucket > 0 ? e->table->facts.bucket : TN_MAX_READERS;
}

/* ------------------------------------------------------------------ snapshots of open splits */

static tarn_status push_id(tn_enumerator *e, id_queue *q, int64_t id, tarn_error *err) {
  if (q->count == q->capacity) {
    size_t capacity = q->capacity > 0 ? 2 * q->capacity : 16;
    int64_t *items = tn_calloc(&e->env->mem, capacity, sizeof(*items));
    if (items == NULL) {
      return tn_oom(err);
    }
    for (size_t i = 0; i < q->count; i++) {
      items[i] = q->items[(q->head + i) % q->capacity];
    }
    tn_free(&e->env->mem, q->items);
    q->items = items;
    q->capacity = capacity;
    q->head = 0;
  }
  q->items[(q->head + q->count++) % q->capacity] = id;
  return TARN_OK;
}

/* ------------------------------------------------------------------ which reader */

/* The number of the writer in the name of a file of bucket-postpone: "data-u-<user>-s-<id>-w-...".
 * Rule: PostponeBucketFileStoreWrite.getWriteId. */
static int64_t writer_of(const tn_split *split) {
  const tn_data_file *file = split->n_files > 0    ? &split->files[0]
                             : split->n_before > 0 ? &split->before[0]
                                                   : NULL;
  const char *at, *end;
  int64_t id = 0;
  if (file == NULL) {
    return 0;
  }
  end = (const char *)file->file_name.data + file->file_name.len;
  for (at = (const char *)file->file_name.data; at + 3 < end; at++) {
    if (memcmp(at, "-s-", 3) == 0) {
      for (at += 3; at < end && *at >= '0' && *at <= '9' && id < INT32_MAX; at++) {
        id = id * 10 + (*at - '0');
      }
      return id;
    }
  }
  return 0;
}

int32_t tn_bucket_channel(tn_slice partition, int32_t bucket, int32_t n) {
  // The hash is that of the row itself; its arity stands in front.
  tn_slice row = partition.len >= ARITY_BYTES
                     ? tn_slice_of(partition.data + ARITY_BYTES, partition.len - ARITY_BYTES)
                     : partition;
  int64_t hash = tn_binary_row_hash(row);
  hash = hash == INT32_MIN ? INT32_MAX : hash < 0 ? -hash : hash;
  return (int32_t)((hash % n + bucket) % n);
}

static int32_t reader_of(const tn_enumerator *e, const tn_split *split) {
  int64_t n = e->n_readers, bucket = split->bucket;
  if (bucket == POSTPONE_BUCKET) {
    return (int32_t)(writer_of(split) % n);
  }
  return e->shuffles_partitions ? tn_bucket_channel(split->partition, split->bucket, e->n_readers)
                                : (int32_t)(bucket % n);
}

static tn_split_queue *queue_of(tn_enumerator *e, int32_t reader) {
  return &e->queues[e->n_queues == 1 ? 0 : reader];
}

static tarn_status find_queue(tn_enumerator *e, const tn_split *split, tn_split_queue **out,
                              tarn_error *err) {
  int32_t reader = e->n_queues == 1 ? 0 : reader_of(e, split);
  if (reader < 0 || reader >= e->n_readers) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a split of bucket %d", e->table->full_name,
                   (int)split->bucket);
  }
  *out = queue_of(e, reader);
  return TARN_OK;
}

/* ------------------------------------------------------------------ discovery */

int64_t tn_enumerator_pending(const tn_enumerator *e) {
  int64_t n = 0;
  for (int32_t i = 0; i < e->n_queues; i++) {
    n += (int64_t)e->queues[i].count;
  }
  return n;
}

bool tn_enumerator_has_ended(const tn_enumerator *e) {
  return e->is_finished && tn_enumerator_pending(e) == 0;
}

/* All splits of a plan, or none. */
static tarn_status add_plan(tn_enumerator *e, tn_plan *plan, tarn_error *err) {
  for (int32_t i = 0; i < plan->n_splits; i++) {
    tn_split_queue *queue;
    TN_TRY(find_queue(e, &plan->splits[i], &queue, err));
  }
  for (int32_t i = 0; i < plan->n_splits; i++) {
    tn_source_split split = {.split = &plan->splits[i]};
    tn_split_queue *queue;
    (void)snprintf(split.id, sizeof(split.id), "%s-%lld", e->uuid, (long long)++e->n_ids);
    TN_TRY(find_queue(e, split.split, &queue, err));
    split.plan = tn_plan_retain(plan);
    tarn_status st = tn_split_queue_push(queue, &split, err);
    if (st != TARN_OK) {
      tn_source_split_reset(&split);
      return st;
    }
  }
  return TARN_OK;
}

tarn_status tn_enumerator_discover(tn_enumerator *e, tn_discovery *out, tarn_error *err) {
  tn_stream_outcome outcome;
  tn_plan *plan;
  int64_t next;
  tarn_status st;
  e->is_finished = e->is_finished || e->plans_left == 0;
  if (e->is_finished) {
    *out = TN_DISCOVERY_ENDED;
    return TARN_OK;
  }
  *out = TN_DISCOVERY_PAUSED;
  if (tn_enumerator_pending(e) >= e->max_pending ||
      (e->max_snapshots > 0 && e->handled >= e->max_snapshots) ||
      (e->is_aligned && e->has_aligned)) {
    return TARN_OK;
  }
  TN_TRY(tn_stream_scan_plan(e->scan, &outcome, &plan, err));
  e->stops_trigger = outcome == TN_STREAM_WAITING;
  switch (outcome) {
    case TN_STREAM_ENDED:
      e->is_finished = true;
      *out = TN_DISCOVERY_ENDED;
      return TARN_OK;
    case TN_STREAM_WAITING:
      *out = TN_DISCOVERED_NOTHING;
      return TARN_OK;
    default:
      *out = TN_DISCOVERED_SPLITS;
      e->plans_left -= e->plans_left > 0;
  }
  if (plan == NULL) {
    return TARN_OK;
  }
  if (tn_stream_scan_position(e->scan, &next) && plan->n_splits > 0 &&
      (!e->has_recorded || next != e->recorded)) {
    e->has_recorded = true;
    e->recorded = next;
    e->handled++;
  }
  st = add_plan(e, plan, err);
  e->has_aligned = e->is_aligned && st == TARN_OK;
  e->aligned = plan->snapshot.id;
  tn_plan_release(plan);
  return st;
}

/* ------------------------------------------------------------------ assignment */

/* The next splits of a reader; *n: how many. */
static tarn_status deal_out(tn_enumerator *e, int32_t reader, tn_split_queue *into, int64_t *n,
                            tarn_error *err) {
  tn_split_queue *queue = queue_of(e, reader);
  reader_state *r = &e->readers[reader];
  int64_t most = e->n_queues == 1 && e->n_readers > 1 ? 1 : e->max_splits;
  for (*n = 0; *n < most && queue->count > 0; ++*n) {
    tn_source_split *first = tn_split_queue_at(queue, 0), taken;
    int64_t snapshot = first->split->snapshot_id;
    TN_TRY(push_id(e, &r->open, snapshot, err));
    tarn_status st = tn_split_queue_push(into, first, err);
    if (st != TARN_OK) {
      r->open.count--;
      return st;
    }
    (void)tn_split_queue_pop(queue, &taken);  // its reference is in `into` now
    if (*n == 0) {
      r->has_assigned = true;
      r->assigned = snapshot;
    }
  }
  return TARN_OK;
}

tarn_status tn_enumerator_request(tn_enumerator *e, int32_t reader, tn_split_queue *into,
                                  tn_assignment *out, tarn_error *err) {
  int64_t n;
  tn_discovery discovery;
  if (reader < 0 || reader >= e->n_readers) {
    return tn_fail(err, TARN_E_INVALID, "reader %d of %d", (int)reader, (int)e->n_readers);
  }
  TN_TRY(deal_out(e, reader, into, &n, err));
  if (n == 0 && !e->stops_trigger && !e->is_finished) {
    TN_TRY(tn_enumerator_discover(e, &discovery, err));
    TN_TRY(deal_out(e, reader, into, &n, err));
  }
  e->readers[reader].is_waiting = n == 0;
  *out = n > 0 ? TN_ASSIGNED : e->is_finished ? TN_ASSIGN_NEVER : TN_ASSIGN_LATER;
  return TARN_OK;
}

void tn_enumerator_finished(tn_enumerator *e, int32_t reader, int64_t n) {
  reader_state *r = &e->readers[reader];
  for (; n > 0 && r->open.count > 0; n--) {
    int64_t id = r->open.items[r->open.head];
    r->open.head = (r->open.head + 1) % r->open.capacity;
    r->open.count--;
    if (!r->has_consumed || id > r->consumed) {
      r->has_consumed = true;
      r->consumed = id;
    }
  }
}

/* Put splits in front of the queues, the last one first. */
static tarn_status put_back(tn_enumerator *e, tn_split_queue *splits, tarn_error *err) {
  while (splits->count > 0) {
    tn_source_split *last = tn_split_queue_at(splits, splits->count - 1);
    tn_split_queue *queue;
    TN_TRY(find_queue(e, last->split, &queue, err));
    TN_TRY(tn_split_queue_push_front(queue, last, err));
    splits->count--;
  }
  return TARN_OK;
}

tarn_status tn_enumerator_add_back(tn_enumerator *e, int32_t reader, tn_split_queue *splits,
                                   tarn_error *err) {
  if (reader < 0 || reader >= e->n_readers) {
    return tn_fail(err, TARN_E_INVALID, "reader %d of %d", (int)reader, (int)e->n_readers);
  }
  e->readers[reader].open.count = 0;
  e->readers[reader].is_waiting = false;
  return put_back(e, splits, err);
}

/* ------------------------------------------------------------------ progress */

static void lower(int64_t *least, int64_t snapshot) {
  *least = snapshot < *least ? snapshot : *least;
}

/* Lower *next to the snapshot that a reader needs of what it was given; false: it is not known. */
static bool lower_to_reader(const tn_enumerator *e, const reader_state *reader, int64_t *next) {
  for (size_t i = 0; i < reader->open.count; i++) {  // of all, as splits may come back
    lower(next, reader->open.items[(reader->open.head + i) % reader->open.capacity]);
  }
  if (e->is_exactly_once || reader->is_waiting) {
    return true;
  }
  if (!reader->has_consumed && !reader->has_assigned) {
    return false;
  }
  lower(next, !reader->has_assigned || (reader->has_consumed && reader->consumed > reader->assigned)
                  ? reader->consumed
                  : reader->assigned);
  return true;
}

/* The least over readers and all that waits for them; false: it is not known of one. A queue is not
 * in order when the splits of several readers came back, or a state was restored onto fewer of
 * them: the first split is not always the oldest. */
static bool least_next(const tn_enumerator *e, int64_t *out) {
  if (!tn_stream_scan_position(e->scan, out)) {
    return false;
  }
  for (int32_t i = 0; i < e->n_queues; i++) {
    for (size_t k = 0; k < e->queues[i].count; k++) {
      lower(out, tn_split_queue_at(&e->queues[i], k)->split->snapshot_id);
    }
  }
  for (int32_t r = 0; r < e->n_readers; r++) {
    if (!lower_to_reader(e, &e->readers[r], out)) {
      return false;
    }
  }
  return true;
}

static tarn_status note_progress(tn_enumerator *e, int64_t id, tarn_error *err) {
  int64_t next;
  if (!least_next(e, &next)) {
    return TARN_OK;
  }
  if (e->n_progress == MAX_PENDING_CHECKPOINTS) {  // the oldest one says the least
    memmove(e->progress, e->progress + 1, --e->n_progress * sizeof(*e->progress));
  }
  if (e->n_progress == e->progress_capacity) {
    size_t capacity = e->progress_capacity > 0 ? 2 * e->progress_capacity : 8;
    progress *grown = tn_realloc(&e->env->mem, e->progress, capacity * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    e->progress = grown;
    e->progress_capacity = capacity;
  }
  e->progress[e->n_progress++] = (progress){id, next};
  return TARN_OK;
}

bool tn_enumerator_aligned(const tn_enumerator *e, int64_t *snapshot) {
  *snapshot = e->aligned;
  return e->has_aligned;
}

bool tn_enumerator_is_aligned(const tn_enumerator *e, int64_t *timeout_ms) {
  *timeout_ms = e->align_timeout_ms;
  return e->is_aligned;
}

static tarn_status check_aligned(const tn_enumerator *e, int64_t id, tarn_error *err) {
  int64_t open = 0, pending = tn_enumerator_pending(e);
  for (int32_t r = 0; r < e->n_readers; r++) {
    open += (int64_t)e->readers[r].open.count;
  }
  if (!e->has_aligned && !e->is_finished) {
    return tn_fail(err, TARN_E_STATE,
                   "%s: checkpoint %lld: no snapshot was read since the one before "
                   "(source.checkpoint-align.enabled)",
                   e->table->full_name, (long long)id);
  }
  if (open > 0 || pending > 0) {
    return tn_fail(err, TARN_E_STATE,
                   "%s: checkpoint %lld: snapshot %lld is not read yet: %lld splits wait, %lld are "
                   "being read (source.checkpoint-align.enabled)",
                   e->table->full_name, (long long)id, (long long)e->aligned, (long long)pending,
                   (long long)open);
  }
  return TARN_OK;
}

tarn_status tn_enumerator_checkpoint(tn_enumerator *e, int64_t id, tn_buf *out, tarn_error *err) {
  int64_t next;
  bool has_next = tn_stream_scan_position(e->scan, &next);
  if (e->is_aligned) {
    TN_TRY(check_aligned(e, id, err));
  }
  TN_TRY(tn_pending_splits_encode(e->queues, e->n_queues, has_next, next, out, err));
  TN_TRY(note_progress(e, id, err));
  e->has_aligned = false;
  return TARN_OK;
}

tarn_status tn_enumerator_complete(tn_enumerator *e, int64_t id, tarn_error *err) {
  size_t n = 0;
  int64_t next = 0;
  e->handled = 0;
  for (; n < e->n_progress && e->progress[n].checkpoint <= id; n++) {
    next = e->progress[n].next > next ? e->progress[n].next : next;
  }
  if (n == 0) {
    return TARN_OK;
  }
  if (next > 0) {
    // Also when it has not moved: the time of the file is what keeps the consumer alive.
    e->told = next > e->told ? next : e->told;
    TN_TRY(tn_stream_scan_complete(e->scan, e->told, err));
  }
  memmove(e->progress, e->progress + n, (e->n_progress - n) * sizeof(*e->progress));
  e->n_progress -= n;
  return TARN_OK;
}

tarn_status tn_enumerator_restore(tn_enumerator *e, tn_slice bytes, tn_split_queue *held,
                                  tarn_error *err) {
  tn_split_queue pending;
  bool has_next;
  int64_t next;
  tarn_status st;
  tn_split_queue_init(&pending, &e->env->mem);
  st = tn_pending_splits_decode(e->table, bytes, &pending, &has_next, &next, err);
  for (size_t i = 0; st == TARN_OK && i < pending.count; i++) {
    tn_split_queue *queue;
    st = find_queue(e, tn_split_queue_at(&pending, i)->split, &queue, err);
  }
  for (size_t i = 0; st == TARN_OK && held != NULL && i < held->count; i++) {
    tn_split_queue *queue;
    st = find_queue(e, tn_split_queue_at(held, i)->split, &queue, err);
  }
  if (st == TARN_OK) {
    for (int32_t i = 0; i < e->n_queues; i++) {
      tn_split_queue_reset(&e->queues[i]);
    }
    for (int32_t i = 0; i < e->n_readers; i++) {
      e->readers[i].open.count = 0;
      e->readers[i].is_waiting = e->readers[i].has_consumed = e->readers[i].has_assigned = false;
    }
    e->is_finished = e->stops_trigger = e->has_recorded = false;
    e->handled = 0;
    e->n_progress = 0;
    e->told = 0;
    tn_stream_scan_restore(e->scan, has_next, next, false);
    // What is left of a snapshot is read before the next one.
    e->has_aligned = e->is_aligned && (pending.count > 0 || (held != NULL && held->count > 0));
    e->aligned = next - 1;
    st = put_back(e, &pending, err);
    if (st == TARN_OK && held != NULL) {
      st = put_back(e, held, err);
    }
  }
  tn_split_queue_reset(&pending);
  return st;
}
