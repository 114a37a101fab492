/* config.h - the configuration file (paimon.yaml): flat lines "key: value". */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "tarn/error.h"

/* The warehouse that a configuration file names. Comments, quotes and "---" are understood, nested
 * YAML is not. Other keys of Paimon's catalogs are ignored.
 *
 * out   owned by the caller: free()
 * Errors: TARN_E_NOT_FOUND (no such file), TARN_E_IO, TARN_E_INVALID (a line that is none, no
 *         warehouse), TARN_E_UNSUPPORTED (a metastore that is not a file system, by name).
 */
tarn_status cli_config_warehouse(const char *path, char **out, tarn_error *err);

#endif
