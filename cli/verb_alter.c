/* verb_alter.c - table alter: the list of changes, or one change in words. */
#include <stdio.h>

#include "change.h"
#include "nearest.h"
#include "source.h"

/* ------------------------------------------------------------------ one change in words */

typedef struct change_words {
  const char *word;
  cli_option_id needs[3]; /* ended by CLI_N_OPTIONS */
  cli_option_id takes[8];
  void (*add)(const cli_args *args, cli_text *out);
} change_words;

static const char *value_of(const cli_args *args, cli_option_id id) {
  return args->values[id];
}

static void add_text(cli_text *out, const char *text) {
  cli_text_json(out, text, strlen(text));
}

/* ,"key":"value" if the option was given. */
static void add_member(cli_text *out, const char *key, const cli_args *args, cli_option_id id) {
  if (cli_args_has(args, id)) {
    cli_text_printf(out, ",\"%s\":", key);
    add_text(out, value_of(args, id));
  }
}

static void begin_change(cli_text *out, const char *key, const char *value) {
  cli_text_puts(out, out->len > 1 ? ",{" : "{");
  cli_text_printf(out, "\"%s\":", key);
  add_text(out, value);
}

static void add_place(cli_text *out, const cli_args *args) {
  if (cli_args_has(args, OPT_FIRST)) {
    cli_text_puts(out, ",\"first\":true");
  }
  add_member(out, "after", args, OPT_AFTER);
}

static void set_option(const cli_args *args, cli_text *out) {
  begin_change(out, "set", value_of(args, OPT_KEY));
  add_member(out, "value", args, OPT_VALUE);
  cli_text_char(out, '}');
}

static void remove_option(const cli_args *args, cli_text *out) {
  begin_change(out, "reset", value_of(args, OPT_KEY));
  cli_text_char(out, '}');
}

static void add_column(const cli_args *args, cli_text *out) {
  begin_change(out, "add", value_of(args, OPT_NAME));
  add_member(out, "type", args, OPT_TYPE);
  add_member(out, "comment", args, OPT_COMMENT);
  add_place(out, args);
  cli_text_char(out, '}');
}

static void drop_column(const cli_args *args, cli_text *out) {
  begin_change(out, "drop", value_of(args, OPT_NAME));
  cli_text_char(out, '}');
}

static void rename_column(const cli_args *args, cli_text *out) {
  begin_change(out, "rename", value_of(args, OPT_NAME));
  add_member(out, "to", args, OPT_NEW_NAME);
  cli_text_char(out, '}');
}

static void alter_column(const cli_args *args, cli_text *out) {
  const char *name = value_of(args, OPT_NAME);
  if (cli_args_has(args, OPT_TYPE)) {
    begin_change(out, "retype", name);
    add_member(out, "type", args, OPT_TYPE);
    cli_text_char(out, '}');
  }
  if (cli_args_has(args, OPT_NULLABLE) || cli_args_has(args, OPT_NOT_NULL)) {
    begin_change(out, "nullable", name);
    cli_text_printf(out, ",\"value\":%s}", cli_args_has(args, OPT_NULLABLE) ? "true" : "false");
  }
  if (cli_args_has(args, OPT_COMMENT)) {
    begin_change(out, "describe", name);
    add_member(out, "comment", args, OPT_COMMENT);
    cli_text_char(out, '}');
  }
  if (cli_args_has(args, OPT_DEFAULT)) {
    begin_change(out, "default", name);
    add_member(out, "value", args, OPT_DEFAULT);
    cli_text_char(out, '}');
  }
  if (cli_args_has(args, OPT_FIRST) || cli_args_has(args, OPT_AFTER)) {
    begin_change(out, "move", name);
    add_place(out, args);
    cli_text_char(out, '}');
  }
}

static void update_comment(const cli_args *args, cli_text *out) {
  begin_change(out, "table_comment", value_of(args, OPT_COMMENT));
  cli_text_char(out, '}');
}

#define END CLI_N_OPTIONS
static const change_words words[] = {
    {"set-option", {OPT_KEY, OPT_VALUE, END}, {END}, set_option},
    {"remove-option", {OPT_KEY, END}, {END}, remove_option},
    {"add-column", {OPT_NAME, OPT_TYPE, END}, {OPT_COMMENT, OPT_FIRST, OPT_AFTER, END}, add_column},
    {"drop-column", {OPT_NAME, END}, {END}, drop_column},
    {"rename-column", {OPT_NAME, OPT_NEW_NAME, END}, {END}, rename_column},
    {"alter-column",
     {OPT_NAME, END},
     {OPT_TYPE, OPT_COMMENT, OPT_DEFAULT, OPT_NULLABLE, OPT_NOT_NULL, OPT_FIRST, OPT_AFTER, END},
     alter_column},
    {"update-comment", {OPT_COMMENT, END}, {END}, update_comment},
};

static bool is_in(const cli_option_id *list, cli_option_id id) {
  while (*list != END && *list != id) {
    list++;
  }
  return *list == id;
}

/* The options of alter that the words do not take. */
static tarn_status check_options(const cli_args *args, const change_words *w, tarn_error *err) {
  for (const cli_option_list *o = args->verb->options; *o != END; o++) {
    if (cli_args_has(args, (cli_option_id)*o) && !is_in(w->needs, (cli_option_id)*o) &&
        !is_in(w->takes, (cli_option_id)*o)) {
      return cli_usage(err, "'table alter T %s' takes no option --%s", w->word,
                       cli_options[*o].name);
    }
  }
  for (const cli_option_id *o = w->needs; *o != END; o++) {
    if (!cli_args_has(args, *o)) {
      return cli_usage(err, "'table alter T %s' needs --%s %s", w->word, cli_options[*o].name,
                       cli_options[*o].value);
    }
  }
  if (cli_args_has(args, OPT_FIRST) && cli_args_has(args, OPT_AFTER)) {
    return cli_usage(err, "--first and --after exclude each other");
  }
  if (cli_args_has(args, OPT_NULLABLE) && cli_args_has(args, OPT_NOT_NULL)) {
    return cli_usage(err, "--nullable and --not-null exclude each other");
  }
  return TARN_OK;
}

static tarn_status change_of_words(const cli_args *args, cli_text *out, tarn_error *err) {
  const char *word = args->arguments[1];
  cli_nearest nearest;
  tarn_status st;
  cli_nearest_init(&nearest, word);
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (strcmp(words[i].word, word) == 0) {
      st = check_options(args, &words[i], err);
      if (st == TARN_OK) {
        cli_text_char(out, '[');
        words[i].add(args, out);
        cli_text_char(out, ']');
        if (out->len == 2) {
          return cli_usage(
              err, "'table alter T %s': nothing to change; see 'tarn help table alter'", word);
        }
      }
      return st;
    }
    cli_nearest_offer(&nearest, words[i].word);
  }
  return nearest.best != NULL
             ? cli_usage(err, "unknown change '%s'; did you mean '%s'?", word, nearest.best)
             : cli_usage(err, "unknown change '%s'; see 'tarn help table alter'", word);
}

/* ------------------------------------------------------------------ the verb */

/* The changes as JSON, with a NUL behind. */
static tarn_status read_changes(const cli_args *args, cli_text *out, tarn_error *err) {
  const char *given = args->values[OPT_CHANGES];
  cli_source source;
  bool is_idle;
  tarn_status st = TARN_OK;
  if ((given != NULL) == (args->n_arguments > 1)) {
    return cli_usage(err,
                     "table alter needs a change, or --changes JSON; see 'tarn help table alter'");
  }
  if (given == NULL) {
    st = change_of_words(args, out, err);
  } else if (strcmp(given, "-") != 0) {
    cli_text_puts(out, given);
  } else {
    st = cli_source_open(NULL, &source, err);
    while (st == TARN_OK && !source.is_end) {
      st = cli_source_fill(&source, 0, &is_idle, err);
    }
    if (st == TARN_OK) {
      cli_text_add(out, cli_source_text(&source), cli_source_left(&source));
    }
    cli_source_close(&source);
  }
  cli_text_char(out, '\0');
  return st == TARN_OK && out->is_broken ? cli_no_memory(err) : st;
}

int cli_run_alter(cli_session *s) {
  const char *name = s->args->arguments[0];
  tarn_catalog *catalog;
  cli_text changes = {0};
  tarn_error err;
  int64_t id = 0;
  char json[40];
  tarn_status st = read_changes(s->args, &changes, &err);
  if (st == TARN_OK) {
    st = cli_session_catalog(s, &catalog, &err);
  }
  if (st == TARN_OK) {
    st = tarn_table_alter(catalog, name, changes.data, &id, &err);
  }
  cli_text_reset(&changes);
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  (void)snprintf(json, sizeof(json), "\"schema\":%lld", (long long)id);
  cli_change_report(s, json, "%s has schema %lld", name, (long long)id);
  return CLI_EXIT_OK;
}
