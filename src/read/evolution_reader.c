/* evolution_reader.c - rows whose columns lie in several files side by side.
 *
 * Files whose row ids overlap are a group. Which file each column lies in, stretch by stretch, is
 * its track (tracks.h); columns of one track share a lane (lane.h).
 *
 *   group    rows that are wanted: row ids and file statistics allow them
 *   chunk    rows of the columns that the filter tests; which of them are left
 *   slice    the other columns of rows that are left; an output batch
 *
 * Invariants
 *   G1  Lanes meet only at row ids; a value comes from the file that is newest for its column and
 *       row, whatever else is read.
 *   G2  A part of the filter skips rows of a file only if all its columns lie in that file.
 *
 * Rule: org.apache.paimon.operation.DataEvolutionSplitRead; spec: datafiles, 8; read, 2.
 */
#include <string.h>

#include "base/bytes.h"
#include "read/lane.h"
#include "read/tracks.h"

#define ARENA_LIMIT ((size_t)1 << 30)

/* The columns of a lane as data readers know them; kept for all groups. */
typedef struct lane_shape {
  struct lane_shape *next;
  int32_t *columns; /* wanted ones, by number */
  int32_t n_columns;
  tn_field *fields;
  tn_data_shape *shape;
} lane_shape;

typedef struct deleted_rows {
  tn_dv *dv;
  int64_t first, last; /* row ids of its file */
} deleted_rows;

typedef struct group_column {
  int32_t lane, index;
} group_column;

typedef struct evolution {
  tn_split_reader reader;
  const tn_read_context *c;
  const tn_split *split;
  const tn_pred *filter;
  const tn_pred **parts; /* of the filter: all have to hold */
  int32_t n_parts;
  tn_arena arena;
  tn_field *fields; /* wanted columns: those that the filter tests, then others of the output */
  int32_t n_fields, n_tested;
  int32_t *out_fields; /* for each output column the wanted one */
  bool *is_last_use;   /* of that one */
  lane_shape *shapes;
  tn_track_maker tracks;
  tn_row_span *spans; /* files of the split, group by group */
  int64_t *begins;
  int64_t group, end_group; /* the next one; the end of this reader's share */

  /* The group that is read; row_end == 0: none. */
  tn_arena group_arena;
  int64_t row_end;
  tn_ranges wanted;
  size_t range; /* of wanted; */
  int64_t row;  /* the next one there */
  tn_lane *lanes;
  int32_t n_lanes;
  bool *is_first;        /* lanes whose columns are read before the filter is tested */
  group_column *columns; /* n_fields */
  deleted_rows *deleted;
  int32_t n_deleted;

  /* The chunk. */
  tn_batch first; /* columns of first lanes, by wanted number */
  int64_t chunk_row, chunk_rows;
  uint32_t *rows; /* those that are left: at .. n_rows; no content when is_whole */
  uint32_t *places;
  int64_t n_rows, at;
  bool is_whole; /* all rows are left */
  uint8_t *selected;
  int64_t capacity;
} evolution;

static const tn_data_file *file_at(const evolution *e, int64_t i) {
  return &e->split->files[e->spans[i].file];
}

/* ------------------------------------------------------------------ wanted columns */

static tarn_status lay_out_columns(evolution *e, tarn_error *err) {
  const tn_read_options *o = &e->c->o;
  size_t n_max =
      (size_t)o->table->schema->n_fields + TN_N_ROW_TRACKING_FIELDS + (size_t)o->n_fields + 1;
  e->fields = tn_arena_calloc(&e->arena, n_max, sizeof(*e->fields));
  e->out_fields = tn_arena_calloc(&e->arena, (size_t)o->n_fields + 1, sizeof(*e->out_fields));
  e->is_last_use = tn_arena_calloc(&e->arena, (size_t)o->n_fields + 1, sizeof(*e->is_last_use));
  e->columns = tn_arena_calloc(&e->arena, n_max, sizeof(*e->columns));
  if (e->fields == NULL || e->out_fields == NULL || e->is_last_use == NULL || e->columns == NULL) {
    return tn_oom(err);
  }
  tn_fields_add_tested(e->c, e->filter, e->fields, &e->n_fields);
  e->n_tested = e->n_fields;
  for (int32_t i = 0; i < o->n_fields; i++) {
    e->out_fields[i] = tn_fields_add(e->fields, &e->n_fields, &o->fields[i]);
    e->is_last_use[i] = true;
    for (int32_t k = 0; k < i; k++) {
      e->is_last_use[k] = e->is_last_use[k] && e->out_fields[k] != e->out_fields[i];
    }
  }
  return e->filter != NULL ? tn_pred_split_and(&e->arena, e->filter, &e->parts, &e->n_parts, err)
                           : TARN_OK;
}

/* ------------------------------------------------------------------ lanes */

/* Are the rows of a track stored row by row, so that two readers of it cost twice as much? */
static bool is_by_rows(const evolution *e, int64_t at, const int32_t *files, int32_t n) {
  for (int32_t s = 0; s < n; s++) {
    tn_slice name = files[s] >= 0 ? file_at(e, at + files[s])->file_name : tn_slice_text("");
    size_t dot = name.len;
    const tn_format_ops *format;
    while (dot > 0 && name.data[dot - 1] != '.') {
      dot--;
    }
    if (tn_format_by_name(tn_slice_of(name.data + dot, name.len - dot), &format, NULL) == TARN_OK &&
        !format->is_columnar) {
      return true;
    }
  }
  return false;
}

/* A lane while columns are handed out. */
typedef struct draft {
  const int32_t *files;
  int32_t *columns;
  int32_t n_columns;
  bool is_first;
} draft;

static bool has_column_of(const evolution *e, const draft *d, int32_t id) {
  for (int32_t i = 0; i < d->n_columns; i++) {
    if (e->fields[d->columns[i]].id == id) {
      return true;
    }
  }
  return false;
}

static tarn_status draft_lanes(evolution *e, int64_t at, const tn_tracks *t, draft *drafts,
                               int32_t *n_drafts, tarn_error *err) {
  size_t n_bytes = (size_t)t->n_segments * sizeof(*t->files);
  for (int32_t w = 0; w < e->n_fields; w++) {
    const int32_t *files = tn_track_of(t, w);
    bool is_first = w < e->n_tested;
    bool joins_first = !is_first && is_by_rows(e, at, files, t->n_segments);
    int32_t found = -1;
    for (int32_t i = 0; i < *n_drafts && found < 0; i++) {
      if ((drafts[i].is_first == is_first || (drafts[i].is_first && joins_first)) &&
          memcmp(drafts[i].files, files, n_bytes) == 0 &&
          !has_column_of(e, &drafts[i], e->fields[w].id)) {
        found = i;
      }
    }
    if (found < 0) {
      found = (*n_drafts)++;
      drafts[found].files = files;
      drafts[found].is_first = is_first;
      drafts[found].columns =
          tn_arena_alloc(&e->group_arena, (size_t)(e->n_fields - w) * sizeof(int32_t));
      if (drafts[found].columns == NULL) {
        return tn_oom(err);
      }
    }
    e->columns[w] = (group_column){found, drafts[found].n_columns};
    drafts[found].columns[drafts[found].n_columns++] = w;
  }
  return TARN_OK;
}

static tarn_status shape_of(evolution *e, const draft *d, lane_shape **out, tarn_error *err) {
  size_t n = (size_t)d->n_columns;
  lane_shape *s;
  for (s = e->shapes; s != NULL; s = s->next) {
    if (s->n_columns == d->n_columns &&
        (n == 0 || memcmp(s->columns, d->columns, n * sizeof(*s->columns)) == 0)) {
      *out = s;
      return TARN_OK;
    }
  }
  s = tn_arena_calloc(&e->arena, 1, sizeof(*s));
  if (s == NULL) {
    return tn_oom(err);
  }
  s->columns = tn_arena_calloc(&e->arena, n + 1, sizeof(*s->columns));
  s->fields = tn_arena_calloc(&e->arena, n + 1, sizeof(*s->fields));
  if (s->columns == NULL || s->fields == NULL) {
    return tn_oom(err);
  }
  s->n_columns = d->n_columns;
  for (int32_t i = 0; i < s->n_columns; i++) {
    s->columns[i] = d->columns[i];
    s->fields[i] = e->fields[s->columns[i]];
  }
  TN_TRY(
      tn_data_shape_create(e->c->o.table, s->fields, s->n_columns, NULL, 0, false, &s->shape, err));
  s->next = e->shapes;
  e->shapes = s;
  *out = s;
  return TARN_OK;
}

static tarn_status make_lane(evolution *e, int64_t at, const tn_tracks *t, const draft *d,
                             tn_lane *lane, tarn_error *err) {
  tn_lane_piece *pieces =
      tn_arena_calloc(&e->group_arena, (size_t)t->n_segments + 1, sizeof(*pieces));
  lane_shape *shape;
  if (pieces == NULL) {
    return tn_oom(err);
  }
  TN_TRY(shape_of(e, d, &shape, err));
  for (int32_t s = 0; s < t->n_segments; s++) {
    int32_t file = d->files[s] >= 0 ? (int32_t)e->spans[at + d->files[s]].file : -1;
    if (lane->n_pieces > 0 && pieces[lane->n_pieces - 1].file == file) {
      pieces[lane->n_pieces - 1].end = t->bounds[s + 1];
    } else {
      pieces[lane->n_pieces++] = (tn_lane_piece){t->bounds[s], t->bounds[s + 1], file};
    }
  }
  lane->c = e->c;
  lane->split = e->split;
  lane->shape = shape->shape;
  lane->fields = shape->fields;
  lane->n_fields = shape->n_columns;
  lane->columns = shape->columns;
  lane->pieces = pieces;
  lane->wanted = &e->wanted;
  lane->wants_flat = !d->is_first && e->filter == NULL && e->n_deleted == 0;
  return TARN_OK;
}

static tarn_status make_lanes(evolution *e, int64_t at, const tn_tracks *t, tarn_error *err) {
  draft *drafts = tn_arena_calloc(&e->group_arena, (size_t)e->n_fields + 1, sizeof(*drafts));
  int32_t n = 0;
  if (drafts == NULL) {
    return tn_oom(err);
  }
  if (t->n_segments == 0) { /* files without rows */
    return TARN_OK;
  }
  TN_TRY(draft_lanes(e, at, t, drafts, &n, err));
  e->lanes = tn_arena_calloc(&e->group_arena, (size_t)n + 1, sizeof(*e->lanes));
  e->is_first = tn_arena_calloc(&e->group_arena, (size_t)n + 1, sizeof(*e->is_first));
  if (e->lanes == NULL || e->is_first == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    e->is_first[i] = drafts[i].is_first;
    TN_TRY(make_lane(e, at, t, &drafts[i], &e->lanes[i], err));
    e->n_lanes = i + 1;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ wanted rows */

/* A file that may hold columns of the filter in all rows of the group. */
typedef struct holder {
  const evolution *e;
  const tn_tracks *t;
  int32_t file; /* of the group */
} holder;

static bool is_held(void *ctx, int32_t field_id) {
  const holder *h = ctx;
  bool is_found = false;
  for (int32_t w = 0; w < h->e->n_tested; w++) {
    const int32_t *files = tn_track_of(h->t, w);
    if (h->e->fields[w].id != field_id) {
      continue;
    }
    is_found = tn_row_tracking_field(field_id) == NULL;
    for (int32_t s = 0; s < h->t->n_segments; s++) {
      is_found = is_found && files[s] == h->file;
    }
  }
  return is_found;
}

/* The parts of the filter that file i of the group alone decides; NULL: none. */
static tarn_status parts_of_file(evolution *e, int64_t n, int32_t i, const tn_tracks *t,
                                 const tn_pred **out, tarn_error *err) {
  holder h = {e, t, i};
  const tn_pred **parts = tn_arena_calloc(&e->group_arena, (size_t)e->n_parts + 1, sizeof(*parts));
  int32_t n_parts = 0;
  *out = NULL;
  if (parts == NULL) {
    return tn_oom(err);
  }
  if (n == 1) {
    *out = e->filter;
    return TARN_OK;
  }
  for (int32_t p = 0; p < e->n_parts; p++) {
    if (tn_pred_only_uses(e->parts[p], is_held, &h)) {
      parts[n_parts++] = e->parts[p];
    }
  }
  if (n_parts > 0) {
    *out = n_parts == 1 ? parts[0] : tn_pred_compound(&e->group_arena, TN_PRED_AND, parts, n_parts);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

/* Leave out what the statistics and indexes of one file rule out. */
static tarn_status prune_by_file(evolution *e, int64_t at, int32_t i, const tn_pred *pred,
                                 tarn_error *err) {
  const tn_data_file *file = file_at(e, at + i);
  int64_t first = tn_file_first_row(file);
  tn_ranges left, ids;
  draft none = {0};
  lane_shape *shape;
  tarn_status st;
  TN_TRY(shape_of(e, &none, &shape, err));
  tn_ranges_init(&left, &e->c->env->mem);
  tn_ranges_init(&ids, &e->c->env->mem);
  TN_TRY_TO(done, tn_open_file_prune(e->c, e->split, (int32_t)e->spans[at + i].file, shape->shape,
                                     pred, &left, err));
  for (size_t k = 0; k < left.count; k++) {
    TN_TRY_TO(done,
              tn_ranges_add(&ids, left.items[k].begin + first, left.items[k].end + first, err));
  }
  st = tn_ranges_intersect(&e->wanted, &ids, err);
done:
  tn_ranges_reset(&left);
  tn_ranges_reset(&ids);
  return st;
}

static tarn_status keep_ids(evolution *e, int64_t at, int64_t n, tarn_error *err) {
  tn_ranges ids;
  tarn_status st;
  for (int64_t i = 0; i < n; i++) {
    if (e->spans[at + i].first < 0 ||
        tn_data_file_may_store(file_at(e, at + i), &tn_row_tracking_fields[0])) {
      return TARN_OK;
    }
  }
  tn_ranges_init(&ids, &e->c->env->mem);
  st = tn_row_ids_of_predicate(e->filter, &ids, err);
  if (st == TARN_OK) {
    st = tn_ranges_intersect(&e->wanted, &ids, err);
  }
  tn_ranges_reset(&ids);
  return st;
}

static tarn_status choose_rows(evolution *e, int64_t at, int64_t n, const tn_tracks *t,
                               tarn_error *err) {
  TN_TRY(tn_ranges_add(&e->wanted, t->bounds[0], t->bounds[t->n_segments], err));
  if (e->filter == NULL) {
    return TARN_OK;
  }
  TN_TRY(keep_ids(e, at, n, err));
  for (int64_t i = 0; i < n && e->wanted.count > 0; i++) {
    const tn_pred *pred;
    TN_TRY(parts_of_file(e, n, (int32_t)i, t, &pred, err));
    if (pred != NULL) {
      TN_TRY(prune_by_file(e, at, (int32_t)i, pred, err));
    }
  }
  return TARN_OK;
}

static tarn_status load_deletions(evolution *e, int64_t at, int64_t n, tarn_error *err) {
  e->deleted = tn_arena_calloc(&e->group_arena, (size_t)n + 1, sizeof(*e->deleted));
  if (e->deleted == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; e->split->deletions != NULL && i < n; i++) {
    deleted_rows *d = &e->deleted[e->n_deleted];
    tn_dv_place place = e->split->deletions[e->spans[at + i].file];
    if (place.path == NULL) {
      continue;
    }
    d->first = tn_file_first_row(file_at(e, at + i));
    d->last = d->first + file_at(e, at + i)->row_count - 1;
    TN_TRY(tn_path_plain(&e->group_arena, place.path, &place.path, err));
    TN_TRY(tn_dv_load(e->c->env, e->c->o.table->storage, &place, &d->dv, err));
    e->n_deleted++;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ groups */

static void drop_chunk(evolution *e) {
  tn_batch_reset(e->c->env, &e->first);
  e->chunk_rows = 0;
  e->n_rows = 0;
  e->at = 0;
}

static void close_group(evolution *e) {
  drop_chunk(e);
  for (int32_t i = 0; i < e->n_lanes; i++) {
    tn_lane_close(&e->lanes[i]);
  }
  for (int32_t i = 0; i < e->n_deleted; i++) {
    tn_dv_release(e->deleted[i].dv);
  }
  e->n_lanes = 0;
  e->n_deleted = 0;
  e->row_end = 0;
  e->range = 0;
  tn_ranges_reset(&e->wanted);
  tn_arena_reset(&e->group_arena);
}

static tarn_status check_files(const evolution *e, int64_t at, int64_t n, tarn_error *err) {
  for (int64_t i = 0; i < n; i++) {
    const tn_data_file *file = file_at(e, at + i);
    int64_t first, last;
    if (file->row_count < 0 ||
        (file->has_first_row_id && !tn_data_file_row_ids(file, &first, &last))) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s/%.*s: its manifest entry says %lld rows with ids from %lld on",
                     e->split->bucket_path, TN_SLICE_ARG(file->file_name),
                     (long long)file->row_count, (long long)file->first_row_id);
    }
  }
  return TARN_OK;
}

static tarn_status open_group(evolution *e, tarn_error *err) {
  int64_t at = e->begins[e->group], n = e->begins[e->group + 1] - at;
  tn_tracks t;
  e->group++;
  TN_TRY(check_files(e, at, n, err));
  TN_TRY(tn_tracks_make(&e->tracks, e->spans + at, n, &e->group_arena, &t, err));
  if (t.n_segments == 0) {
    return TARN_OK;
  }
  TN_TRY(load_deletions(e, at, n, err));
  TN_TRY(choose_rows(e, at, n, &t, err));
  if (e->wanted.count == 0) {
    return TARN_OK;
  }
  TN_TRY(make_lanes(e, at, &t, err));
  e->row_end = t.bounds[t.n_segments];
  e->row = e->wanted.items[0].begin;
  return TARN_OK;
}

/* ------------------------------------------------------------------ chunks */

static tarn_status reserve_rows(evolution *e, int64_t n, tarn_error *err) {
  tn_mem *mem = &e->c->env->mem;
  if (n <= e->capacity) {
    return TARN_OK;
  }
  tn_free(mem, e->rows);
  tn_free(mem, e->places);
  tn_free(mem, e->selected);
  e->capacity = 0;
  e->rows = tn_alloc(mem, (size_t)n * sizeof(*e->rows));
  e->places = tn_alloc(mem, (size_t)n * sizeof(*e->places));
  e->selected = tn_alloc(mem, TN_BITMAP_BYTES(n) + 8);
  if (e->rows == NULL || e->places == NULL || e->selected == NULL) {
    return tn_oom(err);
  }
  e->capacity = n;
  return TARN_OK;
}

/* Rows [begin, begin + n) of a vector; NULL: nulls. */
static tarn_status copy_rows(tarn_env *env, const tn_vec *from, const tn_field *field,
                             int64_t begin, int64_t n, tn_vec *to, tarn_error *err) {
  tn_vec_reset(env, to);
  return from != NULL ? tn_vec_copy_range(env, from, begin, n, to, err)
                      : tn_vec_init_nulls(env, &field->type, n, true, to, err);
}

/* The columns of first lanes for the rows of the chunk. */
static tarn_status take_first(evolution *e, tarn_error *err) {
  tarn_env *env = e->c->env;
  TN_TRY(tn_batch_init(env, e->fields, e->n_fields, &e->first, err));
  for (int32_t i = 0; i < e->n_lanes; i++) {
    tn_lane *lane = &e->lanes[i];
    bool is_whole = tn_lane_is_whole(lane, e->chunk_rows);
    for (int32_t k = 0; e->is_first[i] && k < lane->n_fields; k++) {
      tn_vec *to = &e->first.columns[lane->columns[k]], *from = tn_lane_column(lane, k);
      if (from != NULL && is_whole) {
        tn_vec_reset(env, to);
        tn_vec_move(to, from);
      } else {
        TN_TRY(copy_rows(env, from, &lane->fields[k], lane->off, e->chunk_rows, to, err));
      }
    }
    if (e->is_first[i]) {
      tn_lane_take(lane, e->chunk_rows);
    }
  }
  e->first.n_rows = e->chunk_rows;
  return TARN_OK;
}

/* Clear the bits of deleted rows. *any: there are some. */
static void drop_deleted(evolution *e, bool *any) {
  int64_t begin = e->chunk_row, end = begin + e->chunk_rows;
  *any = false;
  for (int32_t i = 0; i < e->n_deleted; i++) {
    const deleted_rows *d = &e->deleted[i];
    int64_t from = begin > d->first ? begin : d->first, to = end <= d->last ? end : d->last + 1;
    if (from >= to || tn_dv_count(d->dv, from - d->first, to - d->first) == 0) {
      continue;
    }
    *any = true;
    if (from == begin) {
      tn_dv_apply(d->dv, from - d->first, to - from, e->selected);
      continue;
    }
    for (int64_t row = from; row < to; row++) {
      if (tn_dv_contains(d->dv, row - d->first)) {
        tn_bit_clear(e->selected, row - begin);
      }
    }
  }
}

/* Which rows of the chunk are left. */
static tarn_status select_rows(evolution *e, tarn_error *err) {
  int64_t n = e->chunk_rows, kept = 0;
  bool any_deleted = false;
  e->at = 0;
  e->n_rows = n;
  e->is_whole = true;
  if (e->filter == NULL && e->n_deleted == 0) {
    return TARN_OK;
  }
  memset(e->selected, 0xff, TN_BITMAP_BYTES(n));
  drop_deleted(e, &any_deleted);
  if (e->filter != NULL) {
    tn_batch tested = e->first;
    tested.n_columns = e->n_tested;
    TN_TRY(tn_pred_filter(e->c->env, e->filter, &tested, e->selected, err));
  } else if (!any_deleted) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < n; i++) {
    e->rows[kept] = (uint32_t)i;
    kept += tn_bit_get(e->selected, i);
  }
  e->n_rows = kept;
  e->is_whole = kept == n;
  return TARN_OK;
}

/* The next rows of the group; chunk_rows == 0: its end. */
static tarn_status next_chunk(evolution *e, tarn_error *err) {
  int64_t n;
  drop_chunk(e);
  if (e->range < e->wanted.count && e->row == e->wanted.items[e->range].end) {
    e->range++;
    e->row = e->range < e->wanted.count ? e->wanted.items[e->range].begin : 0;
  }
  if (e->range == e->wanted.count) {
    return TARN_OK;
  }
  n = e->wanted.items[e->range].end - e->row;
  n = n < e->c->batch_rows ? n : e->c->batch_rows;
  for (int32_t i = 0; i < e->n_lanes && n > 0; i++) {
    if (e->is_first[i]) {
      TN_TRY(tn_lane_fill(&e->lanes[i], e->row, n, &n, err));
    }
  }
  if (n == 0) { /* a file that ends early ends its group */
    return TARN_OK;
  }
  e->chunk_row = e->row;
  e->chunk_rows = n;
  e->row += n;
  TN_TRY(reserve_rows(e, n, err));
  TN_TRY(take_first(e, err));
  return select_rows(e, err);
}

/* ------------------------------------------------------------------ slices */

/* Rows [row, row + n_rows) of the chunk, of which n_left are left. */
typedef struct slice {
  int64_t row, n_rows, n_left;
} slice;

static int64_t left_within(const evolution *e, int64_t end) {
  int64_t n = e->at;
  if (e->is_whole) {
    return end - e->at;
  }
  while (n < e->n_rows && e->rows[n] < end) {
    n++;
  }
  return n - e->at;
}

/* How many rows that are left come one directly behind the other. */
static int64_t run_of_rows(const evolution *e) {
  int64_t n = 1;
  if (e->is_whole) {
    return e->chunk_rows - e->at;
  }
  while (e->at + n < e->n_rows && e->rows[e->at + n] == e->rows[e->at] + (uint32_t)n) {
    n++;
  }
  return n;
}

/* Find the next slice and have its columns; n_rows == 0: a file has ended early. */
static tarn_status next_slice(evolution *e, slice *s, tarn_error *err) {
  int64_t row, most;
  bool is_heavy = false;
  s->row = e->is_whole ? e->at : e->rows[e->at];
  row = e->chunk_row + s->row;
  for (int32_t i = 0; i < e->n_lanes; i++) {
    is_heavy = is_heavy || (!e->is_first[i] && tn_lane_is_heavy(&e->lanes[i], row));
  }
  most = is_heavy ? run_of_rows(e) : e->chunk_rows - s->row;
  for (int32_t i = 0; i < e->n_lanes && most > 0; i++) {
    if (!e->is_first[i]) {
      TN_TRY(tn_lane_fill(&e->lanes[i], row, most, &most, err));
    }
  }
  s->n_rows = most;
  s->n_left = left_within(e, s->row + most);
  return TARN_OK;
}

/* Where an output column comes from. */
typedef struct source {
  tn_vec *vec; /* NULL: nulls */
  int64_t off; /* of the slice's first row there */
  bool moves;  /* it is all of the vector, which nobody else needs */
} source;

static source source_of(evolution *e, int32_t out, const slice *s) {
  int32_t w = e->out_fields[out];
  tn_lane *lane = &e->lanes[e->columns[w].lane];
  bool is_all = s->n_left == s->n_rows && e->is_last_use[out];
  if (e->is_first[e->columns[w].lane]) {
    return (source){&e->first.columns[w], s->row,
                    is_all && s->row == 0 && s->n_rows == e->chunk_rows};
  }
  return (source){tn_lane_column(lane, e->columns[w].index), lane->off,
                  is_all && tn_lane_is_whole(lane, s->n_rows)};
}

static tarn_status copy_column(evolution *e, const source *from, const slice *s,
                               const tn_field *field, tn_vec *to, tarn_error *err) {
  tarn_env *env = e->c->env;
  if (from->vec == NULL || s->n_left == s->n_rows) {
    return copy_rows(env, from->vec, field, from->off, s->n_left, to, err);
  }
  for (int64_t i = 0; i < s->n_left; i++) {
    e->places[i] = (uint32_t)(e->rows[e->at + i] - s->row + from->off);
  }
  return tn_vec_take(env, from->vec, e->places, s->n_left, to, err);
}

/* An output batch of a slice. What can fail comes before anything is moved. */
static tarn_status give_slice(evolution *e, const slice *s, tn_batch *out, tarn_error *err) {
  const tn_read_options *o = &e->c->o;
  tarn_env *env = e->c->env;
  int32_t n_before = o->with_row_kind ? 1 : 0;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(env, e->c->out_fields, e->c->n_out, out, err));
  if (n_before > 0) {
    TN_TRY_TO(fail, tn_vec_alloc(env, &out->columns[0], s->n_left, 0, err));
    memset(out->columns[0].values, TN_ROW_INSERT, (size_t)s->n_left);
  }
  for (int32_t i = 0; i < o->n_fields; i++) {
    source from = source_of(e, i, s);
    TN_TRY_TO(fail, from.moves && from.vec != NULL ? tn_vec_flatten(env, from.vec, err)
                                                   : copy_column(e, &from, s, &o->fields[i],
                                                                 &out->columns[n_before + i], err));
  }
  for (int32_t i = 0; i < o->n_fields; i++) {
    source from = source_of(e, i, s);
    tn_vec *to = &out->columns[n_before + i];
    if (from.moves && from.vec != NULL) {
      tn_vec_reset(env, to);
      tn_vec_move(to, from.vec);
    }
    tn_vec_retype(to, &o->fields[i].type); /* batches outlive this reader's fields */
  }
  out->n_rows = s->n_left;
  out->first_position = -1;
  return TARN_OK;
fail:
  tn_batch_reset(env, out);
  return st;
}

static tarn_status give(evolution *e, slice *s, tn_batch *out, tarn_error *err) {
  tarn_status st;
  for (;;) {
    st = give_slice(e, s, out, err);
    if (st != TARN_E_LIMIT || s->n_rows == 1) {
      break;
    }
    s->n_rows = (s->n_rows + 1) / 2; /* begins with a row that is left */
    s->n_left = left_within(e, s->row + s->n_rows);
  }
  TN_TRY(st);
  for (int32_t i = 0; i < e->n_lanes; i++) {
    if (!e->is_first[i]) {
      tn_lane_take(&e->lanes[i], s->n_rows);
    }
  }
  e->at += s->n_left;
  return TARN_OK;
}

/* ------------------------------------------------------------------ reader */

static tarn_status evolution_next(tn_split_reader *reader, tn_batch *out, tarn_error *err) {
  evolution *e = TN_CONTAINER_OF(reader, evolution, reader);
  for (;;) {
    slice s;
    TN_TRY(tn_cancel_check(e->c->o.cancel, err));
    if (e->row_end == 0) {
      if (e->group == e->end_group) {
        return TARN_OK;
      }
      close_group(e);
      TN_TRY(open_group(e, err));
      continue;
    }
    if (e->at == e->n_rows) {
      TN_TRY(next_chunk(e, err));
      if (e->chunk_rows == 0) {
        close_group(e);
      }
      continue;
    }
    TN_TRY(next_slice(e, &s, err));
    if (s.n_rows > 0) {
      return give(e, &s, out, err);
    }
    close_group(e);
  }
}

static void evolution_free(tn_split_reader *reader) {
  evolution *e = TN_CONTAINER_OF(reader, evolution, reader);
  tn_mem *mem = &e->c->env->mem;
  close_group(e);
  for (lane_shape *s = e->shapes; s != NULL; s = s->next) {
    tn_data_shape_free(s->shape);
  }
  tn_track_maker_reset(&e->tracks);
  tn_free(mem, e->rows);
  tn_free(mem, e->places);
  tn_free(mem, e->selected);
  tn_arena_reset(&e->arena);
  tn_free(mem, e);
}

/* The groups of the split, and which of them are this reader's. */
static tarn_status find_groups(evolution *e, const tn_file_list *list, tarn_error *err) {
  int64_t n_groups, n = e->split->n_files;
  e->spans = tn_arena_calloc(&e->arena, (size_t)n + 1, sizeof(*e->spans));
  if (e->spans == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    tn_row_span_of(&e->split->files[i], i, &e->spans[i]);
  }
  TN_TRY(tn_row_spans_group(&e->arena, e->spans, n, &e->begins, &n_groups, err));
  while (e->group < n_groups && e->begins[e->group] < list->first) {
    e->group++;
  }
  e->end_group = e->group;
  while (e->end_group < n_groups &&
         e->begins[e->end_group] < (int64_t)list->first + list->n_files) {
    e->end_group++;
  }
  return TARN_OK;
}

tarn_status tn_evolution_read(const tn_read_context *c, const tn_file_list *list,
                              tn_split_reader **out, tarn_error *err) {
  static const tn_split_reader_ops ops = {evolution_next, evolution_free};
  evolution *e = tn_calloc(&c->env->mem, 1, sizeof(*e));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (e == NULL) {
    return tn_oom(err);
  }
  e->reader.ops = &ops;
  e->c = c;
  e->split = list->split;
  e->filter = list->filter;
  tn_arena_init(&e->arena, &c->env->mem, ARENA_LIMIT);
  tn_arena_init(&e->group_arena, &c->env->mem, ARENA_LIMIT);
  tn_ranges_init(&e->wanted, &c->env->mem);
  TN_TRY_TO(done, lay_out_columns(e, err));
  e->tracks = (tn_track_maker){.table = c->o.table,
                               .split = e->split,
                               .fields = e->fields,
                               .n_fields = e->n_fields,
                               .arena = &e->arena};
  TN_TRY_TO(done, find_groups(e, list, err));
done:
  if (st != TARN_OK) {
    evolution_free(&e->reader);
    return st;
  }
  *out = &e->reader;
  return TARN_OK;
}
