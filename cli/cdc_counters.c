/* cdc_counters.c - what a feed into tables counts. */
#include "cdc_counters.h"

#include "counters.h"
#include "follow.h"

static tarn_status write_one(const cdc_run *run, const cdc_target *t, tarn_error *err) {
  const cdc_state *s = run->state;
  cli_follow follow = {.session = run->session,
                       .sink = t->sink,
                       .metrics_path = run->session->args->values[OPT_METRICS],
                       .taken = s->taken,
                       .n_dropped = s->n_dropped,
                       .n_recovered = s->n_recovered};
  return cli_follow_metrics(&follow, t->writer, err);
}

/* The name of a table as the value of a label. */
static void put_label(cli_text *out, const char *name) {
  for (; *name != '\0'; name++) {
    if (*name == '"' || *name == '\\') {
      cli_text_char(out, '\\');
    }
    cli_text_char(out, *name == '\n' ? ' ' : *name);
  }
}

static int64_t of_table(const cdc_target *t, size_t which) {
  tarn_sink_stats s = TARN_SINK_STATS_INIT;
  tarn_sink_get_stats(t->sink, &s);
  const int64_t values[] = {s.snapshot_id, s.commit_ms,       s.attempts,       s.delta_records,
                            s.commits_ms,  s.commits,         s.total_rows,     s.total_bytes,
                            s.pending,     s.last_checkpoint, t->without_before};
  return values[which];
}

static void put_tables(cli_text *out, const cdc_target *targets) {
  static const struct {
    const char *name, *help, *type;
  } metrics[] = {
      {"paimon_commit_lastCommittedSnapshotId", "its snapshot, -1: none yet", "gauge"},
      {"paimon_commit_lastCommitDuration", "milliseconds of the last commit", "gauge"},
      {"paimon_commit_lastCommitAttempts", "attempts of the last commit", "gauge"},
      {"paimon_commit_lastDeltaRecordsAppended", "rows in its files", "gauge"},
      {"paimon_commit_commitDuration_sum", "milliseconds of commits", "counter"},
      {"paimon_commit_commitDuration_count", "commits", "counter"},
      {"tarn_sink_rowsCommitted_total", "rows committed by this run", "counter"},
      {"tarn_sink_bytesCommitted_total", "bytes of their files", "counter"},
      {"tarn_sink_pendingCheckpoints", "prepared and not committed", "gauge"},
      {"tarn_sink_lastCheckpoint", "identifier of the last commit", "gauge"},
      {"tarn_feed_updatesWithoutBefore_total", "updates without the row before", "counter"},
  };
  for (size_t i = 0; i < CLI_COUNT(metrics); i++) {
    cli_counters_head(out, metrics[i].name, metrics[i].help, metrics[i].type);
    for (const cdc_target *t = targets; t != NULL; t = t->next) {
      cli_text_printf(out, "%s{table=\"", metrics[i].name);
      put_label(out, t->name);
      cli_text_printf(out, "\"} %lld\n", (long long)of_table(t, i));
    }
  }
}

static tarn_status write_many(const cdc_run *run, const cdc_target *targets, tarn_error *err) {
  const cdc_state *s = run->state;
  const cli_counter counters[] = {
      {"tarn_sink_streamRows", "records of the feed, over all runs", "gauge", s->taken},
      {"tarn_sink_rowsDropped_total", "records that came again", "counter", s->n_dropped},
      {"tarn_sink_recoveredCommits", "made up for at the start", "gauge", s->n_recovered},
      {"tarn_feed_refused_total", "records refused by this run", "counter", run->refused.count},
  };
  cli_text out = {0};
  cli_counters_put(&out, counters, CLI_COUNT(counters));
  put_tables(&out, targets);
  return cli_counters_write(&out, run->session->args->values[OPT_METRICS], err);
}

tarn_status cdc_counters_write(const cdc_run *run, cdc_target *targets, tarn_error *err) {
  if (run->session->args->values[OPT_METRICS] == NULL) {
    return TARN_OK;
  }
  return run->fans_out ? write_many(run, targets, err) : write_one(run, targets, err);
}
