/* engine_test.c - tables from text, runs as inputs of a merger, merged rows as text. */
#include "engine_test.h"

#include "base/bytes.h"
#include "step_test.h"

#define MAX_ROWS 256
#define MAX_RUNS 64

static const char *const kind_names[] = {"+I", "-U", "+U", "-D"};

/* ------------------------------------------------------------------ tables */

/* The next part of a list; its blanks are cut. */
static bool next_part(const char **at, char separator, char *out, size_t size) {
  const char *begin = *at + strspn(*at, " "), *end = begin;
  int depth = 0;
  if (*begin == '\0') {
    return false;
  }
  for (; *end != '\0' && (*end != separator || depth > 0); end++) {
    depth += (*end == '<' || *end == '(') - (*end == '>' || *end == ')');
  }
  assert_true((size_t)(end - begin) < size);
  memcpy(out, begin, (size_t)(end - begin));
  out[end - begin] = '\0';
  *at = *end == '\0' ? end : end + 1;
  return true;
}

/* The JSON of a column's type. */
static void put_type(engine_table *t, const char *sql, tn_buf *out) {
  tn_type type;
  tarn_error err;
  int32_t inner_id = ENGINE_COLUMNS; /* ids of columns are their places */
  out->len = 0;
  if (tn_type_from_sql(&t->arena, sql, &inner_id, &type, &err) != TARN_OK ||
      tn_type_to_json(&type, out, &err) != TARN_OK ||
      tn_buf_append(out, "", 1, &err) != TARN_OK) { /* of no memory the schema will tell */
    out->len = 0;
  }
}

static void put_json(engine_table *t, char *json, size_t size, const char *columns,
                     const char *options) {
  char part[256], type_json[512];
  tn_buf type_buf;
  int n = 0;
  size_t at;
  tn_buf_over(&type_buf, type_json, sizeof(type_json));
  at = (size_t)snprintf(json, size, "{\"version\":3,\"id\":0,\"fields\":[");
  for (; next_part(&columns, ',', part, sizeof(part)); n++) {
    char *type = strchr(part, ' ');
    *type++ = '\0';
    put_type(t, type, &type_buf);
    at += (size_t)snprintf(json + at, size - at, "%s{\"id\":%d,\"name\":\"%s\",\"type\":%s}",
                           n > 0 ? "," : "", n, part, type_buf.len > 0 ? type_json : "\"INT\"");
  }
  at += (size_t)snprintf(json + at, size - at,
                         "],\"highestFieldId\":99,\"partitionKeys\":[],\"primaryKeys\":[\"k\"],"
                         "\"options\":{\"bucket\":\"1\"");
  while (next_part(&options, ';', part, sizeof(part))) {
    char *value = strchr(part, '=');
    *value++ = '\0';
    at += (size_t)snprintf(json + at, size - at, ",\"%s\":\"%s\"", part, value);
  }
  at += (size_t)snprintf(json + at, size - at, "},\"timeMillis\":0}");
  assert_true(at < size);
}

tarn_status engine_table_open(engine_table *t, tarn_env *env, const tn_engine_ops *engine,
                              const char *columns, const char *options, tarn_error *err) {
  char json[4096], name[64];
  const char *sequence;
  memset(t, 0, sizeof(*t));
  t->env = env;
  t->engine = engine;
  t->keeps_deletes = true;
  t->batch_rows = t->input_rows = 1024;
  tn_arena_init(&t->arena, &env->mem, (size_t)1 << 24);
  put_json(t, json, sizeof(json), columns, options);
  TN_TRY(tn_schema_decode(env, tn_slice_text(json), "schema-0", &t->schema, err));
  TN_TRY(tn_options_merge(&t->arena, t->schema, NULL, 0, &t->options, err));
  sequence = tn_options_get(&t->options, "sequence.field");
  while (sequence != NULL && next_part(&sequence, ',', name, sizeof(name))) {
    t->sequence_columns[t->n_sequence_columns++] =
        tn_fields_find(t->schema->fields, t->schema->n_fields, tn_slice_text(name));
  }
  return tn_merge_options_read(&t->arena, &t->options, t->schema, t->schema,
                               engine == &tn_engine_partial_update, t->sequence_columns,
                               t->n_sequence_columns, &t->merge, err);
}

void engine_table_close(engine_table *t) {
  tn_schema_release(t->schema);
  tn_arena_reset(&t->arena);
}

/* ------------------------------------------------------------------ inputs */

typedef struct merging {
  engine_table *t;
  tn_field key_fields[ENGINE_COLUMNS], value_fields[ENGINE_COLUMNS], out_fields[ENGINE_COLUMNS];
  int32_t n_key_fields, n_value_fields, n_out;
  int32_t out_columns[ENGINE_COLUMNS], filter_columns[ENGINE_COLUMNS];
  tn_merge_spec spec;
} merging;

typedef struct engine_run {
  tn_merge_input input;
  merging *m;
  engine_row *rows;
  int32_t n_rows, at, given, rank;
} engine_run;

static tarn_status make_columns(const engine_run *run, const tn_field *fields, int32_t n,
                                tn_batch *out, tarn_error *err) {
  tarn_env *env = run->m->t->env;
  TN_TRY(tn_batch_init(env, fields, n, out, err));
  for (int32_t c = 0; c < n; c++) {
    size_t size = 3, at = 0;
    char *json;
    tarn_status st;
    for (int32_t i = run->given; i < run->at; i++) {
      size += strlen(run->rows[i].values[fields[c].id]) + 1;
    }
    json = malloc(size);
    assert_non_null(json);
    for (int32_t i = run->given; i < run->at; i++) {
      at += (size_t)sprintf(json + at, "%s%s", i > run->given ? "," : "[",
                            run->rows[i].values[fields[c].id]);
    }
    memcpy(json + at, "]", 2);
    tn_vec_reset(env, &out->columns[c]);
    st = build_vec(env, &fields[c].type, json, &out->columns[c], err);
    free(json);
    TN_TRY(st);
  }
  out->n_rows = run->at - run->given;
  out->first_position = run->given;
  return TARN_OK;
}

static tarn_status run_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                            tarn_error *err) {
  engine_run *run = TN_CONTAINER_OF(input, engine_run, input);
  tarn_env *env = run->m->t->env;
  int32_t n = run->n_rows - run->at < max_rows ? run->n_rows - run->at : (int32_t)max_rows;
  run->given = run->at;
  run->at += n;
  if (n == 0) {
    return TARN_OK;
  }
  TN_TRY(make_columns(run, run->m->key_fields, run->m->n_key_fields, &out->keys, err));
  TN_TRY(tn_buffer_create(env, (size_t)n * 8, &out->sequences_buffer, err));
  TN_TRY(tn_buffer_create(env, (size_t)n, &out->kinds_buffer, err));
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = (int8_t *)(void *)out->kinds_buffer->data;
  for (int32_t i = 0; i < n; i++) {
    out->sequences[i] = run->rows[run->given + i].sequence;
    out->kinds[i] = run->rows[run->given + i].kind;
  }
  out->level = run->rows[run->given].level;
  out->rank = run->rank;
  out->file = run->rank;
  out->is_looked_up = run->rows[run->given].is_looked_up;
  out->path = "the-run";
  return TARN_OK;
}

static tarn_status run_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  engine_run *run = TN_CONTAINER_OF(input, engine_run, input);
  return make_columns(run, run->m->value_fields, run->m->n_value_fields, out, err);
}

static void run_free(tn_merge_input *input) {
  free(TN_CONTAINER_OF(input, engine_run, input));
}

static const tn_merge_input_ops run_ops = {run_next, run_values, run_free};

/* ------------------------------------------------------------------ specs */

static int32_t place(merging *m, const tn_field *field) {
  for (int32_t i = 0; i < m->n_key_fields; i++) {
    if (m->key_fields[i].id == field->id) {
      return i;
    }
  }
  for (int32_t i = 0; i < m->n_value_fields; i++) {
    if (m->value_fields[i].id == field->id) {
      return -1 - i;
    }
  }
  m->value_fields[m->n_value_fields++] = *field;
  return -m->n_value_fields;
}

static void add_filter_column(void *ctx, const tn_pred *leaf) {
  merging *m = ctx;
  const tn_schema *schema = m->t->schema;
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, leaf->field_id);
  m->filter_columns[0] = place(m, &schema->fields[at]);
  m->spec.filter_fields = &schema->fields[at];
  m->spec.n_filter_columns = 1; /* tests filter by one column */
}

static tarn_status lay_out(merging *m, tarn_error *err) {
  engine_table *t = m->t;
  const tn_schema *schema = t->schema;
  const char *names = t->projection;
  char name[64];
  bool wanted[ENGINE_COLUMNS] = {false};
  tn_fold_layout *layout = NULL;
  const tn_pred *filter = NULL;
  int64_t position;
  m->key_fields[m->n_key_fields++] = schema->fields[0];
  for (int32_t i = 0; i < t->n_sequence_columns; i++) {
    m->key_fields[m->n_key_fields++] = schema->fields[t->sequence_columns[i]];
  }
  for (int32_t i = 0; names == NULL && i < schema->n_fields; i++) {
    m->out_fields[m->n_out++] = schema->fields[i];
  }
  while (names != NULL && next_part(&names, ',', name, sizeof(name))) {
    m->out_fields[m->n_out++] =
        schema->fields[tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(name))];
  }
  for (int32_t i = 0; i < m->n_out; i++) {
    m->out_columns[i] = place(m, &m->out_fields[i]);
    wanted[m->out_fields[i].id] = true;
  }
  if (t->filter != NULL) {
    TN_TRY(tn_pred_parse(&t->arena, schema->fields, schema->n_fields, NULL,
                         tn_slice_text(t->filter), &filter, &position, err));
    tn_pred_each_leaf(filter, add_filter_column, m);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    if (tn_merge_options_needs(t->merge, wanted, i)) {
      place(m, &schema->fields[i]);
    }
  }
  TN_TRY(tn_fold_layout_make(&t->arena, t->engine, t->merge, schema, m->key_fields, 1,
                             m->n_key_fields, m->value_fields, m->n_value_fields, &layout, err));
  m->spec.key_fields = m->key_fields;
  m->spec.n_keys = 1;
  m->spec.n_sequence_fields = t->n_sequence_columns;
  m->spec.n_key_fields = m->n_key_fields;
  m->spec.value_fields = m->value_fields;
  m->spec.n_value_fields = m->n_value_fields;
  m->spec.out_fields = m->out_fields;
  m->spec.out_columns = m->out_columns;
  m->spec.n_out_columns = m->n_out;
  m->spec.filter = filter;
  m->spec.filter_columns = m->filter_columns;
  m->spec.engine = t->engine;
  m->spec.layout = layout;
  m->spec.needs_lookup = t->needs_lookup;
  m->spec.merges_single_rows = t->merges_single_rows;
  m->spec.keeps_deletes = t->keeps_deletes;
  m->spec.batch_rows = t->batch_rows;
  m->spec.input_rows = t->input_rows;
  return tn_options_bool(&t->options, "ignore-delete", &m->spec.ignore_delete, err);
}

/* ------------------------------------------------------------------ results */

static void put_batch(const engine_table *t, const tn_batch *batch, const tn_buffer *kinds,
                      const tn_buffer *sequences, char **text, size_t *length) {
  for (int64_t i = 0; i < batch->n_rows; i++) {
    *text = realloc(*text, *length + 64);
    *length += (size_t)sprintf(*text + *length, "%s%s", *length > 0 ? " " : "",
                               kind_names[kinds->data[i]]);
    if (t->shows_sequences) {
      *length += (size_t)sprintf(*text + *length, "%lld",
                                 (long long)tn_load_le64(sequences->data + i * 8));
    }
    for (int32_t c = 0; c < batch->n_columns; c++) {
      tn_vec one = {0};
      char *value;
      assert_int_equal(tn_vec_copy_range(t->env, &batch->columns[c], i, 1, &one, NULL), TARN_OK);
      value = vec_text(&one);
      value[strlen(value) - 1] = '\0';
      *text = realloc(*text, *length + strlen(value) + 64);
      *length += (size_t)sprintf(*text + *length, "%s%s", c > 0 ? "," : "[", value + 1);
      free(value);
      tn_vec_reset(t->env, &one);
    }
    *length += (size_t)sprintf(*text + *length, "]");
  }
}

tarn_status engine_merge_runs(engine_table *t, engine_row *const *runs, const int32_t *n_rows,
                              int32_t n_runs, char **out, tarn_error *err) {
  merging *m = calloc(1, sizeof(*m));
  tn_merge_input *inputs[MAX_RUNS];
  tn_merger *merger = NULL;
  size_t length = 0;
  tarn_status st;
  bool is_end = false;
  *out = calloc(1, 1);
  m->t = t;
  TN_TRY_TO(done, lay_out(m, err));
  assert_true(n_runs <= MAX_RUNS);
  for (int32_t r = 0; r < n_runs; r++) {
    engine_run *run = calloc(1, sizeof(*run));
    *run = (engine_run){{&run_ops}, m, runs[r], n_rows[r], 0, 0, r};
    inputs[r] = &run->input;
  }
  if (t->changes != NULL) {
    free(*out);
    st = steps_to_text(t->env, &m->spec, t->changes, inputs, n_runs, out, err);
    goto done;
  }
  TN_TRY_TO(done, tn_merger_create(t->env, &m->spec, inputs, n_runs, &merger, err));
  while (!is_end) {
    tn_batch batch;
    tn_buffer *kinds, *sequences;
    TN_TRY_TO(done, tn_merger_next(merger, &batch, &kinds, &sequences, err));
    is_end = batch.n_rows == 0;
    if (!is_end) {
      put_batch(t, &batch, kinds, sequences, out, &length);
    }
    tn_batch_reset(t->env, &batch);
    tn_buffer_release(kinds);
    tn_buffer_release(sequences);
  }
done:
  tn_merger_free(merger);
  free(m);
  return st;
}

/* ------------------------------------------------------------------ rows from text */

static int8_t kind_of(const char *text) {
  for (int8_t k = 0; k < 4; k++) {
    if (strncmp(text, kind_names[k], 2) == 0) {
      return k;
    }
  }
  fail_msg("no row kind: %s", text);
  return 0;
}

/* The values between [ and ], cut at commas that are not inside of anything. */
static const char *parse_values(engine_table *t, const char *at, engine_row *row) {
  int n = 0, depth = 0;
  bool is_quoted = false;
  const char *begin = ++at;
  for (;; at++) {
    is_quoted ^= *at == '"';
    if (!is_quoted && depth == 0 && (*at == ',' || *at == ']')) {
      char *value = tn_arena_alloc(&t->arena, (size_t)(at - begin) + 1);
      memcpy(value, begin, (size_t)(at - begin));
      value[at - begin] = '\0';
      row->values[n++] = value;
      begin = at + 1;
      if (*at == ']') {
        return at + 1;
      }
    }
    depth += is_quoted ? 0 : (*at == '[') - (*at == ']');
  }
}

tarn_status engine_merge_text(engine_table *t, const char *text, char **out, tarn_error *err) {
  engine_row rows[MAX_ROWS];
  engine_row *runs[MAX_RUNS];
  int32_t n_rows[MAX_RUNS], n = 0, level = 0;
  bool is_looked_up = false;
  memset(rows, 0, sizeof(rows));
  while (*(text += strspn(text, " ")) != '\0') {
    if (*text == '@') {
      level = (int32_t)strtol(text + 1, (char **)(uintptr_t)&text, 10);
      continue;
    }
    if (*text == '~') {
      is_looked_up = !is_looked_up;
      text++;
      continue;
    }
    assert_true(n < MAX_RUNS);
    rows[n].is_looked_up = is_looked_up;
    rows[n].sequence = n;
    rows[n].kind = kind_of(text);
    rows[n].level = level;
    text = parse_values(t, text + 2, &rows[n]);
    runs[n] = &rows[n];
    n_rows[n++] = 1;
  }
  return engine_merge_runs(t, runs, n_rows, n, out, err);
}
