/* write_bytes.c - doubling, and pieces that double up to 1 MiB. */
#include "format/parquet/write_bytes.h"

#include "base/checked.h"

#define MIN_BYTES 256
#define MIN_PIECE_BYTES ((size_t)1 << 10)
#define MAX_PIECE_BYTES ((size_t)1 << 20)

void tn_pq_bytes_reset(tn_pq_bytes *bytes) {
  tn_buffer_release(bytes->buffer);
  *bytes = (tn_pq_bytes){.env = bytes->env, .head = bytes->head};
}

tarn_status tn_pq_bytes_grow(tn_pq_bytes *bytes, size_t more, tarn_error *err) {
  size_t wanted, doubled = 2 * bytes->capacity;
  if (!tn_add_size(bytes->len, more, &wanted)) {
    return tn_oom(err);
  }
  wanted = wanted > doubled ? wanted : doubled;
  wanted = wanted > MIN_BYTES ? wanted : MIN_BYTES;
  if (!tn_add_size(wanted, bytes->head, &wanted)) {
    return tn_oom(err);
  }
  if (bytes->buffer == NULL) {
    TN_TRY(tn_buffer_create(bytes->env, wanted, &bytes->buffer, err));
  } else {
    TN_TRY(tn_buffer_grow(&bytes->buffer, bytes->head + bytes->len, wanted, err));
  }
  bytes->data = bytes->buffer->data + bytes->head;
  bytes->capacity = bytes->buffer->capacity - bytes->head;
  return TARN_OK;
}

tarn_status tn_pq_bytes_append(tn_pq_bytes *bytes, const void *data, size_t n_bytes,
                               tarn_error *err) {
  TN_TRY(tn_pq_bytes_reserve(bytes, n_bytes, err));
  if (n_bytes > 0) {
    memcpy(bytes->data + bytes->len, data, n_bytes);
    bytes->len += n_bytes;
  }
  return TARN_OK;
}

void tn_pq_pieces_reset(tn_pq_pieces *pieces) {
  if (pieces->env == NULL) {
    return; /* it was never begun */
  }
  for (size_t i = 0; i < pieces->count; i++) {
    tn_buffer_release(pieces->items[i].buffer);
  }
  tn_free(&pieces->env->mem, pieces->items);
  tn_pq_pieces_init(pieces, pieces->env);
}

static tarn_status add_piece(tn_pq_pieces *pieces, size_t n_bytes, tarn_error *err) {
  size_t wanted = pieces->len < MIN_PIECE_BYTES   ? MIN_PIECE_BYTES
                  : pieces->len < MAX_PIECE_BYTES ? pieces->len
                                                  : MAX_PIECE_BYTES;
  if (pieces->count == pieces->capacity) {
    size_t capacity = pieces->capacity > 0 ? 2 * pieces->capacity : 4;
    tn_pq_piece *items = tn_realloc(&pieces->env->mem, pieces->items, capacity * sizeof(*items));
    if (items == NULL) {
      return tn_oom(err);
    }
    pieces->items = items;
    pieces->capacity = capacity;
  }
  if (pieces->len == 0 && n_bytes < MIN_PIECE_BYTES) {
    wanted = n_bytes;  // many columns of few rows
  }
  pieces->items[pieces->count].len = 0;
  TN_TRY(tn_buffer_create(pieces->env, wanted, &pieces->items[pieces->count].buffer, err));
  pieces->count++;
  return TARN_OK;
}

tarn_status tn_pq_pieces_append(tn_pq_pieces *pieces, const void *data, size_t n_bytes,
                                tarn_error *err) {
  const uint8_t *from = data;
  while (n_bytes > 0) {
    tn_pq_piece *last = pieces->count > 0 ? &pieces->items[pieces->count - 1] : NULL;
    size_t n;
    if (last == NULL || last->len == last->buffer->capacity) {
      TN_TRY(add_piece(pieces, n_bytes, err));
      last = &pieces->items[pieces->count - 1];
    }
    n = last->buffer->capacity - last->len;
    n = n < n_bytes ? n : n_bytes;
    memcpy(last->buffer->data + last->len, from, n);
    last->len += n;
    pieces->len += n;
    from += n;
    n_bytes -= n;
  }
  return TARN_OK;
}
