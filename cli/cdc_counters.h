/* cdc_counters.h - what a feed into tables counts, for Prometheus (--metrics). */
#ifndef CLI_CDC_COUNTERS_H
#define CLI_CDC_COUNTERS_H

#include "cdc_target.h"

/* Write the file, if it is wanted. Of one table: as table write without --cdc does; of many: those
 * of the table with {table="NAME"}, those of the feed without. Errors: TARN_E_IO, TARN_E_NOMEM. */
tarn_status cdc_counters_write(const cdc_run *run, cdc_target *targets, tarn_error *err);

#endif
