/* time_pattern.h - times in texts, by the patterns of java.time that partitions use. Internal.
 *
 * Rule: java.time.format.DateTimeFormatter#ofPattern (letters y, u, M, d, H, m, s, S, quoted and
 * other text), org.apache.paimon.partition.PartitionTimeExtractor.
 */
#ifndef TN_MAINTAIN_TIME_PATTERN_H
#define TN_MAINTAIN_TIME_PATTERN_H

#include "base/error.h"
#include "base/slice.h"

/* Errors: UNSUPPORTED (a letter by name), INVALID (a quote that is not closed). */
TN_CHECKED tarn_status tn_time_pattern_check(const char *pattern, tarn_error *err);
/* Milliseconds of the local time in a text; without a time of day: midnight. pattern NULL:
 * "y-M-d[ H:m:s[.n]]", where fields that are too large carry over. false: it is none. */
bool tn_time_pattern_parse(const char *pattern, tn_slice text, int64_t *local_ms);

#endif
