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
  OPT_DRY_RUN,
  OPT_YES,
  OPT_IF_NOT_EXISTS,
  OPT_IF_EXISTS,
  OPT_PROPERTIES,
  OPT_CASCADE,
  OPT_SCHEMA,
  OPT_PRIMARY_KEYS,
  OPT_PARTITION_KEYS,
  OPT_CHANGES,
  OPT_KEY,
  OPT_VALUE,
  OPT_NAME,
  OPT_NEW_NAME,
  OPT_TYPE,
  OPT_COMMENT,
  OPT_DEFAULT,
  OPT_NULLABLE,
  OPT_NOT_NULL,
  OPT_FIRST,
  OPT_AFTER,
  OPT_COMMIT_USER,
  OPT_COMMIT_ID,
  OPT_WATERMARK,
  OPT_OVERWRITE,
  OPT_OVERWRITE_PARTITION,
  OPT_COLUMNS,
  OPT_FIRST_ROW_ID,
  OPT_EVERY,
  OPT_INTERVAL,
  OPT_ON_ERROR,
  OPT_DEAD_LETTER,
  OPT_INPUT,
  OPT_SET,
  OPT_TIME_RETAINED,
  OPT_NEXT,
  OPT_INCLUDING,
  OPT_EXCLUDING,
  OPT_TO_SNAPSHOT,
  OPT_TO_TAG,
  OPT_TO_TIMESTAMP,
  OPT_RETAIN_MAX,
  OPT_RETAIN_MIN,
  OPT_OLDER_THAN,
  OPT_ALL_COLUMNS,
  OPT_DEEP,
  OPT_LEFT_SINCE,
  OPT_FROM,
  OPT_CONSUMER,
  OPT_STATE,
  OPT_MAX_PLANS,
  OPT_UNTIL_IDLE,
  OPT_FOLLOW,
  OPT_METRICS,
  OPT_COMPLETE,
  OPT_CHECKPOINTS,
  OPT_CDC,
  OPT_TABLES,
  OPT_EVOLVE,
  OPT_ENCODINGS,
  OPT_METADATA,
  OPT_FULL,
  OPT_PARTITION,
  OPT_ORDER_BY,
  OPT_ZORDER,
  OPT_HILBERT,
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
  char letter; /* 0: none. A verb's own options come before the common ones, from the verb on */
  cli_value_kind kind;
  const char *value;   /* what help calls the value: "NAME" */
  const char *choices; /* separated by blanks; NULL unless kind is CHOICE */
  const char *doc;
} cli_option;

extern const cli_option cli_options[CLI_N_OPTIONS];

/* A list of options: ids, ended by CLI_N_OPTIONS. */
typedef uint8_t cli_option_list;
bool cli_options_have(const cli_option_list *list, cli_option_id id);
/* Options that every verb takes. */
extern const cli_option_list cli_common_options[];

/* ------------------------------------------------------------------ verbs */

typedef enum cli_since {
  CLI_SINCE_READ = 0,
  CLI_SINCE_WRITE,   /* this release */
  CLI_SINCE_COMPACT, /* releases to come: attempts are refused by name */
  CLI_SINCE_STREAM,
  CLI_SINCE_LATER
} cli_since;

typedef struct cli_verb {
  const char *noun;
  const char *verb;      /* NULL: the noun alone is the command */
  const char *arguments; /* as help shows them: "TABLE"; "" for none */
  int min_arguments, max_arguments;
  cli_value_kind argument_kind;   /* of the first */
  const cli_option_list *options; /* besides the common ones */
  cli_since since;
  const char *doc;                  /* one line */
  const char *more;                 /* further lines for its own help; NULL: none */
  int (*run)(cli_session *session); /* the exit code */
  const char *parameter;            /* for functions that serve several verbs */
} cli_verb;

static inline bool cli_verb_is_here(const cli_verb *verb) {
  return verb->run != NULL;
}
/* Is --format that of the rows it reads? */
static inline bool cli_verb_reads_rows(const cli_verb *verb) {
  return cli_options_have(verb->options, OPT_ON_ERROR);
}

extern const cli_verb cli_verbs[];
extern const size_t cli_n_verbs;

/* One line about each noun. */
typedef struct cli_noun {
  const char *name, *doc;
} cli_noun;
extern const cli_noun cli_nouns[];
extern const size_t cli_n_nouns;

/* What an option is, in the words of this verb. */
const char *cli_option_doc(const cli_verb *verb, cli_option_id id);
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
int cli_run_tail(cli_session *session);
int cli_run_tail_or_feed(cli_session *session);
int cli_run_lookup(cli_session *session);
int cli_run_snapshot(cli_session *session);
/* Rows of the system table `parameter`. */
int cli_run_system_table(cli_session *session);
int cli_run_inspect(cli_session *session);
int cli_run_create_database(cli_session *session);
int cli_run_drop_database(cli_session *session);
int cli_run_alter_database(cli_session *session);
int cli_run_create_table(cli_session *session);
int cli_run_alter(cli_session *session);
int cli_run_rename_table(cli_session *session);
int cli_run_drop_table(cli_session *session);
int cli_run_write(cli_session *session);
int cli_run_cdc(cli_session *session);
int cli_run_delete(cli_session *session);
int cli_run_update(cli_session *session);
int cli_run_truncate(cli_session *session);
int cli_run_drop_partition(cli_session *session);
int cli_run_mark_done(cli_session *session);
int cli_run_create_tag(cli_session *session);
int cli_run_delete_tag(cli_session *session);
int cli_run_rename_tag(cli_session *session);
int cli_run_get_tag(cli_session *session);
int cli_run_create_branch(cli_session *session);
int cli_run_delete_branch(cli_session *session);
int cli_run_rename_branch(cli_session *session);
int cli_run_fast_forward(cli_session *session);
int cli_run_set_consumer(cli_session *session);
int cli_run_delete_consumer(cli_session *session);
int cli_run_clear_consumers(cli_session *session);
int cli_run_rollback(cli_session *session);
int cli_run_expire(cli_session *session);
int cli_run_compact(cli_session *session);
int cli_run_compact_manifests(cli_session *session);
int cli_run_analyze(cli_session *session);
int cli_run_fsck(cli_session *session);
int cli_run_help(cli_session *session);
int cli_run_completion(cli_session *session);

#endif
