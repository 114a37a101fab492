/* cdc_engine.h - what the options of a table say of the changes that it takes: keys, merge engine,
 * changelog, order, and what a null does to a row.
 */
#ifndef CLI_CDC_ENGINE_H
#define CLI_CDC_ENGINE_H

#include "cdc_target.h"

/* Fill in what the target knows of its table; table and columns are there, and the arrays of flags.
 * Errors: those of tarn_table_describe(), TARN_E_NOMEM. */
tarn_status cdc_engine_look(cdc_target *target, tarn_error *err);
/* A column by its name; NULL: none. */
cli_column *cdc_engine_column(cdc_target *target, const char *name);

#endif
