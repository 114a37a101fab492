/* tracks.h - in which file each column of some rows lies. Internal.
 *
 *   bounds    0          100        120        200
 *   id        [ f1       ][ f1      ][ f1      ]     a track: a file a segment
 *   a         [ f1       ][ f3      ][ f1      ]     f3: newer, over rows 100 to 119
 *
 * Of the files that hold a column (by id, among those that they were written with) the one with the
 * largest sequence number counts, the first of equal ones. What the entry of every file tells
 * (partition keys, ids and sequence numbers of rows) comes from the newest that holds whole rows.
 * Rule: org.apache.paimon.operation.DataEvolutionSplitRead; spec: datafiles, 8.
 */
#ifndef TN_READ_TRACKS_H
#define TN_READ_TRACKS_H

#include "plan/evolution.h"
#include "read/split_reader.h"

/* For all groups of a split; its arena must outlive it. All zero but for what is named: fresh. */
typedef struct tn_track_maker {
  tn_table *table;
  const tn_split *split;
  const tn_field *fields; /* wanted columns */
  int32_t n_fields;
  tn_arena *arena;
  struct tn_track_schema *schemas; /* how files of each schema have the wanted columns */
} tn_track_maker;

void tn_track_maker_reset(tn_track_maker *maker);

typedef struct tn_tracks {
  const tn_row_span *spans; /* the files of the group */
  int64_t *bounds;          /* n_segments + 1 row ids */
  int32_t n_segments;       /* 0: no rows */
  int32_t *files;           /* a track a column, one behind the other; see tn_track_of() */
} tn_tracks;

/* For each segment a file, by its place among the group's; -1: no file, all null. */
static inline const int32_t *tn_track_of(const tn_tracks *tracks, int32_t column) {
  return tracks->files + (size_t)column * (size_t)tracks->n_segments;
}

/* In the arena of the group. Errors: CORRUPT (files of BLOBs or VECTORs that leave rows out), those
 * of loading schemas. */
TN_CHECKED tarn_status tn_tracks_make(tn_track_maker *maker, const tn_row_span *spans, int64_t n,
                                      tn_arena *arena, tn_tracks *out, tarn_error *err);

#endif
