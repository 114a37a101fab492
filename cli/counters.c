/* counters.c - counters as Prometheus text. */
#include "counters.h"

#include "args.h"
#include "follow_state.h"

void cli_counters_head(cli_text *out, const char *name, const char *help, const char *type) {
  cli_text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void cli_counters_put(cli_text *out, const cli_counter *counters, size_t n) {
  for (size_t i = 0; i < n; i++) {
    cli_counters_head(out, counters[i].name, counters[i].help, counters[i].type);
    cli_text_printf(out, "%s %lld\n", counters[i].name, (long long)counters[i].value);
  }
}

void cli_counters_put_summary(cli_text *out, const char *name, const char *help, int64_t sum,
                              int64_t count) {
  cli_counters_head(out, name, help, "summary");
  cli_text_printf(out, "%s_sum %lld\n%s_count %lld\n", name, (long long)sum, name,
                  (long long)count);
}

tarn_status cli_counters_write(cli_text *text, const char *path, tarn_error *err) {
  tarn_status st = text->is_broken
                       ? cli_no_memory(err)
                       : cli_follow_state_write(path, text->data, text->len, false, err);
  cli_text_reset(text);
  return st;
}
