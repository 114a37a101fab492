/* help.c - help and the manual page, from the tables of verbs.h. */
#include "help.h"

#include <stdio.h>

#include "grid.h"
#include "nearest.h"
#include "session.h"

#define LINE_WIDTH 80
#define DOC_INDENT 28

static const char tables_doc[] =
    "A TABLE is DB.TABLE, DB.TABLE$branch_NAME, a system table such as DB.TABLE$snapshots, or the "
    "path of a table's folder, which needs no warehouse.";

static const char *const exit_docs[][2] = {
    {"0", "all went well"},
    {"1", "an error"},
    {"2",
     "a mistake on the command line: unknown command, option or column, a WHERE that does not "
     "parse"},
    {"3", "not found, or expired"},
    {"4", "a conflict, or a name that is taken"},
    {"130", "interrupted"},
};

/* ------------------------------------------------------------------ plain text */

/* Words with line breaks, continued at the indent; `column` is where the first word stands. */
static void add_wrapped(cli_text *out, const char *words, size_t column, size_t indent) {
  bool is_first = true;
  while (*words != '\0') {
    size_t n = strcspn(words, " \n");
    if (!is_first && column + 1 + n > LINE_WIDTH) {
      cli_text_char(out, '\n');
      cli_text_fill(out, ' ', indent);
      column = indent;
    } else if (!is_first) {
      cli_text_char(out, ' ');
      column++;
    }
    cli_text_add(out, words, n);
    column += n;
    words += n;
    is_first = false;
    if (*words == '\n') {
      cli_text_char(out, '\n');
      cli_text_fill(out, ' ', indent);
      column = indent;
      is_first = true;
    }
    words += *words != '\0';
  }
  cli_text_char(out, '\n');
}

/* "  term          doc", the doc on a line of its own behind a long term. */
static void add_entry(cli_text *out, const char *term, const char *doc) {
  size_t n = strlen(term) + 2;
  cli_text_printf(out, "  %s", term);
  if (n + 2 > DOC_INDENT) {
    cli_text_char(out, '\n');
    n = 0;
  }
  cli_text_fill(out, ' ', DOC_INDENT - n);
  add_wrapped(out, doc, DOC_INDENT, DOC_INDENT);
}

static void option_term(const cli_option *o, char *out, size_t size) {
  char letter[8] = "    ";
  if (o->letter != 0) {
    (void)snprintf(letter, sizeof(letter), "-%c, ", o->letter);
  }
  (void)snprintf(out, size, "%s--%s%s%s", letter, o->name, o->value != NULL ? " " : "",
                 o->value != NULL ? o->value : "");
}

/* verb: NULL: of all. */
static void add_options(cli_text *out, const cli_verb *verb, const cli_option_list *which) {
  char term[80];
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (cli_options_have(which, (cli_option_id)i)) {
      option_term(&cli_options[i], term, sizeof(term));
      add_entry(out, term,
                verb != NULL ? cli_option_doc(verb, (cli_option_id)i) : cli_options[i].doc);
    }
  }
}

static void verb_term(const cli_verb *v, char *out, size_t size) {
  char name[64];
  cli_verb_name(v, name, sizeof(name));
  (void)snprintf(out, size, "%s%s%s", name, v->arguments[0] != '\0' ? " " : "", v->arguments);
}

static void add_verbs(cli_text *out, const char *noun) {
  char term[80];
  for (size_t i = 0; i < cli_n_verbs; i++) {
    if (cli_verb_is_here(&cli_verbs[i]) && strcmp(noun, cli_verbs[i].noun) == 0) {
      verb_term(&cli_verbs[i], term, sizeof(term));
      add_entry(out, term, cli_verbs[i].doc);
    }
  }
}

static void help_program(cli_text *out) {
  cli_text_printf(out, "tarn %s - Apache Paimon tables\n\n", tarn_version());
  cli_text_puts(out, "usage: tarn NOUN VERB [ARGUMENT...] [OPTION...]\n\nCommands:\n");
  for (size_t i = 0; i < cli_n_nouns; i++) {
    add_verbs(out, cli_nouns[i].name);
  }
  cli_text_char(out, '\n');
  add_wrapped(out, tables_doc, 0, 0);
  cli_text_puts(out, "\nOptions of every command, before or after its words:\n");
  add_options(out, NULL, cli_common_options);
  cli_text_puts(out, "\nExit codes:\n");
  for (size_t i = 0; i < CLI_COUNT(exit_docs); i++) {
    add_entry(out, exit_docs[i][0], exit_docs[i][1]);
  }
  cli_text_puts(out, "\n'tarn help table read' tells more about a command.\n");
}

static void help_verb(const cli_verb *v, cli_text *out) {
  char term[80];
  verb_term(v, term, sizeof(term));
  cli_text_printf(out, "usage: tarn %s [OPTION...]\n\n", term);
  add_wrapped(out, v->doc, 0, 0);
  if (v->more != NULL) {
    cli_text_char(out, '\n');
    add_wrapped(out, v->more, 0, 0);
  }
  if (strcmp(v->arguments, "TABLE") == 0) {
    cli_text_char(out, '\n');
    add_wrapped(out, tables_doc, 0, 0);
  }
  if (v->options[0] != CLI_N_OPTIONS) {
    cli_text_puts(out, "\nOptions:\n");
    add_options(out, v, v->options);
  }
  cli_text_puts(out, "\nOptions of every command:\n");
  add_options(out, v, cli_common_options);
}

static const cli_noun *find_noun(const char *name) {
  for (size_t i = 0; i < cli_n_nouns; i++) {
    if (strcmp(cli_nouns[i].name, name) == 0) {
      return &cli_nouns[i];
    }
  }
  return NULL;
}

tarn_status cli_help(const char *noun, const char *verb, cli_text *out, tarn_error *err) {
  const cli_verb *v;
  const cli_noun *n;
  if (noun == NULL) {
    help_program(out);
    return TARN_OK;
  }
  v = cli_verb_find(noun, verb);
  if (v != NULL && !cli_verb_is_here(v)) {
    return cli_usage(err, "\"%s%s%s\" is not in this release", noun, v->verb != NULL ? " " : "",
                     v->verb != NULL ? v->verb : "");
  }
  if (v != NULL) {
    help_verb(v, out);
    return TARN_OK;
  }
  n = find_noun(noun);
  if (n == NULL || verb != NULL) {
    cli_nearest nearest;
    cli_nearest_init(&nearest, n == NULL ? noun : verb);
    for (size_t i = 0; i < cli_n_verbs; i++) {
      if (n == NULL || strcmp(cli_verbs[i].noun, noun) == 0) {
        cli_nearest_offer(&nearest, n == NULL ? cli_verbs[i].noun : cli_verbs[i].verb);
      }
    }
    return cli_usage(err, "there is no command '%s%s%s'%s%s%s", noun, verb != NULL ? " " : "",
                     verb != NULL ? verb : "", nearest.best != NULL ? "; did you mean '" : "",
                     nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "'?" : "");
  }
  cli_text_printf(out, "tarn %s: %s\n\n", n->name, n->doc);
  add_verbs(out, noun);
  cli_text_printf(out, "\n'tarn help %s VERB' tells more.\n", noun);
  return TARN_OK;
}

void cli_help_table_options(cli_text *out) {
  char term[160];
  for (size_t i = 0; i < tarn_option_info_count(); i++) {
    tarn_option_info info;
    if (tarn_option_info_get(i, &info) == TARN_OK) {
      (void)snprintf(term, sizeof(term), "%s (%s%s%s)", info.key, info.type,
                     info.default_value != NULL ? ", " : "",
                     info.default_value != NULL ? info.default_value : "");
      cli_text_printf(out, "%s\n    ", term);
      add_wrapped(out, info.doc, 4, 4);
    }
  }
}

/* ------------------------------------------------------------------ manual page */

/* Text for roff: what it would take for its own is escaped. */
static void add_roff(cli_text *out, const char *words) {
  bool is_line_start = true;
  for (; *words != '\0'; words++) {
    if (is_line_start && (*words == '.' || *words == '\'')) {
      cli_text_puts(out, "\\&");
    }
    if (*words == '\\') {
      cli_text_puts(out, "\\e");
    } else if (*words == '-') {
      cli_text_puts(out, "\\-");
    } else if (*words == '\n') {
      cli_text_puts(out, "\n.br\n");
    } else {
      cli_text_char(out, *words);
    }
    is_line_start = *words == '\n';
  }
}

static void add_paragraph(cli_text *out, const char *words) {
  add_roff(out, words);
  cli_text_char(out, '\n');
}

static void add_term(cli_text *out, const char *term, const char *doc) {
  cli_text_puts(out, ".TP\n.B ");
  add_paragraph(out, term);
  add_paragraph(out, doc);
}

static void man_options(cli_text *out, const cli_option_list *which) {
  char term[80];
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (cli_options_have(which, (cli_option_id)i)) {
      option_term(&cli_options[i], term, sizeof(term));
      add_term(out, term + strspn(term, " "), cli_options[i].doc);
    }
  }
}

static void man_verbs(cli_text *out) {
  char term[80], names[1024];
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    cli_text list = {0};
    if (!cli_verb_is_here(v)) {
      continue;
    }
    verb_term(v, term, sizeof(term));
    add_term(out, term, v->doc);
    if (v->more != NULL) {
      cli_text_puts(out, ".IP\n");
      add_paragraph(out, v->more);
    }
    for (size_t o = 0; o < CLI_N_OPTIONS; o++) {
      if (cli_options_have(v->options, (cli_option_id)o)) {
        cli_text_printf(&list, "%s--%s", list.len > 0 ? ", " : "Options: ", cli_options[o].name);
      }
    }
    if (list.len > 0) {
      cli_text_copy(&list, names, sizeof(names));
      cli_text_puts(out, ".IP\n");
      add_paragraph(out, names);
    }
    cli_text_reset(&list);
  }
}

void cli_help_man(cli_text *out) {
  cli_option_list own[CLI_N_OPTIONS + 1];
  size_t n_own = 0;
  for (size_t o = 0; o < CLI_N_OPTIONS; o++) {
    for (size_t i = 0; i < cli_n_verbs; i++) {
      if (cli_verb_is_here(&cli_verbs[i]) &&
          cli_options_have(cli_verbs[i].options, (cli_option_id)o)) {
        own[n_own++] = (cli_option_list)o;
        break;
      }
    }
  }
  own[n_own] = CLI_N_OPTIONS;
  cli_text_printf(out,
                  ".TH TARN 1 \"\" \"tarn %s\" \"User Commands\"\n"
                  ".SH NAME\ntarn \\- read and write Apache Paimon tables\n"
                  ".SH SYNOPSIS\n.B tarn\n.I NOUN VERB\n[\\fIARGUMENT\\fR...] "
                  "[\\fIOPTION\\fR...]\n"
                  ".SH DESCRIPTION\nReads and writes tables of Apache Paimon without a JVM.\n",
                  tarn_version());
  add_paragraph(out, tables_doc);
  cli_text_puts(out,
                ".PP\nProgress is shown on standard error, on a terminal only. A closed pipe "
                "ends the program quietly.\n.SH COMMANDS\n");
  man_verbs(out);
  cli_text_puts(out, ".SH OPTIONS OF EVERY COMMAND\n");
  man_options(out, cli_common_options);
  cli_text_puts(out, ".SH OTHER OPTIONS\n");
  man_options(out, own);
  cli_text_puts(out, ".SH EXIT STATUS\n");
  for (size_t i = 0; i < CLI_COUNT(exit_docs); i++) {
    add_term(out, exit_docs[i][0], exit_docs[i][1]);
  }
  cli_text_puts(out, ".SH ENVIRONMENT\n");
  add_term(out, "TARN_WAREHOUSE", "the warehouse, unless --warehouse is given");
  add_term(out, "TZ", "the time zone, unless --time-zone is given");
  add_term(out, "NO_COLOR", "no colours on a terminal");
  cli_text_puts(out, ".SH FILES\n");
  add_term(out, "paimon.yaml",
           "in the current folder: lines 'warehouse: DIR' and 'metastore: "
           "filesystem'");
  cli_text_puts(out, ".SH EXAMPLES\n.nf\n");
  add_paragraph(out, "tarn -W /data/warehouse table list sales");
  add_paragraph(out,
                "tarn -W /data/warehouse table read sales.orders -s id,amount -w \"amount > "
                "100\"");
  add_paragraph(out, "tarn -W /data/warehouse table write sales.orders orders.csv");
  add_paragraph(out, "tarn table explain /data/warehouse/sales.db/orders -w \"id = 7\" -v");
  cli_text_puts(out, ".fi\n");
}

int cli_run_help(cli_session *s) {
  cli_text *out = &s->output.pending;
  const char *noun = s->args->n_arguments > 0 ? s->args->arguments[0] : NULL;
  const char *verb = s->args->n_arguments > 1 ? s->args->arguments[1] : NULL;
  tarn_error err;
  if (cli_args_has(s->args, OPT_MAN)) {
    cli_help_man(out);
  } else if (noun != NULL && verb == NULL && strcmp(noun, "options") == 0) {
    cli_help_table_options(out);
  } else if (cli_help(noun, verb, out, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  return cli_finish(s);
}
