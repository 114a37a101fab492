/* file.h - an opened Parquet file: its footer, kept in the environment's cache, and its indexes.
 *
 * The footer is parsed once a file (key: path and size) and shared by all readers and threads.
 */
#ifndef TN_FORMAT_PARQUET_FILE_H
#define TN_FORMAT_PARQUET_FILE_H

#include "format/format.h"
#include "format/parquet/page.h"

/* A parsed footer: counted, immutable. */
typedef struct tn_pq_meta {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_arena arena;       /* holds the footer's bytes, too */
  size_t charged_bytes; /* of the budget; small footers are charged by the cache alone */
  tn_pq_footer footer;
  tn_pq_schema schema;
  int64_t data_end;       /* where the footer begins */
  bool is_old_writer;     /* PARQUET-816: chunk lengths may leave out a dictionary header */
  bool has_nan_in_bounds; /* a NaN is the greatest value of float bounds, not left out of them */
} tn_pq_meta;

typedef struct tn_pq_file {
  tn_format_file base;
  tn_pq_meta *meta;
} tn_pq_file;

static inline tn_pq_file *tn_pq_file_of(tn_format_file *file) {
  return TN_CONTAINER_OF(file, tn_pq_file, base);
}

/* Open a file whose footer is read once and no more, past the cache. Errors: as of open(). */
TN_CHECKED tarn_status tn_pq_file_open_once(tarn_env *env, tn_file *file, tn_format_file **out,
                                            tarn_error *err);

/* A leaf's dotted path, for messages. */
static inline const char *tn_pq_leaf_path(const tn_pq_file *file, int32_t leaf) {
  return file->meta->schema.leaf_paths[leaf];
}

/* Where the column indexes and offset indexes of some chunks lie: read together when they are
 * close. Start with all zero. */
typedef struct tn_pq_index_bytes {
  int64_t begin;
  tn_slice bytes; /* in the arena */
} tn_pq_index_bytes;

typedef enum tn_pq_index_kind { TN_PQ_OFFSET_INDEX, TN_PQ_COLUMN_INDEX } tn_pq_index_kind;

bool tn_pq_chunk_has_index(const tn_pq_chunk *chunk, tn_pq_index_kind kind);
/* Read the indexes of these leaves at once if that costs little more than reading each. */
TN_CHECKED tarn_status tn_pq_indexes_prefetch(const tn_pq_file *file, const tn_pq_row_group *group,
                                              const int32_t *leaves, int32_t n_leaves,
                                              bool with_column_index, tn_arena *arena,
                                              tn_pq_index_bytes *out, tarn_error *err);
/* Errors: CORRUPT, IO, NOMEM. The chunk has an index. */
TN_CHECKED tarn_status tn_pq_offset_index_load(const tn_pq_file *file, const tn_pq_row_group *group,
                                               int32_t leaf, tn_arena *arena,
                                               const tn_pq_index_bytes *at_hand,
                                               tn_pq_offset_index *out, tarn_error *err);
TN_CHECKED tarn_status tn_pq_column_index_load(const tn_pq_file *file, const tn_pq_row_group *group,
                                               int32_t leaf, tn_arena *arena,
                                               const tn_pq_index_bytes *at_hand,
                                               tn_pq_column_index *out, tarn_error *err);

/* The calls of the format's table that have files of their own. */
tarn_status tn_pq_prune(tn_format_file *file, const tn_field *fields, int32_t n_fields,
                        const tn_pred *pred, tn_ranges *ranges, tarn_error *err);
tarn_status tn_pq_read(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                       tarn_error *err);
tarn_status tn_pq_inspect(tn_format_file *file, tn_buf *out, tarn_error *err);

#endif
