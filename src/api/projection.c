/* projection.c - the output columns of a scan: names and dotted paths into ROWs.
 *
 * Top-level columns are read, pruned to the nested fields that are wanted; a dotted column is
 * then taken out of its ROW, null where any ROW on the way is null.
 */
#include "api/handles.h"
#include "base/bytes.h"
#include "base/nearest.h"

#define MAX_PATH 32

static const tn_field row_kind_type = {.id = TN_FIELD_ID_ROWKIND, .type = {.root = TN_TINYINT}};

static tarn_status unknown_column(const tarn_table *table, const char *name, const tn_field *fields,
                                  int32_t n_fields, tarn_error *err) {
  const char *of = table->system != NULL ? table->system->full_name : table->table->full_name;
  tn_nearest nearest;
  tn_nearest_init(&nearest, tn_slice_text(name));
  for (int32_t i = 0; i < n_fields; i++) {
    tn_nearest_offer(&nearest, fields[i].name);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "%s: there is no column '%s'%s", of, name,
                 tn_nearest_hint(&nearest).text);
}

/* A column of the table by its exact name, else by a dotted path: indexes into fields of each
 * level. */
static tarn_status find_path(const tarn_table *table, const tn_field *fields, int32_t n_fields,
                             const char *name, int32_t path[MAX_PATH], int32_t *n_path,
                             tarn_error *err) {
  const tn_field *level = fields;
  int32_t n_level = n_fields, n = 0;
  tn_slice rest = tn_slice_text(name);
  int32_t whole = tn_fields_find(fields, n_fields, rest);
  if (whole >= 0) {
    path[0] = whole;
    *n_path = 1;
    return TARN_OK;
  }
  while (rest.len > 0 && n < MAX_PATH) {
    const uint8_t *dot = memchr(rest.data, '.', rest.len);
    tn_slice step = tn_slice_of(rest.data, dot != NULL ? (size_t)(dot - rest.data) : rest.len);
    int32_t at = tn_fields_find(level, n_level, step);
    if (at < 0) {
      break;
    }
    path[n++] = at;
    rest = tn_slice_of(step.data + step.len, rest.len - step.len);
    if (rest.len == 0) {
      *n_path = n;
      return TARN_OK;
    }
    rest = tn_slice_of(rest.data + 1, rest.len - 1);
    if (level[at].type.root != TN_ROW) {
      break;
    }
    n_level = level[at].type.n_fields;
    level = level[at].type.fields;
  }
  return unknown_column(table, name, fields, n_fields, err);
}

static const tn_field *field_at(const tn_field *fields, const int32_t *path, int32_t n_path) {
  const tn_field *f = &fields[path[0]];
  for (int32_t i = 1; i < n_path; i++) {
    f = &f->type.fields[path[i]];
  }
  return f;
}

/* The field that a dotted column shows: its own type, nullable if any ROW on the way is. */
static tn_field shown_field(const tn_field *fields, const int32_t *path, int32_t n_path,
                            const char *name) {
  tn_field f = *field_at(fields, path, n_path);
  for (int32_t i = 1; i < n_path; i++) {
    f.type.is_nullable |= field_at(fields, path, i)->type.is_nullable;
  }
  f.name = name;
  return f;
}

tarn_status tn_api_resolve_columns(tarn_scan *scan, const char *const *columns, size_t n_columns,
                                   const char *row_kind_name, tarn_error *err) {
  int32_t n_own, n_fields;
  const tn_field *own = tn_api_table_fields(scan->table, &n_own);
  const tn_field *fields = tn_api_named_fields(scan->table, &scan->arena, &n_fields);
  size_t n = columns != NULL ? n_columns : (size_t)n_own;
  size_t n_out = n + (scan->with_row_kind ? 1 : 0);
  tn_field *out = tn_arena_calloc(&scan->arena, n_out, sizeof(*out));
  tn_field *read = tn_arena_calloc(&scan->arena, n, sizeof(*read));
  int32_t *read_of =
      tn_arena_alloc(&scan->arena, ((size_t)n_own + TN_N_ROW_TRACKING_FIELDS) * sizeof(*read_of));
  size_t at = 0;
  scan->sources = tn_arena_calloc(&scan->arena, n_out, sizeof(*scan->sources));
  if (fields == NULL || out == NULL || read == NULL || read_of == NULL || scan->sources == NULL) {
    return tn_oom(err);
  }
  memset(read_of, 0xFF, (size_t)n_fields * sizeof(*read_of));
  if (scan->with_row_kind) {
    if (tn_fields_find(fields, n_fields, tn_slice_text(row_kind_name)) >= 0) {
      return tn_fail(err, TARN_E_EXISTS,
                     "the table has a column '%s' of its own: set row_kind_name to another name",
                     row_kind_name);
    }
    out[0] = row_kind_type;
    out[0].name = tn_arena_strdup(&scan->arena, row_kind_name);
    if (out[0].name == NULL) {
      return tn_oom(err);
    }
    scan->sources[at++].column = -1;
  }
  for (size_t i = 0; i < n; i++, at++) {
    const char *name = columns != NULL ? columns[i] : own[i].name;
    int32_t path[MAX_PATH], n_path;
    TN_TRY(find_path(scan->table, fields, n_fields, name, path, &n_path, err));
    out[at] = shown_field(fields, path, n_path, tn_arena_strdup(&scan->arena, name));
    if (out[at].name == NULL) {
      return tn_oom(err);
    }
    if (read_of[path[0]] < 0) {
      read_of[path[0]] = scan->n_read;
      read[scan->n_read++] = fields[path[0]];
    }
    scan->sources[at].column = read_of[path[0]];
    scan->sources[at].n_path = n_path - 1;
    scan->sources[at].path =
        tn_arena_memdup(&scan->arena, path + 1, (size_t)(n_path - 1) * sizeof(*path));
    if (scan->sources[at].path == NULL) {
      return tn_oom(err);
    }
  }
  scan->out_fields = out;
  scan->n_out = (int32_t)n_out;
  scan->read_fields = read;
  return TARN_OK;
}

/* child.valid &= parent.valid */
static tarn_status inherit_nulls(tarn_env *env, const tn_vec *parent, tn_vec *child,
                                 tarn_error *err) {
  tn_buffer *buffer;
  int64_t nulls = 0;
  if (parent->null_count == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create_zeroed(env, TN_BITMAP_BYTES(child->length), &buffer, err));
  for (int64_t i = 0; i < child->length; i++) {
    if (tn_bit_get(parent->valid, i) && (child->valid == NULL || tn_bit_get(child->valid, i))) {
      tn_bit_set(buffer->data, i);
    } else {
      nulls++;
    }
  }
  tn_buffer_release(child->valid_buffer);
  child->valid_buffer = buffer;
  child->valid = buffer->data;
  child->null_count = nulls;
  return TARN_OK;
}

static tarn_status take_out(tarn_env *env, const tn_vec *from, const tn_api_source *source,
                            tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec level;
  memset(&level, 0, sizeof(level));
  TN_TRY(tn_vec_share(env, from, &level, err));
  for (int32_t i = 0; i < source->n_path; i++) {
    tn_vec child;
    memset(&child, 0, sizeof(child));
    st = tn_vec_share(env, &level.children[source->path[i]], &child, err);
    if (st == TARN_OK) {
      st = inherit_nulls(env, &level, &child, err);
    }
    tn_vec_reset(env, &level);
    tn_vec_move(&level, &child);
    if (st != TARN_OK) {
      tn_vec_reset(env, &level);
      return st;
    }
  }
  tn_vec_reset(env, out);
  tn_vec_move(out, &level);
  return TARN_OK;
}

tarn_status tn_api_project(const tarn_scan *scan, tn_batch *read, tn_batch *out, tarn_error *err) {
  int32_t first = scan->with_row_kind ? 1 : 0;
  tarn_status st = TARN_OK;
  TN_TRY_TO(done, tn_batch_init(scan->env, scan->out_fields, scan->n_out, out, err));
  for (int32_t i = 0; i < scan->n_out; i++) {
    const tn_api_source *source = &scan->sources[i];
    TN_TRY_TO(done, take_out(scan->env, &read->columns[source->column + first], source,
                             &out->columns[i], err));
    out->columns[i].type = &scan->out_fields[i].type;
  }
  out->n_rows = read->n_rows;
  out->first_position = read->first_position;
done:
  tn_batch_reset(scan->env, read);
  if (st != TARN_OK) {
    tn_batch_reset(scan->env, out);
  }
  return st;
}
