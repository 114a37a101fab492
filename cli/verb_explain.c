/* verb_explain.c - table explain: what reading would do. */
#include <stdlib.h>

#include "grid.h"
#include "json.h"
#include "scan.h"

/* "1.2 MiB" */
static void add_bytes(cli_text *out, int64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < CLI_COUNT(units)) {
    value /= 1024;
    unit++;
  }
  cli_text_printf(out, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

/* "1 file", "12 files" */
static void add_count(cli_text *out, int64_t n, const char *what) {
  cli_text_int(out, n);
  cli_text_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

static void add_hidden(cli_text *out, const cli_json *plan, const char *files_key,
                       const char *rows_key, const char *why) {
  int64_t files = cli_json_int(plan, 0, files_key);
  if (files > 0) {
    cli_text_puts(out, "hidden     ");
    add_count(out, files, "file");
    cli_text_puts(out, " with ");
    add_count(out, cli_json_int(plan, 0, rows_key), "row");
    cli_text_printf(out, "%s\n", why);
  }
}

/* Other reads than that of one state: which snapshots, which branches. */
static void add_kind(cli_text *out, const cli_json *plan, const char *reads) {
  int64_t snapshot = cli_json_int(plan, 0, "snapshot");
  int64_t after = cli_json_int(plan, 0, "after_snapshot");
  char branch[128], fallback[128];
  if (strcmp(reads, "state") != 0 && snapshot != 0) {
    cli_text_puts(out, "reads      ");
    if (strcmp(reads, "diff") == 0) {
      cli_text_printf(out, "what differs between snapshots %lld and %lld\n", (long long)after,
                      (long long)snapshot);
    } else {
      cli_text_printf(out, "the %s of snapshots %lld to %lld, rows not merged\n",
                      strcmp(reads, "delta") == 0 ? "new files" : "changelog", (long long)after + 1,
                      (long long)snapshot);
    }
  }
  if (cli_json_find(plan, 0, "files_created_since_ms") != SIZE_MAX) {
    cli_text_printf(out, "reads      files created since %lld ms after 1970\n",
                    (long long)cli_json_int(plan, 0, "files_created_since_ms"));
  }
  cli_json_copy(plan, 0, "branch", branch, sizeof(branch));
  cli_json_copy(plan, 0, "fallback_branch", fallback, sizeof(fallback));
  if (fallback[0] != '\0') {
    cli_text_printf(out,
                    "branches   partitions of branch '%s'; others from branch '%s': %lld of the "
                    "splits\n",
                    branch, fallback, (long long)cli_json_int(plan, 0, "fallback_splits"));
  }
}

/* What the plan says of itself, for people. */
static void add_summary(cli_text *out, const cli_json *plan) {
  int64_t snapshot = cli_json_int(plan, 0, "snapshot"), splits = cli_json_int(plan, 0, "splits");
  int64_t raw = cli_json_int(plan, 0, "raw_splits");
  int64_t pruned = cli_json_int(plan, 0, "files_pruned");
  char kind[32], reads[32];
  bool is_state, is_diff;
  cli_json_copy(plan, 0, "commit_kind", kind, sizeof(kind));
  cli_json_copy(plan, 0, "reads", reads, sizeof(reads));
  is_state = strcmp(reads, "state") == 0;
  is_diff = strcmp(reads, "diff") == 0;
  if (snapshot == 0) {
    cli_text_puts(out, is_state ? "snapshot   none: the table is empty\n"
                                : "snapshot   none: there is nothing between\n");
  } else {
    cli_text_printf(out, "snapshot   %lld (%s), schema %lld\n", (long long)snapshot, kind,
                    (long long)cli_json_int(plan, 0, "schema"));
  }
  add_kind(out, plan, reads);
  cli_text_puts(out, "manifests  ");
  cli_text_int(out, cli_json_int(plan, 0, "manifests_read"));
  cli_text_puts(out, " read of ");
  cli_text_int(out, cli_json_int(plan, 0, "manifests_total"));
  cli_text_puts(out, "\nfiles      ");
  cli_text_int(out, cli_json_int(plan, 0, "files"));
  cli_text_puts(out, " to read of the ");
  cli_text_int(out, cli_json_int(plan, 0, "files_total"));
  cli_text_puts(out, " in those manifests, ");
  add_bytes(out, cli_json_int(plan, 0, "bytes"));
  if (pruned > 0) {
    cli_text_printf(out, "; %lld pruned by partition, bucket, key or statistics",
                    (long long)pruned);
  }
  cli_text_puts(out, "\nrows       at most ");
  cli_text_int(out, cli_json_int(plan, 0, "rows"));
  cli_text_puts(out, "\nsplits     ");
  cli_text_int(out, splits);
  if (is_diff) {
    cli_text_puts(out, ", each compares two states\n");
  } else if (!is_state) {
    cli_text_puts(out, ", none is merged\n");
  } else {
    cli_text_puts(out, ", of which ");
    cli_text_int(out, splits - raw);
    cli_text_puts(out, " merge sorted runs\n");
  }
  add_hidden(out, plan, "files_hidden_level_0", "rows_hidden_level_0",
             " on level 0: such a table shows them when they are compacted");
  add_hidden(out, plan, "files_hidden_postpone", "rows_hidden_postpone",
             " in bucket-postpone: they wait for the compaction that gives them buckets");
}

/* ------------------------------------------------------------------ -v: the files */

static void add_cell(cli_grid *grid, const cli_json *json, size_t at) {
  cli_text text = {0};
  if (at != SIZE_MAX && cli_json_is_scalar(json, at)) {
    cli_json_text(json, at, &text);
  } else if (at != SIZE_MAX) {
    cli_text_add(&text, json->text + json->nodes[at].begin,
                 json->nodes[at].end - json->nodes[at].begin);
  }
  cli_grid_add(grid, text.len > 0 ? text.data : "", text.len, CLI_STYLE_PLAIN);
  cli_text_reset(&text);
}

static void add_files(cli_session *s, cli_text *out, const cli_json *split, size_t files) {
  static const char *const keys[] = {"name",     "level",  "rowCount", "size",
                                     "schemaId", "minKey", "maxKey"};
  static const char *const titles[] = {"file",   "level",   "rows",    "bytes",
                                       "schema", "min key", "max key", "deleted"};
  enum { N_KEYS = CLI_COUNT(keys) };
  cli_grid grid;
  if (!cli_grid_init(&grid, N_KEYS + 1)) {
    out->is_broken = true;
    return;
  }
  grid.indent = "  ";
  grid.has_colors = s->has_colors;
  grid.max_width = s->max_width;
  for (size_t i = 0; i <= N_KEYS; i++) {
    grid.columns[i].is_right = (i >= 1 && i <= 4) || i == N_KEYS;
    cli_grid_add(&grid, titles[i], strlen(titles[i]), CLI_STYLE_HEADER);
  }
  for (size_t f = cli_json_first(split, files); f < split->nodes[files].after;
       f = split->nodes[f].after) {
    size_t deletion = cli_json_find(split, f, "deletion");
    for (size_t i = 0; i < N_KEYS; i++) {
      add_cell(&grid, split, cli_json_find(split, f, keys[i]));
    }
    add_cell(&grid, split,
             deletion != SIZE_MAX ? cli_json_find(split, deletion, "cardinality") : SIZE_MAX);
  }
  cli_grid_print(&grid, out);
  cli_grid_reset(&grid);
}

static void add_split(cli_session *s, cli_text *out, size_t number, const cli_json *split) {
  size_t partition = cli_json_find(split, 0, "partition");
  size_t files = cli_json_find(split, 0, "files");
  size_t before = cli_json_find(split, 0, "before");
  char raw[8], streaming[8], branch[128];
  cli_json_copy(split, 0, "rawConvertible", raw, sizeof(raw));
  cli_json_copy(split, 0, "streaming", streaming, sizeof(streaming));
  cli_text_printf(out, "split %zu: ", number);
  if (partition != SIZE_MAX) {
    for (size_t i = cli_json_first(split, partition); i < split->nodes[partition].after;
         i = split->nodes[i].after) {
      cli_text text = {0};
      cli_json_key(split, i, &text);
      cli_text_char(&text, '=');
      cli_json_text(split, i, &text);
      cli_text_puts(&text, split->nodes[i].kind == CLI_JSON_NULL ? "NULL" : "");
      cli_text_line(out, text.data, text.len);
      cli_text_puts(out, ", ");
      cli_text_reset(&text);
    }
  }
  cli_json_copy(split, 0, "branch", branch, sizeof(branch));
  if (branch[0] != '\0') {
    cli_text_printf(out, "branch '%s', ", branch);
  }
  cli_text_printf(out, "bucket %lld, %s\n", (long long)cli_json_int(split, 0, "bucket"),
                  before != SIZE_MAX               ? "two states, compared"
                  : strcmp(streaming, "true") == 0 ? "changes, file after file"
                  : strcmp(raw, "true") == 0       ? "files as they are"
                                                   : "merge of sorted runs");
  if (before != SIZE_MAX) {
    cli_text_puts(out, " before:\n");
    add_files(s, out, split, before);
    cli_text_puts(out, " after:\n");
  }
  if (files != SIZE_MAX) {
    add_files(s, out, split, files);
  }
}

/* ------------------------------------------------------------------ printing */

/* One split: a line for programs, or its files for people. */
static tarn_status print_split(cli_session *s, const tarn_plan *plan, size_t i, tarn_error *err) {
  cli_text *out = &s->output.pending;
  tarn_string text = {0};
  tarn_split *split = NULL;
  cli_json json;
  tarn_status st = tarn_plan_split(plan, i, &split, err);
  if (st == TARN_OK) {
    st = tarn_split_describe(split, &text, err);
  }
  if (st == TARN_OK && s->format == CLI_FORMAT_TABLE) {
    if (cli_json_parse(text.data, text.length, &json)) {
      add_split(s, out, i + 1, &json);
      cli_json_reset(&json);
    }
  } else if (st == TARN_OK) {
    cli_text_puts(out, s->format == CLI_FORMAT_JSON && i > 0 ? ",\n" : "");
    cli_text_add(out, text.data, text.length);
    cli_text_puts(out, s->format == CLI_FORMAT_JSON ? "" : "\n");
  }
  tarn_string_free(&text);
  tarn_split_free(split);
  return st == TARN_OK && !cli_output_row(&s->output) ? cli_output_status(&s->output, err) : st;
}

static tarn_status print_plan(cli_session *s, const tarn_plan *plan, tarn_error *err) {
  cli_text *out = &s->output.pending;
  bool is_table = s->format == CLI_FORMAT_TABLE, is_json = s->format == CLI_FORMAT_JSON;
  size_t n = tarn_plan_split_count(plan);
  tarn_string text;
  cli_json json;
  tarn_status st = tarn_plan_describe(plan, &text, err);
  if (st != TARN_OK) {
    return st;
  }
  if (is_table && cli_json_parse(text.data, text.length, &json)) {
    add_summary(out, &json);
    cli_json_reset(&json);
  } else if (is_json) {
    cli_text_puts(out, "{\"plan\":");
    cli_text_add(out, text.data, text.length);
    cli_text_puts(out, ",\"splits\":[\n");
  }
  tarn_string_free(&text);
  if (!is_table || cli_args_has(s->args, OPT_VERBOSE)) {
    for (size_t i = 0; i < n && st == TARN_OK; i++) {
      st = print_split(s, plan, i, err);
    }
  }
  cli_text_puts(out, is_json ? "]}\n" : "");
  return st;
}

int cli_run_explain(cli_session *s) {
  tarn_plan *plan = NULL;
  cli_scan scan;
  tarn_error err;
  tarn_status st;
  int code;
  if (cli_session_needs_text(s, &err) != TARN_OK) {
    return cli_fail(s, &err);
  }
  code = cli_scan_open(s, NULL, CLI_SCAN_PLAN, &scan);
  if (code == CLI_EXIT_OK) {
    st = tarn_scan_plan(scan.scan, &plan, &err);
    if (st == TARN_OK) {
      st = print_plan(s, plan, &err);
    }
    code = st == TARN_OK ? cli_finish(s) : cli_fail(s, &err);
  }
  tarn_plan_free(plan);
  cli_scan_close(&scan);
  return code;
}
