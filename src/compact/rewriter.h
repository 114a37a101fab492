/* rewriter.h - what the files of the rewriter share. For this room only.
 *
 *   rewriter.c       what all rewrites of a table have in common: columns, engine, budgets
 *   pass.c           one rewrite: its files by number, opening them, writing rows
 *   run_input.c      a run of files, or one that was copied to disk first, as input of a merge
 *   lookup_inputs.c  deeper files as inputs: which of them, and which of their rows
 *   changes.c        changelog rows, marks and data of merged groups
 *   expiry.c         record-level expiry
 *   rewrite.c        sections in, files out
 *   concat.c         rows of append files, one file after the other
 *
 * Terms: the *number* of a file counts all files of a pass, those of the sections first, in the
 * order of the request, then deeper ones; so files of a run have numbers that follow one another.
 */
#ifndef TN_COMPACT_REWRITER_H
#define TN_COMPACT_REWRITER_H

#include "compact/rewrite.h"
#include "merge/spill.h"
#include "read/sections.h"
#include "read/split_reader.h"

struct tn_rewriter {
  tn_table *table; /* retained */
  tarn_env *env;
  const tn_compact_options *options;
  const char *spill_folder; /* NULL: none */
  const tarn_cancel *cancel;
  int64_t share_bytes; /* of the memory budget, for one rewrite */
  tn_arena arena;
  tn_write_shape *shape;
  const tn_field *shape_fields; /* of the shape; first_column: the first one of the table */
  int32_t n_shape_fields, first_column;
  tn_read_context reads; /* for guesses of batch sizes */

  /* Primary-key tables. */
  tn_merge_spec spec;         /* of a plain merge; sections change it */
  const tn_field *run_fields; /* key part, then values: the columns of a run on disk */
  int32_t n_run_fields;
  const tn_field *read_fields; /* the key part, _SEQUENCE_NUMBER, _VALUE_KIND */
  int32_t time_at;             /* the time column of record expiry in the key part; -1: none */
  bool is_first_row;
  bool gives_changelog; /* of lookup */
  /* Columns whose difference counts with row-deduplicate: a flag each. */
  const bool *compared;
};

/* The key range of a file, a value for each key column. */
typedef struct tn_pass_file {
  const tn_rewrite_file *file;
  const tn_datum *min, *max;
} tn_pass_file;

/* One rewrite that runs. */
typedef struct tn_pass {
  tn_rewriter *r;
  tn_slice partition;
  int32_t bucket;
  int64_t now_ms;
  /* false: only marks come of the rewrite, and a selecting engine finds them by the key part. */
  bool needs_values;
  tn_arena arena;
  tn_split split; /* all files, for their paths and ages */
  tn_pass_file *files;
  int32_t n_files;
  int32_t *ranks;
  tn_data_shape *merged; /* read_fields first, values late; made when needed, as those below */
  tn_data_shape *keys;   /* the key alone */
  tn_data_shape *whole;  /* the columns of shape_fields */
  tn_data_writer *data, *changelog; /* made with their first rows */
  tn_data_writer_request data_request, changelog_request;
  tn_spill *spill;
  int64_t n_rows_out, n_spilled_bytes;
} tn_pass;

/* Files one after the other. */
typedef struct tn_pass_run {
  int32_t first, n_files; /* numbers */
  bool is_looked_up;
  const tn_pred *pushed; /* NULL: none */
  tn_ranges *rows;       /* the rows of each file that are wanted; NULL: all */
  int32_t spilled;       /* the run on disk that holds it; -1: it is read from its files */
} tn_pass_run;

/* ------------------------------------------------------------------ pass.c */

/* files: n of them, numbered. Frees nothing on failure: tn_pass_end does, always. */
TN_CHECKED tarn_status tn_pass_begin(tn_pass *pass, tn_rewriter *rewriter, tn_slice partition,
                                     int32_t bucket, const tn_rewrite_file **files, int32_t n,
                                     tarn_error *err);
void tn_pass_end(tn_pass *pass);
/* Read the key ranges of all files. */
TN_CHECKED tarn_status tn_pass_read_keys(tn_pass *pass, tarn_error *err);
TN_CHECKED tarn_status tn_pass_open(tn_pass *pass, int32_t number, tn_data_shape *shape,
                                    const tn_pred *pushed, const tn_ranges *rows,
                                    int64_t batch_rows, tn_data_reader **out, const char **path,
                                    tarn_error *err);
/* Write rows of a table as they are in shape_fields, but deleted ones (alive NULL: there are none)
 * and, if wanted, retractions. */
TN_CHECKED tarn_status tn_pass_write_whole(tn_pass *pass, tn_batch *batch, const uint8_t *alive,
                                           bool drops_retractions, tarn_error *err);
/* Write rows that come in parts to one of the writers; the parts are taken, and empty afterwards.
 */
TN_CHECKED tarn_status tn_pass_write(tn_pass *pass, bool is_changelog, tn_batch *values,
                                     tn_buffer **sequences, tn_buffer **kinds, tarn_error *err);
/* Close the writers; a failure removes the files of both. */
TN_CHECKED tarn_status tn_pass_finish(tn_pass *pass, tn_arena *arena, tn_rewrite_result *out,
                                      tarn_error *err);

/* ------------------------------------------------------------------ run_input.c */

/* key_bytes: what a batch of the run may take. */
TN_CHECKED tarn_status tn_run_input_create(tn_pass *pass, const tn_pass_run *run, int64_t key_bytes,
                                           tn_merge_input **out, tarn_error *err);
/* Copy runs to disk so that at most `most` files are open at once; those that looked up stay.
 * Later ones than the environment's memory has room for are copied, too. */
TN_CHECKED tarn_status tn_runs_spill(tn_pass *pass, tn_pass_run *runs, int32_t n_runs,
                                     tarn_error *err);
/* Batches of a file may have so many rows. */
int64_t tn_pass_batch_rows(const tn_pass *pass, int32_t number, int64_t max_bytes);
/* A system column as a flat vector without nulls. */
TN_CHECKED tarn_status tn_pass_check_system(tn_pass *pass, tn_vec *vec, const char *path,
                                            tarn_error *err);

/* ------------------------------------------------------------------ lookup_inputs.c */

/* The runs of deeper files (one an item of `deeper`, whose first file has the number `number`) that
 * may hold keys of the files of level 0 in runs[0 .. n_runs), appended to out, which has room for
 * n_deeper more. In the arena of the pass. */
TN_CHECKED tarn_status tn_lookup_runs(tn_pass *pass, const tn_pass_run *runs, int32_t n_runs,
                                      const tn_rewrite_run *deeper, int32_t n_deeper,
                                      int32_t number, tn_pass_run *out, int32_t *n_out,
                                      tarn_error *err);
/* What lookups made may be given back now. */
void tn_lookup_runs_reset(tn_pass_run *runs, int32_t n_runs);

/* ------------------------------------------------------------------ changes.c */

/* Groups of a section: data, changelog and marks. */
TN_CHECKED tarn_status tn_changes_write(tn_pass *pass, const tn_rewrite_request *request,
                                        tn_merge_step *step, tarn_error *err);
/* Does the request want rows of before: those of a changelog? */
bool tn_changes_give_changelog(const tn_rewriter *rewriter, const tn_rewrite_request *request);

/* ------------------------------------------------------------------ expiry.c */

/* Clear the bits of rows that have expired; time: their time column, made flat. */
TN_CHECKED tarn_status tn_expiry_apply(const tn_rewriter *rewriter, int64_t now_ms, tn_vec *time,
                                       uint8_t *alive, tarn_error *err);

#endif
