/* cdc_target.h - one table that a change feed goes into: its columns, writer and committer.
 *
 * Changes become rows of a batch; batches go to the writer when they are full, and before a commit.
 * A record whose values are refused leaves nothing behind. One thread at a time.
 */
#ifndef CLI_CDC_TARGET_H
#define CLI_CDC_TARGET_H

#include "cdc.h"
#include "cdc_state.h"
#include "change.h"
#include "refused.h"

#define CDC_BATCH_ROWS 8192
#define CDC_BATCH_BYTES ((size_t)8 << 20) /* of records */

typedef struct cdc_meta { /* of --metadata: a column from elsewhere in the record */
  const char *column, *path;
} cdc_meta;

/* What the targets of a run share. */
typedef struct cdc_run {
  cli_session *session;
  const cdc_format *format;
  cdc_style style;
  const char *kind_name;    /* of the row kind in batches, and of JSON lines */
  const tarn_option *metas; /* column = path */
  size_t n_metas;
  bool evolves, waits; /* --evolve; commits wait for compactions */
  cdc_state *state;    /* of --state: commits go through sinks; NULL: none. Borrowed */
  bool fans_out;       /* into tables that the records name */
  cli_refused refused;
  const char *source_name;
} cdc_run;

typedef struct cdc_target cdc_target;
struct cdc_target {
  cdc_target *next;
  const cdc_run *run;
  char *name; /* owned */
  tarn_table *table;
  tarn_writer *writer;
  tarn_committer *committer; /* with run->state of truncates alone */
  tarn_sink *sink;           /* with run->state */
  bool is_sealed;            /* what was written since the last commit is prepared */
  bool owes;                 /* the last commit has dropped a compaction, which is made again */
  cli_columns *columns;
  cdc_values values;
  bool *is_key;       /* of each column; owned */
  bool *keeps_null;   /* of each: a null leaves the row's value as it is (partial-update); owned */
  bool *is_order;     /* of each: rows of a key are in the order of its values; owned */
  cli_column **metas; /* of each of run->metas; NULL: the table has no such column; owned */
  cli_column *kind_column; /* rowkind.field; NULL: none */
  bool has_key, wants_before, needs_values;
  bool has_order, needs_all_order; /* one of the columns of order at least, or all of them */
  bool ignores_deletes;            /* ignore-delete */
  bool refuses_deletes;            /* its engine does, unless options say otherwise */
  /* of the batch */
  int64_t *lines; /* of each row; owned */
  size_t *raw_at; /* where each row's record ends in raw; owned */
  size_t capacity, n_bytes;
  cli_text raw;
  int64_t n_noted; /* rows that lines has */
  /* counts */
  int64_t rows, since_commit, without_before, snapshot, commits, files, bytes;
  int64_t next_id;
};

/* Open the table and its writer. out: cdc_target_free(), also after a failure. */
tarn_status cdc_target_open(const cdc_run *run, const char *name, cdc_target **out,
                            tarn_error *err);
void cdc_target_free(cdc_target *target);

typedef enum cdc_outcome {
  CDC_TAKEN,
  CDC_FAULT,  /* in *fault */
  CDC_EVOLVE, /* `changes` of the schema would let it in (JSON for tarn_table_alter) */
  CDC_NO_MEMORY
} cdc_outcome;

/* Add the rows of a record, all or none. line: where it stands, text: its bytes. */
cdc_outcome cdc_target_add(cdc_target *target, const cdc_reader *reader, const cdc_record *record,
                           cli_text *changes, cli_row_fault *fault);
/* The rows that were added come from this line. */
tarn_status cdc_target_note(cdc_target *target, int64_t line, const char *text, size_t n,
                            tarn_error *err);
/* Is the batch full? */
static inline bool cdc_target_is_full(const cdc_target *target) {
  return cli_columns_rows(target->columns) >= CDC_BATCH_ROWS || target->n_bytes >= CDC_BATCH_BYTES;
}
/* The batch to the writer. Rows that the table refuses are left out or end the run. */
tarn_status cdc_target_flush(cdc_target *target, tarn_error *err);
/* Prepare what was written, in *out (NULL: nothing to commit), then commit it (or, on a dry run,
 * abort it). */
tarn_status cdc_target_prepare(cdc_target *target, tarn_messages **out, tarn_error *err);
tarn_status cdc_target_commit(cdc_target *target, tarn_messages *messages, tarn_error *err);
/* With run->state instead, in two steps: prepare what was written, so that it is in the state, then
 * commit it. Of a table without new rows nothing is done, unless it is the only one. */
tarn_status cdc_target_seal(cdc_target *target, tarn_error *err);
tarn_status cdc_target_complete(cdc_target *target, bool *has_committed, tarn_error *err);
/* Take all rows out of the table. Nothing is pending. */
tarn_status cdc_target_truncate(cdc_target *target, tarn_error *err);
/* Change the schema and begin anew with it. Nothing is pending. */
tarn_status cdc_target_alter(cdc_target *target, const char *changes, tarn_error *err);

#endif
