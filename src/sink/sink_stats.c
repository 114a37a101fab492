/* sink_stats.c - what commits of a sink did, in numbers. Rule: org.apache.paimon.operation.metrics.
 * CommitStats; spec: streaming-source, 16. */
#include "base/bytes.h"
#include "base/map.h"
#include "sink/sink_parts.h"

static int64_t rows_of(const tn_data_files *files) {
  int64_t n = 0;
  for (int32_t i = 0; i < files->n; i++) {
    n += files->items[i].row_count;
  }
  return n;
}

static int64_t bytes_of(const tn_data_files *files) {
  int64_t n = 0;
  for (int32_t i = 0; i < files->n; i++) {
    n += files->items[i].file_size;
  }
  return n;
}

static void count_message(tn_table_sink_stats *s, const tn_commit_message *m) {
  s->files_appended += m->new_files.n + m->deleted_files.n;
  s->files_compacted += m->compact_before.n + m->compact_after.n;
  s->files_added += m->new_files.n + m->compact_after.n;
  s->files_deleted += m->deleted_files.n + m->compact_before.n;
  s->changelog_appended += m->changelog_files.n;
  s->changelog_compacted += m->compact_changelog.n;
  s->delta_rows += rows_of(&m->new_files) + rows_of(&m->deleted_files);
  s->changelog_rows += rows_of(&m->changelog_files);
  s->delta_rows_compacted += rows_of(&m->compact_before) + rows_of(&m->compact_after);
  s->changelog_rows_compacted += rows_of(&m->compact_changelog);
  s->compaction_input_bytes += bytes_of(&m->compact_before);
  s->compaction_output_bytes += bytes_of(&m->compact_after);
  s->rows += rows_of(&m->new_files);
  s->bytes += bytes_of(&m->new_files);
}

/* Different partitions, and buckets of them: bucket number and partition, in the arena. */
static tarn_status count_places(tn_table_sink *sink, const tn_committable *all,
                                tn_table_sink_stats *s, tarn_error *err) {
  tn_map partitions, buckets;
  tn_arena arena;
  tarn_status st = TARN_OK;
  tn_map_init(&partitions, &sink->env->mem);
  tn_map_init(&buckets, &sink->env->mem);
  tn_arena_init(&arena, &sink->env->mem, TN_SINK_LIMIT);
  for (int32_t i = 0; i < all->n_messages; i++) {
    const tn_commit_message *m = &all->messages[i];
    uint8_t *key = tn_arena_calloc(&arena, 1, 4 + m->partition.len);
    tn_map_entry *entry;
    if (key == NULL) {
      st = tn_oom(err);
      goto done;
    }
    tn_store_be32(key, (uint32_t)m->bucket);
    if (m->partition.len > 0) {
      memcpy(key + 4, m->partition.data, m->partition.len);
    }
    TN_TRY_TO(done, tn_map_put(&partitions, m->partition, &entry, NULL, err));
    TN_TRY_TO(done,
              tn_map_put(&buckets, tn_slice_of(key, 4 + m->partition.len), &entry, NULL, err));
  }
  s->n_partitions = (int64_t)partitions.count;
  s->n_buckets = (int64_t)buckets.count;
done:
  tn_map_reset(&buckets);
  tn_map_reset(&partitions);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_table_sink_stats_add(tn_table_sink *sink, const tn_committable *all,
                                    const tn_commit_result *result, int64_t duration_ms,
                                    tarn_error *err) {
  tn_table_sink_stats s = {.snapshot_id = -1};
  TN_TRY(count_places(sink, all, &s, err));
  pthread_mutex_lock(&sink->mutex);
  s.durations_ms = sink->stats.durations_ms + duration_ms;
  s.n_commits = sink->stats.n_commits + 1;
  s.rows = sink->stats.rows;
  s.bytes = sink->stats.bytes;
  s.n_recovered = sink->stats.n_recovered;
  s.duration_ms = duration_ms;
  s.n_attempts = result->n_attempts;
  s.n_snapshots = result->last_id != 0 ? result->last_id - result->first_id + 1 : 0;
  s.snapshot_id = result->last_id != 0 ? result->last_id : sink->stats.snapshot_id;
  for (int32_t i = 0; i < all->n_messages; i++) {
    count_message(&s, &all->messages[i]);
  }
  sink->stats = s;
  pthread_mutex_unlock(&sink->mutex);
  return TARN_OK;
}
