/* file_place.h - where new data files lie and what they are called; removing them again. For this
 * room only.
 *
 * Rule: org.apache.paimon.io.DataFilePathFactory, fs.ExternalPathProvider; spec: layout, 1.
 */
#ifndef TN_DATAFILE_FILE_PLACE_H
#define TN_DATAFILE_FILE_PLACE_H

#include "datafile/write_shape.h"

typedef struct tn_file_place {
  const char *name;     /* of the file in its folder */
  const char *path;     /* plain, full */
  const char *recorded; /* for _EXTERNAL_PATH; NULL: it lies in the folder of its bucket */
} tn_file_place;

/* Gives the files of one bucket their places; all is put into the arena. */
typedef struct tn_file_placer {
  const tn_write_shape *shape;
  tn_arena *arena;
  tn_data_file_names *names;
  const char *folder;         /* of the bucket */
  const char *relative;       /* the same from the table's root on */
  int32_t turn;               /* of round-robin: the root that was used last */
  const char **outer_folders; /* external ones that were used, each with its root behind it */
  size_t n_outer, outer_capacity;
} tn_file_placer;

TN_CHECKED tarn_status tn_file_placer_init(tn_file_placer *placer, const tn_write_shape *shape,
                                           tn_arena *arena, tn_slice partition, int32_t bucket,
                                           tn_data_file_names *names, tarn_error *err);
TN_CHECKED tarn_status tn_file_placer_next(tn_file_placer *placer, const char *prefix,
                                           const char *extension, tn_file_place *out,
                                           tarn_error *err);
/* Sync the names of all files so far. */
TN_CHECKED tarn_status tn_file_placer_sync(const tn_file_placer *placer, tarn_error *err);

/* Remove a data file of the bucket with this folder, and its extra files; what cannot be removed
 * stays, and the log tells. */
void tn_file_remove(tn_table *table, tn_slice folder, const tn_data_file *file);

#endif
