/* avro_reading.c - schemas from short texts, files of one block, batches as text. */
#include "unit/format/avro_reading.h"

#define MAX_FIELDS 16

/* ------------------------------------------------------------------ making */

const char *avro_record(const char *before, const char *const *fields, const char *after) {
  static char text[4096];
  size_t at = (size_t)snprintf(text, sizeof(text),
                               "%s{\"type\":\"record\",\"name\":\"record\","
                               "\"namespace\":\"org.x\",\"fields\":[",
                               before);
  for (int i = 0; fields[i] != NULL; i++) {
    int n = (int)strcspn(fields[i], " ");
    size_t begin = at;
    at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{'name':'%.*s','type':%s}",
                           i > 0 ? "," : "", n, fields[i], fields[i] + n + 1);
    assert_true(at + strlen(after) + 3 < sizeof(text));
    for (; begin < at; begin++) {
      text[begin] = text[begin] == '\'' ? '"' : text[begin];
    }
  }
  snprintf(text + at, sizeof(text) - at, "]}%s", after);
  return text;
}

void avro_one_block(avro_bytes *file, const char *schema, int64_t n, avro_bytes *rows) {
  avro_begin(file, schema, "null");
  avro_block(file, "null", n, rows);
}

void avro_many_rows(avro_bytes *rows, int n) {
  for (int i = 0; i < n; i++) {
    avro_long(rows, i);
    avro_long(rows, -i);
    avro_f64(rows, i);
    avro_long(rows, 1); /* skip4: [{k: true}], then an empty piece with a size */
    avro_long(rows, 1);
    avro_text(rows, "k");
    avro_long(rows, 1);
    avro_byte(rows, 1);
    avro_long(rows, 0);
    avro_long(rows, -1);
    avro_long(rows, 1);
    avro_long(rows, 0);
    avro_long(rows, 0);
    avro_long(rows, i * 10); /* a */
    avro_long(rows, i % 3);
    if (i % 3 == 1) {
      avro_long(rows, 1234567);
    } else if (i % 3 == 2) {
      avro_raw(rows, "xy", 2);
    }
    avro_long(rows, i % 2);
    if (i % 2 == 0) {
      avro_text(rows, "even");
    }
    avro_text(rows, i % 2 == 0 ? "e" : "o"); /* b */
    avro_raw(rows, "zz", 2);
  }
}

/* ------------------------------------------------------------------ reading */

tarn_status avro_columns(const avro_reading *q, tn_arena *arena, tn_field **fields, int32_t *n,
                         tarn_error *err) {
  *fields = tn_arena_calloc(arena, MAX_FIELDS, sizeof(tn_field));
  if (*fields == NULL) {
    return tn_oom(err);
  }
  for (*n = 0; q->columns[*n] != NULL; ++*n) {
    tn_field *f = &(*fields)[*n];
    const char *space = strchr(q->columns[*n], ' ');
    f->id = *n;
    f->name = tn_arena_strndup(arena, q->columns[*n], (size_t)(space - q->columns[*n]));
    if (f->name == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_type_from_sql(arena, space + 1, NULL, &f->type, err));
  }
  return TARN_OK;
}

static tarn_status show_batches(tarn_env *env, const avro_reading *q, tn_reader *reader,
                                tn_batch *batch, shown *out, tarn_error *err) {
  if (q->skip_first > 0) {
    TN_TRY(tn_reader_skip(reader, q->skip_first, err));
  }
  for (;;) {
    TN_TRY(tn_reader_next(reader, INT64_MAX, batch, err));
    if (batch->n_rows == 0) {
      return TARN_OK;
    }
    show(out, "@%lld", (long long)batch->first_position);
    for (int32_t c = 0; c < batch->n_columns; c++) {
      assert_int_equal(batch->columns[c].length, batch->n_rows);
      TN_TRY(tn_vec_validate(&batch->columns[c], err));
      if (batch->columns[c].encoding != TN_VEC_FLAT) {
        TN_TRY(tn_vec_flatten(env, &batch->columns[c], err));
        show(out, " const");
      }
    }
    for (int64_t i = 0; i < batch->n_rows; i++) {
      show(out, " (");
      for (int32_t c = 0; c < batch->n_columns; c++) {
        show(out, "%s", c > 0 ? ", " : "");
        show_value(out, &batch->columns[c], i);
      }
      show(out, ")");
    }
    show(out, "\n");
  }
}

tarn_status avro_read_text(tarn_env *env, const avro_reading *q, shown *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_storage *storage = NULL;
  tn_file *file = NULL;
  tn_format_file *opened = NULL;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tn_field *fields = q->fields;
  int32_t n = q->n_fields;
  tn_arena arena;
  tn_ranges ranges;
  tn_read_request request = {.batch_rows = q->batch_rows, .allows_encoded = q->allows_encoded};
  out->len = 0;
  out->text[0] = '\0';
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_ranges_init(&ranges, &env->mem);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/f.avro", q->bytes, err));
  TN_TRY_TO(done, tn_storage_open(storage, "/f.avro", &file, err));
  TN_TRY_TO(done, tn_avro_format.open(env, file, &opened, err));
  if (q->columns != NULL) {
    TN_TRY_TO(done, avro_columns(q, &arena, &fields, &n, err));
  } else if (fields == NULL) {
    TN_TRY_TO(done, tn_avro_format.schema(opened, &arena, &fields, &n, err));
  }
  for (size_t i = 0; i < q->n_ranges; i++) {
    TN_TRY_TO(done, tn_ranges_add(&ranges, q->ranges[i].begin, q->ranges[i].end, err));
  }
  request.fields = fields;
  request.n_fields = n;
  request.rows = q->n_ranges > 0 ? &ranges : NULL;
  TN_TRY_TO(done, tn_avro_format.read(opened, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, fields, n, &batch, err));
  TN_TRY_TO(done, show_batches(env, q, reader, &batch, out, err));
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  if (opened != NULL) {
    tn_format_file_release(opened);
  }
  tn_file_release(file);
  tn_storage_release(storage);
  tn_ranges_reset(&ranges);
  tn_arena_reset(&arena);
  return st;
}

tarn_env *avro_env(void) {
  tarn_env *env;
  assert_int_equal(tarn_env_create(NULL, &env, NULL), TARN_OK);
  return env;
}

void avro_expect(const avro_reading *q, const char *wanted) {
  tarn_env *env = avro_env();
  tarn_error err;
  shown out;
  tarn_status st = avro_read_text(env, q, &out, &err);
  if (st != TARN_OK) {
    fail_msg("status %d: %s", (int)st, err.message);
  }
  assert_string_equal(out.text, wanted);
  tarn_env_free(env);
}

void avro_expect_failure(const avro_reading *q, tarn_status wanted, const char *message) {
  tarn_env *env = avro_env();
  tarn_error err = {0};
  shown out;
  assert_int_equal(avro_read_text(env, q, &out, &err), wanted);
  if (strstr(err.message, message) == NULL) {
    fail_msg("'%s' is not in: %s", message, err.message);
  }
  tarn_env_free(env);
}
