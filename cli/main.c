/* main.c - tarn, the program. */
#include <errno.h>
#include <fcntl.h>

#include "help.h"
#include "session.h"

/* What was asked for, be it help, the version or a verb. */
static int run(cli_session *s) {
  const cli_args *args = s->args;
  tarn_error err;
  if (cli_args_has(args, OPT_VERSION)) {
    cli_text_printf(&s->output.pending, "tarn %s\n", tarn_version());
    return cli_finish(s);
  }
  if (cli_args_has(args, OPT_HELP)) {
    return cli_help(args->noun, args->second, &s->output.pending, &err) == TARN_OK
               ? cli_finish(s)
               : cli_fail(s, &err);
  }
  return args->verb->run(s);
}

/* A table's file must not get the number of a stream that was closed: what is told there would go
 * into it. To use such a stream stays an error (EBADF). */
static bool keep_numbers(void) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
        open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) {
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  cli_session session = {0};
  cli_args args;
  tarn_error err;
  bool is_kept = keep_numbers();
  tarn_status st = cli_args_parse(argc, argv, &args, &err);
  const char *log_format = args.values[OPT_LOG_FORMAT];
  int code;
  if (!is_kept) {
    cli_args_reset(&args);
    return CLI_EXIT_ERROR; /* there is nowhere to tell it */
  }
  session.report.is_json = log_format != NULL && strcmp(log_format, "json") == 0;
  if (st == TARN_OK) {
    st = cli_session_start(&session, &args, &err);
  }
  code = st == TARN_OK ? run(&session) : cli_fail(&session, &err);
  cli_session_stop(&session);
  cli_args_reset(&args);
  return code;
}
