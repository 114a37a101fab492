/* interloper.c - a storage in which somebody else comes at a step of a commit. */
#include "interloper.h"

#include "support/test.h"

interloper *il_of(const tn_storage *storage) {
  return TN_CONTAINER_OF(storage->ops, interloper, hooked);
}

bool il_is_snapshot(const char *path) {
  return strstr(path, "/snapshot/snapshot-") != NULL;
}

static void come(interloper *self, il_step when) {
  if (self->when == when && self->n_come < self->times && !self->is_busy) {
    self->n_come++;
    self->is_busy = true;
    self->act(self);
    self->is_busy = false;
  }
}

static void note_link(interloper *self, const char *path) {
  const char *id = strrchr(path, '-') + 1;
  if (!self->is_busy && self->n_links == 1) {
    self->first_delta = cm_snapshot(self->tm, strtoll(id, NULL, 10)).delta_manifest_list;
  }
}

static tarn_status hooked_link(tn_storage *storage, const char *from, const char *to,
                               tarn_error *err) {
  interloper *self = il_of(storage);
  bool is_snapshot = il_is_snapshot(to);
  tarn_status st;
  if (is_snapshot && !self->is_busy) {
    self->n_links++;
    come(self, IL_AT_LINK);
  }
  st = self->ops->link(storage, from, to, err);
  if (is_snapshot && st == TARN_OK) {
    note_link(self, to);
    come(self, IL_BEHIND_LINK);
  }
  return st;
}

static tarn_status hooked_create(tn_storage *storage, const char *path, tn_sink **out,
                                 tarn_error *err) {
  interloper *self = il_of(storage);
  if (strstr(path, "/manifest-list-") != NULL) {
    come(self, IL_AT_LIST_WRITTEN);
  }
  return self->ops->create(storage, path, out, err);
}

static tarn_status hooked_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  interloper *self = il_of(storage);
  if (strstr(path, "/manifest/manifest-list-") != NULL) {
    come(self, IL_AT_LIST_READ);
  }
  return self->ops->open(storage, path, out, err);
}

void il_begin(table_maker *tm, interloper *self, const char *options, il_step when,
              void (*act)(interloper *), int times) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", options);
  *self = (interloper){.tm = tm, .when = when, .act = act, .times = times};
  self->table = tm_table(tm, "");
  self->ops = tm->storage->ops;
  self->hooked = *self->ops;
  self->hooked.link = hooked_link;
  self->hooked.create = hooked_create;
  self->hooked.open = hooked_open;
  self->hooked.lock_folder = NULL; /* he comes in the middle of it */
  tm->storage->ops = &self->hooked;
}

void il_end(table_maker *tm, interloper *self) {
  tm->storage->ops = self->ops;
  tn_table_release(self->table);
  tm_end(tm);
}

void il_append_as(interloper *self, const char *user, int64_t identifier, const char *name) {
  (void)cm_append_one(self->tm, self->table, user, identifier, name, 1);
}

const char *il_snapshot_path(interloper *self, int64_t id) {
  return tn_arena_printf(&self->tm->arena, "/t/snapshot/snapshot-%lld", (long long)id);
}

void il_remove_snapshot(interloper *self, int64_t id) {
  OK(tn_storage_remove(self->tm->storage, il_snapshot_path(self, id), err));
}

tarn_status il_append(interloper *self, const char *name, int64_t identifier,
                      tn_commit_result *result, tarn_error *why) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(identifier);
  cm_file(self->tm, &c, CM_NEW, tm_entry(name, 1));
  return tn_commit_append(self->table, &options, &c, result, why);
}
