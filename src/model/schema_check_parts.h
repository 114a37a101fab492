/* schema_check_parts.h - what the files of the rules for schemas share. Internal to model/.
 */
#ifndef TN_MODEL_SCHEMA_CHECK_PARTS_H
#define TN_MODEL_SCHEMA_CHECK_PARTS_H

#include "model/options.h"
#include "model/schema_check.h"
#include "model/table.h"

/* ------------------------------------------------------------------ lists of names */

typedef struct tn_name_list {
  const char **names;
  int32_t n;
} tn_name_list;

/* "[a, b]"; a long one is cut: more does not fit a message. */
typedef struct tn_list_text {
  char text[900];
} tn_list_text;
tn_list_text tn_list_text_of(const char *const *names, int32_t n);

bool tn_list_has(const char *const *names, int32_t n, const char *name);
bool tn_list_has_all(const char *const *names, int32_t n, const char *const *wanted,
                     int32_t n_wanted);

typedef enum tn_split_style {
  TN_SPLIT_PLAIN,   /* String.split(",") */
  TN_SPLIT_TRIM,    /* each part trimmed */
  TN_SPLIT_NONEMPTY /* and empty ones left out */
} tn_split_style;

/* The parts of a comma separated list (NULL: none), in the arena. Empty parts at the end are none,
 * as in Java's split. */
TN_CHECKED tarn_status tn_list_split(tn_arena *arena, const char *list, tn_split_style style,
                                     tn_name_list *out, tarn_error *err);
/* The names of the columns, in the schema's arena; NULL: out of memory. */
const char **tn_check_column_names(tn_schema *schema);
/* Nothing, or nothing but white space. */
bool tn_is_blank(const char *text);

/* ------------------------------------------------------------------ one check of a schema */

typedef struct tn_check {
  tn_schema *schema;
  tn_arena *arena;
  const char **columns; /* names */
  tn_options options;
  bool has_key;
  tn_name_list bucket_keys; /* of the option, or the trimmed primary key */
  /* options that several rules ask for */
  int64_t bucket;
  int32_t engine, producer;
  bool vectors, row_tracking, evolution, clustering_override;
  tn_name_list sequence;
} tn_check;

/* The text of an option; NULL: not set. */
const char *tn_check_get(const tn_check *c, const char *key);
TN_CHECKED tarn_status tn_check_is_on(const tn_check *c, const char *key, bool *out,
                                      tarn_error *err);
/* NULL: there is no such column. */
const tn_field *tn_check_field(const tn_check *c, const char *name);
/* INVALID: words, and the type as Java prints it. */
tarn_status tn_check_refuse_type(const char *words, const tn_type *type, tarn_error *err);

/* Each rule: INVALID, UNSUPPORTED, NOMEM. */
TN_CHECKED tarn_status tn_check_fields_options(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_sequence(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_partial_update(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_functions(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_changelog(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_file_format(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_vector_columns(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_row_tracking(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_incremental_clustering(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_sequence_numbers(tn_check *c, tarn_error *err);
TN_CHECKED tarn_status tn_check_clustering_override(tn_check *c, tarn_error *err);

#endif
