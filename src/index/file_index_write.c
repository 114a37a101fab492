/* file_index_write.c - the makers of a file's indexes, their values, the container. */
#include "index/file_index_write.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "index/file_index_make.h"

#define MAGIC 0x00054e4ed01a35aeu
#define VERSION 1
#define MAX_BYTES ((size_t)INT32_MAX)

struct tn_index_writer {
  tarn_env *env;
  tn_index_maker *makers;
  int32_t n;
};

tarn_status tn_index_writer_create(tarn_env *env, const tn_index_spec *specs, int32_t n,
                                   tn_index_writer **out, tarn_error *err) {
  tn_index_writer *w = tn_calloc(&env->mem, 1, sizeof(*w));
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->makers = tn_calloc(&env->mem, (size_t)n, sizeof(*w->makers));
  if (w->makers == NULL) {
    tn_index_writer_free(w);
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    tn_index_maker *maker = &w->makers[w->n++];
    tarn_status st;
    *maker = (tn_index_maker){.kind = tn_maker_kind_of(specs[i].kind),
                              .spec = &specs[i],
                              .env = env,
                              .code = tn_index_code_of(specs[i].type)};
    st = maker->kind->create(maker, err);
    if (st != TARN_OK) {
      tn_index_writer_free(w);
      return st;
    }
  }
  *out = w;
  return TARN_OK;
}

void tn_index_writer_free(tn_index_writer *writer) {
  if (writer == NULL) {
    return;
  }
  for (int32_t i = 0; i < writer->n; i++) {
    writer->makers[i].kind->free(&writer->makers[i]);
    tn_unreserve(&writer->env->mem, writer->makers[i].reserved_bytes);
  }
  tn_free(&writer->env->mem, writer->makers);
  tn_free(&writer->env->mem, writer);
}

/* ------------------------------------------------------------------ values */

static tarn_status add_value(tn_index_maker *m, const tn_datum *value, tarn_error *err) {
  if (m->n_rows == INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "column '%s': an index has at most 2^31 - 1 rows",
                   m->spec->name);
  }
  if (!value->is_null) {
    TN_TRY(m->kind->add(m, value, err));
    m->has_value = true;
  } else if (m->kind->add_null != NULL) {
    TN_TRY(m->kind->add_null(m, err));
  }
  m->n_rows++;
  return TARN_OK;
}

static tarn_status add_column(tn_index_maker *m, const tn_vec *vec, int64_t n_rows,
                              tarn_error *err) {
  for (int64_t i = 0; i < n_rows; i++) {
    tn_datum value = tn_vec_datum(vec, i);
    TN_TRY(add_value(m, &value, err));
  }
  return TARN_OK;
}

/* What the map of a row has for the key; null where it has none. */
static tn_datum find_in_map(const tn_vec *map, int64_t row, tn_slice key) {
  const tn_vec *keys = &map->children[0].children[0], *values = &map->children[0].children[1];
  if (!tn_vec_is_null(map, row)) {
    for (int32_t i = map->offsets[row]; i < map->offsets[row + 1]; i++) {
      if (tn_slice_equal(tn_vec_bytes(keys, i), key)) {
        return tn_vec_datum(values, i);
      }
    }
  }
  return (tn_datum){.is_null = true};
}

static tarn_status add_map_key(tn_index_maker *m, const tn_vec *vec, int64_t n_rows,
                               tarn_error *err) {
  bool is_const = vec->encoding == TN_VEC_CONST;
  const tn_vec *map = is_const ? vec->constant : vec;
  for (int64_t i = 0; i < n_rows; i++) {
    tn_datum value = find_in_map(map, is_const ? 0 : i, tn_slice_text(m->spec->map_key));
    TN_TRY(add_value(m, &value, err));
  }
  return TARN_OK;
}

tarn_status tn_index_writer_add(tn_index_writer *writer, const tn_vec *columns, int64_t n_rows,
                                tarn_error *err) {
  for (int32_t i = 0; i < writer->n; i++) {
    tn_index_maker *m = &writer->makers[i];
    const tn_vec *vec = &columns[m->spec->column];
    TN_TRY(m->spec->map_key != NULL ? add_map_key(m, vec, n_rows, err)
                                    : add_column(m, vec, n_rows, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ container */

/* A character beyond U+FFFF as two of three bytes each. */
static void put_surrogates(const uint8_t *p, uint8_t out[6]) {
  uint32_t c = ((uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 |
                (uint32_t)(p[2] & 63) << 6 | (p[3] & 63)) -
               0x10000;
  uint32_t halves[2] = {0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff)};
  for (int i = 0; i < 2; i++) {
    out[3 * i] = (uint8_t)(0xe0 | halves[i] >> 12);
    out[3 * i + 1] = (uint8_t)(0x80 | (halves[i] >> 6 & 63));
    out[3 * i + 2] = (uint8_t)(0x80 | (halves[i] & 63));
  }
}

/* DataOutput.writeUTF: two bytes of length, then modified UTF-8. */
static tarn_status put_utf(tn_buf *out, const char *text, tarn_error *err) {
  size_t start = out->len, n = strlen(text), n_bytes;
  TN_TRY(tn_buf_append(out, "\0\0", 2, err));
  for (size_t i = 0; i < n;) {
    const uint8_t *p = (const uint8_t *)text + i;
    size_t step = tn_utf8_step(p, n - i);
    uint8_t pair[6];
    if (step == 4) {
      put_surrogates(p, pair);
      TN_TRY(tn_buf_append(out, pair, sizeof(pair), err));
    } else {
      step = step == 0 ? 1 : step;
      TN_TRY(tn_buf_append(out, p, step, err));
    }
    i += step;
  }
  n_bytes = out->len - start - 2;
  if (n_bytes > UINT16_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a column with an index has a name of more than 65535 bytes");
  }
  tn_store_be16(out->data + start, (uint16_t)n_bytes);
  return TARN_OK;
}

/* Where the payload of each maker lies in the body; length -1: empty. */
typedef struct payload_place {
  int64_t start, length;
} payload_place;

static tarn_status put_bodies(tn_index_writer *w, payload_place *places, tn_buf *body,
                              tarn_error *err) {
  for (int32_t i = 0; i < w->n; i++) {
    tn_index_maker *m = &w->makers[i];
    places[i] = (payload_place){(int64_t)body->len, -1};
    if (m->spec->map_key == NULL || m->has_value) {
      TN_TRY(m->kind->finish(m, body, err));
      places[i].length = (int64_t)body->len - places[i].start;
    }
  }
  return TARN_OK;
}

/* The first maker of the same column. */
static int32_t first_of_column(const tn_index_writer *w, int32_t i) {
  int32_t first = 0;
  while (strcmp(w->makers[first].spec->name, w->makers[i].spec->name) != 0) {
    first++;
  }
  return first;
}

static tarn_status put_column(const tn_index_writer *w, int32_t first, const payload_place *places,
                              int64_t head_bytes, tn_buf *out, tarn_error *err) {
  int32_t n = 0;
  for (int32_t i = first; i < w->n; i++) {
    n += first_of_column(w, i) == first;
  }
  TN_TRY(put_utf(out, w->makers[first].spec->name, err));
  TN_TRY(tn_put_i32(out, n, err));
  for (int32_t i = first; i < w->n; i++) {
    bool is_empty = places[i].length < 0;
    if (first_of_column(w, i) != first) {
      continue;
    }
    TN_TRY(put_utf(out, w->makers[i].kind->name, err));
    TN_TRY(tn_put_i32(out, is_empty ? -1 : head_bytes + places[i].start, err));
    TN_TRY(tn_put_i32(out, is_empty ? 0 : places[i].length, err));
  }
  return TARN_OK;
}

static tarn_status put_head(const tn_index_writer *w, const payload_place *places,
                            int64_t head_bytes, tn_buf *out, tarn_error *err) {
  int32_t n_columns = 0;
  for (int32_t i = 0; i < w->n; i++) {
    n_columns += first_of_column(w, i) == i;
  }
  TN_TRY(tn_put_i64(out, (int64_t)MAGIC, err));
  TN_TRY(tn_put_i32(out, VERSION, err));
  TN_TRY(tn_put_i32(out, head_bytes, err));
  TN_TRY(tn_put_i32(out, n_columns, err));
  for (int32_t i = 0; i < w->n; i++) {
    if (first_of_column(w, i) == i) {
      TN_TRY(put_column(w, i, places, head_bytes, out, err));
    }
  }
  return tn_put_i32(out, 0, err); /* what newer versions would add */
}

tarn_status tn_index_writer_finish(tn_index_writer *writer, tn_buf *out, tarn_error *err) {
  tn_mem *mem = &writer->env->mem;
  payload_place *places = tn_calloc(mem, (size_t)writer->n, sizeof(*places));
  tn_buf head, body;
  tarn_status st;
  tn_buf_init(&head, mem, MAX_BYTES);
  tn_buf_init(&body, mem, MAX_BYTES);
  if (places == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, put_bodies(writer, places, &body, err));
  /* Once to learn its length, which its numbers are counted from. */
  TN_TRY_TO(done, put_head(writer, places, 0, &head, err));
  TN_TRY_TO(done, put_head(writer, places, (int64_t)head.len, out, err));
  st = tn_buf_append(out, body.data, body.len, err);
done:
  tn_buf_reset(&head);
  tn_buf_reset(&body);
  tn_free(mem, places);
  return st;
}
