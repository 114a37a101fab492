/* verbs.c - the tables of options and verbs. */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define FLAG(name, letter, doc) {name, letter, CLI_VALUE_NONE, NULL, NULL, NULL, doc}
#define VALUE(name, letter, kind, value, doc) {name, letter, kind, value, NULL, NULL, doc}
#define CHOICE(name, letter, value, choices, to_come, doc) \
  {name, letter, CLI_VALUE_CHOICE, value, choices, to_come, doc}

const cli_option cli_options[CLI_N_OPTIONS] = {
    [OPT_WAREHOUSE] = VALUE("warehouse", 'W', CLI_VALUE_FOLDER, "DIR",
                            "the warehouse, a folder or a file: URI; else $TARN_WAREHOUSE, else "
                            "the configuration file"),
    [OPT_CONFIG] = VALUE("config", 'c', CLI_VALUE_FILE, "FILE",
                         "configuration file with lines 'key: value' (warehouse, metastore); else "
                         "./paimon.yaml"),
    [OPT_OPTION] = VALUE("option", 'o', CLI_VALUE_TABLE_OPTION, "KEY=VALUE",
                         "a table option for this command only; may be repeated. 'tarn help "
                         "options' lists them"),
    [OPT_FORMAT] = CHOICE("format", 'f', "FORMAT", "table jsonl json csv arrow", "parquet",
                          "how to print: table, jsonl, json, csv or arrow (an IPC stream); else "
                          "table on a terminal and jsonl in a pipe"),
    [OPT_HEADER] = FLAG("header", 0, "csv begins with the names of the columns (so it does)"),
    [OPT_NO_HEADER] = FLAG("no-header", 0, "csv and table without the names of the columns"),
    [OPT_NULL] = VALUE("null", 0, CLI_VALUE_TEXT, "TEXT",
                       "how csv and table show NULL; else nothing in csv, NULL in a table"),
    [OPT_THREADS] = VALUE("threads", 0, CLI_VALUE_TEXT, "N",
                          "how many threads may work, 1 to 256; else one for each core"),
    [OPT_MEMORY] = VALUE("memory", 0, CLI_VALUE_TEXT, "SIZE",
                         "memory that reading may hold, such as 1gb; else 256mb"),
    [OPT_TIME_ZONE] = VALUE("time-zone", 0, CLI_VALUE_TEXT, "ZONE",
                            "zone of local times, such as Europe/Berlin or +08:00; else $TZ, else "
                            "UTC"),
    [OPT_QUIET] = FLAG("quiet", 'q', "no progress, notes or warnings"),
    [OPT_VERBOSE] = FLAG("verbose", 'v',
                         "tell more: the log on standard error; explain lists "
                         "files"),
    [OPT_LOG_FORMAT] = CHOICE("log-format", 0, "FORMAT", "text json", NULL,
                              "messages on standard error as text or as JSON lines"),
    [OPT_NO_COLOR] = FLAG("no-color", 0, "no colours on a terminal (as with $NO_COLOR)"),
    [OPT_HELP] = FLAG("help", 'h', "help about the command"),
    [OPT_VERSION] = FLAG("version", 0, "the version"),
    [OPT_SELECT] = VALUE("select", 's', CLI_VALUE_TEXT, "A,B",
                         "these columns in this order; r.x takes a field of a ROW, \"a,b\" quotes"),
    [OPT_WHERE] = VALUE("where", 'w', CLI_VALUE_TEXT, "SQL",
                        "only rows that satisfy this, such as \"a >= 3 AND name LIKE 'x%'\""),
    [OPT_LIMIT] = VALUE("limit", 'l', CLI_VALUE_TEXT, "N",
                        "at most N rows; else all of them, but 100 on a terminal"),
    [OPT_COUNT] = FLAG("count", 0, "only the number of rows"),
    [OPT_ROW_KIND] = FLAG("row-kind", 0, "a first column _row_kind: +I, -U, +U or -D"),
    [OPT_ROW_KIND_NAME] = VALUE("row-kind-name", 0, CLI_VALUE_TEXT, "NAME",
                                "the same under another name, for tables with a column of that "
                                "one"),
    [OPT_SNAPSHOT] =
        VALUE("snapshot", 0, CLI_VALUE_TEXT, "N", "the table as of snapshot N (scan.snapshot-id)"),
    [OPT_TAG] = VALUE("tag", 0, CLI_VALUE_TEXT, "NAME", "the table as of a tag (scan.tag-name)"),
    [OPT_AS_OF] = VALUE("as-of", 0, CLI_VALUE_TEXT, "TIME",
                        "the table as of a time: 2024-05-01, '2024-05-01 12:30:00', with Z or "
                        "+02:00, or milliseconds since 1970 (scan.timestamp)"),
    [OPT_BRANCH] = VALUE("branch", 0, CLI_VALUE_TEXT, "NAME",
                         "a branch of the table, as DB.TABLE$branch_NAME"),
    [OPT_PATTERN] = VALUE("pattern", 'p', CLI_VALUE_TEXT, "PATTERN",
                          "only partitions like this, such as 'day=2024-05*'; * and % stand for "
                          "anything"),
    [OPT_ROWS] = FLAG("rows", 0, "the rows of the file rather than facts about it"),
    [OPT_MAN] = FLAG("man", 0, "the man page, as roff"),
};

const uint64_t cli_common_options =
    CLI_BIT(OPT_WAREHOUSE) | CLI_BIT(OPT_CONFIG) | CLI_BIT(OPT_OPTION) | CLI_BIT(OPT_FORMAT) |
    CLI_BIT(OPT_HEADER) | CLI_BIT(OPT_NO_HEADER) | CLI_BIT(OPT_NULL) | CLI_BIT(OPT_THREADS) |
    CLI_BIT(OPT_MEMORY) | CLI_BIT(OPT_TIME_ZONE) | CLI_BIT(OPT_QUIET) | CLI_BIT(OPT_VERBOSE) |
    CLI_BIT(OPT_LOG_FORMAT) | CLI_BIT(OPT_NO_COLOR) | CLI_BIT(OPT_HELP) | CLI_BIT(OPT_VERSION);

#define ROWS_OPTIONS (CLI_BIT(OPT_SELECT) | CLI_BIT(OPT_WHERE) | CLI_BIT(OPT_LIMIT))
#define TRAVEL_OPTIONS \
  (CLI_BIT(OPT_SNAPSHOT) | CLI_BIT(OPT_TAG) | CLI_BIT(OPT_AS_OF) | CLI_BIT(OPT_BRANCH))
#define READ_OPTIONS                                                            \
  (ROWS_OPTIONS | TRAVEL_OPTIONS | CLI_BIT(OPT_COUNT) | CLI_BIT(OPT_ROW_KIND) | \
   CLI_BIT(OPT_ROW_KIND_NAME))
#define LIST_OPTIONS (ROWS_OPTIONS | CLI_BIT(OPT_BRANCH))

const cli_noun cli_nouns[] = {
    {"db", "databases of the warehouse"},
    {"catalog", "the warehouse"},
    {"table", "tables: their rows, schemas and plans"},
    {"snapshot", "snapshots of a table"},
    {"schema", "schemas of a table"},
    {"tag", "tags of a table"},
    {"branch", "branches of a table"},
    {"consumer", "consumers of a table"},
    {"partition", "partitions of a table"},
    {"inspect", "single files of a table"},
    {"help", "help about a command"},
    {"completion", "completion scripts for shells"},
};
const size_t cli_n_nouns = CLI_COUNT(cli_nouns);

#define ONE_TABLE "TABLE", 1, 1, CLI_VALUE_FOLDER
/* A verb that reads a system table. */
#define SYSTEM(noun, verb, options, doc, table) \
  {noun, verb, ONE_TABLE, options, CLI_SINCE_READ, doc, NULL, cli_run_system_table, table}
/* A verb that later releases have. */
#define NOT_YET(noun, verb, since) \
  {noun, verb, "", 0, 0, CLI_VALUE_NONE, 0, since, NULL, NULL, NULL, NULL}

const cli_verb cli_verbs[] = {
    {"db", "list", "", 0, 0, CLI_VALUE_NONE, 0, CLI_SINCE_READ, "List the databases", NULL,
     cli_run_list_databases, NULL},
    {"db", "get", "DB", 1, 1, CLI_VALUE_TEXT, 0, CLI_SINCE_READ, "Show a database", NULL,
     cli_run_get_database, NULL},
    {"db", "list-tables", "DB", 1, 1, CLI_VALUE_TEXT, 0, CLI_SINCE_READ,
     "List the tables of a database", NULL, cli_run_list_tables, NULL},
    {"catalog", "list-dbs", "", 0, 0, CLI_VALUE_NONE, 0, CLI_SINCE_READ, "As db list", NULL,
     cli_run_list_databases, NULL},
    {"table", "list", "DB", 1, 1, CLI_VALUE_TEXT, 0, CLI_SINCE_READ,
     "List the tables of a database", NULL, cli_run_list_tables, NULL},
    {"table", "get", ONE_TABLE, TRAVEL_OPTIONS, CLI_SINCE_READ,
     "Show a table: columns, keys, options, where it is", NULL, cli_run_get_table, NULL},
    {"table", "read", ONE_TABLE, READ_OPTIONS, CLI_SINCE_READ, "Print rows of a table",
     "Rows come in no particular order. A system table is read by its name, such as "
     "DB.TABLE$snapshots.\n"
     "In WHERE: = <> != < <= > >=, IN, BETWEEN, LIKE (with \\ as escape), IS NULL, IS NAN, NOT, "
     "AND, OR, parentheses. Columns: bare, \"quoted\" or `quoted`, nested as r.x. Literals: 12.5, "
     "'text', TRUE, FALSE, NULL, X'0aff', DATE '2024-05-01', TIME '12:30:00', TIMESTAMP "
     "'2024-05-01 12:30:00'.",
     cli_run_read, NULL},
    {"table", "explain", ONE_TABLE, ROWS_OPTIONS | TRAVEL_OPTIONS, CLI_SINCE_READ,
     "Show what reading would do: the plan, what is pruned, what is not visible yet and why",
     "With -v it lists the files of each split. As jsonl it prints one split a line.",
     cli_run_explain, NULL},
    {"table", "snapshot", ONE_TABLE, CLI_BIT(OPT_SNAPSHOT) | CLI_BIT(OPT_BRANCH), CLI_SINCE_READ,
     "Show the latest snapshot, or the one of --snapshot", NULL, cli_run_snapshot, NULL},
    SYSTEM("table", "list-partitions", LIST_OPTIONS | CLI_BIT(OPT_PATTERN), "List the partitions",
           "partitions"),
    SYSTEM("snapshot", "list", LIST_OPTIONS, "List the snapshots", "snapshots"),
    SYSTEM("schema", "list", LIST_OPTIONS, "List the schemas", "schemas"),
    SYSTEM("tag", "list", LIST_OPTIONS, "List the tags", "tags"),
    SYSTEM("branch", "list", ROWS_OPTIONS, "List the branches", "branches"),
    SYSTEM("consumer", "list", LIST_OPTIONS, "List the consumers and where they stand",
           "consumers"),
    SYSTEM("partition", "list", LIST_OPTIONS | CLI_BIT(OPT_PATTERN), "As table list-partitions",
           "partitions"),
    {"inspect", NULL, "FILE", 1, 1, CLI_VALUE_FILE, CLI_BIT(OPT_ROWS) | CLI_BIT(OPT_LIMIT),
     CLI_SINCE_READ, "Show what a file of a table is and holds",
     "Parquet (footer, schema, row groups, encodings, statistics), Avro, manifest lists, "
     "manifests, BLOBs, deletion vectors, hash and file indexes, snapshots, tags, changelogs, "
     "schemas, consumers, statistics, hints. --rows prints rows of Parquet, Avro, BLOBs, deletion "
     "vectors and hash indexes.",
     cli_run_inspect, NULL},
    {"help", NULL, "[NOUN [VERB]]", 0, 2, CLI_VALUE_NONE, CLI_BIT(OPT_MAN), CLI_SINCE_READ,
     "Help about the program, a noun or a verb; 'tarn help options' lists table options", NULL,
     cli_run_help, NULL},
    {"completion", NULL, "bash|zsh|fish|options", 1, 1, CLI_VALUE_NONE, 0, CLI_SINCE_READ,
     "Print the completion script of a shell, or the keys of table options",
     "bash: source <(tarn completion bash)\n"
     "zsh: tarn completion zsh > a file _tarn in a folder of $fpath\n"
     "fish: tarn completion fish > ~/.config/fish/completions/tarn.fish",
     cli_run_completion, NULL},

    NOT_YET("db", "create", CLI_SINCE_WRITE),
    NOT_YET("db", "drop", CLI_SINCE_WRITE),
    NOT_YET("db", "alter", CLI_SINCE_WRITE),
    NOT_YET("table", "create", CLI_SINCE_WRITE),
    NOT_YET("table", "alter", CLI_SINCE_WRITE),
    NOT_YET("table", "rename", CLI_SINCE_WRITE),
    NOT_YET("table", "drop", CLI_SINCE_WRITE),
    NOT_YET("table", "truncate", CLI_SINCE_WRITE),
    NOT_YET("table", "write", CLI_SINCE_WRITE),
    NOT_YET("table", "import", CLI_SINCE_WRITE),
    NOT_YET("table", "delete", CLI_SINCE_WRITE),
    NOT_YET("table", "update", CLI_SINCE_WRITE),
    NOT_YET("table", "drop-partition", CLI_SINCE_WRITE),
    NOT_YET("table", "rollback", CLI_SINCE_WRITE),
    NOT_YET("table", "expire", CLI_SINCE_WRITE),
    NOT_YET("table", "compact-manifests", CLI_SINCE_WRITE),
    NOT_YET("table", "analyze", CLI_SINCE_WRITE),
    NOT_YET("partition", "drop", CLI_SINCE_WRITE),
    NOT_YET("partition", "mark-done", CLI_SINCE_WRITE),
    NOT_YET("tag", "create", CLI_SINCE_WRITE),
    NOT_YET("tag", "delete", CLI_SINCE_WRITE),
    NOT_YET("tag", "rename", CLI_SINCE_WRITE),
    NOT_YET("tag", "get", CLI_SINCE_WRITE),
    NOT_YET("branch", "create", CLI_SINCE_WRITE),
    NOT_YET("branch", "delete", CLI_SINCE_WRITE),
    NOT_YET("branch", "rename", CLI_SINCE_WRITE),
    NOT_YET("branch", "fast-forward", CLI_SINCE_WRITE),
    NOT_YET("consumer", "set", CLI_SINCE_WRITE),
    NOT_YET("consumer", "reset", CLI_SINCE_WRITE),
    NOT_YET("consumer", "delete", CLI_SINCE_WRITE),
    NOT_YET("consumer", "clear", CLI_SINCE_WRITE),
    NOT_YET("fsck", NULL, CLI_SINCE_WRITE),
    NOT_YET("table", "compact", CLI_SINCE_COMPACT),
    NOT_YET("table", "lookup", CLI_SINCE_COMPACT),
    NOT_YET("table", "tail", CLI_SINCE_STREAM),
    NOT_YET("table", "rescale", CLI_SINCE_LATER),
    NOT_YET("table", "stat", CLI_SINCE_LATER),
    NOT_YET("table", "migrate", CLI_SINCE_LATER),
    NOT_YET("orphans", NULL, CLI_SINCE_LATER),
    NOT_YET("maintain", NULL, CLI_SINCE_LATER),
    NOT_YET("sql", NULL, CLI_SINCE_LATER),
};
const size_t cli_n_verbs = CLI_COUNT(cli_verbs);

void cli_verb_name(const cli_verb *verb, char *out, size_t size) {
  (void)snprintf(out, size, "%s%s%s", verb->noun, verb->verb != NULL ? " " : "",
                 verb->verb != NULL ? verb->verb : "");
}

const cli_verb *cli_verb_find(const char *noun, const char *verb) {
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    if (strcmp(v->noun, noun) == 0 &&
        (v->verb == NULL || (verb != NULL && strcmp(v->verb, verb) == 0))) {
      return v;
    }
  }
  return NULL;
}

bool cli_noun_find(const char *noun, bool *has_verbs) {
  for (size_t i = 0; i < cli_n_verbs; i++) {
    if (strcmp(cli_verbs[i].noun, noun) == 0) {
      *has_verbs = cli_verbs[i].verb != NULL;
      return true;
    }
  }
  return false;
}
