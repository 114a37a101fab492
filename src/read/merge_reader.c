/* merge_reader.c - splits that are merged: section after section, run against run.
 *
 * Columns of the key part, read first: the key (from the value columns of its name), user sequence
 * fields, what the filter tests (of folding engines it tests what is known late), and where they
 * are needed _SEQUENCE_NUMBER and _VALUE_KIND. Every other column comes late. Parts of the
 * predicate that use the key alone are tested on the rows of every run: either all rows of a key
 * pass or none. The rest is tested on merged rows.
 *
 * partial-update also reads the sequence columns of every group that it reads members of, and of
 * groups that can remove the record: what is there must not depend on the columns asked for.
 *
 * A column _SEQUENCE_NUMBER that is asked for is one more late column, but of folding engines,
 * whose merger tells the number of what it has put together.
 *
 * Not needed: sequence numbers where the files of different runs have disjoint ranges of them; row
 * kinds of files without retractions, unless somebody wants to see them.
 */
#include <string.h>

#include "base/bytes.h"
#include "read/sections.h"
#include "read/split_reader.h"

#define FEW_RUNS 16
#define LEAST_INPUT_ROWS 1024
/* A file begins with batches of few rows: what its rows take is not known before some are read, and
 * all values of a batch must be held at once. */
#define FIRST_INPUT_ROWS 256

typedef struct merge_reader merge_reader;

/* One sorted run: its files one after the other. */
typedef struct run_input {
  tn_merge_input input;
  merge_reader *m;
  const tn_sorted_run *run;
  int32_t next_file; /* to be opened, in the run */
  const tn_data_file *meta;
  tn_open_file file;
  const char *path; /* of the open file; lives as long as the section */
  int32_t rank;
  bool has_sequence, has_kinds; /* the open file's columns */
  int64_t max_rows;             /* of the open file's batches */
  int64_t most_rows;            /* that max_rows may grow to */
} run_input;

struct merge_reader {
  tn_split_reader reader;
  const tn_read_context *c;
  const tn_split *split;
  tn_arena arena;
  tn_section *sections;
  int32_t n_sections, next_section;
  int32_t *ranks;
  tn_arena scratch; /* of the section */

  /* key_fields is followed by _SEQUENCE_NUMBER and _VALUE_KIND, as a shape wants them. */
  tn_field *key_fields[2][2];
  int32_t n_key_fields, n_sequence_fields;
  tn_data_shape *shapes[2][2]; /* with sequence numbers? with kinds? made when needed */
  tn_field *value_fields, *filter_fields, *merged_fields;
  int32_t n_value_fields, n_filter_fields, n_merged_fields;
  int32_t sequence_at; /* of merged fields, the merger's numbers go in front of it; -1: nowhere */
  int32_t *out_columns, *filter_columns;
  tn_merge_spec spec;

  bool needs_sequence;   /* in the section that is being read */
  int64_t key_bytes;     /* for batches of one run, of this section */
  tn_split_reader *list; /* the section of one run that is being read */
  tn_merger *merger;     /* or the section of several runs */
  int32_t n_runs;        /* of it */
};

static const tn_field sequence_field = {
    .id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}};

/* ------------------------------------------------------------------ a run as an input */

static tarn_status shape_for(merge_reader *m, bool has_sequence, bool has_kinds,
                             tn_data_shape **out, tarn_error *err) {
  tn_data_shape **shape = &m->shapes[has_sequence][has_kinds];
  if (*shape == NULL) {
    TN_TRY(tn_data_shape_create(m->c->o.table, m->key_fields[has_sequence][has_kinds],
                                m->n_key_fields + has_sequence + has_kinds, m->value_fields,
                                m->n_value_fields, true, shape, err));
  }
  *out = *shape;
  return TARN_OK;
}

static tarn_status open_next_file(run_input *in, tarn_error *err) {
  merge_reader *m = in->m;
  int32_t index = in->run->files[in->next_file++];
  tn_open_request q = {
      .context = m->c, .split = m->split, .index = index, .pushed = m->c->key_filter};
  in->meta = &m->split->files[index];
  in->rank = m->ranks[index];
  in->has_sequence = m->needs_sequence;
  in->has_kinds = tn_file_needs_kinds(m->c, in->meta);
  TN_TRY(shape_for(m, in->has_sequence, in->has_kinds, &q.shape, err));
  in->most_rows = tn_file_batch_rows(m->c, in->meta, m->spec.input_rows, m->key_bytes);
  in->max_rows = in->most_rows < FIRST_INPUT_ROWS ? in->most_rows : FIRST_INPUT_ROWS;
  q.batch_rows = in->most_rows;
  TN_TRY(tn_open_file_open(&q, &in->file, err));
  in->path = tn_arena_strdup(&m->scratch, in->file.path);
  return in->path != NULL ? TARN_OK : tn_oom(err);
}

/* Take a flat system column out of the key batch: its values and the reference to them. */
static tarn_status take_system_column(run_input *in, tn_merge_rows *rows, int32_t at,
                                      tn_buffer **buffer, tarn_error *err) {
  tarn_env *env = in->m->c->env;
  tn_vec *vec = &rows->keys.columns[at];
  TN_TRY(tn_vec_flatten(env, vec, err));
  if (vec->null_count > 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: column %s is missing or holds nulls", in->path,
                   rows->keys.fields[at].name);
  }
  *buffer = tn_buffer_retain(vec->values_buffer);
  tn_vec_reset(env, vec);
  return TARN_OK;
}

static tarn_status take_system_columns(run_input *in, tn_merge_rows *rows, tarn_error *err) {
  int32_t at = in->m->n_key_fields;
  if (in->has_sequence) {
    TN_TRY(take_system_column(in, rows, at++, &rows->sequences_buffer, err));
    rows->sequences = (int64_t *)(void *)rows->sequences_buffer->data;
  }
  if (in->has_kinds) {
    TN_TRY(tn_vec_flatten(in->m->c->env, &rows->keys.columns[at], err));
    TN_TRY(tn_check_kinds(&rows->keys.columns[at], in->path, err));
    TN_TRY(take_system_column(in, rows, at++, &rows->kinds_buffer, err));
    rows->kinds = (int8_t *)(void *)rows->kinds_buffer->data;
  }
  rows->keys.n_columns = in->m->n_key_fields;
  return TARN_OK;
}

/* Deletions and the key filter as a bitmap of rows. */
static tarn_status take_alive(run_input *in, const uint8_t *alive, tn_merge_rows *rows,
                              tarn_error *err) {
  const tn_read_context *c = in->m->c;
  size_t n_bytes = TN_BITMAP_BYTES(rows->keys.n_rows);
  if (alive == NULL && c->key_filter == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(c->env, n_bytes + 8, &rows->alive_buffer, err));
  rows->alive = rows->alive_buffer->data;
  if (alive != NULL) {
    memcpy(rows->alive, alive, n_bytes);
  } else {
    memset(rows->alive, 0xff, n_bytes);
  }
  return c->key_filter != NULL
             ? tn_pred_filter(c->env, c->key_filter, &rows->keys, rows->alive, err)
             : TARN_OK;
}

static tarn_status run_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                            tarn_error *err) {
  run_input *in = TN_CONTAINER_OF(input, run_input, input);
  const uint8_t *alive;
  for (;;) {
    if (in->file.reader == NULL) {
      if (in->next_file == in->run->n_files) {
        return TARN_OK;
      }
      TN_TRY(open_next_file(in, err));
    }
    TN_TRY(tn_data_reader_next(in->file.reader, max_rows < in->max_rows ? max_rows : in->max_rows,
                               &out->keys, &alive, err));
    if (out->keys.n_rows > 0) {
      break;
    }
    tn_open_file_close(&in->file);
  }
  in->max_rows = in->max_rows * 2 < in->most_rows ? in->max_rows * 2 : in->most_rows;
  TN_TRY(take_system_columns(in, out, err));
  TN_TRY(take_alive(in, alive, out, err));
  out->sequence = in->meta->min_sequence;
  out->level = in->meta->level;
  out->rank = in->rank;
  out->path = in->path;
  return TARN_OK;
}

static tarn_status run_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  run_input *in = TN_CONTAINER_OF(input, run_input, input);
  TN_TRY(tn_data_reader_rest(in->file.reader, out, err));
  if (out->n_rows <= FIRST_INPUT_ROWS && out->n_rows > 0) {
    int64_t rows = in->m->key_bytes / (tn_batch_bytes(out) / out->n_rows + 1);
    rows = rows < TN_LEAST_ROWS ? TN_LEAST_ROWS : rows;
    in->most_rows = rows < in->most_rows ? rows : in->most_rows;
    in->max_rows = in->max_rows < in->most_rows ? in->max_rows : in->most_rows;
  }
  return TARN_OK;
}

static void run_free(tn_merge_input *input) {
  run_input *in = TN_CONTAINER_OF(input, run_input, input);
  tn_open_file_close(&in->file);
  tn_free(&in->m->c->env->mem, in);
}

static const tn_merge_input_ops run_ops = {run_next, run_values, run_free};

/* ------------------------------------------------------------------ columns */

/* The place of a column for the merger: in the key part, else in the value part. */
static int32_t place_column(merge_reader *m, const tn_field *field) {
  int32_t n = m->n_key_fields; /* key_fields has room for one more */
  int32_t at = tn_fields_add(m->key_fields[0][0], &n, field);
  if (n == m->n_key_fields) {
    return at;
  }
  return -1 - tn_fields_add(m->value_fields, &m->n_value_fields, field);
}

static tarn_status lay_out_keys(merge_reader *m, tarn_error *err) {
  const tn_table *table = m->c->o.table;
  const tn_schema *schema = table->schema;
  const tn_table_facts *facts = &table->facts;
  size_t n_max = (size_t)schema->n_key_columns + (size_t)facts->n_sequence_columns +
                 (size_t)schema->n_fields + 3;
  for (int32_t i = 0; i < 4; i++) {
    tn_field *fields = tn_arena_calloc(&m->arena, n_max, sizeof(*fields));
    int32_t n = 0;
    if (fields == NULL) {
      return tn_oom(err);
    }
    for (int32_t k = 0; k < schema->n_key_columns; k++) {
      fields[n++] = schema->fields[schema->key_columns[k]];
    }
    /* A sequence field that is a key column is equal within a group. */
    for (int32_t k = 0; k < facts->n_sequence_columns; k++) {
      tn_fields_add(fields, &n, &schema->fields[facts->sequence_columns[k]]);
    }
    m->n_sequence_fields = n - schema->n_key_columns;
    if (m->c->engine->fold == NULL) {
      tn_fields_add_tested(m->c, m->c->value_filter, fields, &n);
    }
    m->n_key_fields = n;
    m->key_fields[i / 2][i % 2] = fields;
    if (i / 2 == 1) {
      fields[n++] = sequence_field;
    }
    if (i % 2 == 1) {
      fields[n] = tn_kind_field;
    }
  }
  for (int32_t i = 0; i < schema->n_key_columns + m->n_sequence_fields; i++) {
    if (!tn_key_has_order(&m->key_fields[0][0][i].type)) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "column '%s' of %s: a key or sequence field of a nested type",
                     m->key_fields[0][0][i].name, table->full_name);
    }
  }
  return TARN_OK;
}

/* What a folding engine reads beside the columns asked for, and how it treats all of them. */
static tarn_status lay_out_fold(merge_reader *m, tarn_error *err) {
  const tn_table *table = m->c->o.table;
  const tn_schema *schema = table->schema;
  bool *wanted = tn_arena_calloc(&m->arena, (size_t)schema->n_fields + 1, sizeof(*wanted));
  tn_fold_layout *layout;
  if (wanted == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < m->n_key_fields + m->n_value_fields; i++) {
    const tn_field *field =
        i < m->n_key_fields ? &m->key_fields[0][0][i] : &m->value_fields[i - m->n_key_fields];
    int32_t column = tn_fields_find_id(schema->fields, schema->n_fields, field->id);
    if (column >= 0) {
      wanted[column] = true;
    }
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (!wanted[i] && tn_merge_options_needs(table->facts.merge, wanted, i)) {
      place_column(m, &schema->fields[i]);
    }
  }
  TN_TRY(tn_fold_layout_make(&m->arena, m->c->engine, table->facts.merge, schema,
                             m->key_fields[0][0], schema->n_key_columns, m->n_key_fields,
                             m->value_fields, m->n_value_fields, &layout, err));
  m->spec.layout = layout;
  m->spec.n_value_fields = m->n_value_fields;
  return TARN_OK;
}

static tarn_status lay_out_columns(merge_reader *m, tarn_error *err) {
  const tn_read_context *c = m->c;
  const tn_schema *schema = c->o.table->schema;
  size_t n_out = (size_t)c->o.n_fields + 1, n_all = n_out + (size_t)schema->n_fields;
  TN_TRY(lay_out_keys(m, err));
  m->value_fields = tn_arena_calloc(&m->arena, n_all, sizeof(*m->value_fields));
  m->filter_fields =
      tn_arena_calloc(&m->arena, (size_t)schema->n_fields + 1, sizeof(*m->filter_fields));
  m->merged_fields = tn_arena_calloc(&m->arena, n_out, sizeof(*m->merged_fields));
  m->out_columns = tn_arena_calloc(&m->arena, n_out, sizeof(*m->out_columns));
  m->filter_columns =
      tn_arena_calloc(&m->arena, (size_t)schema->n_fields + 1, sizeof(*m->filter_columns));
  if (m->value_fields == NULL || m->filter_fields == NULL || m->merged_fields == NULL ||
      m->out_columns == NULL || m->filter_columns == NULL) {
    return tn_oom(err);
  }
  m->sequence_at = -1;
  for (int32_t i = 0; i < c->o.n_fields; i++) {
    if (c->o.fields[i].id == TN_FIELD_ID_SEQUENCE_NUMBER && c->engine->fold != NULL) {
      m->sequence_at = i;
    } else {
      m->out_columns[m->n_merged_fields] = place_column(m, &c->o.fields[i]);
      m->merged_fields[m->n_merged_fields++] = c->o.fields[i];
    }
  }
  tn_fields_add_tested(c, c->value_filter, m->filter_fields, &m->n_filter_fields);
  for (int32_t i = 0; i < m->n_filter_fields; i++) {
    m->filter_columns[i] = place_column(m, &m->filter_fields[i]);
  }
  m->spec = (tn_merge_spec){
      .key_fields = m->key_fields[0][0],
      .n_keys = schema->n_key_columns,
      .n_sequence_fields = m->n_sequence_fields,
      .n_key_fields = m->n_key_fields,
      .sequence_descending = c->o.table->facts.sequence_descending,
      .value_fields = m->value_fields,
      .n_value_fields = m->n_value_fields,
      /* Batches outlive the reader: those that are given as they are have the context's fields. */
      .out_fields = m->sequence_at >= 0 ? m->merged_fields : c->o.fields,
      .out_columns = m->out_columns,
      .n_out_columns = m->n_merged_fields,
      .filter = c->value_filter,
      .filter_fields = m->filter_fields,
      .filter_columns = m->filter_columns,
      .n_filter_columns = m->n_filter_fields,
      .engine = c->engine,
      .ignore_delete = c->o.table->facts.ignore_delete,
      /* first-row is not wrapped (spec: merge-engines, 1). */
      .needs_lookup = c->o.table->facts.needs_lookup && c->engine != &tn_engine_first_row,
      .keeps_deletes = c->o.keeps_deletes,
      .batch_rows = c->batch_rows,
      .input_rows = c->batch_rows,
      .cancel = c->o.cancel,
  };
  return c->engine->fold != NULL ? lay_out_fold(m, err) : TARN_OK;
}

/* ------------------------------------------------------------------ sections */

static void close_section(merge_reader *m) {
  tn_split_reader_free(m->list);
  tn_merger_free(m->merger);
  m->list = NULL;
  m->merger = NULL;
  tn_arena_reset(&m->scratch);
}

static tarn_status open_merged_section(merge_reader *m, const tn_section *section,
                                       tarn_error *err) {
  tn_mem *mem = &m->c->env->mem;
  int32_t n = 0;
  tarn_status st = TARN_OK;
  tn_merge_input **inputs = tn_calloc(mem, (size_t)section->n_runs, sizeof(*inputs));
  if (inputs == NULL) {
    return tn_oom(err);
  }
  m->n_runs = section->n_runs;
  m->spec.common_start = tn_section_common_start(m->c->o.table->schema, section);
  TN_TRY_TO(done,
            tn_section_sequences_overlap(&m->scratch, m->split, section, &m->needs_sequence, err));
  m->needs_sequence = m->needs_sequence || m->sequence_at >= 0;
  /* Of each run about two batches are held; all of them may take a quarter of the budget. Of many
   * runs an output batch takes few rows each, so that large batches only cost memory. */
  m->key_bytes = (int64_t)(mem->budget_bytes / 8) / section->n_runs;
  m->spec.input_rows = m->c->batch_rows;
  if (section->n_runs > FEW_RUNS) {
    int64_t rows = TN_READ_BATCH_ROWS * FEW_RUNS / section->n_runs;
    rows = rows < LEAST_INPUT_ROWS ? LEAST_INPUT_ROWS : rows;
    m->spec.input_rows = rows < m->c->batch_rows ? rows : m->c->batch_rows;
  }
  for (n = 0; n < section->n_runs; n++) {
    run_input *in = tn_calloc(mem, 1, sizeof(*in));
    if (in == NULL) {
      st = tn_oom(err);
      goto done;
    }
    in->input.ops = &run_ops;
    in->m = m;
    in->run = &section->runs[n];
    inputs[n] = &in->input;
  }
  st = tn_merger_create(m->c->env, &m->spec, inputs, n, &m->merger, err);
  n = 0; /* they are the merger's, or gone */
done:
  for (int32_t i = 0; i < n; i++) {
    run_free(inputs[i]);
  }
  tn_free(mem, inputs);
  return st;
}

static tarn_status open_section(merge_reader *m, tarn_error *err) {
  const tn_section *section = &m->sections[m->next_section++];
  if (section->n_runs == 1) {
    tn_file_list list = {
        .split = m->split,
        .files = section->runs[0].files,
        .n_files = section->runs[0].n_files,
        .has_kinds = true,
        .pushes_values = true,
        .filter = m->c->o.predicate,
    };
    return tn_file_list_read(m->c, &list, &m->list, err);
  }
  return open_merged_section(m, section, err);
}

/* ------------------------------------------------------------------ output */

/* What the merger tells beside the columns of a batch. */
typedef struct merged_facts {
  tn_buffer *kinds, *sequences; /* NULL where they are not wanted */
} merged_facts;

static tarn_status put_column(tarn_env *env, const tn_buffer *from, size_t width, int64_t n_rows,
                              tn_vec *out, tarn_error *err) {
  TN_TRY(tn_vec_alloc(env, out, n_rows, 0, err));
  memcpy(out->values, from->data, (size_t)n_rows * width);
  return TARN_OK;
}

/* A merged batch with its kinds in front, and sequence numbers where they belong. */
static tarn_status add_told(merge_reader *m, tn_batch *merged, const merged_facts *told,
                            tn_batch *out, tarn_error *err) {
  tarn_env *env = m->c->env;
  int32_t at = 0;
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(env, m->c->out_fields, m->c->n_out, out, err));
  if (told->kinds != NULL) {
    TN_TRY_TO(fail, put_column(env, told->kinds, 1, merged->n_rows, &out->columns[at++], err));
  }
  for (int32_t i = 0; i <= merged->n_columns; i++) {
    if (i == m->sequence_at) {
      TN_TRY_TO(fail, put_column(env, told->sequences, sizeof(int64_t), merged->n_rows,
                                 &out->columns[at++], err));
    }
    if (i < merged->n_columns) {
      tn_vec_reset(env, &out->columns[at]);
      tn_vec_move(&out->columns[at++], &merged->columns[i]);
    }
  }
  out->n_rows = merged->n_rows;
  return TARN_OK;
fail:
  tn_batch_reset(env, out);
  return st;
}

static tarn_status next_merged(merge_reader *m, tn_batch *out, tarn_error *err) {
  bool has_kinds = m->c->o.with_row_kind, has_sequences = m->sequence_at >= 0;
  tn_batch merged = {0};
  merged_facts told = {NULL, NULL};
  tarn_status st;
  if (!has_kinds && !has_sequences) {
    st = tn_merger_next(m->merger, out, NULL, NULL, err);
  } else {
    st = tn_merger_next(m->merger, &merged, has_kinds ? &told.kinds : NULL,
                        has_sequences ? &told.sequences : NULL, err);
    if (st == TARN_OK && merged.n_rows > 0) {
      st = add_told(m, &merged, &told, out, err);
    }
    tn_batch_reset(m->c->env, &merged);
    tn_buffer_release(told.kinds);
    tn_buffer_release(told.sequences);
  }
  for (int32_t i = 0; st == TARN_OK && i < out->n_columns; i++) {
    tn_vec_retype(&out->columns[i],
                  &out->fields[i].type); /* batches outlive this reader's fields */
  }
  if (st == TARN_E_LIMIT) {
    tn_error_context(
        err, st,
        "merging %d sorted runs of %s, bucket %d, within a memory budget of %llu bytes "
        "(raise it: --memory, memory_budget_bytes; or compact the table)",
        (int)m->n_runs, m->c->o.table->full_name, (int)m->split->bucket,
        (unsigned long long)m->c->env->mem.budget_bytes);
  } else if (st == TARN_E_INVALID || st == TARN_E_UNSUPPORTED) {
    // What a merge engine refuses it tells by column alone.
    tn_error_context(err, st, "table %s, bucket %d", m->c->o.table->full_name,
                     (int)m->split->bucket);
  }
  return st;
}

static tarn_status merge_reader_next(tn_split_reader *reader, tn_batch *out, tarn_error *err) {
  merge_reader *m = TN_CONTAINER_OF(reader, merge_reader, reader);
  for (;;) {
    if (m->list == NULL && m->merger == NULL) {
      if (m->next_section == m->n_sections) {
        return TARN_OK;
      }
      TN_TRY(open_section(m, err));
    }
    TN_TRY(m->list != NULL ? m->list->ops->next(m->list, out, err) : next_merged(m, out, err));
    if (out->n_rows > 0) {
      return TARN_OK;
    }
    tn_batch_reset(m->c->env, out);
    close_section(m);
  }
}

static void merge_reader_free(tn_split_reader *reader) {
  merge_reader *m = TN_CONTAINER_OF(reader, merge_reader, reader);
  tn_mem *mem = &m->c->env->mem;
  close_section(m);
  for (int32_t i = 0; i < 4; i++) {
    tn_data_shape_free(m->shapes[i / 2][i % 2]);
  }
  tn_arena_reset(&m->arena);
  tn_free(mem, m);
}

static const tn_split_reader_ops merge_reader_ops = {merge_reader_next, merge_reader_free};

tarn_status tn_merge_split_read(const tn_read_context *c, const tn_split *split,
                                tn_split_reader **out, tarn_error *err) {
  merge_reader *m = tn_calloc(&c->env->mem, 1, sizeof(*m));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (m == NULL) {
    return tn_oom(err);
  }
  m->reader.ops = &merge_reader_ops;
  m->c = c;
  m->split = split;
  tn_arena_init(&m->arena, &c->env->mem, (size_t)1 << 30);
  tn_arena_init(&m->scratch, &c->env->mem, (size_t)1 << 30);
  TN_TRY_TO(done, lay_out_columns(m, err));
  TN_TRY_TO(done, tn_sections_make(&m->arena, c->o.table->schema, split, &m->sections,
                                   &m->n_sections, err));
  TN_TRY_TO(done, tn_sections_rank(&m->arena, split, &m->ranks, err));
done:
  if (st != TARN_OK) {
    merge_reader_free(&m->reader);
    return st;
  }
  *out = &m->reader;
  return TARN_OK;
}
