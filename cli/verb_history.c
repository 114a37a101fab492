/* verb_history.c - tags, branches, consumers, and going back to an earlier snapshot. */
#include <stdio.h>

#include "dry_run.h"
#include "facts.h"
#include "json.h"

/* What the verbs here do once the table is open; `what` gets what was done, for people. */
typedef tarn_status (*change_fn)(cli_session *s, tarn_table *table, char *what, size_t size,
                                 tarn_error *err);

static const char *argument(const cli_session *s, int i) {
  return s->args->arguments[i];
}

static int change(cli_session *s, change_fn fn) {
  tarn_table *table = NULL;
  tarn_error err;
  char what[600] = "";
  tarn_status st = cli_session_table(s, NULL, &table, &err);
  if (st == TARN_OK) {
    st = fn(s, table, what, sizeof(what), &err);
  }
  tarn_table_free(table);
  if ((st == TARN_E_EXISTS && cli_args_has(s->args, OPT_IF_NOT_EXISTS)) ||
      (st == TARN_E_NOT_FOUND && table != NULL && cli_args_has(s->args, OPT_IF_EXISTS))) {
    cli_report_note(&s->report, "%s", err.message);
    return CLI_EXIT_OK;
  }
  if (st != TARN_OK) {
    return cli_fail(s, &err);
  }
  if (what[0] != '\0') {
    cli_change_report(s, NULL, "%s", what);
  }
  return CLI_EXIT_OK;
}

/* ------------------------------------------------------------------ tags */

static tarn_status create_tag(cli_session *s, tarn_table *table, char *what, size_t size,
                              tarn_error *err) {
  int64_t snapshot = 0, retained = -1;
  tarn_status st = cli_args_number(s->args, OPT_SNAPSHOT, 1, INT64_MAX, &snapshot, err);
  if (st == TARN_OK) {
    st = cli_duration(s->args, OPT_TIME_RETAINED, &retained, err);
  }
  (void)snprintf(what, size, "created the tag %s", argument(s, 1));
  return st == TARN_OK ? tarn_tag_create(table, argument(s, 1), snapshot, retained, err) : st;
}

int cli_run_create_tag(cli_session *s) {
  return change(s, create_tag);
}

static tarn_status delete_tag(cli_session *s, tarn_table *table, char *what, size_t size,
                              tarn_error *err) {
  bool is_to_go = false;
  tarn_status st = cli_dry_run_tag(s, argument(s, 1), err);
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, err, "delete the tag %s", argument(s, 1));
  }
  if (st != TARN_OK || !is_to_go) {
    return st;
  }
  (void)snprintf(what, size, "deleted the tag %s", argument(s, 1));
  return tarn_tag_delete(table, argument(s, 1), err);
}

int cli_run_delete_tag(cli_session *s) {
  return change(s, delete_tag);
}

static tarn_status rename_tag(cli_session *s, tarn_table *table, char *what, size_t size,
                              tarn_error *err) {
  (void)snprintf(what, size, "renamed the tag %s to %s", argument(s, 1), argument(s, 2));
  return tarn_tag_rename(table, argument(s, 1), argument(s, 2), err);
}

int cli_run_rename_tag(cli_session *s) {
  return change(s, rename_tag);
}

int cli_run_get_tag(cli_session *s) {
  return cli_print_table_file(s, "tag", argument(s, 1));
}

/* ------------------------------------------------------------------ branches */

static tarn_status create_branch(cli_session *s, tarn_table *table, char *what, size_t size,
                                 tarn_error *err) {
  (void)snprintf(what, size, "created the branch %s", argument(s, 1));
  return tarn_branch_create(table, argument(s, 1), s->args->values[OPT_TAG], err);
}

int cli_run_create_branch(cli_session *s) {
  return change(s, create_branch);
}

static tarn_status delete_branch(cli_session *s, tarn_table *table, char *what, size_t size,
                                 tarn_error *err) {
  bool is_to_go = false;
  tarn_status st = cli_dry_run_branch(s, argument(s, 1), err);
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, err, "delete the branch %s", argument(s, 1));
  }
  if (st != TARN_OK || !is_to_go) {
    return st;
  }
  (void)snprintf(what, size, "deleted the branch %s", argument(s, 1));
  return tarn_branch_delete(table, argument(s, 1), err);
}

int cli_run_delete_branch(cli_session *s) {
  return change(s, delete_branch);
}

static tarn_status rename_branch(cli_session *s, tarn_table *table, char *what, size_t size,
                                 tarn_error *err) {
  (void)snprintf(what, size, "renamed the branch %s to %s", argument(s, 1), argument(s, 2));
  return tarn_branch_rename(table, argument(s, 1), argument(s, 2), err);
}

int cli_run_rename_branch(cli_session *s) {
  return change(s, rename_branch);
}

static tarn_status fast_forward(cli_session *s, tarn_table *table, char *what, size_t size,
                                tarn_error *err) {
  bool is_to_go = false;
  tarn_status st = cli_dry_run_forward(s, argument(s, 1), err);
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, err,
                        "make the table what the branch %s is: its own later snapshots go",
                        argument(s, 1));
  }
  if (st != TARN_OK || !is_to_go) {
    return st;
  }
  (void)snprintf(what, size, "the table is what the branch %s is", argument(s, 1));
  return tarn_branch_fast_forward(table, argument(s, 1), err);
}

int cli_run_fast_forward(cli_session *s) {
  return change(s, fast_forward);
}

/* ------------------------------------------------------------------ consumers */

static tarn_status delete_consumer(cli_session *s, tarn_table *table, char *what, size_t size,
                                   tarn_error *err) {
  (void)snprintf(what, size, "deleted the consumer %s", argument(s, 1));
  return tarn_consumer_delete(table, argument(s, 1), err);
}

int cli_run_delete_consumer(cli_session *s) {
  return change(s, delete_consumer);
}

static tarn_status set_consumer(cli_session *s, tarn_table *table, char *what, size_t size,
                                tarn_error *err) {
  int64_t next = 0;
  tarn_status st = cli_args_number(s->args, OPT_NEXT, 1, INT64_MAX, &next, err);
  if (st == TARN_OK && next == 0) {
    return s->args->verb->parameter != NULL ? delete_consumer(s, table, what, size, err)
                                            : cli_usage(err, "consumer set needs --next N");
  }
  (void)snprintf(what, size, "the consumer %s reads snapshot %lld next", argument(s, 1),
                 (long long)next);
  return st == TARN_OK ? tarn_consumer_set(table, argument(s, 1), next, err) : st;
}

int cli_run_set_consumer(cli_session *s) {
  return change(s, set_consumer);
}

static tarn_status clear_consumers(cli_session *s, tarn_table *table, char *what, size_t size,
                                   tarn_error *err) {
  int64_t n = 0;
  tarn_status st = tarn_consumers_clear(table, s->args->values[OPT_INCLUDING],
                                        s->args->values[OPT_EXCLUDING], &n, err);
  (void)snprintf(what, size, "deleted %lld consumer%s", (long long)n, cli_s(n));
  return st;
}

int cli_run_clear_consumers(cli_session *s) {
  return change(s, clear_consumers);
}

/* ------------------------------------------------------------------ rollback */

static tarn_status rollback(cli_session *s, tarn_table *table, char *what, size_t size,
                            tarn_error *err) {
  static const cli_option_id places[] = {OPT_TO_SNAPSHOT, OPT_TO_TAG, OPT_TO_TIMESTAMP};
  const char *tag = s->args->values[OPT_TO_TAG];
  int64_t snapshot = 0, time = 0;
  size_t n_places = 0;
  bool is_to_go = false;
  tarn_status st;
  char to[300];
  for (size_t i = 0; i < CLI_COUNT(places); i++) {
    const char *value = s->args->values[places[i]];
    n_places += value != NULL;
    if (value != NULL) {
      (void)snprintf(to, sizeof(to), "%s %.200s", cli_options[places[i]].name + 3, value);
    }
  }
  if (n_places != 1) {
    return cli_usage(err,
                     "table rollback needs one of --to-snapshot N, --to-tag NAME and "
                     "--to-timestamp TIME");
  }
  st = cli_args_number(s->args, OPT_TO_SNAPSHOT, 1, INT64_MAX, &snapshot, err);
  if (st == TARN_OK) {
    st = cli_time(s->args, OPT_TO_TIMESTAMP, &time, err);
  }
  if (st == TARN_OK) {
    st = snapshot > 0  ? cli_dry_run_snapshot(s, s->args->values[OPT_TO_SNAPSHOT], err)
         : tag != NULL ? cli_dry_run_tag(s, tag, err)
                       : cli_dry_run_time(s, time, err);
  }
  if (st == TARN_OK) {
    st = cli_change_ask(s, &is_to_go, err, "roll %s back to %s: newer snapshots and tags go",
                        argument(s, 0), to);
  }
  if (st != TARN_OK || !is_to_go) {
    return st;
  }
  (void)snprintf(what, size, "rolled %s back to %s", argument(s, 0), to);
  return snapshot > 0  ? tarn_table_rollback(table, snapshot, err)
         : tag != NULL ? tarn_table_rollback_to_tag(table, tag, err)
                       : tarn_table_rollback_to_time(table, time, err);
}

int cli_run_rollback(cli_session *s) {
  return change(s, rollback);
}
