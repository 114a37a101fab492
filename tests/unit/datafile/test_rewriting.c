/* Data files that Java wrote, written once more: the same metadata. With arguments, the tables in
 * these folders. */
#include <dirent.h>

#include "rewriting.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static const char *const *given;
static int n_given;

static void rewriting__gives_the_metadata_of_java(void **state) {
  (void)state;
  for (int i = 0; i < n_given; i++) {
    tarn_env *env = tn_test_env(1, 0);
    rewriting r = {.tells = true};
    rewrite_table(env, given[i], &r);
    printf("%s: %d files, %d left out, %d different\n", given[i], r.n_files, r.n_left_out,
           r.n_different);
    tarn_env_free(env);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewriting__gives_the_metadata_of_java),
  };
  given = (const char *const *)argv + 1;
  n_given = argc - 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
