/* rewrite_cases.h - rewrites of a primary key table told in a line each: what is asked for, the
 * files (rewrite_maker.h), and what comes of it. Include once in a program.
 */
#ifndef TN_TESTS_UNIT_COMPACT_REWRITE_CASES_H
#define TN_TESTS_UNIT_COMPACT_REWRITE_CASES_H

#include "rewrite_maker.h"

#include <stdio.h>

#define KV "k INT NOT NULL|v STRING"
#define KSV "k INT NOT NULL|s INT|v STRING"
#define KSUM "k INT NOT NULL|n INT"
#define FULL "changelog-producer=full-compaction"
#define LOOKUP "changelog-producer=lookup"

typedef struct rewrite_case {
  const char *options; /* besides file.format=avro */
  tn_rewrite_mode mode;
  int32_t output_level; /* 0: 5 */
  bool keeps_deletes, no_data, has_marks;
  const char *files[8];
  const char *expected;
} rewrite_case;

static inline void open_case(rewrite_maker *m, tarn_env *env, const rewrite_case *c,
                             const char *columns, const char *format) {
  char options[512];
  snprintf(options, sizeof(options), "bucket=1;file.format=%s%s%s", format,
           c->options[0] != '\0' ? ";" : "", c->options);
  rm_open_in(m, env, columns, "k", options);
  m->request.mode = c->mode;
  m->request.output_level = c->output_level > 0 ? c->output_level : 5;
  m->request.drops_deletes = !c->keeps_deletes;
  m->request.writes_data = !c->no_data;
  if (c->has_marks) {
    m->request.marks = (tn_rewrite_marks){rm_mark, m};
  }
  for (int i = 0; i < 8 && c->files[i] != NULL; i++) {
    rm_file(m, c->files[i]);
  }
}

#endif
