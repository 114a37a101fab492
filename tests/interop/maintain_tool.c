/* maintain_tool.c - maintenance of tables, one command a line, for the script `maintain`.
 *
 * usage: maintain_tool < commands
 *
 * A command is a JSON list of texts: operation, path of the table's folder, arguments. Options of
 * the table ("k=v") stand behind "-o". Answers: "OK n", or "E" with status and message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "catalog/catalog.h"
#include "maintain/after_commit.h"
#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/expire.h"
#include "maintain/fsck.h"
#include "maintain/partition_expire.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"

#define MAX_WORDS 64
#define LINE_BYTES 65536
#define LIMIT ((size_t)1 << 28)

typedef struct command {
  tarn_env *env;
  tn_arena arena;
  const char *words[MAX_WORDS];
  int n_words;
  tn_option options[MAX_WORDS];
  int n_options;
  tn_table *table;
  int64_t n;
} command;

static const char *word(const command *c, int i) {
  return i + 2 < c->n_words ? c->words[i + 2] : NULL;
}

static int64_t number(const command *c, int i) {
  return word(c, i) != NULL ? strtoll(word(c, i), NULL, 10) : 0;
}

static tarn_status run_expire(command *c, tarn_error *err) {
  tn_expire_request request = {.retain_max = (int32_t)number(c, 0),
                               .retain_min = (int32_t)number(c, 1)};
  if (request.retain_max > 0) { /* whatever their age */
    request.older_than_ms = tn_env_now_ms(c->env) + 1000;
  }
  TN_TRY(tn_expire_snapshots(c->table, &request, &c->n, err));
  return tn_expire_changelogs(c->table, &request, NULL, err);
}

static tarn_status run_after(command *c, tarn_error *err) {
  const tn_after_commit_request request = {.user = "paimon-ref", .identifier = INT64_MAX};
  tn_maintenance maintenance = {0};
  return tn_after_commit(c->table, &maintenance, &request, err);
}

static tarn_status run_tag(command *c, tarn_error *err) {
  return tn_tag_create(c->table, word(c, 0), number(c, 1), TN_TAG_RETAINED_BY_OPTION, err);
}

static tarn_status run_tag_delete(command *c, tarn_error *err) {
  return tn_tag_delete(c->table, word(c, 0), err);
}

static tarn_status run_branch(command *c, tarn_error *err) {
  return tn_branch_create(c->table, word(c, 0), word(c, 1), err);
}

static tarn_status run_branch_delete(command *c, tarn_error *err) {
  return tn_branch_delete(c->table, word(c, 0), err);
}

static tarn_status run_fast_forward(command *c, tarn_error *err) {
  return tn_branch_fast_forward(c->table, word(c, 0), err);
}

static tarn_status run_rollback(command *c, tarn_error *err) {
  return tn_rollback_to_snapshot(c->table, number(c, 0), err);
}

static tarn_status run_rollback_tag(command *c, tarn_error *err) {
  return tn_rollback_to_tag(c->table, word(c, 0), err);
}

static tarn_status run_consumer(command *c, tarn_error *err) {
  return tn_consumer_set(c->table, word(c, 0), number(c, 1), err);
}

static tarn_status run_consumer_delete(command *c, tarn_error *err) {
  return tn_consumer_delete(c->table, word(c, 0), err);
}

static tarn_status run_partitions(command *c, tarn_error *err) {
  return tn_partitions_expire(c->table, "paimon-ref", number(c, 0), NULL, &c->n, err);
}

/* Faults go to the standard error. */
static tarn_status run_fsck(command *c, tarn_error *err) {
  const tn_fsck_request request = {.is_deep = true};
  tarn_status st;
  tn_buf text;
  tn_buf_init(&text, &c->env->mem, LIMIT);
  st = tn_fsck(c->table, &request, &text, &c->n, err);
  if (st == TARN_OK && c->n > 0) {
    fwrite(text.data, 1, text.len, stderr);
  }
  tn_buf_reset(&text);
  return st;
}

static const struct {
  const char *name;
  tarn_status (*run)(command *c, tarn_error *err);
} operations[] = {
    {"expire", run_expire},
    {"after", run_after},
    {"tag", run_tag},
    {"tag-delete", run_tag_delete},
    {"branch", run_branch},
    {"branch-delete", run_branch_delete},
    {"fast-forward", run_fast_forward},
    {"rollback", run_rollback},
    {"rollback-tag", run_rollback_tag},
    {"consumer", run_consumer},
    {"consumer-delete", run_consumer_delete},
    {"partitions", run_partitions},
    {"fsck", run_fsck},
};

static tarn_status open_table(command *c, tarn_error *err) {
  tn_table_name name;
  TN_TRY(tn_table_name_parse(&c->arena, c->words[1], &name, err));
  return tn_catalog_table(c->env, NULL, &name, c->options, c->n_options, &c->table, err);
}

static tarn_status run(command *c, tarn_error *err) {
  TN_TRY(open_table(c, err));
  for (size_t i = 0; i < TN_COUNT(operations); i++) {
    if (strcmp(operations[i].name, c->words[0]) == 0) {
      return operations[i].run(c, err);
    }
  }
  return tn_fail(err, TARN_E_INVALID, "no operation '%s'", c->words[0]);
}

static tarn_status parse(command *c, const char *line, tn_json_doc **doc, tarn_error *err) {
  bool is_option = false;
  TN_TRY(tn_json_parse(&c->env->mem, tn_slice_text(line), "command", doc, err));
  for (size_t i = 0; i < tn_json_count(tn_json_root(*doc)) && i < MAX_WORDS; i++) {
    tn_slice text = {NULL, 0};
    char *copy, *equals;
    if (!tn_json_text(tn_json_at(tn_json_root(*doc), i), &text)) {
      return tn_fail(err, TARN_E_INVALID, "a command is a list of texts");
    }
    copy = tn_arena_strndup(&c->arena, (const char *)text.data, text.len);
    if (copy == NULL) {
      return tn_oom(err);
    }
    if (strcmp(copy, "-o") == 0) {
      is_option = true;
    } else if (is_option && (equals = strchr(copy, '=')) != NULL) {
      *equals = '\0';
      c->options[c->n_options++] = (tn_option){copy, equals + 1};
    } else {
      c->words[c->n_words++] = copy;
    }
  }
  return c->n_words >= 2 ? TARN_OK : tn_fail(err, TARN_E_INVALID, "an operation and a path");
}

int main(void) {
  static char line[LINE_BYTES];
  tarn_env *env = NULL;
  tarn_error err = {0};
  if (tarn_env_create(NULL, &env, &err) != TARN_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  while (fgets(line, sizeof(line), stdin) != NULL) {
    command c = {.env = env};
    tn_json_doc *doc = NULL;
    tarn_status st;
    tn_arena_init(&c.arena, &env->mem, LIMIT);
    st = parse(&c, line, &doc, &err);
    if (st == TARN_OK) {
      st = run(&c, &err);
    }
    if (st == TARN_OK) {
      printf("OK %" PRId64 "\n", c.n);
    } else {
      printf("E %s %s\n", tarn_status_name(st), err.message);
    }
    fflush(stdout);
    tn_table_release(c.table);
    tn_json_free(doc);
    tn_arena_reset(&c.arena);
  }
  tarn_env_free(env);
  return 0;
}
