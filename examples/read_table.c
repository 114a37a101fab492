/* read_table.c - read a Paimon table and print its rows.
 *
 *   read_table WAREHOUSE DB.TABLE [WHERE]
 *
 * Shows the whole way: environment, catalog, table, predicate, scan, and an ArrowArrayStream. Only
 * a few column types are printed; the point is where the values lie, not how to format them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/tarn.h>

/* Whether row `i` of the column has a value; Arrow keeps one bit a row. */
static int has_value(const struct ArrowArray *column, int64_t i) {
  const uint8_t *valid = column->buffers[0];
  int64_t at = column->offset + i;
  return valid == NULL || (valid[at / 8] >> (at % 8)) & 1;
}

static void print_value(const char *format, const struct ArrowArray *column, int64_t i) {
  if (!has_value(column, i)) {
    printf("NULL");
    return;
  }
  int64_t at = column->offset + i;
  const void *values = column->buffers[1];
  if (strcmp(format, "i") == 0) {
    printf("%" PRId32, ((const int32_t *)values)[at]);
  } else if (strcmp(format, "l") == 0) {
    printf("%" PRId64, ((const int64_t *)values)[at]);
  } else if (strcmp(format, "g") == 0) {
    printf("%.17g", ((const double *)values)[at]);
  } else if (strcmp(format, "u") == 0) {
    const int32_t *offsets = values;
    const char *text = column->buffers[2];
    printf("%.*s", (int)(offsets[at + 1] - offsets[at]), text + offsets[at]);
  } else {
    printf("<%s>", format);
  }
}

/* Print what the stream gives, and release it. Returns the number of rows, or -1 after a failure.
 */
static int64_t print_rows(struct ArrowArrayStream *rows) {
  struct ArrowSchema schema = {0};
  int64_t n_rows = 0;
  int failed = rows->get_schema(rows, &schema);
  while (!failed) {
    struct ArrowArray batch = {0};
    failed = rows->get_next(rows, &batch);
    if (failed || batch.release == NULL) {
      break;
    }
    for (int64_t i = 0; i < batch.length; i++) {
      for (int64_t c = 0; c < batch.n_children; c++) {
        printf("%s%s=", c > 0 ? ", " : "", schema.children[c]->name);
        print_value(schema.children[c]->format, batch.children[c], i);
      }
      printf("\n");
    }
    n_rows += batch.length;
    batch.release(&batch);
  }
  if (failed) {
    const char *why = rows->get_last_error(rows);
    fprintf(stderr, "reading failed: %s\n", why != NULL ? why : "?");
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  rows->release(rows);
  return failed ? -1 : n_rows;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: %s WAREHOUSE DB.TABLE [WHERE]\n", argv[0]);
    return 2;
  }
  tarn_error error;
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_predicate *where = NULL;
  tarn_scan *scan = NULL;
  struct ArrowArrayStream rows;
  int64_t n_rows = -1;

  if (tarn_env_create(NULL, &env, &error) || tarn_catalog_open(env, argv[1], &catalog, &error) ||
      tarn_table_open(env, catalog, argv[2], NULL, 0, &table, &error) ||
      (argc > 3 && tarn_predicate_parse(table, argv[3], &where, NULL, &error))) {
    goto failed;
  }
  tarn_scan_options options = TARN_SCAN_OPTIONS_INIT;
  options.predicate = where;
  if (tarn_scan_create(table, &options, &scan, &error) || tarn_scan_read(scan, &rows, &error)) {
    goto failed;
  }
  n_rows = print_rows(&rows);
  fprintf(stderr, "%" PRId64 " row%s\n", n_rows, n_rows == 1 ? "" : "s");
  goto done;

failed:
  fprintf(stderr, "%s: %s\n", tarn_status_name(error.status), error.message);
done:
  tarn_scan_free(scan);
  tarn_predicate_free(where);
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return n_rows < 0 ? 1 : 0;
}
