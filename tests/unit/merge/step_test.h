/* step_test.h - the steps of a merger as text.
 *
 * A group is "+I7[1,a]<+I3[1,b]@2:5fsAB": the merged row ("0": none) with its kind and sequence
 * number; then, where there was a row before, that ("?" where it is not given) with its file and
 * position; f: fresh, s: single, A: the merged row is looked up, B: the row before is. Groups are
 * parted by blanks, steps by " | ". Quotes of strings are left out.
 */
#ifndef TN_TESTS_STEP_TEST_H
#define TN_TESTS_STEP_TEST_H

#include "merge/merge.h"

/* Takes the inputs. *out is to be freed with free(), after a failure, too. */
tarn_status steps_to_text(tarn_env *env, const tn_merge_spec *spec, const tn_merge_changes *changes,
                          tn_merge_input **inputs, int32_t n_inputs, char **out, tarn_error *err);

#endif
