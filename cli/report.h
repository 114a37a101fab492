/* report.h - one line on standard error: errors, notes and the library's log. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "tarn/env.h"
#include "text.h"

typedef struct cli_report {
  bool is_json; /* --log-format json */
  bool is_quiet;
  void (*before_line)(void *ctx); /* NULL, or called before each line (it clears the progress) */
  void *before_line_ctx;
} cli_report;

/* "tarn: message", or {"level":"error","message":...}. */
void cli_report_line(const cli_report *report, tarn_log_level level, const char *message);
/* The same with further members of the JSON form: "\"rows\":1"; only where lines are JSON. */
void cli_report_json(const cli_report *report, tarn_log_level level, const char *message,
                     const char *members);
/* Something to know; nothing when quiet. */
void cli_report_note(const cli_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A text with a caret under its byte `at`, below the line that tells what is wrong. */
void cli_report_caret(const cli_report *report, const char *text, size_t at);
/* The library's log sink; ctx: a cli_report. */
void cli_report_log(void *ctx, tarn_log_level level, const char *message);

#endif
