/* sections.h - the files of a split as sections of sorted runs (plan/intervals.h). Internal. */
#ifndef TN_READ_SECTIONS_H
#define TN_READ_SECTIONS_H

#include "plan/plan.h"

typedef struct tn_sorted_run {
  int32_t *files; /* indexes into the split's files, ascending key ranges */
  int32_t n_files;
} tn_sorted_run;

typedef struct tn_section {
  tn_sorted_run *runs;
  int32_t n_runs;
  const tn_datum *min, *max; /* key range of all files: a value for each key column */
} tn_section;

/* The bytes that every value of the first key column in the section begins with, when it is a
 * string or binary: those that the ends of the range have in common. */
tn_slice tn_section_common_start(const tn_schema *schema, const tn_section *section);

/* In key order; everything in the arena. Errors: CORRUPT (keys that are none), NOMEM. */
TN_CHECKED tarn_status tn_sections_make(tn_arena *arena, const tn_schema *schema,
                                        const tn_split *split, tn_section **out, int32_t *n_out,
                                        tarn_error *err);

/* ranks[i]: place of file i from the oldest (0) to the newest, for rows of equal sequence numbers;
 * see merge/merge.h "Ties". In the arena. */
TN_CHECKED tarn_status tn_sections_rank(tn_arena *arena, const tn_split *split, int32_t **ranks,
                                        tarn_error *err);

/* Do the sequence number ranges of any two files of different runs overlap? If not, the smallest
 * number of a file stands for each of its rows. */
TN_CHECKED tarn_status tn_section_sequences_overlap(tn_arena *arena, const tn_split *split,
                                                    const tn_section *section, bool *out,
                                                    tarn_error *err);

#endif
