/* report.c - one line on standard error. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "utf8.h"

#define CARET_WINDOW 76 /* columns of a long text that are shown around the spot */

static void clear_line(const cli_report *report) {
  if (report->before_line != NULL) {
    report->before_line(report->before_line_ctx);
  }
}

static void write_all(const cli_text *text) {
  size_t done = 0;
  while (done < text->len) {
    ssize_t n = write(STDERR_FILENO, text->data + done, text->len - done);
    if (n <= 0) {
      return; /* nobody is left to tell */
    }
    done += (size_t)n;
  }
}

static void write_line(const cli_report *report, tarn_log_level level, const char *message,
                       const char *members) {
  static const char *const names[] = {"error", "warn", "info", "debug"};
  static const char *const prefixes[] = {"tarn: ", "tarn: warning: ", "tarn: ", "tarn: debug: "};
  cli_text line = {0};
  if (report->is_json) {
    cli_text_printf(&line, "{\"level\":\"%s\",\"message\":", names[level]);
    cli_text_json(&line, message, strlen(message));
    cli_text_puts(&line, members != NULL ? "," : "");
    cli_text_puts(&line, members != NULL ? members : "");
    cli_text_puts(&line, "}");
  } else {
    cli_text_puts(&line, prefixes[level]);
    cli_text_line(&line, message, strlen(message));
  }
  cli_text_char(&line, '\n');
  write_all(&line);
  cli_text_reset(&line);
}

void cli_report_line(const cli_report *report, tarn_log_level level, const char *message) {
  clear_line(report);
  write_line(report, level, message, NULL);
}

void cli_report_json(const cli_report *report, tarn_log_level level, const char *message,
                     const char *members) {
  clear_line(report);
  write_line(report, level, message, members);
}

void cli_report_note(const cli_report *report, const char *format, ...) {
  char message[512];
  va_list args;
  if (report->is_quiet) {
    return;
  }
  va_start(args, format);
  (void)vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  cli_report_line(report, TARN_LOG_INFO, message);
}

/* A blank or ? for what a terminal would take for its own, each in its place. */
static void add_visible(cli_text *line, const char *text, size_t begin, size_t end) {
  for (size_t i = begin, step; i < end; i += step > 0 ? step : 1) {
    unsigned char c = (unsigned char)text[i];
    step = cli_utf8_length((const uint8_t *)text + i, end - i);
    if (step == 0) {
      cli_text_char(line, '?');
    } else if (c < 0x20 || c == 0x7F || (c == 0xC2 && (unsigned char)text[i + 1] < 0xA0)) {
      cli_text_char(line, ' ');
    } else {
      cli_text_add(line, text + i, step);
    }
  }
}

void cli_report_caret(const cli_report *report, const char *text, size_t at) {
  size_t n = strlen(text), begin = 0, end = n, column;
  cli_text line = {0};
  if (report->is_json) {
    return;
  }
  at = at < n ? at : n;
  begin = at > 2 * CARET_WINDOW ? at - 2 * CARET_WINDOW : 0; /* enough of any characters */
  while (begin < at && cli_utf8_width(text + begin, at - begin) > CARET_WINDOW / 2) {
    begin++;
  }
  while (begin < at && ((unsigned char)text[begin] & 0xC0) == 0x80) {
    begin++; /* not inside a character */
  }
  end = begin + cli_utf8_cut(text + begin, n - begin, CARET_WINDOW, &column);
  cli_text_puts(&line, begin > 0 ? "  ..." : "  ");
  add_visible(&line, text, begin, end);
  cli_text_puts(&line, end < n ? "...\n" : "\n");
  cli_text_fill(&line, ' ', (begin > 0 ? 5 : 2) + cli_utf8_width(text + begin, at - begin));
  cli_text_puts(&line, "^\n");
  write_all(&line);
  cli_text_reset(&line);
}

/* From any thread: it leaves the progress alone. */
void cli_report_log(void *ctx, tarn_log_level level, const char *message) {
  write_line(ctx, level, message, NULL);
}
