/* cdc_state.h - how far a change feed has come into its tables: each record once, over any number
 * of runs, whatever ends them.
 *
 *   {"tarn_feed":1,"rows":M,"letters":L,"tombstones":B,"into":T,"letters_file":F,
 *    "tables":[{"table":NAME,"bytes":N},..]}\n
 *
 * then the N bytes of tarn_sink_save() of each table. One file, replaced whole and synced.
 *
 * Invariants
 *   S1  What a round of commits makes visible in all tables, and how many records of the feed
 *       stand behind it, are in the file before the first of these commits. The next run commits
 *       what was not, table by table, before it reads a record.
 *   S2  Records are counted from the start of the feed. Those that the file has are passed over
 *       when an input that begins anew brings them again.
 *   S3  Letters of records that the file has are on disk before it is; letters behind them, of
 *       records that will come again, are cut off.
 *
 * One thread at a time. Rule: docs/cdc.md, "After a kill".
 */
#ifndef CLI_CDC_STATE_H
#define CLI_CDC_STATE_H

#include "refused.h"
#include "tarn/sink.h"

typedef struct cdc_state_part { /* of a table */
  char *name;                   /* owned */
  size_t at, n;                 /* of its bytes in the file */
  bool is_used;                 /* restored */
} cdc_state_part;

typedef struct cdc_state {
  cli_session *session;
  const char *path;
  int letters;            /* the dead-letter file, if its end can be cut; -1: none. Borrowed */
  bool can_replay;        /* the input begins anew in each run */
  bool has_begun;         /* a record was read */
  bool is_of_another;     /* the file: of a run into other tables */
  bool tombstone_is_all;  /* of a delete: cdc_reader's */
  int64_t taken;          /* records of the feed that are taken in, or dropped */
  int64_t taken_before;   /* those that the file has */
  int64_t letters_before; /* bytes of letters, as the file was found */
  int64_t to_skip;        /* of those that come, in front */
  int64_t n_dropped;      /* that came again */
  int64_t n_recovered;    /* commits made up for */
  cli_text bytes;         /* the file, as it was found; owned */
  cdc_state_part *parts;  /* as it names them; owned */
  size_t n_parts;
} cdc_state;

/* Read the file, if there is one, and take the dead-letter file back to where it stood then. A
 * letter has to know where it begins, so that a run that keeps them and has no file begins one.
 * out: cdc_state_close(), on failure too. Errors: TARN_E_CORRUPT (no such file),
 * TARN_E_INVALID (of other tables), TARN_E_STATE (another run keeps the letters), TARN_E_IO,
 * TARN_E_NOMEM. */
tarn_status cdc_state_open(cli_session *session, const cli_refused *refused, cdc_state *out,
                           tarn_error *err);
void cdc_state_close(cdc_state *state); /* accepts all zero */

/* A sink of a table goes on where the file says, if it names the table; what is not committed is.
 * only: the run has one table, under whatever name. Errors: those of tarn_sink_restore(). */
tarn_status cdc_state_restore(cdc_state *state, const char *name, bool only, tarn_sink *sink,
                              tarn_error *err);

/* Is the next record one that the file has? Counted then. */
bool cdc_state_drops(cdc_state *state);

typedef struct cdc_state_table {
  const char *name;
  tarn_sink *sink;
} cdc_state_table;

/* Replace the file: these tables, with what is sealed and not complete, and the records taken. */
tarn_status cdc_state_keep(cdc_state *state, const cdc_state_table *tables, size_t n,
                           tarn_error *err);

#endif
