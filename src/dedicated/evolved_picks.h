/* evolved_picks.h - which files of a table with data evolution become one. For this room only.
 *
 *   row ids   0 ........ 99  100 .... 149  150 ...... 199     400 .... 449
 *   columns   [ id, a, b  ]  [ id, a, b ]  [ id, a, b   ]     [ id, a, b ]
 *             [ b         ]                [ a          ]
 *   tasks     |---------------- one file ---------------|     |- another -|
 *
 * Files that hold columns of the same rows stay together. Rows whose ids follow each other become
 * one file, as far as the target size goes. Files of BLOB and dedicated VECTOR columns stay as they
 * are, beside the new file. Readers want those of a BLOB column to cover all rows of a data file:
 * rows that have no such files do not come together with rows that have. Java's commits want those
 * of VECTORs to have the very rows of a data file: these come together with no others.
 *
 * Rule: org.apache.paimon.append.dataevolution.DataEvolutionCompactCoordinator, as of 1.4.2 (which
 * looks at neither), operation.DataEvolutionSplitRead, operation.commit.ConflictDetection.
 */
#ifndef TN_DEDICATED_EVOLVED_PICKS_H
#define TN_DEDICATED_EVOLVED_PICKS_H

#include "base/arena.h"
#include "model/manifest.h"

typedef struct tn_evolved_rules {
  int64_t target_bytes; /* a task is closed when its files weigh more */
  int64_t open_bytes;   /* the least that a file weighs */
  int64_t min_files;    /* a task of fewer data files is none */
} tn_evolved_rules;

typedef struct tn_evolved_task {
  int64_t *files; /* data files, by number, row range after row range */
  int64_t n_files;
  int64_t first_row_id, n_rows; /* of the file that they become */
  int64_t n_bytes;
} tn_evolved_task;

/* files: of one partition, n of them; stays: those that cannot be rewritten (NULL: all can). Tasks
 * are in the arena, by row id. Left alone are rows with a file that stays, files whose entries tell
 * no row ids, and rows that files of BLOBs or VECTORs begin before or end behind. Data files that
 * hold a part of the rows of others become one with those in any case. Errors: NOMEM. */
TN_CHECKED tarn_status tn_evolved_pick(const tn_evolved_rules *rules, const tn_data_file *files,
                                       const bool *stays, int64_t n, tn_arena *arena,
                                       tn_evolved_task **tasks, int64_t *n_tasks, tarn_error *err);

#endif
