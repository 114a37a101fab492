/* level_mark.c - the number, and its text "levels-<files>-<16 digits>". */
#include "model/level_mark.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_BYTES 64

/* FNV-1a: names are random enough, and the number is told to other programs. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

void tn_level_mark_add(tn_level_mark *mark, tn_slice file_name, int32_t level) {
  uint8_t place = (uint8_t)level; /* one name is on one level */
  uint64_t hash;
  if (level <= 0) {
    return;
  }
  hash = hash_bytes(UINT64_C(0xcbf29ce484222325), file_name.data, file_name.len);
  mark->sum += hash_bytes(hash, &place, 1);
  mark->n_files++;
}

tarn_status tn_level_mark_put(const tn_level_mark *mark, tn_arena *arena, tn_index_entry *out,
                              tarn_error *err) {
  const char *text =
      tn_arena_printf(arena, "levels-%" PRId64 "-%016" PRIx64, mark->n_files, mark->sum);
  if (text == NULL) {
    return tn_oom(err);
  }
  *out = (tn_index_entry){.kind = TN_FILE_DELETE,
                          .index_type = tn_slice_text("TARN_LEVELS"),
                          .file_name = tn_slice_text(text)};
  return TARN_OK;
}

tarn_status tn_level_mark_get(const tn_index_entry *entry, tn_level_mark *out, tarn_error *err) {
  char text[TEXT_BYTES];
  int end = -1;
  *out = (tn_level_mark){0};
  if (entry->file_name.len > 0 && entry->file_name.len < sizeof(text)) {
    memcpy(text, entry->file_name.data, entry->file_name.len);
    text[entry->file_name.len] = '\0';
    if (sscanf(text, "levels-%18" SCNd64 "-%16" SCNx64 "%n", &out->n_files, &out->sum, &end) == 2 &&
        end >= 0 && (size_t)end == entry->file_name.len) {
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_INVALID, "a commit message with '%.*s' as mark of its levels",
                 TN_SLICE_ARG(entry->file_name));
}
