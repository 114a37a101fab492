/* index_maker.h - containers of file indexes, the columns they are of, and questions about them.
 */
#ifndef TN_TESTS_INDEX_MAKER_H
#define TN_TESTS_INDEX_MAKER_H

#include "index/file_index.h"
#include "support/test.h"

#define JAVA_ROWS 400
#define JAVA_VALUES 100

/* A container that Java wrote (data/MakeFileIndexes.java), with the one column "c". */
typedef struct java_index {
  char type_text[32]; /* "INT" */
  char kind[16];      /* "bitmap" */
  bool is_null;       /* every row has null */
  tn_slice container;
} java_index;

/* All of them; the bytes live as long as the program. */
const java_index *java_indexes(size_t *n);
/* The only index in a container. */
const java_index *java_index_of(const char *type_text, const char *kind);

/* The value of a row in these containers. Texts live as long as the program. */
tn_datum java_value(const tn_type *type, int64_t row);
/* The value number d, 0 <= d < JAVA_VALUES. */
tn_datum java_distinct(const tn_type *type, int64_t d);

/* A field with id 7 and name "c"; types live as long as the program. */
tn_field column_of(const char *type_text);

/* A container of parts that are put together: column, kind, payload. `n_filler` zero bytes lie
 * between head and payloads. data NULL: an empty index. Malloc'ed. */
typedef struct made_part {
  const char *column; /* NULL: the same as the last one */
  const char *kind;
  tn_slice payload;
} made_part;
uint8_t *make_container(const made_part *parts, size_t n, size_t n_filler, size_t *n_bytes);
/* A container with the bitmap index (version 1) of an INT column: "7,1,null,7", in the arena. */
tn_slice make_bitmap_of(tn_arena *arena, const char *column, const char *values);
/* The payload of the first index of a container. */
tn_slice first_payload(tarn_env *env, tn_slice container);

#endif
