/* rewrite_maker.h - files of a bucket as text, rewritten, and what came of it as text. Include once
 * in a program; everything fails through cmocka.
 *
 * A file is "<section>L<level> <rows>": rows "7|+|1|a;..." (sequence number, kind of + b u -,
 * values; b is -U, u is +U), behind a "~" the positions that a vector deletes: "0L5 1|+|1|a ~0,2".
 * Each file is a run of its own. Section "d": a deeper run.
 */
#ifndef TN_TESTS_UNIT_COMPACT_REWRITE_MAKER_H
#define TN_TESTS_UNIT_COMPACT_REWRITE_MAKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: cmocka's macro "skip" spoils names of the headers above it */
#include "compact/rewrite.h"
#include "datafile/data_reader.h"

#include "data_maker.h"
/* clang-format on */

#define MAX_FILES 24

typedef struct rewrite_maker {
  table_maker tm;
  tn_table *table;
  tn_arena arena; /* of options */
  tn_compact_options options;
  const char *columns; /* for dm_keyed */
  int n_keys;
  const char *spill_folder;
  const tarn_cancel *cancel;
  tn_rewriter *rewriter;

  tn_data_file metas[MAX_FILES];
  tn_rewrite_file files[MAX_FILES];
  tn_rewrite_run runs[MAX_FILES], deeper[MAX_FILES];
  tn_rewrite_section sections[MAX_FILES];
  int n_files, n_runs;
  tn_rewrite_request request;
  tn_data_file_names names;
  tn_rewrite_result result;
  tn_buf marks;
} rewrite_maker;

/* Options and rewriter of a table; "k INT NOT NULL|v STRING" are columns with ids 0, 1, ... */
static inline void rm_open_in(rewrite_maker *m, tarn_env *env, const char *columns,
                              const char *keys, const char *options) {
  char fields[512] = "";
  const char *at = columns;
  memset(m, 0, sizeof(*m));
  if (env != NULL) {
    tm_begin_in(&m->tm, env);
  } else {
    tm_begin(&m->tm, 1);
  }
  for (int i = 0; *at != '\0'; i++) {
    int n = (int)strcspn(at, "|");
    sprintf(fields + strlen(fields), "%s%d %.*s", i > 0 ? "|" : "", i, n, at);
    at += n + (at[n] == '|');
  }
  tm_schema(&m->tm, 0, fields, "", keys, options);
  m->table = tm_table(&m->tm, "");
  m->columns = columns;
  m->n_keys = keys[0] != '\0';
  for (const char *k = keys; *k != '\0'; k++) {
    m->n_keys += *k == ',';
  }
  m->request.partition = tm_row(&m->tm, "", "");
  m->request.names = &m->names;
  m->request.output_level = 5;
  m->request.top_level = 5;
  m->request.drops_deletes = true;
  m->request.writes_data = true;
  tn_arena_init(&m->arena, &m->tm.env->mem, 1u << 20);
  tn_buf_init(&m->marks, &m->tm.env->mem, 1u << 20);
  OK(tn_compact_options_read(m->table, &m->arena, &m->options, err));
}

static inline void rm_open(rewrite_maker *m, const char *columns, const char *keys,
                           const char *options) {
  rm_open_in(m, NULL, columns, keys, options);
}

static inline tarn_status rm_rewriter(rewrite_maker *m, tarn_error *err) {
  tn_rewriter_setup setup = {.table = m->table,
                             .options = &m->options,
                             .spill_folder = m->spill_folder,
                             .n_threads = 1,
                             .cancel = m->cancel};
  return m->rewriter != NULL ? TARN_OK : tn_rewriter_create(&setup, &m->rewriter, err);
}

static inline void rm_close(rewrite_maker *m) {
  tn_rewriter_free(m->rewriter);
  for (int i = 0; i < m->n_files; i++) {
    tn_dv_release(m->files[i].deletions);
  }
  tn_buf_reset(&m->marks);
  tn_arena_reset(&m->arena);
  tn_table_release(m->table);
  tm_end(&m->tm);
}

/* "f0", "f1", ... in the order in which they are added. */
static inline tn_data_file *rm_file(rewrite_maker *m, const char *text) {
  const char *level = strchr(text, 'L'), *rows = strchr(text, ' ') + 1, *gone = strchr(rows, '~');
  int i = m->n_files++;
  char name[16];
  char *kept = gone != NULL ? strndup(rows, (size_t)(gone - rows - 1)) : strdup(rows);
  sprintf(name, "f%d.avro", i);
  m->metas[i] = m->n_keys > 0 ? dm_keyed(&m->tm, "/t/bucket-0", name, m->n_keys, m->columns, kept)
                              : dm_append(&m->tm, "/t/bucket-0", name, m->columns, kept);
  m->metas[i].level = atoi(level + 1);
  m->files[i] = (tn_rewrite_file){.meta = &m->metas[i]};
  if (gone != NULL) {
    m->files[i].deletions = dm_deletions(&m->tm, gone + 1);
  }
  if (text[0] == 'd') {
    m->deeper[m->request.n_deeper++] = (tn_rewrite_run){&m->files[i], 1};
  } else {
    tn_rewrite_section *s = &m->sections[text[0] - '0'];
    if (s->n_runs == 0) {
      s->runs = &m->runs[m->n_runs];
      m->request.n_sections++;
    }
    m->runs[m->n_runs++] = (tn_rewrite_run){&m->files[i], 1};
    s->n_runs++;
  }
  m->request.sections = m->sections;
  m->request.deeper = m->deeper;
  free(kept);
  return &m->metas[i];
}

/* Other files; what was written stays. */
static inline void rm_begin_again(rewrite_maker *m) {
  m->n_files = m->n_runs = 0;
  memset(m->sections, 0, sizeof(m->sections));
  m->request.n_sections = m->request.n_deeper = 0;
}

/* A file that was written, as a deeper run. */
static inline void rm_deeper(rewrite_maker *m, const tn_data_file *meta) {
  int i = m->n_files++;
  m->metas[i] = *meta;
  m->files[i] = (tn_rewrite_file){.meta = &m->metas[i]};
  m->deeper[m->request.n_deeper++] = (tn_rewrite_run){&m->files[i], 1};
  m->request.deeper = m->deeper;
}

static inline tarn_status rm_mark(void *ctx, const tn_rewrite_file *file, int64_t position,
                                  tarn_error *err) {
  rewrite_maker *m = ctx;
  return tn_buf_printf(&m->marks, err, "%sf%d:%d", m->marks.len > 0 ? " " : "",
                       (int)(file - m->files), (int)position);
}

static inline tarn_status rm_try(rewrite_maker *m, tarn_error *err) {
  TN_TRY(rm_rewriter(m, err));
  return tn_rewrite(m->rewriter, &m->request, &m->tm.arena, &m->result, err);
}

static inline void rm_read(rewrite_maker *m, const tn_data_file *file, tn_buf *out) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  tn_field fields[16] = {
      {.id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}},
      {.id = TN_FIELD_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.root = TN_TINYINT}}};
  bool is_keyed = m->n_keys > 0;
  int n = 0;
  tn_data_shape *shape;
  tn_data_reader *reader;
  tn_batch batch = {0};
  const uint8_t *alive;
  tn_data_request request = {.file = file, .partition = m->request.partition};
  request.path = tn_arena_printf(&m->tm.arena, "/t/bucket-0/%.*s", (int)file->file_name.len,
                                 (const char *)file->file_name.data);
  for (n = 0; n < m->table->schema->n_fields; n++) {
    fields[2 + n] = m->table->schema->fields[n];
  }
  OK(tn_data_shape_create(m->table, is_keyed ? fields : fields + 2, is_keyed ? n + 2 : n, NULL, 0,
                          is_keyed, &shape, err));
  request.shape = shape;
  OK(tn_data_reader_open(&request, &reader, err));
  for (;;) {
    OK(tn_data_reader_next(reader, 8192, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    for (int64_t i = 0; i < batch.n_rows; i++) {
      OK(tn_buf_text(out, out->len > 0 && out->data[out->len - 1] != '[' ? ";" : "", err));
      for (int c = 0; c < batch.n_columns; c++) {
        tn_datum datum = tn_vec_datum(&batch.columns[c], i);
        OK(tn_buf_text(out, c > 0 ? "|" : "", err));
        if (is_keyed && c == 1) {
          OK(tn_buf_text(out, kinds[datum.v.i64], err));
        } else if (datum.is_null) {
          OK(tn_buf_text(out, "null", err));
        } else {
          OK(tn_datum_to_text(&batch.fields[c].type, &datum, m->tm.env->zone, out, err));
        }
      }
    }
  }
  tn_batch_reset(m->tm.env, &batch);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
}

/* "[rows][rows]": a bracket a file. */
static inline const char *rm_rows(rewrite_maker *m, const tn_data_file *files, int32_t n) {
  tn_buf text;
  const char *kept;
  tn_buf_init(&text, &m->tm.env->mem, 1u << 24);
  for (int32_t i = 0; i < n; i++) {
    OK(tn_buf_text(&text, "[", err));
    rm_read(m, &files[i], &text);
    OK(tn_buf_text(&text, "]", err));
  }
  kept = tn_arena_strndup(&m->tm.arena, text.len > 0 ? (const char *)text.data : "", text.len);
  tn_buf_reset(&text);
  return kept;
}

#define RM_FILES(m) rm_rows(m, (m)->result.files, (m)->result.n_files)
#define RM_CHANGELOG(m) rm_rows(m, (m)->result.changelog, (m)->result.n_changelog)

/* Rewrite; what comes is "data ~changelog !marks", parts that are empty left out. */
static inline void rm_assert(rewrite_maker *m, const char *expected) {
  tn_buf text;
  OK(rm_try(m, err));
  tn_buf_init(&text, &m->tm.env->mem, 1u << 24);
  OK(tn_buf_text(&text, RM_FILES(m), err));
  if (m->result.n_changelog > 0) {
    OK(tn_buf_printf(&text, err, " ~%s", RM_CHANGELOG(m)));
  }
  if (m->marks.len > 0) {
    OK(tn_buf_printf(&text, err, " !%.*s", (int)m->marks.len, (const char *)m->marks.data));
  }
  OK(tn_buf_append(&text, "", 1, err));
  assert_string_equal((const char *)text.data, expected);
  tn_buf_reset(&text);
}

static inline void rm_assert_fails(rewrite_maker *m, tarn_status status, const char *text) {
  tarn_error err = {0};
  assert_int_equal(rm_try(m, &err), status);
  if (strstr(err.message, text) == NULL) {
    fail_msg("\"%s\" has no \"%s\"", err.message, text);
  }
}

static inline tarn_status rm_count(void *ctx, const char *name, bool is_directory,
                                   tarn_error *err) {
  (void)name;
  (void)is_directory;
  (void)err;
  ++*(int *)ctx;
  return TARN_OK;
}

/* Files in the bucket's folder. */
static inline int rm_n_files(rewrite_maker *m) {
  int n = 0;
  OK(tn_storage_list(m->tm.storage, "/t/bucket-0", rm_count, &n, err));
  return n;
}

#endif
