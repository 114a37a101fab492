/* write_thrift.h - writing Thrift's compact protocol: page headers, indexes, footers.
 *
 * A writer latches its first failure: every later call does nothing, so callers check once at the
 * end (tn_thrift_out_end). Fields of a struct are written in ascending order of their ids.
 *
 *   tn_thrift_out t;
 *   tn_thrift_out_begin(&t, &bytes);
 *   tn_thrift_put_int(&t, 1, TN_THRIFT_I32, 7);
 *   tn_thrift_put_struct(&t, 5);
 *   ...
 *   tn_thrift_put_end(&t);
 *   TN_TRY(tn_thrift_out_end(&t, err));
 *
 * Source of the rule: Apache Thrift, "Thrift Compact protocol encoding".
 */
#ifndef TN_FORMAT_PARQUET_WRITE_THRIFT_H
#define TN_FORMAT_PARQUET_WRITE_THRIFT_H

#include "format/parquet/thrift.h"
#include "format/parquet/write_bytes.h"

#define TN_THRIFT_OUT_DEPTH 12 /* structs within structs */

typedef struct tn_thrift_out {
  tn_pq_bytes *to;
  tarn_status status;
  int depth;
  int32_t last_id[TN_THRIFT_OUT_DEPTH]; /* of each open struct */
} tn_thrift_out;

/* Opens the outermost struct, or a list of elements. */
void tn_thrift_out_begin(tn_thrift_out *t, tn_pq_bytes *to);
/* Closes it. NOMEM or LIMIT if something failed on the way. */
TN_CHECKED tarn_status tn_thrift_out_end(tn_thrift_out *t, tarn_error *err);
/* The same without closing: what was put are elements of a list, to be put raw into another. */
TN_CHECKED tarn_status tn_thrift_out_status(const tn_thrift_out *t, tarn_error *err);

void tn_thrift_put_int(tn_thrift_out *t, int32_t id, tn_thrift_type type, int64_t value);
void tn_thrift_put_bool(tn_thrift_out *t, int32_t id, bool value);
void tn_thrift_put_binary(tn_thrift_out *t, int32_t id, tn_slice value);
void tn_thrift_put_struct(tn_thrift_out *t, int32_t id); /* open until tn_thrift_put_end() */
void tn_thrift_put_end(tn_thrift_out *t);
void tn_thrift_put_empty_struct(tn_thrift_out *t, int32_t id);
/* `count` elements follow. */
void tn_thrift_put_list(tn_thrift_out *t, int32_t id, tn_thrift_type type, size_t count);
void tn_thrift_put_int_element(tn_thrift_out *t, int64_t value);
void tn_thrift_put_bool_element(tn_thrift_out *t, bool value);
void tn_thrift_put_binary_element(tn_thrift_out *t, tn_slice value);
void tn_thrift_put_struct_element(tn_thrift_out *t); /* open until tn_thrift_put_end() */
/* What was encoded before, as it is: whole elements of a list. */
void tn_thrift_put_raw(tn_thrift_out *t, tn_slice bytes);
/* A struct that was encoded before, its end in it. */
void tn_thrift_put_raw_struct(tn_thrift_out *t, int32_t id, tn_slice bytes);

#endif
