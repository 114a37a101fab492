/* thrift.h - Thrift's compact protocol over bytes at hand: footers, page headers, indexes.
 *
 * A reader latches its first fault: every later call gives zero or false, so callers check once at
 * the end (tn_thrift_is_ok). Nothing is allocated; texts are borrowed from the input. Every element
 * of a list takes at least one byte, so counts are bounded by the bytes that remain. Fields of an
 * unexpected type are stepped over, as Thrift's generated code does.
 *
 * Source of the rule: Apache Thrift, "Thrift Compact protocol encoding".
 */
#ifndef TN_FORMAT_PARQUET_THRIFT_H
#define TN_FORMAT_PARQUET_THRIFT_H

#include "base/slice.h"

typedef enum tn_thrift_type {
  TN_THRIFT_STOP = 0,
  TN_THRIFT_TRUE = 1,
  TN_THRIFT_FALSE = 2,
  TN_THRIFT_BYTE = 3,
  TN_THRIFT_I16 = 4,
  TN_THRIFT_I32 = 5,
  TN_THRIFT_I64 = 6,
  TN_THRIFT_DOUBLE = 7,
  TN_THRIFT_BINARY = 8,
  TN_THRIFT_LIST = 9,
  TN_THRIFT_SET = 10,
  TN_THRIFT_MAP = 11,
  TN_THRIFT_STRUCT = 12,
  TN_THRIFT_UUID = 13
} tn_thrift_type;

typedef enum tn_thrift_fault {
  TN_THRIFT_OK = 0,
  TN_THRIFT_SHORT, /* ran past the end: more bytes may help */
  TN_THRIFT_BAD    /* not the compact protocol, or nested too deep */
} tn_thrift_fault;

typedef struct tn_thrift {
  const uint8_t *start, *at, *end;
  tn_thrift_fault fault;
} tn_thrift;

/* A field's header within a struct; start with all zero. */
typedef struct tn_thrift_field {
  int32_t id;
  uint8_t type; /* tn_thrift_type */
} tn_thrift_field;

void tn_thrift_init(tn_thrift *t, tn_slice bytes);
static inline bool tn_thrift_is_ok(const tn_thrift *t) {
  return t->fault == TN_THRIFT_OK;
}
static inline size_t tn_thrift_used(const tn_thrift *t) {
  return (size_t)(t->at - t->start);
}

/* The next field of the struct that is open; false at its end or after a fault. */
bool tn_thrift_next(tn_thrift *t, tn_thrift_field *field);

/* The value of the field that next() gave: true when it has that type; otherwise it is stepped over
 * and *out stays as it was. Integers of any width are taken for i64 and, if they fit, i32. */
bool tn_thrift_i32(tn_thrift *t, const tn_thrift_field *field, int32_t *out);
bool tn_thrift_i64(tn_thrift *t, const tn_thrift_field *field, int64_t *out);
bool tn_thrift_bool(tn_thrift *t, const tn_thrift_field *field, bool *out);
bool tn_thrift_binary(tn_thrift *t, const tn_thrift_field *field, tn_slice *out);
/* true: the field is a struct, whose fields come next. */
bool tn_thrift_open(tn_thrift *t, const tn_thrift_field *field);
/* true: the field is a list of *count elements of *element_type (0 <= count <= bytes left). */
bool tn_thrift_list(tn_thrift *t, const tn_thrift_field *field, uint8_t *element_type,
                    int64_t *count);
/* The same with elements of this type; a list of others is stepped over. */
bool tn_thrift_list_of(tn_thrift *t, const tn_thrift_field *field, uint8_t element_type,
                       int64_t *count);
void tn_thrift_skip(tn_thrift *t, const tn_thrift_field *field);

/* Elements of a list. */
int64_t tn_thrift_element_int(tn_thrift *t); /* I16, I32, I64 */
bool tn_thrift_element_bool(tn_thrift *t);
tn_slice tn_thrift_element_binary(tn_thrift *t);
/* Step over `count` elements. */
void tn_thrift_skip_elements(tn_thrift *t, uint8_t element_type, int64_t count);

#endif
