/* json_file.c - JSON files that are read again while they are torn. */
#include "model/json_file.h"

#include <time.h>

#define MAX_BYTES ((size_t)64 << 20)

static const int waits_ms[] = {10, 20, 50, 100, 150, 200};

static void wait_ms(int ms) {
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  (void)nanosleep(&time, NULL);
}

tarn_status tn_json_file_read(tarn_env *env, tn_storage *storage, const char *path,
                              tn_json_doc **out, tarn_error *err) {
  tarn_status st;
  tn_buf text;
  *out = NULL;
  tn_buf_init(&text, &env->mem, MAX_BYTES);
  for (size_t attempt = 0;; attempt++) {
    st = tn_storage_read_all(storage, path, &text, err);
    if (st == TARN_OK) {
      st = tn_json_parse(&env->mem, tn_buf_slice(&text), path, out, err);
    }
    if (st != TARN_E_CORRUPT || attempt == TN_COUNT(waits_ms)) {
      break;
    }
    wait_ms(waits_ms[attempt]);
    tn_error_reset(err);
  }
  tn_buf_reset(&text);
  return st;
}
