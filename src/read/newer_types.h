/* newer_types.h - files of a schema that is newer than what reads them.
 *
 * The columns of a read, a stream or a lookup are those of the table when it was opened. Where a
 * column has got a wider type since, values of new files need not fit: cast as other readers cast
 * them, 40000000000 would be given as 1345294336. Such files are refused before a row of them is
 * given. (Who travels to an older schema asks for its types, and gets what they make of newer
 * values.)
 */
#ifndef TN_READ_NEWER_TYPES_H
#define TN_READ_NEWER_TYPES_H

#include "read/read.h"

/* Does every value of one type fit the other as it is? Of ROWs the fields that both have. */
bool tn_type_holds(const tn_type *type, const tn_type *values);

/* Can the columns that are read, those of the predicate, and those that order rows hold what these
 * files have? *schema_id is the schema of the last call that was found good; INT64_MIN to begin
 * with. Errors: STATE (a column and its two types), those of reading a schema. */
TN_CHECKED tarn_status tn_newer_types_check(const tn_read_options *options, const tn_split *split,
                                            int64_t *schema_id, tarn_error *err);

#endif
