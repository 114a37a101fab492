/* args.h - the command line, taken apart by the tables of verbs.h.
 *
 * Options may stand before or after the verb, as --name VALUE, --name=VALUE, -n VALUE or -nVALUE;
 * flags of one letter may be joined; "--" ends them. The last of a repeated option counts, but for
 * -o and the --key of table lookup, which add up.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "errors.h"
#include "tarn/table.h"
#include "verbs.h"

typedef struct cli_args {
  const cli_verb *verb;              /* NULL: only with --help or --version */
  const char *noun, *second;         /* as given, for help; may be NULL */
  const char *values[CLI_N_OPTIONS]; /* NULL: not given; "" for a flag that was */
  const char **arguments;            /* behind the verb; owned */
  int n_arguments;
  tarn_option *table_options; /* of -o; owned, with their texts */
  size_t n_table_options;
  const char **keys; /* of table lookup; owned */
  size_t n_keys;
} cli_args;

/* Take apart. Strings of argv are borrowed.
 *
 * out   cli_args_reset(), after a failure too
 * Errors: TARN_E_INVALID: a usage error, told in one line; TARN_E_NOMEM.
 */
tarn_status cli_args_parse(int argc, char *const *argv, cli_args *out, tarn_error *err);
void cli_args_reset(cli_args *args);

static inline bool cli_args_has(const cli_args *args, cli_option_id id) {
  return args->values[id] != NULL;
}

/* Add a table option, unless its key is NULL; copies. */
tarn_status cli_args_add_option(cli_args *args, const char *key, size_t n_key, const char *value,
                                tarn_error *err);

/* A whole number within the bounds, from an option's value; *out keeps its value when the option
 * was not given. Errors: TARN_E_INVALID. */
tarn_status cli_args_number(const cli_args *args, cli_option_id id, int64_t min, int64_t max,
                            int64_t *out, tarn_error *err);

/* Fill err: a mistake on the command line, told from other errors by its os_errno. Returns
 * TARN_E_INVALID. */
#define CLI_ERRNO_USAGE (-1)
tarn_status cli_usage(tarn_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
