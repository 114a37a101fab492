/* index_place.c - where index files lie. */
#include "datafile/index_place.h"

#include "model/partition.h"

#define MAX_PATH_BYTES ((size_t)1 << 20)

tarn_status tn_index_file_path(const tn_table *table, const tn_index_entry *entry, tn_arena *arena,
                               const char **out, tarn_error *err) {
  tn_buf buf;
  tarn_status st = TARN_OK;
  tn_buf_init(&buf, arena->mem, MAX_PATH_BYTES);
  if (entry->has_external_path) {
    const char *text =
        tn_arena_strndup(arena, (const char *)entry->external_path.data, entry->external_path.len);
    return text != NULL ? tn_path_plain(arena, text, out, err) : tn_oom(err);
  }
  st = table->facts.index_in_data_dir
           ? tn_bucket_path(table, entry->partition, entry->bucket, &buf, err)
           : tn_buf_printf(&buf, err, "%s/index", table->path);
  st = st == TARN_OK ? tn_buf_text(&buf, "/", err) : st;
  st = st == TARN_OK ? tn_buf_append(&buf, entry->file_name.data, entry->file_name.len, err) : st;
  if (st == TARN_OK) {
    *out = tn_arena_strndup(arena, (const char *)buf.data, buf.len);
    st = *out != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_reset(&buf);
  return st;
}
