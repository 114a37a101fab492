/* dense.c - appending flat, as views or as codes; spreading over slots from the back. */
#include "format/parquet/dense.h"

#include "base/bytes.h"

void tn_pq_dense_init(tn_pq_dense *d, tarn_env *env, const tn_type *type,
                      const tn_pq_convert *convert) {
  memset(d, 0, sizeof(*d));
  d->env = env;
  d->type = type;
  d->convert = convert;
}

void tn_pq_dense_reset(tn_pq_dense *d) {
  tn_buffer_release(d->values);
  tn_buffer_release(d->offsets);
  for (int32_t i = 0; i < d->n_retained; i++) {
    tn_buffer_release(d->retained[i]);
  }
  if (d->env != NULL) {
    tn_free(&d->env->mem, d->retained);
  }
  tn_dictionary_release(d->dictionary);
  tn_pq_dense_init(d, d->env, d->type, d->convert);
}

/* ------------------------------------------------------------------ room */

/* Bytes of n values, without those of strings. */
static size_t values_bytes(const tn_pq_dense *d, int64_t n) {
  switch (d->mode) {
    case TN_PQ_MODE_CODES:
      return (size_t)n * sizeof(int32_t);
    case TN_PQ_MODE_VIEWS:
      return (size_t)n * sizeof(tn_view);
    default:
      return d->convert->layout == TN_LAYOUT_BIT ? TN_BITMAP_BYTES(n)
                                                 : (size_t)n * d->convert->out_width;
  }
}

static bool is_flat_bytes(const tn_pq_dense *d) {
  return d->mode == TN_PQ_MODE_FLAT && d->convert->layout == TN_LAYOUT_BYTES;
}

/* Room for `wanted` bytes, `used` of which are kept; grows by half at least. */
static tarn_status make_room(tn_pq_dense *d, tn_buffer **buffer, size_t used, size_t wanted,
                             tarn_error *err) {
  if (*buffer == NULL) {
    return tn_buffer_create(d->env, wanted, buffer, err);
  }
  if (wanted <= (*buffer)->capacity) {
    return TARN_OK;
  }
  if (wanted < used + used / 2) {
    wanted = used + used / 2;
  }
  return tn_buffer_grow(buffer, used, wanted, err);
}

static tarn_status make_values_room(tn_pq_dense *d, int64_t n_more, tarn_error *err) {
  if (is_flat_bytes(d)) {
    return make_room(d, &d->offsets, (size_t)(d->n + 1) * 4, (size_t)(d->n + n_more + 1) * 4, err);
  }
  return make_room(d, &d->values, values_bytes(d, d->n), values_bytes(d, d->n + n_more), err);
}

tarn_status tn_pq_dense_start(tn_pq_dense *d, tn_pq_mode mode, int64_t n_expected,
                              tarn_error *err) {
  d->mode = mode;
  TN_TRY(make_values_room(d, n_expected, err));
  if (is_flat_bytes(d)) {
    TN_TRY(make_room(d, &d->values, 0, 64, err));
    tn_store_le32(d->offsets->data, 0);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ appending */

static tarn_status too_few(const tn_pq_pages *where, tarn_error *err) {
  return tn_pq_pages_fail(where, err, "fewer values (%s) than its %d entries call for",
                          tn_pq_encoding_name(where->header.encoding), (int)where->header.n_values);
}

static tarn_status misfit(const tn_pq_dense *d, const tn_pq_pages *where, tarn_error *err) {
  return tn_pq_pages_fail(where, err, "a value does not fit the type %s",
                          tn_type_text_of(d->type).text);
}

/* Codes must lie within the dictionary. */
static tarn_status check_codes(const uint32_t *codes, int64_t n, const tn_dictionary *dictionary,
                               const tn_pq_pages *where, tarn_error *err) {
  uint32_t greatest = 0;
  int64_t size = dictionary != NULL ? dictionary->values.length : 0;
  for (int64_t i = 0; i < n; i++) {
    greatest = codes[i] > greatest ? codes[i] : greatest;
  }
  if (n > 0 && greatest >= size) {
    return tn_pq_pages_fail(where, err, "code %u, the dictionary has %lld values%s",
                            (unsigned)greatest, (long long)size,
                            dictionary == NULL ? " (there is none)" : "");
  }
  return TARN_OK;
}

#define GATHER_AS(type)                           \
  {                                               \
    const type *from_values = (const type *)from; \
    type *to_values = (type *)to;                 \
    for (int64_t i = 0; i < n; i++) {             \
      to_values[i] = from_values[codes[i]];       \
    }                                             \
    break;                                        \
  }

/* Buffers are aligned, so are values in them. */
static void gather(const void *from, const uint32_t *codes, int64_t n, uint32_t width, void *to) {
  switch (width) {
    case 1:
      GATHER_AS(int8_t)
    case 2:
      GATHER_AS(int16_t)
    case 4:
      GATHER_AS(int32_t)
    case 8:
      GATHER_AS(int64_t)
    default:
      GATHER_AS(tn_i128)
  }
}

static tarn_status append_from_codes(tn_pq_dense *d, tn_pq_values *v, tn_dictionary *dictionary,
                                     int64_t n, const tn_pq_pages *where, tarn_error *err) {
  uint32_t codes[TN_PQ_BLOCK];
  uint32_t width = d->convert->out_width;
  for (int64_t done = 0; done < n;) {
    int64_t k = n - done < TN_PQ_BLOCK ? n - done : TN_PQ_BLOCK;
    if (tn_pq_values_codes(v, k, codes) != k) {
      return too_few(where, err);
    }
    TN_TRY(check_codes(codes, k, dictionary, where, err));
    gather(dictionary->values.values, codes, k, width,
           d->values->data + (size_t)(d->n + done) * width);
    done += k;
  }
  return TARN_OK;
}

/* Byte strings that stand for numbers. */
static tarn_status append_from_views(tn_pq_dense *d, tn_pq_values *v, int64_t n,
                                     const tn_pq_pages *where, tarn_error *err) {
  tn_view views[TN_PQ_BLOCK];
  uint32_t width = d->convert->out_width;
  for (int64_t done = 0; done < n;) {
    int64_t k = n - done < TN_PQ_BLOCK ? n - done : TN_PQ_BLOCK;
    TN_TRY(tn_pq_values_views(v, k, views, &k, err));
    if (k == 0) {
      return too_few(where, err);
    }
    if (d->convert->from_views(d->convert, views, k,
                               d->values->data + (size_t)(d->n + done) * width) != k) {
      return misfit(d, where, err);
    }
    done += k;
  }
  return TARN_OK;
}

/* Through a small buffer: decode, then convert. */
static tarn_status append_converted(tn_pq_dense *d, tn_pq_values *v, int64_t n,
                                    const tn_pq_pages *where, tarn_error *err) {
  uint8_t raw[16 * TN_PQ_MAX_RAW_BYTES];
  const tn_pq_convert *c = d->convert;
  int64_t most = (int64_t)(sizeof(raw) / c->raw_width);
  for (int64_t done = 0; done < n;) {
    int64_t k = n - done < most ? n - done : most;
    int64_t got;
    TN_TRY(tn_pq_values_fixed(v, k, raw, &got, err));
    if (got != k) {
      return too_few(where, err);
    }
    if (c->convert(c, raw, k, d->values->data + (size_t)(d->n + done) * c->out_width) != k) {
      return misfit(d, where, err);
    }
    done += k;
  }
  return TARN_OK;
}

static tarn_status append_fixed(tn_pq_dense *d, tn_pq_values *v, tn_dictionary *dictionary,
                                int64_t n, const tn_pq_pages *where, tarn_error *err) {
  const tn_pq_convert *c = d->convert;
  uint8_t *out = d->values->data + (size_t)d->n * c->out_width;
  const uint8_t *raw;
  if (v->kind == TN_PQ_VALUES_CODES) {
    return append_from_codes(d, v, dictionary, n, where, err);
  }
  if (c->source == TN_PQ_SOURCE_BYTES) {
    return append_from_views(d, v, n, where, err);
  }
  if (c->convert == NULL) {
    int64_t got;
    TN_TRY(tn_pq_values_fixed(v, n, out, &got, err));
    return got == n ? TARN_OK : too_few(where, err);
  }
  if (v->kind != TN_PQ_VALUES_PLAIN) {
    return append_converted(d, v, n, where, err);
  }
  raw = tn_pq_values_in_place(v, n);
  if (raw == NULL) {
    return too_few(where, err);
  }
  return c->convert(c, raw, n, out) == n ? TARN_OK : misfit(d, where, err);
}

/* Copies of up to 64 bytes go in steps of 16: both sides have room behind their end. */
static void copy_short(uint8_t *to, const uint8_t *from, size_t n) {
  if (TN_LIKELY(n <= 64)) {
    for (size_t i = 0; i < n; i += 16) {
      memcpy(to + i, from + i, 16);
    }
  } else {
    memcpy(to, from, n);
  }
}

static tarn_status append_strings(tn_pq_dense *d, const tn_view *views, int64_t n,
                                  const tn_pq_pages *where, tarn_error *err) {
  int64_t total = 0;
  int32_t *offsets;
  uint8_t *to;
  for (int64_t i = 0; i < n; i++) {
    total += views[i].len;
  }
  if (total > INT32_MAX - d->n_bytes) {
    return tn_fail(err, TARN_E_LIMIT,
                   "%s: column `%s`: more than 2 GiB of values in one row or a few", where->path,
                   where->column);
  }
  TN_TRY(make_room(d, &d->values, (size_t)d->n_bytes, (size_t)(d->n_bytes + total), err));
  offsets = (int32_t *)(void *)d->offsets->data + d->n;
  to = d->values->data + d->n_bytes;
  for (int64_t i = 0; i < n; i++) {
    copy_short(to, views[i].data, (size_t)views[i].len);
    to += views[i].len;
    d->n_bytes += views[i].len;
    offsets[i + 1] = (int32_t)d->n_bytes;
  }
  d->n += n;
  return TARN_OK;
}

/* Views of the dictionary's values. */
static tarn_status view_codes(tn_pq_values *v, tn_dictionary *dictionary, int64_t n, tn_view *views,
                              const tn_pq_pages *where, tarn_error *err) {
  uint32_t codes[TN_PQ_BLOCK];
  const tn_vec *values;
  if (tn_pq_values_codes(v, n, codes) != n) {
    return too_few(where, err);
  }
  TN_TRY(check_codes(codes, n, dictionary, where, err));
  values = &dictionary->values;
  for (int64_t i = 0; i < n; i++) {
    int32_t begin = values->offsets[codes[i]];
    views[i].data = (const uint8_t *)values->values + begin;
    views[i].len = values->offsets[codes[i] + 1] - begin;
  }
  return TARN_OK;
}

static tarn_status append_bytes(tn_pq_dense *d, tn_pq_values *v, tn_dictionary *dictionary,
                                int64_t n, const tn_pq_pages *where, tarn_error *err) {
  tn_view views[TN_PQ_BLOCK];
  for (int64_t done = 0; done < n;) {
    int64_t k = n - done < TN_PQ_BLOCK ? n - done : TN_PQ_BLOCK;
    if (v->kind == TN_PQ_VALUES_CODES) {
      TN_TRY(view_codes(v, dictionary, k, views, where, err));
    } else {
      TN_TRY(tn_pq_values_views(v, k, views, &k, err));
    }
    if (k == 0) {
      return too_few(where, err);
    }
    TN_TRY(append_strings(d, views, k, where, err));
    done += k;
  }
  return TARN_OK;
}

/* Keep a page alive as long as the views into it. */
static tarn_status retain_page(tn_pq_dense *d, const tn_pq_page *page, tarn_error *err) {
  if (d->n_retained > 0 && d->retained[d->n_retained - 1] == page->buffer) {
    return TARN_OK;
  }
  if (d->n_retained == d->retained_capacity) {
    int32_t capacity = d->retained_capacity < 4 ? 4 : d->retained_capacity * 2;
    tn_buffer **grown =
        tn_realloc(&d->env->mem, d->retained, (size_t)capacity * sizeof(*d->retained));
    if (grown == NULL) {
      return tn_oom(err);
    }
    d->retained = grown;
    d->retained_capacity = capacity;
  }
  d->retained[d->n_retained++] = tn_buffer_retain(page->buffer);
  d->n_bytes += (int64_t)page->buffer->capacity;
  return TARN_OK;
}

static tarn_status append_views(tn_pq_dense *d, tn_pq_values *v, const tn_pq_page *page, int64_t n,
                                const tn_pq_pages *where, tarn_error *err) {
  tn_view *out = (tn_view *)(void *)d->values->data + d->n;
  if (n == 0) {
    return TARN_OK;
  }
  TN_TRY(retain_page(d, page, err));
  for (int64_t done = 0; done < n;) {
    int64_t k;
    TN_TRY(tn_pq_values_views(v, n - done, out + done, &k, err));
    if (k == 0) {
      return too_few(where, err);
    }
    done += k;
  }
  d->n += n;
  return TARN_OK;
}

static tarn_status append_codes(tn_pq_dense *d, tn_pq_values *v, tn_dictionary *dictionary,
                                int64_t n, const tn_pq_pages *where, tarn_error *err) {
  uint32_t *out = (uint32_t *)(void *)d->values->data + d->n;
  if (tn_pq_values_codes(v, n, out) != n) {
    return too_few(where, err);
  }
  TN_TRY(check_codes(out, n, dictionary, where, err));
  if (d->dictionary == NULL) {
    d->dictionary = tn_dictionary_retain(dictionary);
  }
  d->n += n;
  return TARN_OK;
}

tarn_status tn_pq_dense_append(tn_pq_dense *d, tn_pq_values *v, const tn_pq_page *page,
                               tn_dictionary *dictionary, int64_t n, const tn_pq_pages *where,
                               tarn_error *err) {
  TN_TRY(d->values == NULL ? tn_pq_dense_start(d, d->mode, n, err) : make_values_room(d, n, err));
  switch (d->mode) {
    case TN_PQ_MODE_VIEWS:
      return append_views(d, v, page, n, where, err);
    case TN_PQ_MODE_CODES:
      return append_codes(d, v, dictionary, n, where, err);
    default:
      break;
  }
  if (d->convert->layout == TN_LAYOUT_BYTES) {
    return append_bytes(d, v, dictionary, n, where, err);
  }
  if (d->convert->layout == TN_LAYOUT_BIT) {
    if (tn_pq_values_bits(v, n, d->values->data, d->n) != n) {
      return too_few(where, err);
    }
  } else {
    TN_TRY(append_fixed(d, v, dictionary, n, where, err));
  }
  d->n += n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ taking */

/* What is behind the first n values, in buffers of its own. The dense buffer keeps that; `front`
 * gets the rest. */
static tarn_status split_off(tn_pq_dense *d, int64_t n, tn_pq_dense *front, tarn_error *err) {
  tarn_status st = TARN_OK;
  int64_t left = d->n - n;
  tn_pq_dense rest;
  *front = *d;
  tn_pq_dense_init(d, front->env, front->type, front->convert);
  d->mode = front->mode;
  front->n = n;
  if (left == 0) {
    return TARN_OK;
  }
  tn_pq_dense_init(&rest, front->env, front->type, front->convert);
  TN_TRY_TO(fail, tn_pq_dense_start(&rest, front->mode, left, err));
  if (is_flat_bytes(front)) {
    const int32_t *offsets = (const int32_t *)(const void *)front->offsets->data + n;
    int32_t *to = (int32_t *)(void *)rest.offsets->data;
    rest.n_bytes = offsets[left] - offsets[0];
    TN_TRY_TO(fail, make_room(&rest, &rest.values, 0, (size_t)rest.n_bytes, err));
    memcpy(rest.values->data, front->values->data + offsets[0], (size_t)rest.n_bytes);
    for (int64_t i = 0; i <= left; i++) {
      to[i] = offsets[i] - offsets[0];
    }
    front->n_bytes = offsets[0];
  } else if (front->mode == TN_PQ_MODE_FLAT && front->convert->layout == TN_LAYOUT_BIT) {
    for (int64_t i = 0; i < left; i++) {
      tn_bit_put(rest.values->data, i, tn_bit_get(front->values->data, n + i));
    }
  } else {
    memcpy(rest.values->data, front->values->data + values_bytes(front, n),
           values_bytes(front, left));
  }
  for (int32_t i = 0; i < front->n_retained; i++) {
    tn_pq_page page = {.buffer = front->retained[i]};
    TN_TRY_TO(fail, retain_page(&rest, &page, err));
  }
  rest.dictionary = tn_dictionary_retain(front->dictionary);
  rest.n = left;
  *d = rest;
  return TARN_OK;
fail:
  tn_pq_dense_reset(&rest);
  return st;
}

#define SPREAD_AS(type)                   \
  {                                       \
    type *v = (type *)values;             \
    for (int64_t i = n_slots; i-- > 0;) { \
      bool has = tn_bit_get(valid, i);    \
      p -= has;                           \
      v[i] = has ? v[p] : 0;              \
    }                                     \
    break;                                \
  }

/* From the back, in place: slot i never lies before value p. */
static void spread_values(void *values, const uint8_t *valid, int64_t n, int64_t n_slots,
                          size_t width) {
  int64_t p = n;
  switch (width) {
    case 1:
      SPREAD_AS(int8_t)
    case 2:
      SPREAD_AS(int16_t)
    case 4:
      SPREAD_AS(int32_t)
    case 8:
      SPREAD_AS(int64_t)
    default:
      SPREAD_AS(tn_i128)
  }
}

static void spread_bits(uint8_t *bits, const uint8_t *valid, int64_t n, int64_t n_slots) {
  int64_t p = n;
  for (int64_t i = n_slots; i-- > 0;) {
    bool has = tn_bit_get(valid, i);
    p -= has;
    tn_bit_put(bits, i, has && tn_bit_get(bits, p));
  }
}

/* Nulls get empty ranges. */
static void spread_offsets(int32_t *offsets, const uint8_t *valid, int64_t n, int64_t n_slots) {
  int64_t p = n;
  offsets[n_slots] = offsets[n];
  for (int64_t i = n_slots; i-- > 0;) {
    p -= tn_bit_get(valid, i);
    offsets[i] = tn_bit_get(valid, i) ? offsets[p] : offsets[i + 1];
  }
}

static void spread_views(tn_view *views, const uint8_t *valid, int64_t n, int64_t n_slots) {
  static const tn_view none = {(const uint8_t *)"", 0};
  int64_t p = n;
  for (int64_t i = n_slots; i-- > 0;) {
    bool has = tn_bit_get(valid, i);
    p -= has;
    views[i] = has ? views[p] : none;
  }
}

/* Spread the front's n values over the slots; both buffers have room for them. */
static void spread(tn_pq_dense *front, const uint8_t *valid, int64_t n_slots) {
  if (front->mode == TN_PQ_MODE_VIEWS) {
    spread_views((tn_view *)(void *)front->values->data, valid, front->n, n_slots);
  } else if (front->mode == TN_PQ_MODE_CODES) {
    spread_values(front->values->data, valid, front->n, n_slots, sizeof(int32_t));
  } else if (front->convert->layout == TN_LAYOUT_BYTES) {
    spread_offsets((int32_t *)(void *)front->offsets->data, valid, front->n, n_slots);
  } else if (front->convert->layout == TN_LAYOUT_BIT) {
    spread_bits(front->values->data, valid, front->n, n_slots);
  } else {
    spread_values(front->values->data, valid, front->n, n_slots, front->convert->out_width);
  }
}

static tarn_status make_slots(tn_pq_dense *front, int64_t n_slots, tarn_error *err) {
  if (front->values == NULL) {
    return tn_pq_dense_start(front, front->mode, n_slots, err);
  }
  return make_values_room(front, n_slots - front->n, err);
}

/* A vector of codes needs a dictionary, even if all are null. */
static tarn_status empty_dictionary(tn_pq_dense *front, tarn_error *err) {
  tn_vec values;
  if (front->dictionary != NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_init(front->env, front->type, &values, err));
  tarn_status st = tn_vec_alloc(front->env, &values, 0, 0, err);
  if (st != TARN_OK) {
    tn_vec_reset(front->env, &values);
    return st;
  }
  return tn_dictionary_create(front->env, &values, &front->dictionary, err);
}

/* Everything the front holds moves into the vector. */
static void move_out(tn_pq_dense *front, tn_buffer *valid, int64_t n_slots, tn_vec *out) {
  static const tn_vec_encoding encodings[] = {TN_VEC_FLAT, TN_VEC_VIEW, TN_VEC_DICT};
  out->encoding = encodings[front->mode];
  out->length = n_slots;
  out->null_count = n_slots - front->n;
  out->valid_buffer = valid;
  out->valid = valid != NULL ? valid->data : NULL;
  out->values_buffer = front->values;
  out->values = front->values->data;
  out->offsets_buffer = front->offsets;
  out->offsets = front->offsets != NULL ? (int32_t *)(void *)front->offsets->data : NULL;
  out->retained = front->retained;
  out->n_retained = front->n_retained;
  out->retained_capacity = front->retained_capacity;
  out->dictionary = front->dictionary;
  front->values = front->offsets = NULL;
  front->retained = NULL;
  front->n_retained = 0;
  front->dictionary = NULL;
}

tarn_status tn_pq_dense_take(tn_pq_dense *d, int64_t n, tn_buffer *valid, int64_t n_slots,
                             tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_pq_dense front;
  tn_pq_dense_init(&front, d->env, d->type, d->convert);
  TN_TRY_TO(fail, split_off(d, n, &front, err));
  TN_TRY_TO(fail, make_slots(&front, n_slots, err));
  if (front.mode == TN_PQ_MODE_CODES) {
    TN_TRY_TO(fail, empty_dictionary(&front, err));
  }
  if (n < n_slots) {
    spread(&front, valid->data, n_slots);
  } else {
    tn_buffer_release(valid);
    valid = NULL;
  }
  move_out(&front, valid, n_slots, out);
  tn_pq_dense_reset(&front);
  return TARN_OK;
fail:
  tn_buffer_release(valid);
  tn_pq_dense_reset(&front);
  return st;
}

/* ------------------------------------------------------------------ dictionaries */

/* The least bytes that a value takes in PLAIN. */
static uint64_t least_bytes(const tn_pq_convert *c) {
  return c->source == TN_PQ_SOURCE_BYTES ? 4 : c->raw_width;
}

static tarn_status decode_dictionary(tn_pq_pages *pages, const tn_pq_page *page, tn_pq_dense *dense,
                                     tn_pq_values *values, int64_t n, tarn_error *err) {
  const tn_pq_convert *c = dense->convert;
  const tn_pq_element *e = pages->leaf->element;
  uint32_t width = c->source == TN_PQ_SOURCE_BYTES ? 0 : c->raw_width;
  const char *wrong = tn_pq_values_open(values, e->physical, width, TN_PQ_PLAIN, page->values);
  if (wrong != NULL) {
    return tn_pq_pages_fail(pages, err, "%s", wrong);
  }
  if ((uint64_t)n > page->values.len / least_bytes(c)) {
    return tn_pq_pages_fail(pages, err, "a dictionary of %lld values in %zu bytes", (long long)n,
                            page->values.len);
  }
  TN_TRY(tn_pq_dense_start(dense, TN_PQ_MODE_FLAT, n, err));
  return tn_pq_dense_append(dense, values, page, NULL, n, pages, err);
}

tarn_status tn_pq_dictionary_load(tn_pq_pages *pages, const tn_type *type,
                                  const tn_pq_convert *convert, tn_dictionary **out,
                                  tarn_error *err) {
  tarn_status st = TARN_OK;
  int64_t n = pages->header.n_values;
  tn_pq_page page;
  tn_pq_dense dense;
  tn_pq_values values;
  tn_vec vec;
  *out = NULL;
  memset(&page, 0, sizeof(page));
  memset(&vec, 0, sizeof(vec));
  tn_pq_dense_init(&dense, pages->env, type, convert);
  tn_pq_values_init(&values, &pages->env->mem);
  if (pages->header.encoding != TN_PQ_PLAIN && pages->header.encoding != TN_PQ_PLAIN_DICTIONARY) {
    st = tn_pq_pages_fail(pages, err, "a dictionary of encoding %s (%d)",
                          tn_pq_encoding_name(pages->header.encoding), (int)pages->header.encoding);
    goto done;
  }
  if (convert->source == TN_PQ_SOURCE_BITS) {
    st = tn_pq_pages_fail(pages, err, "booleans have no dictionary");
    goto done;
  }
  TN_TRY_TO(done, tn_pq_pages_load_dictionary(pages, &page.buffer, err));
  page.values = tn_slice_of(page.buffer->data, (size_t)pages->header.uncompressed_bytes);
  TN_TRY_TO(done, decode_dictionary(pages, &page, &dense, &values, n, err));
  TN_TRY_TO(done, tn_vec_init(pages->env, type, &vec, err));
  TN_TRY_TO(done, tn_pq_dense_take(&dense, n, NULL, n, &vec, err));
  st = tn_dictionary_create(pages->env, &vec, out, err);
  memset(&vec, 0, sizeof(vec));  // moved, whatever the result
done:
  tn_vec_reset(pages->env, &vec);
  tn_pq_values_reset(&values);
  tn_pq_dense_reset(&dense);
  tn_pq_page_reset(&page);
  return st;
}
