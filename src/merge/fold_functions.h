/* fold_functions.h - the fold functions of this room, one by one. Internal to merge/. */
#ifndef TN_MERGE_FOLD_FUNCTIONS_H
#define TN_MERGE_FOLD_FUNCTIONS_H

#include "merge/fold.h"

/* fold_pick.c */
extern const tn_fold_function tn_fold_last_value, tn_fold_last_non_null_value, tn_fold_first_value,
    tn_fold_first_non_null_value, tn_fold_first_not_null_value, tn_fold_min, tn_fold_max,
    tn_fold_bool_and, tn_fold_bool_or;
/* fold_number.c */
extern const tn_fold_function tn_fold_sum, tn_fold_product;
/* fold_listagg.c */
extern const tn_fold_function tn_fold_listagg;

#endif
