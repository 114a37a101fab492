/* arrow_rows.h - rows of lookup files as an Arrow array, without vectors in between. Internal.
 *
 * The array and its children are one block of memory, counted: a child that was moved out keeps it,
 * on any thread.
 */
#ifndef TN_LOOKUP_ARROW_ROWS_H
#define TN_LOOKUP_ARROW_ROWS_H

#include "lookup/lookup_file.h"
#include "tarn/arrow.h"

/* Can columns of this type leave as they are stored? */
bool tn_row_type_is_plain(const tn_type *type);

typedef struct tn_rows_shape {
  const tn_lookup_layout *layout;
  const int32_t *stored_out; /* of each stored column the place among the wanted ones; -1: none */
  int32_t n_out;             /* all of them plain */
} tn_rows_shape;

/* n rows; those that no file holds lie in `bytes`. out->release is set on success only. Memory of
 * the call comes from the arena. Errors: CORRUPT, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_rows_to_array(tarn_env *env, tn_arena *arena, const tn_rows_shape *shape,
                                        const tn_lookup_row *const *rows, int64_t n,
                                        const tn_buf *bytes, struct ArrowArray *out,
                                        tarn_error *err);

#endif
