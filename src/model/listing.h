/* listing.h - numbered files of a folder ("snapshot-7", "schema-0") and names behind a prefix.
 * Internal to model/.
 *
 * Rule: names that do not parse are skipped (spec: layout, 3 "Listing rule").
 */
#ifndef TN_MODEL_LISTING_H
#define TN_MODEL_LISTING_H

#include "base/arena.h"
#include "io/storage.h"

/* "/a/b" + "/" + "c" in the arena, and further parts; the list ends with NULL. NULL: no memory. */
char *tn_path_join(tn_arena *arena, const char *first, ...) __attribute__((sentinel));

/* A decimal number without sign and without leading zeros, up to INT64_MAX. */
bool tn_listing_number(tn_slice text, int64_t *out);

/* The numbers N of all entries "<prefix>N" of a directory, ascending, in the arena. An absent
 * directory has none. Errors: IO, AUTH, NOMEM. */
TN_CHECKED tarn_status tn_listing_numbers(tn_storage *storage, const char *directory,
                                          const char *prefix, tn_arena *arena, int64_t **out,
                                          int32_t *n_out, tarn_error *err);
/* What stands behind the prefix in the names of all entries that begin with it and are directories
 * or not, sorted by bytes, in the arena. An absent directory has none. */
TN_CHECKED tarn_status tn_listing_names(tn_storage *storage, const char *directory,
                                        const char *prefix, bool wants_directories, tn_arena *arena,
                                        const char ***out, int32_t *n_out, tarn_error *err);

#endif
