/* verbs.c - the tables of options and verbs. */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define FLAG(name, letter, doc) {name, letter, CLI_VALUE_NONE, NULL, NULL, doc}
#define VALUE(name, letter, kind, value, doc) {name, letter, kind, value, NULL, doc}
#define CHOICE(name, letter, value, choices, doc) \
  {name, letter, CLI_VALUE_CHOICE, value, choices, doc}

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
    [OPT_FORMAT] =
        CHOICE("format", 'f', "FORMAT", "table jsonl json csv arrow parquet debezium canal",
               "how to print: table, jsonl, json, csv, arrow (an IPC stream) or parquet; 'table "
               "tail' also debezium or canal; else table on a terminal and jsonl in a pipe. For "
               "'table write' the format of the rows it reads"),
    [OPT_HEADER] = FLAG("header", 0, "csv begins with the names of the columns (the default)"),
    [OPT_NO_HEADER] = FLAG("no-header", 0, "csv and table without the names of the columns"),
    [OPT_NULL] = VALUE("null", 0, CLI_VALUE_TEXT, "TEXT",
                       "how csv and table show NULL; else nothing in csv, NULL in a table"),
    [OPT_THREADS] = VALUE("threads", 0, CLI_VALUE_TEXT, "N",
                          "how many threads may work, 1 to 256; else one for each core"),
    [OPT_MEMORY] = VALUE("memory", 0, CLI_VALUE_TEXT, "SIZE",
                         "memory for rows on their way, such as 1gb; else 256mb"),
    [OPT_TIME_ZONE] = VALUE("time-zone", 0, CLI_VALUE_TEXT, "ZONE",
                            "zone of local times, such as Europe/Berlin or +08:00; else $TZ, else "
                            "UTC"),
    [OPT_QUIET] = FLAG("quiet", 'q', "no progress, notes, warnings or closing lines"),
    [OPT_VERBOSE] =
        FLAG("verbose", 'v', "tell more: the log on standard error; 'table explain' lists files"),
    [OPT_LOG_FORMAT] = CHOICE("log-format", 0, "FORMAT", "text json",
                              "messages on standard error as text or as JSON lines"),
    [OPT_NO_COLOR] = FLAG("no-color", 0, "no colours on a terminal (as with $NO_COLOR)"),
    [OPT_HELP] = FLAG("help", 'h', "help about the command"),
    [OPT_VERSION] = FLAG("version", 0, "the version"),
    [OPT_SELECT] =
        VALUE("select", 's', CLI_VALUE_TEXT, "A,B",
              "these columns in this order; r.x is a field of a ROW, \"a,b\" a name with a comma"),
    [OPT_WHERE] = VALUE("where", 'w', CLI_VALUE_TEXT, "SQL",
                        "only rows that satisfy this, such as \"a >= 3 AND name LIKE 'x%'\""),
    [OPT_LIMIT] = VALUE("limit", 'l', CLI_VALUE_TEXT, "N",
                        "at most N rows; else all of them, but 100 on a terminal"),
    [OPT_COUNT] = FLAG("count", 0, "only the number of rows"),
    [OPT_ROW_KIND] = FLAG("row-kind", 0, "a first column _row_kind: +I, -U, +U or -D"),
    [OPT_ROW_KIND_NAME] = VALUE("row-kind-name", 0, CLI_VALUE_TEXT, "NAME",
                                "with the row kind in a column of this name, for tables that have "
                                "a column _row_kind of their own"),
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
    [OPT_DRY_RUN] = FLAG("dry-run", 0, "tell what would be done, and do nothing"),
    [OPT_YES] = FLAG("yes", 'y', "do not ask first, on a terminal"),
    [OPT_IF_NOT_EXISTS] =
        FLAG("ignore-if-exists", 'i', "it is no error if there is one of that name already"),
    [OPT_IF_EXISTS] = FLAG("ignore-if-not-exists", 'i', "it is no error if there is none"),
    [OPT_PROPERTIES] = VALUE("properties", 'p', CLI_VALUE_TEXT, "JSON",
                             "properties as a JSON object; a file system keeps none of them"),
    [OPT_CASCADE] = FLAG("cascade", 0, "with the tables in it"),
    [OPT_SCHEMA] = VALUE("schema", 0, CLI_VALUE_FILE, "FILE",
                         "columns, keys and options as JSON; or an Arrow or Parquet file that has "
                         "the columns; - is standard input"),
    [OPT_PRIMARY_KEYS] =
        VALUE("primary-keys", 0, CLI_VALUE_TEXT, "A,B", "the columns of the primary key"),
    [OPT_PARTITION_KEYS] =
        VALUE("partition-keys", 0, CLI_VALUE_TEXT, "A,B", "the columns that partition the table"),
    [OPT_CHANGES] = VALUE("changes", 0, CLI_VALUE_TEXT, "JSON",
                          "a list of changes, made as one; - reads it from standard input"),
    [OPT_KEY] = VALUE("key", 'k', CLI_VALUE_TEXT, "KEY",
                      "the key of a table option; for 'table lookup' a primary key"),
    [OPT_VALUE] = VALUE("value", 'v', CLI_VALUE_TEXT, "VALUE", "the value of the table option"),
    [OPT_NAME] = VALUE("name", 'n', CLI_VALUE_TEXT, "COLUMN",
                       "a column; r.x is a field of a ROW, a.element and m.value what is in an "
                       "ARRAY or MAP"),
    [OPT_NEW_NAME] = VALUE("new-name", 'm', CLI_VALUE_TEXT, "NAME", "the new name of the column"),
    [OPT_TYPE] =
        VALUE("type", 't', CLI_VALUE_TEXT, "TYPE", "a type in SQL, such as DECIMAL(10, 2)"),
    [OPT_COMMENT] =
        VALUE("comment", 'c', CLI_VALUE_TEXT, "TEXT", "a comment for the column, or the table"),
    [OPT_DEFAULT] = VALUE("default", 0, CLI_VALUE_TEXT, "VALUE",
                          "the column's default: its value in rows that are written without one"),
    [OPT_NULLABLE] = FLAG("nullable", 0, "the column takes NULL"),
    [OPT_NOT_NULL] = FLAG("not-null", 0, "the column takes no NULL"),
    [OPT_FIRST] = FLAG("first", 0, "put the column in front of all others"),
    [OPT_AFTER] = VALUE("after", 0, CLI_VALUE_TEXT, "COLUMN", "put the column behind this one"),
    [OPT_COMMIT_USER] = VALUE("commit-user", 0, CLI_VALUE_TEXT, "USER",
                              "whose commits these are; else a name is made up"),
    [OPT_COMMIT_ID] = VALUE("commit-id", 0, CLI_VALUE_TEXT, "N",
                            "the identifier of the (first) commit: what this user has committed "
                            "with it, or a later one, is not committed again"),
    [OPT_WATERMARK] =
        VALUE("watermark", 0, CLI_VALUE_TEXT, "MILLIS", "the watermark of the commit"),
    [OPT_OVERWRITE] = FLAG("overwrite", 0,
                           "replace the partitions that have new rows (all rows of a table without "
                           "partitions, or with dynamic-partition-overwrite=false)"),
    [OPT_OVERWRITE_PARTITION] =
        VALUE("overwrite-partition", 0, CLI_VALUE_TEXT, "K=V,...",
              "replace the rows of these partitions, where all new rows must be; "
              "without new rows only with "
              "dynamic-partition-overwrite=false"),
    [OPT_COLUMNS] = VALUE("columns", 0, CLI_VALUE_TEXT, "A,B",
                          "write only these columns, of rows that are there (data evolution)"),
    [OPT_FIRST_ROW_ID] = VALUE("first-row-id", 0, CLI_VALUE_TEXT, "N",
                               "with --columns: the id of the row that the first one is of"),
    [OPT_EVERY] = VALUE("every", 0, CLI_VALUE_TEXT, "N", "commit after each N rows, too"),
    [OPT_INTERVAL] = VALUE("interval", 0, CLI_VALUE_TEXT, "TIME",
                           "commit what there is when this time has passed, such as 10s"),
    [OPT_ON_ERROR] =
        CHOICE("on-error", 0, "WHAT", "stop skip dead-letter",
               "at a row that cannot be taken: stop (the default), skip it, or keep it "
               "in a file: dead-letter FILE"),
    [OPT_DEAD_LETTER] = VALUE("dead-letter", 0, CLI_VALUE_FILE, "FILE",
                              "the same as --on-error dead-letter FILE; lines are added to it"),
    [OPT_INPUT] = VALUE("input", 'i', CLI_VALUE_FILE, "FILE", "the file to read"),
    [OPT_SET] = VALUE("set", 0, CLI_VALUE_TEXT, "COLUMN=VALUE,...",
                      "new values: literals as in WHERE, or other columns"),
    [OPT_TIME_RETAINED] =
        VALUE("time-retained", 0, CLI_VALUE_TEXT, "TIME",
              "how long the tag stays, such as 7d; else tag.default-time-retained"),
    [OPT_NEXT] = VALUE("next", 0, CLI_VALUE_TEXT, "N", "the snapshot that the consumer reads next"),
    [OPT_INCLUDING] = VALUE("including", 0, CLI_VALUE_TEXT, "REGEX",
                            "only consumers whose whole id matches this regular expression"),
    [OPT_EXCLUDING] = VALUE("excluding", 0, CLI_VALUE_TEXT, "REGEX",
                            "but not consumers whose whole id matches this one"),
    [OPT_TO_SNAPSHOT] = VALUE("to-snapshot", 0, CLI_VALUE_TEXT, "N", "back to snapshot N"),
    [OPT_TO_TAG] = VALUE("to-tag", 0, CLI_VALUE_TEXT, "NAME", "back to the snapshot of a tag"),
    [OPT_TO_TIMESTAMP] = VALUE("to-timestamp", 0, CLI_VALUE_TEXT, "TIME",
                               "back to what there was at a time, given as with --as-of"),
    [OPT_RETAIN_MAX] = VALUE("retain-max", 0, CLI_VALUE_TEXT, "N",
                             "the most snapshots that stay; else snapshot.num-retained.max"),
    [OPT_RETAIN_MIN] = VALUE("retain-min", 0, CLI_VALUE_TEXT, "N",
                             "how many stay whatever their age; else snapshot.num-retained.min"),
    [OPT_OLDER_THAN] = VALUE("older-than", 0, CLI_VALUE_TEXT, "TIME",
                             "only those from before a time, given as with --as-of; else "
                             "snapshot.time-retained ago"),
    [OPT_ALL_COLUMNS] = FLAG("all-columns", 0, "also the statistics of every column"),
    [OPT_DEEP] =
        FLAG("deep", 0, "read the rows of all live files, and compare them with the metadata"),
    [OPT_LEFT_SINCE] =
        VALUE("left-since", 0, CLI_VALUE_TEXT, "TIME",
              "files that nothing names are faults, too, if they are younger than this time (given "
              "as with --as-of): what writers that were killed since have left"),
    [OPT_FROM] = VALUE("from", 0, CLI_VALUE_TEXT, "WHERE",
                       "where to start: full (the default: the rows there are, then changes), "
                       "latest (only changes to come), earliest (all changes that are kept), "
                       "snapshot:N, or ts:TIME, given as with --as-of"),
    [OPT_CONSUMER] =
        VALUE("consumer", 0, CLI_VALUE_TEXT, "ID",
              "read as this consumer: go on where it stands, move it, and keep what it "
              "needs from expiring (the table needs consumer.expiration-time; with "
              "-o consumer-id=ID its place is only read)"),
    [OPT_STATE] = VALUE("state", 0, CLI_VALUE_FILE, "FILE",
                        "keep in this file how far it has come, and go on from there"),
    [OPT_MAX_PLANS] = VALUE("max-plans", 0, CLI_VALUE_TEXT, "N",
                            "end after N plans, each the changes of one snapshot (the first may "
                            "only find the start), or when nothing is left"),
    [OPT_UNTIL_IDLE] = FLAG("until-idle", 0, "end when all that is there was read"),
    [OPT_FOLLOW] = FLAG("follow", 0,
                        "for 'table tail' (the default): wait for more when all was read; for "
                        "'table write': commit every 10 s, or as --every and --interval say, "
                        "until the input or a signal ends it"),
    [OPT_CDC] = CHOICE("cdc", 0, "FEED", "debezium canal maxwell jsonl",
                       "the rows are the changes of a database, as this connector writes them, "
                       "one record a line (docs/cdc.md)"),
    [OPT_TABLES] = VALUE("tables", 0, CLI_VALUE_TEXT, "REGEX",
                         "with --cdc: only records of source tables whose name, such as "
                         "shop.orders, matches as a whole; others are counted"),
    [OPT_EVOLVE] = FLAG("evolve", 0,
                        "with --cdc: add columns that the feed has and the table has not, and "
                        "widen types for values that do not fit"),
    [OPT_ENCODINGS] = VALUE("encodings", 0, CLI_VALUE_TEXT, "K=V,...",
                            "with --cdc: how the feed writes values where no schema tells: "
                            "time=ms|us|ns, decimal=text|base64, bytes=base64|hex|latin1"),
    [OPT_METADATA] = VALUE("metadata", 0, CLI_VALUE_TEXT, "COLUMN=FIELD,...",
                           "with --cdc: columns from elsewhere in the record, such as "
                           "lsn=source.lsn, for sequence.field"),
    [OPT_CHECKPOINTS] = FLAG("checkpoints", 0,
                             "for a pipe into 'table write --state FILE' with other programs "
                             "between: lines between the rows tell it how to go on; give both the "
                             "same --state FILE, which is only read here"),
    [OPT_METRICS] = VALUE("metrics", 0, CLI_VALUE_FILE, "FILE",
                          "keep counters in this file, as Prometheus text"),
    [OPT_COMPLETE] = FLAG("complete", 0,
                          "for tables without changelog: keep the last row of each key, and print "
                          "-U in front of each +U, and -D with all values"),
    [OPT_FULL] =
        FLAG("full", 0,
             "compact all files of each bucket, not only those whose number and size call for it"),
    [OPT_PARTITION] =
        VALUE("partition", 0, CLI_VALUE_TEXT, "K=V,...", "only the partitions with these values"),
    [OPT_ORDER_BY] = VALUE("order-by", 0, CLI_VALUE_TEXT, "COLUMN,...",
                           "rewrite all files with their rows in the order of these columns"),
    [OPT_ZORDER] = FLAG("zorder", 0, "with --order-by: along the Z curve through the columns"),
    [OPT_HILBERT] = FLAG("hilbert", 0, "with --order-by: along Hilbert's curve"),
};

const cli_option_list cli_common_options[] = {
    OPT_WAREHOUSE,  OPT_CONFIG,   OPT_OPTION, OPT_FORMAT,    OPT_HEADER,   OPT_NO_HEADER,
    OPT_NULL,       OPT_THREADS,  OPT_MEMORY, OPT_TIME_ZONE, OPT_QUIET,    OPT_VERBOSE,
    OPT_LOG_FORMAT, OPT_NO_COLOR, OPT_HELP,   OPT_VERSION,   CLI_N_OPTIONS};

bool cli_options_have(const cli_option_list *list, cli_option_id id) {
  for (; *list != CLI_N_OPTIONS; list++) {
    if (*list == id) {
      return true;
    }
  }
  return false;
}

/* What an option is in certain verbs, where the words for all of them would say too much. */
typedef struct option_note {
  cli_option_id id;
  const char *verbs; /* "table write", ...: each ends with a semicolon */
  const char *doc;
} option_note;

static const option_note option_notes[] = {
    {OPT_FORMAT, "table write;table import;",
     "the format of the rows: jsonl, csv, arrow (an IPC stream) or parquet; else the name of the "
     "file tells, else it is jsonl"},
    {OPT_FORMAT, "table tail;",
     "how to print: table, jsonl, json, csv, arrow (an IPC stream), parquet, or as a change feed: "
     "debezium, canal; else table on a terminal and jsonl in a pipe"},
    {OPT_HEADER, "table write;table import;",
     "csv: the first line names the columns (the default)"},
    {OPT_NO_HEADER, "table write;table import;",
     "csv: the first line is a row, with the table's columns in their order"},
    {OPT_NULL, "table write;table import;",
     "csv: fields that are this text, without quotes, are NULL; else empty ones are"},
    {OPT_KEY, "table lookup;",
     "a primary key, COLUMN=VALUE,...; may be repeated; without it keys are read from standard "
     "input, a JSON object a line"},
    {OPT_KEY, "table alter;", "the key of the table option"},
    {OPT_ROW_KIND_NAME, "table write;table import;",
     "the name of the column, field or member that tells the row kind; else _row_kind"},
    {OPT_ROW_KIND_NAME, "table tail;", "the name of the row kind's column; else _row_kind"},
    {OPT_SNAPSHOT, "tag create;", "the snapshot to tag; else the latest"},
    {OPT_SNAPSHOT, "table snapshot;", "show snapshot N; else the latest"},
    {OPT_TAG, "branch create;", "the tag that the branch begins with; else the branch is empty"},
    {OPT_WHERE, "table compact;",
     "only partitions that satisfy this, such as \"day < '2024-05-01'\""},
    {OPT_WHERE, "table delete;table update;",
     "the rows that satisfy this, such as \"a >= 3 AND name LIKE 'x%'\"; TRUE: all rows"},
    {OPT_LIMIT, "table explain;", "plan for at most N rows"},
    {OPT_LIMIT, "table tail;", "end after N rows"},
    {OPT_SELECT, "table explain;", "plan for these columns only"},
    {OPT_LIMIT, "inspect;", "with --rows: at most N rows; else all of them, but 100 on a terminal"},
    {OPT_STATE, "table write;table import;",
     "keep in this file what is being committed and how far the input was read: the same call goes "
     "on from there after any end, and every row is written once"},
    {OPT_STATE, "table tail;",
     "keep in this file how far the stream was printed, and go on from there"},
    {OPT_FOLLOW, "table tail;", "wait for more when all was read (the default)"},
    {OPT_FOLLOW, "table write;table import;",
     "commit every 10 s, or as --every and --interval say, until the input or a signal ends it"},
};

const char *cli_option_doc(const cli_verb *verb, cli_option_id id) {
  char name[64];
  size_t n;
  cli_verb_name(verb, name, sizeof(name) - 1);
  n = strlen(name);
  name[n++] = ';';
  name[n] = '\0';
  for (size_t i = 0; i < CLI_COUNT(option_notes); i++) {
    const char *at = option_notes[i].id == id ? option_notes[i].verbs : "";
    for (; *at != '\0'; at = strchr(at, ';') + 1) {
      if (strncmp(at, name, n) == 0) {
        return option_notes[i].doc;
      }
    }
  }
  return cli_options[id].doc;
}

/* A list, as it stands in a table. */
#define TAKES(...)             \
  (const cli_option_list[]) {  \
    __VA_ARGS__, CLI_N_OPTIONS \
  }
#define NO_OPTIONS            \
  (const cli_option_list[]) { \
    CLI_N_OPTIONS             \
  }

#define ROWS OPT_SELECT, OPT_WHERE, OPT_LIMIT
#define TRAVEL OPT_SNAPSHOT, OPT_TAG, OPT_AS_OF, OPT_BRANCH
#define COMMIT OPT_COMMIT_USER, OPT_COMMIT_ID, OPT_BRANCH
#define DANGER OPT_DRY_RUN, OPT_YES
#define LIST_OPTIONS TAKES(ROWS, OPT_BRANCH)
#define PARTITION_OPTIONS TAKES(ROWS, OPT_BRANCH, OPT_PATTERN)
#define READ_OPTIONS TAKES(ROWS, TRAVEL, OPT_COUNT, OPT_ROW_KIND, OPT_ROW_KIND_NAME)
#define TAIL_OPTIONS                                                                           \
  TAKES(ROWS, OPT_BRANCH, OPT_ROW_KIND_NAME, OPT_FROM, OPT_CONSUMER, OPT_STATE, OPT_MAX_PLANS, \
        OPT_UNTIL_IDLE, OPT_FOLLOW, OPT_METRICS, OPT_CHECKPOINTS, OPT_COMPLETE)
#define WRITE_OPTIONS                                                                            \
  TAKES(COMMIT, OPT_WATERMARK, OPT_OVERWRITE, OPT_OVERWRITE_PARTITION, OPT_COLUMNS,              \
        OPT_FIRST_ROW_ID, OPT_EVERY, OPT_INTERVAL, OPT_ON_ERROR, OPT_DEAD_LETTER, OPT_INPUT,     \
        OPT_ROW_KIND_NAME, OPT_DRY_RUN, OPT_FOLLOW, OPT_STATE, OPT_METRICS, OPT_CDC, OPT_TABLES, \
        OPT_EVOLVE, OPT_ENCODINGS, OPT_METADATA)

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
    {"fsck", "whether a table is whole"},
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
  {noun, verb, "", 0, 0, CLI_VALUE_NONE, NO_OPTIONS, since, NULL, NULL, NULL, NULL}

const cli_verb cli_verbs[] = {
    {"db", "list", "", 0, 0, CLI_VALUE_NONE, NO_OPTIONS, CLI_SINCE_READ, "List the databases", NULL,
     cli_run_list_databases, NULL},
    {"db", "get", "DB", 1, 1, CLI_VALUE_TEXT, NO_OPTIONS, CLI_SINCE_READ, "Show a database", NULL,
     cli_run_get_database, NULL},
    {"db", "list-tables", "DB", 1, 1, CLI_VALUE_TEXT, NO_OPTIONS, CLI_SINCE_READ,
     "List the tables of a database", NULL, cli_run_list_tables, NULL},
    {"catalog", "list-dbs", "", 0, 0, CLI_VALUE_NONE, NO_OPTIONS, CLI_SINCE_READ, "As db list",
     NULL, cli_run_list_databases, NULL},
    {"table", "list", "DB", 1, 1, CLI_VALUE_TEXT, NO_OPTIONS, CLI_SINCE_READ,
     "List the tables of a database", NULL, cli_run_list_tables, NULL},
    {"table", "get", ONE_TABLE, TAKES(TRAVEL), CLI_SINCE_READ,
     "Show a table: columns, keys, options, where it is", NULL, cli_run_get_table, NULL},
    {"table", "read", ONE_TABLE, READ_OPTIONS, CLI_SINCE_READ, "Print rows of a table",
     "Rows come in no particular order. A system table is read by its name, such as "
     "DB.TABLE$snapshots.\n"
     "In WHERE: = <> != < <= > >=, IN, BETWEEN, LIKE (with \\ as escape), IS NULL, IS NAN, NOT, "
     "AND, OR, parentheses. Columns: bare, \"quoted\" or `quoted`, nested as r.x. Literals: 12.5, "
     "'text', TRUE, FALSE, NULL, X'0aff', DATE '2024-05-01', TIME '12:30:00', TIMESTAMP "
     "'2024-05-01 12:30:00'.",
     cli_run_read, NULL},
    {"table", "lookup", ONE_TABLE, TAKES(OPT_SELECT, TRAVEL, OPT_KEY), CLI_SINCE_COMPACT,
     "Print the rows with the given primary keys",
     "All columns of the primary key are needed. A value is text as 'table read -f csv' prints it, "
     "in "
     "'' where it has a comma. A key that the "
     "table does not have prints nothing; when a single --key is asked for and not there, the exit "
     "code is 3. Data files are read once, when a key first needs them, into files without names "
     "in "
     "$TMPDIR (or /tmp); for a single key of a large table 'table read --where' can be cheaper.",
     cli_run_lookup, NULL},
    {"table", "tail", ONE_TABLE, TAIL_OPTIONS, CLI_SINCE_STREAM,
     "Print the rows of a table, then its changes as they are committed",
     "Each row has its kind (_row_kind: +I, -U, +U, -D) and the snapshot it came with (_snapshot). "
     "Rows of a key come in order. Control-C and SIGTERM end at a checkpoint with exit code 130; "
     "at the end {\"_next_snapshot\":N} on standard error tells where the stream stands.\n"
     "With --state a run goes on where the one before ended, however it ended: nothing is lost. "
     "After a kill some rows may come twice; {\"_resumed\":{\"rows\":N}} on standard error tells "
     "how many rows came before those that follow. 'table tail A --state s | table write B "
     "--follow --state t' brings every row in once: the sink keeps the place of both.\n"
     "As debezium or canal a -U and its +U are one record. --complete makes the changes of a table "
     "without changelog complete; with --state its rows are kept in FILE.rows.",
     cli_run_tail_or_feed, NULL},
    {"table", "explain", ONE_TABLE, TAKES(ROWS, TRAVEL), CLI_SINCE_READ,
     "Show what reading would do: the plan, what is pruned, what is not visible yet and why",
     "With -v it lists the files of each split. As jsonl it prints one split a line.",
     cli_run_explain, NULL},
    {"table", "snapshot", ONE_TABLE, TAKES(OPT_SNAPSHOT, OPT_BRANCH), CLI_SINCE_READ,
     "Show the latest snapshot, or the one of --snapshot", NULL, cli_run_snapshot, NULL},
    SYSTEM("table", "list-partitions", PARTITION_OPTIONS, "List the partitions", "partitions"),
    SYSTEM("snapshot", "list", LIST_OPTIONS, "List the snapshots", "snapshots"),
    SYSTEM("schema", "list", LIST_OPTIONS, "List the schemas", "schemas"),
    SYSTEM("tag", "list", LIST_OPTIONS, "List the tags", "tags"),
    SYSTEM("branch", "list", TAKES(ROWS), "List the branches", "branches"),
    SYSTEM("consumer", "list", LIST_OPTIONS, "List the consumers and where they stand",
           "consumers"),
    SYSTEM("partition", "list", PARTITION_OPTIONS, "As table list-partitions", "partitions"),
    {"inspect", NULL, "FILE", 1, 1, CLI_VALUE_FILE, TAKES(OPT_ROWS, OPT_LIMIT), CLI_SINCE_READ,
     "Show what a file of a table is and holds",
     "Parquet (footer, schema, row groups, encodings, statistics), Avro, manifest lists, "
     "manifests, BLOBs, deletion vectors, hash and file indexes, snapshots, tags, changelogs, "
     "schemas, consumers, statistics, hints. --rows prints rows of Parquet, Avro, BLOBs, deletion "
     "vectors and hash indexes.",
     cli_run_inspect, NULL},
    {"help", NULL, "[NOUN [VERB]]", 0, 2, CLI_VALUE_NONE, TAKES(OPT_MAN), CLI_SINCE_READ,
     "Help about the program, a noun or a verb; 'tarn help options' lists table options", NULL,
     cli_run_help, NULL},
    {"completion", NULL, "bash|zsh|fish|options", 1, 1, CLI_VALUE_NONE, NO_OPTIONS, CLI_SINCE_READ,
     "Print the completion script of a shell, or the keys of table options",
     "bash: source <(tarn completion bash)\n"
     "zsh: tarn completion zsh > a file _tarn in a folder of $fpath\n"
     "fish: tarn completion fish > ~/.config/fish/completions/tarn.fish",
     cli_run_completion, NULL},

    {"db", "create", "DB", 1, 1, CLI_VALUE_TEXT, TAKES(OPT_IF_NOT_EXISTS, OPT_PROPERTIES),
     CLI_SINCE_WRITE, "Create a database", NULL, cli_run_create_database, NULL},
    {"db", "drop", "DB", 1, 1, CLI_VALUE_TEXT, TAKES(OPT_IF_EXISTS, OPT_CASCADE, DANGER),
     CLI_SINCE_WRITE, "Drop a database, which must have no tables unless --cascade is given", NULL,
     cli_run_drop_database, NULL},
    {"db", "alter", "DB", 1, 1, CLI_VALUE_TEXT, TAKES(OPT_IF_EXISTS, OPT_PROPERTIES),
     CLI_SINCE_WRITE, "Change properties of a database",
     "The properties as JSON: {\"key\": \"value\", \"other\": null}, where null removes one.\n"
     "A warehouse on a file system keeps no properties: every change is refused, as by Java.",
     cli_run_alter_database, NULL},
    {"table", "create", ONE_TABLE,
     TAKES(OPT_SCHEMA, OPT_PRIMARY_KEYS, OPT_PARTITION_KEYS, OPT_IF_NOT_EXISTS), CLI_SINCE_WRITE,
     "Create a table",
     "The schema as JSON: {\"fields\": [{\"name\": \"id\", \"type\": \"INT NOT NULL\", "
     "\"description\": \"..\", \"default\": \"..\"}], \"primaryKeys\": [\"id\"], "
     "\"partitionKeys\": [], \"options\": {\"bucket\": \"2\"}, \"comment\": \"..\"}. "
     "Types are SQL, nested as ARRAY<INT>, MAP<STRING, INT>, ROW<a INT, b STRING>. -o adds options "
     "of the table.",
     cli_run_create_table, NULL},
    {"table", "alter", "TABLE [CHANGE]", 1, 2, CLI_VALUE_FOLDER,
     TAKES(OPT_CHANGES, OPT_KEY, OPT_VALUE, OPT_NAME, OPT_NEW_NAME, OPT_TYPE, OPT_COMMENT,
           OPT_DEFAULT, OPT_NULLABLE, OPT_NOT_NULL, OPT_FIRST, OPT_AFTER),
     CLI_SINCE_WRITE, "Change the schema of a table: its columns, options and comment",
     "One CHANGE: set-option -k KEY -v VALUE, remove-option -k KEY, add-column -n COLUMN -t TYPE, "
     "drop-column -n COLUMN, rename-column -n COLUMN -m NAME, alter-column -n COLUMN [-t TYPE] [-c "
     "TEXT] [--default VALUE] [--nullable | --not-null] [--first | --after COLUMN], update-comment "
     "-c TEXT.\n"
     "Or many as one: --changes '[{\"add\": \"c\", \"type\": \"INT\", \"after\": \"a\"}, "
     "{\"drop\": \"c\"}, {\"rename\": \"a\", \"to\": \"b\"}, {\"retype\": \"a\", \"type\": "
     "\"BIGINT\"}, {\"nullable\": \"a\", \"value\": true}, {\"move\": \"a\", \"first\": true}, "
     "{\"describe\": \"a\", \"comment\": \"..\"}, {\"default\": \"a\", \"value\": \"5\"}, "
     "{\"set\": \"option\", \"value\": \"..\"}, {\"reset\": \"option\"}, {\"table_comment\": "
     "\"..\"}]'.",
     cli_run_alter, NULL},
    {"table", "rename", "TABLE NAME", 2, 2, CLI_VALUE_TEXT, NO_OPTIONS, CLI_SINCE_WRITE,
     "Give a table another name, in its database or (DB.TABLE) in another one", NULL,
     cli_run_rename_table, NULL},
    {"table", "drop", ONE_TABLE, TAKES(OPT_IF_EXISTS, DANGER), CLI_SINCE_WRITE,
     "Drop a table with all its branches and files", NULL, cli_run_drop_table, NULL},
    {"table", "truncate", ONE_TABLE, TAKES(COMMIT, DANGER), CLI_SINCE_WRITE,
     "Take all rows out of a table, by a new snapshot without rows", NULL, cli_run_truncate, NULL},
    {"table", "write", "TABLE [FILE]", 1, 2, CLI_VALUE_FOLDER, WRITE_OPTIONS, CLI_SINCE_WRITE,
     "Write rows into a table, from a file or from standard input",
     "--format is that of the rows: jsonl, csv, arrow (an IPC stream) or parquet; else the name of "
     "the file tells, else it is jsonl. Rows are as 'table read' prints them: DECIMAL as text, "
     "bytes as hexadecimal digits, 2024-02-29, 12:34:56.789, 2024-02-29T12:34:56.123, MAP as a "
     "list "
     "of [key, value], VARIANT as {\"json\": \"..\"}. Columns that are missing are NULL or have "
     "their default. _row_kind may be +I, -U, +U or -D; _snapshot, which 'table tail -f jsonl' "
     "has, is "
     "stepped over. Nothing becomes visible before the commit "
     "at the end, or those of --every and --interval; rows, files, bytes and snapshot are told on "
     "standard error.\n"
     "--cdc puts the changes of a database into the table, as Debezium, Canal or Maxwell write "
     "them; "
     "with {table} in the name of TABLE they go into many. docs/cdc.md tells how values, keys and "
     "schemas are taken.\n"
     "--state FILE keeps what is being committed and where the input stands, so that the same call "
     "after any end brings every row in once: of a file, or of 'table tail A --state s | table "
     "write B --follow --state t'. SIGINT and SIGTERM end it at a commit, with "
     "exit code 130.",
     cli_run_write, NULL},
    {"table", "import", "TABLE [FILE]", 1, 2, CLI_VALUE_FOLDER, WRITE_OPTIONS, CLI_SINCE_WRITE,
     "As table write", NULL, cli_run_write, NULL},
    {"table", "delete", ONE_TABLE, TAKES(OPT_WHERE, COMMIT, DANGER), CLI_SINCE_WRITE,
     "Delete the rows that satisfy --where",
     "In a table with a primary key they are written as deletes. Without one the files that have "
     "such rows\nare rewritten, or with deletion-vectors.enabled the rows are marked.",
     cli_run_delete, NULL},
    {"table", "update", ONE_TABLE, TAKES(OPT_SET, OPT_WHERE, COMMIT, DANGER), CLI_SINCE_WRITE,
     "Give columns of the rows that satisfy --where new values",
     "In a table with a primary key the rows are written once more. Without one the files that "
     "have "
     "such\nrows are rewritten, or with deletion-vectors.enabled the rows are marked and written "
     "anew.",
     cli_run_update, NULL},
    {"table", "drop-partition", "TABLE K=V,...", 2, 64, CLI_VALUE_FOLDER, TAKES(COMMIT, DANGER),
     CLI_SINCE_WRITE, "As partition drop", NULL, cli_run_drop_partition, NULL},
    {"table", "rollback", ONE_TABLE,
     TAKES(OPT_TO_SNAPSHOT, OPT_TO_TAG, OPT_TO_TIMESTAMP, OPT_BRANCH, DANGER), CLI_SINCE_WRITE,
     "Make an earlier snapshot the latest one; newer snapshots and tags are deleted", NULL,
     cli_run_rollback, NULL},
    {"table", "expire", ONE_TABLE,
     TAKES(OPT_RETAIN_MAX, OPT_RETAIN_MIN, OPT_OLDER_THAN, OPT_BRANCH, DANGER), CLI_SINCE_WRITE,
     "Expire snapshots, and delete the files that nothing needs any more",
     "What tags, branches and consumers need stays.", cli_run_expire, NULL},
    {"table", "compact-manifests", ONE_TABLE, TAKES(COMMIT), CLI_SINCE_WRITE,
     "Merge the manifests of a table into fewer, larger ones", NULL, cli_run_compact_manifests,
     NULL},
    {"table", "analyze", ONE_TABLE, TAKES(OPT_ALL_COLUMNS, COMMIT), CLI_SINCE_WRITE,
     "Count rows and bytes, and keep the counts as statistics for query planners", NULL,
     cli_run_analyze, NULL},
    {"partition", "drop", "TABLE K=V,...", 2, 64, CLI_VALUE_FOLDER, TAKES(COMMIT, DANGER),
     CLI_SINCE_WRITE, "Drop partitions: those that have all the given values",
     "Several K=V,... drop all that match one of them. The value __DEFAULT_PARTITION__ is NULL.",
     cli_run_drop_partition, NULL},
    {"partition", "mark-done", "TABLE K=V,...", 2, 64, CLI_VALUE_FOLDER, TAKES(OPT_BRANCH),
     CLI_SINCE_WRITE, "Put a file _SUCCESS into partitions, for those who wait for it", NULL,
     cli_run_mark_done, NULL},
    {"tag", "create", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER,
     TAKES(OPT_SNAPSHOT, OPT_TIME_RETAINED, OPT_IF_NOT_EXISTS, OPT_BRANCH), CLI_SINCE_WRITE,
     "Tag the latest snapshot, or the one of --snapshot", NULL, cli_run_create_tag, NULL},
    {"tag", "delete", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER,
     TAKES(OPT_IF_EXISTS, OPT_BRANCH, DANGER), CLI_SINCE_WRITE,
     "Delete a tag, with the files that only it kept", NULL, cli_run_delete_tag, NULL},
    {"tag", "rename", "TABLE NAME NEW", 3, 3, CLI_VALUE_FOLDER, TAKES(OPT_BRANCH), CLI_SINCE_WRITE,
     "Give a tag another name", NULL, cli_run_rename_tag, NULL},
    {"tag", "get", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_BRANCH), CLI_SINCE_WRITE,
     "Show a tag", NULL, cli_run_get_tag, NULL},
    {"branch", "create", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_TAG, OPT_IF_NOT_EXISTS),
     CLI_SINCE_WRITE, "Create a branch from a tag, or an empty one", NULL, cli_run_create_branch,
     NULL},
    {"branch", "delete", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_IF_EXISTS, DANGER),
     CLI_SINCE_WRITE, "Delete a branch", NULL, cli_run_delete_branch, NULL},
    {"branch", "rename", "TABLE NAME NEW", 3, 3, CLI_VALUE_FOLDER, NO_OPTIONS, CLI_SINCE_WRITE,
     "Give a branch another name", NULL, cli_run_rename_branch, NULL},
    {"branch", "fast-forward", "TABLE NAME", 2, 2, CLI_VALUE_FOLDER, TAKES(DANGER), CLI_SINCE_WRITE,
     "Make the table what the branch is, with the branch's snapshots and schemas", NULL,
     cli_run_fast_forward, NULL},
    {"consumer", "set", "TABLE ID", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_NEXT, OPT_BRANCH),
     CLI_SINCE_WRITE, "Set which snapshot a consumer reads next; it keeps that and those behind it",
     NULL, cli_run_set_consumer, NULL},
    {"consumer", "reset", "TABLE ID", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_NEXT, OPT_BRANCH),
     CLI_SINCE_WRITE, "As consumer set; without --next as consumer delete", NULL,
     cli_run_set_consumer, "reset"},
    {"consumer", "delete", "TABLE ID", 2, 2, CLI_VALUE_FOLDER, TAKES(OPT_IF_EXISTS, OPT_BRANCH),
     CLI_SINCE_WRITE, "Delete a consumer", NULL, cli_run_delete_consumer, NULL},
    {"consumer", "clear", ONE_TABLE, TAKES(OPT_INCLUDING, OPT_EXCLUDING, OPT_BRANCH),
     CLI_SINCE_WRITE, "Delete all consumers, or those of --including and --excluding", NULL,
     cli_run_clear_consumers, NULL},
    {"fsck", NULL, ONE_TABLE, TAKES(OPT_DEEP, OPT_LEFT_SINCE, OPT_BRANCH), CLI_SINCE_WRITE,
     "Check a table and its branches: all files are there, and agree",
     "Prints each fault as a line of JSON, then a line that sums up; the exit code is 1 when there "
     "is a fault. Nobody should change the table meanwhile. \"unreachable\" counts files that "
     "nothing names, such as those of writers that were killed: they do no harm.",
     cli_run_fsck, NULL},
    {"table", "compact", ONE_TABLE,
     TAKES(OPT_FULL, OPT_PARTITION, OPT_WHERE, OPT_DRY_RUN, OPT_ORDER_BY, OPT_ZORDER, OPT_HILBERT,
           COMMIT),
     CLI_SINCE_COMPACT, "Compact a table: fewer, larger files with the same rows",
     "Buckets are compacted as the table's options say, or with --full as a whole; small files of "
     "tables without buckets are put together; rows that wait in bucket-postpone go into real "
     "buckets. Others may write meanwhile. --where may use partition columns only. --dry-run "
     "prints "
     "what would be compacted, why, and how much there is to read. The exit code is 4 when "
     "somebody "
     "else compacted the same files: nothing is lost.",
     cli_run_compact, NULL},
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
