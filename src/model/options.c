/* options.c - the table of options, and their values. */
#include "model/options.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/map.h"
#include "base/nearest.h"
#include "column/number_text.h"

/* ------------------------------------------------------------------ the table */

#define OPTION(use, kind, name, otherwise, text, ...) \
  {.key = (name),                                     \
   .type = TN_OPT_##kind,                             \
   .default_value = (otherwise),                      \
   .read_use = TN_USE_##use,                          \
   .doc = (text),                                     \
   __VA_ARGS__},

static const tn_option_info known_options[] = {
#include "model/options_table.inc"
};

#undef OPTION

/* Keys that articles mention and Paimon never had, or had under another name. */
static const struct {
  const char *invented;
  const char *key;
} invented_keys[] = {
    {"scan.split-size", "source.split.target-size"},
    {"split.target-size", "source.split.target-size"},
    {"split-size", "source.split.target-size"},
    {"scan.split.target-size", "source.split.target-size"},
    {"scan.split.open-file-cost", "source.split.open-file-cost"},
    {"read.buffer-size", "read.batch-size"},
    {"scan.batch-size", "read.batch-size"},
    {"batch-size", "read.batch-size"},
    {"memory.off-heap", "write-buffer-size"},
    {"partition.generate-legacy-name", "partition.legacy-name"},
    {"snapshot-id", "scan.snapshot-id"},
    {"scan.snapshot", "scan.snapshot-id"},
    {"scan.tag", "scan.tag-name"},
    {"tag-name", "scan.tag-name"},
    {"scan.branch", "branch"},
    {"bucket-num", "bucket"},
    {"num-buckets", "bucket"},
    {"buckets", "bucket"},
    {"sequence-field", "sequence.field"},
    {"format", "file.format"},
    {"compression", "file.compression"},
    {"deletion-vectors", "deletion-vectors.enabled"},
};

const tn_option_info *tn_option_all(size_t *count) {
  *count = TN_COUNT(known_options);
  return known_options;
}

/* Does the text match a pattern in which each * stands for one byte or more? */
static bool matches(const char *pattern, const char *text) {
  const char *star = NULL, *retry = NULL;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      retry = ++text; /* the star takes one byte at least */
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star != NULL) {
      pattern = star + 1;
      text = ++retry;
    } else {
      return false;
    }
  }
  return *pattern == '\0';
}

/* The next part of a comma-separated list, moving it on. false: the end. */
static bool next_part(const char **list, tn_slice *part) {
  const char *comma;
  if (*list == NULL) {
    return false;
  }
  comma = strchr(*list, ',');
  *part = tn_slice_of(*list, comma != NULL ? (size_t)(comma - *list) : strlen(*list));
  *list = comma != NULL ? comma + 1 : NULL;
  return true;
}

static bool is_key_of(const tn_option_info *info, const char *key) {
  size_t n = strlen(info->key);
  const char *old = info->fallback_keys;
  tn_slice part;
  if (strcmp(info->key, key) == 0 ||
      (info->type == TN_OPT_MAP && strncmp(info->key, key, n) == 0 && key[n] == '.')) {
    return true;
  }
  if (strchr(info->key, '*') != NULL && matches(info->key, key)) {
    return true;
  }
  while (next_part(&old, &part)) {
    if (tn_slice_is(part, key)) {
      return true;
    }
  }
  return false;
}

const tn_option_info *tn_option_find(const char *key) {
  for (size_t i = 0; i < TN_COUNT(known_options); i++) {
    if (strcmp(known_options[i].key, key) == 0) {
      return &known_options[i];
    }
  }
  for (size_t i = 0; i < TN_COUNT(known_options); i++) {
    if (is_key_of(&known_options[i], key)) {
      return &known_options[i];
    }
  }
  return NULL;
}

const char *tn_option_nearest(const char *key) {
  tn_nearest nearest;
  for (size_t i = 0; i < TN_COUNT(invented_keys); i++) {
    if (strcmp(invented_keys[i].invented, key) == 0) {
      return invented_keys[i].key;
    }
  }
  tn_nearest_init(&nearest, tn_slice_text(key));
  for (size_t i = 0; i < TN_COUNT(known_options); i++) {
    if (strchr(known_options[i].key, '*') == NULL) {
      tn_nearest_offer(&nearest, known_options[i].key);
    }
  }
  return nearest.best;
}

/* ------------------------------------------------------------------ merging and finding */

static tarn_status put(tn_arena *arena, tn_map *index, const tn_option *option, tn_options *out,
                       tarn_error *err) {
  tn_map_entry *entry;
  bool is_new;
  TN_TRY(tn_map_put(index, tn_slice_text(option->key), &entry, &is_new, err));
  if (is_new) {
    const char *key = tn_arena_strdup(arena, option->key);
    if (key == NULL) {
      return tn_oom(err);
    }
    entry->value.num = out->count;
    out->items[out->count++].key = key;
  }
  out->items[entry->value.num].value = tn_arena_strdup(arena, option->value);
  return out->items[entry->value.num].value != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status put_all(tn_arena *arena, tn_map *index, const tn_schema *schema,
                           const tn_option *dynamic, int32_t n_dynamic, tn_options *out,
                           tarn_error *err) {
  for (int32_t i = 0; i < schema->n_options; i++) {
    TN_TRY(put(arena, index, &schema->options[i], out, err));
  }
  for (int32_t i = 0; i < n_dynamic; i++) {
    TN_TRY(put(arena, index, &dynamic[i], out, err));
  }
  return TARN_OK;
}

tarn_status tn_options_merge(tn_arena *arena, const tn_schema *schema, const tn_option *dynamic,
                             int32_t n_dynamic, tn_options *out, tarn_error *err) {
  tarn_status st;
  tn_map index;
  out->count = 0;
  out->items =
      tn_arena_calloc(arena, (size_t)schema->n_options + (size_t)n_dynamic + 1, sizeof(tn_option));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&index, arena->mem);
  st = put_all(arena, &index, schema, dynamic, n_dynamic, out, err);
  tn_map_reset(&index);
  return st;
}

static const tn_option *find_slice(const tn_options *options, tn_slice key) {
  for (int32_t i = 0; i < options->count; i++) {
    if (tn_slice_is(key, options->items[i].key)) {
      return &options->items[i];
    }
  }
  return NULL;
}

/* The option itself or an old name of it; NULL: not set. */
static const tn_option *find_set(const tn_options *options, const char *key,
                                 const tn_option_info *info) {
  const tn_option *option = find_slice(options, tn_slice_text(key));
  const char *old = info != NULL ? info->fallback_keys : NULL;
  tn_slice part;
  while (option == NULL && next_part(&old, &part)) {
    option = find_slice(options, part);
  }
  return option;
}

const char *tn_options_get(const tn_options *options, const char *key) {
  const tn_option *option = find_set(options, key, tn_option_find(key));
  return option != NULL ? option->value : NULL;
}

/* ------------------------------------------------------------------ values */

static bool is_word(const char *text, const char *word) {
  return tn_slice_is_nocase(tn_slice_text(text), word);
}

static bool parse_bool(const char *text, bool *out) {
  *out = is_word(text, "true");
  return *out || is_word(text, "false");
}

/* Long.parseLong: a sign, digits, nothing else. */
static bool parse_long(const char *text, int64_t *out) {
  const char *digits = text + (text[0] == '-' || text[0] == '+');
  char *end;
  if (!tn_is_digit((uint8_t)*digits)) {
    return false;
  }
  errno = 0;
  *out = strtoll(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* The place of a word in a comma-separated list, -1 when it is not there. */
static int32_t place_in(const char *list, const char *word) {
  tn_slice part;
  for (int32_t i = 0; next_part(&list, &part); i++) {
    if (tn_slice_is_nocase(part, word)) {
      return i;
    }
  }
  return -1;
}

/* "<digits> <unit>": the digits and the unit without blanks around it. */
static bool split_unit(const char *text, int64_t *number, tn_slice *unit) {
  int64_t v = 0;
  while (*text == ' ' || *text == '\t') {
    text++;
  }
  if (!tn_is_digit((uint8_t)*text)) {
    return false;
  }
  for (; tn_is_digit((uint8_t)*text); text++) {
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *text - '0', &v)) {
      return false;
    }
  }
  while (*text == ' ' || *text == '\t') {
    text++;
  }
  *number = v;
  *unit = tn_slice_text(text);
  while (unit->len > 0 && unit->data[unit->len - 1] <= ' ') {
    unit->len--;
  }
  return true;
}

typedef struct unit {
  const char *names; /* comma-separated */
  int64_t factor;
} unit;

static const unit memory_units[] = {
    {"b,bytes", 1},
    {"k,kb,kibibytes", (int64_t)1 << 10},
    {"m,mb,mebibytes", (int64_t)1 << 20},
    {"g,gb,gibibytes", (int64_t)1 << 30},
    {"t,tb,tebibytes", (int64_t)1 << 40},
};

/* Milliseconds a unit has; below zero: units a millisecond has. */
static const unit time_units[] = {
    {"ms,milli,millis,millisecond,milliseconds", 1},
    {"s,sec,secs,second,seconds", 1000},
    {"m,min,minute,minutes", 60000},
    {"h,hour,hours", 3600000},
    {"d,day,days", 86400000},
    {"µs,micro,micros,microsecond,microseconds", -1000},
    {"ns,nano,nanos,nanosecond,nanoseconds", -1000000},
};

static bool parse_with_unit(const char *text, const unit *units, size_t n_units, int64_t *out) {
  tn_slice name;
  if (!split_unit(text, out, &name)) {
    return false;
  }
  if (name.len == 0) {
    return true;
  }
  for (size_t i = 0; i < n_units; i++) {
    const char *names = units[i].names;
    tn_slice part;
    while (next_part(&names, &part)) {
      if (!tn_slice_equal_nocase(part, name)) {
        continue;
      }
      if (units[i].factor < 0) {
        *out /= -units[i].factor;
        return true;
      }
      return !__builtin_mul_overflow(*out, units[i].factor, out);
    }
  }
  return false;
}

static bool parse_memory(const char *text, int64_t *out) {
  return parse_with_unit(text, memory_units, TN_COUNT(memory_units), out);
}

static bool parse_duration(const char *text, int64_t *out) {
  return parse_with_unit(text, time_units, TN_COUNT(time_units), out);
}

tarn_status tn_parse_memory_size(const char *text, int64_t *bytes, tarn_error *err) {
  return parse_memory(text, bytes)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "cannot parse '%s' as a memory size (a number and b, kb, mb, gb or tb)",
                       text);
}

tarn_status tn_parse_duration(const char *text, int64_t *ms, tarn_error *err) {
  return parse_duration(text, ms)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "cannot parse '%s' as a duration (a number and ms, s, min, h or d)", text);
}

/* ------------------------------------------------------------------ typed options */

static const char *const type_names[] = {
    [TN_OPT_BOOLEAN] = "a boolean (true or false)",
    [TN_OPT_INTEGER] = "an integer of 32 bits",
    [TN_OPT_LONG] = "an integer of 64 bits",
    [TN_OPT_DOUBLE] = "a number",
    [TN_OPT_MEMORY] = "a memory size (a number and b, kb, mb, gb or tb)",
    [TN_OPT_DURATION] = "a duration (a number and ms, s, min, h or d)",
    [TN_OPT_ENUM] = "one of its values",
    [TN_OPT_STRING] = "a text",
    [TN_OPT_MAP] = "a map",
};

typedef union value {
  bool boolean;
  int64_t number;
  double real;
} value;

static bool parse_value(const tn_option_info *info, const char *text, value *out) {
  switch (info->type) {
    case TN_OPT_BOOLEAN:
      return parse_bool(text, &out->boolean);
    case TN_OPT_INTEGER:
      return parse_long(text, &out->number) && out->number >= INT32_MIN && out->number <= INT32_MAX;
    case TN_OPT_LONG:
      return parse_long(text, &out->number);
    case TN_OPT_DOUBLE:
      return tn_double_from_text(tn_slice_text(text), &out->real);
    case TN_OPT_MEMORY:
      return parse_memory(text, &out->number);
    case TN_OPT_DURATION:
      return parse_duration(text, &out->number);
    case TN_OPT_ENUM:
      out->number = info->values != NULL ? place_in(info->values, text) : 0;
      return out->number >= 0;
    case TN_OPT_STRING:
    case TN_OPT_MAP:
      return true;
  }
  return false;
}

static tarn_status bad_value(const tn_option_info *info, const tn_option *option, tarn_error *err) {
  if (info->type == TN_OPT_ENUM) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s'; it is one of %s",
                   option->key, option->value, info->values);
  }
  return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s' as %s", option->key,
                 option->value, type_names[info->type]);
}

/* The value of an option or its default. *is_set may be NULL. */
static tarn_status get_value(const tn_options *options, const char *key, value *out, bool *has_any,
                             bool *is_set, tarn_error *err) {
  const tn_option_info *info = tn_option_find(key);
  const tn_option *option;
  if (info == NULL) {
    return TN_BUG(err, "an option that is not in the table");
  }
  memset(out, 0, sizeof(*out));
  option = find_set(options, key, info);
  if (is_set != NULL) {
    *is_set = option != NULL;
  }
  *has_any = option != NULL || info->default_value != NULL;
  if (option != NULL) {
    return parse_value(info, option->value, out) ? TARN_OK : bad_value(info, option, err);
  }
  if (info->default_value != NULL && !parse_value(info, info->default_value, out)) {
    return TN_BUG(err, "a default of an option that does not parse");
  }
  return TARN_OK;
}

tarn_status tn_options_bool(const tn_options *options, const char *key, bool *out,
                            tarn_error *err) {
  value v;
  bool has_any;
  *out = false;
  TN_TRY(get_value(options, key, &v, &has_any, NULL, err));
  *out = has_any && v.boolean;
  return TARN_OK;
}

tarn_status tn_options_int(const tn_options *options, const char *key, int64_t *out, bool *is_set,
                           tarn_error *err) {
  value v;
  bool has_any;
  *out = 0;
  TN_TRY(get_value(options, key, &v, &has_any, is_set, err));
  *out = has_any ? v.number : 0;
  return TARN_OK;
}

tarn_status tn_options_enum(const tn_options *options, const char *key, int32_t *out,
                            tarn_error *err) {
  value v;
  bool has_any;
  *out = 0;
  TN_TRY(get_value(options, key, &v, &has_any, NULL, err));
  *out = has_any ? (int32_t)v.number : 0;
  return TARN_OK;
}

/* ------------------------------------------------------------------ what reading refuses */

/* Is it the default, or among the values that change nothing? */
static bool is_harmless(const tn_option_info *info, const char *text) {
  if (info->allowed != NULL) {
    return place_in(info->allowed, text) >= 0;
  }
  return info->default_value != NULL && is_word(text, info->default_value);
}

tarn_status tn_options_check_read(tarn_env *env, const tn_options *options, tarn_error *err) {
  for (int32_t i = 0; i < options->count; i++) {
    const tn_option *option = &options->items[i];
    const tn_option_info *info = tn_option_find(option->key);
    value v;
    if (info == NULL) {
      const char *near = tn_option_nearest(option->key);
      tn_log(env, TARN_LOG_WARN, "option=%s message=\"unknown table option is ignored\"%s%s",
             option->key, near != NULL ? " nearest=" : "", near != NULL ? near : "");
      continue;
    }
    if (info->read_use == TN_USE_IRRELEVANT) {
      continue;
    }
    if (!parse_value(info, option->value, &v)) {
      return bad_value(info, option, err);
    }
    if (info->read_use == TN_USE_REFUSED && !is_harmless(info, option->value)) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "option '%s' = '%s' is not supported by this release (%s)", option->key,
                     option->value, info->doc);
    }
  }
  return TARN_OK;
}
