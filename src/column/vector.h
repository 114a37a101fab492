/* vector.h - a column of values in memory, and batches of columns.
 *
 * A flat vector has Arrow's layout, so that it leaves the library without a copy:
 *
 *   BIT            values: bitmap, LSB first
 *   I8 .. I128     values: little-endian, tn_layout_width() bytes each
 *   BYTES          offsets: int32[length + 1], values: the bytes
 *   LIST           offsets: int32[length + 1] into child 0
 *   FIXED_LIST     child 0 has length * type->length rows
 *   STRUCT         a child a field, each of the same length
 *   valid          bitmap, set = not null; NULL = no nulls. Nulls have any value, but nulls of
 *                  BYTES and LIST are empty ranges.
 *
 * Inside the library, top-level columns may also be *encoded*, to put off or save copies:
 *
 *   TN_VEC_DICT    codes: int32[length] into `dictionary` (a flat vector without nulls; may be
 *                  larger than what is used). `valid` counts, codes of nulls are 0.
 *   TN_VEC_VIEW    (BYTES only) views: tn_view[length] into `retained` buffers; nulls have length
 *                  0. A view may be read 64 bytes past its end, as the slack of buffers allows; so
 *                  a view into anything else is a fault.
 *   TN_VEC_CONST   one value for all rows: `constant` is a flat vector of length 1 (null or not).
 *
 * Children of nested vectors are always flat. Whoever cannot handle an encoding calls
 * tn_vec_flatten() first. There are no slices: row 0 is the first value.
 *
 * The child of a MAP or MULTISET vector has the layout STRUCT and, as there is no type of its own
 * for it, the `type` of the MAP; its children are key and value. The children of VARIANT are of
 * type BYTES NOT NULL. Values are aligned to their width.
 *
 * "out" and "vec" parameters that are filled must be initialised or all zero (never raw memory):
 * what they held is released. After a failure they are all zero (of tn_vec_alloc: empty).
 *
 * A vector owns references to its buffers and owns its children. Not thread-safe while written;
 * immutable vectors may be read by many threads.
 */
#ifndef TN_COLUMN_VECTOR_H
#define TN_COLUMN_VECTOR_H

#include "column/buffer.h"
#include "column/type.h"

typedef enum tn_vec_encoding {
  TN_VEC_FLAT,
  TN_VEC_DICT,
  TN_VEC_VIEW,
  TN_VEC_CONST
} tn_vec_encoding;

typedef struct tn_view {
  const uint8_t *data;
  int64_t len;
} tn_view;

typedef struct tn_vec {
  const tn_type *type; /* borrowed; outlives the vector */
  tn_layout layout;
  tn_vec_encoding encoding;
  int64_t length;
  int64_t null_count; /* exact, 0 without `valid`; counts rows for CONST too */

  tn_buffer *valid_buffer;   /* Arrow's buffers; NULL where the layout has none */
  tn_buffer *offsets_buffer; /* offsets */
  tn_buffer *values_buffer;  /* values, codes or views */

  uint8_t *valid; /* the buffers' data, for short */
  int32_t *offsets;
  void *values; /* also codes (int32_t *) and views (tn_view *) */

  int32_t n_children;
  struct tn_vec *children;

  struct tn_dictionary *dictionary; /* DICT: a reference; shared between batches */
  struct tn_vec *constant;          /* CONST: owned */
  tn_buffer **retained;             /* VIEW: what the views point into; references are owned */
  int32_t n_retained, retained_capacity;
} tn_vec;

/* The values of DICT vectors: flat, without nulls; counted. */
typedef struct tn_dictionary {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_vec values;
} tn_dictionary;

/* Make raw memory an empty vector: no buffers, length 0. For ROW and the like the children are
 * made, too. env is kept in no field: every call that allocates takes it. */
TN_CHECKED tarn_status tn_vec_init(tarn_env *env, const tn_type *type, tn_vec *vec,
                                   tarn_error *err);
/* Release everything; the vector is then all zero. Accepts an all-zero vector. */
void tn_vec_reset(tarn_env *env, tn_vec *vec);
/* Take the content of `from`, which becomes all zero. */
void tn_vec_move(tn_vec *to, tn_vec *from);
/* A second reference to the same content (buffers are retained, children copied likewise). */
TN_CHECKED tarn_status tn_vec_share(tarn_env *env, const tn_vec *from, tn_vec *to, tarn_error *err);
/* Let a vector and its children have another type of the same values, which outlives it. */
void tn_vec_retype(tn_vec *vec, const tn_type *type);

/* Give an initialised vector fresh buffers for `length` rows, flat: values (fixed layouts, BIT),
 * offsets (BYTES, LIST; offsets[0] = 0). No valid bitmap. BYTES also get `n_bytes` of value space.
 * Children are left alone. Previous buffers are released. */
TN_CHECKED tarn_status tn_vec_alloc(tarn_env *env, tn_vec *vec, int64_t length, size_t n_bytes,
                                    tarn_error *err);
/* Give it a valid bitmap with all bits set (or cleared). */
TN_CHECKED tarn_status tn_vec_alloc_valid(tarn_env *env, tn_vec *vec, bool is_valid,
                                          tarn_error *err);

/* All rows null: a CONST vector (top level) or a flat one. */
TN_CHECKED tarn_status tn_vec_init_nulls(tarn_env *env, const tn_type *type, int64_t length,
                                         bool is_flat, tn_vec *vec, tarn_error *err);
/* A DICT vector with room for `length` codes; retains the dictionary. */
TN_CHECKED tarn_status tn_vec_init_dict(tarn_env *env, const tn_type *type, int64_t length,
                                        tn_dictionary *dictionary, tn_vec *vec, tarn_error *err);
TN_CHECKED tarn_status tn_vec_init_views(tarn_env *env, const tn_type *type, int64_t length,
                                         tn_vec *vec, tarn_error *err);
/* `constant` is moved in, on failure released. */
TN_CHECKED tarn_status tn_vec_init_const(tarn_env *env, const tn_type *type, int64_t length,
                                         tn_vec *constant, tn_vec *vec, tarn_error *err);
/* `flat` is moved in, on failure released; refs = 1. */
TN_CHECKED tarn_status tn_dictionary_create(tarn_env *env, tn_vec *flat, tn_dictionary **out,
                                            tarn_error *err);
tn_dictionary *tn_dictionary_retain(tn_dictionary *dictionary);
void tn_dictionary_release(tn_dictionary *dictionary); /* accepts NULL */
/* Keep a buffer alive as long as a VIEW vector. */
TN_CHECKED tarn_status tn_vec_retain_buffer(tarn_env *env, tn_vec *vec, tn_buffer *buffer,
                                            tarn_error *err);

/* Is row i null? Any encoding. */
bool tn_vec_is_null(const tn_vec *vec, int64_t i);
/* The bytes of row i of a BYTES vector, any encoding; empty for null. Borrowed. */
tn_slice tn_vec_bytes(const tn_vec *vec, int64_t i);

/* Make an encoded vector flat, in place. */
TN_CHECKED tarn_status tn_vec_flatten(tarn_env *env, tn_vec *vec, tarn_error *err);

/* Where the rows of a gather come from: row `row` of vector `source`. */
typedef struct tn_row_ref {
  uint32_t source;
  uint32_t row;
} tn_row_ref;

/* out = the rows refs[0..n) of sources[], flat. `out` must be initialised or all zero with the
 * type given; sources may be of any encoding, of the same type. The workhorse of the merge: one
 * copy a value. Errors: NOMEM, LIMIT (more than 2^31-1 bytes of offsets: ask for fewer rows). */
TN_CHECKED tarn_status tn_vec_gather(tarn_env *env, const tn_type *type,
                                     const tn_vec *const *sources, int32_t n_sources,
                                     const tn_row_ref *refs, int64_t n, tn_vec *out,
                                     tarn_error *err);
/* The same from one source: rows rows[0..n). */
TN_CHECKED tarn_status tn_vec_take(tarn_env *env, const tn_vec *source, const uint32_t *rows,
                                   int64_t n, tn_vec *out, tarn_error *err);
/* The rows [begin, begin + n) of one source, flat. */
TN_CHECKED tarn_status tn_vec_copy_range(tarn_env *env, const tn_vec *source, int64_t begin,
                                         int64_t n, tn_vec *out, tarn_error *err);
/* Bytes of value data the rows would take, each list element counted as one more: no offset of the
 * gathered vector is larger. To keep a batch below 2 GiB of offsets. */
int64_t tn_vec_gather_bytes(const tn_vec *const *sources, const tn_row_ref *refs, int64_t n);

/* Check offsets, lengths and validity of a vector that came from outside; CORRUPT otherwise. */
TN_CHECKED tarn_status tn_vec_validate(const tn_vec *vec, tarn_error *err);

/* ------------------------------------------------------------------ batches */

/* Columns of equal length. The fields are borrowed and outlive the batch. */
typedef struct tn_batch {
  int64_t n_rows;
  int32_t n_columns;
  const tn_field *fields;
  tn_vec *columns;
  /* Of row 0 in its physical file; rows are contiguous there. -1: no file. */
  int64_t first_position;
} tn_batch;

/* Into raw memory: no rows, first_position -1. */
TN_CHECKED tarn_status tn_batch_init(tarn_env *env, const tn_field *fields, int32_t n_columns,
                                     tn_batch *batch, tarn_error *err);
void tn_batch_reset(tarn_env *env, tn_batch *batch); /* all zero afterwards */
void tn_batch_clear(tarn_env *env, tn_batch *batch); /* drop the rows, keep the columns' types */
void tn_batch_move(tn_batch *to, tn_batch *from);

/* ------------------------------------------------------------------ row ranges */

/* Sorted, disjoint, non-adjacent ranges [begin, end) of row positions. */
typedef struct tn_range {
  int64_t begin, end;
} tn_range;

typedef struct tn_ranges {
  tn_mem *mem;
  tn_range *items;
  size_t count, capacity;
} tn_ranges;

void tn_ranges_init(tn_ranges *ranges, tn_mem *mem);
void tn_ranges_reset(tn_ranges *ranges);
/* Append behind the last range (begin >= last end); merges with it when adjacent. */
TN_CHECKED tarn_status tn_ranges_add(tn_ranges *ranges, int64_t begin, int64_t end,
                                     tarn_error *err);
/* a = a intersected with b. */
TN_CHECKED tarn_status tn_ranges_intersect(tn_ranges *a, const tn_ranges *b, tarn_error *err);
/* a = a united with b. */
TN_CHECKED tarn_status tn_ranges_unite(tn_ranges *a, const tn_ranges *b, tarn_error *err);
int64_t tn_ranges_rows(const tn_ranges *ranges);

#endif
