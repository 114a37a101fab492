/* changes.c - what becomes of merged groups: rows of data files, changelog rows, marks.
 *
 *   before          after     changelog
 *   none, retracts  adds      +I after
 *   none, retracts  retracts  nothing
 *   adds            retracts  -D before
 *   adds            adds      -U before, +U after; nothing if row-deduplicate finds them equal
 *
 * LOOKUP tells of groups that have a row of level 0; FULL of all, but a lone row tells only that it
 * is new. first-row tells of keys that are new, and leaves rows out whose key a deeper file has.
 *
 * Rule: org.apache.paimon.mergetree.compact.{LookupChangelogMergeFunctionWrapper,
 * FullChangelogMergeFunctionWrapper,FirstRowMergeFunctionWrapper}; spec: changelog-producers, 4-6;
 * merge-engines, 4.
 */
#include "base/bytes.h"
#include "column/equal.h"
#include "compact/rewriter.h"

#define BEFORE 0
#define AFTER 1

/* One step under way. */
typedef struct changing {
  tn_pass *p;
  const tn_rewrite_request *q;
  const tn_merge_step *step;
  const int8_t *before_kinds, *after_kinds;
  const int64_t *before_sequences, *after_sequences;
  bool has_changelog;
  tn_row_ref *refs; /* changelog rows */
  int8_t *kinds;
  int64_t *sequences;
  int64_t n;
  uint32_t *kept; /* rows of `after` that are written */
  int64_t n_kept;
} changing;

bool tn_changes_give_changelog(const tn_rewriter *r, const tn_rewrite_request *q) {
  return q->mode == TN_REWRITE_FULL || (q->mode == TN_REWRITE_LOOKUP && r->gives_changelog);
}

/* ------------------------------------------------------------------ changelog rows */

static void add_row(changing *c, uint32_t source, int32_t row, tn_row_kind kind) {
  c->refs[c->n] = (tn_row_ref){source, (uint32_t)row};
  c->kinds[c->n] = (int8_t)kind;
  c->sequences[c->n++] = source == BEFORE ? c->before_sequences[row] : c->after_sequences[row];
}

static tarn_status is_unchanged(const changing *c, const tn_merge_group *g, bool *out,
                                tarn_error *err) {
  tn_rewriter *r = c->p->r;
  *out = r->options->row_deduplicate;
  for (int32_t i = 0; i < c->step->after.n_columns && *out; i++) {
    if (r->compared[i]) {
      TN_TRY(tn_vec_rows_equal(&r->env->mem, &c->step->before.columns[i], g->before,
                               &c->step->after.columns[i], g->after, out, err));
    }
  }
  return TARN_OK;
}

static tarn_status add_change(changing *c, const tn_merge_group *g, tarn_error *err) {
  bool had = g->before >= 0 && !tn_row_kind_is_retract(c->before_kinds[g->before]);
  bool has = g->after >= 0 && !tn_row_kind_is_retract(c->after_kinds[g->after]);
  bool is_same;
  if (!had) {
    if (has) {
      add_row(c, AFTER, g->after, TN_ROW_INSERT);
    }
    return TARN_OK;
  }
  if (!has) {
    add_row(c, BEFORE, g->before, TN_ROW_DELETE);
    return TARN_OK;
  }
  TN_TRY(is_unchanged(c, g, &is_same, err));
  if (!is_same) {
    add_row(c, BEFORE, g->before, TN_ROW_UPDATE_BEFORE);
    add_row(c, AFTER, g->after, TN_ROW_UPDATE_AFTER);
  }
  return TARN_OK;
}

static tarn_status gather(const changing *c, tn_batch *out, tarn_error *err) {
  tarn_env *env = c->p->r->env;
  const tn_merge_step *step = c->step;
  for (int32_t i = 0; i < out->n_columns; i++) {
    const tn_vec *after = &step->after.columns[i];
    const tn_vec *sources[2] = {step->before.n_rows > 0 ? &step->before.columns[i] : after, after};
    TN_TRY(
        tn_vec_gather(env, &out->fields[i].type, sources, 2, c->refs, c->n, &out->columns[i], err));
  }
  out->n_rows = c->n;
  return TARN_OK;
}

static tarn_status copy_array(tarn_env *env, const void *from, size_t n_bytes, tn_buffer **out,
                              tarn_error *err) {
  TN_TRY(tn_buffer_create(env, n_bytes, out, err));
  memcpy((*out)->data, from, n_bytes);
  return TARN_OK;
}

static tarn_status write_changelog(changing *c, tarn_error *err) {
  tn_rewriter *r = c->p->r;
  tarn_env *env = r->env;
  tn_buffer *sequences = NULL, *kinds = NULL;
  tn_batch batch;
  tarn_status st;
  if (c->n == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_batch_init(env, r->spec.out_fields, r->spec.n_out_columns, &batch, err));
  TN_TRY_TO(done, gather(c, &batch, err));
  TN_TRY_TO(done, copy_array(env, c->sequences, (size_t)c->n * sizeof(int64_t), &sequences, err));
  TN_TRY_TO(done, copy_array(env, c->kinds, (size_t)c->n, &kinds, err));
  st = tn_pass_write(c->p, true, &batch, &sequences, &kinds, err);
done:
  tn_buffer_release(sequences);
  tn_buffer_release(kinds);
  tn_batch_reset(env, &batch);
  return st;
}

/* ------------------------------------------------------------------ groups */

static void keep(changing *c, const tn_merge_group *g) {
  if (c->q->writes_data && g->after >= 0 &&
      !(c->q->drops_deletes && tn_row_kind_is_retract(c->after_kinds[g->after]))) {
    c->kept[c->n_kept++] = (uint32_t)g->after;
  }
}

static tarn_status look_at_first_row(changing *c, const tn_merge_group *g, tarn_error *err) {
  (void)err;
  if (g->after < 0 || g->after_is_looked_up || (g->has_before && g->before_is_looked_up)) {
    return TARN_OK;
  }
  keep(c, g);
  if (!g->has_before && c->has_changelog) {
    add_row(c, AFTER, g->after, TN_ROW_INSERT);
  }
  return TARN_OK;
}

static tarn_status look_at_lookup(changing *c, const tn_merge_group *g, tarn_error *err) {
  const tn_rewrite_marks *marks = &c->q->marks;
  if (g->is_fresh && g->has_before && g->before_is_looked_up && marks->mark != NULL) {
    TN_TRY(marks->mark(marks->ctx, c->p->files[g->before_file].file, g->before_position, err));
  }
  keep(c, g);
  return g->is_fresh && c->has_changelog ? add_change(c, g, err) : TARN_OK;
}

static tarn_status look_at_full(changing *c, const tn_merge_group *g, tarn_error *err) {
  keep(c, g);
  return g->is_single && g->has_before ? TARN_OK : add_change(c, g, err);
}

static tarn_status look_at_groups(changing *c, tarn_error *err) {
  tarn_status (*look)(changing *, const tn_merge_group *, tarn_error *) =
      c->q->mode == TN_REWRITE_FULL ? look_at_full
      : c->p->r->is_first_row       ? look_at_first_row
                                    : look_at_lookup;
  for (int64_t i = 0; i < c->step->n_groups; i++) {
    TN_TRY(look(c, &c->step->groups[i], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ data rows */

static tarn_status take_kept(const changing *c, tn_batch *batch, tn_buffer **sequences,
                             tn_buffer **kinds, tarn_error *err) {
  tarn_env *env = c->p->r->env;
  size_t n = (size_t)c->n_kept;
  int64_t *numbers;
  for (int32_t i = 0; i < batch->n_columns; i++) {
    TN_TRY(
        tn_vec_take(env, &c->step->after.columns[i], c->kept, c->n_kept, &batch->columns[i], err));
  }
  batch->n_rows = c->n_kept;
  TN_TRY(tn_buffer_create(env, n * sizeof(int64_t), sequences, err));
  TN_TRY(tn_buffer_create(env, n, kinds, err));
  numbers = (int64_t *)(void *)(*sequences)->data;
  for (size_t i = 0; i < n; i++) {
    numbers[i] = c->after_sequences[c->kept[i]];
    ((int8_t *)(*kinds)->data)[i] = c->after_kinds[c->kept[i]];
  }
  return TARN_OK;
}

/* All rows that are kept; the step's are taken where they are the same. */
static tarn_status write_kept(changing *c, tn_merge_step *step, tarn_error *err) {
  tn_rewriter *r = c->p->r;
  tn_buffer *sequences = NULL, *kinds = NULL;
  tn_batch batch;
  tarn_status st;
  if (c->n_kept == 0) {
    return TARN_OK;
  }
  if (c->n_kept == step->after.n_rows) {
    return tn_pass_write(c->p, false, &step->after, &step->after_sequences, &step->after_kinds,
                         err);
  }
  TN_TRY(tn_batch_init(r->env, r->spec.out_fields, r->spec.n_out_columns, &batch, err));
  st = take_kept(c, &batch, &sequences, &kinds, err);
  if (st == TARN_OK) {
    st = tn_pass_write(c->p, false, &batch, &sequences, &kinds, err);
  }
  tn_buffer_release(sequences);
  tn_buffer_release(kinds);
  tn_batch_reset(r->env, &batch);
  return st;
}

static const void *data_of(const tn_buffer *buffer) {
  return buffer != NULL ? buffer->data : NULL;
}

tarn_status tn_changes_write(tn_pass *p, const tn_rewrite_request *q, tn_merge_step *step,
                             tarn_error *err) {
  tn_mem *mem = &p->r->env->mem;
  size_t n = (size_t)step->n_groups;
  changing c = {.p = p,
                .q = q,
                .step = step,
                .before_kinds = data_of(step->before_kinds),
                .after_kinds = data_of(step->after_kinds),
                .before_sequences = data_of(step->before_sequences),
                .after_sequences = data_of(step->after_sequences),
                .has_changelog = tn_changes_give_changelog(p->r, q)};
  tarn_status st;
  c.refs = tn_alloc(mem, 2 * n * sizeof(*c.refs) + 1);
  c.kinds = tn_alloc(mem, 2 * n + 1);
  c.sequences = tn_alloc(mem, 2 * n * sizeof(*c.sequences) + 1);
  c.kept = tn_alloc(mem, n * sizeof(*c.kept) + 1);
  if (c.refs == NULL || c.kinds == NULL || c.sequences == NULL || c.kept == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, look_at_groups(&c, err));
  TN_TRY_TO(done, write_changelog(&c, err));
  st = write_kept(&c, step, err);
done:
  tn_free(mem, c.refs);
  tn_free(mem, c.kinds);
  tn_free(mem, c.sequences);
  tn_free(mem, c.kept);
  return st;
}
