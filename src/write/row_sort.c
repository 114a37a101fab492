/* row_sort.c - the rows of a bucket in the order of their keys.
 *
 * Rows are sorted by the prefixes of their keys: by a radix sort, least significant digit first,
 * which passes over bits that all prefixes share and is stable, so that equal keys keep the order
 * in which they came. Where prefixes do not tell all, runs of equal ones are merge-sorted by whole
 * keys and user sequence fields.
 */
#include <string.h>

#include "merge/key.h"
#include "write/write_parts.h"

#define FEW_ROWS 64

/* ------------------------------------------------------------------ prefixes */

static void sort_few(tn_sort_row *rows, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    tn_sort_row row = rows[i];
    int64_t at = i;
    while (at > 0 && rows[at - 1].prefix > row.prefix) {
      rows[at] = rows[at - 1];
      at--;
    }
    rows[at] = row;
  }
}

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

/* One pass by the digit at `shift`; count[k]: rows whose digit is k. */
static void radix_pass(const tn_sort_row *from, tn_sort_row *to, int64_t n, int shift,
                       uint32_t *count) {
  uint32_t sum = 0;
  for (int k = 0; k < DIGITS; k++) {
    uint32_t begin = sum;
    sum += count[k];
    count[k] = begin;
  }
  for (int64_t i = 0; i < n; i++) {
    to[count[(from[i].prefix >> shift) & (DIGITS - 1)]++] = from[i];
  }
}

/* Digits are laid from the lowest bit in which prefixes differ to the highest one. */
static void radix_sort(tn_sort_row *rows, tn_sort_row *scratch, int64_t n) {
  uint32_t counts[DIGITS];
  tn_sort_row *from = rows, *to = scratch, *swap;
  uint64_t differing = 0;
  for (int64_t i = 1; i < n; i++) {
    differing |= rows[i].prefix ^ rows[0].prefix;
  }
  while (differing != 0) {
    int shift = __builtin_ctzll(differing);
    shift = shift < 64 - DIGIT_BITS ? shift : 64 - DIGIT_BITS;
    memset(counts, 0, sizeof(counts));
    for (int64_t i = 0; i < n; i++) {
      counts[(from[i].prefix >> shift) & (DIGITS - 1)]++;
    }
    radix_pass(from, to, n, shift, counts);
    swap = from;
    from = to;
    to = swap;
    differing &= ~((uint64_t)(DIGITS - 1) << shift);
  }
  if (from != rows) {
    memcpy(rows, from, (size_t)n * sizeof(*rows));
  }
}

static bool is_ascending(const tn_sort_row *rows, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    if (rows[i].prefix < rows[i - 1].prefix) {
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------------------ whole keys */

static int compare_keys(const tn_row_order *o, tn_row_ref x, tn_row_ref y) {
  return tn_key_compare(&o->keys[x.source], x.row, &o->keys[y.source], y.row, o->n_keys);
}

/* Of rows with equal prefixes: key, then sequence fields; nulls of these are the oldest in both
 * directions. Spec: merge-engines, 2. */
static int compare_rows(const tn_row_order *o, const tn_sort_row *a, const tn_sort_row *b) {
  tn_row_ref x = tn_row_place(o->places, a->at), y = tn_row_place(o->places, b->at);
  int order = o->is_exact ? 0 : compare_keys(o, x, y);
  for (int32_t c = 0; c < o->n_sequence_fields && order == 0; c++) {
    const tn_vec *u = &o->keys[x.source].columns[o->n_keys + c];
    const tn_vec *v = &o->keys[y.source].columns[o->n_keys + c];
    order = tn_key_compare_value(u, x.row, v, y.row);
    if (order != 0 && o->is_descending && !tn_vec_is_null(u, x.row) && !tn_vec_is_null(v, y.row)) {
      order = -order;
    }
  }
  return order;
}

/* Stable: runs of doubled length, from `rows` to `scratch` and back. */
static void merge_sort(const tn_row_order *o, tn_sort_row *rows, tn_sort_row *scratch, int64_t n) {
  tn_sort_row *from = rows, *to = scratch, *swap;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      int64_t middle = begin + width < n ? begin + width : n;
      int64_t end = begin + 2 * width < n ? begin + 2 * width : n;
      int64_t i = begin, k = middle, at = begin;
      if (middle == end || compare_rows(o, &from[middle - 1], &from[middle]) <= 0) {
        memcpy(to + begin, from + begin, (size_t)(end - begin) * sizeof(*to));
        continue;
      }
      while (i < middle && k < end) {
        to[at++] = compare_rows(o, &from[i], &from[k]) <= 0 ? from[i++] : from[k++];
      }
      memcpy(to + at, from + i, (size_t)(middle - i) * sizeof(*to));
      memcpy(to + at + (middle - i), from + k, (size_t)(end - k) * sizeof(*to));
    }
    swap = from;
    from = to;
    to = swap;
  }
  if (from != rows) {
    memcpy(rows, from, (size_t)n * sizeof(*rows));
  }
}

bool tn_rows_same_key(const tn_row_order *order, const tn_sort_row *a, const tn_sort_row *b) {
  return a->prefix == b->prefix &&
         (order->is_exact || compare_keys(order, tn_row_place(order->places, a->at),
                                          tn_row_place(order->places, b->at)) == 0);
}

void tn_rows_sort(const tn_row_order *order, tn_sort_row *rows, tn_sort_row *scratch, int64_t n) {
  if (n > FEW_ROWS) {
    if (!is_ascending(rows, n)) {
      radix_sort(rows, scratch, n);
    }
  } else {
    sort_few(rows, n);
  }
  if (order->is_exact && order->n_sequence_fields == 0) {
    return;
  }
  for (int64_t begin = 0, end; begin < n; begin = end) {
    end = begin + 1;
    while (end < n && rows[end].prefix == rows[begin].prefix) {
      end++;
    }
    if (end - begin > 1) {
      merge_sort(order, rows + begin, scratch, end - begin);
    }
  }
}
