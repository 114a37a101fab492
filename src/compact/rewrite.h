/* rewrite.h - files of one bucket merged into new files of a level, with the changelog of that and
 * the old rows that deletion vectors have to mark.
 *
 *   sections of runs ──┐
 *                      ├─ merger ─ groups ─┬─ data files of the output level, if wanted
 *   deeper runs ───────┘                   ├─ changelog files
 *   (looked up)                            └─ marks: rows of deeper files that are superseded
 *
 * Invariants
 *   RW1  The table's state is the same before and after: what a read merges of the inputs, it
 *        finds in the output; deletions are dropped only where nothing older can be left.
 *   RW2  A failure removes every file that the rewrite made.
 *   RW3  Memory does not grow with the bucket: of each run a few batches are held; of more runs
 *        than sort-spill-threshold the smallest are copied to disk first.
 *   RW4  Looking up is a merge, too: keys of the input are met by the files of deeper levels that
 *        overlap them, of which only what may hold those keys is read.
 *
 * Rule: org.apache.paimon.mergetree.compact.{MergeTreeCompactRewriter,ChangelogMergeTreeRewriter,
 * FullChangelogMergeTreeCompactRewriter,LookupMergeTreeCompactRewriter,
 * LookupChangelogMergeFunctionWrapper,FullChangelogMergeFunctionWrapper,FirstRowMergeFunctionWrapper},
 * mergetree.MergeTreeReaders, io.RecordLevelExpire; spec: compaction, 7-12; changelog-producers.
 */
#ifndef TN_COMPACT_REWRITE_H
#define TN_COMPACT_REWRITE_H

#include "base/cancel.h"
#include "compact/options.h"
#include "datafile/data_writer.h"
#include "index/deletion_vector.h"

/* What all rewrites of one table share: how files are read and written, engines, budgets. Made
 * once; rewrites of several buckets may run on several threads at once. */
typedef struct tn_rewriter tn_rewriter;

typedef struct tn_rewriter_setup {
  tn_table *table; /* retained */
  const tn_compact_options *options;
  const char *spill_folder;  /* on the local file system; NULL: no spilling. Copied */
  int32_t n_threads;         /* rewrites that may run at once: they share the memory */
  const tarn_cancel *cancel; /* NULL: none */
} tn_rewriter_setup;

/* Errors: UNSUPPORTED (formats and types, by name), INVALID, NOMEM. */
TN_CHECKED tarn_status tn_rewriter_create(const tn_rewriter_setup *setup, tn_rewriter **out,
                                          tarn_error *err);
void tn_rewriter_free(tn_rewriter *rewriter); /* accepts NULL */

/* A file of the bucket with its deletion vector. */
typedef struct tn_rewrite_file {
  const tn_data_file *meta; /* its level in it; borrowed */
  tn_dv *deletions;         /* as it is now; NULL: none. Borrowed */
} tn_rewrite_file;

/* Files with ascending, disjoint key ranges. */
typedef struct tn_rewrite_run {
  const tn_rewrite_file *files;
  int32_t n_files;
} tn_rewrite_run;

/* Runs that are merged with one another; keys of different sections differ. */
typedef struct tn_rewrite_section {
  const tn_rewrite_run *runs;
  int32_t n_runs;
} tn_rewrite_section;

/* What else comes of the merge. */
typedef enum tn_rewrite_mode {
  TN_REWRITE_PLAIN, /* data files alone */
  TN_REWRITE_FULL,  /* changelog against the top level (changelog-producer = full-compaction) */
  TN_REWRITE_LOOKUP /* level 0 against deeper rows: changelog, marks, or neither (first-row,
                       force-lookup), as the table's options say */
} tn_rewrite_mode;

/* Rows of a file of a deeper level that are superseded. mark: false from it: NOMEM. */
typedef struct tn_rewrite_marks {
  tarn_status (*mark)(void *ctx, const tn_rewrite_file *file, int64_t position, tarn_error *err);
  void *ctx;
} tn_rewrite_marks;

typedef struct tn_rewrite_request {
  tn_slice partition; /* arity-prefixed row; borrowed like all below for the call */
  int32_t bucket;
  const tn_rewrite_section *sections; /* in key order */
  int32_t n_sections;
  const tn_rewrite_run
      *deeper; /* LOOKUP: the runs of the levels beyond the output, shallow first */
  int32_t n_deeper;
  tn_rewrite_mode mode;
  int32_t output_level;
  int32_t top_level;         /* FULL */
  bool drops_deletes;        /* merged retractions are not written */
  bool writes_data;          /* false: only changelog and marks ("changelog without rewrite") */
  tn_rewrite_marks marks;    /* mark NULL: none are wanted */
  tn_data_file_names *names; /* of the bucket */
  int64_t now_ms;            /* for record-level expiry */
} tn_rewrite_request;

typedef struct tn_rewrite_result {
  tn_data_file *files; /* of the output level, in key order */
  int32_t n_files;
  tn_data_file *changelog;
  int32_t n_changelog;
  int64_t n_rows_in, n_rows_out, n_bytes_in, n_bytes_out, n_spilled_bytes;
} tn_rewrite_result;

/* Results in the arena of the caller. Errors: CORRUPT, NOT_FOUND (an input is gone), IO, LIMIT,
 * CANCELLED, NOMEM, INVALID (a retraction in a first-row table). */
TN_CHECKED tarn_status tn_rewrite(tn_rewriter *rewriter, const tn_rewrite_request *request,
                                  tn_arena *arena, tn_rewrite_result *out, tarn_error *err);

/* Rows of append files one after the other, without those that vectors delete, into new files of
 * level 0 whose sequence numbers begin with that of the first. */
typedef struct tn_concat_request {
  tn_slice partition;
  int32_t bucket;
  const tn_rewrite_file *files;
  int32_t n_files;
  tn_data_file_names *names;
} tn_concat_request;

TN_CHECKED tarn_status tn_concat(tn_rewriter *rewriter, const tn_concat_request *request,
                                 tn_arena *arena, tn_rewrite_result *out, tarn_error *err);

/* May the file hold rows that record-level expiry drops, by its statistics? */
TN_CHECKED tarn_status tn_rewriter_has_expired(tn_rewriter *rewriter, const tn_data_file *file,
                                               int64_t now_ms, bool *out, tarn_error *err);

#endif
