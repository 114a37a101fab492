/* errors.h - errors that the program itself finds; those on the command line: cli_usage(), args.h.
 *
 * Texts are cut at the size of a message. Both may be given parts of err->message, return the
 * status, and allocate nothing.
 */
#ifndef CLI_ERRORS_H
#define CLI_ERRORS_H

#include "tarn/error.h"

/* Fill err, with os_errno 0. */
tarn_status cli_error(tarn_error *err, tarn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tarn_status cli_no_memory(tarn_error *err);
/* Fill err with "<name>: <what the number of the system means>". */
tarn_status cli_error_errno(tarn_error *err, tarn_status status, const char *name, int number);
/* "<name>: " in front of the message; the rest of err stays. */
tarn_status cli_error_prefix(tarn_error *err, const char *name);

#endif
