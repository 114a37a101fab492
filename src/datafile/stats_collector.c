/* stats_collector.c - running bounds, cutting them, their rows. */
#include "datafile/stats_collector.h"

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/utf8.h"

/* ------------------------------------------------------------------ modes */

tarn_status tn_stats_mode_parse(const char *text, tn_stats_mode *out, tarn_error *err) {
  static const struct {
    const char *name;
    tn_stats_kind kind;
  } plain[] = {{"none", TN_STATS_NONE}, {"counts", TN_STATS_COUNTS}, {"full", TN_STATS_FULL}};
  static const char prefix[] = "truncate(";
  tn_slice s = tn_slice_text(text);
  int64_t length = 0;
  size_t at = sizeof(prefix) - 1;
  for (size_t i = 0; i < TN_COUNT(plain); i++) {
    if (tn_slice_is_nocase(s, plain[i].name)) {
      *out = (tn_stats_mode){plain[i].kind, 0};
      return TARN_OK;
    }
  }
  if (s.len > at && tn_slice_is_nocase(tn_slice_of(s.data, at), prefix)) {
    for (; at < s.len && tn_is_digit(s.data[at]) && length <= INT32_MAX; at++) {
      length = length * 10 + (s.data[at] - '0');
    }
    if (at + 1 == s.len && s.data[at] == ')' && length > 0 && length <= INT32_MAX) {
      *out = (tn_stats_mode){TN_STATS_TRUNCATE, (int32_t)length};
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_INVALID,
                 "'%s' is no mode of statistics; it is one of none, counts, truncate(n), full",
                 text);
}

bool tn_stats_has_bounds(const tn_type *type) {
  return type->root <= TN_VARCHAR || (type->root >= TN_DATE && type->root <= TN_TIMESTAMP_LTZ);
}

/* ------------------------------------------------------------------ gathering */

typedef struct column_bounds {
  tn_datum min, max; /* bytes lie in the buffers */
  tn_buf min_bytes, max_bytes;
  int64_t null_count;
  bool has_bounds;
} column_bounds;

struct tn_stats_collector {
  tarn_env *env;
  const tn_field *fields;
  const tn_stats_mode *modes;
  column_bounds *columns;
  int32_t n_fields;
  int64_t n_rows;
};

tarn_status tn_stats_collector_create(tarn_env *env, const tn_field *fields, int32_t n_fields,
                                      const tn_stats_mode *modes, tn_stats_collector **out,
                                      tarn_error *err) {
  tn_stats_collector *c = tn_calloc(&env->mem, 1, sizeof(*c));
  *out = NULL;
  if (c == NULL) {
    return tn_oom(err);
  }
  *c = (tn_stats_collector){.env = env, .fields = fields, .modes = modes, .n_fields = n_fields};
  c->columns = tn_calloc(&env->mem, (size_t)n_fields, sizeof(*c->columns));
  if (c->columns == NULL) {
    tn_free(&env->mem, c);
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_fields; i++) {
    tn_buf_init(&c->columns[i].min_bytes, &env->mem, (size_t)INT32_MAX);
    tn_buf_init(&c->columns[i].max_bytes, &env->mem, (size_t)INT32_MAX);
  }
  *out = c;
  return TARN_OK;
}

void tn_stats_collector_free(tn_stats_collector *collector) {
  if (collector == NULL) {
    return;
  }
  for (int32_t i = 0; i < collector->n_fields; i++) {
    tn_buf_reset(&collector->columns[i].min_bytes);
    tn_buf_reset(&collector->columns[i].max_bytes);
  }
  tn_free(&collector->env->mem, collector->columns);
  tn_free(&collector->env->mem, collector);
}

/* The least and the greatest value of a vector, borrowed from it; false: it holds none. */
static bool bounds_of(const tn_type *type, const tn_vec *vec, tn_datum *min, tn_datum *max) {
  int64_t n = vec->encoding == TN_VEC_CONST && vec->length > 0 ? 1 : vec->length, i = 0;
  while (i < n && vec->null_count > 0 && tn_vec_is_null(vec, i)) {
    i++;
  }
  if (i >= n) {
    return false;
  }
  *min = *max = tn_vec_datum(vec, i);
  for (i++; i < n; i++) {
    tn_datum value = tn_vec_datum(vec, i);
    if (value.is_null) {
      continue;
    }
    if (tn_datum_compare(type, &value, min) < 0) {
      *min = value;
    } else if (tn_datum_compare(type, &value, max) > 0) {
      *max = value;
    }
  }
  return true;
}

static tarn_status keep_bound(const tn_type *type, const tn_datum *from, tn_datum *to,
                              tn_buf *bytes, tarn_error *err) {
  if (tn_type_is_string(type)) {
    bytes->len = 0;
    TN_TRY(tn_buf_append(bytes, from->v.bytes.data, from->v.bytes.len, err));
    *to = (tn_datum){.v.bytes = tn_buf_slice(bytes)};
  } else {
    *to = *from;
  }
  return TARN_OK;
}

tarn_status tn_stats_collector_add(tn_stats_collector *collector, const tn_batch *batch,
                                   tarn_error *err) {
  for (int32_t i = 0; i < collector->n_fields; i++) {
    const tn_type *type = &collector->fields[i].type;
    column_bounds *b = &collector->columns[i];
    tn_datum min, max;
    if (collector->modes[i].kind == TN_STATS_NONE) {
      continue;
    }
    b->null_count += batch->columns[i].null_count;
    if (collector->modes[i].kind == TN_STATS_COUNTS || !tn_stats_has_bounds(type) ||
        !bounds_of(type, &batch->columns[i], &min, &max)) {
      continue;
    }
    if (!b->has_bounds || tn_datum_compare(type, &min, &b->min) < 0) {
      TN_TRY(keep_bound(type, &min, &b->min, &b->min_bytes, err));
    }
    if (!b->has_bounds || tn_datum_compare(type, &max, &b->max) > 0) {
      TN_TRY(keep_bound(type, &max, &b->max, &b->max_bytes, err));
    }
    b->has_bounds = true;
  }
  collector->n_rows += batch->n_rows;
  return TARN_OK;
}

void tn_stats_collector_stat(const tn_stats_collector *collector, int32_t i, tn_stat *out) {
  const column_bounds *b = &collector->columns[i];
  *out = (tn_stat){.has_bounds = b->has_bounds,
                   .min = b->min,
                   .max = b->max,
                   .null_count = b->null_count,
                   .row_count = collector->n_rows};
}

/* ------------------------------------------------------------------ cutting */

/* The first n characters of a text. */
static tn_slice head_of(tn_slice text, int32_t n) {
  size_t at = 0;
  for (int32_t i = 0; i < n && at < text.len; i++) {
    at += tn_utf8_java_step(text.data + at, text.len - at);
  }
  return tn_slice_of(text.data, at);
}

/* The least text above all that begin with `head`: its last character that can be raised is, and
 * what follows it is left out. *found false: no character can be raised. */
static tarn_status raise(tn_arena *arena, tn_slice head, tn_slice *out, bool *found,
                         tarn_error *err) {
  size_t end = head.len;
  *found = false;
  while (end > 0) {
    size_t start = end - 1, n;
    while (start > 0 && end - start < 4 && (head.data[start] & 0xc0) == 0x80) {
      start--;
    }
    n = tn_utf8_step(head.data + start, end - start);
    if (n == end - start) {
      uint32_t c = tn_utf8_next_point(tn_utf8_point(head.data + start, n));
      if (c <= 0x10ffff) {
        uint8_t *text = tn_arena_alloc(arena, start + 4);
        if (text == NULL) {
          return tn_oom(err);
        }
        memcpy(text, head.data, start);
        *out = tn_slice_of(text, start + tn_utf8_put(c, text + start));
        *found = true;
        return TARN_OK;
      }
      end = start;
    } else {
      end--; /* no character: it is not raised */
    }
  }
  return TARN_OK;
}

tarn_status tn_stats_cut(tn_arena *arena, tn_stats_mode mode, const tn_type *type,
                         const tn_stat *stat, tn_column_stats *out, tarn_error *err) {
  *out = (tn_column_stats){.null_count = INT64_MIN};
  if (mode.kind == TN_STATS_NONE) {
    return TARN_OK;
  }
  out->is_kept = true;
  out->null_count = stat->null_count < 0 ? INT64_MIN : stat->null_count;
  if (mode.kind == TN_STATS_COUNTS || !stat->has_bounds || !tn_stats_has_bounds(type)) {
    return TARN_OK;
  }
  out->min = stat->min;
  out->max = stat->max;
  out->has_bounds = true;
  if (mode.kind == TN_STATS_TRUNCATE && tn_type_is_string(type)) {
    tn_slice head = head_of(stat->max.v.bytes, mode.length);
    out->min.v.bytes = head_of(stat->min.v.bytes, mode.length);
    if (head.len < stat->max.v.bytes.len) {
      TN_TRY(raise(arena, head, &out->max.v.bytes, &out->has_bounds, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

/* One of the two rows, its arity in front. */
static tarn_status put_row(tn_arena *arena, const tn_field *fields, const tn_column_stats *stats,
                           int32_t n, int32_t n_kept, bool is_dense, bool is_max, tn_buf *buf,
                           tn_slice *out, tarn_error *err) {
  static const tn_datum null = {.is_null = true};
  uint8_t arity[4];
  tn_binary_row_writer w;
  int32_t at = 0;
  buf->len = 0;
  tn_store_be32(arity, (uint32_t)n_kept);
  TN_TRY(tn_buf_append(buf, arity, sizeof(arity), err));
  TN_TRY(tn_binary_row_begin(&w, buf, n_kept, err));
  for (int32_t i = 0; i < n; i++) {
    const tn_column_stats *s = &stats[i];
    if (is_dense && !s->is_kept) {
      continue;
    }
    if (tn_stats_has_bounds(&fields[i].type)) {
      const tn_datum *value = !s->has_bounds ? &null : is_max ? &s->max : &s->min;
      TN_TRY(tn_binary_row_set(&w, at, &fields[i].type, value, err));
    } else {
      tn_binary_row_set_null(&w, at);
    }
    at++;
  }
  return tn_arena_slice(arena, tn_buf_slice(buf), out) ? TARN_OK : tn_oom(err);
}

static tarn_status put_counts(tn_arena *arena, const tn_field *fields, const tn_column_stats *stats,
                              int32_t n, int32_t n_kept, bool is_dense, tn_simple_stats *out,
                              tn_record_array *columns, bool *has_columns, tarn_error *err) {
  int64_t *counts = tn_arena_calloc(arena, (size_t)n_kept, sizeof(*counts));
  tn_slice *names = tn_arena_calloc(arena, (size_t)n_kept, sizeof(*names));
  int32_t at = 0;
  if (counts == NULL || names == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    if (!is_dense || stats[i].is_kept) {
      names[at] = tn_slice_text(fields[i].name);
      counts[at++] = stats[i].null_count;
    }
  }
  out->null_counts = (tn_record_array){counts, n_kept};
  out->has_null_counts = true;
  *has_columns = is_dense && n_kept < n;
  *columns = *has_columns ? (tn_record_array){names, n_kept} : (tn_record_array){NULL, 0};
  return TARN_OK;
}

tarn_status tn_stats_record(tn_arena *arena, const tn_field *fields, const tn_column_stats *stats,
                            int32_t n, bool is_dense, tn_simple_stats *out,
                            tn_record_array *columns, bool *has_columns, tarn_error *err) {
  tarn_status st;
  tn_buf buf;
  int32_t n_kept = n;
  for (int32_t i = 0; is_dense && i < n; i++) {
    n_kept -= !stats[i].is_kept;
  }
  tn_buf_init(&buf, arena->mem, (size_t)INT32_MAX);
  TN_TRY_TO(done,
            put_row(arena, fields, stats, n, n_kept, is_dense, false, &buf, &out->min_values, err));
  TN_TRY_TO(done,
            put_row(arena, fields, stats, n, n_kept, is_dense, true, &buf, &out->max_values, err));
  st = put_counts(arena, fields, stats, n, n_kept, is_dense, out, columns, has_columns, err);
done:
  tn_buf_reset(&buf);
  return st;
}
