/* maintain_maker.c - commits with their files, and what is left of a table. */
#include "maintain_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maintain/fsck.h"
#include "model/listing.h"
#include "model/partition.h"

#define TEXT_LIMIT ((size_t)4 << 20)
#define FILE_BYTES 1000 /* as tm_entry says */

static int64_t clock_ms(void *ctx) {
  return ((maintain_maker *)ctx)->now;
}

static void begin_env(maintain_maker *mm) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  memset(mm, 0, sizeof(*mm));
  options.clock_ms = clock_ms;
  options.clock_ctx = mm;
  OK(tarn_env_create(&options, &env, err));
  tm_begin_in(&mm->tm, env);
}

static void put_schema(maintain_maker *mm, const char *fields, const char *partition_keys,
                       const char *primary_keys, const char *options) {
  const char *all = tn_arena_printf(&mm->tm.arena, "bucket=1%s%s", options[0] ? ";" : "", options);
  assert_non_null(all);
  tm_schema(&mm->tm, 0, fields, partition_keys, primary_keys, all);
  mm->table = tm_table(&mm->tm, "");
}

void mm_begin_in(maintain_maker *mm, tarn_env *env, const char *options) {
  memset(mm, 0, sizeof(*mm));
  env->clock_ms = clock_ms;
  env->clock_ctx = mm;
  tm_begin_in(&mm->tm, env);
  put_schema(mm, "0 k INT NOT NULL|1 v INT", "", "k", options);
}

void mm_begin(maintain_maker *mm, const char *options) {
  begin_env(mm);
  put_schema(mm, "0 k INT NOT NULL|1 v INT", "", "k", options);
}

void mm_begin_partitioned(maintain_maker *mm, const char *options) {
  begin_env(mm);
  put_schema(mm, "0 p INT NOT NULL|1 k INT NOT NULL", "p", "p,k", options);
}

void mm_end(maintain_maker *mm) {
  tn_table_release(mm->table);
  tm_end(&mm->tm);
}

void mm_end_in(maintain_maker *mm) {
  tn_table_release(mm->table);
  mm->tm.env = NULL;
  tm_end(&mm->tm);
}

void mm_options(maintain_maker *mm, const char *options) {
  tn_table_release(mm->table);
  mm->table = tm_table(&mm->tm, options);
}

tn_table *mm_branch(maintain_maker *mm, const char *branch) {
  const char *root = tn_arena_printf(&mm->tm.arena, "/t/branch/branch-%s", branch);
  tn_table *table = NULL;
  tn_schema *schema = NULL;
  int64_t *ids;
  int32_t n;
  assert_non_null(root);
  OK(tn_schema_ids(mm->tm.env, mm->tm.storage, root, &mm->tm.arena, &ids, &n, err));
  OK(tn_schema_load(mm->tm.env, mm->tm.storage, root, ids[n - 1], &schema, err));
  OK(tn_table_create(mm->tm.env, mm->tm.storage, "db.t", "/t", branch, root, schema, NULL, 0,
                     &table, err));
  tn_schema_release(schema);
  return table;
}

/* ------------------------------------------------------------------ commits */

static void put_file(maintain_maker *mm, const tn_manifest_entry *e) {
  static const uint8_t content[FILE_BYTES];
  const char *path;
  OK(tn_bucket_folder(mm->table, e->partition, e->bucket, &mm->tm.arena, &path, err));
  path = tn_arena_printf(&mm->tm.arena, "%s/%.*s", path, TN_SLICE_ARG(e->file.file_name));
  OK(tn_storage_memory_put(mm->tm.storage, path, tn_slice_of(content, sizeof(content)), err));
}

/* The key range of a file is its letter. */
static tn_manifest_entry entry_of(maintain_maker *mm, char sign, char letter, int32_t partition) {
  const char *name = tn_arena_printf(&mm->tm.arena, "%c", letter);
  bool is_compacted = sign == '^' || sign == '_';
  tn_manifest_entry e = tm_entry_keyed(&mm->tm, name, is_compacted ? 5 : 0, letter, letter);
  e.file.source = is_compacted ? TN_SOURCE_COMPACT : TN_SOURCE_APPEND;
  if (partition >= 0) {
    e.partition = tm_entry_in(&mm->tm, partition, name, 1).partition;
  }
  return e;
}

static int64_t commit_changes(maintain_maker *mm, tn_table *table, const char *changes,
                              int32_t partition) {
  bool compacts = strpbrk(changes, "-^_") != NULL;
  tn_committable c = cm_begin(mm->now / 1000 + 1);
  mm->now += 1000;
  for (const char *at = changes; *at != '\0'; at++) {
    tn_manifest_entry e;
    if (*at == ' ') {
      continue;
    }
    e = entry_of(mm, at[0], at[1], partition);
    switch (at[0]) {
      case '+':
        put_file(mm, &e);
        cm_file(&mm->tm, &c, CM_NEW, e);
        break;
      case '^':
        put_file(mm, &e);
        cm_file(&mm->tm, &c, CM_AFTER, e);
        break;
      case '~':
        put_file(mm, &e);
        cm_file(&mm->tm, &c, compacts ? CM_COMPACT_CHANGELOG : CM_CHANGELOG, e);
        break;
      default:
        cm_file(&mm->tm, &c, CM_BEFORE, e);
        break;
    }
    at++;
  }
  return cm_append(table, "u", &c);
}

int64_t mm_commit(maintain_maker *mm, const char *changes) {
  return commit_changes(mm, mm->table, changes, -1);
}

int64_t mm_commit_to(maintain_maker *mm, tn_table *table, const char *changes) {
  return commit_changes(mm, table, changes, -1);
}

int64_t mm_commit_in(maintain_maker *mm, int32_t partition, const char *changes) {
  return commit_changes(mm, mm->table, changes, partition);
}

/* ------------------------------------------------------------------ what is left */

#define MAX_NAMES 512

typedef struct names {
  char *items[MAX_NAMES];
  int n;
} names;

static tarn_status note_name(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  names *l = ctx;
  (void)is_directory;
  (void)err;
  assert_true(l->n < MAX_NAMES);
  l->items[l->n++] = strdup(name);
  return TARN_OK;
}

static int compare_names(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  size_t n_x = strlen(x), n_y = strlen(y);
  bool is_numbered = strncmp(x, y, 8) == 0; /* "snapshot-2" comes before "snapshot-10" */
  return is_numbered && n_x != n_y ? (n_x > n_y) - (n_x < n_y) : strcmp(x, y);
}

static const char *full_path(maintain_maker *mm, const char *folder, const char *name) {
  const char *path = tn_arena_printf(&mm->tm.arena, "/t/%s/%s", folder, name);
  assert_non_null(path);
  return path;
}

static void list_names(maintain_maker *mm, const char *folder, names *out) {
  const char *path = tn_arena_printf(&mm->tm.arena, "/t/%s", folder);
  tarn_status st;
  out->n = 0;
  assert_non_null(path);
  st = tn_storage_list(mm->tm.storage, path, note_name, out, NULL);
  assert_true(st == TARN_OK || st == TARN_E_NOT_FOUND);
  qsort(out->items, (size_t)out->n, sizeof(out->items[0]), compare_names);
}

const char *mm_list(maintain_maker *mm, const char *folder) {
  static names l;
  const char *text;
  tn_buf b, content;
  tn_buf_init(&b, &mm->tm.env->mem, TEXT_LIMIT);
  tn_buf_init(&content, &mm->tm.env->mem, TEXT_LIMIT);
  list_names(mm, folder, &l);
  for (int pass = 0; pass < 2; pass++) { /* hints last */
    for (int i = 0; i < l.n; i++) {
      bool is_hint = strcmp(l.items[i], "EARLIEST") == 0 || strcmp(l.items[i], "LATEST") == 0;
      const char *dash = strchr(l.items[i], '-');
      if (is_hint != (pass == 1)) {
        continue;
      }
      OK(tn_buf_text(&b, b.len > 0 ? " " : "", err));
      if (is_hint) {
        OK(tn_storage_read_all(mm->tm.storage, full_path(mm, folder, l.items[i]), &content, err));
        OK(tn_buf_printf(&b, err, "%s=%.*s", l.items[i], TN_SLICE_ARG(tn_buf_slice(&content))));
      } else {
        OK(tn_buf_text(&b, dash != NULL && l.items[i][0] != '.' ? dash + 1 : l.items[i], err));
      }
    }
  }
  for (int i = 0; i < l.n; i++) {
    free(l.items[i]);
  }
  text = tn_arena_strndup(&mm->tm.arena, (const char *)b.data, b.len);
  assert_non_null(text);
  tn_buf_reset(&content);
  tn_buf_reset(&b);
  return text;
}

int mm_count(maintain_maker *mm, const char *folder) {
  static names l;
  list_names(mm, folder, &l);
  for (int i = 0; i < l.n; i++) {
    free(l.items[i]);
  }
  return l.n;
}

int mm_check(maintain_maker *mm) {
  const tn_fsck_request request = {.is_deep = false};
  const char *at;
  int64_t n_faults;
  int n_unreachable;
  tn_buf out;
  tn_buf_init(&out, &mm->tm.env->mem, TEXT_LIMIT);
  OK(tn_fsck(mm->table, &request, &out, &n_faults, err));
  OK(tn_buf_append(&out, "", 1, err));
  if (n_faults != 0) {
    fail_msg("%s", (const char *)out.data);
  }
  at = strstr((const char *)out.data, "\"unreachable\":");
  assert_non_null(at);
  n_unreachable = atoi(at + strlen("\"unreachable\":"));
  tn_buf_reset(&out);
  return n_unreachable;
}

int64_t mm_expire(maintain_maker *mm, int32_t max, int32_t min) {
  tn_expire_request request = {.retain_max = max, .retain_min = min};
  int64_t n = -1;
  request.older_than_ms = mm->now + 1;
  OK(tn_expire_snapshots(mm->table, &request, &n, err));
  return n;
}
