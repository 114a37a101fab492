/* as_of.h - the time of --as-of. */
#ifndef CLI_AS_OF_H
#define CLI_AS_OF_H

#include "args.h"

/* Add scan.timestamp (a local time) or scan.timestamp-millis (an instant) to the table options:
 * "2024-05-01", "2024-05-01 12:30", "2024-05-01T12:30:00.5", each with "Z" or "+02:00" for an
 * instant, or milliseconds since 1970. Errors: TARN_E_INVALID: usage. */
tarn_status cli_as_of(cli_args *args, const char *text, tarn_error *err);

/* The same of another option, as milliseconds since 1970. zone: of local times; NULL: that of TZ.
 */
tarn_status cli_time_parse(const char *option, const char *text, const char *zone, int64_t *out,
                           tarn_error *err);

#endif
