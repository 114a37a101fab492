/* wide_time.h - timestamps of more than six digits that come as decimals, seconds since 1970: 64
 * bits of nanoseconds end in 1677 and 2262 (timestamp_ns_as_us = 2, tarn/scan.h).
 */
#ifndef CLI_WIDE_TIME_H
#define CLI_WIDE_TIME_H

#include "tarn/scan.h"

typedef enum cli_wide_time {
  CLI_WIDE_NONE,   /* a number, or something else */
  CLI_WIDE_LOCAL,  /* TIMESTAMP */
  CLI_WIDE_INSTANT /* TIMESTAMP WITH LOCAL TIME ZONE */
} cli_wide_time;

/* By the format of a column and the SQL type in its metadata, "paimon.type". */
cli_wide_time cli_wide_time_of(const struct ArrowSchema *schema);

#endif
