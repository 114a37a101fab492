/* commit_maker.c - committables, and snapshots told as texts. */
#include "commit_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/entries.h"

#define MAX_MESSAGES 256
#define TEXT_LIMIT ((size_t)4 << 20)

/* ------------------------------------------------------------------ messages */

tn_committable cm_begin(int64_t identifier) {
  return (tn_committable){.identifier = identifier};
}

static tn_commit_message *add_message(table_maker *tm, tn_committable *c) {
  if (c->messages == NULL) {
    c->messages = tn_arena_calloc(&tm->arena, MAX_MESSAGES, sizeof(*c->messages));
    assert_non_null(c->messages);
  }
  assert_true(c->n_messages < MAX_MESSAGES);
  return &c->messages[c->n_messages++];
}

void cm_file(table_maker *tm, tn_committable *c, cm_role role, tn_manifest_entry entry) {
  tn_commit_message *m = add_message(tm, c);
  tn_data_files *lists[] = {[CM_NEW] = &m->new_files,
                            [CM_DELETED] = &m->deleted_files,
                            [CM_CHANGELOG] = &m->changelog_files,
                            [CM_BEFORE] = &m->compact_before,
                            [CM_AFTER] = &m->compact_after,
                            [CM_COMPACT_CHANGELOG] = &m->compact_changelog};
  m->partition = entry.partition;
  m->bucket = entry.bucket;
  m->has_total_buckets = true;
  m->total_buckets = entry.total_buckets;
  lists[role]->items = tn_arena_memdup(&tm->arena, &entry.file, sizeof(entry.file));
  lists[role]->n = 1;
  assert_non_null(lists[role]->items);
}

void cm_index(table_maker *tm, tn_committable *c, cm_role role, tn_index_entry entry) {
  tn_commit_message *m = add_message(tm, c);
  tn_index_files *list = role == CM_NEW       ? &m->new_indexes
                         : role == CM_DELETED ? &m->deleted_indexes
                         : role == CM_AFTER   ? &m->compact_new_indexes
                                              : &m->compact_deleted_indexes;
  m->partition = entry.partition;
  m->bucket = entry.bucket;
  list->items = tn_arena_memdup(&tm->arena, &entry, sizeof(entry));
  list->n = 1;
  assert_non_null(list->items);
}

tn_index_entry cm_index_entry(table_maker *tm, const char *type, const char *name,
                              const char *vectors) {
  tn_index_entry e = {.version = 1,
                      .partition = tn_binary_row_empty(),
                      .index_type = tn_slice_text(type),
                      .file_name = tn_slice_text(name),
                      .file_size = 10,
                      .row_count = 1};
  if (vectors != NULL) {
    tn_record_array names = tm_texts(tm, vectors);
    tn_dv_range *ranges = tn_arena_calloc(&tm->arena, (size_t)names.count + 1, sizeof(*ranges));
    assert_non_null(ranges);
    for (int64_t i = 0; i < names.count; i++) {
      ranges[i] = (tn_dv_range){((tn_slice *)names.items)[i], 1, 24, 1, true};
    }
    e.has_dv_ranges = true;
    e.dv_ranges = (tn_record_array){ranges, names.count};
  }
  return e;
}

/* ------------------------------------------------------------------ commits */

tn_commit_options cm_user(const char *user) {
  return (tn_commit_options){.user = user};
}

int64_t cm_append(tn_table *table, const char *user, const tn_committable *c) {
  tn_commit_options options = cm_user(user);
  tn_commit_result result;
  OK(tn_commit_append(table, &options, c, &result, err));
  return result.last_id;
}

int64_t cm_append_one(table_maker *tm, tn_table *table, const char *user, int64_t identifier,
                      const char *name, int64_t rows) {
  tn_committable c = cm_begin(identifier);
  cm_file(tm, &c, CM_NEW, tm_entry(name, rows));
  return cm_append(table, user, &c);
}

/* ------------------------------------------------------------------ snapshots */

tn_snapshot cm_snapshot(table_maker *tm, int64_t id) {
  tn_snapshot s;
  OK(tn_snapshot_read(tm->env, tm->storage, tm->branch_path, id, &tm->arena, &s, err));
  return s;
}

static const char *keep(table_maker *tm, tn_buf *b) {
  const char *text = tn_arena_strndup(&tm->arena, (const char *)b->data, b->len);
  assert_non_null(text);
  tn_buf_reset(b);
  return text;
}

const char *cm_snapshot_text(table_maker *tm, int64_t id) {
  tn_snapshot s = cm_snapshot(tm, id);
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, TEXT_LIMIT);
  assert_int_equal(s.version, 3);
  assert_int_equal(s.id, id);
  OK(tn_buf_printf(&b, err, "%s %s:%lld rows=%lld(%+lld)", tn_commit_kind_name(s.commit_kind),
                   s.commit_user, (long long)s.commit_identifier, (long long)s.total_record_count,
                   (long long)s.delta_record_count));
  if (s.has_changelog_record_count) {
    OK(tn_buf_printf(&b, err, " changelog=%lld", (long long)s.changelog_record_count));
  }
  if (s.has_watermark) {
    OK(tn_buf_printf(&b, err, " watermark=%lld", (long long)s.watermark));
  }
  if (s.next_row_id != 0) {
    OK(tn_buf_printf(&b, err, " next=%lld", (long long)s.next_row_id));
  }
  OK(tn_buf_text(&b, s.index_manifest != NULL ? " index" : "", err));
  OK(tn_buf_text(&b, s.statistics != NULL ? " statistics" : "", err));
  return keep(tm, &b);
}

typedef struct entry_text {
  table_maker *tm;
  tn_buf text;
} entry_text;

static tarn_status on_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  entry_text *t = ctx;
  return tn_buf_printf(&t->text, err, "%s%s%.*s", t->text.len > 0 ? " " : "",
                       e->kind == TN_FILE_ADD ? "+" : "-", TN_SLICE_ARG(e->file.file_name));
}

static tarn_status on_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  entry_text *t = ctx;
  char name[256];
  tn_manifest_name manifest = {name, m->file_size, m->n_added + m->n_deleted};
  snprintf(name, sizeof(name), "%.*s", TN_SLICE_ARG(m->file_name));
  if (t->text.len > 0) {
    TN_TRY(tn_buf_text(&t->text, " |", err));
  }
  return tn_manifest_read(t->tm->env, t->tm->storage, &tn_plan_readers, "/t", &manifest, on_entry,
                          t, err);
}

const char *cm_entries(table_maker *tm, int64_t id, char which) {
  tn_snapshot s = cm_snapshot(tm, id);
  tn_manifest_name list = {s.base_manifest_list, s.base_manifest_list_size, -1};
  entry_text t = {.tm = tm};
  if (which != 'b') {
    list = (tn_manifest_name){
        which == 'd' ? s.delta_manifest_list : s.changelog_manifest_list,
        which == 'd' ? s.delta_manifest_list_size : s.changelog_manifest_list_size, -1};
  }
  if (list.name == NULL) {
    return "(none)";
  }
  tn_buf_init(&t.text, &tm->env->mem, TEXT_LIMIT);
  OK(tn_manifest_list_read(tm->env, tm->storage, &tn_plan_readers, "/t", &list, on_manifest, &t,
                           err));
  return keep(tm, &t.text);
}

static tarn_status on_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  entry_text *t = ctx;
  assert_int_equal(e->kind, TN_FILE_ADD);
  return tn_buf_printf(&t->text, err, "%s%.*s", t->text.len > 0 ? " " : "",
                       TN_SLICE_ARG(e->file_name));
}

const char *cm_indexes(table_maker *tm, int64_t id) {
  tn_snapshot s = cm_snapshot(tm, id);
  tn_manifest_name name = {s.index_manifest, -1, -1};
  entry_text t = {.tm = tm};
  if (name.name == NULL) {
    return "(none)";
  }
  tn_buf_init(&t.text, &tm->env->mem, TEXT_LIMIT);
  OK(tn_index_manifest_read(tm->env, tm->storage, &tn_plan_readers, "/t", &name, on_index, &t,
                            err));
  return keep(tm, &t.text);
}

/* ------------------------------------------------------------------ folders */

typedef struct listing {
  char names[1024][128];
  int n;
} listing;

static tarn_status on_name(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  listing *l = ctx;
  (void)is_directory;
  (void)err;
  assert_true(l->n < 1024);
  snprintf(l->names[l->n++], sizeof(l->names[0]), "%s", name);
  return TARN_OK;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(a, b);
}

static void list_folder(table_maker *tm, const char *folder, listing *l) {
  char path[256];
  tarn_status st;
  l->n = 0;
  snprintf(path, sizeof(path), "/t/%s", folder);
  st = tn_storage_list(tm->storage, path, on_name, l, NULL);
  assert_true(st == TARN_OK || st == TARN_E_NOT_FOUND);
  qsort(l->names, (size_t)l->n, sizeof(l->names[0]), compare_names);
}

int cm_count(table_maker *tm, const char *folder) {
  listing *l = calloc(1, sizeof(*l));
  int n;
  assert_non_null(l);
  list_folder(tm, folder, l);
  n = l->n;
  free(l);
  return n;
}

/* "manifest-list-<uuid>-0" is told as "manifest-list-0". */
static void put_name(tn_buf *b, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i + 38 < n; i++) {
    if (name[i] == '-' && name[i + 9] == '-' && name[i + 14] == '-' && name[i + 19] == '-' &&
        name[i + 24] == '-' && name[i + 37] == '-') {
      OK(tn_buf_printf(b, err, "%.*s%s ", (int)i, name, name + i + 37));
      return;
    }
  }
  OK(tn_buf_printf(b, err, "%s ", name));
}

const char *cm_list(table_maker *tm, const char *folder) {
  listing *l = calloc(1, sizeof(*l));
  tn_buf b;
  assert_non_null(l);
  list_folder(tm, folder, l);
  tn_buf_init(&b, &tm->env->mem, TEXT_LIMIT);
  for (int i = 0; i < l->n; i++) {
    put_name(&b, l->names[i]);
  }
  free(l);
  return b.len > 0 ? keep(tm, &b) : "";
}
