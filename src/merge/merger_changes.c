/* merger_changes.c - merged rows key by key, with the row that was there before each of them.
 *
 * The plan is that of merger.c. Of a group of more than one row what matters is noted when it is
 * closed, while all its rows are known (stale ones leave it then); of a group of one row the same
 * is plain from the row. A range of the plan's groups becomes a step: the merged rows and the rows
 * before are gathered each once.
 *
 * Rule: org.apache.paimon.mergetree.compact.{LookupChangelogMergeFunctionWrapper,
 * FullChangelogMergeFunctionWrapper,FirstRowMergeFunctionWrapper,LookupMergeFunction}; spec:
 * changelog-producers, 4-5.
 */
#include <string.h>

#include "merge/merger_parts.h"

static const tn_merge_rows *source_of(const tn_merger *m, tn_row_ref row) {
  return m->source_rows[row.source];
}

/* ------------------------------------------------------------------ closing groups */

/* What the rows of a group are, by their places; -1: there is no such row. */
typedef struct findings {
  int64_t deeper; /* of the smallest level > 0 */
  int64_t top;    /* at the top level, the last one */
  bool has_second_top;
  bool is_fresh;
  int64_t n_looked_up;
} findings;

static findings look_at_rows(const tn_merger *m, const tn_row_ref *rows, int64_t n) {
  const int32_t top_level = m->changes->wanted.top_level;
  findings f = {.deeper = -1, .top = -1};
  int32_t smallest = INT32_MAX;
  for (int64_t i = 0; i < n; i++) {
    const tn_merge_rows *s = source_of(m, rows[i]);
    f.is_fresh |= s->level <= 0;
    f.n_looked_up += s->is_looked_up;
    if (s->level > 0 && (f.deeper < 0 || s->level < smallest)) {
      f.deeper = i;
      smallest = s->level;
    }
    if (s->level == top_level) {
      f.has_second_top |= f.top >= 0;
      f.top = i;
    }
  }
  return f;
}

/* M5; `deeper` is the one row of a level > 0 that stays. */
static int64_t keep_one_deeper(const tn_merger *m, tn_row_ref *rows, int64_t n, int64_t deeper) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == deeper || source_of(m, rows[i])->level <= 0) {
      rows[kept++] = rows[i];
    }
  }
  return kept;
}

static void keep_source(const tn_merger *m, tn_row_ref row) {
  source *s = m->sources[row.source];
  s->is_kept = s->rows.is_looked_up;
}

int64_t tn_merger_note_group(const tn_merger *m, int64_t g, tn_row_ref *rows, int64_t n) {
  merger_changes *c = m->changes;
  const tn_merge_before kind = c->wanted.before;
  const findings f = look_at_rows(m, rows, n);
  const int64_t before = kind == TN_BEFORE_DEEPER ? f.deeper : kind == TN_BEFORE_TOP ? f.top : -1;
  uint8_t flags = GROUP_IS_NOTED;
  if (f.n_looked_up == n) {
    return 0;
  }
  if (f.has_second_top && kind == TN_BEFORE_TOP && !c->has_second_top) {
    c->has_second_top = true;
    c->second_top = rows[f.top];
  }
  flags |= f.is_fresh ? GROUP_IS_FRESH : 0;
  c->before[g] = rows[before >= 0 ? before : 0];
  if (before >= 0) {
    flags |= GROUP_HAS_BEFORE;
    keep_source(m, rows[before]);
    /* Nothing changes where nothing is fresh (full compaction: where there is no other row). */
    if (c->wanted.gives_before_rows && (f.is_fresh || kind == TN_BEFORE_TOP)) {
      flags |= GROUP_GIVES_BEFORE;
      m->sources[rows[before].source]->is_used = true;
    }
  }
  c->flags[g] = flags;
  if (m->spec.needs_lookup || (c->is_first_row && kind == TN_BEFORE_DEEPER)) {
    n = keep_one_deeper(m, rows, n, f.deeper);
  }
  for (int64_t i = 0; i < n && f.n_looked_up > 0; i++) {
    keep_source(m, rows[i]);
  }
  return n;
}

/* ------------------------------------------------------------------ first-row */

/* A row that is there already stays the first one, whatever its sequence number. */
static void prefer_looked_up(const tn_merger *m, int64_t g, int64_t *pick) {
  tn_row_ref before = m->changes->before[g];
  const tn_merge_rows *s = source_of(m, before);
  if (!s->is_looked_up ||
      (s->kinds != NULL && tn_row_kind_is_retract((tn_row_kind)s->kinds[before.row]))) {
    return;
  }
  for (int64_t i = m->groups[g]; i < m->groups[g + 1]; i++) {
    if (m->rows[i].source == before.source && m->rows[i].row == before.row) {
      *pick = i;
    }
  }
}

void tn_merger_prefer_first(const tn_merger *m, int64_t begin, int64_t end, int64_t *picks) {
  const merger_changes *c = m->changes;
  if (!c->is_first_row || c->wanted.before != TN_BEFORE_DEEPER) {
    return;
  }
  for (int64_t g = begin; g < end; g++) {
    if ((c->flags[g] & GROUP_HAS_BEFORE) != 0) {
      prefer_looked_up(m, g, &picks[g - begin]);
    }
  }
}

/* ------------------------------------------------------------------ steps */

/* c->facts of all sources of the plan. */
static tarn_status list_facts(tn_merger *m, tarn_error *err) {
  merger_changes *c = m->changes;
  if (c->facts_capacity < m->n_sources) {
    tn_free(&m->env->mem, c->facts);
    c->facts_capacity = 0;
    c->facts = tn_calloc(&m->env->mem, m->sources_capacity, sizeof(*c->facts));
    if (c->facts == NULL) {
      return tn_oom(err);
    }
    c->facts_capacity = m->sources_capacity;
  }
  for (uint32_t i = 0; i < m->n_sources; i++) {
    const tn_merge_rows *s = m->source_rows[i];
    bool has_before = (c->wanted.before == TN_BEFORE_DEEPER && s->level > 0) ||
                      (c->wanted.before == TN_BEFORE_TOP && s->level == c->wanted.top_level);
    c->facts[i] = (source_facts){
        .first_position = s->keys.first_position,
        .file = s->file,
        .is_looked_up = s->is_looked_up,
        .flags =
            (uint8_t)((has_before ? GROUP_HAS_BEFORE : 0) | (s->level <= 0 ? GROUP_IS_FRESH : 0)),
    };
  }
  return TARN_OK;
}

/* Fill groups for the next n of the plan: rows of `after` are numbered, rows before collected.
 * Returns the number of picked rows. Which groups are of one row is random, so that no branch
 * depends on it. */
static int64_t fill_groups(const tn_merger *m, int64_t n, int64_t *n_given) {
  const merger_changes *c = m->changes;
  const source_facts *facts = c->facts;
  const tn_row_ref *rows = m->rows, *noted_before = c->before + c->given_groups;
  const uint32_t *borders = m->groups + c->given_groups;
  const uint8_t *noted_flags = c->flags + c->given_groups;
  const int64_t *picks = m->spec.engine->fold != NULL ? NULL : m->picks + c->given_groups;
  tn_merge_group *group = c->groups;
  tn_row_ref *given = c->given_before;
  int64_t n_after = 0, n_before = 0;
  for (int64_t i = 0; i < n; i++, group++) {
    const tn_row_ref both[2] = {rows[borders[i]], noted_before[i]};
    const bool is_noted = noted_flags[i] != 0;
    const tn_row_ref before = both[is_noted];
    const source_facts *f = &facts[before.source];
    const uint8_t both_flags[2] = {f->flags, noted_flags[i]};
    const uint8_t flags = both_flags[is_noted];
    const bool is_given = (flags & GROUP_GIVES_BEFORE) != 0;
    const bool has_after = picks == NULL || picks[i] >= 0;
    group->after = has_after ? (int32_t)n_after : -1;
    n_after += has_after;
    group->before = (int32_t)((n_before + 1) * is_given) - 1;
    given[n_before] = before;
    n_before += is_given;
    group->has_before = (flags & GROUP_HAS_BEFORE) != 0;
    group->is_fresh = (flags & GROUP_IS_FRESH) != 0;
    group->is_single = !is_noted;
    group->after_is_looked_up =
        picks != NULL && has_after && facts[rows[picks[i]].source].is_looked_up;
    group->before_is_looked_up = group->has_before & f->is_looked_up;
    group->before_file = f->file;
    group->before_position = f->first_position + before.row;
  }
  *n_given = n_before;
  return picks == NULL ? 0 : n_after;
}

/* Do the strings and lists of these rows stay below max_bytes? */
static bool fit(tn_merger *m, const tn_row_ref *refs, int64_t n) {
  for (int32_t c = 0; c < m->spec.n_out_columns && n > 0; c++) {
    if (tn_merger_has_variable_size(tn_type_layout(&m->spec.out_fields[c].type))) {
      tn_merger_column_of_sources(m, m->spec.out_columns[c]);
      if (tn_vec_gather_bytes(m->vecs, refs, n) > (int64_t)m->max_bytes) {
        return false;
      }
    }
  }
  return true;
}

/* As many of the next groups as keep a step's batches small; they are filled in. Not counted while
 * the batches before were far from large. */
static int64_t groups_that_fit(tn_merger *m, int64_t *n_picked, int64_t *n_before) {
  const merger_changes *c = m->changes;
  const uint32_t *groups = m->groups + c->given_groups;
  int64_t n = m->n_groups - c->given_groups;
  *n_picked = fill_groups(m, n, n_before);
  if (m->has_row_bytes && m->row_bytes < (int64_t)m->max_bytes / (8 * n)) {
    return n;
  }
  for (;;) {
    const tn_row_ref *rows = m->picked + m->picked_at;
    int64_t n_rows = *n_picked;
    if (m->spec.engine->fold != NULL) {
      rows = m->rows + groups[0];
      n_rows = groups[n] - groups[0];
    }
    if (n == 1 || (fit(m, rows, n_rows) && fit(m, c->given_before, *n_before))) {
      return n;
    }
    n = (n + 1) / 2;
    *n_picked = fill_groups(m, n, n_before);
  }
}

/* Rows of `refs`; of none an empty batch of the same columns. */
static tarn_status gather(tn_merger *m, const tn_row_ref *refs, int64_t n, tn_batch *out,
                          tn_buffer **kinds, tn_buffer **sequences, tarn_error *err) {
  if (n == 0) {
    return tn_batch_init(m->env, m->spec.out_fields, m->spec.n_out_columns, out, err);
  }
  return tn_merger_gather_rows(m, refs, n, out, kinds, sequences, err);
}

/* Remember the widest rows of a step. */
static void note_row_bytes(tn_merger *m, const tn_merge_step *step) {
  const tn_batch *batches[2] = {&step->after, &step->before};
  int64_t widest = 0;
  bool is_known = true, is_noted = false;
  for (int i = 0; i < 2; i++) {
    if (batches[i]->n_rows > 0) {
      tn_merger_note_row_bytes(m, batches[i]);
      widest = m->row_bytes > widest ? m->row_bytes : widest;
      is_known &= m->has_row_bytes;
      is_noted = true;
    }
  }
  if (is_noted) {
    m->row_bytes = widest;
    m->has_row_bytes = is_known;
  }
}

/* The next n groups, which are filled in. */
static tarn_status give_groups(tn_merger *m, int64_t n, int64_t n_picked, int64_t n_before,
                               tn_merge_step *out, tarn_error *err) {
  merger_changes *c = m->changes;
  tarn_status st = TARN_OK;
  if (m->spec.engine->fold != NULL) {
    m->folded_groups = c->given_groups;
    TN_TRY_TO(fail, tn_merger_fold_groups(m, n, &out->after, &out->after_kinds,
                                          &out->after_sequences, err));
  } else {
    TN_TRY_TO(fail, gather(m, m->picked + m->picked_at, n_picked, &out->after, &out->after_kinds,
                           &out->after_sequences, err));
  }
  if (c->wanted.gives_before_rows) {
    TN_TRY_TO(fail, gather(m, c->given_before, n_before, &out->before, &out->before_kinds,
                           &out->before_sequences, err));
  }
  note_row_bytes(m, out);
  m->picked_at += n_picked;
  c->given_groups += n;
  out->n_groups = n;
  out->groups = c->groups;
  return TARN_OK;
fail:
  tn_merge_step_reset(m->env, out);
  return st;
}

static tarn_status next_plan(tn_merger *m, tarn_error *err) {
  merger_changes *c = m->changes;
  TN_TRY(tn_merger_plan(m, err));
  c->given_groups = 0;
  if (c->has_second_top) {
    const char *path = source_of(m, c->second_top)->path;
    return tn_fail(
        err, TARN_E_CORRUPT, "%s: row %lld has a key that another file of level %d has, too",
        path != NULL ? path : "merge input",
        (long long)(source_of(m, c->second_top)->keys.first_position + c->second_top.row),
        (int)c->wanted.top_level);
  }
  return TARN_OK;
}

tarn_status tn_merger_step(tn_merger *m, tn_merge_step *out, tarn_error *err) {
  merger_changes *c = m->changes;
  int64_t n, n_picked, n_before;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (c == NULL) {
    return TN_BUG(err, "steps of a merger that gives none");
  }
  TN_TRY(tn_cancel_check(m->spec.cancel, err));
  while (c->given_groups == m->n_groups) {
    if (m->is_ended) {
      return TARN_OK;
    }
    TN_TRY(next_plan(m, err));
  }
  TN_TRY(list_facts(m, err));
  n = groups_that_fit(m, &n_picked, &n_before);
  while ((st = give_groups(m, n, n_picked, n_before, out, err)) == TARN_E_LIMIT && n > 1) {
    n = (n + 1) / 2; /* nested columns, or a short budget: fewer rows may do */
    n_picked = fill_groups(m, n, &n_before);
  }
  TN_TRY(st);
  tn_error_reset(err);
  return TARN_OK;
}

void tn_merge_step_reset(tarn_env *env, tn_merge_step *step) {
  tn_batch_reset(env, &step->after);
  tn_batch_reset(env, &step->before);
  tn_buffer_release(step->after_kinds);
  tn_buffer_release(step->after_sequences);
  tn_buffer_release(step->before_kinds);
  tn_buffer_release(step->before_sequences);
  memset(step, 0, sizeof(*step));
}

/* ------------------------------------------------------------------ life */

void tn_merger_changes_free(tn_merger *m) {
  merger_changes *c = m->changes;
  if (c != NULL) {
    tn_free(&m->env->mem, c->flags);
    tn_free(&m->env->mem, c->before);
    tn_free(&m->env->mem, c->groups);
    tn_free(&m->env->mem, c->given_before);
    tn_free(&m->env->mem, c->facts);
    tn_free(&m->env->mem, c);
  }
}

tarn_status tn_merger_create_changes(tarn_env *env, const tn_merge_spec *spec,
                                     const tn_merge_changes *changes, tn_merge_input **inputs,
                                     int32_t n_inputs, tn_merger **out, tarn_error *err) {
  tn_merge_spec all = *spec;
  size_t rows = (size_t)spec->batch_rows;
  tn_mem *mem = &env->mem;
  merger_changes *c;
  tn_merger *m;
  tarn_status st = TARN_OK;
  all.keeps_deletes = true;
  TN_TRY(tn_merger_create(env, &all, inputs, n_inputs, out, err));
  m = *out;
  c = m->changes = tn_calloc(mem, 1, sizeof(*c));
  if (c != NULL) {
    c->wanted = *changes;
    c->is_first_row = spec->engine == &tn_engine_first_row;
    c->flags = tn_calloc(mem, rows, sizeof(*c->flags));
    c->before = tn_calloc(mem, rows, sizeof(*c->before));
    c->groups = tn_calloc(mem, rows, sizeof(*c->groups));
    c->given_before = tn_calloc(mem, rows, sizeof(*c->given_before));
  }
  if (c == NULL || c->flags == NULL || c->before == NULL || c->groups == NULL ||
      c->given_before == NULL) {
    st = tn_oom(err);
  } else if (spec->filter != NULL) {
    st = TN_BUG(err, "changes of rows that are filtered");
  }
  if (st != TARN_OK) {
    tn_merger_free(m);
    *out = NULL;
  }
  return st;
}
