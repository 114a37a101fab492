/* edit.c - rows of tables without primary key: out, or changed. */
#include "edit/edit.h"

#include "api/write_handles.h"
#include "column/arrow_import.h"

struct tarn_edit {
  tarn_env *env;
  tarn_table *table; /* retained */
  tarn_predicate *predicate;
  tn_edit *edit;
  char *user;
  bool is_update;
  tn_arrow_options arrow;
};

void tarn_edit_free(tarn_edit *edit) {
  if (edit != NULL) {
    tarn_env *env = edit->env;
    tn_edit_free(edit->edit);
    tn_predicate_release(edit->predicate);
    tn_api_table_release(edit->table);
    tn_free(&env->mem, edit->user);
    tn_free(&env->mem, edit);
  }
}

tarn_status tarn_edit_create(tarn_table *table, const tarn_edit_options *options, tarn_edit **out,
                             tarn_error *err) {
  tarn_edit_options o = TARN_EDIT_OPTIONS_INIT;
  tn_edit_request request = {0};
  tarn_env *env = table->env;
  tarn_edit *edit;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  TN_TRY(tn_api_written_table(table, &request.table, err));
  edit = tn_calloc(&env->mem, 1, sizeof(*edit));
  if (edit == NULL) {
    return tn_oom(err);
  }
  edit->env = env;
  edit->table = table;
  atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
  edit->predicate = o.predicate != NULL ? tn_predicate_retain(o.predicate) : NULL;
  edit->is_update = o.is_update != 0;
  TN_TRY_TO(done, tn_api_commit_user(request.table, o.commit_user, &edit->user, err));
  request.predicate = edit->predicate != NULL ? edit->predicate->root : NULL;
  request.is_update = edit->is_update;
  request.user = edit->user;
  request.spill_folder = o.spill_folder;
  request.cancel = o.cancel;
  edit->arrow = tn_api_times(o.timestamp_ns_as_us);
  TN_TRY_TO(done, tn_edit_create(env, &request, &edit->edit, err));
  *out = edit;
  edit = NULL;
done:
  tarn_edit_free(edit);
  return st;
}

const char *tarn_edit_commit_user(const tarn_edit *edit) {
  return edit->user;
}

tarn_status tarn_edit_next(tarn_edit *edit, struct ArrowArray *rows, int64_t *n_rows,
                           tarn_error *err) {
  tn_batch batch;
  tn_error_reset(err);
  *n_rows = 0;
  if (rows != NULL) {
    memset(rows, 0, sizeof(*rows));
  }
  TN_TRY(tn_env_check(edit->env, err));
  if (edit->is_update != (rows != NULL)) {
    return tn_fail(err, TARN_E_INVALID, "%s",
                   edit->is_update ? "an update gives rows: there is no place for them"
                                   : "a delete gives no rows");
  }
  memset(&batch, 0, sizeof(batch));
  TN_TRY(tn_edit_next(edit->edit, &batch, n_rows, err));
  if (rows == NULL || *n_rows == 0) {
    return TARN_OK;
  }
  return tn_arrow_export_batch(edit->env, &batch, &edit->arrow, rows, err);
}

tarn_status tarn_edit_replace(tarn_edit *edit, const struct ArrowSchema *schema,
                              const struct ArrowArray *rows, tarn_error *err) {
  tn_arrow_import *import;
  const int8_t *kinds;
  int32_t n_fields;
  const tn_field *fields = tn_api_table_fields(edit->table, &n_fields);
  tn_batch batch;
  tn_arena arena;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(edit->env, err));
  if (rows == NULL || rows->release == NULL) {
    return tn_fail(err, TARN_E_INVALID, "an array that is released");
  }
  tn_arena_init(&arena, &edit->env->mem, (size_t)1 << 30);
  TN_TRY_TO(done, tn_arrow_import_prepare(&arena, schema, fields, n_fields, NULL, &import, err));
  TN_TRY_TO(done,
            tn_arrow_import_rows(edit->env, import, rows, 0, rows->length, &batch, &kinds, err));
  st = tn_edit_replace(edit->edit, &batch, err);
  tn_batch_reset(edit->env, &batch);
done:
  tn_arena_reset(&arena);
  return st;
}

tarn_status tarn_edit_prepare(tarn_edit *edit, int64_t identifier, tarn_messages **out,
                              tarn_error *err) {
  const char *before = tn_edit_index_manifest(edit->edit);
  tarn_messages *messages = NULL;
  tarn_status st = TARN_OK;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(edit->env, err));
  TN_TRY(tn_api_messages_create(edit->env, &messages, err));
  messages->checks_vectors = true;
  if (before != NULL) {
    messages->vectors_before = tn_arena_strdup(&messages->arena, before);
    st = messages->vectors_before != NULL ? TARN_OK : tn_oom(err);
  }
  if (st == TARN_OK) {
    st = tn_edit_prepare(edit->edit, identifier, &messages->arena, &messages->items,
                         &messages->n_items, err);
  }
  if (st != TARN_OK) {
    tarn_messages_free(messages);
    return st;
  }
  *out = messages;
  return TARN_OK;
}
