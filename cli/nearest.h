/* nearest.h - "did you mean ...?" */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* Offer candidates one by one; `best` stays the closest within a third of the name's length (at
 * least 1, at most 4 edits), letters compared without case. */
typedef struct cli_nearest {
  const char *name;
  const char *best; /* NULL: none is near */
  int distance;
} cli_nearest;

void cli_nearest_init(cli_nearest *nearest, const char *name);
void cli_nearest_offer(cli_nearest *nearest, const char *candidate);

#endif
