/* write_maker.c - rows as text in, files and rows as text out. */
#include "write_maker.h"

#include "column/datum.h"
#include "data_maker.h"
#include "model/partition.h"

void wm_table(write_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options) {
  tm_schema(&m->tm, m->tm.n_schemas, fields, partition_keys, primary_keys, options);
  tn_table_release(m->table);
  m->table = tm_table(&m->tm, "");
}

tarn_status wm_try_open(write_maker *m, tarn_error *err) {
  return tn_write_create(m->table, &m->options, &m->write, err);
}

void wm_open(write_maker *m) {
  wm_close(m);
  OK(wm_try_open(m, err));
}

void wm_close(write_maker *m) {
  tn_write_free(m->write);
  m->write = NULL;
}

void wm_begin_in(write_maker *m, tarn_env *env, const char *fields, const char *partition_keys,
                 const char *primary_keys, const char *options) {
  memset(m, 0, sizeof(*m));
  tm_begin_in(&m->tm, env);
  m->options.user = "u";
  m->options.first_row_id = -1;
  wm_table(m, fields, partition_keys, primary_keys, options);
}

void wm_begin(write_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options) {
  memset(m, 0, sizeof(*m));
  tm_begin(&m->tm, 1);
  m->options.user = "u";
  m->options.first_row_id = -1;
  wm_table(m, fields, partition_keys, primary_keys, options);
  wm_open(m);
}

void wm_end(write_maker *m) {
  wm_close(m);
  tn_table_release(m->table);
  tm_end(&m->tm);
}

/* ------------------------------------------------------------------ rows in */

static int8_t take_kind(const char **row) {
  static const char *const names[] = {"+I ", "-U ", "+U ", "-D "};
  for (int8_t k = 0; k < 4; k++) {
    if (strncmp(*row, names[k], 3) == 0) {
      *row += 3;
      return k;
    }
  }
  return 0;
}

/* One column of all rows: values of one row each, gathered. */
static void build_column(tarn_env *env, const tn_field *field, char *const *texts, int64_t n,
                         tn_vec *out) {
  tn_vec *values = calloc((size_t)n + 1, sizeof(*values));
  const tn_vec **sources = calloc((size_t)n + 1, sizeof(*sources));
  tn_row_ref *refs = calloc((size_t)n + 1, sizeof(*refs));
  tn_arena arena;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  for (int64_t i = 0; i < n; i++) {
    tn_datum datum = {.is_null = true};
    if (strcmp(texts[i], "null") != 0) {
      OK(tn_datum_from_text(&arena, &field->type, tn_slice_text(texts[i]), env->zone, &datum, err));
    }
    OK(tn_datum_to_vec(env, &field->type, &datum, &values[i], err));
    sources[i] = &values[i];
    refs[i] = (tn_row_ref){(uint32_t)i, 0};
  }
  OK(tn_vec_gather(env, &field->type, sources, (int32_t)n, refs, n, out, err));
  for (int64_t i = 0; i < n; i++) {
    tn_vec_reset(env, &values[i]);
  }
  tn_arena_reset(&arena);
  free(values);
  free((void *)sources);
  free(refs);
}

void wm_batch(tarn_env *env, const tn_field *fields, int32_t n_fields, const char *rows,
              tn_batch *batch, int8_t **kinds) {
  int64_t n = rows[0] != '\0', at = 0;
  char **cells, *copy = strdup(rows), *save = NULL;
  bool has_kinds = false;
  for (const char *p = rows; *p != '\0'; p++) {
    n += *p == ';';
  }
  cells = calloc((size_t)(n * n_fields) + 1, sizeof(*cells)); /* column after column */
  *kinds = calloc((size_t)n + 1, 1);
  for (char *row = strtok_r(copy, ";", &save); row != NULL; row = strtok_r(NULL, ";", &save)) {
    const char *cell = row;
    (*kinds)[at] = take_kind(&cell);
    has_kinds |= (*kinds)[at] != 0;
    for (int32_t c = 0; c < n_fields; c++) {
      size_t len = strcspn(cell, "|");
      cells[c * n + at] = strndup(cell, len);
      cell += len + (cell[len] == '|');
    }
    at++;
  }
  assert_int_equal(at, n);
  OK(tn_batch_init(env, fields, n_fields, batch, err));
  for (int32_t c = 0; c < n_fields; c++) {
    build_column(env, &fields[c], cells + c * n, n, &batch->columns[c]);
  }
  batch->n_rows = n;
  for (int64_t i = 0; i < n * n_fields; i++) {
    free(cells[i]);
  }
  free(cells);
  free(copy);
  if (!has_kinds) {
    free(*kinds);
    *kinds = NULL;
  }
}

tarn_status wm_try_write(write_maker *m, const char *rows, tarn_error *err) {
  int32_t n;
  const tn_field *fields = tn_write_fields(m->write, &n);
  tn_batch batch;
  int8_t *kinds;
  tarn_status st;
  wm_batch(m->tm.env, fields, n, rows, &batch, &kinds);
  st = tn_write_batch(m->write, &batch, kinds, err);
  tn_batch_reset(m->tm.env, &batch);
  free(kinds);
  return st;
}

void wm_write(write_maker *m, const char *rows) {
  OK(wm_try_write(m, rows, err));
}

tn_committable wm_prepare(write_maker *m) {
  tn_committable c = {.identifier = m->identifier};
  OK(tn_write_prepare(m->write, m->identifier, &m->tm.arena, &c.messages, &c.n_messages, err));
  m->identifier++;
  return c;
}

void wm_commit_it(write_maker *m, const tn_committable *c) {
  tn_commit_options options = {.user = m->options.user};
  tn_commit_result result;
  OK(tn_commit_append(m->table, &options, c, &result, err));
}

void wm_commit(write_maker *m) {
  tn_committable c = wm_prepare(m);
  wm_commit_it(m, &c);
}

/* ------------------------------------------------------------------ files and rows out */

static void put_files(const tn_data_files *files, const char *mark, tn_buf *out) {
  for (int32_t i = 0; i < files->n; i++) {
    const tn_data_file *f = &files->items[i];
    OK(tn_buf_printf(out, err, "%s[%lld rows, %lld-%lld", mark, (long long)f->row_count,
                     (long long)f->min_sequence, (long long)f->max_sequence));
    if (f->delete_row_count > 0) {
      OK(tn_buf_printf(out, err, ", -%lld", (long long)f->delete_row_count));
    }
    if (f->has_first_row_id) {
      OK(tn_buf_printf(out, err, ", from %lld", (long long)f->first_row_id));
    }
    OK(tn_buf_text(out, "]", err));
  }
}

static const char *keep_text(write_maker *m, tn_buf *text) {
  const char *kept =
      tn_arena_strndup(&m->tm.arena, text->len > 0 ? (const char *)text->data : "", text->len);
  assert_non_null(kept);
  tn_buf_reset(text);
  return kept;
}

const char *wm_messages(write_maker *m, const tn_committable *c) {
  tn_buf text;
  tn_buf_init(&text, &m->tm.env->mem, 1u << 24);
  for (int32_t i = 0; i < c->n_messages; i++) {
    const tn_commit_message *message = &c->messages[i];
    OK(tn_buf_text(&text, i > 0 ? " " : "", err));
    OK(tn_partition_path(m->table, message->partition, &text, err));
    OK(tn_buf_printf(&text, err, "b%d", (int)message->bucket));
    put_files(&message->new_files, "", &text);
    put_files(&message->changelog_files, "~", &text);
  }
  OK(tn_buf_text(&text, "", err));
  return keep_text(m, &text);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_rows(tn_buf *text) {
  char *copy = text->len > 0 ? strndup((const char *)text->data, text->len) : strdup("");
  char *save = NULL;
  size_t n = 0, capacity = 16;
  char **rows = malloc(capacity * sizeof(*rows));
  for (char *p = strtok_r(copy, ";", &save); p != NULL; p = strtok_r(NULL, ";", &save)) {
    if (n == capacity) {
      capacity *= 2;
      rows = realloc(rows, capacity * sizeof(*rows));
    }
    rows[n++] = p;
  }
  qsort(rows, n, sizeof(*rows), by_text);
  text->len = 0;
  for (size_t i = 0; i < n; i++) {
    OK(tn_buf_printf(text, err, "%s%s", i > 0 ? ";" : "", rows[i]));
  }
  free(copy);
  free(rows);
}

void wm_scan_text(write_maker *m, const tn_scan *scan, const tn_read_options *o, tn_buf *text) {
  const tn_split **splits;
  tn_plan *plan = NULL;
  tn_read *read = NULL;
  bool is_end = false;
  OK(tn_plan_create(scan, &plan, err));
  splits = calloc((size_t)plan->n_splits + 1, sizeof(*splits));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    splits[i] = &plan->splits[i];
  }
  OK(tn_read_create(m->tm.env, o, splits, plan->n_splits, &read, err));
  while (!is_end) {
    tn_batch batch;
    OK(tn_read_next(read, &batch, err));
    is_end = batch.n_rows == 0;
    if (!is_end) {
      dm_text(&batch, text);
    }
    tn_batch_reset(m->tm.env, &batch);
  }
  tn_read_free(read);
  tn_plan_release(plan);
  free((void *)splits);
}

const char *wm_rows(write_maker *m) {
  tn_read_options o = {.table = m->table,
                       .fields = m->table->schema->fields,
                       .n_fields = m->table->schema->n_fields,
                       .limit = -1};
  tn_scan scan = {.table = m->table, .limit = -1};
  tn_buf text;
  tn_buf_init(&text, &m->tm.env->mem, 1u << 28);
  wm_scan_text(m, &scan, &o, &text);
  OK(tn_buf_text(&text, "", err));
  sort_rows(&text);
  return keep_text(m, &text);
}

typedef struct file_count {
  write_maker *m;
  const char *folder;
  int n;
} file_count;

static tarn_status count_entry(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  file_count *c = ctx;
  if (is_directory && strcmp(name, "schema") != 0 && strcmp(name, "manifest") != 0 &&
      strcmp(name, "snapshot") != 0) {
    file_count inner = {c->m, tn_arena_printf(&c->m->tm.arena, "%s/%s", c->folder, name), 0};
    TN_TRY(tn_storage_list(c->m->tm.storage, inner.folder, count_entry, &inner, err));
    c->n += inner.n;
  } else if (!is_directory && strcmp(c->folder, "/t") != 0) {
    c->n++;
  }
  return TARN_OK;
}

int wm_count_files(write_maker *m) {
  file_count c = {m, "/t", 0};
  OK(tn_storage_list(m->tm.storage, "/t", count_entry, &c, err));
  return c.n;
}
