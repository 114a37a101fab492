/* edit.c - the walk over the files whose rows may match; E1 to E4 are in edit.h. */
#include "edit/edit.h"

#include <string.h>

#include "base/bytes.h"
#include "datafile/data_reader.h"
#include "datafile/data_writer.h"
#include "edit/marks.h"
#include "index/deletion_vector_write.h"
#include "plan/plan.h"
#include "write/write.h"

#define BATCH_ROWS ((int64_t)8192)
#define LEAST_ROWS ((int64_t)16)
#define PATH_BYTES ((size_t)1 << 20)

/* Of a batch: rows that match, and rows that live on as they are. Ascending. */
typedef struct picked {
  uint32_t *matched, *kept;
  int64_t n_matched, n_kept;
  uint8_t *selected;
  int64_t capacity;
} picked;

/* The file that is being walked. */
typedef struct walked_file {
  tn_data_reader *reader; /* NULL: none is open */
  const tn_split *split;
  const tn_data_file *file;
  const char *path;
  tn_dv *deletions;
  tn_dv_builder *marks; /* with deletion vectors */
  int64_t n_marked;
  int64_t n_read; /* rows, deleted ones too */
  int64_t max_rows;
} walked_file;

struct tn_edit {
  tarn_env *env;
  tn_table *table; /* retained */
  const tn_pred *predicate;
  const tarn_cancel *cancel;
  bool is_update, marks_rows;
  tn_plan *plan;
  tn_write *write;
  tn_data_shape *tested; /* the columns that the predicate tests */
  tn_data_shape *whole;  /* all columns */
  tn_field *tested_fields;
  int32_t n_tested;
  tn_arena arena, file_arena;

  int32_t split, index; /* of the next file */
  walked_file at;
  tn_batch batch; /* the rows that are being looked at */
  picked rows;
  bool is_waiting; /* for what replaces the rows that were given */
  bool is_prepared;

  tn_marks marks;
  struct {
    const tn_split *split;
    const tn_data_file *file;
  } *gone; /* files without their rows; in the arena */
  size_t n_gone, gone_capacity;
};

/* ------------------------------------------------------------------ life */

static void close_file(tn_edit *e) {
  tn_data_reader_free(e->at.reader);
  tn_dv_release(e->at.deletions);
  tn_dv_builder_free(e->at.marks);
  memset(&e->at, 0, sizeof(e->at));
  tn_arena_reset(&e->file_arena);
  tn_arena_init(&e->file_arena, &e->env->mem, PATH_BYTES);
}

void tn_edit_free(tn_edit *e) {
  tarn_env *env = e != NULL ? e->env : NULL;
  if (e == NULL) {
    return;
  }
  tn_batch_reset(env, &e->batch);
  close_file(e);
  tn_free(&env->mem, e->rows.matched);
  tn_free(&env->mem, e->rows.kept);
  tn_free(&env->mem, e->rows.selected);
  tn_marks_reset(&e->marks, env);
  tn_write_free(e->write);
  tn_data_shape_free(e->tested);
  tn_data_shape_free(e->whole);
  tn_plan_release(e->plan);
  tn_table_release(e->table);
  tn_arena_reset(&e->file_arena);
  tn_arena_reset(&e->arena);
  tn_free(&env->mem, e);
}

static tarn_status check_table(const tn_table *t, bool is_update, tarn_error *err) {
  const char *what = is_update ? "UPDATE" : "DELETE";
  if (t->facts.has_primary_key) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: rows of a table with a primary key are deleted and updated by writing them",
                   t->full_name);
  }
  if (t->facts.data_evolution) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: %s operation is not supported when data evolution is enabled yet.",
                   t->full_name, what);
  }
  if (t->facts.row_tracking) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: %s of a table with 'row-tracking.enabled' would have to write the ids of "
                   "its rows, which is not in this release",
                   t->full_name, what);
  }
  if (tn_options_get(&t->options, "scan.fallback-branch") != NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: %s of a table with 'scan.fallback-branch': its rows may be those of the "
                   "other branch",
                   t->full_name, what);
  }
  return TARN_OK;
}

static void add_tested(void *ctx, const tn_pred *leaf) {
  tn_edit *e = ctx;
  const tn_schema *schema = e->table->schema;
  for (int32_t i = 0; i < e->n_tested; i++) {
    if (e->tested_fields[i].id == leaf->field_id) {
      return;
    }
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (schema->fields[i].id == leaf->field_id) {
      e->tested_fields[e->n_tested++] = schema->fields[i];
    }
  }
}

static tarn_status make_shapes(tn_edit *e, tarn_error *err) {
  const tn_schema *schema = e->table->schema;
  e->tested_fields = tn_arena_calloc(&e->arena, (size_t)schema->n_fields + 1, sizeof(tn_field));
  if (e->tested_fields == NULL) {
    return tn_oom(err);
  }
  if (e->predicate != NULL) {
    tn_pred_each_leaf(e->predicate, add_tested, e);
  }
  TN_TRY(tn_data_shape_create(e->table, e->tested_fields, e->n_tested, NULL, 0, false, &e->tested,
                              err));
  return tn_data_shape_create(e->table, schema->fields, schema->n_fields, NULL, 0, false, &e->whole,
                              err);
}

/* Rows that are written anew would lose what a schema has beside that came after the table was
 * opened. */
static tarn_status check_schemas(const tn_edit *e, tarn_error *err) {
  const tn_table *t = e->table;
  for (int32_t s = 0; s < e->plan->n_splits; s++) {
    const tn_split *split = &e->plan->splits[s];
    for (int32_t i = 0; i < split->n_files; i++) {
      if (split->files[i].schema_id > t->schema->id) {
        return tn_fail(err, TARN_E_STATE,
                       "%s: the schema has changed from %lld to %lld since the table was opened: "
                       "open it again",
                       t->full_name, (long long)t->schema->id,
                       (long long)split->files[i].schema_id);
      }
    }
  }
  return TARN_OK;
}

static tarn_status open_edit(tn_edit *e, const tn_edit_request *q, tarn_error *err) {
  const tn_table_write_options options = {.user = q->user,
                                          .keeps_nulls = true,
                                          .spill_folder = q->spill_folder,
                                          .first_row_id = -1,
                                          .cancel = q->cancel};
  const tn_scan scan = {.table = e->table,
                        .predicate = q->predicate,
                        .limit = -1,
                        .keeps_stats = true,
                        .cancel = q->cancel};
  TN_TRY(check_table(e->table, q->is_update, err));
  TN_TRY(tn_write_create(e->table, &options, &e->write, err));
  TN_TRY(make_shapes(e, err));
  TN_TRY(tn_plan_create(&scan, &e->plan, err));
  return e->plan->kind == TN_PLAN_STATE
             ? check_schemas(e, err)
             : tn_fail(err, TARN_E_INVALID,
                       "%s: only rows of one snapshot can be deleted and updated: scan.mode and "
                       "incremental reads give others",
                       e->table->full_name);
}

tarn_status tn_edit_create(tarn_env *env, const tn_edit_request *request, tn_edit **out,
                           tarn_error *err) {
  tn_edit *e = tn_calloc(&env->mem, 1, sizeof(*e));
  tarn_status st;
  *out = NULL;
  if (e == NULL) {
    return tn_oom(err);
  }
  e->env = env;
  e->table = tn_table_retain(request->table);
  e->predicate = request->predicate;
  e->cancel = request->cancel;
  e->is_update = request->is_update;
  e->marks_rows = e->table->facts.deletion_vectors;
  tn_arena_init(&e->arena, &env->mem, TN_PLAN_ARENA_BYTES);
  tn_arena_init(&e->file_arena, &env->mem, PATH_BYTES);
  st = open_edit(e, request, err);
  if (st != TARN_OK) {
    tn_edit_free(e);
    return st;
  }
  *out = e;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows of a batch */

static tarn_status reserve_rows(tn_edit *e, int64_t n, tarn_error *err) {
  tn_mem *mem = &e->env->mem;
  picked *r = &e->rows;
  if (n <= r->capacity) {
    return TARN_OK;
  }
  tn_free(mem, r->matched);
  tn_free(mem, r->kept);
  tn_free(mem, r->selected);
  r->capacity = 0;
  r->matched = tn_alloc(mem, (size_t)n * sizeof(*r->matched));
  r->kept = tn_alloc(mem, (size_t)n * sizeof(*r->kept));
  r->selected = tn_alloc(mem, TN_BITMAP_BYTES(n) + 8);
  if (r->matched == NULL || r->kept == NULL || r->selected == NULL) {
    return tn_oom(err);
  }
  r->capacity = n;
  return TARN_OK;
}

/* Which rows of e->batch match. What is unknown (a null) is no match. */
static tarn_status pick_rows(tn_edit *e, const uint8_t *alive, tarn_error *err) {
  int64_t n = e->batch.n_rows;
  picked *r = &e->rows;
  r->n_matched = r->n_kept = 0;
  TN_TRY(reserve_rows(e, n, err));
  if (alive != NULL) {
    memcpy(r->selected, alive, TN_BITMAP_BYTES(n));
  } else {
    memset(r->selected, 0xff, TN_BITMAP_BYTES(n));
  }
  if (e->predicate != NULL) {
    TN_TRY(tn_pred_filter(e->env, e->predicate, &e->batch, r->selected, err));
  }
  for (int64_t i = 0; i < n; i++) {
    if (tn_bit_get(r->selected, i)) {
      r->matched[r->n_matched++] = (uint32_t)i;
    } else if (alive == NULL || tn_bit_get(alive, i)) {
      r->kept[r->n_kept++] = (uint32_t)i;
    }
  }
  return TARN_OK;
}

/* Some rows of e->batch, as a batch of their own. */
static tarn_status take_rows(tn_edit *e, const uint32_t *rows, int64_t n, tn_batch *out,
                             tarn_error *err) {
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(e->env, e->batch.fields, e->batch.n_columns, out, err));
  for (int32_t c = 0; c < e->batch.n_columns && st == TARN_OK; c++) {
    st = tn_vec_take(e->env, &e->batch.columns[c], rows, n, &out->columns[c], err);
  }
  out->n_rows = n;
  out->first_position = -1;
  if (st != TARN_OK) {
    tn_batch_reset(e->env, out);
  }
  return st;
}

/* The rows that live on as they are go to new files. */
static tarn_status write_kept(tn_edit *e, tarn_error *err) {
  tn_batch kept;
  tarn_status st;
  if (e->rows.n_kept == e->batch.n_rows) {
    return tn_write_batch(e->write, &e->batch, NULL, err);
  }
  if (e->rows.n_kept == 0) {
    return TARN_OK;
  }
  TN_TRY(take_rows(e, e->rows.kept, e->rows.n_kept, &kept, err));
  st = tn_write_batch(e->write, &kept, NULL, err);
  tn_batch_reset(e->env, &kept);
  return st;
}

/* ------------------------------------------------------------------ one file */

static tarn_status open_reader(tn_edit *e, tn_data_shape *shape, bool is_pruned, tarn_error *err) {
  walked_file *f = &e->at;
  const tn_data_request request = {.shape = shape,
                                   .file = f->file,
                                   .path = f->path,
                                   .partition = f->split->partition,
                                   .deletions = f->deletions,
                                   .pushed = is_pruned ? e->predicate : NULL,
                                   .batch_rows = f->max_rows,
                                   .cancel = e->cancel};
  f->n_read = 0;
  return tn_data_reader_open(&request, &f->reader, err);
}

/* As many rows as take a small part of the budget, by a guess from the file's size. */
static int64_t guess_rows(const tn_edit *e, const tn_data_file *file) {
  int64_t row_bytes = file->row_count > 0 ? 8 * (file->file_size / file->row_count) + 1 : 1;
  int64_t n = (int64_t)(e->env->mem.budget_bytes / 32) / row_bytes;
  return n < LEAST_ROWS ? LEAST_ROWS : n > BATCH_ROWS ? BATCH_ROWS : n;
}

/* The next rows, which are picked; e->batch.n_rows == 0: the end of the file. Rows that turn out
 * larger than guessed are read again in smaller batches. */
static tarn_status next_batch(tn_edit *e, tn_data_shape *shape, bool is_pruned, tarn_error *err) {
  walked_file *f = &e->at;
  const uint8_t *alive;
  tarn_status st;
  TN_TRY(tn_cancel_check(e->cancel, err));
  st = tn_data_reader_next(f->reader, f->max_rows, &e->batch, &alive, err);
  while (st == TARN_E_LIMIT && f->max_rows > LEAST_ROWS) {
    int64_t n_read = f->n_read;
    f->max_rows = f->max_rows / 8 > LEAST_ROWS ? f->max_rows / 8 : LEAST_ROWS;
    tn_batch_reset(e->env, &e->batch);
    tn_data_reader_free(f->reader);
    f->reader = NULL;
    TN_TRY(open_reader(e, shape, is_pruned, err));
    TN_TRY(tn_data_reader_skip(f->reader, n_read, err));
    f->n_read = n_read;
    st = tn_data_reader_next(f->reader, f->max_rows, &e->batch, &alive, err);
  }
  TN_TRY(st);
  f->n_read += e->batch.n_rows;
  return e->batch.n_rows > 0 ? pick_rows(e, alive, err) : TARN_OK;
}

/* Does any row match? Only what the predicate tests is read. */
static tarn_status find_match(tn_edit *e, bool *out, tarn_error *err) {
  tn_data_shape *shape = e->n_tested > 0 ? e->tested : e->whole;
  tarn_status st;
  *out = e->predicate == NULL;
  if (*out) {
    return TARN_OK;
  }
  TN_TRY(open_reader(e, shape, true, err));
  do {
    st = next_batch(e, shape, true, err);
    *out = st == TARN_OK && e->batch.n_rows > 0 && e->rows.n_matched > 0;
  } while (st == TARN_OK && e->batch.n_rows > 0 && !*out);
  tn_batch_reset(e->env, &e->batch);
  tn_data_reader_free(e->at.reader);
  e->at.reader = NULL;
  return st;
}

static tarn_status note_gone(tn_edit *e, tarn_error *err) {
  if (!tn_arena_grow(&e->arena, (void **)&e->gone, &e->gone_capacity, e->n_gone,
                     sizeof(*e->gone))) {
    return tn_oom(err);
  }
  e->gone[e->n_gone].split = e->at.split;
  e->gone[e->n_gone++].file = e->at.file;
  return TARN_OK;
}

static tarn_status start_marks(tn_edit *e, tarn_error *err) {
  bool is_wide;
  TN_TRY(tn_options_bool(&e->table->options, "deletion-vectors.bitmap64", &is_wide, err));
  return tn_dv_builder_create(e->env, is_wide ? 2 : 1, e->at.deletions, &e->at.marks, err);
}

/* The next file that has, or may have, rows that match; e->at.reader == NULL: there is none. */
static tarn_status open_next(tn_edit *e, tarn_error *err) {
  while (e->split < e->plan->n_splits) {
    const tn_split *split = &e->plan->splits[e->split];
    walked_file *f = &e->at;
    bool has_match = true;
    if (e->index == split->n_files) {
      e->split++;
      e->index = 0;
      continue;
    }
    close_file(e);
    f->split = split;
    f->file = &split->files[e->index];
    f->max_rows = guess_rows(e, f->file);
    TN_TRY(tn_split_file_path(split, e->index, &e->file_arena, &f->path, err));
    if (split->deletions != NULL && split->deletions[e->index].path != NULL) {
      tn_dv_place place = split->deletions[e->index];
      TN_TRY(tn_path_plain(&e->file_arena, place.path, &place.path, err));
      TN_TRY(tn_dv_load(e->env, e->table->storage, &place, &f->deletions, err));
    }
    e->index++;
    if (e->marks_rows) {
      TN_TRY(start_marks(e, err));
      return open_reader(e, e->is_update || e->n_tested == 0 ? e->whole : e->tested, true, err);
    }
    TN_TRY(find_match(e, &has_match, err));
    if (has_match) {
      TN_TRY(note_gone(e, err));
      return open_reader(e, e->whole, false, err);
    }
  }
  close_file(e);
  return TARN_OK;
}

/* Behind the last row of a file. */
static tarn_status end_file(tn_edit *e, tarn_error *err) {
  walked_file *f = &e->at;
  tarn_status st = TARN_OK;
  tn_dv *dv;
  if (!e->marks_rows && f->n_read != f->file->row_count) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: %lld rows were read, its entry has %lld: it is not rewritten", f->path,
                   (long long)f->n_read, (long long)f->file->row_count);
  }
  if (f->n_marked > 0) {
    st = tn_dv_builder_build(f->marks, &dv, err);
    if (st == TARN_OK) {
      st = tn_marks_add(&e->marks, e->env, f->split, f->file->file_name, dv, err);
    }
  }
  tn_data_reader_free(f->reader);
  f->reader = NULL;
  return st;
}

/* ------------------------------------------------------------------ the walk */

static tarn_status mark_rows(tn_edit *e, tarn_error *err) {
  int64_t first = e->batch.first_position;
  if (first < 0) {
    return tn_fail(err, TARN_E_INTERNAL, "%s: rows without a position", e->at.path);
  }
  for (int64_t i = 0; i < e->rows.n_matched; i++) {
    TN_TRY(tn_dv_builder_add(e->at.marks, first + e->rows.matched[i], NULL, err));
  }
  e->at.n_marked += e->rows.n_matched;
  return TARN_OK;
}

tarn_status tn_edit_next(tn_edit *e, tn_batch *rows, int64_t *n_rows, tarn_error *err) {
  *n_rows = 0;
  if (e->is_waiting || e->is_prepared) {
    return tn_fail(err, TARN_E_STATE, "%s: rows were given that nothing has replaced yet",
                   e->table->full_name);
  }
  for (;;) {
    tn_data_shape *shape = e->marks_rows && !e->is_update && e->n_tested > 0 ? e->tested : e->whole;
    if (e->at.reader == NULL) {
      TN_TRY(open_next(e, err));
      if (e->at.reader == NULL) {
        return TARN_OK;
      }
    }
    TN_TRY(next_batch(e, shape, e->marks_rows, err));
    if (e->batch.n_rows == 0) {
      TN_TRY(end_file(e, err));
      continue;
    }
    if (e->marks_rows) {
      TN_TRY(mark_rows(e, err));
    } else if (!e->is_update || e->rows.n_matched == 0) {
      TN_TRY(write_kept(e, err));
    }
    if (e->rows.n_matched > 0) {
      break;
    }
  }
  if (e->is_update) {
    TN_TRY(take_rows(e, e->rows.matched, e->rows.n_matched, rows, err));
    e->is_waiting = true;
  }
  *n_rows = e->rows.n_matched;
  return TARN_OK;
}

/* The rows of the batch in their order, with the new ones in the places of those that matched. */
static tarn_status merge_rows(tn_edit *e, const tn_batch *rows, tn_batch *out, tarn_error *err) {
  const picked *r = &e->rows;
  int64_t n = r->n_matched + r->n_kept, matched = 0, kept = 0;
  tn_row_ref *refs = tn_alloc(&e->env->mem, (size_t)n * sizeof(*refs));
  tarn_status st;
  if (refs == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    bool is_new =
        kept == r->n_kept || (matched < r->n_matched && r->matched[matched] < r->kept[kept]);
    refs[i] = is_new ? (tn_row_ref){1, (uint32_t)matched++} : (tn_row_ref){0, r->kept[kept++]};
  }
  st = tn_batch_init(e->env, e->batch.fields, e->batch.n_columns, out, err);
  for (int32_t c = 0; c < e->batch.n_columns && st == TARN_OK; c++) {
    const tn_vec *sources[2] = {&e->batch.columns[c], &rows->columns[c]};
    st =
        tn_vec_gather(e->env, &e->batch.fields[c].type, sources, 2, refs, n, &out->columns[c], err);
    if (st != TARN_OK) {
      tn_batch_reset(e->env, out);
    }
  }
  if (st == TARN_OK) {
    out->n_rows = n;
  }
  tn_free(&e->env->mem, refs);
  return st;
}

tarn_status tn_edit_replace(tn_edit *e, const tn_batch *rows, tarn_error *err) {
  tn_batch merged;
  tarn_status st;
  if (!e->is_waiting || rows->n_rows != e->rows.n_matched) {
    return tn_fail(err, TARN_E_INVALID, "%lld rows to replace %lld", (long long)rows->n_rows,
                   (long long)(e->is_waiting ? e->rows.n_matched : 0));
  }
  TN_TRY(tn_write_check(e->write, rows, NULL, 0, err));
  if (e->marks_rows) {
    TN_TRY(tn_write_batch(e->write, rows, NULL, err));
  } else {
    TN_TRY(merge_rows(e, rows, &merged, err));
    st = tn_write_batch(e->write, &merged, NULL, err);
    tn_batch_reset(e->env, &merged);
    TN_TRY(st);
  }
  e->is_waiting = false;
  return TARN_OK;
}

/* ------------------------------------------------------------------ messages */

/* A message for each run of files of one split. */
static tarn_status list_gone(const tn_edit *e, tn_arena *arena, tn_commit_message *messages,
                             int32_t *n_messages, tarn_error *err) {
  for (size_t from = 0, to; from < e->n_gone; from = to) {
    const tn_split *split = e->gone[from].split;
    tn_commit_message *m = &messages[(*n_messages)++];
    for (to = from; to < e->n_gone && e->gone[to].split == split; to++) {
    }
    *m = (tn_commit_message){.bucket = split->bucket,
                             .has_total_buckets = split->has_total_buckets,
                             .total_buckets = split->total_buckets};
    m->deleted_files.items = tn_arena_calloc(arena, to - from, sizeof(tn_data_file));
    if (m->deleted_files.items == NULL || !tn_arena_slice(arena, split->partition, &m->partition)) {
      return tn_oom(err);
    }
    for (size_t i = from; i < to; i++) {
      TN_TRY(tn_data_file_copy(arena, e->gone[i].file, true,
                               &m->deleted_files.items[m->deleted_files.n], err));
      m->deleted_files.n++;
    }
  }
  return TARN_OK;
}

tarn_status tn_edit_prepare(tn_edit *e, int64_t identifier, tn_arena *arena,
                            tn_commit_message **messages, int32_t *n_messages, tarn_error *err) {
  size_t n_most = e->n_gone + e->marks.count;
  int32_t n_own = 0, n_marks = 0, n_written = 0;
  tn_commit_message *own, *written = NULL, *all;
  tarn_status st = TARN_OK;
  *messages = NULL;
  *n_messages = 0;
  if (e->is_waiting || e->is_prepared || e->at.reader != NULL) {
    return tn_fail(err, TARN_E_STATE, "%s: not all rows have been given yet", e->table->full_name);
  }
  own = tn_arena_calloc(arena, n_most + 1, sizeof(*own));
  if (own == NULL) {
    return tn_oom(err);
  }
  TN_TRY(list_gone(e, arena, own, &n_own, err));
  TN_TRY(tn_marks_write(&e->marks, e->table, e->plan, arena, own + n_own, &n_marks, err));
  e->is_prepared = true;
  st = tn_write_prepare(e->write, identifier, arena, &written, &n_written, err);
  all = st == TARN_OK
            ? tn_arena_calloc(arena, (size_t)(n_own + n_marks + n_written) + 1, sizeof(*all))
            : NULL;
  if (all == NULL) {
    st = st == TARN_OK ? tn_oom(err) : st;
    for (int32_t i = 0; i < n_written; i++) {
      for (int32_t k = 0; k < written[i].new_files.n; k++) {
        tn_data_file_delete(e->table, written[i].partition, written[i].bucket,
                            &written[i].new_files.items[k]);
      }
    }
    tn_marks_remove(e->table, own + n_own, n_marks);
    return st;
  }
  memcpy(all, own, (size_t)(n_own + n_marks) * sizeof(*all));
  if (n_written > 0) {
    memcpy(all + n_own + n_marks, written, (size_t)n_written * sizeof(*all));
  }
  *messages = all;
  *n_messages = n_own + n_marks + n_written;
  return TARN_OK;
}

const char *tn_edit_index_manifest(const tn_edit *e) {
  return e->plan->has_snapshot ? e->plan->snapshot.index_manifest : NULL;
}
