/* success_file.c - {"creationTime" : ms, "modificationTime" : ms}. */
#include "maintain/success_file.h"

#include "base/json.h"
#include "model/json_file.h"

#define FILE_LIMIT 256

tarn_status tn_success_file_write(tn_storage *storage, const char *path, int64_t now_ms,
                                  tarn_error *err) {
  tn_json_doc *doc = NULL;
  int64_t created_ms = now_ms;
  tarn_error why = {0};
  tarn_status st;
  uint8_t bytes[FILE_LIMIT];
  tn_buf text;
  tn_buf_over(&text, bytes, sizeof(bytes));
  st = tn_json_file_read(storage->env, storage, path, &doc, &why);
  if (st == TARN_OK) {
    st = tn_json_get_int(tn_json_root(doc), "creationTime", path, &created_ms, NULL, &why);
  }
  tn_json_free(doc);
  if (st != TARN_OK && st != TARN_E_NOT_FOUND && st != TARN_E_CORRUPT) {
    return tn_fail(err, st, "%s", why.message);
  }
  TN_TRY(tn_buf_printf(&text, err,
                       "{\n  \"creationTime\" : %lld,\n  \"modificationTime\" : %lld\n}",
                       (long long)created_ms, (long long)now_ms));
  return tn_storage_replace(storage, path, tn_buf_slice(&text), true, err);
}
