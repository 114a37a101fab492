/* datum.h - one value outside of a vector: literals, partition values, keys, statistics.
 *
 * Only atomic types have datums. The type travels beside it.
 */
#ifndef TN_COLUMN_DATUM_H
#define TN_COLUMN_DATUM_H

#include "column/vector.h"

typedef struct tn_datum {
  bool is_null;
  union {
    bool boolean;
    int64_t i64;    /* TINYINT .. BIGINT, DATE, TIME, TIMESTAMP(0-6) in its ticks */
    double f64;     /* FLOAT (widened; exact) and DOUBLE */
    tn_i128 i128;   /* DECIMAL unscaled; TIMESTAMP(7-9) nanoseconds */
    tn_slice bytes; /* CHAR, VARCHAR, BINARY, VARBINARY, BLOB; borrowed */
  } v;
} tn_datum;

/* Row i of a vector of an atomic type, any encoding. Bytes are borrowed from it. */
tn_datum tn_vec_datum(const tn_vec *vec, int64_t i);
/* Deep copy into an arena; false when out of memory. */
TN_CHECKED bool tn_datum_copy(tn_arena *arena, const tn_type *type, const tn_datum *from,
                              tn_datum *to);
/* A flat vector of length 1. */
TN_CHECKED tarn_status tn_datum_to_vec(tarn_env *env, const tn_type *type, const tn_datum *datum,
                                       tn_vec *out, tarn_error *err);

/* The total order of two non-null values of one type, as filters use it (spec: read, 5):
 * numbers by value; FLOAT and DOUBLE as Double.compare (-0.0 < 0.0, NaN greatest and equal to
 * itself); strings by unsigned bytes; BINARY by *signed* bytes, shorter first (Java 1.4.2);
 * false < true. */
int tn_datum_compare(const tn_type *type, const tn_datum *a, const tn_datum *b);
/* The order of keys in LSM files and of partitions (spec: rows, 5): as above, but BINARY by
 * unsigned bytes. FLOAT and DOUBLE by the order of Java 2.x (docs/decisions/java-deviations.md). */
int tn_datum_compare_key(const tn_type *type, const tn_datum *a, const tn_datum *b);
/* Keys: a value for each of fields[columns[0 .. n)], column after column; nulls first. */
int tn_datum_compare_keys(const tn_field *fields, const int32_t *columns, int32_t n,
                          const tn_datum *a, const tn_datum *b);

/* ------------------------------------------------------------------ text forms */

/* The JSON form of the CLI and of plans (reference README, "Encoding of rows"), appended. Null:
 * "null". Decimals, strings, dates, times and timestamps are JSON strings. */
TN_CHECKED tarn_status tn_datum_to_json(const tn_type *type, const tn_datum *datum, tn_buf *out,
                                        tarn_error *err);
/* Java's cast to STRING of an atomic value (spec: datafiles, 7): "1.0E10", "2024-02-29", ...; LTZ
 * in the zone. Null: "null". */
TN_CHECKED tarn_status tn_datum_to_text(const tn_type *type, const tn_datum *datum,
                                        const tn_zone *zone, tn_buf *out, tarn_error *err);
/* Java's cast from STRING (spec: datafiles, 7; same rules and refusals). bytes are put in arena.
 * Errors: INVALID with the text and type. */
TN_CHECKED tarn_status tn_datum_from_text(tn_arena *arena, const tn_type *type, tn_slice text,
                                          const tn_zone *zone, tn_datum *out, tarn_error *err);

/* Float.toString and Double.toString of JDK 19+; out has room for 32 bytes; returns the length. */
size_t tn_float_to_java(float value, char *out);
size_t tn_double_to_java(double value, char *out);

#endif
