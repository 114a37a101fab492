/* arrow_import.h - struct arrays of the Arrow C data interface as batches of wanted columns.
 *
 * Columns are matched by name, at every depth. What has the layout of vector.h is not copied:
 * such a vector *borrows* the array's memory and may only be used while the array lives
 * (tn_arrow_own() makes it independent). Everything else is converted, as long as nothing is lost:
 *
 *   wanted                     taken
 *   BOOLEAN                    bool
 *   TINYINT .. BIGINT          ints that are not wider, unsigned ones that are narrower
 *   FLOAT, DOUBLE              float16, float32; DOUBLE float64, too
 *   DECIMAL(p, s)              decimal32 .. decimal256 of at most s digits behind the point; each
 *                              value must fit p
 *   CHAR, VARCHAR              utf8, large_utf8, utf8_view; valid UTF-8 of at most n characters
 *   BINARY, VARBINARY, BLOB    binary, large_binary, binary_view, fixed_size_binary; at most n
 *                              bytes
 *   DATE                       date32, date64 of whole days
 *   TIME                       time32, time64 of whole milliseconds
 *   TIMESTAMP (LTZ)            timestamps without (with any) zone, of any unit that loses no digit;
 *                              of a precision over 6 decimal128(p, 9), seconds since 1970, too
 *   ARRAY, VECTOR              list, large_list, their views, fixed_size_list; of a VECTOR's length
 *   MAP, MULTISET              map
 *   ROW                        struct
 *   VARIANT                    struct of binary metadata and value
 *   any                        null; a dictionary of what is taken
 *
 * The array is trusted as far as the interface forces us: buffers are as long as its lengths and
 * last offsets say. Lengths, offsets, codes and counts of children are checked against each other.
 */
#ifndef TN_COLUMN_ARROW_IMPORT_H
#define TN_COLUMN_ARROW_IMPORT_H

#include "column/vector.h"
#include "tarn/arrow.h"

typedef struct tn_arrow_import tn_arrow_import;

/* Match a schema with columns. Lives in the arena; fields and schema are borrowed while it is used.
 * kind_name: of an int8 column of row kinds, which is no column of the table; NULL: none.
 * Errors: NOT_FOUND (an unknown column; the nearest is named), INVALID (a type that cannot be had
 * without loss, a name that comes twice, no struct). */
TN_CHECKED tarn_status tn_arrow_import_prepare(tn_arena *arena, const struct ArrowSchema *schema,
                                               const tn_field *fields, int32_t n_fields,
                                               const char *kind_name, tn_arrow_import **out,
                                               tarn_error *err);
/* Is column i in the schema? Columns that are not are null in every batch. */
bool tn_arrow_import_has(const tn_arrow_import *import, int32_t i);

/* The rows [begin, begin + n) of a struct array. The batch (raw memory) has all fields, in order:
 * top-level columns may be encoded (DICT, CONST). kinds: of the row kind column, borrowed; NULL:
 * there is none.
 * Errors: INVALID naming row and column (text that is not UTF-8, a value that does not fit, an
 * array that is not what its schema says), LIMIT (more than 2 GiB of one column: ask for fewer
 * rows), NOMEM. */
TN_CHECKED tarn_status tn_arrow_import_rows(tarn_env *env, tn_arrow_import *import,
                                            const struct ArrowArray *array, int64_t begin,
                                            int64_t n, tn_batch *out, const int8_t **kinds,
                                            tarn_error *err);

/* Does a vector, or a part of it, borrow memory of an array? */
bool tn_arrow_is_borrowed(const tn_vec *vec);
/* Copy what is borrowed. */
TN_CHECKED tarn_status tn_arrow_own(tarn_env *env, tn_vec *vec, tarn_error *err);

#endif
