/* file_place.c - names that count up, folders, external roots in turn. */
#include "datafile/file_place.h"

#include "codec/hash.h"
#include "model/partition.h"

/* ------------------------------------------------------------------ names */

tarn_status tn_data_file_names_next(tarn_env *env, tn_data_file_names *names, tn_arena *arena,
                                    const char *prefix, const char *extension, const char **out,
                                    tarn_error *err) {
  if (names->uuid[0] == '\0') {
    TN_TRY(tn_env_uuid(env, names->uuid, err));
  }
  *out = tn_arena_printf(arena, "%s%s-%d%s", prefix, names->uuid, (int)names->next, extension);
  names->next++;
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status next_name(tn_file_placer *p, const char *prefix, const char *extension,
                             const char **out, tarn_error *err) {
  return tn_data_file_names_next(p->shape->table->env, p->names, p->arena, prefix, extension, out,
                                 err);
}

/* ------------------------------------------------------------------ external roots */

static tarn_status random_below(const tarn_env *env, uint64_t limit, uint64_t *out,
                                tarn_error *err) {
  uint64_t value = 0;
  TN_TRY(tn_env_random(env, &value, sizeof(value), err));
  *out = value % limit;
  return TARN_OK;
}

static tarn_status pick_root(tn_file_placer *p, const tn_external_root **out, tarn_error *err) {
  const tn_write_shape *shape = p->shape;
  uint64_t at;
  if (shape->external == TN_EXTERNAL_WEIGHTED) {
    const tn_external_root *root = shape->external_roots;
    TN_TRY(random_below(shape->table->env,
                        shape->external_roots[shape->n_external_roots - 1].weights_end, &at, err));
    while (root->weights_end <= at) {
      root++;
    }
    *out = root;
    return TARN_OK;
  }
  p->turn = p->turn + 1 >= shape->n_external_roots ? 0 : p->turn + 1;
  *out = &shape->external_roots[p->turn];
  return TARN_OK;
}

/* Murmur3 x86 32 of any number of bytes: whole words, then what is left. */
static uint32_t murmur3(const char *text, size_t n) {
  static const uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
  uint32_t h = 0, k = 0;
  size_t whole = n / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    k = (uint32_t)(uint8_t)text[i] | (uint32_t)(uint8_t)text[i + 1] << 8 |
        (uint32_t)(uint8_t)text[i + 2] << 16 | (uint32_t)(uint8_t)text[i + 3] << 24;
    k *= c1;
    k = (k << 15 | k >> 17) * c2;
    h ^= k;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
  }
  k = 0;
  for (size_t i = n; i > whole; i--) {
    k = k << 8 | (uint8_t)text[i - 1];
  }
  k *= c1;
  k = (k << 15 | k >> 17) * c2;
  h ^= n > whole ? k : 0;
  h ^= (uint32_t)n;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

/* The last 20 bits of the name's hash as folders: "0101/1100/0011/01011010/". */
static void entropy_folders(const char *name, char out[24 + 1]) {
  uint32_t h = murmur3(name, strlen(name));
  size_t at = 0;
  for (int bit = 19; bit >= 0; bit--) {
    out[at++] = h >> bit & 1 ? '1' : '0';
    if (bit == 16 || bit == 12 || bit == 8 || bit == 0) {
      out[at++] = '/';
    }
  }
  out[at] = '\0';
}

static tarn_status note_outer(tn_file_placer *p, const char *folder, const char *root,
                              tarn_error *err) {
  void *folders = p->outer_folders;
  for (size_t i = 0; i < p->n_outer; i += 2) {
    if (strcmp(p->outer_folders[i], folder) == 0) {
      return TARN_OK;
    }
  }
  for (int i = 0; i < 2; i++) {
    if (!tn_arena_grow(p->arena, &folders, &p->outer_capacity, p->n_outer, sizeof(char *))) {
      return tn_oom(err);
    }
    p->outer_folders = folders;
    p->outer_folders[p->n_outer++] = i == 0 ? folder : root;
  }
  return TARN_OK;
}

static tarn_status place_outside(tn_file_placer *p, tn_file_place *out, tarn_error *err) {
  const tn_external_root *root = NULL;
  const char *folder;
  char entropy[24 + 1] = "";
  TN_TRY(pick_root(p, &root, err));
  if (p->shape->external == TN_EXTERNAL_ENTROPY) {
    entropy_folders(out->name, entropy);
    entropy[strlen(entropy) - 1] = '\0';
  }
  folder = tn_arena_printf(p->arena, "%s/%s%s%s", root->path, p->relative,
                           entropy[0] != '\0' ? "/" : "", entropy);
  if (folder == NULL) {
    return tn_oom(err);
  }
  out->path = tn_arena_printf(p->arena, "%s/%s", folder, out->name);
  out->recorded =
      tn_arena_printf(p->arena, "%s%s/%s", root->recorded, folder + strlen(root->path), out->name);
  if (out->path == NULL || out->recorded == NULL) {
    return tn_oom(err);
  }
  return note_outer(p, folder, root->path, err);
}

/* ------------------------------------------------------------------ places */

tarn_status tn_file_placer_init(tn_file_placer *placer, const tn_write_shape *shape,
                                tn_arena *arena, tn_slice partition, int32_t bucket,
                                tn_data_file_names *names, tarn_error *err) {
  const tn_table *table = shape->table;
  uint64_t turn = 0;
  *placer = (tn_file_placer){.shape = shape, .arena = arena, .names = names};
  if (shape->external == TN_EXTERNAL_ROUND_ROBIN || shape->external == TN_EXTERNAL_SPECIFIC_FS) {
    TN_TRY(random_below(table->env, (uint64_t)shape->n_external_roots, &turn, err));
  }
  placer->turn = (int32_t)turn;
  TN_TRY(tn_bucket_folder(table, partition, bucket, arena, &placer->folder, err));
  placer->relative = placer->folder + strlen(table->path) + 1;
  return TARN_OK;
}

tarn_status tn_file_placer_next(tn_file_placer *placer, const char *prefix, const char *extension,
                                tn_file_place *out, tarn_error *err) {
  *out = (tn_file_place){0};
  TN_TRY(next_name(placer, prefix, extension, &out->name, err));
  if (placer->shape->external != TN_EXTERNAL_NONE) {
    return place_outside(placer, out, err);
  }
  out->path = tn_arena_printf(placer->arena, "%s/%s", placer->folder, out->name);
  return out->path != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_file_placer_sync(const tn_file_placer *placer, tarn_error *err) {
  const tn_table *table = placer->shape->table;
  for (size_t i = 0; i < placer->n_outer; i += 2) {
    TN_TRY(tn_storage_sync_folders(table->storage, placer->outer_folders[i],
                                   placer->outer_folders[i + 1], err));
  }
  return placer->n_outer > 0
             ? TARN_OK
             : tn_storage_sync_folders(table->storage, placer->folder, table->path, err);
}

/* ------------------------------------------------------------------ removing */

/* "<folder>/<name>". */
static void remove_in(tn_table *table, tn_slice folder, tn_slice name) {
  tarn_error err;
  tarn_status st;
  tn_arena arena;
  const char *path;
  tn_error_reset(&err);
  tn_arena_init(&arena, &table->env->mem, SIZE_MAX);
  path = tn_arena_printf(&arena, "%.*s/%.*s", TN_SLICE_ARG(folder), TN_SLICE_ARG(name));
  st = path != NULL ? tn_storage_remove(table->storage, path, &err) : tn_oom(&err);
  if (st != TARN_OK) {
    tn_log(table->env, TARN_LOG_WARN, "a data file cannot be removed: file=%.*s error=%s",
           TN_SLICE_ARG(name), err.message);
  }
  tn_arena_reset(&arena);
}

/* The folder of an external path; the whole of it when it has none. */
static tn_slice folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return tn_slice_of(path, slash != NULL ? (size_t)(slash - path) : strlen(path));
}

void tn_file_remove(tn_table *table, tn_slice folder, const tn_data_file *file) {
  const tn_slice *extras = file->extra_files.items;
  const char *plain = NULL;
  tn_arena arena;
  tn_arena_init(&arena, &table->env->mem, SIZE_MAX);
  if (file->has_external_path) {
    const char *recorded =
        tn_arena_strndup(&arena, (const char *)file->external_path.data, file->external_path.len);
    if (recorded == NULL || tn_path_plain(&arena, recorded, &plain, NULL) != TARN_OK) {
      tn_log(table->env, TARN_LOG_WARN, "a data file cannot be removed: file=%.*s",
             TN_SLICE_ARG(file->file_name));
      tn_arena_reset(&arena);
      return;
    }
    folder = folder_of(plain);
  }
  remove_in(table, folder, file->file_name);
  for (int64_t i = 0; i < file->extra_files.count; i++) {
    remove_in(table, folder, extras[i]);
  }
  tn_arena_reset(&arena);
}
