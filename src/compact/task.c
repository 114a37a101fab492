/* task.c - what is rewritten and what only goes up a level. */
#include "compact/task.h"

#include "compact/rewriter.h"

/* Sections that wait to be rewritten together. */
typedef struct candidate {
  tn_rewrite_section *sections;
  size_t n, capacity;
} candidate;

/* ------------------------------------------------------------------ results */

static tarn_status put_file(tn_compact_task *t, tn_task_files *list, const tn_data_file *file,
                            tarn_error *err) {
  if (!tn_arena_grow(&t->arena, (void **)&list->items, &list->capacity, list->n,
                     sizeof(*list->items))) {
    return tn_oom(err);
  }
  list->items[list->n++] = *file;
  return TARN_OK;
}

static tarn_status put_files(tn_compact_task *t, tn_task_files *list, const tn_data_file *files,
                             int32_t n, tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(put_file(t, list, &files[i], err));
  }
  return TARN_OK;
}

static tarn_status note(tn_map *names, tn_slice name, tarn_error *err) {
  tn_map_entry *entry;
  return tn_map_put(names, name, &entry, NULL, err);
}

static tarn_status mark(void *ctx, const tn_rewrite_file *file, int64_t position, tarn_error *err) {
  tn_compact_task *t = ctx;
  tn_table *table = t->setup.table;
  tn_map_entry *entry;
  TN_TRY(tn_map_put(&t->marks, file->meta->file_name, &entry, NULL, err));
  if (entry->value.ptr == NULL) {
    bool is_wide;
    tn_dv_builder *builder;
    TN_TRY(tn_options_bool(&table->options, "deletion-vectors.bitmap64", &is_wide, err));
    TN_TRY(tn_dv_builder_create(table->env, is_wide ? 2 : 1, file->deletions, &builder, err));
    entry->value.ptr = builder;
  }
  return tn_dv_builder_add(entry->value.ptr, position, NULL, err);
}

/* ------------------------------------------------------------------ rewriting */

static bool has_level_0(const tn_rewrite_section *sections, size_t n) {
  for (size_t s = 0; s < n; s++) {
    for (int32_t r = 0; r < sections[s].n_runs; r++) {
      for (int32_t i = 0; i < sections[s].runs[r].n_files; i++) {
        if (sections[s].runs[r].files[i].meta->level == 0) {
          return true;
        }
      }
    }
  }
  return false;
}

static tn_rewrite_mode choose_mode(const tn_compact_task *t, const tn_rewrite_section *sections,
                                   size_t n) {
  const tn_compact_options *o = t->setup.options;
  if (o->changelog_producer == TN_CHANGELOG_FULL_COMPACTION) {
    return t->unit.output_level == t->top_level ? TN_REWRITE_FULL : TN_REWRITE_PLAIN;
  }
  return o->needs_lookup && has_level_0(sections, n) ? TN_REWRITE_LOOKUP : TN_REWRITE_PLAIN;
}

/* The files of a rewrite become the task's; those that cannot are removed. */
static tarn_status adopt(tn_compact_task *t, const tn_rewrite_result *result, tarn_error *err) {
  size_t n_after = t->after.n, n_changelog = t->changelog.n;
  tarn_status st;
  TN_TRY_TO(done, put_files(t, &t->changelog, result->changelog, result->n_changelog, err));
  for (int32_t i = 0; i < result->n_files; i++) {
    TN_TRY_TO(done, note(&t->made, result->files[i].file_name, err));
  }
  st = put_files(t, &t->after, result->files, result->n_files, err);
done:
  n_after = t->after.n - n_after;
  n_changelog = t->changelog.n - n_changelog;
  for (size_t i = n_after; st != TARN_OK && i < (size_t)result->n_files; i++) {
    tn_data_file_delete(t->setup.table, t->partition, t->bucket, &result->files[i]);
  }
  for (size_t i = n_changelog; st != TARN_OK && i < (size_t)result->n_changelog; i++) {
    tn_data_file_delete(t->setup.table, t->partition, t->bucket, &result->changelog[i]);
  }
  return st;
}

/* Merge sections; what comes of it is in the task's results. */
static tarn_status merge_sections(tn_compact_task *t, const tn_rewrite_section *sections, size_t n,
                                  bool drops_deletes, bool writes_data, tarn_error *err) {
  tn_rewrite_mode mode = choose_mode(t, sections, n);
  bool looks_up = mode == TN_REWRITE_LOOKUP;
  tn_rewrite_request request = {
      .partition = t->partition,
      .bucket = t->bucket,
      .sections = sections,
      .n_sections = (int32_t)n,
      .deeper = looks_up ? t->deeper : NULL,
      .n_deeper = looks_up ? t->n_deeper : 0,
      .mode = mode,
      .output_level = t->unit.output_level,
      .top_level = t->top_level,
      .drops_deletes = drops_deletes,
      .writes_data = writes_data,
      .names = t->setup.names,
      .now_ms = t->now_ms,
  };
  tn_rewrite_result result;
  if (looks_up && t->setup.options->deletion_vectors) {
    request.marks = (tn_rewrite_marks){mark, t};
  }
  TN_TRY(tn_rewrite(t->setup.rewriter, &request, &t->arena, &result, err));
  return adopt(t, &result, err);
}

static tarn_status rewrite(tn_compact_task *t, const tn_rewrite_section *sections, size_t n,
                           bool drops_deletes, tarn_error *err) {
  TN_TRY(merge_sections(t, sections, n, drops_deletes, true, err));
  for (size_t s = 0; s < n; s++) {
    for (int32_t r = 0; r < sections[s].n_runs; r++) {
      for (int32_t i = 0; i < sections[s].runs[r].n_files; i++) {
        const tn_data_file *file = sections[s].runs[r].files[i].meta;
        TN_TRY(put_file(t, &t->before, file, err));
        TN_TRY(note(&t->rewritten, file->file_name, err));
      }
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ going up as it is */

static bool may_have_deletes(const tn_data_file *file) {
  return !file->has_delete_row_count || file->delete_row_count > 0;
}

typedef enum upgrade_way {
  UPGRADE_METADATA, /* the file only changes its level */
  UPGRADE_CHANGELOG,
  UPGRADE_REWRITE,
  UPGRADE_REWRITE_WITHOUT_DELETES
} upgrade_way;

/* Is all in a file of level 0 newer than what lies deeper? Not always where several write to a
 * bucket: each counts on from what it found there. */
static bool is_newest(const tn_compact_task *t, const tn_data_file *file) {
  for (int32_t r = 0; r < t->n_deeper; r++) {
    for (int32_t i = 0; i < t->deeper[r].n_files; i++) {
      if (t->deeper[r].files[i].meta->max_sequence > file->min_sequence) {
        return false;
      }
    }
  }
  return true;
}

/* Of tables that need lookup; rule: LookupMergeTreeCompactRewriter#upgradeStrategy. Where a deeper
 * row is the newer one Java leaves the older one above it. */
static upgrade_way lookup_way(const tn_compact_task *t, const tn_data_file *file) {
  const tn_table_facts *facts = &t->setup.table->facts;
  int32_t level = t->unit.output_level;
  if (file->level != 0) {
    return UPGRADE_METADATA;
  }
  if (!tn_write_shape_same_format(t->setup.rewriter->shape, 0, level)) {
    return UPGRADE_REWRITE;
  }
  if (facts->deletion_vectors && may_have_deletes(file)) {
    return UPGRADE_REWRITE_WITHOUT_DELETES;
  }
  if (level == t->top_level || (facts->merge_engine == TN_ENGINE_DEDUPLICATE &&
                                facts->n_sequence_columns == 0 && is_newest(t, file))) {
    return UPGRADE_CHANGELOG;
  }
  return UPGRADE_REWRITE;
}

static tarn_status choose_way(const tn_compact_task *t, const tn_data_file *file, upgrade_way *out,
                              tarn_error *err) {
  const tn_compact_options *o = t->setup.options;
  bool has_expired;
  TN_TRY(tn_rewriter_has_expired(t->setup.rewriter, file, t->now_ms, &has_expired, err));
  if ((t->unit.output_level == t->top_level && may_have_deletes(file)) ||
      o->force_rewrite_all_files || has_expired) {
    *out = UPGRADE_REWRITE;
  } else if (file->level == t->unit.output_level) {
    *out = UPGRADE_METADATA;
  } else if (o->changelog_producer == TN_CHANGELOG_FULL_COMPACTION) {
    *out = t->unit.output_level == t->top_level ? UPGRADE_CHANGELOG : UPGRADE_METADATA;
  } else {
    *out = o->needs_lookup ? lookup_way(t, file) : UPGRADE_METADATA;
  }
  return TARN_OK;
}

static tarn_status upgrade(tn_compact_task *t, const tn_rewrite_file *file, tarn_error *err) {
  const tn_rewrite_run run = {file, 1};
  const tn_rewrite_section section = {&run, 1};
  upgrade_way way;
  tn_data_file moved = *file->meta;
  TN_TRY(choose_way(t, file->meta, &way, err));
  switch (way) {
    case UPGRADE_REWRITE:
      return rewrite(t, &section, 1, t->unit.drops_deletes, err);
    case UPGRADE_REWRITE_WITHOUT_DELETES:
      return rewrite(t, &section, 1, true, err);
    case UPGRADE_CHANGELOG:
      TN_TRY(merge_sections(t, &section, 1, t->unit.drops_deletes, false, err));
      break;
    case UPGRADE_METADATA:
      break;
  }
  if (file->meta->level == t->unit.output_level) {
    return TARN_OK;
  }
  moved.level = t->unit.output_level;
  TN_TRY(put_file(t, &t->before, file->meta, err));
  return put_file(t, &t->after, &moved, err);
}

/* ------------------------------------------------------------------ the walk */

static tarn_status flush(tn_compact_task *t, candidate *c, tarn_error *err) {
  size_t n = c->n;
  c->n = 0;
  if (n == 1 && c->sections[0].n_runs == 1) {
    const tn_rewrite_run *run = &c->sections[0].runs[0];
    for (int32_t i = 0; i < run->n_files; i++) {
      TN_TRY(upgrade(t, &run->files[i], err));
    }
    return TARN_OK;
  }
  return n > 0 ? rewrite(t, c->sections, n, t->unit.drops_deletes, err) : TARN_OK;
}

static tarn_status put_section(tn_compact_task *t, candidate *c, const tn_rewrite_run *runs,
                               int32_t n_runs, tarn_error *err) {
  if (!tn_arena_grow(&t->arena, (void **)&c->sections, &c->capacity, c->n, sizeof(*c->sections))) {
    return tn_oom(err);
  }
  c->sections[c->n++] = (tn_rewrite_section){runs, n_runs};
  return TARN_OK;
}

static tarn_status make_runs(tn_compact_task *t, const tn_compact_section *section,
                             tn_rewrite_run **out, tarn_error *err) {
  tn_rewrite_run *runs = tn_arena_calloc(&t->arena, (size_t)section->n_runs, sizeof(*runs));
  if (runs == NULL) {
    return tn_oom(err);
  }
  for (int64_t r = 0; r < section->n_runs; r++) {
    const tn_compact_run *from = &section->runs[r];
    tn_rewrite_file *files = tn_arena_calloc(&t->arena, (size_t)from->n_files, sizeof(*files));
    if (files == NULL) {
      return tn_oom(err);
    }
    for (int64_t i = 0; i < from->n_files; i++) {
      files[i].meta = from->files[i];
      files[i].deletions = tn_vectors_find(t->vectors, from->files[i]->file_name);
    }
    runs[r] = (tn_rewrite_run){files, (int32_t)from->n_files};
  }
  *out = runs;
  return TARN_OK;
}

static tarn_status walk_section(tn_compact_task *t, candidate *c, const tn_compact_section *section,
                                tarn_error *err) {
  tn_rewrite_run *runs, *single;
  TN_TRY(make_runs(t, section, &runs, err));
  if (section->n_runs > 1) {
    return put_section(t, c, runs, (int32_t)section->n_runs, err);
  }
  for (int32_t i = 0; i < runs[0].n_files; i++) {
    const tn_rewrite_file *file = &runs[0].files[i];
    if (file->meta->file_size < t->setup.options->small_file_bytes) {
      single = tn_arena_alloc(&t->arena, sizeof(*single));
      if (single == NULL) {
        return tn_oom(err);
      }
      *single = (tn_rewrite_run){file, 1};
      TN_TRY(put_section(t, c, single, 1, err));
    } else {
      /* What waits must not reach around a file that stays as it is. */
      TN_TRY(flush(t, c, err));
      TN_TRY(upgrade(t, file, err));
    }
  }
  return TARN_OK;
}

static tarn_status rewrite_files(tn_compact_task *t, tarn_error *err) {
  for (int64_t i = 0; i < t->unit.n_files; i++) {
    const tn_data_file *meta = t->unit.files[i];
    const tn_rewrite_file file = {meta, tn_vectors_find(t->vectors, meta->file_name)};
    const tn_rewrite_run run = {&file, 1};
    const tn_rewrite_section section = {&run, 1};
    TN_TRY(rewrite(t, &section, 1, t->unit.drops_deletes, err));
  }
  return TARN_OK;
}

static tarn_status concat(tn_compact_task *t, tarn_error *err) {
  tn_concat_request request = {.partition = t->partition,
                               .bucket = t->bucket,
                               .n_files = (int32_t)t->unit.n_files,
                               .names = t->setup.names};
  tn_rewrite_file *files = tn_arena_calloc(&t->arena, (size_t)t->unit.n_files, sizeof(*files));
  tn_rewrite_result result;
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < t->unit.n_files; i++) {
    const tn_data_file *meta = t->unit.files[i];
    files[i] = (tn_rewrite_file){meta, tn_vectors_find(t->vectors, meta->file_name)};
    TN_TRY(put_file(t, &t->before, meta, err));
    TN_TRY(note(&t->rewritten, meta->file_name, err));
  }
  request.files = files;
  TN_TRY(tn_concat(t->setup.rewriter, &request, &t->arena, &result, err));
  return adopt(t, &result, err);
}

tarn_status tn_task_walk(tn_compact_task *t, tarn_error *err) {
  candidate waiting = {0};
  tn_compact_section *sections;
  int64_t n;
  if (t->is_append) {
    return concat(t, err);
  }
  if (t->unit.is_file_rewrite) {
    return rewrite_files(t, err);
  }
  TN_TRY(tn_compact_sections_make(&t->arena, t->schema, t->unit.files, t->unit.n_files, &sections,
                                  &n, err));
  for (int64_t i = 0; i < n; i++) {
    TN_TRY(walk_section(t, &waiting, &sections[i], err));
  }
  return flush(t, &waiting, err);
}

/* ------------------------------------------------------------------ life */

tarn_status tn_compact_task_run(tn_compact_task *task, tarn_error *err) {
  TN_TRY(tn_table_fault(task->setup.table, tn_task_walk(task, err), err));
  task->is_done = true;
  return TARN_OK;
}

void tn_task_let_go(tn_compact_task *task) {
  tn_map_reset(&task->made);
  task->changelog.n = 0;
}

void tn_task_free(tn_compact_task *t) {
  tn_table *table = t->setup.table;
  for (size_t i = 0; i < t->after.n; i++) {
    if (tn_map_find(&t->made, t->after.items[i].file_name) != NULL) {
      tn_data_file_delete(table, t->partition, t->bucket, &t->after.items[i]);
    }
  }
  for (size_t i = 0; i < t->changelog.n; i++) {
    tn_data_file_delete(table, t->partition, t->bucket, &t->changelog.items[i]);
  }
  for (size_t i = 0; i < t->marks.count; i++) {
    tn_dv_builder_free(t->marks.entries[i].value.ptr);
  }
  tn_map_reset(&t->marks);
  tn_map_reset(&t->rewritten);
  tn_map_reset(&t->made);
  tn_arena_reset(&t->arena);
  tn_free(&table->env->mem, t);
}

void tn_compact_task_facts(const tn_compact_task *task, tn_compact_facts *out) {
  *out = (tn_compact_facts){.reason = task->reason,
                            .n_files = (int32_t)task->unit.n_files,
                            .output_level = task->unit.output_level,
                            .n_bytes = task->unit.size_bytes,
                            .drops_deletes = task->unit.drops_deletes,
                            .files = task->unit.files};
  for (int64_t i = 0; i < task->unit.n_files; i++) {
    out->n_level_0 += task->unit.files[i]->level == 0;
  }
  for (size_t i = 0; i < task->after.n; i++) {
    out->n_bytes_out += task->after.items[i].file_size;
  }
}
