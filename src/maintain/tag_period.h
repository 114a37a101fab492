/* tag_period.h - the periods of automatic tags, and the names that tags have by them. Internal.
 *
 * Times are local date-times: milliseconds as if they were UTC.
 *
 * Rule: org.apache.paimon.tag.TagPeriodHandler; spec: commit, 10.
 */
#ifndef TN_MAINTAIN_TAG_PERIOD_H
#define TN_MAINTAIN_TAG_PERIOD_H

#include "model/table.h"

typedef enum tn_tag_mode {
  TN_TAGS_NONE,
  TN_TAGS_PROCESS_TIME,
  TN_TAGS_WATERMARK,
  TN_TAGS_BATCH
} tn_tag_mode;

typedef struct tn_tag_period {
  int64_t length_ms;
  const char *format; /* y, m, d, h, n: digits of year, month, day, hour, minute */
  bool is_daily;
} tn_tag_period;

#define TN_TAG_PERIOD_CHARS 24

TN_CHECKED tarn_status tn_tag_mode_of(const tn_table *table, tn_tag_mode *out, tarn_error *err);
TN_CHECKED tarn_status tn_tag_period_init(tn_tag_period *period, const tn_table *table,
                                          tarn_error *err);
/* The start of the period before the one that a time is in. */
int64_t tn_tag_period_before(const tn_tag_period *period, int64_t local_ms);
void tn_tag_period_name(const tn_tag_period *period, int64_t local_ms,
                        char out[TN_TAG_PERIOD_CHARS]);
/* false: no automatic tag has this name. */
bool tn_tag_period_parse(const tn_tag_period *period, const char *name, int64_t *local_ms);

#endif
