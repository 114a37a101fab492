/* avro_reading.h - Avro files made by hand (avro_maker.h) and read as text: a line a batch,
 * "@<first position> (values of a row) ...", " const" for each column that comes encoded.
 *
 * Include "format/avro/avro.h" before cmocka, which makes a macro of skip.
 */
#ifndef TN_TESTS_UNIT_FORMAT_AVRO_READING_H
#define TN_TESTS_UNIT_FORMAT_AVRO_READING_H

#include "format/avro/avro.h"

#include "unit/format/avro_maker.h"

/* The schema of records with these fields, "name type" each, with ' in place of ". Valid until the
 * next one is made. */
#define AVRO_RECORD(...) avro_record("", (const char *const[]){__VA_ARGS__, NULL}, "")
/* Such a record or null. */
#define AVRO_NULLABLE_RECORD(...) \
  avro_record("[\"null\",", (const char *const[]){__VA_ARGS__, NULL}, "]")
const char *avro_record(const char *before, const char *const *fields, const char *after);

/* One block, one file. */
void avro_one_block(avro_bytes *file, const char *schema, int64_t n, avro_bytes *rows);

/* Fields of which a and b are wanted, and n rows of them. */
#define AVRO_MANY                                                                             \
  "skip1 'int'", "skip2 'long'", "skip3 'double'",                                            \
      "skip4 {'type':'array','items':{'type':'map','values':['null','boolean']}}", "a 'int'", \
      "skip5 ['null','int',{'type':'fixed','name':'F','size':2}]", "skip6 ['string','null']", \
      "b 'string'", "skip7 'F'"
void avro_many_rows(avro_bytes *rows, int n);

/* What a read is to do. */
typedef struct avro_reading {
  const char *path;
  tn_slice bytes;
  const char *const *columns; /* "name type" each; NULL: those that the file has */
  tn_field *fields;           /* in place of columns */
  int32_t n_fields;
  const tn_range *ranges; /* NULL: all rows */
  size_t n_ranges;
  int64_t batch_rows;
  int64_t skip_first; /* rows to step over before the first batch */
  bool allows_encoded;
} avro_reading;

tarn_env *avro_env(void);
/* The fields of q->columns. */
tarn_status avro_columns(const avro_reading *q, tn_arena *arena, tn_field **fields, int32_t *n,
                         tarn_error *err);
tarn_status avro_read_text(tarn_env *env, const avro_reading *q, shown *out, tarn_error *err);
void avro_expect(const avro_reading *q, const char *wanted);
void avro_expect_failure(const avro_reading *q, tarn_status wanted, const char *message);

#endif
