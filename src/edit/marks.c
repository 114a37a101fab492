/* marks.c - new deletion vectors in new index files, and which old ones they replace. */
#include "edit/marks.h"

#include <stdlib.h>
#include <string.h>

#include "commit/index_manifest.h"
#include "datafile/index_place.h"

/* ------------------------------------------------------------------ collecting */

tarn_status tn_marks_add(tn_marks *marks, tarn_env *env, const tn_split *split, tn_slice data_file,
                         tn_dv *dv, tarn_error *err) {
  if (marks->count == marks->capacity) {
    size_t capacity = marks->capacity == 0 ? 16 : 2 * marks->capacity;
    tn_mark *grown = tn_realloc(&env->mem, marks->items, capacity * sizeof(*grown));
    if (grown == NULL) {
      tn_dv_release(dv);
      return tn_oom(err);
    }
    marks->items = grown;
    marks->capacity = capacity;
  }
  marks->items[marks->count++] = (tn_mark){split, data_file, dv};
  return TARN_OK;
}

void tn_marks_reset(tn_marks *marks, tarn_env *env) {
  for (size_t i = 0; i < marks->count; i++) {
    tn_dv_release(marks->items[i].dv);
  }
  tn_free(&env->mem, marks->items);
  memset(marks, 0, sizeof(*marks));
}

/* ------------------------------------------------------------------ one bucket */

typedef struct maker {
  const tn_marks *marks;
  tn_table *table;
  const tn_plan *plan;
  tn_arena *arena; /* of the messages */
  tn_index_list old;
  tn_data_file_names names;
  int64_t target_bytes; /* of an index file; 0: one file */
  tarn_error *err;
} maker;

/* The vectors of the files that are made for one bucket. */
typedef struct vector_list {
  tn_dv_named *items; /* vectors retained */
  size_t count, capacity;
} vector_list;

static bool is_same_bucket(const tn_split *a, const tn_split *b) {
  return a->bucket == b->bucket && tn_slice_equal(a->partition, b->partition);
}

static tarn_status list_vector(maker *m, vector_list *list, tn_slice data_file, tn_dv *dv) {
  if (!tn_arena_grow(m->arena, (void **)&list->items, &list->capacity, list->count,
                     sizeof(*list->items))) {
    return tn_oom(m->err);
  }
  list->items[list->count++] = (tn_dv_named){data_file, tn_dv_retain(dv)};
  return TARN_OK;
}

/* The vectors of an old file that stay as they are. */
static tarn_status keep_vectors(maker *m, const tn_index_entry *e, const tn_map *marked,
                                vector_list *list) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  const char *path;
  TN_TRY(tn_index_file_path(m->table, e, m->arena, &path, m->err));
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    const tn_dv_place place = {path, ranges[i].offset, ranges[i].length,
                               ranges[i].has_cardinality ? ranges[i].cardinality : -1};
    tarn_status st;
    tn_dv *dv;
    if (tn_map_find(marked, ranges[i].data_file) != NULL) {
      continue;
    }
    TN_TRY(tn_dv_load(m->table->env, m->table->storage, &place, &dv, m->err));
    st = list_vector(m, list, ranges[i].data_file, dv);
    tn_dv_release(dv);
    TN_TRY(st);
  }
  return TARN_OK;
}

/* Does a file have a vector that changes, or is it the one of its bucket? */
static bool is_replaced(const maker *m, const tn_index_entry *e, const tn_map *marked) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  if (m->table->facts.bucket_mode != TN_BUCKETS_UNAWARE) {
    return true;
  }
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    if (tn_map_find(marked, ranges[i].data_file) != NULL) {
      return true;
    }
  }
  return false;
}

/* Which old files go (into the message), and what of them stays (into the list). */
static tarn_status replace_old(maker *m, const tn_split *split, const tn_map *marked,
                               tn_commit_message *message, vector_list *list) {
  tn_index_files *gone = &message->deleted_indexes;
  gone->items = tn_arena_calloc(m->arena, m->old.count + 1, sizeof(*gone->items));
  if (gone->items == NULL) {
    return tn_oom(m->err);
  }
  for (size_t i = 0; i < m->old.count; i++) {
    const tn_index_entry *e = &m->old.items[i];
    if (tn_index_is_vectors(e) && e->bucket == split->bucket &&
        tn_slice_equal(e->partition, split->partition) && is_replaced(m, e, marked)) {
      TN_TRY(keep_vectors(m, e, marked, list));
      gone->items[gone->n++] = *e;
    }
  }
  return TARN_OK;
}

static tarn_status write_files(maker *m, const tn_split *split, const vector_list *list,
                               tn_commit_message *message) {
  const tn_index_entry place = {.partition = message->partition, .bucket = split->bucket};
  tn_index_files *made = &message->new_indexes;
  made->items = tn_arena_calloc(m->arena, list->count + 1, sizeof(*made->items));
  return made->items != NULL
             ? tn_index_vectors_write(m->table, &place, &m->names, list->items, list->count,
                                      m->target_bytes, m->arena, made, m->err)
             : tn_oom(m->err);
}

/* The message of the bucket whose marks are [from, to). What was written is in it on failure, too.
 */
static tarn_status make_message(maker *m, size_t from, size_t to, tn_commit_message *message) {
  const tn_split *split = m->marks->items[from].split;
  vector_list list = {NULL, 0, 0};
  tn_map marked;
  tarn_status st = TARN_OK;
  *message = (tn_commit_message){.bucket = split->bucket,
                                 .has_total_buckets = split->has_total_buckets,
                                 .total_buckets = split->total_buckets};
  tn_map_init(&marked, &m->table->env->mem);
  if (!tn_arena_slice(m->arena, split->partition, &message->partition)) {
    TN_TRY_TO(done, tn_oom(m->err));
  }
  for (size_t i = from; i < to; i++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&marked, m->marks->items[i].data_file, &slot, NULL, m->err));
  }
  TN_TRY_TO(done, replace_old(m, split, &marked, message, &list));
  for (size_t i = from; i < to; i++) {
    const tn_mark *mark = &m->marks->items[i];
    TN_TRY_TO(done, list_vector(m, &list, mark->data_file, mark->dv));
  }
  TN_TRY_TO(done, write_files(m, split, &list, message));
done:
  for (size_t i = 0; i < list.count; i++) {
    tn_dv_release((tn_dv *)list.items[i].dv);
  }
  tn_map_reset(&marked);
  return st;
}

/* ------------------------------------------------------------------ all */

static int compare_bytes(tn_slice a, tn_slice b) {
  size_t n = a.len < b.len ? a.len : b.len;
  int order = n > 0 ? memcmp(a.data, b.data, n) : 0;
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Splits of one bucket need not follow each other: their marks are put together. */
static int compare_marks(const void *left, const void *right) {
  const tn_mark *a = left, *b = right;
  int order = compare_bytes(a->split->partition, b->split->partition);
  if (order == 0) {
    order = (a->split->bucket > b->split->bucket) - (a->split->bucket < b->split->bucket);
  }
  return order != 0 ? order : compare_bytes(a->data_file, b->data_file);
}

void tn_marks_remove(tn_table *table, const tn_commit_message *messages, int32_t n_messages) {
  for (int32_t i = 0; i < n_messages; i++) {
    tn_index_files_remove(table, &messages[i].new_indexes);
  }
}

tarn_status tn_marks_write(const tn_marks *marks, tn_table *table, const tn_plan *plan,
                           tn_arena *arena, tn_commit_message *messages, int32_t *n_messages,
                           tarn_error *err) {
  maker m = {.marks = marks, .table = table, .plan = plan, .arena = arena, .err = err};
  tarn_status st = TARN_OK;
  *n_messages = 0;
  if (marks->count == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_index_list_read(table, plan->snapshot.index_manifest, arena, &m.old, err));
  if (table->facts.bucket_mode == TN_BUCKETS_UNAWARE) {
    TN_TRY(tn_options_int(&table->options, "deletion-vector.index-file.target-size",
                          &m.target_bytes, NULL, err));
  }
  qsort(marks->items, marks->count, sizeof(*marks->items), compare_marks);
  for (size_t from = 0, to; from < marks->count && st == TARN_OK; from = to) {
    for (to = from + 1;
         to < marks->count && is_same_bucket(marks->items[from].split, marks->items[to].split);
         to++) {
    }
    st = make_message(&m, from, to, &messages[(*n_messages)++]);
  }
  if (st != TARN_OK) {
    tn_marks_remove(table, messages, *n_messages);
    *n_messages = 0;
  }
  return st;
}
