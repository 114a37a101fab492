/* cancel.h - the inside of tarn_cancel. */
#ifndef TN_BASE_CANCEL_H
#define TN_BASE_CANCEL_H

#include <stdatomic.h>

#include "base/mem.h"

struct tarn_cancel {
  tn_mem *mem;
  atomic_bool is_set;
};

/* Checked per batch and per request; cancel may be NULL. */
static inline tarn_status tn_cancel_check(const tarn_cancel *cancel, tarn_error *err) {
  if (cancel != NULL && atomic_load_explicit(&cancel->is_set, memory_order_relaxed)) {
    return tn_fail(err, TARN_E_CANCELLED, "cancelled by the caller");
  }
  return TARN_OK;
}

#endif
