/* change.h - what the verbs that change something share: asking, commits, and arguments that are
 * times, partitions or lists. */
#ifndef CLI_CHANGE_H
#define CLI_CHANGE_H

#include "session.h"
#include "tarn/write.h"

/* Before something dangerous. With --dry-run it is told that the thing `would` happen, and the
 * answer is no; on a terminal the user is asked, unless --yes was given. is_to_go: do it. */
tarn_status cli_change_ask(cli_session *session, bool *is_to_go, tarn_error *err,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Something was done: a line on standard error, as text, or as JSON with the members `json`
 * ("\"a\":1"; NULL: only the text). Nothing when quiet, unless it is JSON. */
void cli_change_report(cli_session *session, const char *json, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The plural of what is counted: printf("%lld row%s", n, cli_s(n)). */
static inline const char *cli_s(int64_t n) {
  return n == 1 ? "" : "s";
}

/* "a=1,b=x", values with \ in front of a comma: pairs that lie in one piece of memory. */
typedef struct cli_pairs {
  tarn_option *items; /* owned, with their texts */
  size_t count;
  char *text;
} cli_pairs;
tarn_status cli_pairs_parse(const char *option, const char *text, cli_pairs *out, tarn_error *err);
void cli_pairs_reset(cli_pairs *pairs);

/* "a,b" as names. */
typedef struct cli_names {
  const char **items; /* owned */
  size_t count;
  char *text;
} cli_names;
tarn_status cli_names_parse(const char *option, const char *text, cli_names *out, tarn_error *err);
void cli_names_reset(cli_names *names);

/* "7d", "12 h", "1500ms": milliseconds, as Paimon's TimeUtils reads them. *out keeps its value when
 * the option was not given. Errors: TARN_E_INVALID: usage. */
tarn_status cli_duration(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err);
/* A time as --as-of takes it: milliseconds since 1970; local times by --time-zone, else TZ. */
tarn_status cli_time(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err);
/* A whole number that may be negative. */
tarn_status cli_signed(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err);

/* The committer of the table for --commit-user. out: tarn_committer_free(). */
tarn_status cli_committer(cli_session *session, tarn_table *table, const char *user,
                          tarn_committer **out, tarn_error *err);

/* How often a compaction that a commit has dropped is made again before a verb ends: others were
 * faster, and each time somebody has made progress. */
#define CLI_MAX_COMPACTIONS 64

/* The id of the latest snapshot; 0: none, negative: it is not known. */
int64_t cli_latest_snapshot(tarn_table *table);
/* After a commit that ended with a status and made no snapshot: delete the files of its messages,
 * if it is sure that no snapshot has them, as the status says so or the latest snapshot is still
 * the one of before. What stays is told. */
void cli_clean_up(const cli_session *session, tarn_table *table, tarn_status status,
                  int64_t latest_before, tarn_committer *committer, const tarn_messages *messages);

#endif
