/* rowkind.h - the four kinds of a row. Rule: org.apache.paimon.types.RowKind. */
#ifndef TN_COLUMN_ROWKIND_H
#define TN_COLUMN_ROWKIND_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_row_kind {
  TN_ROW_INSERT = 0,        /* +I */
  TN_ROW_UPDATE_BEFORE = 1, /* -U */
  TN_ROW_UPDATE_AFTER = 2,  /* +U */
  TN_ROW_DELETE = 3         /* -D */
} tn_row_kind;

static inline bool tn_row_kind_is_retract(int8_t kind) {
  return (kind & 1) != 0;
}

#endif
