/* index_filter.h - the file index of a data file, asked before the file is opened. Internal.
 *
 * The index is the embedded one, or else the only extra file "*.index", which lies beside the data
 * file. Rule: org.apache.paimon.io.FileIndexEvaluator; spec: read, 4.
 */
#ifndef TN_DATAFILE_INDEX_FILTER_H
#define TN_DATAFILE_INDEX_FILTER_H

#include "datafile/data_reader.h"

/* Leave out the ranges in which no row matches. schema: of the file; preds: n_preds of them, on its
 * columns, all of which have to hold. Positions that lie close together stay one range, whose rows
 * the caller tests as always. Nothing is left out when file-index.read.enabled is false, of files
 * with more than 2^31 - 1 rows or a deletion vector of 64 bits, and where the index is of a newer
 * Paimon; nor, with a warning, when it is lost or broken and the user allows to go on so (D4).
 * Errors: CORRUPT (more than one index, too), NOT_FOUND, IO, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_index_filter(const tn_data_request *request, const tn_schema *schema,
                                       const tn_pred *const *preds, int32_t n_preds,
                                       tn_ranges *ranges, tarn_error *err);

#endif
