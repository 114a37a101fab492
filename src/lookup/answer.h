/* answer.h - what a lookup is made of, and one call of it. Internal. */
#ifndef TN_LOOKUP_ANSWER_H
#define TN_LOOKUP_ANSWER_H

#include "lookup/arrow_rows.h"
#include "lookup/lookup_table.h"
#include "lookup/worker.h"

#define TN_LOOKUP_CHUNK_KEYS 16384 /* keys that are answered at once */

struct tn_lookup {
  tarn_env *env;
  tn_table *table; /* retained */
  tn_arena arena;
  tn_read_context context;
  tn_lookup_layout layout; /* its fields: those of spec.key_fields, then of spec.value_fields */
  tn_merge_spec spec;      /* its output: the wanted columns, then the key */
  bool newest_wins;        /* deduplicate without sequence fields: no merging needed */

  const tn_field *out_fields;
  int32_t n_out;
  int32_t *out_stored; /* which stored column each wanted one is */
  bool *is_wanted;     /* of stored columns */
  bool *is_last_use;   /* of wanted ones: no later one is the same stored column */
  int32_t *stored_out; /* which wanted column each stored one is; -1: none */
  bool is_plain;       /* rows can leave as arrays: no column is wanted twice, or nested */

  tn_field *key_fields; /* of the user's keys */
  int32_t n_key_fields;
  int32_t *key_columns; /* where the columns of the layout's key are among them */
  int32_t
      *partition_columns;  /* where those of the partition are; NULL: not all of them are there */
  int32_t *bucket_columns; /* where those that are hashed are; NULL: likewise */
  const tn_type **bucket_types;

  char *folder;
  int64_t retention_ms;
  tn_lookup_store *store;
  tn_block_cache *cache;
  pthread_mutex_t mutex; /* guards view, idle, n_keys and so on */
  bool has_mutex;
  pthread_mutex_t refresh_mutex; /* one refresh at a time */
  bool has_refresh_mutex;
  tn_files_view *view;
  tn_lookup_worker *idle; /* at most one for each call that ever ran at once */
  int64_t n_drops;        /* of the store, when all that wait let go last */
  int64_t n_keys, n_found, n_merged;
};

/* Answer at most TN_LOOKUP_CHUNK_KEYS keys from the worker's view; as tn_lookup_get(). array: gets
 * the rows in place of the batch, if the lookup is plain; NULL: the batch. */
TN_CHECKED tarn_status tn_lookup_answer(tn_lookup *lookup, tn_lookup_worker *worker,
                                        const tn_batch *keys, tn_batch *batch,
                                        struct ArrowArray *array, int64_t *rows, tarn_error *err);

#endif
