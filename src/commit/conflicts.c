/* conflicts.c - the rules, in Java's order.
 *
 *   base files, delta files -> with the deletion vectors that files have (tables without buckets)
 *   1 bucket counts   2 delta with itself   3 base and delta: added twice, deleted but not there
 *   4 what compactions knew of the levels (not Java's)   5 key ranges of levels
 *   6 row ids (conflicts_rows.c)
 */
#include <stdio.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "commit/detection.h"
#include "commit/index_manifest.h"
#include "model/level_mark.h"

#define SHOWN_ENTRIES 50 /* of base and of changes, as Java; the error cuts what is too long */
#define TEXT_LIMIT ((size_t)1 << 16)
#define IDENTITY_LIMIT ((size_t)1 << 30)

/* ------------------------------------------------------------------ texts */

static tarn_status put_file(const tn_detection *d, const tn_conflict_file *f, tn_buf *out) {
  TN_TRY(tn_buf_printf(out, NULL, " {kind=%s, partition={", f->is_add ? "ADD" : "DELETE"));
  TN_TRY(tn_partition_text(d->job->table, f->partition, out, NULL));
  return tn_buf_printf(out, NULL, "}, bucket=%d, totalBuckets=%d, level=%d, fileName=%.*s}",
                       (int)f->bucket, (int)f->total_buckets, (int)f->level, TN_SLICE_ARG(f->name));
}

static tarn_status put_files(const tn_detection *d, const char *title,
                             const tn_conflict_files *files, tn_buf *out) {
  TN_TRY(tn_buf_text(out, title, NULL));
  for (size_t i = 0; i < files->count && i < SHOWN_ENTRIES; i++) {
    TN_TRY(put_file(d, &files->items[i], out));
  }
  return TARN_OK;
}

static tarn_status put_conflict(const tn_detection *d, const char *message, const char *cause,
                                tn_buf *out) {
  const tn_snapshot *latest = d->check->latest;
  TN_TRY(tn_buf_printf(out, NULL, "%s%s%s Base commit user is: %s; Current commit user is: %s",
                       message, cause[0] != '\0' ? " " : "", cause,
                       latest != NULL && latest->commit_user != NULL ? latest->commit_user : "",
                       d->job->options->user));
  TN_TRY(put_files(d, "; Changes are:", &d->delta, out));
  return put_files(d, "; Base entries are:", &d->base, out);
}

tarn_status tn_conflict(const tn_detection *d, const char *message, const char *cause) {
  tarn_status st;
  tn_buf text;
  tn_buf_init(&text, &d->job->table->env->mem, TEXT_LIMIT);
  st = put_conflict(d, message, cause, &text);
  if (st != TARN_OK && text.len == 0) { /* no memory for more */
    st = tn_fail(d->err, TARN_E_CONFLICT, "%s: %s %s", d->job->table->full_name, message, cause);
  } else {
    st = tn_fail(d->err, TARN_E_CONFLICT, "%s: %.*s", d->job->table->full_name, (int)text.len,
                 (const char *)text.data);
  }
  tn_buf_reset(&text);
  return st;
}

static const char deletion_conflict[] = "File deletion conflicts detected! Give up committing.";

static tarn_status file_conflict(const tn_detection *d, const char *before,
                                 const tn_conflict_file *f, const char *behind) {
  char cause[512];
  snprintf(cause, sizeof(cause), "%s %.*s%s", before, TN_SLICE_ARG(f->name), behind);
  return tn_conflict(d, deletion_conflict, cause);
}

/* ------------------------------------------------------------------ files */

static tarn_status add_file(const tn_detection *d, tn_conflict_files *list,
                            const tn_conflict_file *f) {
  if (!tn_arena_grow(d->arena, (void **)&list->items, &list->capacity, list->count, sizeof(*f))) {
    return tn_oom(d->err);
  }
  list->items[list->count++] = *f;
  return TARN_OK;
}

tn_conflict_file tn_conflict_file_of(const tn_scan_entry *e, bool is_add) {
  return (tn_conflict_file){.partition = e->partition->bytes,
                            .name = tn_slice_of(e->file_name, e->file_name_len),
                            .min_key = tn_slice_of(e->min_key, e->min_key_len),
                            .max_key = tn_slice_of(e->max_key, e->max_key_len),
                            .rest = e->rest,
                            .row_count = e->row_count,
                            .first_row_id = e->rest != NULL ? e->rest->first_row_id : 0,
                            .bucket = e->bucket,
                            .total_buckets = e->total_buckets,
                            .level = e->level,
                            .is_add = is_add,
                            .has_first_row_id = e->rest != NULL && e->rest->has_first_row_id};
}

static tn_conflict_file file_of_entry(const tn_manifest_entry *e) {
  return (tn_conflict_file){.partition = e->partition,
                            .name = e->file.file_name,
                            .min_key = e->file.min_key,
                            .max_key = e->file.max_key,
                            .rest = &e->file,
                            .row_count = e->file.row_count,
                            .first_row_id = e->file.first_row_id,
                            .bucket = e->bucket,
                            .total_buckets = e->total_buckets,
                            .level = e->file.level,
                            .is_add = e->kind == TN_FILE_ADD,
                            .has_first_row_id = e->file.has_first_row_id};
}

static tarn_status list_files(tn_detection *d) {
  const tn_commit_changes *c = d->check->changes;
  for (int64_t i = 0; d->check->base != NULL && i < d->check->base->count; i++) {
    tn_conflict_file f = tn_conflict_file_of(d->check->base->items[i], true);
    TN_TRY(add_file(d, &d->base, &f));
  }
  for (int64_t i = 0; i < c->n_taken; i++) {
    tn_conflict_file f = tn_conflict_file_of(c->taken[i], false);
    TN_TRY(add_file(d, &d->delta, &f));
  }
  for (size_t i = 0; i < c->files.count; i++) {
    tn_conflict_file f = file_of_entry(&c->files.items[i]);
    TN_TRY(add_file(d, &d->delta, &f));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ deletion vectors */

/* Index entries that hold a vector of a data file. */
typedef struct vector_use {
  const tn_index_entry *index;
  struct vector_use *next;
} vector_use;

static tarn_status note_vectors(tn_detection *d, tn_map *map, const tn_index_entry *index) {
  const tn_dv_range *ranges = index->dv_ranges.items;
  for (int64_t i = 0; index->has_dv_ranges && i < index->dv_ranges.count; i++) {
    tn_map_entry *slot;
    vector_use **at, *use = tn_arena_calloc(d->arena, 1, sizeof(*use));
    if (use == NULL) {
      return tn_oom(d->err);
    }
    use->index = index;
    TN_TRY(tn_map_put(map, ranges[i].data_file, &slot, NULL, d->err));
    at = (vector_use **)&slot->value.ptr;
    while (*at != NULL) {
      at = &(*at)->next;
    }
    *at = use;
  }
  return TARN_OK;
}

static tarn_status add_vectors_to_base(tn_detection *d) {
  tn_index_list indexes;
  tn_map map;
  tarn_status st = TARN_OK;
  tn_map_init(&map, &d->job->table->env->mem);
  if (d->base.count == 0) {
    return TARN_OK;
  }
  TN_TRY_TO(done, tn_index_list_read(d->job->table, d->check->latest->index_manifest, d->arena,
                                     &indexes, d->err));
  for (size_t i = 0; i < indexes.count; i++) {
    TN_TRY_TO(done, note_vectors(d, &map, &indexes.items[i]));
  }
  for (size_t i = 0; i < d->base.count; i++) {
    tn_conflict_file *f = &d->base.items[i];
    const tn_map_entry *slot = tn_map_find(&map, f->name);
    const vector_use *use = slot != NULL ? slot->value.ptr : NULL;
    if (use != NULL && use->next != NULL) {
      st = file_conflict(d, "One file should correspond to only one dv entry:", f, "");
      goto done;
    }
    f->has_vectors = use != NULL;
    f->vectors = use != NULL ? use->index->file_name : f->vectors;
  }
done:
  tn_map_reset(&map);
  return st;
}

/* A vector for a file that stays: the file goes as it was, and comes with the new vector. */
static tarn_status change_vectors(tn_detection *d, const tn_conflict_file *of_base,
                                  const vector_use *uses) {
  tn_conflict_file f = *of_base;
  for (const vector_use *use = uses; use != NULL; use = use->next) {
    f.is_add = use->index->kind == TN_FILE_ADD;
    f.has_vectors = true;
    f.vectors = use->index->file_name;
    TN_TRY(add_file(d, &d->delta, &f));
  }
  if (uses->next == NULL && uses->index->kind == TN_FILE_ADD) {
    f.is_add = f.has_vectors = false;
    TN_TRY(add_file(d, &d->delta, &f));
  }
  return TARN_OK;
}

static tarn_status add_changed_files(tn_detection *d, const tn_map *changed, tn_map *base) {
  for (size_t i = 0; i < d->base.count; i++) {
    tn_map_entry *slot;
    TN_TRY(tn_map_put(base, d->base.items[i].name, &slot, NULL, d->err));
    slot->value.num = (int64_t)i;
  }
  for (size_t i = 0; i < changed->count; i++) {
    const tn_map_entry *slot = tn_map_find(base, changed->entries[i].key);
    const vector_use *uses = changed->entries[i].value.ptr;
    if (uses == NULL) {
      continue;
    }
    if (slot == NULL) {
      tn_conflict_file f = {.name = changed->entries[i].key};
      return file_conflict(d, "Trying to create deletion vector on file", &f,
                           " which is not previously added.");
    }
    TN_TRY(change_vectors(d, &d->base.items[slot->value.num], uses));
  }
  return TARN_OK;
}

static tarn_status add_vectors_to_delta(tn_detection *d) {
  const tn_index_list *indexes = &d->check->changes->indexes;
  size_t n = d->delta.count;
  tn_map changed, base;
  tarn_status st = TARN_OK;
  tn_map_init(&changed, &d->job->table->env->mem);
  tn_map_init(&base, &d->job->table->env->mem);
  for (size_t i = 0; i < indexes->count; i++) {
    TN_TRY_TO(done, note_vectors(d, &changed, &indexes->items[i]));
  }
  for (size_t i = 0; i < n; i++) {
    tn_conflict_file *f = &d->delta.items[i];
    tn_map_entry *slot = tn_map_find(&changed, f->name);
    const vector_use *use = slot != NULL ? slot->value.ptr : NULL;
    if (use != NULL) {
      if (use->next != NULL) {
        st = file_conflict(d, "Delta entry only can have one dv file:", f, "");
        goto done;
      }
      f->has_vectors = true;
      f->vectors = use->index->file_name;
    }
  }
  for (size_t i = 0; i < n; i++) {
    tn_map_entry *slot = tn_map_find(&changed, d->delta.items[i].name);
    if (slot != NULL) {
      slot->value.ptr = NULL;
    }
  }
  TN_TRY_TO(done, add_changed_files(d, &changed, &base));
done:
  tn_map_reset(&base);
  tn_map_reset(&changed);
  return st;
}

static tarn_status add_vectors(tn_detection *d) {
  const tn_table_facts *facts = &d->job->table->facts;
  if (!facts->deletion_vectors || facts->bucket_mode != TN_BUCKETS_UNAWARE) {
    return TARN_OK;
  }
  TN_TRY(add_vectors_to_base(d));
  return add_vectors_to_delta(d);
}

static const tn_index_entry *vectors_of_bucket(const tn_index_list *list, const tn_index_entry *e) {
  for (size_t i = 0; i < list->count; i++) {
    const tn_index_entry *other = &list->items[i];
    if (tn_index_is_vectors(other) && other->bucket == e->bucket &&
        tn_slice_equal(other->partition, e->partition)) {
      return other;
    }
  }
  return NULL;
}

static bool has_vector(const tn_index_entry *e, tn_slice data_file) {
  const tn_dv_range *ranges = e != NULL ? e->dv_ranges.items : NULL;
  for (int64_t i = 0; e != NULL && i < e->dv_ranges.count; i++) {
    if (tn_slice_equal(ranges[i].data_file, data_file)) {
      return true;
    }
  }
  return false;
}

/* Files that had no vector when they were read are there still; others would have changed the
 * bucket's index file when they went. */
static tarn_status check_marked_files(const tn_detection *d, const tn_index_entry *now,
                                      const tn_index_entry *before) {
  const tn_dv_range *ranges = now->dv_ranges.items;
  tarn_status st = TARN_OK;
  tn_map names;
  tn_map_init(&names, &d->job->table->env->mem);
  for (size_t i = 0; i < d->base.count; i++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&names, d->base.items[i].name, &slot, NULL, d->err));
  }
  for (int64_t i = 0; i < now->dv_ranges.count; i++) {
    tn_conflict_file f = {.name = ranges[i].data_file};
    if (!has_vector(before, f.name) && tn_map_find(&names, f.name) == NULL) {
      st = file_conflict(d, "Trying to create deletion vector on file", &f,
                         " which is not previously added.");
      goto done;
    }
  }
done:
  tn_map_reset(&names);
  return st;
}

/* Tables with buckets: does a bucket have the vectors still that this commit adds some to? */
static tarn_status check_replaced_vectors(tn_detection *d) {
  const tn_commit_options *o = d->job->options;
  const tn_index_list *changes = &d->check->changes->indexes;
  tn_index_list before, latest;
  if (!o->checks_vectors || d->job->table->facts.bucket_mode == TN_BUCKETS_UNAWARE) {
    return TARN_OK;
  }
  if (tn_index_list_read(d->job->table, o->vectors_before, d->arena, &before, d->err) != TARN_OK) {
    return tn_conflict(d, deletion_conflict, "The deletion vectors that it rests on have expired.");
  }
  TN_TRY(tn_index_list_read(d->job->table,
                            d->check->latest != NULL ? d->check->latest->index_manifest : NULL,
                            d->arena, &latest, d->err));
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i], *then, *now;
    if (!tn_index_is_vectors(e) || e->kind != TN_FILE_ADD) {
      continue;
    }
    then = vectors_of_bucket(&before, e);
    now = vectors_of_bucket(&latest, e);
    if ((then == NULL) != (now == NULL) ||
        (now != NULL && !tn_slice_equal(then->file_name, now->file_name))) {
      return tn_conflict(d, deletion_conflict,
                         "The deletion vectors of a bucket have been changed meanwhile.");
    }
    TN_TRY(check_marked_files(d, e, then));
  }
  return TARN_OK;
}

/* Does the commit replace the index file, or the one of its bucket? */
static bool replaces(const tn_index_list *changes, const tn_index_entry *vectors) {
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i];
    if (tn_index_is_vectors(e) && e->bucket == vectors->bucket &&
        tn_slice_equal(e->partition, vectors->partition) &&
        (e->kind == TN_FILE_ADD || tn_slice_equal(e->file_name, vectors->file_name))) {
      return true;
    }
  }
  return false;
}

/* Tables with buckets: a file that goes takes its vector along. One that the commit knows nothing
 * of was made meanwhile: the rows that it marks are in what the file has become. */
static tarn_status check_vectors_of_deleted(tn_detection *d) {
  const tn_table_facts *facts = &d->job->table->facts;
  tn_index_list latest;
  bool is_read = false;
  if (!facts->deletion_vectors || facts->bucket_mode == TN_BUCKETS_UNAWARE ||
      d->check->latest == NULL) {
    return TARN_OK;
  }
  for (size_t i = 0; i < d->delta.count; i++) {
    const tn_conflict_file *f = &d->delta.items[i];
    const tn_index_entry place = {.partition = f->partition, .bucket = f->bucket}, *now;
    if (f->is_add) {
      continue;
    }
    if (!is_read) {
      TN_TRY(tn_index_list_read(d->job->table, d->check->latest->index_manifest, d->arena, &latest,
                                d->err));
      is_read = true;
    }
    now = vectors_of_bucket(&latest, &place);
    if (has_vector(now, f->name) && !replaces(&d->check->changes->indexes, now)) {
      return file_conflict(d, "Trying to delete file", f,
                           ", which has got another deletion vector meanwhile.");
    }
  }
  return TARN_OK;
}

/* Tables with buckets: an index file of vectors that goes must be that of its bucket still. One
 * that comes with the same commit says that there was none before. (Java names none in messages,
 * and loses what others have marked meanwhile.) */
static tarn_status check_vectors_that_go(tn_detection *d) {
  const tn_index_list *changes = &d->check->changes->indexes;
  tn_index_list latest;
  bool is_read = false;
  if (d->job->table->facts.bucket_mode == TN_BUCKETS_UNAWARE) {
    return TARN_OK;
  }
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i], *now;
    bool comes_now = false;
    if (!tn_index_is_vectors(e) || e->kind != TN_FILE_DELETE) {
      continue;
    }
    if (!is_read) {
      TN_TRY(tn_index_list_read(d->job->table,
                                d->check->latest != NULL ? d->check->latest->index_manifest : NULL,
                                d->arena, &latest, d->err));
      is_read = true;
    }
    now = vectors_of_bucket(&latest, e);
    for (size_t k = 0; k < changes->count && !comes_now; k++) {
      comes_now = changes->items[k].kind == TN_FILE_ADD &&
                  tn_slice_equal(changes->items[k].file_name, e->file_name);
    }
    if (comes_now ? now != NULL : now == NULL || !tn_slice_equal(now->file_name, e->file_name)) {
      return tn_conflict(d, deletion_conflict,
                         "The deletion vectors of a bucket have been changed meanwhile.");
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ bucket counts */

static tarn_status check_buckets(tn_detection *d) {
  const tn_conflict_files *lists[] = {&d->base, &d->delta};
  tarn_status st = TARN_OK;
  tn_map counts;
  if (d->check->kind == TN_COMMIT_OVERWRITE) {
    return TARN_OK;
  }
  tn_map_init(&counts, &d->job->table->env->mem);
  for (size_t k = 0; k < TN_COUNT(lists); k++) {
    for (size_t i = 0; i < lists[k]->count; i++) {
      const tn_conflict_file *f = &lists[k]->items[i];
      tn_map_entry *slot;
      bool is_new;
      if (f->total_buckets <= 0) {
        continue;
      }
      TN_TRY_TO(done, tn_map_put(&counts, f->partition, &slot, &is_new, d->err));
      if (is_new) {
        slot->value.num = f->total_buckets;
      } else if (slot->value.num != f->total_buckets) {
        char message[512], partition[TN_PARTITION_TEXT];
        tn_job_partition_text(d->job->table, f->partition, partition);
        snprintf(message, sizeof(message),
                 "Total buckets of partition %s changed from %lld to %d without overwrite. "
                 "Give up committing.",
                 partition, (long long)slot->value.num, (int)f->total_buckets);
        st = tn_conflict(d, message, "");
        goto done;
      }
    }
  }
done:
  tn_map_reset(&counts);
  return st;
}

/* ------------------------------------------------------------------ added twice, deleted */

static tarn_status put_identity(const tn_conflict_file *f, tn_buf *out, tarn_error *err) {
  tn_data_file named = {.file_name = f->name, .level = f->level};
  if (f->rest != NULL) {
    named = *f->rest;
  }
  TN_TRY(tn_entry_identity(f->partition, f->bucket, &named, out, err));
  TN_TRY(tn_buf_append(out, f->has_vectors ? "\1" : "\0", 1, err));
  return f->has_vectors ? tn_buf_append(out, f->vectors.data, f->vectors.len, err) : TARN_OK;
}

static tarn_status merge_one(tn_detection *d, tn_map *map, tn_buf *identity,
                             const tn_conflict_file *f) {
  tn_map_entry *slot;
  tn_slice key;
  identity->len = 0;
  TN_TRY(put_identity(f, identity, d->err));
  slot = tn_map_find(map, tn_buf_slice(identity));
  if (slot == NULL) {
    if (!tn_arena_slice(d->arena, tn_buf_slice(identity), &key)) {
      return tn_oom(d->err);
    }
    TN_TRY(tn_map_put(map, key, &slot, NULL, d->err));
  }
  if (f->is_add && slot->value.ptr != NULL) {
    return file_conflict(d, "Trying to add file", f, " which is already in the the map.");
  }
  slot->value.ptr = slot->value.ptr == NULL ? (void *)(uintptr_t)f : NULL;
  return TARN_OK;
}

static tarn_status merge_list(tn_detection *d, tn_map *map, tn_buf *identity,
                              const tn_conflict_files *list) {
  for (size_t i = 0; i < list->count; i++) {
    TN_TRY(merge_one(d, map, identity, &list->items[i]));
  }
  return TARN_OK;
}

static tarn_status take_live(tn_detection *d, const tn_map *map) {
  d->live = tn_arena_calloc(d->arena, map->count + 1, sizeof(const tn_conflict_file *));
  if (d->live == NULL) {
    return tn_oom(d->err);
  }
  for (size_t i = 0; i < map->count; i++) {
    if (map->entries[i].value.ptr != NULL) {
      d->live[d->n_live++] = map->entries[i].value.ptr;
    }
  }
  return TARN_OK;
}

static tarn_status check_additions(tn_detection *d) {
  tn_mem *mem = &d->job->table->env->mem;
  tarn_status st;
  tn_buf identity;
  tn_map map;
  tn_buf_init(&identity, mem, IDENTITY_LIMIT);
  tn_map_init(&map, mem);
  TN_TRY_TO(done, merge_list(d, &map, &identity, &d->delta));
  tn_map_reset(&map);
  TN_TRY_TO(done, merge_list(d, &map, &identity, &d->base));
  TN_TRY_TO(done, merge_list(d, &map, &identity, &d->delta));
  TN_TRY_TO(done, take_live(d, &map));
done:
  tn_map_reset(&map);
  tn_buf_reset(&identity);
  return st;
}

/* All deletions that are left are of partitions that have expired: the writer is late. */
static bool are_expired(const tn_detection *d, const tn_conflict_file **first) {
  const tn_commit_options *options = d->job->options;
  for (int64_t i = 0; i < d->n_live; i++) {
    if (!d->live[i]->is_add) {
      *first = *first == NULL ? d->live[i] : *first;
      if (options->is_expired == NULL ||
          !options->is_expired(options->is_expired_ctx, d->live[i]->partition)) {
        return false;
      }
    }
  }
  return *first != NULL;
}

static tarn_status expired_conflict(const tn_detection *d, const tn_conflict_file *f) {
  char partition[TN_PARTITION_TEXT];
  tn_job_partition_text(d->job->table, f->partition, partition);
  return tn_fail(d->err, TARN_E_CONFLICT,
                 "%s: You are writing data to expired partitions, and you can filter this data to "
                 "avoid job failover. Otherwise, continuous expired records will cause the job to "
                 "failover restart continuously. Expired partitions are: [%s]",
                 d->job->table->full_name, partition);
}

static tarn_status check_deletions(tn_detection *d) {
  const tn_conflict_file *first = NULL;
  char behind[256];
  if (are_expired(d, &first)) {
    return expired_conflict(d, first);
  }
  if (first == NULL) {
    return TARN_OK;
  }
  snprintf(behind, sizeof(behind), " for table %s which is not previously added.",
           d->job->table->full_name);
  return file_conflict(d, "Trying to delete file", first, behind);
}

/* ------------------------------------------------------------------ levels */

/* A bucket that a compaction tells about, and what there is. */
typedef struct levels_seen {
  tn_level_mark wanted, found;
  tn_slice partition;
  int32_t bucket;
} levels_seen;

static tarn_status bucket_key(const tn_detection *d, tn_slice partition, int32_t bucket,
                              tn_buf *key) {
  uint8_t number[4];
  tn_store_le32(number, (uint32_t)bucket);
  key->len = 0;
  TN_TRY(tn_buf_append(key, number, sizeof(number), d->err));
  return tn_buf_append(key, partition.data, partition.len, d->err);
}

/* The last one of a bucket counts: it knows what those before it did. */
static tarn_status take_marks(const tn_detection *d, tn_map *map, tn_buf *key) {
  const tn_index_list *marks = &d->check->changes->level_marks;
  for (size_t i = 0; i < marks->count; i++) {
    const tn_index_entry *e = &marks->items[i];
    levels_seen *seen;
    tn_map_entry *slot;
    tn_slice bytes;
    TN_TRY(bucket_key(d, e->partition, e->bucket, key));
    slot = tn_map_find(map, tn_buf_slice(key));
    if (slot == NULL) {
      seen = tn_arena_calloc(d->arena, 1, sizeof(*seen));
      if (seen == NULL || !tn_arena_slice(d->arena, tn_buf_slice(key), &bytes)) {
        return tn_oom(d->err);
      }
      *seen = (levels_seen){.partition = e->partition, .bucket = e->bucket};
      TN_TRY(tn_map_put(map, bytes, &slot, NULL, d->err));
      slot->value.ptr = seen;
    }
    seen = slot->value.ptr;
    TN_TRY(tn_level_mark_get(e, &seen->wanted, d->err));
  }
  return TARN_OK;
}

static tarn_status compare_levels(const tn_detection *d, const tn_map *map) {
  for (size_t i = 0; i < map->count; i++) {
    const levels_seen *seen = map->entries[i].value.ptr;
    if (!tn_level_mark_equal(&seen->wanted, &seen->found)) {
      char partition[TN_PARTITION_TEXT], cause[400];
      tn_job_partition_text(d->job->table, seen->partition, partition);
      snprintf(cause, sizeof(cause),
               "The levels of partition %s, bucket %d have been changed meanwhile by another "
               "compaction.",
               partition, (int)seen->bucket);
      return tn_conflict(d, deletion_conflict, cause);
    }
  }
  return TARN_OK;
}

static tarn_status check_levels(const tn_detection *d) {
  tarn_status st = TARN_OK;
  tn_map map;
  tn_buf key;
  if (d->check->changes->level_marks.count == 0) {
    return TARN_OK;
  }
  tn_map_init(&map, &d->job->table->env->mem);
  tn_buf_init(&key, &d->job->table->env->mem, IDENTITY_LIMIT);
  TN_TRY_TO(done, take_marks(d, &map, &key));
  for (int64_t i = 0; i < d->n_live; i++) {
    const tn_conflict_file *f = d->live[i];
    tn_map_entry *slot;
    if (f->level > 0) {
      TN_TRY_TO(done, bucket_key(d, f->partition, f->bucket, &key));
      slot = tn_map_find(&map, tn_buf_slice(&key));
      if (slot != NULL) {
        tn_level_mark_add(&((levels_seen *)slot->value.ptr)->found, f->name, f->level);
      }
    }
  }
  TN_TRY_TO(done, compare_levels(d, &map));
done:
  tn_buf_reset(&key);
  tn_map_reset(&map);
  return st;
}

/* ------------------------------------------------------------------ key ranges */

typedef struct keyed {
  const tn_conflict_file *file;
  tn_manifest_entry *entry;
  const tn_datum *min, *max;
} keyed;

static tarn_status read_key(const tn_schema *schema, tn_arena *arena, tn_slice bytes,
                            const tn_datum **out, tarn_error *err) {
  tn_datum *values = tn_arena_calloc(arena, (size_t)schema->n_key_columns + 1, sizeof(*values));
  tn_binary_row row;
  if (values == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_binary_row_decode(bytes, "key of a data file", &row, err));
  if (row.arity != schema->n_key_columns) {
    return tn_fail(err, TARN_E_CORRUPT, "a key of %d columns, the primary key has %d",
                   (int)row.arity, (int)schema->n_key_columns);
  }
  for (int32_t i = 0; i < row.arity; i++) {
    const tn_type *type = &schema->fields[schema->key_columns[i]].type;
    TN_TRY(tn_binary_row_get(&row, i, type, &values[i], err));
  }
  *out = values;
  return TARN_OK;
}

static int compare_keys(const tn_schema *schema, const tn_datum *a, const tn_datum *b) {
  return tn_datum_compare_keys(schema->fields, schema->key_columns, schema->n_key_columns, a, b);
}

static int compare_place(const tn_conflict_file *a, const tn_conflict_file *b) {
  int c = tn_slice_compare(a->partition, b->partition);
  if (c == 0 && a->bucket != b->bucket) {
    c = a->bucket < b->bucket ? -1 : 1;
  }
  if (c == 0 && a->level != b->level) {
    c = a->level < b->level ? -1 : 1;
  }
  return c;
}

static int compare_keyed(void *ctx, const void *a, const void *b) {
  const tn_schema *schema = ctx;
  const keyed *x = a, *y = b;
  int c = x->file != NULL ? compare_place(x->file, y->file) : 0;
  return c != 0 ? c : compare_keys(schema, x->min, y->min);
}

static tarn_status sort_keyed(const tn_schema *schema, tn_arena *arena, const keyed **items,
                              int64_t n, tarn_error *err) {
  const void **scratch = tn_arena_calloc(arena, (size_t)n + 1, sizeof(*scratch));
  if (scratch == NULL) {
    return tn_oom(err);
  }
  tn_sort_stable((const void **)items, scratch, n, compare_keyed, (void *)(uintptr_t)schema);
  return TARN_OK;
}

static tarn_status overlap_conflict(const tn_detection *d, const tn_conflict_file *a,
                                    const tn_conflict_file *b) {
  char message[900], partition[TN_PARTITION_TEXT];
  tn_job_partition_text(d->job->table, a->partition, partition);
  snprintf(message, sizeof(message),
           "LSM conflicts detected! Give up committing. Conflict files are: %s, bucket %d, level "
           "%d, file %.*s and file %.*s.",
           partition, (int)a->bucket, (int)a->level, TN_SLICE_ARG(a->name), TN_SLICE_ARG(b->name));
  return tn_conflict(d, message, "");
}

/* Level 0 may overlap; every other level is one sorted run. */
static tarn_status check_key_ranges(tn_detection *d) {
  const tn_table *table = d->job->table;
  const tn_schema *schema = table->schema;
  const keyed **items;
  keyed *all;
  int64_t n = 0;
  bool overrides = false;
  TN_TRY(tn_options_bool(&table->options, "pk-clustering-override", &overrides, d->err));
  if (!table->facts.has_primary_key || overrides) {
    return TARN_OK;
  }
  items = tn_arena_calloc(d->arena, (size_t)d->n_live + 1, sizeof(*items));
  all = tn_arena_calloc(d->arena, (size_t)d->n_live + 1, sizeof(*all));
  if (items == NULL || all == NULL) {
    return tn_oom(d->err);
  }
  for (int64_t i = 0; i < d->n_live; i++) {
    if (d->live[i]->level >= 1) {
      all[n].file = d->live[i];
      TN_TRY(read_key(schema, d->arena, d->live[i]->min_key, &all[n].min, d->err));
      TN_TRY(read_key(schema, d->arena, d->live[i]->max_key, &all[n].max, d->err));
      items[n] = &all[n];
      n++;
    }
  }
  TN_TRY(sort_keyed(schema, d->arena, items, n, d->err));
  for (int64_t i = 0; i + 1 < n; i++) {
    if (compare_place(items[i]->file, items[i + 1]->file) == 0 &&
        compare_keys(schema, items[i]->max, items[i + 1]->min) >= 0) {
      return overlap_conflict(d, items[i]->file, items[i + 1]->file);
    }
  }
  return TARN_OK;
}

tarn_status tn_files_are_disjoint(tn_commit_job *job, tn_arena *arena, tn_manifest_entry **files,
                                  int64_t n, bool *out, tarn_error *err) {
  const tn_schema *schema = job->table->schema;
  const keyed **items = tn_arena_calloc(arena, (size_t)n + 1, sizeof(*items));
  keyed *all = tn_arena_calloc(arena, (size_t)n + 1, sizeof(*all));
  if (items == NULL || all == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    all[i].entry = files[i];
    TN_TRY(read_key(schema, arena, files[i]->file.min_key, &all[i].min, err));
    TN_TRY(read_key(schema, arena, files[i]->file.max_key, &all[i].max, err));
    items[i] = &all[i];
  }
  TN_TRY(sort_keyed(schema, arena, items, n, err));
  *out = true;
  for (int64_t i = 0; i < n; i++) {
    files[i] = items[i]->entry;
    *out = *out && (i + 1 == n || compare_keys(schema, items[i]->max, items[i + 1]->min) < 0);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ all together */

tarn_status tn_conflicts_find(const tn_conflict_check *check, tarn_error *err) {
  tn_detection d = {.check = check, .job = check->job, .arena = check->arena, .err = err};
  TN_TRY(list_files(&d));
  TN_TRY(add_vectors(&d));
  TN_TRY(check_replaced_vectors(&d));
  TN_TRY(check_vectors_of_deleted(&d));
  TN_TRY(check_vectors_that_go(&d));
  TN_TRY(check_buckets(&d));
  TN_TRY(check_additions(&d));
  TN_TRY(check_deletions(&d));
  TN_TRY(check_levels(&d));
  TN_TRY(check_key_ranges(&d));
  TN_TRY(tn_conflicts_in_row_ids(&d));
  return tn_conflicts_in_row_ids_since(&d);
}

tarn_status tn_conflicts_find_first(const tn_conflict_check *check, tarn_error *err) {
  tn_detection d = {.check = check, .job = check->job, .arena = check->arena, .err = err};
  TN_TRY(list_files(&d));
  TN_TRY(check_buckets(&d));
  return tn_conflicts_in_rows_gone(&d);
}

tarn_status tn_conflicts_find_buckets(const tn_conflict_check *check, tarn_error *err) {
  tn_detection d = {.check = check, .job = check->job, .arena = check->arena, .err = err};
  TN_TRY(list_files(&d));
  return check_buckets(&d);
}
