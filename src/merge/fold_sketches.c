/* fold_sketches.c - hll_sketch and theta_sketch: unions of Apache DataSketches. */
#include "merge/fold_bytes.h"

static tarn_status refuse(const tn_fold_spec *spec, tarn_error *err) {
  return tn_fail(err, TARN_E_UNSUPPORTED, "aggregate function '%s' of column '%s'",
                 spec->function->name, spec->field->name);
}

const tn_fold_function tn_fold_hll_sketch = {.name = "hll_sketch", .check = refuse};
const tn_fold_function tn_fold_theta_sketch = {.name = "theta_sketch", .check = refuse};
