/* main.c - tarn, the program. */
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

int main(int argc, char **argv) {
  cli_session session = {0};
  cli_args args;
  tarn_error err;
  tarn_status st = cli_args_parse(argc, argv, &args, &err);
  const char *log_format = args.values[OPT_LOG_FORMAT];
  int code;
  session.report.is_json = log_format != NULL && strcmp(log_format, "json") == 0;
  if (st == TARN_OK) {
    st = cli_session_start(&session, &args, &err);
  }
  code = st == TARN_OK ? run(&session) : cli_fail(&session, &err);
  cli_session_stop(&session);
  cli_args_reset(&args);
  return code;
}
