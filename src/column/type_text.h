/* type_text.h - what the JSON and the SQL form of types share. Internal to column/. */
#ifndef TN_COLUMN_TYPE_TEXT_H
#define TN_COLUMN_TYPE_TEXT_H

#include "column/type.h"

/* "BOOLEAN", "VARCHAR", ...; TIMESTAMP_LTZ is "TIMESTAMP" (its suffix comes after the precision).
 */
const char *tn_type_root_name(tn_type_root root);

/* Give a constructed type its parts: ARRAY, VECTOR, MULTISET an element, MAP key and value. */
TN_CHECKED tarn_status tn_type_set_parts(tn_arena *arena, tn_type *type, const tn_type *first,
                                         const tn_type *second, tarn_error *err);
/* May the type be an element of a VECTOR? */
bool tn_type_fits_vector(const tn_type *element);
/* Two fields of a ROW with one name: CORRUPT naming it. */
TN_CHECKED tarn_status tn_type_check_names(const tn_type *row, tn_mem *mem, const char *where,
                                           tarn_error *err);
/* The text of a JSON string: no "ARRAY<...>" and the like but VECTOR. Errors as
 * tn_type_from_json(). `depth` is that of this type, 1 on top. */
TN_CHECKED tarn_status tn_type_from_atomic_text(tn_arena *arena, tn_slice text, const char *where,
                                                int32_t depth, tn_type *out, tarn_error *err);

#endif
