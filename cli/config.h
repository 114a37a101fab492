/* config.h - the configuration file (paimon.yaml): flat lines "key: value". */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "tarn/table.h"

/* All zero: none. */
typedef struct cli_config {
  char *warehouse;      /* owned; that of the options */
  tarn_option *options; /* keys and values are owned, too */
  size_t n_options;
} cli_config;

/* Read the options of a catalog. Comments, quotes and "---" are understood, nested YAML is not. Of
 * several lines with one key the last counts.
 *
 * out   cli_config_reset(), also after a failure
 * Errors: TARN_E_NOT_FOUND (no such file), TARN_E_IO, TARN_E_INVALID (a line that is none, no
 *         warehouse), TARN_E_UNSUPPORTED (a metastore that is not a file system, by name).
 */
tarn_status cli_config_read(const char *path, cli_config *out, tarn_error *err);
void cli_config_reset(cli_config *config);

#endif
