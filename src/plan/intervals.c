/* intervals.c - sorted by the least key, cut where a gap is, laid on the run that ends first. */
#include "plan/intervals.h"

#include "base/sort.h"
#include "column/binary_row.h"

int tn_interval_compare(const tn_schema *schema, const tn_datum *a, const tn_datum *b) {
  return tn_datum_compare_keys(schema->fields, schema->key_columns, schema->n_key_columns, a, b);
}

tarn_status tn_interval_key(const tn_schema *schema, tn_slice key, tn_datum *out, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_binary_row_decode(key, "key of a data file", &row, err));
  if (row.arity != schema->n_key_columns) {
    return tn_fail(err, TARN_E_CORRUPT, "a key of %d columns where the table has %d",
                   (int)row.arity, (int)schema->n_key_columns);
  }
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    TN_TRY(tn_binary_row_get(&row, i, &schema->fields[schema->key_columns[i]].type, &out[i], err));
  }
  return TARN_OK;
}

static int by_key_range(void *ctx, const void *a, const void *b) {
  const tn_interval *x = a, *y = b;
  int order = tn_interval_compare(ctx, x->min, y->min);
  return order != 0 ? order : tn_interval_compare(ctx, x->max, y->max);
}

/* ------------------------------------------------------------------ runs */

typedef struct run {
  tn_interval *first, *last;
} run;

static int compare_ends(const tn_schema *schema, const run *a, const run *b) {
  return tn_interval_compare(schema, a->last->max, b->last->max);
}

/* A binary heap of runs by the greatest key of each; steps as java.util.PriorityQueue takes them,
 * so that runs come out in the same order. */
static void heap_offer(const tn_schema *schema, run **heap, int64_t n, run *added) {
  int64_t k = n;
  while (k > 0) {
    int64_t parent = (k - 1) / 2;
    if (compare_ends(schema, added, heap[parent]) >= 0) {
      break;
    }
    heap[k] = heap[parent];
    k = parent;
  }
  heap[k] = added;
}

static run *heap_poll(const tn_schema *schema, run **heap, int64_t n) {
  run *top = heap[0], *last = heap[n - 1];
  int64_t k = 0, size = n - 1;
  while (k < size / 2) {
    int64_t child = 2 * k + 1;
    if (child + 1 < size && compare_ends(schema, heap[child], heap[child + 1]) > 0) {
      child++;
    }
    if (compare_ends(schema, last, heap[child]) <= 0) {
      break;
    }
    heap[k] = heap[child];
    k = child;
  }
  heap[k] = last;
  return top;
}

/* The files of one section; runs and heap have room for n. Returns how many runs there are, which
 * the heap holds. */
static int64_t lay_out(const tn_schema *schema, tn_interval **files, int64_t n, run *runs,
                       run **heap) {
  int64_t n_runs = 0;
  for (int64_t i = 0; i < n; i++) {
    tn_interval *file = files[i];
    run *top = n_runs > 0 ? heap_poll(schema, heap, n_runs) : NULL;
    int64_t n_heap = top != NULL ? n_runs - 1 : 0;
    file->next = NULL;
    if (top != NULL && tn_interval_compare(schema, file->min, top->last->max) > 0) {
      top->last->next = file;
      top->last = file;
    } else {
      runs[n_runs] = (run){file, file};
      heap_offer(schema, heap, n_heap++, &runs[n_runs++]);
    }
    if (top != NULL) {
      heap_offer(schema, heap, n_heap, top);
    }
  }
  return n_runs;
}

/* ------------------------------------------------------------------ sections */

tarn_status tn_intervals_arrange(tn_arena *arena, const tn_schema *schema, tn_interval *items,
                                 int64_t n, tn_interval_section **out, int64_t *n_out,
                                 tarn_error *err) {
  size_t room = (size_t)n + 1;
  tn_interval **files = tn_arena_alloc(arena, room * sizeof(*files));
  tn_interval **firsts = tn_arena_alloc(arena, room * sizeof(*firsts));
  run *runs = tn_arena_alloc(arena, room * sizeof(*runs));
  run **heap = tn_arena_alloc(arena, room * sizeof(*heap));
  tn_interval_section *sections = NULL;
  size_t capacity = 0, count = 0;
  const tn_datum *bound = NULL;
  int64_t begin = 0;
  if (files == NULL || firsts == NULL || runs == NULL || heap == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    files[i] = &items[i];
  }
  tn_sort_stable((const void **)files, (const void **)firsts, n, by_key_range,
                 (void *)(uintptr_t)schema);
  for (int64_t i = 0; i <= n; i++) {
    if (i > begin && (i == n || tn_interval_compare(schema, files[i]->min, bound) > 0)) {
      tn_interval_section s = {firsts + begin, 0, i - begin, files[begin]->min, bound};
      s.n_runs = lay_out(schema, files + begin, i - begin, runs, heap);
      for (int64_t r = 0; r < s.n_runs; r++) {
        s.runs[r] = heap[r]->first;
      }
      if (!tn_arena_grow(arena, (void **)&sections, &capacity, count, sizeof(*sections))) {
        return tn_oom(err);
      }
      sections[count++] = s;
      begin = i;
      bound = NULL;
    }
    if (i < n && (bound == NULL || tn_interval_compare(schema, files[i]->max, bound) > 0)) {
      bound = files[i]->max;
    }
  }
  *out = sections;
  *n_out = (int64_t)count;
  return TARN_OK;
}
