/* plan_and_read_splits.c - plan in one place, read in another.
 *
 *   plan_and_read_splits TABLE_FOLDER
 *
 * A planner makes splits and encodes them, in the bytes that the Java library uses too; any process
 * that can open the table decodes a split and reads it. Here both are one process, but nothing but
 * the bytes goes from the one function to the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tarn/tarn.h>

/* Read one encoded split; adds its rows to *n_rows. */
static tarn_status read_split(tarn_env *env, const char *folder, const tarn_string *bytes,
                              int64_t *n_rows, tarn_error *error) {
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  tarn_split *split = NULL;
  struct ArrowArrayStream rows;
  tarn_status status;
  if ((status = tarn_table_open(env, NULL, folder, NULL, 0, &table, error)) ||
      (status = tarn_scan_create(table, NULL, &scan, error)) ||
      (status = tarn_split_decode(table, bytes->data, bytes->length, &split, error)) ||
      (status = tarn_split_read(scan, split, NULL, &rows, error))) {
    goto done;
  }
  for (;;) {
    struct ArrowArray batch = {0};
    if (rows.get_next(&rows, &batch) != 0) {
      status = tarn_stream_error(&rows, error);
      break;
    }
    if (batch.release == NULL) {
      break;
    }
    *n_rows += batch.length;
    batch.release(&batch);
  }
  rows.release(&rows);
done:
  tarn_split_free(split);
  tarn_scan_free(scan);
  tarn_table_free(table);
  return status;
}

/* Plan the table and give each split's bytes to read_split. */
static tarn_status plan_and_read(tarn_env *env, const char *folder, tarn_error *error) {
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  tarn_plan *plan = NULL;
  tarn_status status;
  int64_t n_rows = 0;
  if ((status = tarn_table_open(env, NULL, folder, NULL, 0, &table, error)) ||
      (status = tarn_scan_create(table, NULL, &scan, error)) ||
      (status = tarn_scan_plan(scan, &plan, error))) {
    goto done;
  }
  size_t n_splits = tarn_plan_split_count(plan);
  for (size_t i = 0; i < n_splits && status == TARN_OK; i++) {
    tarn_split *split = NULL;
    tarn_string bytes = {0};
    if ((status = tarn_plan_split(plan, i, &split, error)) == TARN_OK &&
        (status = tarn_split_encode(split, &bytes, error)) == TARN_OK) {
      int64_t before = n_rows;
      status = read_split(env, folder, &bytes, &n_rows, error);
      printf("split %zu: %zu bytes, %" PRId64 " row%s\n", i, bytes.length, n_rows - before,
             n_rows - before == 1 ? "" : "s");
    }
    tarn_string_free(&bytes);
    tarn_split_free(split);
  }
  if (status == TARN_OK) {
    printf("snapshot %" PRId64 ": %zu split%s, %" PRId64 " row%s\n", tarn_plan_snapshot_id(plan),
           n_splits, n_splits == 1 ? "" : "s", n_rows, n_rows == 1 ? "" : "s");
  }
done:
  tarn_plan_free(plan);
  tarn_scan_free(scan);
  tarn_table_free(table);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s TABLE_FOLDER\n", argv[0]);
    return 2;
  }
  tarn_error error;
  tarn_env *env = NULL;
  tarn_status status = tarn_env_create(NULL, &env, &error);
  if (status == TARN_OK) {
    status = plan_and_read(env, argv[1], &error);
  }
  if (status != TARN_OK) {
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), error.message);
  }
  tarn_env_free(env);
  return status == TARN_OK ? 0 : 1;
}
