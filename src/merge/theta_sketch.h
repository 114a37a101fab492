/* theta_sketch.h - unions of Apache DataSketches theta sketches, as their Java library makes them.
 *
 * A theta sketch is a set of hashes below a bound, theta, which falls when the set is full. A union
 * has the default 4096 nominal entries and the default seed; it is written compact and ordered. The
 * union does not depend on the order in which hashes are met: it holds the smallest of them.
 * Rule: org.apache.paimon.utils.ThetaSketch; org.apache.datasketches.theta 4.2 (UnionImpl,
 * CompactOperations, PreambleUtil).
 */
#ifndef TN_MERGE_THETA_SKETCH_H
#define TN_MERGE_THETA_SKETCH_H

#include "base/buf.h"

typedef struct tn_theta {
  tn_mem *mem;
  uint64_t *hashes; /* ascending, each once, all in (0, theta) */
  size_t n_hashes;
  uint64_t theta;
} tn_theta;

void tn_theta_init(tn_theta *sketch, tn_mem *mem); /* empty */
void tn_theta_reset(tn_theta *sketch);
/* Replace the sketch by a stored one: compact of any kind, or a hash table; versions 3 and 4. The
 * bytes are untrusted. Errors: CORRUPT, UNSUPPORTED (versions before 2015), NOMEM. */
TN_CHECKED tarn_status tn_theta_decode(tn_theta *sketch, tn_slice bytes, tarn_error *err);
TN_CHECKED tarn_status tn_theta_unite(tn_theta *sketch, const tn_theta *other, tarn_error *err);
/* Append the compact, ordered form. */
TN_CHECKED tarn_status tn_theta_encode(const tn_theta *sketch, tn_buf *out, tarn_error *err);

#endif
