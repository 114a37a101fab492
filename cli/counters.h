/* counters.h - counters as Prometheus text, for --metrics. */
#ifndef CLI_COUNTERS_H
#define CLI_COUNTERS_H

#include <stdint.h>

#include "tarn/error.h"
#include "text.h"

typedef struct cli_counter {
  const char *name, *help;
  const char *type; /* "gauge" or "counter" */
  int64_t value;
} cli_counter;

/* What stands before the values of a counter. */
void cli_counters_head(cli_text *out, const char *name, const char *help, const char *type);
void cli_counters_put(cli_text *out, const cli_counter *counters, size_t n);
/* How long something took, over all times. */
void cli_counters_put_summary(cli_text *out, const char *name, const char *help, int64_t sum,
                              int64_t count);

/* Replace the file by what was put; resets text. Errors: TARN_E_IO, TARN_E_NOMEM. */
tarn_status cli_counters_write(cli_text *text, const char *path, tarn_error *err);

#endif
