/* enrich.c - follow a table, and give each of its rows what another table says of it.
 *
 *   enrich WAREHOUSE DB.FACTS COLUMN DB.THINGS
 *
 * THINGS has a primary key of one column; COLUMN of FACTS holds such keys. Prints the rows that
 * FACTS has, then those that are behind their changes, each with the row of THINGS that its COLUMN
 * names, as THINGS is at that moment; ends when all that is there was read. Only a few column types
 * are printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/tarn.h>

typedef struct enrich {
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *facts, *things;
  tarn_predicate *where;
  tarn_scan *scan;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  tarn_lookup *lookup;
  struct ArrowSchema fact_schema, thing_schema, key_schema;
  int64_t key_column; /* of the facts */
} enrich;

/* ------------------------------------------------------------------ printing */

static int has_value(const struct ArrowArray *column, int64_t i) {
  const uint8_t *valid = column->buffers[0];
  int64_t at = column->offset + i;
  return valid == NULL || (valid[at / 8] >> (at % 8)) & 1;
}

static void print_value(const char *format, const struct ArrowArray *column, int64_t i) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  int64_t at = column->offset + i;
  const void *values = column->buffers[1];
  if (!has_value(column, i)) {
    printf("NULL");
  } else if (strcmp(format, "c") == 0) { /* _row_kind */
    printf("%s", kinds[((const int8_t *)values)[at] & 3]);
  } else if (strcmp(format, "i") == 0) {
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

static void print_row(const struct ArrowSchema *schema, const struct ArrowArray *rows, int64_t i) {
  for (int64_t c = 0; c < rows->n_children; c++) {
    printf("%s%s=", c > 0 ? " " : "", schema->children[c]->name);
    print_value(schema->children[c]->format, rows->children[c], i);
  }
}

/* ------------------------------------------------------------------ looking up */

/* The rows of a batch, each with its thing. One column of the batch, under the name of the key, is
 * what is asked for. */
static tarn_status print_batch(enrich *e, struct ArrowArray *batch, tarn_error *error) {
  struct ArrowSchema *column = e->fact_schema.children[e->key_column], key = *column;
  struct ArrowSchema *key_schemas[1] = {&key}, keys_schema = e->key_schema;
  struct ArrowArray *key_columns[1] = {batch->children[e->key_column]}, keys = *batch;
  struct ArrowArray things = {0};
  int64_t *thing_of = malloc((size_t)batch->length * sizeof(*thing_of) + 1);
  tarn_status status = TARN_E_NOMEM;
  key.name = e->key_schema.children[0]->name;
  keys_schema.n_children = keys.n_children = 1;
  keys_schema.children = key_schemas;
  keys.children = key_columns;
  if (thing_of == NULL) {
    snprintf(error->message, sizeof(error->message), "no memory for %" PRId64 " rows",
             batch->length);
    return status;
  }
  if ((status = tarn_lookup_refresh(e->lookup, NULL, error)) ||
      (status = tarn_lookup_get(e->lookup, &keys_schema, &keys, &things, thing_of, error))) {
    goto done;
  }
  for (int64_t i = 0; i < batch->length; i++) {
    print_row(&e->fact_schema, batch, i);
    printf(" | ");
    if (thing_of[i] >= 0) {
      print_row(&e->thing_schema, &things, thing_of[i]);
    } else {
      printf("unknown");
    }
    printf("\n");
  }
  things.release(&things);
done:
  free(thing_of);
  return status;
}

static tarn_status follow(enrich *e, tarn_error *error) {
  for (;;) {
    struct ArrowArray rows = {0};
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    tarn_status status = tarn_stream_reader_next(e->reader, &rows, &batch, error);
    if (status || rows.release == NULL) {
      return status; /* a failure, or all was read: tarn_stream_wait() would wait for more */
    }
    status = print_batch(e, &rows, error);
    rows.release(&rows);
    if (status) {
      return status;
    }
  }
}

/* ------------------------------------------------------------------ begin and end */

static tarn_status find_column(enrich *e, const char *name, tarn_error *error) {
  for (int64_t c = 0; c < e->fact_schema.n_children; c++) {
    if (strcmp(e->fact_schema.children[c]->name, name) == 0) {
      e->key_column = c;
      return TARN_OK;
    }
  }
  snprintf(error->message, sizeof(error->message), "no column %s", name);
  return TARN_E_NOT_FOUND;
}

static tarn_status open_enrich(enrich *e, char **argv, tarn_error *error) {
  tarn_scan_options of_scan = TARN_SCAN_OPTIONS_INIT;
  tarn_lookup_options of_lookup = TARN_LOOKUP_OPTIONS_INIT;
  const char *folder = getenv("TMPDIR");
  char where[512];
  tarn_status status;
  snprintf(where, sizeof(where), "\"%s\" IS NOT NULL", argv[3]);
  of_lookup.temp_folder = folder != NULL ? folder : "/tmp";
  if ((status = tarn_env_create(NULL, &e->env, error)) ||
      (status = tarn_catalog_open(e->env, argv[1], &e->catalog, error)) ||
      (status = tarn_table_open(e->env, e->catalog, argv[2], NULL, 0, &e->facts, error)) ||
      (status = tarn_table_open(e->env, e->catalog, argv[4], NULL, 0, &e->things, error)) ||
      (status = tarn_predicate_parse(e->facts, where, &e->where, NULL, error))) {
    return status;
  }
  of_scan.with_row_kind = 1;
  of_scan.predicate = e->where; /* keys are never NULL */
  if ((status = tarn_scan_create(e->facts, &of_scan, &e->scan, error)) ||
      (status = tarn_stream_create(e->scan, NULL, &e->stream, error)) ||
      (status = tarn_stream_schema(e->stream, &e->fact_schema, error)) ||
      (status = find_column(e, argv[3], error)) ||
      (status = tarn_stream_reader_create(e->stream, 0, &e->reader, error)) ||
      (status = tarn_lookup_open(e->things, &of_lookup, &e->lookup, error)) ||
      (status = tarn_lookup_key_schema(e->lookup, &e->key_schema, error)) ||
      (status = tarn_lookup_schema(e->lookup, &e->thing_schema, error))) {
    return status;
  }
  if (e->key_schema.n_children != 1) {
    snprintf(error->message, sizeof(error->message), "the key of %s is more than one column",
             argv[4]);
    return TARN_E_INVALID;
  }
  return TARN_OK;
}

static void close_enrich(enrich *e) {
  struct ArrowSchema *schemas[3] = {&e->fact_schema, &e->thing_schema, &e->key_schema};
  for (int i = 0; i < 3; i++) {
    if (schemas[i]->release != NULL) {
      schemas[i]->release(schemas[i]);
    }
  }
  tarn_lookup_free(e->lookup);
  tarn_stream_reader_free(e->reader);
  tarn_stream_free(e->stream);
  tarn_scan_free(e->scan);
  tarn_predicate_free(e->where);
  tarn_table_free(e->things);
  tarn_table_free(e->facts);
  tarn_catalog_free(e->catalog);
  tarn_env_free(e->env);
}

int main(int argc, char **argv) {
  enrich e = {0};
  tarn_error error = {0};
  tarn_status status;
  if (argc != 5) {
    fprintf(stderr, "usage: %s WAREHOUSE DB.FACTS COLUMN DB.THINGS\n", argv[0]);
    return 2;
  }
  if ((status = open_enrich(&e, argv, &error)) || (status = follow(&e, &error))) {
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), error.message);
  }
  close_enrich(&e);
  return status == TARN_OK ? 0 : 1;
}
