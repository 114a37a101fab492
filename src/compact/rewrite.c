/* rewrite.c - sections in, files out.
 *
 * A section is copied when it is one run whose rows stay as they are, else merged; with a changelog
 * or marks to make it is merged group by group. All sections go to one rolling writer, and their
 * changelog to another.
 */
#include "compact/rewrite.h"

#include <string.h>

#include "base/bytes.h"
#include "compact/rewriter.h"

#define FEW_RUNS 16
#define LEAST_INPUT_ROWS 1024

/* The runs of a section as inputs of its merge. */
typedef struct section {
  tn_pass_run *runs; /* those of the request, then those that are looked up */
  int32_t n_runs, n_looked_up;
} section;

/* ------------------------------------------------------------------ merging */

/* The bytes that every value of the first key column begins with. */
static tn_slice common_start(const tn_pass *p, const section *s) {
  const tn_schema *schema = p->r->table->schema;
  tn_slice start = {NULL, 0};
  bool has_one = false;
  if (tn_type_layout(&schema->fields[schema->key_columns[0]].type) != TN_LAYOUT_BYTES) {
    return start;
  }
  for (int32_t r = 0; r < s->n_runs + s->n_looked_up; r++) {
    for (int32_t i = 0; i < s->runs[r].n_files; i++) {
      const tn_pass_file *f = &p->files[s->runs[r].first + i];
      const tn_slice ends[2] = {f->min[0].v.bytes, f->max[0].v.bytes};
      for (int32_t e = 0; e < 2; e++) {
        size_t n = 0;
        start = has_one ? start : ends[e];
        has_one = true;
        while (n < start.len && n < ends[e].len && start.data[n] == ends[e].data[n]) {
          n++;
        }
        start.len = n;
      }
    }
  }
  return start;
}

/* Plans of small sections are no larger than these are. */
static int64_t output_rows(const tn_pass *p, const section *s) {
  int64_t n = 1;
  for (int32_t r = 0; r < s->n_runs; r++) {
    for (int32_t i = 0; i < s->runs[r].n_files && n < TN_READ_BATCH_ROWS; i++) {
      int64_t rows = p->files[s->runs[r].first + i].file->meta->row_count;
      n += rows > 0 ? rows : 0;
    }
  }
  return n < TN_READ_BATCH_ROWS && s->n_looked_up == 0 ? n : TN_READ_BATCH_ROWS;
}

/* Of many runs an output batch takes few rows each, so that large batches only cost memory. */
static int64_t input_rows(int32_t n_runs) {
  int64_t rows = n_runs > FEW_RUNS ? TN_READ_BATCH_ROWS * FEW_RUNS / n_runs : TN_READ_BATCH_ROWS;
  return rows < LEAST_INPUT_ROWS ? LEAST_INPUT_ROWS : rows;
}

static tarn_status open_merger(tn_pass *p, const tn_rewrite_request *q, const section *s,
                               const tn_merge_changes *changes, tn_merge_spec *spec,
                               tn_merger **out, tarn_error *err) {
  tarn_env *env = p->r->env;
  int32_t n_all = s->n_runs + s->n_looked_up, n = 0;
  /* About two batches of each run are held; all of them may take an eighth of the share. */
  int64_t key_bytes = p->r->share_bytes / 16 / n_all;
  tarn_status st = TARN_OK;
  tn_merge_input **inputs = tn_calloc(&env->mem, (size_t)n_all, sizeof(*inputs));
  if (inputs == NULL) {
    return tn_oom(err);
  }
  *spec = p->r->spec;
  spec->common_start = common_start(p, s);
  if (!p->needs_values) {
    spec->n_value_fields = spec->n_out_columns = 0;
  }
  spec->merges_single_rows = q->mode == TN_REWRITE_LOOKUP && spec->needs_lookup;
  spec->keeps_deletes = !q->drops_deletes;
  spec->batch_rows = output_rows(p, s);
  spec->input_rows = input_rows(n_all);
  for (n = 0; n < n_all; n++) {
    TN_TRY_TO(done, tn_run_input_create(p, &s->runs[n], key_bytes, &inputs[n], err));
  }
  st = changes != NULL ? tn_merger_create_changes(env, spec, changes, inputs, n_all, out, err)
                       : tn_merger_create(env, spec, inputs, n_all, out, err);
  n = 0; /* they are the merger's, or gone */
done:
  for (int32_t i = 0; i < n; i++) {
    inputs[i]->ops->free(inputs[i]);
  }
  tn_free(&env->mem, inputs);
  return st;
}

static tarn_status explain(tn_pass *p, const section *s, tarn_status st, tarn_error *err) {
  if (st == TARN_E_LIMIT) {
    tn_error_context(err, st,
                     "compacting %d sorted runs of %s, bucket %d, within a memory budget of %llu "
                     "bytes (raise it: --memory, memory_budget_bytes)",
                     (int)(s->n_runs + s->n_looked_up), p->r->table->full_name, (int)p->bucket,
                     (unsigned long long)p->r->env->mem.budget_bytes);
  } else if (st == TARN_E_INVALID || st == TARN_E_UNSUPPORTED) {
    /* What a merge engine refuses it tells by column alone. */
    tn_error_context(err, st, "table %s, bucket %d", p->r->table->full_name, (int)p->bucket);
  }
  return st;
}

static tarn_status merge_plainly(tn_pass *p, const tn_rewrite_request *q, const section *s,
                                 tarn_error *err) {
  tarn_env *env = p->r->env;
  tn_merge_spec spec;
  tn_merger *merger = NULL;
  tn_batch batch = {0};
  tn_buffer *kinds = NULL, *sequences = NULL;
  tarn_status st;
  TN_TRY(open_merger(p, q, s, NULL, &spec, &merger, err));
  for (;;) {
    st = tn_merger_next(merger, &batch, &kinds, &sequences, err);
    if (st != TARN_OK || batch.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, tn_pass_write(p, false, &batch, &sequences, &kinds, err));
  }
  st = explain(p, s, st, err);
done:
  tn_batch_reset(env, &batch);
  tn_buffer_release(kinds);
  tn_buffer_release(sequences);
  tn_merger_free(merger);
  return st;
}

static tarn_status merge_changes(tn_pass *p, const tn_rewrite_request *q, const section *s,
                                 tarn_error *err) {
  tarn_env *env = p->r->env;
  bool is_full = q->mode == TN_REWRITE_FULL;
  tn_merge_changes changes = {
      .before = is_full ? TN_BEFORE_TOP : TN_BEFORE_DEEPER,
      .top_level = q->top_level,
      .gives_before_rows = tn_changes_give_changelog(p->r, q) && !p->r->is_first_row,
  };
  tn_merge_spec spec;
  tn_merger *merger = NULL;
  tn_merge_step step = {0};
  tarn_status st;
  TN_TRY(open_merger(p, q, s, &changes, &spec, &merger, err));
  for (;;) {
    st = tn_merger_step(merger, &step, err);
    if (st != TARN_OK || step.n_groups == 0) {
      break;
    }
    TN_TRY_TO(done, tn_changes_write(p, q, &step, err));
    tn_merge_step_reset(env, &step);
  }
  st = explain(p, s, st, err);
done:
  tn_merge_step_reset(env, &step);
  tn_merger_free(merger);
  return st;
}

/* ------------------------------------------------------------------ copying */

/* Do rows that have no other of their key stay as they are? */
static bool keeps_lone_rows(const tn_pass *p, const tn_rewrite_request *q) {
  const tn_merge_spec *m = &p->r->spec;
  bool merges_single_rows = q->mode == TN_REWRITE_LOOKUP && m->needs_lookup;
  return (!merges_single_rows && !m->engine->wants_single_rows) ||
         (m->engine == &tn_engine_deduplicate && !m->ignore_delete);
}

/* What is alive of a batch of whole rows, without those that expired; *kept: to be freed. */
static tarn_status find_alive(tn_pass *p, tn_batch *batch, const uint8_t *alive, uint8_t **kept,
                              tarn_error *err) {
  size_t n_bytes = TN_BITMAP_BYTES(batch->n_rows);
  tn_vec *time = &batch->columns[p->r->first_column + p->r->options->time_column];
  *kept = tn_alloc(&p->r->env->mem, n_bytes);
  if (*kept == NULL) {
    return tn_oom(err);
  }
  if (alive != NULL) {
    memcpy(*kept, alive, n_bytes);
  } else {
    memset(*kept, 0xff, n_bytes);
  }
  return tn_expiry_apply(p->r, p->now_ms, time, *kept, err);
}

static tarn_status copy_batch(tn_pass *p, const tn_rewrite_request *q, tn_batch *batch,
                              const uint8_t *alive, const char *path, tarn_error *err) {
  uint8_t *kept = NULL;
  tarn_status st = TARN_OK;
  TN_TRY(tn_pass_check_system(p, &batch->columns[0], path, err));
  TN_TRY(tn_pass_check_system(p, &batch->columns[1], path, err));
  if (p->r->time_at >= 0) {
    TN_TRY_TO(done, find_alive(p, batch, alive, &kept, err));
    alive = kept;
  }
  st = tn_pass_write_whole(p, batch, alive, q->drops_deletes, err);
done:
  tn_free(&p->r->env->mem, kept);
  return st;
}

static tarn_status copy_file(tn_pass *p, const tn_rewrite_request *q, int32_t number,
                             tarn_error *err) {
  int64_t rows = tn_pass_batch_rows(p, number, p->r->share_bytes / 16);
  tn_data_reader *reader = NULL;
  tn_batch batch = {0};
  const uint8_t *alive;
  const char *path;
  tarn_status st;
  if (p->whole == NULL) {
    TN_TRY(tn_data_shape_create(p->r->table, p->r->shape_fields, p->r->n_shape_fields, NULL, 0,
                                true, &p->whole, err));
  }
  TN_TRY(tn_pass_open(p, number, p->whole, NULL, NULL, rows, &reader, &path, err));
  for (;;) {
    TN_TRY_TO(done, tn_data_reader_next(reader, rows, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, copy_batch(p, q, &batch, alive, path, err));
  }
done:
  tn_batch_reset(p->r->env, &batch);
  tn_data_reader_free(reader);
  return st;
}

/* ------------------------------------------------------------------ sections */

/* Has the section something to tell but its rows? */
static bool makes_changes(const tn_pass *p, const tn_rewrite_request *q, const section *s) {
  int32_t plain_level = q->mode == TN_REWRITE_FULL ? q->top_level : 1;
  if (q->mode == TN_REWRITE_PLAIN) {
    return false;
  }
  for (int32_t r = 0; r < s->n_runs; r++) {
    for (int32_t i = 0; i < s->runs[r].n_files; i++) {
      if (p->files[s->runs[r].first + i].file->meta->level < plain_level) {
        return true;
      }
    }
  }
  return false;
}

static tarn_status rewrite_runs(tn_pass *p, const tn_rewrite_request *q, section *s,
                                int32_t n_input, tarn_error *err) {
  if (makes_changes(p, q, s)) {
    if (q->mode == TN_REWRITE_LOOKUP) {
      TN_TRY(tn_lookup_runs(p, s->runs, s->n_runs, q->deeper, q->n_deeper, n_input,
                            s->runs + s->n_runs, &s->n_looked_up, err));
    }
    if (!p->needs_values && s->n_looked_up == 0 && !p->r->is_first_row) {
      return TARN_OK; /* nothing can be marked */
    }
    TN_TRY(tn_runs_spill(p, s->runs, s->n_runs + s->n_looked_up, err));
    return merge_changes(p, q, s, err);
  }
  if (!q->writes_data) {
    return TARN_OK;
  }
  if (s->n_runs == 1 && keeps_lone_rows(p, q)) {
    for (int32_t i = 0; i < s->runs[0].n_files; i++) {
      TN_TRY(copy_file(p, q, s->runs[0].first + i, err));
    }
    return TARN_OK;
  }
  TN_TRY(tn_runs_spill(p, s->runs, s->n_runs, err));
  return merge_plainly(p, q, s, err);
}

/* number: of the section's first file; n_input: files of all sections. */
static tarn_status rewrite_section(tn_pass *p, const tn_rewrite_request *q,
                                   const tn_rewrite_section *from, int32_t *number, int32_t n_input,
                                   tarn_error *err) {
  section s = {.n_runs = from->n_runs};
  tarn_status st;
  s.runs =
      tn_calloc(&p->r->env->mem, (size_t)from->n_runs + (size_t)q->n_deeper + 1, sizeof(*s.runs));
  if (s.runs == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < from->n_runs; i++) {
    s.runs[i] = (tn_pass_run){.first = *number, .n_files = from->runs[i].n_files, .spilled = -1};
    *number += from->runs[i].n_files;
  }
  st = rewrite_runs(p, q, &s, n_input, err);
  if (st == TARN_OK && p->spill != NULL) {
    st = tn_spill_clear(p->spill, err);
  }
  tn_lookup_runs_reset(s.runs + s.n_runs, s.n_looked_up);
  tn_free(&p->r->env->mem, s.runs);
  return st;
}

/* ------------------------------------------------------------------ the door */

static int32_t list_run(const tn_rewrite_run *run, const tn_rewrite_file **files, int32_t n) {
  for (int32_t i = 0; i < run->n_files; i++) {
    files[n++] = &run->files[i];
  }
  return n;
}

/* All files, those of the sections first; *n_input of them. */
static tarn_status list_files(tn_rewriter *r, const tn_rewrite_request *q,
                              const tn_rewrite_file ***out, int32_t *n_input, int32_t *n,
                              tarn_error *err) {
  const tn_rewrite_file **files;
  size_t n_all = 0;
  for (int32_t s = 0; s < q->n_sections; s++) {
    for (int32_t i = 0; i < q->sections[s].n_runs; i++) {
      n_all += (size_t)q->sections[s].runs[i].n_files;
    }
  }
  for (int32_t i = 0; i < q->n_deeper; i++) {
    n_all += (size_t)q->deeper[i].n_files;
  }
  files = tn_calloc(&r->env->mem, n_all + 1, sizeof(*files));
  if (files == NULL) {
    return tn_oom(err);
  }
  *n = 0;
  for (int32_t s = 0; s < q->n_sections; s++) {
    for (int32_t i = 0; i < q->sections[s].n_runs; i++) {
      *n = list_run(&q->sections[s].runs[i], files, *n);
    }
  }
  *n_input = *n;
  for (int32_t i = 0; i < q->n_deeper; i++) {
    *n = list_run(&q->deeper[i], files, *n);
  }
  *out = files;
  return TARN_OK;
}

static tarn_status rewrite_all(tn_pass *p, const tn_rewrite_request *q, int32_t n_input,
                               tn_arena *arena, tn_rewrite_result *out, tarn_error *err) {
  int32_t number = 0;
  p->now_ms = q->now_ms;
  p->needs_values =
      q->writes_data || tn_changes_give_changelog(p->r, q) || p->r->spec.engine->fold != NULL;
  p->data_request = (tn_data_writer_request){.shape = p->r->shape,
                                             .partition = q->partition,
                                             .bucket = q->bucket,
                                             .level = q->output_level,
                                             .is_compaction = true,
                                             .rolls = true,
                                             .names = q->names};
  p->changelog_request = p->data_request;
  p->changelog_request.is_compaction = false;
  p->changelog_request.is_changelog = true;
  TN_TRY(tn_pass_read_keys(p, err));
  for (int32_t i = 0; i < q->n_sections; i++) {
    TN_TRY(tn_cancel_check(p->r->cancel, err));
    TN_TRY(rewrite_section(p, q, &q->sections[i], &number, n_input, err));
  }
  for (int32_t i = 0; i < n_input; i++) {
    out->n_rows_in += p->files[i].file->meta->row_count;
    out->n_bytes_in += p->files[i].file->meta->file_size;
  }
  return tn_pass_finish(p, arena, out, err);
}

tarn_status tn_rewrite(tn_rewriter *rewriter, const tn_rewrite_request *request, tn_arena *arena,
                       tn_rewrite_result *out, tarn_error *err) {
  const tn_rewrite_file **files = NULL;
  int32_t n = 0, n_input = 0;
  tn_pass pass;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  TN_TRY(list_files(rewriter, request, &files, &n_input, &n, err));
  st = tn_pass_begin(&pass, rewriter, request->partition, request->bucket, files, n, err);
  if (st == TARN_OK) {
    st = rewrite_all(&pass, request, n_input, arena, out, err);
  }
  tn_pass_end(&pass);
  tn_free(&rewriter->env->mem, files);
  if (st != TARN_OK) {
    memset(out, 0, sizeof(*out));
  }
  return st;
}
