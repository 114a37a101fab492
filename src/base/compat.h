/* compat.h - the only place that asks which compiler this is. */
#ifndef TN_BASE_COMPAT_H
#define TN_BASE_COMPAT_H

#include "tarn/visibility.h"

#define TN_CHECKED __attribute__((warn_unused_result))
#define TN_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define TN_LIKELY(x) __builtin_expect(!!(x), 1)
#define TN_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TN_ALIGNED(n) __attribute__((aligned(n)))
#define TN_NOINLINE __attribute__((noinline))
#define TN_ALWAYS_INLINE inline __attribute__((always_inline))
#define TN_RESTRICT restrict
#define TN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of type `type` whose member `member` is at `ptr`. */
#define TN_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

/* Aligned to 8, so that structs which hold one can live in an arena. */
__extension__ typedef __int128 tn_i128 __attribute__((aligned(8)));
__extension__ typedef unsigned __int128 tn_u128 __attribute__((aligned(8)));

#if defined(__x86_64__)
#define TN_X86_64 1
#else
#define TN_X86_64 0
#endif

#endif
