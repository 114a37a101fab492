/* deletion_vector.h - which rows of one data file are deleted.
 *
 * A vector is immutable once built and may be read by many threads; counted.
 * Terms: "position" is the row's 0-based place in its data file.
 * Rule: org.apache.paimon.deletionvectors.*; spec: indexes, 2.
 */
#ifndef TN_INDEX_DELETION_VECTOR_H
#define TN_INDEX_DELETION_VECTOR_H

#include "column/vector.h"
#include "io/storage.h"

typedef struct tn_dv tn_dv;

/* Where a vector is stored. */
typedef struct tn_dv_place {
  const char *path;    /* of the container file */
  int64_t offset;      /* of the blob's length word */
  int64_t length;      /* as recorded: v1 magic + bitmap, v2 the whole blob */
  int64_t cardinality; /* -1: unknown */
} tn_dv_place;

/* Decode a stored blob, from its length word on; either version (magic decides). The CRC is
 * checked. Errors: CORRUPT (magic, length, checksum, bitmap, a position past the limit), NOMEM.
 * Untrusted. */
TN_CHECKED tarn_status tn_dv_decode(tarn_env *env, tn_slice blob, const char *path, tn_dv **out,
                                    tarn_error *err);
/* Read one from its container, through the environment's cache. A cardinality that is known and
 * differs from the bitmap's is CORRUPT. */
TN_CHECKED tarn_status tn_dv_load(tarn_env *env, tn_storage *storage, const tn_dv_place *place,
                                  tn_dv **out, tarn_error *err);
tn_dv *tn_dv_retain(tn_dv *dv);
void tn_dv_release(tn_dv *dv); /* accepts NULL */

int64_t tn_dv_cardinality(const tn_dv *dv);
bool tn_dv_contains(const tn_dv *dv, int64_t position);
/* Clear the bits of deleted rows: bit i of `selected` is position first + i. */
void tn_dv_apply(const tn_dv *dv, int64_t first, int64_t n_rows, uint8_t *selected);
/* Deleted rows in [begin, end); 0 <= begin. */
int64_t tn_dv_count(const tn_dv *dv, int64_t begin, int64_t end);
/* Call visit for each position, ascending, until it returns false (inspect). */
void tn_dv_each(const tn_dv *dv, bool (*visit)(void *ctx, int64_t position), void *ctx);
int32_t tn_dv_version(const tn_dv *dv); /* 1 or 2 */

#endif
