/* record.h - reading files of records (manifests) straight into C structs.
 *
 * A table of tn_record_field tells which fields of the file go where in a struct. Fields are
 * matched by name at every level; missing ones leave zero and their presence flag false; others
 * are skipped. A format room gives a tn_record_read_fn; model/ brings the tables. So neither
 * knows the other.
 */
#ifndef TN_COLUMN_RECORD_H
#define TN_COLUMN_RECORD_H

#include "base/arena.h"
#include "base/env.h"

typedef enum tn_record_kind {
  TN_RECORD_INT,    /* int32_t; from int */
  TN_RECORD_LONG,   /* int64_t; from int or long (timestamp-millis too) */
  TN_RECORD_TEXT,   /* tn_slice, from string */
  TN_RECORD_BYTES,  /* tn_slice, from bytes */
  TN_RECORD_STRUCT, /* a nested struct in place */
  TN_RECORD_TEXTS,  /* tn_record_array of tn_slice */
  TN_RECORD_LONGS,  /* tn_record_array of int64_t; null items are INT64_MIN */
  TN_RECORD_INTS,   /* tn_record_array of int32_t */
  TN_RECORD_STRUCTS /* tn_record_array of structs */
} tn_record_kind;

/* An array of a record; lives as long as the slices (see tn_record_sink). */
typedef struct tn_record_array {
  void *items;
  int64_t count;
} tn_record_array;

#define TN_RECORD_NO_FLAG SIZE_MAX

typedef struct tn_record_field {
  const char *name;
  tn_record_kind kind;
  size_t offset;      /* of the target in its struct */
  size_t flag_offset; /* of a bool: present and not null; TN_RECORD_NO_FLAG: null is CORRUPT */
  const struct tn_record_field *fields; /* STRUCT, STRUCTS */
  int32_t n_fields;
  size_t struct_bytes; /* STRUCTS: size of an element */
} tn_record_field;

/* Called for each record. Slices and arrays in it are valid during the call only. */
typedef tarn_status (*tn_record_sink)(void *ctx, const void *record, tarn_error *err);

/* Read a whole file of records held in memory; `record` is a zeroed struct of record_bytes that
 * is reused. `path` for messages. Errors: CORRUPT (path, offset), UNSUPPORTED (codec), the sink's.
 */
typedef tarn_status (*tn_record_read_fn)(tarn_env *env, tn_slice file, const char *path,
                                         const tn_record_field *fields, int32_t n_fields,
                                         size_t record_bytes, tn_record_sink sink, void *ctx,
                                         tarn_error *err);

/* The readers of manifests, by the first bytes of the file; made by plan/ from the format rooms. */
typedef struct tn_record_readers {
  tn_record_read_fn avro;    /* "Obj\x01" */
  tn_record_read_fn parquet; /* "PAR1"; NULL: refused by name */
} tn_record_readers;

/* ------------------------------------------------------------------ writing
 *
 * The same tables the other way: structs become records of a file with a given schema. Fields whose
 * flag is false are null. */

/* A file of records under construction; grows in memory, so that its size is known. */
typedef struct tn_record_writer tn_record_writer;

typedef struct tn_record_writer_ops {
  /* schema_json: the writer's Avro schema, whose fields are matched with the table's by name: those
   * that the table lacks are null. compression: "zstd", "snappy", "null" ... */
  tarn_status (*create)(tarn_env *env, const char *schema_json, const char *compression,
                        const tn_record_field *fields, int32_t n_fields, tn_record_writer **out,
                        tarn_error *err);
  tarn_status (*add)(tn_record_writer *writer, const void *record, tarn_error *err);
  /* Bytes so far, the open block not yet compressed. */
  int64_t (*size)(const tn_record_writer *writer);
  /* The whole file; valid until the writer is freed. */
  tarn_status (*finish)(tn_record_writer *writer, tn_slice *file, tarn_error *err);
  void (*free)(tn_record_writer *writer);
} tn_record_writer_ops;

#endif
