/* refused.c - what happens to records that cannot be taken. */
#include "refused.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

#define MAX_WARNINGS 10

tarn_status cli_refused_open(cli_session *session, cli_refused *out, tarn_error *err) {
  const char *given = session->args->values[OPT_ON_ERROR];
  *out = (cli_refused){.session = session, .file = -1};
  out->name = session->args->values[OPT_DEAD_LETTER];
  out->goes_on = out->name != NULL || (given != NULL && strcmp(given, "skip") == 0);
  if (out->name != NULL) {
    out->file = open(out->name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, (mode_t)0666);
    if (out->file < 0) {
      return cli_error_errno(err, TARN_E_IO, out->name, errno);
    }
  }
  return TARN_OK;
}

void cli_refused_close(cli_refused *r) {
  if (r->session != NULL && r->file >= 0) {
    (void)close(r->file);
  }
  memset(r, 0, sizeof(*r));
}

static tarn_status write_all(const cli_refused *r, const char *text, size_t n, tarn_error *err) {
  while (n > 0) {
    ssize_t done = write(r->file, text, n);
    if (done < 0 && errno != EINTR) {
      return cli_error_errno(err, TARN_E_IO, r->name, errno);
    }
    text += done > 0 ? done : 0;
    n -= done > 0 ? (size_t)done : 0;
  }
  return TARN_OK;
}

tarn_status cli_refused_keep(const cli_refused *r, const char *text, size_t n, tarn_error *err) {
  tarn_status st;
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) {
    n--;
  }
  st = write_all(r, text, n, err);
  return st == TARN_OK ? write_all(r, "\n", 1, err) : st;
}

tarn_status cli_refused_add(cli_refused *r, const char *text, size_t n, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (!r->goes_on || err->status != TARN_E_INVALID) {
    return err->status;
  }
  r->count++;
  if (r->count <= MAX_WARNINGS && !r->session->report.is_quiet) {
    cli_report_line(&r->session->report, TARN_LOG_WARN, err->message);
  } else if (r->count == MAX_WARNINGS + 1) {
    cli_report_note(&r->session->report, "further rows that are left out are only counted");
  }
  if (cli_refused_keeps(r) && text != NULL) {
    st = cli_refused_keep(r, text, n, err);
  }
  return st;
}
