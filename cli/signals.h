/* signals.h - Control-C ends the program at a clean point; a closed pipe is an error of write(). */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

#include "tarn/env.h"

/* The first SIGINT sets `cancel`, the second one kills. Call once; signals_stop() before `cancel`
 * is freed. */
void cli_signals_start(tarn_cancel *cancel);
void cli_signals_stop(void);
bool cli_signals_interrupted(void);

#endif
