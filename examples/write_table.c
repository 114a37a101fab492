/* write_table.c - make a table, and write rows into it.
 *
 *   write_table WAREHOUSE DB.TABLE [N]
 *
 * Writes N rows (3) with the keys 0 to N - 1 in one commit; written again, the same keys get new
 * values. The rows are Arrow arrays: those of any Arrow library will do, here they are made by hand
 * to show what lies in them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/tarn.h>

static const char *const TABLE_SCHEMA =
    "{\"fields\": [{\"name\": \"id\", \"type\": \"BIGINT NOT NULL\"},"
    " {\"name\": \"score\", \"type\": \"DOUBLE\"}],"
    " \"primaryKeys\": [\"id\"], \"options\": {\"bucket\": \"1\"}}";

/* All memory here is the caller's, so there is nothing to release; but Arrow wants a function. */
static void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}
static void keep_array(struct ArrowArray *array) {
  (void)array;
}

/* Give the rows (ids[i], scores[i]) to the writer, as one struct array of two columns. */
static tarn_status write_rows(tarn_writer *writer, const int64_t *ids, const double *scores,
                              int64_t n, tarn_error *error) {
  struct ArrowSchema column_schemas[2] = {
      {.format = "l", .name = "id", .release = keep_schema},
      {.format = "g", .name = "score", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema}};
  struct ArrowSchema *schema_children[2] = {&column_schemas[0], &column_schemas[1]};
  struct ArrowSchema schema = {.format = "+s",
                               .name = "",
                               .n_children = 2,
                               .children = schema_children,
                               .release = keep_schema};

  /* The first buffer of a column tells which values are there; none: all of them. */
  const void *buffers[2][2] = {{NULL, ids}, {NULL, scores}}, *no_buffers[1] = {NULL};
  struct ArrowArray columns[2] = {
      {.length = n, .n_buffers = 2, .buffers = buffers[0], .release = keep_array},
      {.length = n, .n_buffers = 2, .buffers = buffers[1], .release = keep_array}};
  struct ArrowArray *children[2] = {&columns[0], &columns[1]};
  struct ArrowArray array = {.length = n,
                             .n_buffers = 1,
                             .buffers = no_buffers,
                             .n_children = 2,
                             .children = children,
                             .release = keep_array};
  return tarn_writer_write(writer, &schema, &array, error);
}

/* Write, prepare, commit: nothing is visible before the commit, and all of it afterwards. */
static tarn_status write_and_commit(tarn_table *table, int64_t n, tarn_error *error) {
  tarn_writer *writer = NULL;
  tarn_messages *messages = NULL;
  tarn_committer *committer = NULL;
  tarn_commit_result result = {.struct_size = sizeof(result)};
  int64_t *ids = malloc((size_t)n * sizeof(*ids) + 1);
  double *scores = malloc((size_t)n * sizeof(*scores) + 1);
  tarn_status status = TARN_E_NOMEM;
  if (ids == NULL || scores == NULL) {
    snprintf(error->message, sizeof(error->message), "no memory for %" PRId64 " rows", n);
    goto done;
  }
  for (int64_t i = 0; i < n; i++) {
    ids[i] = i;
    scores[i] = (double)i / 4;
  }
  if ((status = tarn_writer_create(table, NULL, &writer, error)) ||
      (status = write_rows(writer, ids, scores, n, error)) ||
      (status = tarn_writer_prepare(writer, TARN_BATCH_COMMIT, &messages, error)) ||
      (status = tarn_committer_create(table, NULL, &committer, error)) ||
      (status =
           tarn_committer_commit(committer, TARN_BATCH_COMMIT, messages, NULL, &result, error))) {
    goto done;
  }
  printf("%" PRId64 " row%s, snapshot %" PRId64 "\n", n, n == 1 ? "" : "s",
         result.last_snapshot_id);
done:
  tarn_committer_free(committer);
  tarn_messages_free(messages);
  tarn_writer_free(writer);
  free(scores);
  free(ids);
  return status;
}

/* What exists already is as good as made. */
static tarn_status unless_it_exists(tarn_status status) {
  return status == TARN_E_EXISTS ? TARN_OK : status;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4 || strchr(argv[2], '.') == NULL) {
    fprintf(stderr, "usage: %s WAREHOUSE DB.TABLE [N]\n", argv[0]);
    return 2;
  }
  const char *name = argv[2];
  int64_t n = argc > 3 ? strtoll(argv[3], NULL, 10) : 3;
  char database[256];
  tarn_error error = {0};
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_status status;

  snprintf(database, sizeof(database), "%.*s", (int)(strchr(name, '.') - name), name);
  if ((status = tarn_env_create(NULL, &env, &error)) ||
      (status = tarn_catalog_open(env, argv[1], &catalog, &error)) ||
      (status = unless_it_exists(tarn_database_create(catalog, database, &error))) ||
      (status = unless_it_exists(tarn_table_create(catalog, name, TABLE_SCHEMA, &error))) ||
      (status = tarn_table_open(env, catalog, name, NULL, 0, &table, &error)) ||
      (status = write_and_commit(table, n > 0 ? n : 0, &error))) {
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), error.message);
  }
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return status == TARN_OK ? 0 : 1;
}
