/* options.h - table options: what is known, of which type, and what each one means to us.
 *
 * One table of structs (options_table.inc; the whole list: docs/options.md) drives parsing,
 * refusal, "nearest name" and documentation. Rule: org.apache.paimon.CoreOptions,
 * options.OptionsUtils.
 */
#ifndef TN_MODEL_OPTIONS_H
#define TN_MODEL_OPTIONS_H

#include "model/schema.h"

typedef enum tn_option_type {
  TN_OPT_BOOLEAN,
  TN_OPT_INTEGER, /* 32 bit */
  TN_OPT_LONG,
  TN_OPT_DOUBLE,
  TN_OPT_MEMORY,   /* bytes */
  TN_OPT_DURATION, /* milliseconds */
  TN_OPT_ENUM,
  TN_OPT_STRING,
  TN_OPT_MAP
} tn_option_type;

/* What a *reader* of this release does with an option. */
typedef enum tn_option_use {
  TN_USE_HONOURED,   /* read and obeyed */
  TN_USE_IRRELEVANT, /* does not concern reading: kept */
  TN_USE_REFUSED     /* known, would change what is read, and we lack it: any value but the default
                        (or those in `allowed`) is UNSUPPORTED by name */
} tn_option_use;

typedef struct tn_option_info {
  const char *key; /* may contain * for any text: "fields.*.aggregate-function" */
  tn_option_type type;
  const char *default_value; /* NULL: none */
  const char *values;        /* ENUM: "none,input,..."; NULL: not known, any is taken */
  const char *fallback_keys; /* old names, comma separated; NULL */
  tn_option_use read_use;
  const char *allowed; /* REFUSED: values that are fine, comma separated; NULL: the default */
  const char *doc;     /* one line */
} tn_option_info;

/* NULL when Paimon does not know the key. Old names find the option of today's; so do keys of one
 * entry of a map ("file.format.per.level.0"). */
const tn_option_info *tn_option_find(const char *key);
/* All of them; *count is set. */
const tn_option_info *tn_option_all(size_t *count);
/* The known key nearest to `key`, NULL when none is near. Knows the invented ones of articles. */
const char *tn_option_nearest(const char *key);

/* The merged options of an opened table: stored ones, then dynamic ones over them. Immutable. */
typedef struct tn_options {
  tn_option *items; /* arena of the table; later keys won, no duplicates */
  int32_t count;
} tn_options;

TN_CHECKED tarn_status tn_options_merge(tn_arena *arena, const tn_schema *schema,
                                        const tn_option *dynamic, int32_t n_dynamic,
                                        tn_options *out, tarn_error *err);
/* The text of an option by its current key: its own value, else a fallback key's; NULL: not set. */
const char *tn_options_get(const tn_options *options, const char *key);

/* Typed values with the table's default. Errors: INVALID
 * "option 'k': cannot parse 'v' as a boolean". A key that is not in the table is INTERNAL. */
TN_CHECKED tarn_status tn_options_bool(const tn_options *options, const char *key, bool *out,
                                       tarn_error *err);
/* Numbers, memory sizes (bytes) and durations (milliseconds). *is_set (may be NULL): the option is
 * there; without it and without a default *out is 0. */
TN_CHECKED tarn_status tn_options_int(const tn_options *options, const char *key, int64_t *out,
                                      bool *is_set, tarn_error *err);
/* The index of the value in `values`. */
TN_CHECKED tarn_status tn_options_enum(const tn_options *options, const char *key, int32_t *out,
                                       tarn_error *err);
/* Check every option that concerns reading: its value parses, and it is not one that reading must
 * refuse. Unknown keys: one warning each to the log. Errors: INVALID, UNSUPPORTED, by name. */
TN_CHECKED tarn_status tn_options_check_read(tarn_env *env, const tn_options *options,
                                             tarn_error *err);

/* Value syntax, for our own flags too: "64 mb", "10 s", without case; no unit means bytes and
 * milliseconds. Finer than a millisecond is cut. Errors: INVALID. Rule: org.apache.paimon.options.
 * MemorySize, utils.TimeUtils; spec: options, 1. */
TN_CHECKED tarn_status tn_parse_memory_size(const char *text, int64_t *bytes, tarn_error *err);
TN_CHECKED tarn_status tn_parse_duration(const char *text, int64_t *ms, tarn_error *err);

#endif
