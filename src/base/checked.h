/* checked.h - sizes from files go through these: a sum or product that does not fit is false. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compat.h"

TN_CHECKED static inline bool tn_add_size(size_t a, size_t b, size_t *sum) {
  return !__builtin_add_overflow(a, b, sum);
}

TN_CHECKED static inline bool tn_mul_size(size_t a, size_t b, size_t *product) {
  return !__builtin_mul_overflow(a, b, product);
}

TN_CHECKED static inline bool tn_add_i64(int64_t a, int64_t b, int64_t *sum) {
  return !__builtin_add_overflow(a, b, sum);
}

TN_CHECKED static inline bool tn_mul_i64(int64_t a, int64_t b, int64_t *product) {
  return !__builtin_mul_overflow(a, b, product);
}

/* The quotient rounded down; b > 0. */
static inline int64_t tn_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* n rounded up to a multiple of the power of two `to`; n must be far from SIZE_MAX. */
static inline size_t tn_round_up(size_t n, size_t to) {
  return (n + to - 1) & ~(to - 1);
}

#endif
