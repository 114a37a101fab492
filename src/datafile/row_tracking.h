/* row_tracking.h - ids and sequence numbers of rows, which files hold or their entries tell.
 *
 *   _ROW_ID           the value in the file where it holds one, else _FIRST_ROW_ID + position
 *   _SEQUENCE_NUMBER  likewise, else the file's _MAX_SEQUENCE_NUMBER
 *
 * Rule: org.apache.paimon.table.SpecialFields#rowTypeWithRowTracking, io.DataFileRecordReader;
 * spec: datafiles, 2.3; read, 6 "Row tracking".
 */
#ifndef TN_DATAFILE_ROW_TRACKING_H
#define TN_DATAFILE_ROW_TRACKING_H

#include "column/predicate.h"
#include "model/manifest.h"

/* The columns that tables with 'row-tracking.enabled' have beside their own: _ROW_ID and
 * _SEQUENCE_NUMBER, in this order. Static. */
#define TN_N_ROW_TRACKING_FIELDS 2
extern const tn_field tn_row_tracking_fields[TN_N_ROW_TRACKING_FIELDS];

/* One of them by id; NULL: another field. */
const tn_field *tn_row_tracking_field(int32_t id);

/* Is the column among those that the file was written with? Files without a list of them have all
 * columns of their schema. */
bool tn_data_file_has_column(const tn_data_file *file, tn_slice name);
/* May the file hold this column of tn_row_tracking_fields? */
bool tn_data_file_may_store(const tn_data_file *file, const tn_field *field);

/* The ids of the file's rows are first .. last; false: its entry does not tell, or is wrong. */
bool tn_data_file_row_ids(const tn_data_file *file, int64_t *first, int64_t *last);

/* Ranges of row ids outside of which no row matches the predicate; out was initialised and is
 * filled. Depth: that of a predicate. */
TN_CHECKED tarn_status tn_row_ids_of_predicate(const tn_pred *pred, tn_ranges *out,
                                               tarn_error *err);

#endif
