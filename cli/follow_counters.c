/* follow_counters.c - what table write --follow counts: commits, the writer and the stream, under
 * Paimon's names where it has one.
 */
#include "counters.h"
#include "follow.h"

static void put_commits(cli_text *out, const tarn_sink_stats *s) {
  const cli_counter counters[] = {
      {"paimon_commit_lastCommitDuration", "milliseconds of the last commit", "gauge",
       s->commit_ms},
      {"paimon_commit_lastCommitAttempts", "attempts of the last commit", "gauge", s->attempts},
      {"paimon_commit_lastTableFilesAdded", "files that it added", "gauge", s->files_added},
      {"paimon_commit_lastTableFilesDeleted", "files that it deleted", "gauge", s->files_deleted},
      {"paimon_commit_lastTableFilesAppended", "files of its rows", "gauge", s->files_appended},
      {"paimon_commit_lastTableFilesCommitCompacted", "files that it compacted, before and after",
       "gauge", s->files_compacted},
      {"paimon_commit_lastChangelogFilesAppended", "changelog files of its rows", "gauge",
       s->changelog_files_appended},
      {"paimon_commit_lastChangelogFileCommitCompacted", "changelog files of its compactions",
       "gauge", s->changelog_files_compacted},
      {"paimon_commit_lastGeneratedSnapshots", "snapshots that it made", "gauge", s->snapshots},
      {"paimon_commit_lastDeltaRecordsAppended", "rows in its files", "gauge", s->delta_records},
      {"paimon_commit_lastChangelogRecordsAppended", "rows in its changelog files", "gauge",
       s->changelog_records},
      {"paimon_commit_lastDeltaRecordsCommitCompacted", "rows in compacted files", "gauge",
       s->delta_records_compacted},
      {"paimon_commit_lastChangelogRecordsCommitCompacted",
       "rows in changelog files of compactions", "gauge", s->changelog_records_compacted},
      {"paimon_commit_lastPartitionsWritten", "partitions that it changed", "gauge", s->partitions},
      {"paimon_commit_lastBucketsWritten", "buckets that it changed", "gauge", s->buckets},
      {"paimon_commit_lastCompactionInputFileSize", "bytes that were compacted", "gauge",
       s->compaction_input_bytes},
      {"paimon_commit_lastCompactionOutputFileSize", "bytes that came of it", "gauge",
       s->compaction_output_bytes},
      {"paimon_commit_lastCommittedSnapshotId", "its snapshot, -1: none yet", "gauge",
       s->snapshot_id},
  };
  cli_counters_put(out, counters, CLI_COUNT(counters));
}

static void put_writer(cli_text *out, const tarn_writer_stats *w) {
  const cli_counter counters[] = {
      {"paimon_writerBuffer_numWriters", "buckets that are open", "gauge", w->writers},
      {"paimon_writerBuffer_bufferPreemptCount", "full buffers that were written out early",
       "gauge", w->preempted},
      {"paimon_writerBuffer_usedWriteBufferSizeByte", "bytes of buffered rows", "gauge",
       w->used_bytes},
      {"paimon_writerBuffer_totalWriteBufferSizeByte", "bytes that buffers may have", "gauge",
       w->total_bytes},
      {"paimon_compaction_maxLevel0FileCount", "most files of level 0 of a bucket", "gauge",
       w->level_0_max_files},
      {"paimon_compaction_avgLevel0FileCount", "files of level 0, of a bucket", "gauge",
       w->level_0_avg_files},
      {"paimon_compaction_compactionThreadBusy", "percent, 100 for each thread", "gauge",
       w->compaction_threads_busy},
      {"paimon_compaction_avgCompactionTime", "milliseconds of a compaction", "gauge",
       w->compaction_avg_ms},
      {"paimon_compaction_compactionCompletedCount", "compactions that ended", "counter",
       w->compactions_completed},
      {"paimon_compaction_compactionTotalCount", "compactions that were begun", "counter",
       w->compactions},
      {"paimon_compaction_compactionQueuedCount", "compactions that wait or run", "gauge",
       w->compactions_queued},
      {"paimon_compaction_avgCompactionInputSize", "bytes that one read", "gauge",
       w->compaction_avg_input_bytes},
      {"paimon_compaction_maxCompactionInputSize", "most bytes that one read", "gauge",
       w->compaction_max_input_bytes},
      {"paimon_compaction_avgCompactionOutputSize", "bytes that came of one", "gauge",
       w->compaction_avg_output_bytes},
      {"paimon_compaction_maxCompactionOutputSize", "most bytes that came of one", "gauge",
       w->compaction_max_output_bytes},
  };
  cli_counters_put(out, counters, CLI_COUNT(counters));
}

static void put_stream(cli_text *out, const cli_follow *f, const tarn_sink_stats *s,
                       const tarn_writer_stats *w) {
  const cli_counter counters[] = {
      {"tarn_sink_rows_total", "rows taken in by this run", "counter", w->rows},
      {"tarn_sink_rowsDropped_total", "rows that came again", "counter", f->n_dropped},
      {"tarn_sink_streamRows", "rows of the stream, over all runs", "gauge", f->taken},
      {"tarn_sink_files_total", "files written by this run", "counter", w->files},
      {"tarn_sink_bytes_total", "bytes of them", "counter", w->bytes},
      {"tarn_sink_spilledBytes_total", "bytes that were spilled", "counter", w->spilled_bytes},
      {"tarn_sink_lastCheckpoint", "identifier of the last commit", "gauge", s->last_checkpoint},
      {"tarn_sink_pendingCheckpoints", "prepared and not committed", "gauge", s->pending},
      {"tarn_sink_recoveredCommits", "made up for at the start", "gauge", f->n_recovered},
  };
  cli_counters_put(out, counters, CLI_COUNT(counters));
}

tarn_status cli_follow_metrics(cli_follow *f, tarn_writer *writer, tarn_error *err) {
  tarn_sink_stats s = TARN_SINK_STATS_INIT;
  tarn_writer_stats w = {.struct_size = sizeof(w)};
  cli_text out = {0};
  if (f->metrics_path == NULL) {
    return TARN_OK;
  }
  tarn_sink_get_stats(f->sink, &s);
  tarn_writer_get_stats(writer, &w);
  put_commits(&out, &s);
  put_writer(&out, &w);
  put_stream(&out, f, &s, &w);
  cli_counters_put_summary(&out, "paimon_commit_commitDuration", "milliseconds of commits",
                           s.commits_ms, s.commits);
  return cli_counters_write(&out, f->metrics_path, err);
}
