/* tracks.c - bounds of segments; files entered into the tracks of their columns. */
#include "read/tracks.h"

#include <string.h>

#include "base/checked.h"
#include "base/sort.h"
#include "read/lane.h"

/* Where files of one schema have the wanted columns. */
typedef struct tn_track_schema {
  struct tn_track_schema *next;
  tn_schema *schema; /* retained */
  int32_t *at;       /* for each wanted column the one of the schema; -1: none */
} track_schema;

/* A group while its tracks are made. */
typedef struct making {
  tn_track_maker *maker;
  const tn_row_span *spans;
  int64_t n;
  tn_arena *arena;
  tn_tracks *out;
  int32_t *whole; /* a track of its own: the newest files with whole rows */
} making;

/* ------------------------------------------------------------------ schemas */

static tarn_status schema_of(tn_track_maker *maker, int64_t id, const track_schema **out,
                             tarn_error *err) {
  track_schema *s;
  for (s = maker->schemas; s != NULL; s = s->next) {
    if (s->schema->id == id) {
      *out = s;
      return TARN_OK;
    }
  }
  s = tn_arena_calloc(maker->arena, 1, sizeof(*s));
  if (s == NULL) {
    return tn_oom(err);
  }
  s->at = tn_arena_calloc(maker->arena, (size_t)maker->n_fields + 1, sizeof(*s->at));
  if (s->at == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_table_schema(maker->table, id, &s->schema, err));
  for (int32_t w = 0; w < maker->n_fields; w++) {
    s->at[w] = tn_fields_find_id(s->schema->fields, s->schema->n_fields, maker->fields[w].id);
  }
  s->next = maker->schemas;
  maker->schemas = s;
  *out = s;
  return TARN_OK;
}

/* ------------------------------------------------------------------ segments */

static bool is_dedicated(const tn_data_file *file) {
  return tn_is_blob_file(file->file_name) || tn_is_vector_file(file->file_name);
}

static int by_bound(void *ctx, const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  (void)ctx;
  return (x > y) - (x < y);
}

static const tn_data_file *file_at(const making *m, int64_t i) {
  return &m->maker->split->files[m->spans[i].file];
}

static void span_of(const making *m, int64_t i, int64_t *begin, int64_t *end) {
  *begin = tn_file_first_row(file_at(m, i));
  *end = *begin + file_at(m, i)->row_count;
}

static tarn_status make_bounds(making *m, tarn_error *err) {
  size_t n_max = 2 * (size_t)m->n;
  int64_t *ends = tn_arena_alloc(m->arena, n_max * sizeof(*ends));
  const void **order = tn_arena_alloc(m->arena, n_max * sizeof(*order));
  const void **scratch = tn_arena_alloc(m->arena, n_max * sizeof(*scratch));
  int64_t *bounds = tn_arena_alloc(m->arena, n_max * sizeof(*bounds));
  int32_t n = -1;
  if (ends == NULL || order == NULL || scratch == NULL || bounds == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < m->n; i++) {
    span_of(m, i, &ends[2 * i], &ends[2 * i + 1]);
    order[2 * i] = &ends[2 * i];
    order[2 * i + 1] = &ends[2 * i + 1];
  }
  tn_sort_stable(order, scratch, 2 * m->n, by_bound, NULL);
  for (int64_t i = 0; i < 2 * m->n; i++) {
    int64_t bound = *(const int64_t *)order[i];
    if (n < 0 || bounds[n] != bound) {
      bounds[++n] = bound;
    }
  }
  m->out->bounds = bounds;
  m->out->n_segments = n;
  return TARN_OK;
}

/* The segment that begins at a bound. */
static int32_t segment_at(const tn_tracks *t, int64_t bound) {
  int32_t low = 0, high = t->n_segments;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (t->bounds[middle] < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ------------------------------------------------------------------ tracks */

/* Does file b count rather than file a (-1: none)? */
static bool is_newer(const making *m, int32_t a, int32_t b) {
  return a < 0 || file_at(m, b)->max_sequence > file_at(m, a)->max_sequence;
}

/* Files with whole rows count before those of one column. */
static bool is_newer_whole(const making *m, int32_t a, int32_t b) {
  bool a_is_apart = a >= 0 && is_dedicated(file_at(m, a));
  bool b_is_apart = is_dedicated(file_at(m, b));
  return a >= 0 && a_is_apart != b_is_apart ? a_is_apart : is_newer(m, a, b);
}

static void enter(const making *m, int32_t file, int32_t *track,
                  bool (*counts)(const making *m, int32_t a, int32_t b)) {
  const tn_tracks *t = m->out;
  int64_t begin, end;
  span_of(m, file, &begin, &end);
  for (int32_t s = segment_at(t, begin); s < t->n_segments && t->bounds[s] < end; s++) {
    if (counts(m, track[s], file)) {
      track[s] = file;
    }
  }
}

/* Enter a file into the tracks of the columns that it holds. */
static tarn_status enter_file(making *m, int32_t i, tarn_error *err) {
  const tn_data_file *file = file_at(m, i);
  const track_schema *schema;
  TN_TRY(schema_of(m->maker, file->schema_id, &schema, err));
  enter(m, i, m->whole, is_newer_whole);
  for (int32_t w = 0; w < m->maker->n_fields; w++) {
    int32_t column = schema->at[w];
    if (column >= 0 &&
        tn_data_file_has_column(file, tn_slice_text(schema->schema->fields[column].name))) {
      enter(m, i, m->out->files + (size_t)w * (size_t)m->out->n_segments, is_newer);
    }
  }
  return TARN_OK;
}

/* Files of BLOBs or VECTORs follow each other without gaps. */
static tarn_status check_cover(const making *m, tarn_error *err) {
  const tn_tracks *t = m->out;
  for (int32_t w = 0; w < m->maker->n_fields; w++) {
    const int32_t *track = tn_track_of(t, w);
    int32_t gap = -1, apart = -1;
    for (int32_t s = 0; s < t->n_segments; s++) {
      if (track[s] < 0) {
        gap = s;
      } else if (is_dedicated(file_at(m, track[s]))) {
        apart = s;
      }
    }
    if (gap >= 0 && apart >= 0) {
      return tn_fail(
          err, TARN_E_CORRUPT,
          "%s: no file holds column '%s' of the rows %lld to %lld, which %.*s leaves out",
          m->maker->split->bucket_path, m->maker->fields[w].name, (long long)t->bounds[gap],
          (long long)t->bounds[gap + 1] - 1, TN_SLICE_ARG(file_at(m, track[apart])->file_name));
    }
  }
  return TARN_OK;
}

static tarn_status make_tracks(making *m, tarn_error *err) {
  const tn_track_maker *maker = m->maker;
  size_t n_segments, n_bytes;
  TN_TRY(make_bounds(m, err));
  n_segments = (size_t)m->out->n_segments;
  if (!tn_mul_size((size_t)maker->n_fields + 1, (n_segments + 1) * sizeof(int32_t), &n_bytes)) {
    return tn_oom(err);
  }
  m->out->files = tn_arena_alloc(m->arena, n_bytes);
  if (m->out->files == NULL) {
    return tn_oom(err);
  }
  memset(m->out->files, 0xFF, n_bytes);
  m->whole = m->out->files + (size_t)maker->n_fields * n_segments;
  for (int64_t i = 0; i < m->n; i++) {
    TN_TRY(enter_file(m, (int32_t)i, err));
  }
  for (int32_t w = 0; w < maker->n_fields; w++) { /* what the entry of every file tells */
    if (tn_row_tracking_field(maker->fields[w].id) != NULL ||
        tn_schema_partition_key(maker->table->schema, maker->fields[w].id) >= 0) {
      memcpy(m->out->files + (size_t)w * n_segments, m->whole, n_segments * sizeof(int32_t));
    }
  }
  return check_cover(m, err);
}

tarn_status tn_tracks_make(tn_track_maker *maker, const tn_row_span *spans, int64_t n,
                           tn_arena *arena, tn_tracks *out, tarn_error *err) {
  making m = {maker, spans, n, arena, out, NULL};
  memset(out, 0, sizeof(*out));
  out->spans = spans;
  return make_tracks(&m, err);
}

void tn_track_maker_reset(tn_track_maker *maker) {
  for (track_schema *s = maker->schemas; s != NULL; s = s->next) {
    tn_schema_release(s->schema);
  }
  maker->schemas = NULL;
}
