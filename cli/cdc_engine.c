/* cdc_engine.c - what the options of a table say of the changes that it takes. */
#include "cdc_engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "json.h"

/* An option of the table, or of -o. */
static void find_option(const cdc_run *run, const cli_json *json, const char *key, char *out,
                        size_t size) {
  size_t options = cli_json_find(json, 0, "options");
  out[0] = '\0';
  if (options != SIZE_MAX) {
    cli_json_copy(json, options, key, out, size);
  }
  for (size_t i = 0; i < run->session->args->n_table_options; i++) {
    const tarn_option *o = &run->session->args->table_options[i];
    if (strcmp(o->key, key) == 0 && o->value != NULL) {
      (void)snprintf(out, size, "%s", o->value);
    }
  }
}

cli_column *cdc_engine_column(cdc_target *t, const char *name) {
  t->columns->root.next_child = 0;
  return cli_column_find(&t->columns->root, name, strlen(name));
}

static bool is_set(const cdc_run *run, const cli_json *json, const char *key) {
  char value[16];
  find_option(run, json, key, value, sizeof(value));
  return strcmp(value, "true") == 0 || strcmp(value, "TRUE") == 0;
}

/* Mark the columns of a list, "a, b". */
static void mark_columns(cdc_target *t, const char *names, bool *marks, bool mark) {
  while (*names != '\0') {
    size_t n = strcspn(names, ","), begin = strspn(names, " ");
    char name[256];
    cli_column *c;
    begin = begin < n ? begin : n;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(n - begin < 255 ? n - begin : 255),
                   names + begin);
    for (size_t end = strlen(name); end > 0 && name[end - 1] == ' ';) {
      name[--end] = '\0';
    }
    c = cdc_engine_column(t, name);
    if (c != NULL) {
      marks[c - t->columns->root.children] = mark;
    }
    names += n + (names[n] == ',');
  }
}

/* "fields.NAMES.sequence-group": NAMES; NULL: it is none. */
static const char *infix(cli_text *key, const char *suffix) {
  static const char prefix[] = "fields.";
  size_t n = key->len, n_suffix = strlen(suffix), n_prefix = sizeof(prefix) - 1;
  if (n <= n_prefix + n_suffix || memcmp(key->data, prefix, n_prefix) != 0 ||
      memcmp(key->data + n - n_suffix, suffix, n_suffix) != 0) {
    return NULL;
  }
  key->data[n - n_suffix] = '\0';
  return key->data + n_prefix;
}

/* One option of a partial-update table: what it says of nulls and of order. */
static void look_at_option(cdc_target *t, cli_text *key, const char *value) {
  const char *names = infix(key, ".sequence-group");
  if (names != NULL) {
    mark_columns(t, names, t->keeps_null, false);
    mark_columns(t, value, t->keeps_null, false);
    if (!t->needs_all_order) {
      mark_columns(t, names, t->is_order, true);
      t->has_order = true;
    }
    return;
  }
  if (key->len == strlen("fields.default-aggregate-function") &&
      memcmp(key->data, "fields.default-aggregate-function", key->len) == 0) {
    memset(t->keeps_null, 0, (size_t)t->columns->root.n_children);
    return;
  }
  names = infix(key, ".aggregate-function");
  if (names != NULL) {
    mark_columns(t, names, t->keeps_null, false);
  }
}

/* sequence.field, sequence groups, and which columns a null leaves as they are. */
static tarn_status look_at_order(cdc_target *t, const cli_json *json, const char *engine,
                                 tarn_error *err) {
  cli_text key = {0}, value = {0};
  char fields[1024];
  size_t options = cli_json_find(json, 0, "options");
  bool is_partial = t->has_key && strcmp(engine, "partial-update") == 0, is_broken;
  find_option(t->run, json, "sequence.field", fields, sizeof(fields));
  mark_columns(t, fields, t->is_order, true);
  t->has_order = t->needs_all_order = t->has_key && fields[0] != '\0';
  for (int32_t i = 0; i < t->columns->root.n_children && is_partial; i++) {
    t->keeps_null[i] = t->keeps_null[i] && !t->is_key[i] && !t->is_order[i];
  }
  for (size_t i = is_partial && options != SIZE_MAX ? cli_json_first(json, options) : SIZE_MAX;
       i != SIZE_MAX && i < json->nodes[options].after; i = json->nodes[i].after) {
    key.len = value.len = 0;
    cli_json_key(json, i, &key);
    cli_json_text(json, i, &value);
    cli_text_char(&value, '\0');
    (void)cli_text_room(&key, 1);
    if (!key.is_broken && !value.is_broken) {
      look_at_option(t, &key, value.data);
    }
  }
  if (!is_partial) {
    memset(t->keeps_null, 0, (size_t)t->columns->root.n_children);
  }
  is_broken = key.is_broken || value.is_broken;
  cli_text_reset(&key);
  cli_text_reset(&value);
  return is_broken ? cli_no_memory(err) : TARN_OK;
}

static bool ignores_deletes(const cdc_run *run, const cli_json *json) {
  static const char *const keys[] = {"ignore-delete", "first-row.ignore-delete",
                                     "partial-update.ignore-delete", "deduplicate.ignore-delete"};
  for (size_t i = 0; i < CLI_COUNT(keys); i++) {
    if (is_set(run, json, keys[i])) {
      return true;
    }
  }
  return false;
}

/* Do the options let a first-row or partial-update table take deletes? */
static bool lets_deletes(const cdc_run *run, const cli_json *json) {
  static const char *const keys[] = {"partial-update.remove-record-on-delete",
                                     "partial-update.remove-record-on-sequence-group"};
  static const char group[] = ".sequence-group";
  size_t options = cli_json_find(json, 0, "options");
  bool lets = ignores_deletes(run, json);
  for (size_t i = 0; i < CLI_COUNT(keys); i++) {
    lets = lets || is_set(run, json, keys[i]);
  }
  for (size_t i = options != SIZE_MAX ? cli_json_first(json, options) : SIZE_MAX;
       i != SIZE_MAX && i < json->nodes[options].after; i = json->nodes[i].after) {
    size_t n = json->nodes[i].key_end - json->nodes[i].key_begin;
    lets = lets ||
           (n > sizeof(group) && memcmp(json->text + json->nodes[i].key_end - (sizeof(group) - 1),
                                        group, sizeof(group) - 1) == 0);
  }
  return lets;
}

/* What the merge engine and the changelog want. */
static tarn_status look_at_engine(cdc_target *t, const cli_json *json, tarn_error *err) {
  char engine[64], producer[64];
  find_option(t->run, json, "merge-engine", engine, sizeof(engine));
  find_option(t->run, json, "changelog-producer", producer, sizeof(producer));
  t->ignores_deletes = ignores_deletes(t->run, json);
  if (t->has_key && (strcmp(engine, "first-row") == 0 || strcmp(engine, "partial-update") == 0)) {
    t->refuses_deletes = !lets_deletes(t->run, json);
  } else if (t->has_key) {
    t->needs_values = strcmp(engine, "aggregation") == 0;
    t->wants_before = t->needs_values || strcmp(producer, "input") == 0;
  }
  return look_at_order(t, json, engine, err);
}

/* The column that a text of the facts names; NULL: none, or name->is_broken. */
static cli_column *named(cdc_target *t, const cli_json *json, size_t at, cli_text *name) {
  name->len = 0;
  cli_json_text(json, at, name);
  cli_text_char(name, '\0');
  return name->is_broken ? NULL : cdc_engine_column(t, name->data);
}

/* Keys, defaults, engine. */
tarn_status cdc_engine_look(cdc_target *t, tarn_error *err) {
  tarn_string facts;
  cli_json json;
  char value[128];
  cli_text name = {0};
  size_t keys, fields;
  tarn_status st = tarn_table_describe(t->table, &facts, err);
  if (st != TARN_OK) {
    return st;
  }
  if (!cli_json_parse(facts.data, facts.length, &json)) {
    tarn_string_free(&facts);
    return cli_no_memory(err);
  }
  keys = cli_json_find(&json, 0, "primary_keys");
  for (size_t i = keys != SIZE_MAX ? cli_json_first(&json, keys) : SIZE_MAX;
       i != SIZE_MAX && i < json.nodes[keys].after; i = json.nodes[i].after) {
    cli_column *c = named(t, &json, i, &name);
    if (c != NULL) {
      t->is_key[c - t->columns->root.children] = t->has_key = true;
    }
  }
  for (int32_t i = 0; i < t->columns->root.n_children; i++) { /* those with defaults: below */
    t->keeps_null[i] = t->columns->root.children[i].takes_null;
  }
  fields = cli_json_find(&json, 0, "fields");
  for (size_t i = fields != SIZE_MAX ? cli_json_first(&json, fields) : SIZE_MAX;
       i != SIZE_MAX && i < json.nodes[fields].after; i = json.nodes[i].after) {
    size_t given = cli_json_find(&json, i, "default"), at = cli_json_find(&json, i, "name");
    if (given != SIZE_MAX && json.nodes[given].kind != CLI_JSON_NULL && at != SIZE_MAX) {
      cli_column *c = named(t, &json, at, &name);
      if (c != NULL) {
        c->takes_null = true; /* the table puts its default there */
        t->keeps_null[c - t->columns->root.children] = false;
      }
    }
  }
  st = look_at_engine(t, &json, err);
  find_option(t->run, &json, "rowkind.field", value, sizeof(value));
  t->kind_column = value[0] != '\0' ? cdc_engine_column(t, value) : NULL;
  cli_json_reset(&json);
  tarn_string_free(&facts);
  st = name.is_broken ? cli_no_memory(err) : st;
  cli_text_reset(&name);
  return st;
}
