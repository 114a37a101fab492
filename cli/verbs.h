/* verbs.h - the one table of what the program can do.
 *
 * Parsing, help, completion, the man page and the usage errors are made from the tables here; a new
 * verb or option is a new entry. Contract: docs/cli.md.
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_session cli_session;

/* ------------------------------------------------------------------ options */

typedef enum cli_option_id {
  OPT_WAREHOUSE,
  OPT_CONFIG,
  OPT_OPTION,
  OPT_FORMAT,
  OPT_HEADER,
  OPT_NO_HEADER,
  OPT_NULL,
  OPT_THREADS,
  OPT_MEMORY,
  OPT_TIME_ZONE,
  OPT_QUIET,
  OPT_VERBOSE,
  OPT_LOG_FORMAT,
  OPT_NO_COLOR,
  OPT_HELP,
  OPT_VERSION,
  OPT_SELECT,
  OPT_WHERE,
  OPT_LIMIT,
  OPT_COUNT,
  OPT_ROW_KIND,
  OPT_ROW_KIND_NAME,
  OPT_SNAPSHOT,
  OPT_TAG,
  OPT_AS_OF,
  OPT_BRANCH,
  OPT_PATTERN,
  OPT_ROWS,
  OPT_MAN,
  CLI_N_OPTIONS
} cli_option_id;

/* What completion offers for a value or an argument. */
typedef enum cli_value_kind {
  CLI_VALUE_NONE = 0, /* the option is a flag */
  CLI_VALUE_TEXT,
  CLI_VALUE_FILE,
  CLI_VALUE_FOLDER,
  CLI_VALUE_CHOICE,      /* one of `choices` */
  CLI_VALUE_TABLE_OPTION /* key=value, keys from the library */
} cli_value_kind;

typedef struct cli_option {
  const char *name; /* without the dashes */
  char letter;      /* 0: none */
  cli_value_kind kind;
  const char *value;           /* what help calls the value: "NAME" */
  const char *choices;         /* separated by blanks; NULL unless kind is CHOICE */
  const char *choices_to_come; /* refused by name; NULL: none */
  const char *doc;
} cli_option;

extern const cli_option cli_options[CLI_N_OPTIONS];

#define CLI_BIT(id) ((uint64_t)1 << (id))
/* Options that every verb takes. */
extern const uint64_t cli_common_options;

/* ------------------------------------------------------------------ verbs */

typedef enum cli_since {
  CLI_SINCE_READ = 0, /* this release */
  CLI_SINCE_WRITE,    /* releases to come: attempts are refused by name */
  CLI_SINCE_COMPACT,
  CLI_SINCE_STREAM,
  CLI_SINCE_LATER
} cli_since;

typedef struct cli_verb {
  const char *noun;
  const char *verb;      /* NULL: the noun alone is the command */
  const char *arguments; /* as help shows them: "TABLE"; "" for none */
  int min_arguments, max_arguments;
  cli_value_kind argument_kind; /* of the first */
  uint64_t options;             /* besides the common ones */
  cli_since since;
  const char *doc;                  /* one line */
  const char *more;                 /* further lines for its own help; NULL: none */
  int (*run)(cli_session *session); /* the exit code */
  const char *parameter;            /* for functions that serve several verbs */
} cli_verb;

extern const cli_verb cli_verbs[];
extern const size_t cli_n_verbs;

/* One line about each noun. */
typedef struct cli_noun {
  const char *name, *doc;
} cli_noun;
extern const cli_noun cli_nouns[];
extern const size_t cli_n_nouns;

/* "table read", or "inspect"; for messages. */
void cli_verb_name(const cli_verb *verb, char *out, size_t size);
/* The entry of a noun and verb (NULL for a noun that stands alone); NULL: there is none. */
const cli_verb *cli_verb_find(const char *noun, const char *verb);
/* Whether the noun has an entry, and whether it is followed by a verb. */
bool cli_noun_find(const char *noun, bool *has_verbs);

/* Exit codes. Contract: docs/cli.md. */
enum {
  CLI_EXIT_OK = 0,
  CLI_EXIT_ERROR = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_NOT_FOUND = 3,
  CLI_EXIT_CONFLICT = 4,
  CLI_EXIT_INTERRUPTED = 130
};

/* ------------------------------------------------------------------ what runs the verbs */

int cli_run_list_databases(cli_session *session);
int cli_run_list_tables(cli_session *session);
int cli_run_get_database(cli_session *session);
int cli_run_get_table(cli_session *session);
int cli_run_read(cli_session *session);
int cli_run_explain(cli_session *session);
int cli_run_snapshot(cli_session *session);
/* Rows of the system table `parameter`. */
int cli_run_system_table(cli_session *session);
int cli_run_inspect(cli_session *session);
int cli_run_help(cli_session *session);
int cli_run_completion(cli_session *session);

#endif
