/* sweep.h - files that are to go: planned whole, then removed in the order in which they were
 * planned. Internal.
 *
 * A file that is not there is fine, so that a run that was cut off can be repeated.
 */
#ifndef TN_MAINTAIN_SWEEP_H
#define TN_MAINTAIN_SWEEP_H

#include "base/cancel.h"
#include "maintain/kept.h"

typedef struct tn_sweep {
  tn_table *table;
  tn_arena arena;
  tn_buf text;
  tn_map paths;   /* each once */
  tn_map folders; /* of buckets that files are removed from */
} tn_sweep;

void tn_sweep_init(tn_sweep *sweep, tn_table *table);
void tn_sweep_reset(tn_sweep *sweep);

/* Where a data file lies, whole. Parts of a changelog file that was compacted lie in one file. */
TN_CHECKED tarn_status tn_data_file_path(tn_table *table, tn_slice partition, int32_t bucket,
                                         const tn_data_file *file, tn_arena *arena,
                                         const char **out, tarn_error *err);
/* A file that lies beside it. */
TN_CHECKED tarn_status tn_extra_file_path(tn_arena *arena, const char *data_file_path,
                                          tn_slice name, const char **out, tarn_error *err);

/* A data file and what lies beside it. */
TN_CHECKED tarn_status tn_sweep_data_file(tn_sweep *sweep, tn_slice partition, int32_t bucket,
                                          const tn_data_file *file, tarn_error *err);
TN_CHECKED tarn_status tn_sweep_path(tn_sweep *sweep, const char *path, tarn_error *err);
/* <table>/<folder>/<name>. */
TN_CHECKED tarn_status tn_sweep_meta(tn_sweep *sweep, const char *folder, tn_slice name,
                                     tarn_error *err);

/* Which of a snapshot's metadata go. */
typedef struct tn_meta_sweep {
  bool states; /* base and delta */
  bool changelog;
  bool others; /* indexes, statistics */
} tn_meta_sweep;
/* Its lists, manifests, index manifest, index files and statistics that are not kept. What goes is
 * kept from then on, so that it is planned once. Those of which nothing can be read stay. */
TN_CHECKED tarn_status tn_sweep_metas(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *snapshot,
                                      tn_meta_sweep which, tarn_error *err);
/* The data files that its delta took away and nobody keeps. spares_appended: those that were
 * written by writers stay. A manifest that is gone has been worked off; one that is corrupt is told
 * to the log, and its files stay. */
TN_CHECKED tarn_status tn_sweep_deleted(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *snapshot,
                                        bool spares_appended, tarn_error *err);
/* The files that its changelog added and nobody keeps. */
TN_CHECKED tarn_status tn_sweep_changelog(tn_sweep *sweep, tn_kept *kept,
                                          const tn_snapshot *snapshot, tarn_error *err);

/* The live data files of a snapshot that nobody keeps; none when some of its manifests are gone or
 * corrupt. */
TN_CHECKED tarn_status tn_sweep_state(tn_sweep *sweep, tn_kept *kept, const tn_snapshot *snapshot,
                                      tarn_error *err);

TN_CHECKED tarn_status tn_sweep_run(tn_sweep *sweep, const tarn_cancel *cancel, tarn_error *err);
/* Remove the folders of buckets and partitions that are empty now. */
TN_CHECKED tarn_status tn_sweep_folders(tn_sweep *sweep, tarn_error *err);

/* What deleting something that names files takes: who else names them, and those that go. */
typedef struct tn_clearing {
  tn_table *table; /* borrowed */
  tn_arena arena;
  tn_kept kept;
  tn_sweep files, metas;
} tn_clearing;

void tn_clearing_init(tn_clearing *clearing, tn_table *table);
void tn_clearing_reset(tn_clearing *clearing);

#endif
