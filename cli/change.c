/* change.c - what the verbs that change something share. */
#include "change.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "as_of.h"
#include "errors.h"
#include "json.h"

/* ------------------------------------------------------------------ asking and telling */

tarn_status cli_change_ask(cli_session *s, bool *is_to_go, tarn_error *err, const char *format,
                           ...) {
  char what[512], question[600], answer[16];
  ssize_t n;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  *is_to_go = !cli_args_has(s->args, OPT_DRY_RUN);
  if (!*is_to_go) {
    cli_change_report(s, NULL, "would %s", what);
    return TARN_OK;
  }
  if (cli_args_has(s->args, OPT_YES) || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
    return TARN_OK;
  }
  what[0] = (char)toupper((unsigned char)what[0]);
  n = snprintf(question, sizeof(question), "%s? [y/N] ", what);
  (void)!write(STDERR_FILENO, question, (size_t)n);
  n = read(STDIN_FILENO, answer, sizeof(answer));
  *is_to_go = n > 0 && (answer[0] == 'y' || answer[0] == 'Y');
  if (!*is_to_go) {
    return cli_error(err, TARN_E_STATE, "nothing was done");
  }
  return TARN_OK;
}

void cli_change_report(cli_session *s, const char *json, const char *format, ...) {
  char message[1024];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  if (s->report.is_json && json != NULL) {
    cli_report_json(&s->report, TARN_LOG_INFO, message, json);
  } else if (!s->report.is_quiet) {
    cli_report_line(&s->report, TARN_LOG_INFO, message);
  }
}

/* ------------------------------------------------------------------ lists */

/* The piece up to a comma that has no \ in front, NUL-terminated in place; what is behind it, or
 * NULL. */
static char *cut_piece(char *text) {
  char *to = text;
  for (;; text++) {
    if (*text == '\\' && (text[1] == ',' || text[1] == '\\')) {
      text++;
    } else if (*text == ',' || *text == '\0') {
      bool is_last = *text == '\0';
      *to = '\0';
      return is_last ? NULL : text + 1;
    }
    *to++ = *text;
  }
}

void cli_pairs_reset(cli_pairs *pairs) {
  free(pairs->items);
  free(pairs->text);
  memset(pairs, 0, sizeof(*pairs));
}

tarn_status cli_pairs_parse(const char *option, const char *text, cli_pairs *out, tarn_error *err) {
  char *at;
  memset(out, 0, sizeof(*out));
  out->text = strdup(text);
  out->items = calloc(strlen(text) / 2 + 1, sizeof(*out->items));
  if (out->text == NULL || out->items == NULL) {
    return cli_no_memory(err);
  }
  for (at = out->text; at != NULL;) {
    char *begin = at, *equals;
    at = cut_piece(begin);
    equals = strchr(begin, '=');
    if (equals == NULL || equals == begin) {
      return cli_usage(err, "%s '%s': expected KEY=VALUE with commas between", option, text);
    }
    *equals = '\0';
    out->items[out->count].key = begin;
    out->items[out->count++].value = equals + 1;
  }
  return TARN_OK;
}

void cli_names_reset(cli_names *names) {
  free((void *)names->items);
  free(names->text);
  memset(names, 0, sizeof(*names));
}

tarn_status cli_names_parse(const char *option, const char *text, cli_names *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (text == NULL) {
    return TARN_OK;
  }
  out->text = strdup(text);
  out->items = calloc(strlen(text) + 1, sizeof(*out->items));
  if (out->text == NULL || out->items == NULL) {
    return cli_no_memory(err);
  }
  for (char *at = out->text; at != NULL;) {
    char *begin = at + strspn(at, " "), *end;
    at = cut_piece(begin);
    for (end = begin + strlen(begin); end > begin && end[-1] == ' '; *--end = '\0') {
    }
    if (*begin == '\0') {
      return cli_usage(err, "%s '%s': expected names with commas between", option, text);
    }
    out->items[out->count++] = begin;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ numbers and times */

tarn_status cli_signed(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err) {
  const char *text = args->values[id];
  char *end;
  long long number;
  if (text == NULL) {
    return TARN_OK;
  }
  errno = 0;
  number = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || strspn(text, "-0123456789") != strlen(text)) {
    return cli_usage(err, "--%s '%s': expected a whole number", cli_options[id].name, text);
  }
  *out = number;
  return TARN_OK;
}

tarn_status cli_duration(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err) {
  static const struct {
    const char *names; /* separated by blanks */
    int64_t ms;
  } units[] = {{" d day days ", 86400000},
               {" h hour hours ", 3600000},
               {" min m minute minutes ", 60000},
               {" s sec secs second seconds ", 1000},
               {" ms milli millis millisecond milliseconds ", 1}};
  const char *text = args->values[id];
  char unit[20];
  char *end;
  long long number;
  if (text == NULL) {
    return TARN_OK;
  }
  errno = 0;
  number = strtoll(text, &end, 10);
  if (*text >= '0' && *text <= '9' && errno == 0) {
    end += strspn(end, " ");
    (void)snprintf(unit, sizeof(unit), " %.15s ", *end == '\0' ? "ms" : end);
    for (size_t i = 0; i < CLI_COUNT(units) && strlen(end) < 15; i++) {
      if (strstr(units[i].names, unit) != NULL && number <= INT64_MAX / units[i].ms) {
        *out = number * units[i].ms;
        return TARN_OK;
      }
    }
  }
  return cli_usage(err, "--%s '%s': expected a duration such as 7d, 12h, 30min, 10s or 500ms",
                   cli_options[id].name, text);
}

tarn_status cli_time(const cli_args *args, cli_option_id id, int64_t *out, tarn_error *err) {
  const char *text = args->values[id];
  return text == NULL
             ? TARN_OK
             : cli_time_parse(cli_options[id].name, text, args->values[OPT_TIME_ZONE], out, err);
}

/* ------------------------------------------------------------------ commits */

tarn_status cli_committer(cli_session *s, tarn_table *table, const char *user, tarn_committer **out,
                          tarn_error *err) {
  tarn_committer_options o = TARN_COMMITTER_OPTIONS_INIT;
  o.commit_user = user != NULL ? user : s->args->values[OPT_COMMIT_USER];
  o.cancel = s->cancel;
  return tarn_committer_create(table, &o, out, err);
}

int64_t cli_latest_snapshot(tarn_table *table) {
  tarn_string facts;
  cli_json json;
  int64_t id = -1;
  if (tarn_table_describe(table, &facts, NULL) != TARN_OK) {
    return -1;
  }
  if (cli_json_parse(facts.data, facts.length, &json)) {
    id = cli_json_int(&json, 0, "latest_snapshot");
    cli_json_reset(&json);
  }
  tarn_string_free(&facts);
  return id;
}

/* Statuses that leave no doubt: nothing of the commit is visible, now or later. */
static bool is_sure(tarn_status status) {
  switch (status) {
    case TARN_E_CONFLICT:
    case TARN_E_TIMEOUT:
    case TARN_E_INVALID:
    case TARN_E_NOT_FOUND:
    case TARN_E_UNSUPPORTED:
    case TARN_E_STATE:
      return true;
    default:
      return false;
  }
}

void cli_clean_up(const cli_session *s, tarn_table *table, tarn_status status,
                  int64_t latest_before, tarn_committer *committer, const tarn_messages *messages) {
  tarn_error err;
  if (tarn_messages_count(messages) == 0) {
    return;
  }
  if (!is_sure(status) && (latest_before < 0 || cli_latest_snapshot(table) != latest_before)) {
    if (status == TARN_OK) {
      return; /* it was committed before; somebody else committed meanwhile */
    }
    cli_report_note(&s->report,
                    "whether the rows were committed is not known, so their files stay: the same "
                    "call again, with the same --commit-user and --commit-id, settles it");
  } else if (tarn_committer_abort(committer, messages, &err) != TARN_OK) {
    cli_report_note(&s->report, "files that were not committed are left behind: %.300s",
                    err.message);
  }
}
