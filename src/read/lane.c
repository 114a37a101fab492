/* lane.c - reading the pieces of a lane. */
#include "read/lane.h"

#include <string.h>

#include "plan/evolution.h"

int64_t tn_file_first_row(const tn_data_file *file) {
  int64_t first, last;
  return tn_data_file_row_ids(file, &first, &last) ? first : 0;
}

/* ------------------------------------------------------------------ wanted rows */

/* The range that holds `row` or comes first behind it. */
static size_t find_range(const tn_ranges *ranges, int64_t row) {
  size_t low = 0, high = ranges->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges->items[middle].end <= row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int64_t count_wanted(const tn_ranges *ranges, int64_t begin, int64_t end) {
  int64_t n = 0;
  for (size_t i = find_range(ranges, begin); i < ranges->count && ranges->items[i].begin < end;
       i++) {
    int64_t from = ranges->items[i].begin > begin ? ranges->items[i].begin : begin;
    int64_t to = ranges->items[i].end < end ? ranges->items[i].end : end;
    n += to - from;
  }
  return n;
}

/* ------------------------------------------------------------------ pieces */

/* Positions in the piece's file of the wanted rows from `row` on. */
static tarn_status find_positions(const tn_lane *l, int64_t row, tn_ranges *out, tarn_error *err) {
  const tn_lane_piece *piece = &l->pieces[l->piece];
  int64_t first = tn_file_first_row(&l->split->files[piece->file]);
  for (size_t i = find_range(l->wanted, row);
       i < l->wanted->count && l->wanted->items[i].begin < piece->end; i++) {
    int64_t from = l->wanted->items[i].begin > row ? l->wanted->items[i].begin : row;
    int64_t to = l->wanted->items[i].end < piece->end ? l->wanted->items[i].end : piece->end;
    TN_TRY(tn_ranges_add(out, from - first, to - first, err));
  }
  return TARN_OK;
}

static tarn_status open_piece(tn_lane *l, int64_t row, tarn_error *err) {
  const tn_lane_piece *piece = &l->pieces[l->piece];
  tn_ranges positions;
  tn_open_request q = {
      .context = l->c,
      .split = l->split,
      .index = piece->file,
      .shape = l->shape,
      .rows = &positions,
      .gives_deleted = true,
      .wants_flat = l->wants_flat,
      .batch_rows = l->max_rows,
  };
  tarn_status st;
  tn_ranges_init(&positions, &l->c->env->mem);
  st = find_positions(l, row, &positions, err);
  if (st == TARN_OK) {
    st = tn_open_file_open(&q, &l->file, err);
  }
  tn_ranges_reset(&positions);
  l->next_row = row;
  return st;
}

static void choose_batch_rows(tn_lane *l) {
  const tn_data_file *file = &l->split->files[l->pieces[l->piece].file];
  l->max_rows = tn_is_blob_file(file->file_name)
                    ? l->c->batch_rows /* its reader knows how large they are */
                    : tn_file_batch_rows(l->c, file, l->c->batch_rows,
                                         (int64_t)(l->c->env->mem.budget_bytes / 16));
}

/* Drop what lies before `row`. */
static tarn_status seek(tn_lane *l, int64_t row, tarn_error *err) {
  if (l->pending.n_rows > 0) {
    if (row < l->first_row + l->pending.n_rows) {
      l->off = row - l->first_row;
      return TARN_OK;
    }
    tn_batch_reset(l->c->env, &l->pending);
    l->off = 0;
  }
  if (row >= l->pieces[l->piece].end) {
    tn_open_file_close(&l->file);
    while (l->piece + 1 < l->n_pieces && row >= l->pieces[l->piece].end) {
      l->piece++;
    }
  }
  if (l->file.reader != NULL && l->next_row < row) {
    int64_t n = count_wanted(l->wanted, l->next_row, row);
    l->next_row = row;
    return n > 0 ? tn_data_reader_skip(l->file.reader, n, err) : TARN_OK;
  }
  return TARN_OK;
}

/* The next batch of the piece's file into pending. */
static tarn_status read_pending(tn_lane *l, int64_t row, int64_t most, tarn_error *err) {
  if (l->file.reader == NULL) {
    choose_batch_rows(l);
    TN_TRY(open_piece(l, row, err));
  }
  for (;;) {
    const uint8_t *alive;
    tarn_status st = tn_data_reader_next(l->file.reader, most < l->max_rows ? most : l->max_rows,
                                         &l->pending, &alive, err);
    if (st != TARN_E_LIMIT || l->max_rows <= TN_LEAST_ROWS) {
      return st;
    }
    /* Rows are larger than guessed: once more, in smaller batches. */
    tn_open_file_close(&l->file);
    l->max_rows = l->max_rows / 8 > TN_LEAST_ROWS ? l->max_rows / 8 : TN_LEAST_ROWS;
    TN_TRY(open_piece(l, row, err));
  }
}

tarn_status tn_lane_fill(tn_lane *l, int64_t row, int64_t most, int64_t *n, tarn_error *err) {
  const tn_lane_piece *piece;
  TN_TRY(seek(l, row, err));
  piece = &l->pieces[l->piece];
  if (l->pending.n_rows == 0 && piece->file < 0) {
    *n = most < piece->end - row ? most : piece->end - row;
    return TARN_OK;
  }
  if (l->pending.n_rows == 0) {
    TN_TRY(read_pending(l, row, most, err));
    l->off = 0;
    l->first_row = row;
    l->next_row = row + l->pending.n_rows;
    if (l->pending.n_rows > 0 &&
        l->pending.first_position + tn_file_first_row(&l->split->files[piece->file]) != row) {
      return TN_BUG(err, "a file that is read at another row");
    }
  }
  *n = l->pending.n_rows - l->off;
  *n = *n < most ? *n : most;
  return TARN_OK;
}

/* ------------------------------------------------------------------ taking */

bool tn_lane_is_heavy(const tn_lane *l, int64_t row) {
  for (int32_t i = l->piece; i < l->n_pieces; i++) {
    if (row < l->pieces[i].end) {
      int32_t file = l->pieces[i].file;
      return file >= 0 && tn_is_blob_file(l->split->files[file].file_name);
    }
  }
  return false;
}

tn_vec *tn_lane_column(tn_lane *l, int32_t i) {
  return l->pending.n_rows > 0 ? &l->pending.columns[i] : NULL;
}

bool tn_lane_is_whole(const tn_lane *l, int64_t n) {
  return l->off == 0 && l->pending.n_rows == n;
}

void tn_lane_take(tn_lane *l, int64_t n) {
  l->off += n;
  if (l->pending.n_rows > 0 && l->off == l->pending.n_rows) {
    tn_batch_reset(l->c->env, &l->pending);
    l->off = 0;
  }
}

void tn_lane_close(tn_lane *l) {
  if (l->c != NULL) {
    tn_batch_reset(l->c->env, &l->pending);
    tn_open_file_close(&l->file);
  }
  memset(l, 0, sizeof(*l));
}
