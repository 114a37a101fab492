/* tarn.h - Apache Paimon in C: everything.
 *
 *   admin.h      creating and changing databases and tables
 *   error.h      how calls fail
 *   env.h        the environment: memory, threads, clock, log
 *   table.h      catalogs and tables
 *   predicate.h  row filters
 *   scan.h       planning and reading
 *   stream.h     following a table
 *   write.h      writing and committing
 *   compact.h    compacting
 *   inspect.h    looking into single files
 *   lookup.h     rows by their keys
 *   parquet.h    Parquet files of Arrow batches
 *   arrow.h      the Arrow C data interface
 */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include "tarn/admin.h"
#include "tarn/arrow.h"
#include "tarn/compact.h"
#include "tarn/env.h"
#include "tarn/error.h"
#include "tarn/inspect.h"
#include "tarn/lookup.h"
#include "tarn/parquet.h"
#include "tarn/predicate.h"
#include "tarn/scan.h"
#include "tarn/sink.h"
#include "tarn/stream.h"
#include "tarn/table.h"
#include "tarn/write.h"

#endif
