/* evolved_picks.c - rows whose files stand side by side, put in line. */
#include "dedicated/evolved_picks.h"

#include "base/sort.h"
#include "plan/evolution.h"

/* Rows whose files stand together. */
typedef struct row_group {
  int64_t first, last;
  int64_t begin, n_data, n_apart; /* their files, in `order` below: data files first */
  int64_t weight, n_bytes;
  bool is_uneven;  /* data files hold different rows */
  bool is_lone;    /* does not come together with others */
  bool is_skipped; /* nor with itself */
} row_group;

typedef struct picking {
  const tn_evolved_rules *rules;
  const tn_data_file *files;
  const bool *stays;
  tn_arena *arena;
  tarn_error *err;
  tn_row_span *spans;
  int64_t *order; /* numbers of files, group by group */
  const void **sorted, **scratch;
  row_group *groups;
  int64_t n_groups;
  tn_evolved_task *tasks;
  size_t n_tasks, task_room;
} picking;

static bool is_apart(const tn_data_file *file) {
  return tn_is_blob_file(file->file_name) || tn_is_vector_file(file->file_name);
}

/* ------------------------------------------------------------------ files that stand apart */

/* Files of BLOBs are one column's where they have the schema and the columns in common. */
static int compare_kinds(const tn_data_file *a, const tn_data_file *b) {
  const tn_slice *x = a->write_cols.items, *y = b->write_cols.items;
  int64_t n = a->has_write_cols ? a->write_cols.count : 0;
  int64_t m = b->has_write_cols ? b->write_cols.count : 0;
  if (a->schema_id != b->schema_id) {
    return a->schema_id < b->schema_id ? -1 : 1;
  }
  for (int64_t i = 0; i < n && i < m; i++) {
    int c = tn_slice_compare(x[i], y[i]);
    if (c != 0) {
      return c;
    }
  }
  return (n > m) - (n < m);
}

static int by_kind(void *ctx, const void *a, const void *b) {
  const tn_row_span *x = a, *y = b;
  const picking *p = ctx;
  int c = compare_kinds(&p->files[x->file], &p->files[y->file]);
  return c != 0 ? c : (x->first > y->first) - (x->first < y->first);
}

static bool is_same_kind(const tn_data_file *a, const tn_data_file *b) {
  return compare_kinds(a, b) == 0;
}

/* Those of each kind have to cover all rows. spans: of the group's files that stand apart. */
static void look_apart(picking *p, row_group *g, const tn_row_span *spans) {
  const tn_row_span *before = NULL;
  int64_t next = g->last + 1; /* the first row that those of the kind so far do not cover */
  for (int64_t i = 0; i < g->n_apart; i++) {
    p->sorted[i] = &spans[i];
    g->is_skipped |= spans[i].first < g->first || spans[i].last > g->last;
    g->is_lone |= tn_is_vector_file(p->files[spans[i].file].file_name);
  }
  tn_sort_stable(p->sorted, p->scratch, g->n_apart, by_kind, p);
  for (int64_t i = 0; i < g->n_apart; i++) {
    const tn_row_span *span = p->sorted[i];
    if (before == NULL || !is_same_kind(&p->files[before->file], &p->files[span->file])) {
      g->is_lone |= next <= g->last;
      next = g->first;
    }
    g->is_lone |= span->first > next;
    next = span->last + 1 > next ? span->last + 1 : next;
    p->order[g->begin + g->n_data + i] = span->file;
    before = span;
  }
  g->is_lone |= next <= g->last;
}

/* The first file of another kind. */
static const int64_t *skip_kind(const picking *p, const int64_t *at, const int64_t *end) {
  const tn_data_file *file = &p->files[*at];
  do {
    at++;
  } while (at < end && is_same_kind(file, &p->files[*at]));
  return at;
}

/* Have two groups the same kinds of files apart? */
static bool match_apart(const picking *p, const row_group *a, const row_group *b) {
  const int64_t *x = p->order + a->begin + a->n_data, *y = p->order + b->begin + b->n_data;
  const int64_t *x_end = x + a->n_apart, *y_end = y + b->n_apart;
  while (x < x_end && y < y_end && is_same_kind(&p->files[*x], &p->files[*y])) {
    x = skip_kind(p, x, x_end);
    y = skip_kind(p, y, y_end);
  }
  return x == x_end && y == y_end;
}

/* ------------------------------------------------------------------ groups */

static int64_t at_least(int64_t value, int64_t least) {
  return value > least ? value : least;
}

static int64_t add_capped(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* spans: of the group, n of them. */
static void make_group(picking *p, int64_t begin, int64_t n, row_group *g) {
  tn_row_span *spans = p->spans + begin;
  int64_t kept = 0;
  bool stays = false;
  *g = (row_group){.first = INT64_MAX, .last = -1, .begin = begin};
  for (int64_t i = 0; i < n; i++) { /* data files first */
    if (!is_apart(&p->files[spans[i].file])) {
      tn_row_span span = spans[i];
      spans[i] = spans[kept];
      spans[kept++] = span;
    }
  }
  g->n_data = kept;
  g->n_apart = n - kept;
  for (int64_t i = 0; i < kept; i++) {
    const tn_data_file *file = &p->files[spans[i].file];
    p->order[begin + i] = spans[i].file;
    stays |= p->stays != NULL && p->stays[spans[i].file];
    g->is_uneven |= i > 0 && (spans[i].first != spans[0].first || spans[i].last != spans[0].last);
    g->first = spans[i].first < g->first ? spans[i].first : g->first;
    g->last = spans[i].last > g->last ? spans[i].last : g->last;
    g->weight = add_capped(g->weight, at_least(file->file_size, p->rules->open_bytes));
    g->n_bytes = add_capped(g->n_bytes, file->file_size);
  }
  g->is_skipped = kept == 0 || spans[0].first < 0 || stays;
  if (!g->is_skipped) {
    look_apart(p, g, spans + kept);
  }
}

static tarn_status make_groups(picking *p, int64_t n) {
  size_t room = (size_t)n + 1;
  int64_t *begins;
  p->spans = tn_arena_calloc(p->arena, room, sizeof(*p->spans));
  p->order = tn_arena_calloc(p->arena, room, sizeof(*p->order));
  p->sorted = tn_arena_calloc(p->arena, room, sizeof(*p->sorted));
  p->scratch = tn_arena_calloc(p->arena, room, sizeof(*p->scratch));
  if (p->spans == NULL || p->order == NULL || p->sorted == NULL || p->scratch == NULL) {
    return tn_oom(p->err);
  }
  for (int64_t i = 0; i < n; i++) {
    tn_row_span_of(&p->files[i], i, &p->spans[i]);
  }
  TN_TRY(tn_row_spans_group(p->arena, p->spans, n, &begins, &p->n_groups, p->err));
  p->groups = tn_arena_calloc(p->arena, (size_t)p->n_groups + 1, sizeof(*p->groups));
  if (p->groups == NULL) {
    return tn_oom(p->err);
  }
  for (int64_t i = 0; i < p->n_groups; i++) {
    make_group(p, begins[i], begins[i + 1] - begins[i], &p->groups[i]);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ tasks */

/* Groups g[0 .. n), unless they are too few files. */
static tarn_status add_task(picking *p, const row_group *g, int64_t n) {
  tn_evolved_task task = {0};
  bool is_uneven = false;
  for (int64_t i = 0; i < n; i++) {
    task.n_files += g[i].n_data;
    task.n_bytes = add_capped(task.n_bytes, g[i].n_bytes);
    is_uneven |= g[i].is_uneven;
  }
  if (n == 0 || (task.n_files < p->rules->min_files && !is_uneven)) {
    return TARN_OK;
  }
  task.first_row_id = g[0].first;
  task.n_rows = g[n - 1].last - g[0].first + 1;
  task.files = tn_arena_calloc(p->arena, (size_t)task.n_files, sizeof(*task.files));
  if (task.files == NULL ||
      !tn_arena_grow(p->arena, (void **)&p->tasks, &p->task_room, p->n_tasks, sizeof(*p->tasks))) {
    return tn_oom(p->err);
  }
  task.n_files = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < g[i].n_data; k++) {
      task.files[task.n_files++] = p->order[g[i].begin + k];
    }
  }
  p->tasks[p->n_tasks++] = task;
  return TARN_OK;
}

static bool follows(const picking *p, const row_group *g) {
  const row_group *before = g - 1;
  return before->last + 1 == g->first && !before->is_lone && !g->is_lone &&
         match_apart(p, before, g);
}

/* Groups wait until they weigh more than the target; one that does alone goes alone. */
static tarn_status make_tasks(picking *p) {
  int64_t begin = 0, weight = 0, i = 0;
  for (; i < p->n_groups; i++) {
    const row_group *g = &p->groups[i];
    bool is_large = g->is_skipped || g->weight > p->rules->target_bytes;
    if (i > begin && (is_large || !follows(p, g))) {
      TN_TRY(add_task(p, p->groups + begin, i - begin));
      begin = i;
      weight = 0;
    }
    weight = add_capped(weight, g->weight);
    if (is_large || weight > p->rules->target_bytes) {
      if (!g->is_skipped) {
        TN_TRY(add_task(p, p->groups + begin, i + 1 - begin));
      }
      begin = i + 1;
      weight = 0;
    }
  }
  return add_task(p, p->groups + begin, i - begin);
}

tarn_status tn_evolved_pick(const tn_evolved_rules *rules, const tn_data_file *files,
                            const bool *stays, int64_t n, tn_arena *arena, tn_evolved_task **tasks,
                            int64_t *n_tasks, tarn_error *err) {
  picking p = {.rules = rules, .files = files, .stays = stays, .arena = arena, .err = err};
  TN_TRY(make_groups(&p, n));
  TN_TRY(make_tasks(&p));
  *tasks = p.tasks;
  *n_tasks = (int64_t)p.n_tasks;
  return TARN_OK;
}
