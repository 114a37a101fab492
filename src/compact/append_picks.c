/* append_picks.c - windows over a bucket's queue, and bins of small files.
 */
#include "compact/append_picks.h"

#include "base/checked.h"
#include "base/sort.h"

#define FULL_MIN_FILES 3 /* fewer files are not worth a full compaction */
#define COMPACT_AGE 5    /* tries without a pick, then what waits goes as it is */
#define REMOVE_AGE 10    /* tries without a pick, then the partition is forgotten */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int64_t add_sizes(int64_t a, int64_t b) {
  int64_t sum;
  return tn_add_i64(a, b > 0 ? b : 0, &sum) ? sum : INT64_MAX;
}

/* An output file is full: two of them could be written. */
static bool is_enough(const tn_compact_options *o, int64_t bytes) {
  return bytes >= add_sizes(o->target_file_bytes, o->target_file_bytes);
}

static bool is_small(const tn_compact_options *o, const tn_data_file *file) {
  return file->file_size < o->small_file_bytes;
}

/* ------------------------------------------------------------------ a bucket */

void tn_append_queue_init(tn_append_queue *queue, tn_mem *mem, const tn_compact_options *options) {
  *queue = (tn_append_queue){.mem = mem, .options = options};
}

void tn_append_queue_free(tn_append_queue *queue) {
  if (queue != NULL && queue->mem != NULL) {
    tn_free(queue->mem, queue->files);
    queue->files = NULL;
    queue->n_files = queue->room = 0;
  }
}

static int by_sequence(void *ctx, const void *a, const void *b) {
  const tn_data_file *x = a, *y = b;
  (void)ctx;
  return COMPARE(x->min_sequence, y->min_sequence);
}

tarn_status tn_append_queue_add(tn_append_queue *queue, const tn_data_file *const *files,
                                int64_t n_files, tarn_error *err) {
  int64_t n = queue->n_files + n_files;
  if (n > queue->room) { /* the second half is for sorting */
    int64_t room = n + n / 2 + 8;
    const tn_data_file **grown =
        tn_realloc(queue->mem, queue->files, 2 * (size_t)room * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    queue->files = grown;
    queue->room = room;
  }
  if (n == 0) { /* there may be no array */
    return TARN_OK;
  }
  for (int64_t i = 0; i < n_files; i++) {
    queue->files[queue->n_files + i] = files[i];
  }
  queue->n_files = n;
  tn_sort_stable((const void **)queue->files, (const void **)(queue->files + queue->room), n,
                 by_sequence, NULL);
  return TARN_OK;
}

/* n files from `begin` on go out; nothing in front of begin + n stays in the queue. */
static tarn_status take(tn_append_queue *queue, int64_t begin, int64_t n, tn_arena *arena,
                        tn_file_list *out, tarn_error *err) {
  int64_t left = queue->n_files - begin - n;
  out->files = tn_arena_alloc(arena, (size_t)n * sizeof(*out->files));
  if (out->files == NULL) {
    return tn_oom(err);
  }
  memcpy(out->files, queue->files + begin, (size_t)n * sizeof(*out->files));
  memmove(queue->files, queue->files + begin + n, (size_t)left * sizeof(*queue->files));
  out->n_files = n;
  queue->n_files = left;
  return TARN_OK;
}

tarn_status tn_append_queue_pick(tn_append_queue *queue, tn_arena *arena, tn_file_list *out,
                                 tarn_error *err) {
  const tn_compact_options *o = queue->options;
  int64_t begin = 0, end = 0, bytes = 0;
  *out = (tn_file_list){NULL, 0};
  if (queue->n_files == 0) {
    return TARN_OK;
  }
  while (end < queue->n_files) {
    bytes = add_sizes(bytes, queue->files[end++]->file_size);
    if (end - begin >= o->append_min_files) {
      return take(queue, begin, end - begin, arena, out, err);
    }
    if (is_enough(o, bytes)) { /* too much for so few files: the oldest one stays as it is */
      int64_t size = queue->files[begin++]->file_size;
      bytes -= size > 0 ? size : 0;
    }
  }
  memmove(queue->files, queue->files + begin, (size_t)(end - begin) * sizeof(*queue->files));
  queue->n_files = end - begin;
  return TARN_OK;
}

tarn_status tn_append_queue_pick_full(tn_append_queue *queue, tn_has_vector has_vector, void *ctx,
                                      tn_arena *arena, tn_file_list *out, tarn_error *err) {
  const tn_compact_options *o = queue->options;
  bool is_forced = o->force_rewrite_all_files;
  int64_t begin = 0, n_small = 0, n;
  *out = (tn_file_list){NULL, 0};
  if (queue->n_files == 0 ||
      (!is_forced && has_vector == NULL && queue->n_files < FULL_MIN_FILES)) {
    return TARN_OK;
  }
  while (!is_forced && begin < queue->n_files && !is_small(o, queue->files[begin]) &&
         (has_vector == NULL || !has_vector(ctx, queue->files[begin]))) {
    begin++;
  }
  n = queue->n_files - begin;
  for (int64_t i = begin; i < queue->n_files; i++) {
    n_small += is_small(o, queue->files[i]);
  }
  if (n > 0 &&
      (is_forced || has_vector != NULL || (n_small > n - n_small && n >= FULL_MIN_FILES))) {
    return take(queue, begin, n, arena, out, err);
  }
  queue->n_files = 0;
  return TARN_OK;
}

tarn_status tn_append_queue_done(tn_append_queue *queue, const tn_data_file *const *after,
                                 int64_t n_after, tarn_error *err) {
  if (n_after > 0 && is_small(queue->options, after[n_after - 1])) {
    return tn_append_queue_add(queue, &after[n_after - 1], 1, err);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ a partition without buckets */

bool tn_small_file_is_one(const tn_compact_options *options, const tn_small_file *file) {
  return is_small(options, file->file) ||
         (file->index_file.len > 0 &&
          (!file->has_cardinality ||
           (double)file->cardinality > (double)file->file->row_count * options->delete_ratio));
}

void tn_small_files_init(tn_small_files *small, tn_mem *mem, const tn_compact_options *options) {
  *small = (tn_small_files){.mem = mem, .options = options};
}

void tn_small_files_free(tn_small_files *small) {
  if (small != NULL && small->mem != NULL) {
    tn_free(small->mem, small->files);
    small->files = NULL;
    small->n_files = small->room = 0;
  }
}

tarn_status tn_small_files_add(tn_small_files *small, const tn_small_file *files, int64_t n_files,
                               tarn_error *err) {
  int64_t n = small->n_files + n_files;
  if (n > small->room) {
    int64_t room = n + n / 2 + 8;
    tn_small_file *grown = tn_realloc(small->mem, small->files, (size_t)room * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    small->files = grown;
    small->room = room;
  }
  for (int64_t i = 0; i < n_files; i++) {
    if (tn_small_file_is_one(small->options, &files[i])) {
      small->files[small->n_files++] = files[i];
    }
  }
  small->age = 0;
  return TARN_OK;
}

/* Files that one index file covers go together; a file without one is a group of its own. */
typedef struct group {
  int64_t *files; /* indexes into those of the state */
  int64_t n_files;
  int64_t bytes; /* without the cost of opening */
  int64_t at;    /* of the first one: groups of equal sizes keep the order of arrival */
} group;

typedef struct packer {
  const tn_small_files *small;
  tn_arena *arena;
  bool *is_taken; /* of each file */
  tn_file_list *tasks;
  size_t n_tasks, task_room;
  /* The bin that is filled. */
  int64_t *bin;
  int64_t n_bin, weight;
} packer;

/* The bin's files become a task. */
static tarn_status drain(packer *p, tarn_error *err) {
  tn_file_list task = {tn_arena_alloc(p->arena, (size_t)p->n_bin * sizeof(*task.files)), p->n_bin};
  if (task.files == NULL ||
      !tn_arena_grow(p->arena, (void **)&p->tasks, &p->task_room, p->n_tasks, sizeof(*p->tasks))) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < p->n_bin; i++) {
    task.files[i] = p->small->files[p->bin[i]].file;
    p->is_taken[p->bin[i]] = true;
  }
  p->tasks[p->n_tasks++] = task;
  p->n_bin = p->weight = 0;
  return TARN_OK;
}

static int by_size(void *ctx, const void *a, const void *b) {
  const group *x = a, *y = b;
  (void)ctx;
  return x->bytes != y->bytes ? COMPARE(x->bytes, y->bytes) : COMPARE(x->at, y->at);
}

/* Put groups into bins, the smallest first; what remains is a task when it has min_rest files. */
static tarn_status pack(packer *p, group *groups, int64_t n, int64_t min_rest, tarn_error *err) {
  const tn_compact_options *o = p->small->options;
  const group **order = tn_arena_alloc(p->arena, 2 * ((size_t)n + 1) * sizeof(*order));
  if (order == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    order[i] = &groups[i];
  }
  tn_sort_stable((const void **)order, (const void **)(order + n), n, by_size, NULL);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < order[i]->n_files; k++) {
      p->bin[p->n_bin++] = order[i]->files[k];
      p->weight = add_sizes(p->weight, o->open_file_bytes);
    }
    p->weight = add_sizes(p->weight, order[i]->bytes);
    if (p->n_bin > 1 && is_enough(o, p->weight)) {
      TN_TRY(drain(p, err));
    }
  }
  if (p->n_bin > 0 && p->n_bin >= min_rest) {
    TN_TRY(drain(p, err));
  }
  p->n_bin = p->weight = 0;
  return TARN_OK;
}

static int by_index_file(void *ctx, const void *a, const void *b) {
  const tn_small_file *x = a, *y = b;
  (void)ctx;
  return tn_slice_compare(x->index_file, y->index_file);
}

/* Groups of the files with a deletion vector (is_covered), or of each file without one. */
static tarn_status make_groups(const packer *p, bool is_covered, group **out, int64_t *n_out,
                               tarn_error *err) {
  const tn_small_files *small = p->small;
  size_t room = (size_t)small->n_files + 1;
  group *groups = tn_arena_calloc(p->arena, room, sizeof(*groups));
  int64_t *indexes = tn_arena_alloc(p->arena, room * sizeof(*indexes));
  const tn_small_file **order = tn_arena_alloc(p->arena, 2 * room * sizeof(*order));
  int64_t n = 0, n_groups = 0;
  if (groups == NULL || indexes == NULL || order == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < small->n_files; i++) {
    if ((small->files[i].index_file.len > 0) == is_covered) {
      order[n++] = &small->files[i];
    }
  }
  if (is_covered) {
    tn_sort_stable((const void **)order, (const void **)(order + room), n, by_index_file, NULL);
  }
  for (int64_t i = 0; i < n; i++) {
    group *g;
    indexes[i] = order[i] - small->files;
    if (i == 0 || !is_covered || by_index_file(NULL, order[i - 1], order[i]) != 0) {
      groups[n_groups++] = (group){indexes + i, 0, 0, indexes[i]};
    }
    g = &groups[n_groups - 1];
    g->n_files++;
    g->bytes = add_sizes(g->bytes, order[i]->file->file_size);
  }
  *out = groups;
  *n_out = n_groups;
  return TARN_OK;
}

/* The state loses the files of the tasks. */
static void remove_taken(tn_small_files *small, const bool *is_taken) {
  int64_t n = 0;
  for (int64_t i = 0; i < small->n_files; i++) {
    if (!is_taken[i]) {
      small->files[n++] = small->files[i];
    }
  }
  small->n_files = n;
}

tarn_status tn_small_files_pick(tn_small_files *small, tn_arena *arena, tn_file_list **tasks,
                                int64_t *n_tasks, tarn_error *err) {
  size_t room = (size_t)small->n_files + 1;
  packer p = {.small = small, .arena = arena};
  group *covered, *plain;
  int64_t n_covered, n_plain, min_rest = small->options->append_min_files;
  *tasks = NULL;
  *n_tasks = 0;
  p.is_taken = tn_arena_calloc(arena, room, sizeof(*p.is_taken));
  p.bin = tn_arena_alloc(arena, room * sizeof(*p.bin));
  if (p.is_taken == NULL || p.bin == NULL) {
    return tn_oom(err);
  }
  TN_TRY(make_groups(&p, true, &covered, &n_covered, err));
  TN_TRY(make_groups(&p, false, &plain, &n_plain, err));
  TN_TRY(pack(&p, covered, n_covered, 1, err));
  if (n_plain > 1) { /* one file alone would only be copied */
    TN_TRY(pack(&p, plain, n_plain, min_rest > 2 ? min_rest : 2, err));
  }
  if (p.n_tasks == 0 && ++small->age > COMPACT_AGE && small->n_files > 1) {
    for (; p.n_bin < small->n_files; p.n_bin++) {
      p.bin[p.n_bin] = p.n_bin;
    }
    TN_TRY(drain(&p, err));
  }
  remove_taken(small, p.is_taken);
  *tasks = p.tasks;
  *n_tasks = (int64_t)p.n_tasks;
  return TARN_OK;
}

bool tn_small_files_is_done(const tn_small_files *small) {
  return small->n_files == 0 || small->age > REMOVE_AGE;
}
