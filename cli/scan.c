/* scan.c - what to read, from the options of read, explain and the lists. */
#include "scan.h"

#include <stdlib.h>

#include "as_of.h"

#define TERMINAL_LIMIT 100 /* rows on a terminal unless --limit was given */

/* ------------------------------------------------------------------ travel */

tarn_status cli_scan_travel(cli_args *args, tarn_error *err) {
  static const struct {
    cli_option_id id;
    const char *key; /* NULL: it has more than one */
  } travels[] = {{OPT_SNAPSHOT, "scan.snapshot-id"}, {OPT_TAG, "scan.tag-name"}, {OPT_AS_OF, NULL}};
  const char *given = NULL;
  int64_t id = 0;
  tarn_status st = cli_args_number(args, OPT_SNAPSHOT, 1, INT64_MAX, &id, err);
  for (size_t i = 0; i < CLI_COUNT(travels) && st == TARN_OK; i++) {
    const char *value = args->values[travels[i].id];
    const char *key = travels[i].key, *name = cli_options[travels[i].id].name;
    if (value == NULL) {
      continue;
    }
    if (given != NULL) {
      return cli_usage(err, "--%s and --%s exclude each other", given, name);
    }
    given = name;
    st = key != NULL ? cli_args_add_option(args, key, strlen(key), value, err)
                     : cli_as_of(args, value, err);
  }
  return st;
}

/* ------------------------------------------------------------------ columns */

void cli_names_free(cli_name_list *list) {
  free(list->text);
  free((void *)list->names);
  memset(list, 0, sizeof(*list));
}

static tarn_status bad_select(const char *text, const char *why, tarn_error *err) {
  return cli_usage(err, "--select '%s': %s", text, why);
}

tarn_status cli_names_split(const char *text, cli_name_list *out, tarn_error *err) {
  size_t n = strlen(text);
  const char *at = text;
  char *to;
  memset(out, 0, sizeof(*out));
  out->text = to = malloc(n + 1);
  out->names = calloc(n + 1, sizeof(*out->names));
  if (out->text == NULL || out->names == NULL) {
    return cli_no_memory(err);
  }
  for (;;) {
    char *begin = to;
    at += strspn(at, " \t");
    if (*at == '"' || *at == '`') {
      char quote = *at++;
      while (*at != '\0' && (*at != quote || at[1] == quote)) {
        at += *at == quote;
        *to++ = *at++;
      }
      if (*at++ != quote) {
        return bad_select(text, "a quote is not closed", err);
      }
      at += strspn(at, " \t");
    } else {
      while (*at != '\0' && *at != ',') {
        *to++ = *at++;
      }
      while (to > begin && (to[-1] == ' ' || to[-1] == '\t')) {
        to--;
      }
    }
    if (to == begin || (*at != ',' && *at != '\0')) {
      return bad_select(text, "expected names of columns with commas between", err);
    }
    *to++ = '\0';
    out->names[out->count++] = begin;
    if (*at++ == '\0') {
      return TARN_OK;
    }
  }
}

/* ------------------------------------------------------------------ filter */

/* --pattern, where * and % stand for anything, as LIKE. */
static tarn_status pattern_predicate(tarn_table *table, const char *pattern, tarn_predicate **out,
                                     tarn_error *err) {
  cli_text like = {0};
  tarn_status st;
  for (const char *p = pattern; *p != '\0'; p++) {
    if (*p == '_' || *p == '\\') {
      cli_text_char(&like, '\\');
    }
    cli_text_char(&like, *p == '*' ? '%' : *p);
  }
  cli_text_char(&like, '\0');
  st = like.is_broken ? cli_no_memory(err)
                      : tarn_predicate_like(table, "partition", like.data, like.len - 1, out, err);
  cli_text_reset(&like);
  return st;
}

/* --where and --pattern. Prints errors itself, with the caret. */
static int make_filter(cli_session *s, cli_scan *scan) {
  const char *where = s->args->values[OPT_WHERE], *pattern = s->args->values[OPT_PATTERN];
  tarn_predicate *like = NULL;
  tarn_error err;
  if (where != NULL) {
    int64_t position = -1;
    if (tarn_predicate_parse(scan->table, where, &scan->predicate, &position, &err) != TARN_OK) {
      int code = cli_fail_usage(s, &err);
      if (position >= 0) {
        cli_report_caret(&s->report, where, (size_t)position);
      }
      return code;
    }
  }
  if (pattern != NULL) {
    tarn_status st = pattern_predicate(scan->table, pattern, &like, &err);
    if (st == TARN_OK && scan->predicate != NULL) {
      tarn_predicate *both[2] = {scan->predicate, like}, *joined = NULL;
      st = tarn_predicate_and(s->env, both, 2, &joined, &err);
      tarn_predicate_free(like);
      tarn_predicate_free(scan->predicate);
      scan->predicate = joined;
    } else if (st == TARN_OK) {
      scan->predicate = like;
    }
    if (st != TARN_OK) {
      return cli_fail(s, &err);
    }
  }
  return CLI_EXIT_OK;
}

/* ------------------------------------------------------------------ scan */

static tarn_status find_limit(const cli_session *s, cli_scan_use use, cli_scan *scan,
                              tarn_error *err) {
  scan->limit = -1;
  if (use == CLI_SCAN_ROWS && s->output.is_terminal && !cli_args_has(s->args, OPT_LIMIT)) {
    scan->limit = TERMINAL_LIMIT;
    scan->has_own_limit = true;
  }
  return cli_args_number(s->args, OPT_LIMIT, 0, INT64_MAX, &scan->limit, err);
}

/* A column that is not there is a mistake on the command line. */
static int scan_failure(cli_session *s, const tarn_error *why) {
  tarn_error err = *why;
  if (why->status == TARN_E_EXISTS) {
    (void)cli_usage(&err,
                    "the table has a column of its own with the row kind's name: give ours "
                    "another one with --row-kind-name NAME");
  }
  return why->status == TARN_E_NOT_FOUND || why->status == TARN_E_EXISTS ? cli_fail_usage(s, &err)
                                                                         : cli_fail(s, &err);
}

static int make_scan(cli_session *s, cli_scan_use use, cli_scan *out) {
  static const char *const no_columns[1] = {NULL};
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  const char *select = s->args->values[OPT_SELECT];
  cli_name_list names = {0};
  tarn_error err;
  tarn_status st = find_limit(s, use, out, &err);
  if (st == TARN_OK && select != NULL) {
    st = cli_names_split(select, &names, &err);
  }
  if (st != TARN_OK) {
    cli_names_free(&names);
    return cli_fail(s, &err);
  }
  out->has_kind = use != CLI_SCAN_PLAN &&
                  (cli_args_has(s->args, OPT_ROW_KIND) || cli_args_has(s->args, OPT_ROW_KIND_NAME));
  o.columns = use == CLI_SCAN_COUNT && select == NULL ? no_columns : names.names;
  o.n_columns = names.count;
  o.predicate = out->predicate;
  o.limit = out->limit;
  o.with_row_kind = out->has_kind;
  o.row_kind_name = s->args->values[OPT_ROW_KIND_NAME];
  /* Rows that are not printed are written again, or only looked for: every value is taken. */
  o.timestamp_ns_as_us = use == CLI_SCAN_PLAN ? 2 : cli_session_times(s);
  o.cancel = s->cancel;
  o.keep_statistics = use == CLI_SCAN_PLAN;
  st = tarn_scan_create(out->table, &o, &out->scan, &err);
  cli_names_free(&names);
  return st == TARN_OK ? CLI_EXIT_OK : scan_failure(s, &err);
}

int cli_scan_open(cli_session *s, const char *system, cli_scan_use use, cli_scan *out) {
  tarn_error err;
  tarn_status st;
  int code;
  memset(out, 0, sizeof(*out));
  st = cli_scan_travel(s->args, &err);
  if (st == TARN_OK) {
    st = cli_session_table(s, system, &out->table, &err);
  }
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = make_filter(s, out);
  return code != CLI_EXIT_OK ? code : make_scan(s, use, out);
}

void cli_scan_close(cli_scan *scan) {
  tarn_scan_free(scan->scan);
  tarn_predicate_free(scan->predicate);
  tarn_table_free(scan->table);
  memset(scan, 0, sizeof(*scan));
}
