/* help.h - texts made from the tables of verbs.h. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "args.h"
#include "text.h"

/* About the program (noun NULL), the verbs of a noun, or one verb.
 * Errors: TARN_E_INVALID: there is no such command. */
tarn_status cli_help(const char *noun, const char *verb, cli_text *out, tarn_error *err);
/* The manual page, as roff with the macros of man(7). */
void cli_help_man(cli_text *out);
/* The table options that the library knows. */
void cli_help_table_options(cli_text *out);

/* Completion script of a shell; false: there is none. */
bool cli_completion(const char *shell, cli_text *out);

#endif
