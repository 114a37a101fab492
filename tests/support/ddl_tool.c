/* ddl_tool.c - databases and tables by lines of JSON, for the scripts that compare them with
 * Java's.
 *
 *   ddl_tool WAREHOUSE
 *
 * A line of standard input is a list: ["create", TABLE, {schema}], ["alter", TABLE, [changes]],
 * ["rename", FROM, TO], ["drop", TABLE], ["create-db", NAME], ["drop-db", NAME]. Each is answered
 * by one line: "OK", of alter "OK schema-id", or "STATUS message".
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarn/tarn.h"

/* An argument as text; objects and lists as JSON. Freed by the caller. */
static char *argument(const json_t *command, size_t i) {
  const json_t *value = json_array_get(command, i);
  const char *text = json_string_value(value);
  char *copy;
  if (value == NULL) {
    return calloc(1, 1);
  }
  if (text == NULL) {
    return json_dumps(value, JSON_ENCODE_ANY);
  }
  copy = malloc(strlen(text) + 1);
  if (copy != NULL) {
    memcpy(copy, text, strlen(text) + 1);
  }
  return copy;
}

static tarn_status run(tarn_catalog *catalog, const char *verb, const char *name, const char *with,
                       int64_t *schema_id, tarn_error *err) {
  if (strcmp(verb, "create") == 0) {
    return tarn_table_create(catalog, name, with, err);
  }
  if (strcmp(verb, "alter") == 0) {
    return tarn_table_alter(catalog, name, with, schema_id, err);
  }
  if (strcmp(verb, "rename") == 0) {
    return tarn_table_rename(catalog, name, with, err);
  }
  if (strcmp(verb, "drop") == 0) {
    return tarn_table_drop(catalog, name, err);
  }
  if (strcmp(verb, "create-db") == 0) {
    return tarn_database_create(catalog, name, err);
  }
  return tarn_database_drop(catalog, name, 1, err);
}

static int answer(tarn_catalog *catalog, const char *line) {
  json_error_t bad;
  json_t *command = json_loads(line, 0, &bad);
  char *verb = argument(command, 0), *name = argument(command, 1), *with = argument(command, 2);
  int64_t schema_id = -1;
  tarn_error error = {TARN_OK, 0, ""};
  tarn_status st;
  int rc = 0;
  if (verb == NULL || name == NULL || with == NULL || !json_is_array(command)) {
    rc = 1;
  } else {
    st = run(catalog, verb, name, with, &schema_id, &error);
    if (st != TARN_OK) {
      printf("%s %s\n", tarn_status_name(st), error.message);
    } else if (schema_id >= 0) {
      printf("OK %" PRId64 "\n", schema_id);
    } else {
      printf("OK\n");
    }
    fflush(stdout);
  }
  free(verb);
  free(name);
  free(with);
  json_decref(command);
  return rc;
}

int main(int argc, char **argv) {
  static char line[1 << 22];
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_error error;
  int rc = argc == 2 ? 0 : 2;
  if (rc == 0 && (tarn_env_create(NULL, &env, &error) != TARN_OK ||
                  tarn_catalog_open(env, argv[1], &catalog, &error) != TARN_OK)) {
    fprintf(stderr, "%s\n", error.message);
    rc = 1;
  }
  while (rc == 0 && fgets(line, sizeof(line), stdin) != NULL) {
    rc = answer(catalog, line);
  }
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return rc;
}
