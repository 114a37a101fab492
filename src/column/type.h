/* type.h - Paimon's data types and fields, and the physical layout each one has in a vector.
 *
 * Types are immutable and live in the arena of whoever made them (a schema, a read type).
 * Rule: docs "Data Types"; org.apache.paimon.types.
 */
#ifndef TN_COLUMN_TYPE_H
#define TN_COLUMN_TYPE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

typedef enum tn_type_root {
  TN_BOOLEAN,
  TN_TINYINT,
  TN_SMALLINT,
  TN_INT,
  TN_BIGINT,
  TN_FLOAT,
  TN_DOUBLE,
  TN_DECIMAL,
  TN_CHAR,
  TN_VARCHAR,
  TN_BINARY,
  TN_VARBINARY,
  TN_DATE,
  TN_TIME,
  TN_TIMESTAMP,     /* without time zone */
  TN_TIMESTAMP_LTZ, /* with local time zone */
  TN_ARRAY,
  TN_MAP,
  TN_MULTISET,
  TN_ROW,
  TN_VARIANT,
  TN_BLOB,
  TN_VECTOR,
  TN_N_TYPE_ROOTS
} tn_type_root;

/* How a value lies in a vector; see vector.h. */
typedef enum tn_layout {
  TN_LAYOUT_BIT,        /* BOOLEAN */
  TN_LAYOUT_I8,         /* TINYINT */
  TN_LAYOUT_I16,        /* SMALLINT */
  TN_LAYOUT_I32,        /* INT, DATE (days), TIME (milliseconds of day) */
  TN_LAYOUT_I64,        /* BIGINT; TIMESTAMP(0-3) milliseconds, (4-6) microseconds since 1970 */
  TN_LAYOUT_F32,        /* FLOAT */
  TN_LAYOUT_F64,        /* DOUBLE */
  TN_LAYOUT_I128,       /* DECIMAL (unscaled); TIMESTAMP(7-9) nanoseconds since 1970 */
  TN_LAYOUT_BYTES,      /* CHAR, VARCHAR (UTF-8), BINARY, VARBINARY, BLOB */
  TN_LAYOUT_LIST,       /* ARRAY: child 0; MAP and MULTISET: child 0 is a STRUCT of key, value */
  TN_LAYOUT_FIXED_LIST, /* VECTOR: child 0 */
  TN_LAYOUT_STRUCT      /* ROW: a child a field; VARIANT: children metadata and value (BYTES) */
} tn_layout;

typedef struct tn_field tn_field;

typedef struct tn_type {
  tn_type_root root;
  bool is_nullable;
  int32_t length;    /* CHAR, VARCHAR, BINARY, VARBINARY, VECTOR; 2147483647: STRING, BYTES */
  int32_t precision; /* DECIMAL, TIME, TIMESTAMP, TIMESTAMP_LTZ */
  int32_t scale;     /* DECIMAL */
  /* ARRAY, VECTOR: 1 (element). MAP: 2 (key, value). MULTISET: 2 (element, count INT NOT NULL).
   * ROW: its fields. Others: 0. Element, key and value have id -1. */
  int32_t n_fields;
  const tn_field *fields;
} tn_type;

struct tn_field {
  int32_t id;
  const char *name; /* UTF-8, NUL-terminated */
  tn_type type;
  const char *description;   /* NULL when absent */
  const char *default_value; /* SQL literal text, NULL when absent; acts on write only */
};

/* Ids of system fields (org.apache.paimon.table.SpecialFields). */
#define TN_FIELD_ID_SEQUENCE_NUMBER 2147483646
#define TN_FIELD_ID_VALUE_KIND 2147483645
#define TN_FIELD_ID_LEVEL 2147483644
#define TN_FIELD_ID_ROWKIND 2147483643
#define TN_FIELD_ID_ROW_ID 2147483642
#define TN_FIELD_ID_KEY_BASE 1073741823

#define TN_MAX_TYPE_DEPTH 64 /* nesting of constructed types that is accepted */

tn_layout tn_type_layout(const tn_type *type);
/* Bytes a value of a fixed layout (I8 .. I128) takes; 0 for the others. */
size_t tn_layout_width(tn_layout layout);
/* Ticks a second of TIMESTAMP(precision) in its layout: 1000, 1000000 or 1000000000. */
int64_t tn_timestamp_ticks(int32_t precision);

/* ROW fields are the same when their ids are (their names, when they have no ids): a renamed field
 * needs no cast. */
bool tn_type_equal(const tn_type *a, const tn_type *b, bool with_nullability);
static inline bool tn_type_is_string(const tn_type *t) {
  return t->root == TN_CHAR || t->root == TN_VARCHAR;
}
static inline bool tn_type_is_bytes(const tn_type *t) {
  return t->root == TN_BINARY || t->root == TN_VARBINARY || t->root == TN_BLOB;
}
static inline bool tn_type_is_integer(const tn_type *t) {
  return t->root >= TN_TINYINT && t->root <= TN_BIGINT;
}
static inline bool tn_type_is_nested(const tn_type *t) {
  return t->root >= TN_ARRAY && t->root <= TN_ROW;
}

/* The JSON form in schema files: an atomic text such as "DECIMAL(10, 2) NOT NULL", or an object.
 * Lenient as Java is (spec: snapshot-schema, "Types"). `where` names file and column.
 * Errors: CORRUPT (not a type), UNSUPPORTED (a type of newer Paimon, by name), LIMIT (depth). */
TN_CHECKED tarn_status tn_type_from_json(tn_arena *arena, const tn_json *json, const char *where,
                                         tn_type *out, tarn_error *err);
/* The SQL form: as above, and ARRAY<T>, MAP<K, V>, MULTISET<T>, ROW<a INT, b STRING>, VECTOR<T, n>.
 * Field ids of ROW are given depth-first from *next_field_id on, a field's own after those inside
 * it (NULL: all -1). Errors: INVALID with the position in the text, UNSUPPORTED, LIMIT (depth). */
TN_CHECKED tarn_status tn_type_from_sql(tn_arena *arena, const char *text, int32_t *next_field_id,
                                        tn_type *out, tarn_error *err);
/* Append the SQL form: "STRING", "ARRAY<INT NOT NULL>", "ROW<`a` INT>", " NOT NULL" at the end. */
TN_CHECKED tarn_status tn_type_to_sql(const tn_type *type, tn_buf *out, tarn_error *err);
/* The SQL form for a message, without NOT NULL of the type itself; a long one is cut.
 * tn_fail(err, ..., "%s", tn_type_text_of(type).text) */
typedef struct tn_type_text {
  char text[256];
} tn_type_text;
tn_type_text tn_type_text_of(const tn_type *type);
/* Append the JSON form that Java writes (compact). */
TN_CHECKED tarn_status tn_type_to_json(const tn_type *type, tn_buf *out, tarn_error *err);

TN_CHECKED tarn_status tn_field_to_json(const tn_field *field, tn_buf *out, tarn_error *err);

/* A deep copy into an arena. */
TN_CHECKED tarn_status tn_type_copy(tn_arena *arena, const tn_type *type, tn_type *out,
                                    tarn_error *err);

/* -1 when absent. Names are compared exactly. */
int32_t tn_fields_find(const tn_field *fields, int32_t n_fields, tn_slice name);
int32_t tn_fields_find_id(const tn_field *fields, int32_t n_fields, int32_t id);

#endif
