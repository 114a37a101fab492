/* mark_done.c - <partition>/_SUCCESS. */
#include "maintain/mark_done.h"

#include "base/bytes.h"
#include "maintain/success_file.h"
#include "model/partition.h"

#define TEXT_LIMIT ((size_t)1 << 20)

/* Every action is one that we have, before any is carried out. */
static tarn_status check_actions(const tn_table *table, tarn_error *err) {
  const char *at = tn_options_get(&table->options, "partition.mark-done-action");
  while (at != NULL && *at != '\0') {
    size_t n;
    at += strspn(at, ", ");
    n = strcspn(at, ", ");
    if (n > 0 && !(n == strlen("success-file") && strncmp(at, "success-file", n) == 0)) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "partition.mark-done-action '%.*s'", (int)n, at);
    }
    at += n;
  }
  return TARN_OK;
}

/* The partition as a row, with its arity in front. */
static tarn_status make_row(const tn_table *table, const char *const *values, tn_arena *arena,
                            tn_buf *out, tarn_error *err) {
  const tn_schema *schema = table->schema;
  tn_binary_row_writer w;
  uint8_t arity[4];
  tn_store_be32(arity, (uint32_t)schema->n_partition_keys);
  TN_TRY(tn_buf_append(out, arity, sizeof(arity), err));
  TN_TRY(tn_binary_row_begin(&w, out, schema->n_partition_keys, err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_type *type = &schema->fields[schema->partition_columns[i]].type;
    tn_datum value = {.is_null = true};
    if (values[i] != NULL) {
      TN_TRY(
          tn_datum_from_text(arena, type, tn_slice_text(values[i]), table->env->zone, &value, err));
    }
    TN_TRY(tn_binary_row_set(&w, i, type, &value, err));
  }
  return TARN_OK;
}

tarn_status tn_partition_mark_done(tn_table *table, const char *const *values, tarn_error *err) {
  tn_mem *mem = &table->env->mem;
  tarn_status st = TARN_OK;
  tn_buf row, path;
  tn_arena arena;
  if (table->schema->n_partition_keys == 0) {
    return tn_fail(err, TARN_E_INVALID, "table %s is not partitioned", table->full_name);
  }
  TN_TRY(check_actions(table, err));
  tn_arena_init(&arena, mem, TEXT_LIMIT);
  tn_buf_init(&row, mem, TEXT_LIMIT);
  tn_buf_init(&path, mem, TEXT_LIMIT);
  TN_TRY_TO(done, make_row(table, values, &arena, &row, err));
  TN_TRY_TO(done, tn_buf_printf(&path, err, "%s/", table->path));
  TN_TRY_TO(done, tn_partition_path(table, tn_buf_slice(&row), &path, err));
  TN_TRY_TO(done, tn_buf_append(&path, "_SUCCESS", sizeof("_SUCCESS"), err));
  TN_TRY_TO(done, tn_success_file_write(table->storage, (const char *)path.data,
                                        tn_env_now_ms(table->env), err));
done:
  tn_buf_reset(&path);
  tn_buf_reset(&row);
  tn_arena_reset(&arena);
  return st;
}
