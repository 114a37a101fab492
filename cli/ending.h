/* ending.h - interrupts that end a run at a checkpoint rather than where it stands: SIGINT and
 * SIGTERM are the end of the input. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

#include <stdbool.h>

#include "tarn/env.h"

/* From now on. cancel (NULL: none) is set, too; it must outlive the program, or
 * cli_ending_forget(). A second signal kills. */
void cli_ending_catch(tarn_cancel *cancel);
void cli_ending_forget(void);
/* Has one come? Calls that wait return EINTR then, and once more each second. */
bool cli_ending_came(void);

#endif
