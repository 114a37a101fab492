/* session.c - what the verbs share: settings, warehouse, tables, and how a command ends. */
#include "session.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "signals.h"

#define MAX_THREADS 256

#define MIN_MEMORY ((size_t)4 << 20) /* what the library asks for */
#define MAX_NAME 255                 /* of a file, and so of a table */
#define MAX_PATH 4095

/* ------------------------------------------------------------------ settings */

/* "256mb", "1 GiB", "65536": bytes, as Paimon's MemorySize reads them. */
static bool parse_memory(const char *text, size_t *out) {
  static const struct {
    const char *unit;
    int shift;
  } units[] = {{"", 0},     {"b", 0},   {"k", 10},   {"kb", 10}, {"kib", 10},
               {"m", 20},   {"mb", 20}, {"mib", 20}, {"g", 30},  {"gb", 30},
               {"gib", 30}, {"t", 40},  {"tb", 40},  {"tib", 40}};
  char unit[8];
  char *end;
  size_t n;
  unsigned long long number;
  errno = 0;
  number = strtoull(text, &end, 10);
  if (end == text || *text < '0' || *text > '9' || errno != 0) {
    return false;
  }
  end += strspn(end, " ");
  n = strlen(end);
  if (n >= sizeof(unit)) {
    return false;
  }
  for (size_t i = 0; i <= n; i++) {
    unit[i] = (char)tolower((unsigned char)end[i]);
  }
  for (size_t i = 0; i < CLI_COUNT(units); i++) {
    if (strcmp(unit, units[i].unit) == 0) {
      *out = (size_t)number << units[i].shift;
      return number > 0 && (*out >> units[i].shift) == number;
    }
  }
  return false;
}

static tarn_status find_format(cli_session *s, tarn_error *err) {
  static const char *const names[] = {"table", "jsonl",   "json",     "csv",
                                      "arrow", "parquet", "debezium", "canal"};
  const char *name = s->args->values[OPT_FORMAT];
  s->format = s->output.is_terminal ? CLI_FORMAT_TABLE : CLI_FORMAT_JSONL;
  if (s->args->verb != NULL && cli_verb_reads_rows(s->args->verb)) {
    return TARN_OK; /* that of the rows it reads */
  }
  for (size_t i = 0; name != NULL && i < CLI_COUNT(names); i++) {
    if (strcmp(name, names[i]) == 0) {
      s->format = (cli_format)i;
    }
  }
  if (s->format >= CLI_FORMAT_DEBEZIUM && (s->args->verb == NULL || s->args->verb->verb == NULL ||
                                           strcmp(s->args->verb->verb, "tail") != 0)) {
    return cli_usage(err, "--format %s: only 'table tail' prints changes", name);
  }
  return (s->format == CLI_FORMAT_ARROW || s->format == CLI_FORMAT_PARQUET) && s->output.is_terminal
             ? cli_usage(err,
                         "--format %s writes bytes that are no text: send it to a file or a "
                         "pipe rather than to a terminal",
                         name)
             : TARN_OK;
}

/* How wide a line of the terminal is; 0: not known, or no terminal. */
static size_t find_width(const cli_output *output) {
  struct winsize size;
  return output->is_terminal && ioctl(output->fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static tarn_status make_environment(cli_session *s, tarn_error *err) {
  tarn_env_options o = TARN_ENV_OPTIONS_INIT;
  const char *memory = s->args->values[OPT_MEMORY];
  const char *zone = getenv("TZ");
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : cores;
  tarn_status st = cli_args_number(s->args, OPT_THREADS, 1, MAX_THREADS, &threads, err);
  if (st != TARN_OK) {
    return st;
  }
  if (memory != NULL && !parse_memory(memory, &o.memory_budget_bytes)) {
    return cli_usage(err, "--memory '%s': expected a size such as 512mb or 2gb", memory);
  }
  if (memory != NULL && o.memory_budget_bytes < MIN_MEMORY) {
    return cli_usage(err, "--memory '%s': at least 4mb are needed", memory);
  }
  o.threads = (int32_t)threads;
  o.log = cli_report_log;
  o.log_ctx = &s->report;
  o.log_level = cli_args_has(s->args, OPT_VERBOSE) ? TARN_LOG_INFO
                : s->report.is_quiet               ? TARN_LOG_ERROR
                                                   : TARN_LOG_WARN;
  o.time_zone = s->args->values[OPT_TIME_ZONE];
  if (o.time_zone == NULL && zone != NULL && *zone != '\0') {
    o.time_zone = zone + (*zone == ':');
    if (tarn_env_create(&o, &s->env, err) == TARN_OK) {
      return TARN_OK;
    }
    o.time_zone = NULL; /* what the C library understands there, but names no zone */
  }
  st = tarn_env_create(&o, &s->env, err);
  err->os_errno = st == TARN_E_INVALID ? CLI_ERRNO_USAGE : err->os_errno;
  return st;
}

tarn_status cli_session_start(cli_session *s, cli_args *args, tarn_error *err) {
  bool is_quiet = cli_args_has(args, OPT_QUIET);
  const char *no_color = getenv("NO_COLOR");
  tarn_status st;
  s->args = args;
  s->report.is_quiet = is_quiet;
  cli_output_init(&s->output, STDOUT_FILENO);
  cli_progress_start(&s->progress, !is_quiet);
  s->report.before_line = cli_progress_clear;
  s->report.before_line_ctx = &s->progress;
  if (s->output.is_terminal) { /* rows and progress would share its lines */
    s->output.before_write = cli_progress_clear;
    s->output.before_write_ctx = &s->progress;
  }
  s->max_width = find_width(&s->output);
  s->has_colors = s->output.is_terminal && !cli_args_has(args, OPT_NO_COLOR) &&
                  (no_color == NULL || *no_color == '\0');
  st = find_format(s, err);
  if (st == TARN_OK) {
    st = make_environment(s, err);
  }
  if (st == TARN_OK) {
    st = tarn_cancel_create(s->env, &s->cancel, err);
  }
  if (st == TARN_OK) {
    cli_signals_start(s->cancel);
  }
  return st;
}

void cli_session_stop(cli_session *s) {
  cli_progress_clear(&s->progress);
  cli_signals_stop();
  tarn_catalog_free(s->catalog);
  tarn_cancel_free(s->cancel);
  tarn_env_free(s->env);
  cli_output_reset(&s->output);
  cli_config_reset(&s->config);
}

/* ------------------------------------------------------------------ endings */

static int exit_code(tarn_status status) {
  switch (status) {
    case TARN_OK:
      return CLI_EXIT_OK;
    case TARN_E_NOT_FOUND:
    case TARN_E_EXPIRED:
      return CLI_EXIT_NOT_FOUND;
    case TARN_E_EXISTS:
    case TARN_E_CONFLICT:
    case TARN_E_TIMEOUT: /* of a commit: somebody else was faster as often as it may try */
      return CLI_EXIT_CONFLICT;
    case TARN_E_CANCELLED:
      return CLI_EXIT_INTERRUPTED;
    default:
      return CLI_EXIT_ERROR;
  }
}

/* What the library cannot advise, since it does not know this program: added to its words. */
typedef struct error_advice {
  tarn_status status;
  const char *words; /* of the message */
  const char *verbs; /* only of these, by their last words, between blanks; NULL: of all */
  const char *advice;
} error_advice;

static const error_advice advices[] = {
    {TARN_E_LIMIT, "64 bits of nanoseconds", NULL,
     ": Arrow has the years 1678 to 2261; --format parquet, jsonl and csv have all, --select "
     "leaves the column out"},
    {TARN_E_NOT_FOUND, "database '", " create rename write import ",
     ": 'tarn db create NAME' makes one"},
    {TARN_E_NOT_FOUND, "database '", NULL, ": 'tarn db list' lists those that are there"},
    {TARN_E_NOT_FOUND, "table '", NULL, ": 'tarn table list DB' lists those that are there"},
};

static bool is_of_verbs(const cli_session *s, const char *verbs) {
  const cli_verb *verb = s->args->verb;
  char name[64];
  if (verbs == NULL || verb == NULL || verb->verb == NULL) {
    return verbs == NULL;
  }
  (void)snprintf(name, sizeof(name), " %s ", verb->verb);
  return strstr(verbs, name) != NULL;
}

/* "": none. */
static const char *find_advice(const cli_session *s, const tarn_error *err) {
  for (size_t i = 0; i < CLI_COUNT(advices); i++) {
    const error_advice *a = &advices[i];
    bool begins = strncmp(err->message, a->words, strlen(a->words)) == 0;
    if (err->status == a->status && is_of_verbs(s, a->verbs) &&
        (a->status == TARN_E_LIMIT
             ? strstr(err->message, a->words) != NULL
             : begins && strstr(err->message, "' does not exist in ") != NULL &&
                   (a->verbs != NULL || strstr(err->message, "did you mean") == NULL))) {
      return a->advice;
    }
  }
  return "";
}

static int fail_with(cli_session *s, const tarn_error *err, int code) {
  cli_text line = {0};
  cli_output_drop(&s->output);
  if (s->output.state == CLI_OUTPUT_CLOSED) {
    return CLI_EXIT_OK; /* nobody reads on: that is no error */
  }
  if (cli_signals_interrupted() || code == CLI_EXIT_INTERRUPTED) {
    cli_report_line(&s->report, TARN_LOG_ERROR, "interrupted");
    return CLI_EXIT_INTERRUPTED;
  }
  cli_text_printf(&line, "%s%s",
                  err->message[0] != '\0' ? err->message : tarn_status_name(err->status),
                  find_advice(s, err));
  cli_text_char(&line, '\0');
  cli_report_line(&s->report, TARN_LOG_ERROR, line.is_broken ? err->message : line.data);
  cli_text_reset(&line);
  return code;
}

/* The table of the command line has a name that no table can have. */
static bool is_bad_name(const cli_session *s, const tarn_error *err) {
  static const char words[] = "invalid table name '";
  const size_t n_words = sizeof(words) - 1;
  const char *given = s->args->n_arguments > 0 ? s->args->arguments[0] : "";
  return err->status == TARN_E_INVALID && strncmp(err->message, words, n_words) == 0 &&
         strncmp(err->message + n_words, given, strcspn(given, "$")) == 0;
}

int cli_fail(cli_session *s, const tarn_error *err) {
  return err->os_errno == CLI_ERRNO_USAGE || is_bad_name(s, err)
             ? cli_fail_usage(s, err)
             : fail_with(s, err, exit_code(err->status));
}

int cli_fail_usage(cli_session *s, const tarn_error *err) {
  return fail_with(s, err, err->status == TARN_E_NOMEM ? CLI_EXIT_ERROR : (int)CLI_EXIT_USAGE);
}

int cli_finish(cli_session *s) {
  tarn_error err;
  if (cli_output_flush(&s->output)) {
    return CLI_EXIT_OK;
  }
  (void)cli_output_status(&s->output, &err);
  return cli_fail(s, &err);
}

/* ------------------------------------------------------------------ warehouse */

static tarn_status find_warehouse(cli_session *s, tarn_error *err) {
  static const char default_config[] = "paimon.yaml";
  const char *given = s->args->values[OPT_WAREHOUSE];
  const char *config = s->args->values[OPT_CONFIG];
  if (given == NULL) {
    given = getenv("TARN_WAREHOUSE");
  }
  if (given != NULL && *given != '\0') {
    s->config.warehouse = strdup(given);
    return s->config.warehouse != NULL ? TARN_OK : cli_no_memory(err);
  }
  if (config == NULL && access(default_config, F_OK) == 0) {
    config = default_config;
  }
  if (config == NULL) {
    return cli_usage(err,
                     "no warehouse: give --warehouse DIR, set TARN_WAREHOUSE, write a "
                     "paimon.yaml, or name the table by the path of its folder");
  }
  return cli_config_read(config, &s->config, err);
}

tarn_status cli_session_catalog(cli_session *s, tarn_catalog **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  *out = NULL;
  if (s->catalog == NULL) {
    if (s->config.warehouse == NULL) {
      st = find_warehouse(s, err);
    }
    if (st == TARN_OK) {
      st = s->config.n_options > 0
               ? tarn_catalog_open_options(s->env, s->config.options, s->config.n_options,
                                           &s->catalog, err)
               : tarn_catalog_open(s->env, s->config.warehouse, &s->catalog, err);
    }
  }
  *out = s->catalog;
  return st;
}

/* ------------------------------------------------------------------ tables */

/* TABLE, --branch and a system table as one name: "db.t$branch_b$snapshots". */
static tarn_status compose_name(const cli_session *s, const char *system, cli_text *out,
                                tarn_error *err) {
  const char *name = s->args->arguments[0], *branch = s->args->values[OPT_BRANCH];
  const char *object;
  size_t n = strlen(name), base;
  bool names_branch, names_system;
  if (n > (strchr(name, '/') != NULL ? MAX_PATH : 4 * MAX_NAME)) {
    return cli_usage(err, "'%.40s...': %zu characters are too many for the name of a table", name,
                     n);
  }
  while (n > 1 && name[n - 1] == '/') {
    n--;
  }
  for (object = name + n; object > name && object[-1] != '/'; object--) {
  }
  base = (size_t)(object - name) + strcspn(object, "$");
  base = base < n ? base : n;
  names_branch = strncmp(name + base, "$branch_", 8) == 0;
  names_system = base < n && (!names_branch || memchr(name + base + 1, '$', n - base - 1) != NULL);
  if (branch != NULL &&
      (branch[strspn(branch, " \t\n\v\f\r")] == '\0' || strpbrk(branch, "/$") != NULL)) {
    return cli_usage(err, "--branch '%s': no branch has such a name", branch);
  }
  if (branch != NULL && names_branch) {
    return cli_usage(err, "--branch %s: '%s' names a branch already", branch, name);
  }
  if (system != NULL && names_system) {
    return cli_usage(err, "'%s' names a system table; expected a table", name);
  }
  cli_text_add(out, name, base);
  if (branch != NULL) {
    cli_text_printf(out, "$branch_%s", branch);
  }
  cli_text_add(out, name + base, n - base);
  if (system != NULL) {
    cli_text_printf(out, "$%s", system);
  }
  cli_text_char(out, '\0');
  return out->is_broken ? cli_no_memory(err) : TARN_OK;
}

tarn_status cli_session_table(cli_session *s, const char *system, tarn_table **out,
                              tarn_error *err) {
  tarn_catalog *catalog = NULL;
  cli_text name = {0};
  tarn_status st = compose_name(s, system, &name, err);
  *out = NULL;
  if (st == TARN_OK && strchr(s->args->arguments[0], '/') == NULL) {
    st = cli_session_catalog(s, &catalog, err);
  }
  if (st == TARN_OK) {
    st = tarn_table_open(s->env, catalog, name.data, s->args->table_options,
                         s->args->n_table_options, out, err);
  }
  cli_text_reset(&name);
  return st;
}

tarn_status cli_session_needs_text(const cli_session *s, tarn_error *err) {
  char name[64];
  if (s->format <= CLI_FORMAT_JSON) {
    return TARN_OK;
  }
  cli_verb_name(s->args->verb, name, sizeof(name));
  return cli_usage(err, "'%s' prints no rows: expected --format table, jsonl or json", name);
}
