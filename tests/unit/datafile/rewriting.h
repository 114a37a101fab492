/* rewriting.h - data files of tables that Java wrote, written once more: the metadata must be the
 * same.
 */
#ifndef TN_TESTS_UNIT_DATAFILE_REWRITING_H
#define TN_TESTS_UNIT_DATAFILE_REWRITING_H

#include "io/storage.h"

typedef struct rewriting {
  int n_files;     /* whose metadata was compared */
  int n_left_out;  /* of formats that are not written, of other level options, lost */
  int n_different; /* files with something that differs */
  bool tells;      /* print what is left out, too */
} rewriting;

/* Read each file of each manifest in a table's folder and write its rows with the table's options;
 * what differs is printed. Other failures are cmocka's. */
void rewrite_table(tarn_env *env, tn_storage *storage, const char *path, rewriting *r);

#endif
