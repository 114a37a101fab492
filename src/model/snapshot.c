/* snapshot.c - snapshots: their JSON, and finding the latest and the earliest one. */
#include "model/snapshot.h"

#include "model/json_file.h"
#include "model/listing.h"
#include "model/snapshot_json.h"

#define MAX_HINT_BYTES 4096

/* ------------------------------------------------------------------ decoding */

static const char *const commit_kinds[] = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};

const char *tn_commit_kind_name(tn_commit_kind kind) {
  return commit_kinds[kind];
}

typedef struct decoder {
  tn_arena *arena;
  const tn_json *root;
  const char *path;
  tarn_error *err;
} decoder;

static tarn_status copy_text(decoder *d, tn_slice text, const char **out) {
  *out = tn_arena_strndup(d->arena, (const char *)text.data, text.len);
  return *out != NULL ? TARN_OK : tn_oom(d->err);
}

/* A text that may be absent: NULL. */
static tarn_status text_or_null(decoder *d, const char *key, const char **out) {
  tn_slice text;
  bool is_present;
  *out = NULL;
  TN_TRY(tn_json_get_text(d->root, key, d->path, &text, &is_present, d->err));
  return is_present ? copy_text(d, text, out) : TARN_OK;
}

static tarn_status text(decoder *d, const char *key, const char **out) {
  tn_slice value;
  TN_TRY(tn_json_get_text(d->root, key, d->path, &value, NULL, d->err));
  return copy_text(d, value, out);
}

/* A number that may be absent. */
static tarn_status number_or(decoder *d, const char *key, int64_t otherwise, int64_t *out,
                             bool *is_present) {
  bool ignored;
  bool *present = is_present != NULL ? is_present : &ignored;
  *out = otherwise;
  TN_TRY(tn_json_get_int(d->root, key, d->path, out, present, d->err));
  if (!*present) {
    *out = otherwise;
  }
  return TARN_OK;
}

static tarn_status number(decoder *d, const char *key, int64_t *out) {
  return tn_json_get_int(d->root, key, d->path, out, NULL, d->err);
}

static tarn_status decode_kind(decoder *d, tn_snapshot *out) {
  const char *name;
  TN_TRY(text(d, "commitKind", &name));
  for (size_t i = 0; i < TN_COUNT(commit_kinds); i++) {
    if (strcmp(name, commit_kinds[i]) == 0) {
      out->commit_kind = (tn_commit_kind)i;
      return TARN_OK;
    }
  }
  return tn_fail(d->err, TARN_E_CORRUPT, "%s: unknown \"commitKind\": %s", d->path, name);
}

static tarn_status decode_properties(decoder *d, tn_snapshot *out) {
  const tn_json *properties = tn_json_get(d->root, "properties");
  size_t n = tn_json_count(properties);
  tn_json_member member = {0};
  if (properties == NULL) {
    return TARN_OK;
  }
  if (tn_json_kind_of(properties) != TN_JSON_OBJECT || n > INT32_MAX / 2) {
    return tn_fail(d->err, TARN_E_CORRUPT, "%s: \"properties\" is not an object", d->path);
  }
  out->properties = tn_arena_calloc(d->arena, n + 1, sizeof(*out->properties));
  if (out->properties == NULL) {
    return tn_oom(d->err);
  }
  while (tn_json_next(properties, &member)) {
    tn_property *property = &out->properties[out->n_properties];
    tn_slice value;
    if (!tn_json_text(member.value, &value)) {
      continue; /* null, or not of the form that Paimon writes */
    }
    TN_TRY(copy_text(d, tn_slice_text(member.key), &property->key));
    TN_TRY(copy_text(d, value, &property->value));
    out->n_properties++;
  }
  return TARN_OK;
}

static tarn_status decode_lists(decoder *d, tn_snapshot *out) {
  TN_TRY(text(d, "baseManifestList", &out->base_manifest_list));
  TN_TRY(text(d, "deltaManifestList", &out->delta_manifest_list));
  TN_TRY(text_or_null(d, "changelogManifestList", &out->changelog_manifest_list));
  TN_TRY(text_or_null(d, "indexManifest", &out->index_manifest));
  TN_TRY(text_or_null(d, "statistics", &out->statistics));
  TN_TRY(number_or(d, "baseManifestListSize", -1, &out->base_manifest_list_size, NULL));
  TN_TRY(number_or(d, "deltaManifestListSize", -1, &out->delta_manifest_list_size, NULL));
  return number_or(d, "changelogManifestListSize", -1, &out->changelog_manifest_list_size, NULL);
}

static tarn_status decode_counts(decoder *d, tn_snapshot *out) {
  TN_TRY(number_or(d, "totalRecordCount", 0, &out->total_record_count, NULL));
  TN_TRY(number_or(d, "deltaRecordCount", 0, &out->delta_record_count, NULL));
  TN_TRY(number_or(d, "changelogRecordCount", 0, &out->changelog_record_count,
                   &out->has_changelog_record_count));
  TN_TRY(number_or(d, "watermark", 0, &out->watermark, &out->has_watermark));
  return number_or(d, "nextRowId", 0, &out->next_row_id, &out->has_next_row_id);
}

static tarn_status decode_snapshot(decoder *d, tn_snapshot *out) {
  int64_t version;
  TN_TRY(number_or(d, "version", 1, &version, NULL));
  if (version < 0 || version > INT32_MAX) {
    return tn_fail(d->err, TARN_E_CORRUPT, "%s: impossible \"version\": %lld", d->path,
                   (long long)version);
  }
  out->version = (int32_t)version;
  TN_TRY(number(d, "id", &out->id));
  TN_TRY(number(d, "schemaId", &out->schema_id));
  TN_TRY(decode_lists(d, out));
  TN_TRY(text_or_null(d, "uuid", &out->uuid));
  TN_TRY(text_or_null(d, "commitUser", &out->commit_user));
  TN_TRY(text_or_null(d, "writerVersion", &out->writer_version));
  TN_TRY(text_or_null(d, "operation", &out->operation));
  TN_TRY(number(d, "commitIdentifier", &out->commit_identifier)); /* a quoted one, too */
  TN_TRY(decode_kind(d, out));
  TN_TRY(number(d, "timeMillis", &out->time_ms));
  TN_TRY(decode_counts(d, out));
  TN_TRY(decode_properties(d, out));
  return tn_tag_members_decode(d->root, d->path, out, d->err);
}

static tarn_status decode_root(tn_arena *arena, const tn_json *root, const char *path,
                               tn_snapshot *out, tarn_error *err) {
  decoder d = {arena, root, path, err};
  memset(out, 0, sizeof(*out));
  return decode_snapshot(&d, out);
}

tarn_status tn_snapshot_decode(tn_mem *mem, tn_arena *arena, tn_slice json, const char *path,
                               tn_snapshot *out, tarn_error *err) {
  tn_json_doc *doc = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_json_parse(mem, json, path, &doc, err));
  TN_TRY_TO(done, decode_root(arena, tn_json_root(doc), path, out, err));
done:
  tn_json_free(doc);
  return st;
}

tarn_status tn_snapshot_file_read(tarn_env *env, tn_storage *storage, const char *path,
                                  tn_arena *arena, tn_snapshot *out, tarn_error *err) {
  tn_json_doc *doc = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_json_file_read(env, storage, path, &doc, err));
  TN_TRY_TO(done, decode_root(arena, tn_json_root(doc), path, out, err));
done:
  tn_json_free(doc);
  return st;
}

/* ------------------------------------------------------------------ reading by id */

static tarn_status read_numbered(tarn_env *env, tn_storage *storage, const char *root,
                                 const char *folder, int64_t id, tn_arena *arena, tn_snapshot *out,
                                 tarn_error *err) {
  const char *path = tn_arena_printf(arena, "%s/%s/%s-%lld", root, folder, folder, (long long)id);
  return path != NULL ? tn_snapshot_file_read(env, storage, path, arena, out, err) : tn_oom(err);
}

tarn_status tn_snapshot_read(tarn_env *env, tn_storage *storage, const char *root, int64_t id,
                             tn_arena *arena, tn_snapshot *out, tarn_error *err) {
  return read_numbered(env, storage, root, "snapshot", id, arena, out, err);
}

tarn_status tn_changelog_read(tarn_env *env, tn_storage *storage, const char *root, int64_t id,
                              tn_arena *arena, tn_snapshot *out, tarn_error *err) {
  return read_numbered(env, storage, root, "changelog", id, arena, out, err);
}

/* ------------------------------------------------------------------ hints and listings */

/* "snapshot" or "changelog" of a table, with what is needed to look into it. */
typedef struct folder {
  tn_storage *storage;
  tn_arena arena;
  const char *root, *name;
} folder;

static void folder_init(folder *f, tarn_env *env, tn_storage *storage, const char *root,
                        const char *name) {
  f->storage = storage;
  f->root = root;
  f->name = name;
  tn_arena_init(&f->arena, &env->mem, SIZE_MAX);
}

static tarn_status is_there(folder *f, int64_t id, bool *out, tarn_error *err) {
  const char *path =
      tn_arena_printf(&f->arena, "%s/%s/%s-%lld", f->root, f->name, f->name, (long long)id);
  if (path == NULL) {
    return tn_oom(err);
  }
  *out = tn_storage_exists(f->storage, path);
  return TARN_OK;
}

/* The id in a hint file; 0 when it is missing, torn, garbage or not positive. A hint that cannot be
 * read for any other reason is as good as none: the listing will tell what is wrong. */
static tarn_status read_hint(folder *f, const char *hint, int64_t *id, tarn_error *err) {
  const char *path = tn_path_join(&f->arena, f->root, f->name, hint, NULL);
  tarn_status st;
  tn_slice text;
  tn_buf buf;
  *id = 0;
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&buf, f->arena.mem, MAX_HINT_BYTES);
  st = tn_storage_read_all(f->storage, path, &buf, NULL);
  if (st == TARN_OK) {
    text = tn_buf_slice(&buf);
    while (text.len > 0 && text.data[text.len - 1] <= ' ') {
      text.len--;
    }
    while (text.len > 0 && text.data[0] <= ' ') {
      text = tn_slice_of(text.data + 1, text.len - 1);
    }
    if (!tn_listing_number(text, id)) {
      *id = 0;
    }
  }
  tn_buf_reset(&buf);
  return st == TARN_E_NOMEM ? tn_oom(err) : TARN_OK;
}

static tarn_status list_ids(folder *f, tn_arena *arena, int64_t **ids, int32_t *n_ids,
                            tarn_error *err) {
  const char *directory = tn_path_join(&f->arena, f->root, f->name, NULL);
  const char *prefix = tn_arena_printf(&f->arena, "%s-", f->name);
  if (directory == NULL || prefix == NULL) {
    return tn_oom(err);
  }
  return tn_listing_numbers(f->storage, directory, prefix, arena, ids, n_ids, err);
}

/* The id of LATEST when that one is there and has no successor; else the greatest one listed. Java
 * does not ask for the first half and fails on a LATEST ahead of reality. */
static tarn_status find_latest(folder *f, int64_t *id, tarn_error *err) {
  int64_t *ids, hint;
  int32_t n;
  bool has_next = true, exists = false;
  TN_TRY(read_hint(f, "LATEST", &hint, err));
  if (hint > 0 && hint < INT64_MAX) {
    /* the next one first: when both expire in between, this one is not there, either */
    TN_TRY(is_there(f, hint + 1, &has_next, err));
  }
  if (!has_next) {
    TN_TRY(is_there(f, hint, &exists, err));
  }
  if (exists) {
    *id = hint;
    return TARN_OK;
  }
  TN_TRY(list_ids(f, &f->arena, &ids, &n, err));
  *id = n > 0 ? ids[n - 1] : 0;
  return TARN_OK;
}

static tarn_status find_earliest(folder *f, int64_t *id, tarn_error *err) {
  int64_t *ids, hint;
  int32_t n;
  bool exists = false;
  TN_TRY(read_hint(f, "EARLIEST", &hint, err));
  if (hint > 0) {
    TN_TRY(is_there(f, hint, &exists, err));
  }
  if (exists) {
    *id = hint;
    return TARN_OK;
  }
  TN_TRY(list_ids(f, &f->arena, &ids, &n, err));
  *id = n > 0 ? ids[0] : 0;
  return TARN_OK;
}

static tarn_status find(tarn_env *env, tn_storage *storage, const char *root, const char *name,
                        tarn_status (*how)(folder *, int64_t *, tarn_error *), int64_t *id,
                        tarn_error *err) {
  folder f;
  tarn_status st;
  *id = 0;
  folder_init(&f, env, storage, root, name);
  st = how(&f, id, err);
  tn_arena_reset(&f.arena);
  return st;
}

tarn_status tn_snapshot_latest_id(tarn_env *env, tn_storage *storage, const char *root, int64_t *id,
                                  tarn_error *err) {
  return find(env, storage, root, "snapshot", find_latest, id, err);
}

static tarn_status find_latest_hint(folder *f, int64_t *id, tarn_error *err) {
  return read_hint(f, "LATEST", id, err);
}

tarn_status tn_snapshot_latest_hint(tarn_env *env, tn_storage *storage, const char *root,
                                    int64_t *id, tarn_error *err) {
  return find(env, storage, root, "snapshot", find_latest_hint, id, err);
}

static tarn_status find_earliest_hint(folder *f, int64_t *id, tarn_error *err) {
  return read_hint(f, "EARLIEST", id, err);
}

tarn_status tn_snapshot_earliest_hint(tarn_env *env, tn_storage *storage, const char *root,
                                      int64_t *id, tarn_error *err) {
  return find(env, storage, root, "snapshot", find_earliest_hint, id, err);
}

tarn_status tn_snapshot_earliest_id(tarn_env *env, tn_storage *storage, const char *root,
                                    int64_t *id, tarn_error *err) {
  return find(env, storage, root, "snapshot", find_earliest, id, err);
}

tarn_status tn_changelog_latest_id(tarn_env *env, tn_storage *storage, const char *root,
                                   int64_t *id, tarn_error *err) {
  return find(env, storage, root, "changelog", find_latest, id, err);
}

tarn_status tn_changelog_earliest_id(tarn_env *env, tn_storage *storage, const char *root,
                                     int64_t *id, tarn_error *err) {
  return find(env, storage, root, "changelog", find_earliest, id, err);
}

tarn_status tn_snapshot_ids(tarn_env *env, tn_storage *storage, const char *root, const char *name,
                            tn_arena *arena, int64_t **ids, int32_t *n_ids, tarn_error *err) {
  folder f;
  tarn_status st;
  *ids = NULL;
  *n_ids = 0;
  folder_init(&f, env, storage, root, name);
  st = list_ids(&f, arena, ids, n_ids, err);
  tn_arena_reset(&f.arena);
  return st;
}

bool tn_snapshot_is_same(const tn_snapshot *a, const tn_snapshot *b) {
  return a->id == b->id && strcmp(a->base_manifest_list, b->base_manifest_list) == 0 &&
         strcmp(a->delta_manifest_list, b->delta_manifest_list) == 0;
}
