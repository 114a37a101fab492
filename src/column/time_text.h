/* time_text.h - dates and times of day as text; what TIMESTAMP values are made of. */
#ifndef TN_COLUMN_TIME_TEXT_H
#define TN_COLUMN_TIME_TEXT_H

#include "column/datum.h"

/* Seconds since 1970 (floored) and nanoseconds of the second of a TIMESTAMP or TIMESTAMP_LTZ.
 * False: the seconds do not fit. */
bool tn_timestamp_split(const tn_type *type, const tn_datum *datum, int64_t *seconds,
                        int64_t *nanos);

/* yyyy-mm-dd; years of more than four digits with a plus sign if wanted. Returns the end; out has
 * room for 32. */
char *tn_put_date(char *out, int64_t days, bool has_plus);
/* hh:mm:ss */
char *tn_put_clock(char *out, int64_t second_of_day);
/* A date, the separator, hh:mm:ss and a fraction of at least min_digits digits, trailing zeros
 * behind those cut. Returns the end; out has room for 64. */
char *tn_put_date_time(char *out, int64_t seconds, int64_t nanos, char separator, int min_digits,
                       bool has_plus);
/* A timestamp as LocalDateTime.toString has it: no seconds when they are zero with all behind them;
 * 3, 6 or 9 digits. Errors: CORRUPT (beyond the range of dates). */
TN_CHECKED tarn_status tn_timestamp_java_text(const tn_type *type, const tn_datum *value,
                                              tn_buf *out, tarn_error *err);

#endif
