/* cast_internal.h - what the cast files share.
 *
 * A rule turns one non-null datum into a datum (which may be null). Columns of plain numbers also
 * have loops over whole arrays (tn_cast_numbers); both give the same.
 */
#ifndef TN_COLUMN_CAST_INTERNAL_H
#define TN_COLUMN_CAST_INTERNAL_H

#include "column/cast.h"

/* One cast: types, and room for the texts and bytes that rules make. */
typedef struct tn_cast {
  const tn_type *from, *to;
  const tn_zone *zone; /* NULL: UTC */
  tn_buf *bytes;       /* results of text rules lie here until the next value */
  tn_arena *arena;     /* for parsing texts */
} tn_cast;

typedef tarn_status (*tn_cast_fn)(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err);

/* cast_number.c */
tarn_status tn_cast_boolean_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err);
tarn_status tn_cast_integer_to_boolean(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                       tarn_error *err);
tarn_status tn_cast_integer_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err);
tarn_status tn_cast_real_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                   tarn_error *err);
tarn_status tn_cast_decimal_to_number(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err);
/* values of n rows at once, for the pairs that are plain C conversions; false: not one of them. */
bool tn_cast_numbers(tn_layout from, const void *in, tn_layout to, void *out, int64_t n);

/* cast_time.c */
tarn_status tn_cast_integer_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                         tarn_error *err);
tarn_status tn_cast_date_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err);
tarn_status tn_cast_time_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err);
tarn_status tn_cast_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                              tarn_error *err); /* to everything but texts */

/* cast_text.c */
tarn_status tn_cast_text_to_value(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err);
tarn_status tn_cast_value_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err);
tarn_status tn_cast_text_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                 tarn_error *err);
tarn_status tn_cast_to_bytes(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                             tarn_error *err);
tarn_status tn_cast_bytes_to_text(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                  tarn_error *err);
/* Can every value inside the type be written as a text? */
bool tn_cast_has_text(const tn_type *type);
/* Append the text of row i of a flat vector: "[1, null]", "{k -> 1}", "{1, x}", or an atomic's. */
TN_CHECKED tarn_status tn_cast_put_text(const tn_vec *vec, int64_t i, const tn_zone *zone,
                                        tn_buf *out, tarn_error *err);

/* cast_nested.c: ROW, ARRAY and MAP between types of one kind. `live` (may be NULL): rows that
 * count; what the others hold is not cast. */
TN_CHECKED tarn_status tn_cast_nested(tarn_env *env, const tn_vec *in, const uint8_t *live,
                                      const tn_type *to, const char *column, tn_vec *out,
                                      tarn_error *err);

/* cast.c */
TN_CHECKED tarn_status tn_cast_flat(tarn_env *env, const tn_vec *in, const uint8_t *live,
                                    const tn_type *to, const char *column, tn_vec *out,
                                    tarn_error *err);
/* The bitmap of rows that are live and not null; NULL when all are. *buffer is a new reference. */
TN_CHECKED tarn_status tn_cast_live_rows(tarn_env *env, const tn_vec *in, const uint8_t *live,
                                         tn_buffer **buffer, int64_t *null_count, tarn_error *err);

#endif
