/* schema_check.c - the rules for new schemas, as a table of checks; each in Java's words. */
#include "model/schema_check.h"

#include <string.h>

#include "base/ascii.h"
#include "base/map.h"
#include "column/cast.h"
#include "column/datum.h"
#include "model/java_map.h"
#include "model/options.h"
#include "model/table.h"

#define LIST_TEXT_BYTES 900 /* more does not fit a message */

/* ------------------------------------------------------------------ names */

/* "[a, b]"; a long one is cut. */
typedef struct list_text {
  char text[LIST_TEXT_BYTES];
} list_text;

static list_text text_of(const char *const *names, int32_t n) {
  list_text out;
  size_t at = 1;
  out.text[0] = '[';
  for (int32_t i = 0; i < n; i++) {
    size_t length = strlen(names[i]);
    if (at + length + 8 > sizeof(out.text)) {
      memcpy(out.text + at, "...", 3);
      at += 3;
      break;
    }
    memcpy(out.text + at, names[i], length);
    at += length;
    if (i + 1 < n) {
      memcpy(out.text + at, ", ", 2);
      at += 2;
    }
  }
  out.text[at] = ']';
  out.text[at + 1] = '\0';
  return out;
}

static bool has_name(const char *const *names, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static bool has_all(const char *const *names, int32_t n, const char *const *wanted,
                    int32_t n_wanted) {
  for (int32_t i = 0; i < n_wanted; i++) {
    if (!has_name(names, n, wanted[i])) {
      return false;
    }
  }
  return true;
}

typedef struct name_list {
  const char **names;
  int32_t n;
} name_list;

static bool is_blank(const char *text) {
  return text == NULL || tn_slice_trim(tn_slice_text(text)).len == 0;
}

typedef enum split_style {
  SPLIT_PLAIN,   /* String.split(",") */
  SPLIT_TRIM,    /* each part trimmed */
  SPLIT_NONEMPTY /* and empty ones left out */
} split_style;

/* The parts of a comma separated list. Empty parts at the end are none, as in Java's split. */
static tarn_status split(tn_arena *arena, const char *list, split_style style, name_list *out,
                         tarn_error *err) {
  size_t room = 1, end;
  memset(out, 0, sizeof(*out));
  if (list == NULL) {
    return TARN_OK;
  }
  for (const char *at = list; *at != '\0'; at++) {
    room += *at == ',';
  }
  out->names = tn_arena_calloc(arena, room, sizeof(*out->names));
  if (out->names == NULL) {
    return tn_oom(err);
  }
  end = strlen(list);
  while (end > 0 && list[end - 1] == ',') {
    end--;
  }
  if (end == 0 && list[0] != '\0') {
    return TARN_OK;
  }
  for (size_t at = 0; at <= end;) {
    const char *comma = memchr(list + at, ',', end - at);
    size_t stop = comma != NULL ? (size_t)(comma - list) : end;
    tn_slice part = tn_slice_of(list + at, stop - at);
    part = style == SPLIT_PLAIN ? part : tn_slice_trim(part);
    if (part.len > 0 || style != SPLIT_NONEMPTY) {
      out->names[out->n] = tn_arena_strndup(arena, (const char *)part.data, part.len);
      if (out->names[out->n++] == NULL) {
        return tn_oom(err);
      }
    }
    at = stop + 1;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ normalising */

/* The first name that comes twice; NULL: none. */
static const char *find_twice(const char *const *names, int32_t n, tn_mem *mem, tarn_status *st,
                              tarn_error *err) {
  const char *twice = NULL;
  tn_map seen;
  *st = TARN_OK;
  tn_map_init(&seen, mem);
  for (int32_t i = 0; i < n && twice == NULL && *st == TARN_OK; i++) {
    tn_map_entry *entry;
    bool is_new = true;
    *st = tn_map_put(&seen, tn_slice_text(names[i]), &entry, &is_new, err);
    twice = is_new ? NULL : names[i];
  }
  tn_map_reset(&seen);
  return twice;
}

/* Keys that an option gives instead of the schema. */
static tarn_status take_keys(tn_schema *s, tn_java_map *options, const char *option,
                             const char *what, const char ***keys, int32_t *n_keys,
                             tarn_error *err) {
  const char *list = tn_java_map_get(options, option);
  name_list names;
  if (list == NULL) {
    return TARN_OK;
  }
  if (*n_keys > 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot define %s on DDL and table options at the same time.", what);
  }
  TN_TRY(split(&s->arena, list, SPLIT_NONEMPTY, &names, err));
  *keys = names.names;
  *n_keys = names.n;
  (void)tn_java_map_remove(options, option);
  return TARN_OK;
}

typedef struct key_words {
  const char *twice;
  const char *unknown; /* columns, keys */
} key_words;

static tarn_status check_keys(const tn_schema *s, const char *const *columns,
                              const char *const *keys, int32_t n_keys, const key_words *words,
                              tarn_error *err) {
  tarn_status st;
  const char *twice = find_twice(keys, n_keys, s->arena.mem, &st, err);
  if (st == TARN_OK && twice != NULL) {
    st = tn_fail(err, TARN_E_INVALID, "%s %s must not contain duplicate columns. Found: [%s]",
                 words->twice, text_of(keys, n_keys).text, twice);
  }
  if (st == TARN_OK && !has_all(columns, s->n_fields, keys, n_keys)) {
    st = tn_fail(err, TARN_E_INVALID, "Table column %s should include all %s %s",
                 text_of(columns, s->n_fields).text, words->unknown, text_of(keys, n_keys).text);
  }
  return st;
}

static const char **column_names(tn_schema *s) {
  const char **names = tn_arena_calloc(&s->arena, (size_t)s->n_fields + 1, sizeof(*names));
  for (int32_t i = 0; names != NULL && i < s->n_fields; i++) {
    names[i] = s->fields[i].name;
  }
  return names;
}

/* Rule: Schema.normalizeFields. */
static tarn_status normalize_fields(tn_schema *s, tarn_error *err) {
  static const key_words partition = {"Partition key constraint", "partition fields"};
  static const key_words primary = {"Primary key constraint", "primary key constraint"};
  const char **columns = column_names(s);
  const char *twice;
  tarn_status st;
  if (columns == NULL) {
    return tn_oom(err);
  }
  twice = find_twice(columns, s->n_fields, s->arena.mem, &st, err);
  TN_TRY(st);
  if (twice != NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "Table column %s must not contain duplicate fields. Found: [%s]",
                   text_of(columns, s->n_fields).text, twice);
  }
  TN_TRY(check_keys(s, columns, s->partition_keys, s->n_partition_keys, &partition, err));
  TN_TRY(check_keys(s, columns, s->primary_keys, s->n_primary_keys, &primary, err));
  for (int32_t i = 0; i < s->n_fields; i++) {
    if (has_name(s->primary_keys, s->n_primary_keys, s->fields[i].name)) {
      s->fields[i].type.is_nullable = false;
    }
  }
  return TARN_OK;
}

tarn_status tn_schema_normalize(tn_schema *schema, const tn_option *defaults, int32_t n_defaults,
                                tarn_error *err) {
  tn_java_map options;
  tn_java_map_init(&options, &schema->arena, (size_t)schema->n_options);
  for (int32_t i = 0; i < schema->n_options; i++) {
    TN_TRY(tn_java_map_put(&options, schema->options[i].key, schema->options[i].value, err));
  }
  TN_TRY(take_keys(schema, &options, "partition", "partition", &schema->partition_keys,
                   &schema->n_partition_keys, err));
  TN_TRY(take_keys(schema, &options, "primary-key", "primary key", &schema->primary_keys,
                   &schema->n_primary_keys, err));
  TN_TRY(normalize_fields(schema, err));
  for (int32_t i = 0; i < n_defaults; i++) {
    if (tn_java_map_get(&options, defaults[i].key) == NULL) {
      TN_TRY(tn_java_map_put(&options, defaults[i].key, defaults[i].value, err));
    }
  }
  TN_TRY(tn_java_map_sort(&options, err));
  schema->options = options.items;
  schema->n_options = (int32_t)options.count;
  return TARN_OK;
}

/* ------------------------------------------------------------------ what checks look at */

typedef struct check {
  tn_schema *schema;
  tn_arena *arena;
  const char **columns; /* names */
  tn_options options;
  bool has_key;
  name_list bucket_keys; /* of the option, or the trimmed primary key */
  /* options that several rules ask for */
  int64_t bucket;
  int32_t engine, producer;
  bool vectors, row_tracking, evolution, clustering_override;
  name_list sequence;
} check;

static const char *get(const check *c, const char *key) {
  return tn_options_get(&c->options, key);
}

static const tn_field *find_field(const check *c, const char *name) {
  int32_t i = tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(name));
  return i >= 0 ? &c->schema->fields[i] : NULL;
}

static tarn_status is_on(const check *c, const char *key, bool *out, tarn_error *err) {
  return tn_options_bool(&c->options, key, out, err);
}

static const char *const producers[] = {"none", "input", "full-compaction", "lookup"};
static const char *const engines[] = {"deduplicate", "partial-update", "aggregation", "first-row"};

static tarn_status read_options(check *c, tarn_error *err) {
  static const struct {
    const char *key;
    size_t offset;
  } flags[] = {
      {"deletion-vectors.enabled", offsetof(check, vectors)},
      {"row-tracking.enabled", offsetof(check, row_tracking)},
      {"data-evolution.enabled", offsetof(check, evolution)},
      {"pk-clustering-override", offsetof(check, clustering_override)},
  };
  for (size_t i = 0; i < TN_COUNT(flags); i++) {
    TN_TRY(is_on(c, flags[i].key, (bool *)((char *)c + flags[i].offset), err));
  }
  TN_TRY(tn_options_int(&c->options, "bucket", &c->bucket, NULL, err));
  TN_TRY(tn_options_enum(&c->options, "merge-engine", &c->engine, err));
  TN_TRY(tn_options_enum(&c->options, "changelog-producer", &c->producer, err));
  return split(c->arena, get(c, "sequence.field"), SPLIT_TRIM, &c->sequence, err);
}

/* ------------------------------------------------------------------ kinds of tables */

static tarn_status check_kind(check *c, tarn_error *err) {
  static const struct {
    const char *key;
    const char *allowed; /* comma separated, without case */
    const char *what;
  } kinds[] = {
      {"type", "table,materialized-table", "the kind of table"},
      {"chain-table.enabled", "false", "chain tables"},
      {"query-auth.enabled", "false", "rights that a catalog gives"},
  };
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    const char *value = get(c, kinds[i].key);
    name_list allowed;
    bool is_allowed = value == NULL;
    TN_TRY(split(c->arena, kinds[i].allowed, SPLIT_PLAIN, &allowed, err));
    for (int32_t k = 0; k < allowed.n && !is_allowed; k++) {
      is_allowed = tn_slice_is_nocase(tn_slice_text(value), allowed.names[k]);
    }
    if (!is_allowed) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "option '%s' = '%s' is not supported by this release (%s)", kinds[i].key,
                     value, kinds[i].what);
    }
  }
  return TARN_OK;
}

/* Rule: types.RowType.validateFields, at every depth. Deeper than types may be nested it does not
 * go. */
static tarn_status check_names(const tn_field *fields, int32_t n, int32_t depth, tarn_error *err) {
  for (int32_t i = 0; i < n && depth <= TN_MAX_TYPE_DEPTH; i++) {
    const tn_type *type = &fields[i].type;
    if (is_blank(fields[i].name)) {
      return tn_fail(err, TARN_E_INVALID,
                     "Field names must contain at least one non-whitespace character.");
    }
    if (tn_type_is_nested(type)) {
      TN_TRY(check_names(type->fields, type->n_fields, depth + 1, err));
    }
  }
  return TARN_OK;
}

static tarn_status check_field_names(check *c, tarn_error *err) {
  return check_names(c->schema->fields, c->schema->n_fields, 1, err);
}

/* ------------------------------------------------------------------ keys */

/* Rule: TableSchema.trimmedPrimaryKeys. */
static tarn_status check_trimmed_key(check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  if (!c->has_key) {
    return TARN_OK;
  }
  c->bucket_keys.names =
      tn_arena_calloc(c->arena, (size_t)s->n_primary_keys, sizeof(*c->bucket_keys.names));
  if (c->bucket_keys.names == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < s->n_primary_keys; i++) {
    if (!has_name(s->partition_keys, s->n_partition_keys, s->primary_keys[i])) {
      c->bucket_keys.names[c->bucket_keys.n++] = s->primary_keys[i];
    }
  }
  if (c->bucket_keys.n == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "Primary key constraint %s should not be same with partition fields %s, this "
                   "will result in only one record in a partition",
                   text_of(s->primary_keys, s->n_primary_keys).text,
                   text_of(s->partition_keys, s->n_partition_keys).text);
  }
  return TARN_OK;
}

/* Rule: TableSchema.originalBucketKeys. */
static tarn_status check_bucket_keys(check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  const char *list = get(c, "bucket-key");
  name_list keys;
  if (is_blank(list)) {
    return TARN_OK;
  }
  TN_TRY(split(c->arena, list, SPLIT_PLAIN, &keys, err));
  if (!has_all(c->columns, s->n_fields, keys.names, keys.n)) {
    return tn_fail(err, TARN_E_INVALID, "Field names %s should contains all bucket keys %s.",
                   text_of(c->columns, s->n_fields).text, text_of(keys.names, keys.n).text);
  }
  for (int32_t i = 0; i < keys.n; i++) {
    if (has_name(s->partition_keys, s->n_partition_keys, keys.names[i])) {
      return tn_fail(err, TARN_E_INVALID, "Bucket keys %s should not in partition keys %s.",
                     text_of(keys.names, keys.n).text,
                     text_of(s->partition_keys, s->n_partition_keys).text);
    }
  }
  if (c->has_key && !has_all(s->primary_keys, s->n_primary_keys, keys.names, keys.n)) {
    return tn_fail(err, TARN_E_INVALID, "Primary keys %s should contains all bucket keys %s.",
                   text_of(s->primary_keys, s->n_primary_keys).text,
                   text_of(keys.names, keys.n).text);
  }
  c->bucket_keys = keys;
  return TARN_OK;
}

/* Types that cannot be (part of) a key, with the names of their Java classes. 1.4.2 lets VECTOR and
 * VARIANT pass, which later releases refuse: they have no order. */
static const char *const no_key_types[TN_N_TYPE_ROOTS] = {
    [TN_MAP] = "MapType",           [TN_ARRAY] = "ArrayType",   [TN_ROW] = "RowType",
    [TN_MULTISET] = "MultisetType", [TN_VECTOR] = "VectorType", [TN_VARIANT] = "VariantType",
};

static tarn_status check_key_types(check *c, const char *const *keys, int32_t n, const char *what,
                                   tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    const tn_field *field = find_field(c, keys[i]);
    if (field == NULL) {
      return tn_fail(err, TARN_E_INVALID, "Cannot find field: %s", keys[i]);
    }
    if (no_key_types[field->type.root] != NULL) {
      return tn_fail(err, TARN_E_INVALID, "The type %s in %s field %s is unsupported",
                     no_key_types[field->type.root], what, keys[i]);
    }
  }
  return TARN_OK;
}

static tarn_status check_types_of_keys(check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  const char *upsert = get(c, "upsert-key");
  name_list keys = {NULL, 0};
  TN_TRY(check_key_types(c, s->primary_keys, s->n_primary_keys, "primary key", err));
  TN_TRY(check_key_types(c, s->partition_keys, s->n_partition_keys, "partition", err));
  if (upsert != NULL && upsert[0] != '\0') {
    TN_TRY(split(c->arena, upsert, SPLIT_PLAIN, &keys, err));
  }
  TN_TRY(check_key_types(c, keys.names, keys.n, "upsert key", err));
  if (keys.n > 0 && c->has_key) {
    return tn_fail(err, TARN_E_INVALID, "Cannot define 'upsert-key' %s with 'primary-key' %s.",
                   text_of(keys.names, keys.n).text,
                   text_of(s->primary_keys, s->n_primary_keys).text);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ buckets */

static tarn_status check_bucket_types(check *c, tarn_error *err) {
  name_list nested = {NULL, 0};
  nested.names = tn_arena_calloc(c->arena, (size_t)c->schema->n_fields + 1, sizeof(*nested.names));
  if (nested.names == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    if (tn_type_is_nested(&f->type) && has_name(c->bucket_keys.names, c->bucket_keys.n, f->name)) {
      nested.names[nested.n++] = f->name;
    }
  }
  return nested.n == 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "nested type can not in bucket-key, in your table these key are %s",
                       text_of(nested.names, nested.n).text);
}

/* Rule: SchemaValidation.validateBucket. */
static tarn_status check_bucket(check *c, tarn_error *err) {
  if (c->bucket == -1) {
    if (get(c, "bucket-key") != NULL) {
      return tn_fail(err, TARN_E_INVALID,
                     "Cannot define 'bucket-key' with bucket = -1, please remove the 'bucket-key' "
                     "setting or specify a bucket number.");
    }
    if (!c->has_key && get(c, "full-compaction.delta-commits") != NULL) {
      return tn_fail(err, TARN_E_INVALID,
                     "AppendOnlyTable of unaware or dynamic bucket does not support "
                     "'full-compaction.delta-commits'");
    }
    return TARN_OK;
  }
  if (c->bucket < 1 && !(c->bucket == -2 && c->has_key)) {
    return tn_fail(err, TARN_E_INVALID, "The number of buckets needs to be greater than 0.");
  }
  if (!c->has_key && c->bucket_keys.n == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "You should define a 'bucket-key' for bucketed append mode.");
  }
  return check_bucket_types(c, err);
}

/* ------------------------------------------------------------------ scan.mode */

/* What a scan mode wants of the options that say where to start. */
static const struct {
  const char *mode;
  const char *one_of;    /* exactly one of these */
  const char *needs;     /* or this */
  const char *forbidden; /* these not at all */
  const char *instead;   /* for the message */
} mode_rules[] = {
    {"from-timestamp", "scan.timestamp-millis,scan.timestamp", NULL,
     "scan.snapshot-id,scan.file-creation-time-millis,scan.tag-name,incremental-between-timestamp,"
     "incremental-between,incremental-to-auto-tag",
     "scan.timestamp-millis,scan.timestamp"},
    {"from-snapshot", "scan.snapshot-id,scan.tag-name,scan.watermark", NULL,
     "scan.timestamp-millis,scan.timestamp,scan.file-creation-time-millis,"
     "incremental-between-timestamp,incremental-between,incremental-to-auto-tag",
     "scan.snapshot-id,scan.tag-name"},
    {"incremental", "incremental-between,incremental-between-timestamp,incremental-to-auto-tag",
     NULL,
     "scan.snapshot-id,scan.timestamp-millis,scan.file-creation-time-millis,scan.timestamp,"
     "scan.tag-name",
     "incremental-between,incremental-between-timestamp,incremental-to-auto-tag"},
    {"from-snapshot-full", NULL, "scan.snapshot-id",
     "scan.timestamp-millis,scan.timestamp,scan.file-creation-time-millis,scan.tag-name,"
     "incremental-between-timestamp,incremental-between,incremental-to-auto-tag",
     "scan.snapshot-id"},
    {"from-file-creation-time", NULL, "scan.file-creation-time-millis",
     "scan.snapshot-id,scan.timestamp-millis,scan.tag-name,incremental-between-timestamp,"
     "incremental-between,incremental-to-auto-tag",
     "scan.file-creation-time-millis"},
    /* the others */
    {NULL, NULL, NULL,
     "scan.timestamp-millis,scan.file-creation-time-millis,scan.timestamp,scan.snapshot-id,"
     "scan.tag-name,incremental-between-timestamp,incremental-between,incremental-to-auto-tag",
     NULL},
};

/* Rule: CoreOptions.startupMode. */
static const char *scan_mode(const check *c) {
  static const struct {
    const char *key;
    const char *mode;
  } implied[] = {
      {"scan.timestamp-millis", "from-timestamp"},
      {"scan.timestamp", "from-timestamp"},
      {"scan.snapshot-id", "from-snapshot"},
      {"scan.tag-name", "from-snapshot"},
      {"scan.watermark", "from-snapshot"},
      {"scan.version", "from-snapshot"},
      {"scan.file-creation-time-millis", "from-file-creation-time"},
      {"scan.creation-time-millis", "from-creation-timestamp"},
      {"incremental-between", "incremental"},
      {"incremental-between-timestamp", "incremental"},
  };
  const char *mode = get(c, "scan.mode");
  if (mode != NULL && !tn_slice_is_nocase(tn_slice_text(mode), "default")) {
    return tn_slice_is_nocase(tn_slice_text(mode), "full") ? "latest-full" : mode;
  }
  for (size_t i = 0; i < TN_COUNT(implied); i++) {
    if (get(c, implied[i].key) != NULL) {
      return implied[i].mode;
    }
  }
  return "latest-full";
}

static tarn_status count_set(const check *c, const char *list, int32_t *n_set, const char **first,
                             tarn_error *err) {
  name_list keys;
  *n_set = 0;
  TN_TRY(split(c->arena, list, SPLIT_PLAIN, &keys, err));
  for (int32_t i = 0; i < keys.n; i++) {
    if (get(c, keys.names[i]) != NULL && (*n_set)++ == 0) {
      *first = keys.names[i];
    }
  }
  return TARN_OK;
}

/* Rule: SchemaValidation.validateStartupMode. */
static tarn_status check_scan_mode(check *c, tarn_error *err) {
  const char *mode, *first = NULL;
  int32_t n_set, value;
  size_t i = 0;
  TN_TRY(tn_options_enum(&c->options, "scan.mode", &value, err));
  mode = scan_mode(c);
  while (mode_rules[i].mode != NULL &&
         !tn_slice_is_nocase(tn_slice_text(mode), mode_rules[i].mode)) {
    i++;
  }
  if (mode_rules[i].one_of != NULL) {
    TN_TRY(count_set(c, mode_rules[i].one_of, &n_set, &first, err));
    if (n_set != 1) {
      return tn_fail(err, TARN_E_INVALID,
                     "must set only one key in [%s] when you use %s for scan.mode",
                     mode_rules[i].one_of, mode);
    }
  }
  if (mode_rules[i].needs != NULL && get(c, mode_rules[i].needs) == NULL) {
    return tn_fail(err, TARN_E_INVALID, "%s can not be null when you use %s for scan.mode",
                   mode_rules[i].needs, mode);
  }
  TN_TRY(count_set(c, mode_rules[i].forbidden, &n_set, &first, err));
  if (n_set == 0) {
    return TARN_OK;
  }
  return mode_rules[i].instead != NULL
             ? tn_fail(err, TARN_E_INVALID, "[%s] must be null when you set [%s]", first,
                       mode_rules[i].instead)
             : tn_fail(err, TARN_E_INVALID, "%s must be null when you use %s for scan.mode", first,
                       mode);
}

/* ------------------------------------------------------------------ merging */

#define FIELDS "fields."

/* Rule: SchemaValidation.validateFieldsPrefix. */
static tarn_status check_fields_options(check *c, tarn_error *err) {
  for (int32_t i = 0; i < c->options.count; i++) {
    const char *key = c->options.items[i].key, *names, *end;
    char *list;
    name_list columns;
    if (strncmp(key, FIELDS, strlen(FIELDS)) != 0) {
      continue;
    }
    names = key + strlen(FIELDS);
    end = strchr(names, '.');
    list = tn_arena_strndup(c->arena, names, end != NULL ? (size_t)(end - names) : strlen(names));
    if (list == NULL) {
      return tn_oom(err);
    }
    TN_TRY(split(c->arena, list, SPLIT_PLAIN, &columns, err));
    for (int32_t k = 0; k < columns.n; k++) {
      if (strcmp(columns.names[k], "default-aggregate-function") != 0 &&
          find_field(c, columns.names[k]) == NULL) {
        return tn_fail(err, TARN_E_INVALID, "Field %s can not be found in table schema.",
                       columns.names[k]);
      }
    }
  }
  return TARN_OK;
}

/* fields.<column>.<suffix>; NULL: not set. */
static tarn_status get_of_column(const check *c, const char *column, const char *suffix,
                                 const char **out, tarn_error *err) {
  const char *key = tn_arena_printf(c->arena, FIELDS "%s.%s", column, suffix);
  if (key == NULL) {
    return tn_oom(err);
  }
  *out = get(c, key);
  return TARN_OK;
}

/* Rule: SchemaValidation.validateSequenceField. */
static tarn_status check_sequence(check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  if (c->sequence.n == 0) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < c->sequence.n; i++) {
    const char *name = c->sequence.names[i], *function;
    if (find_field(c, name) == NULL) {
      return tn_fail(err, TARN_E_INVALID, "Sequence field: '%s' can not be found in table schema.",
                     name);
    }
    TN_TRY(get_of_column(c, name, "aggregate-function", &function, err));
    if (function != NULL) {
      return tn_fail(err, TARN_E_INVALID, "Should not define aggregation on sequence field: '%s'.",
                     name);
    }
    if (has_name(c->sequence.names, i, name) ||
        has_name(c->sequence.names + i + 1, c->sequence.n - i - 1, name)) {
      return tn_fail(err, TARN_E_INVALID, "Sequence field '%s' is defined repeatedly.", name);
    }
  }
  if (c->engine == TN_ENGINE_FIRST_ROW) {
    return tn_fail(err, TARN_E_INVALID,
                   "Do not support use sequence field on FIRST_ROW merge engine.");
  }
  if (c->has_key &&
      !has_all(s->primary_keys, s->n_primary_keys, s->partition_keys, s->n_partition_keys)) {
    return tn_fail(err, TARN_E_INVALID,
                   "You can not use sequence.field in cross partition update case (Primary key "
                   "constraint '%s' not include all partition fields '%s').",
                   text_of(s->primary_keys, s->n_primary_keys).text,
                   text_of(s->partition_keys, s->n_partition_keys).text);
  }
  return TARN_OK;
}

#define GROUP_SUFFIX ".sequence-group"
#define IGNORE_DELETE "ignore-delete"
#define REMOVE_ON_DELETE "partial-update.remove-record-on-delete"
#define REMOVE_ON_GROUP "partial-update.remove-record-on-sequence-group"

/* A column of partial-update. */
typedef struct group_place {
  int32_t group; /* -1: none */
  bool orders;
} group_place;

static tarn_status join_group(const check *c, group_place *places, const char *name, int32_t group,
                              bool orders, const char *option, tarn_error *err) {
  int32_t at = tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(name));
  if (at < 0) {
    return tn_fail(err, TARN_E_INVALID, "Field %s can not be found in table schema", name);
  }
  if (places[at].group >= 0 && places[at].group != group && !(orders && places[at].orders)) {
    return tn_fail(err, TARN_E_INVALID, "Field %s is defined repeatedly by multiple groups: %s",
                   name, option);
  }
  places[at].group = group;
  places[at].orders = places[at].orders || orders;
  return TARN_OK;
}

static tarn_status read_groups(const check *c, group_place *places, int32_t *n_groups,
                               tarn_error *err) {
  *n_groups = 0;
  for (int32_t i = 0; i < c->options.count; i++) {
    const tn_option *o = &c->options.items[i];
    size_t n = strlen(o->key), around = strlen(FIELDS) + strlen(GROUP_SUFFIX);
    name_list names;
    char *list;
    if (n <= around || strncmp(o->key, FIELDS, strlen(FIELDS)) != 0 ||
        strcmp(o->key + n - strlen(GROUP_SUFFIX), GROUP_SUFFIX) != 0) {
      continue;
    }
    list = tn_arena_strndup(c->arena, o->key + strlen(FIELDS), n - around);
    if (list == NULL) {
      return tn_oom(err);
    }
    TN_TRY(split(c->arena, list, SPLIT_PLAIN, &names, err));
    for (int32_t k = 0; k < names.n; k++) {
      TN_TRY(join_group(c, places, names.names[k], *n_groups, true, o->key, err));
    }
    TN_TRY(split(c->arena, o->value, SPLIT_PLAIN, &names, err));
    for (int32_t k = 0; k < names.n; k++) {
      if (has_name(names.names, k, names.names[k])) {
        return tn_fail(err, TARN_E_INVALID, "Field %s is defined repeatedly by multiple groups: %s",
                       names.names[k], o->key);
      }
      TN_TRY(join_group(c, places, names.names[k], *n_groups, false, o->key, err));
    }
    ++*n_groups;
  }
  return TARN_OK;
}

static tarn_status conflict(const char *first, const char *second, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "%s and %s have conflicting behavior so should not be enabled at the same time.",
                 first, second);
}

/* Rule: PartialUpdateMergeFunction.getAggFuncName. */
static tarn_status check_group_functions(const check *c, const group_place *places,
                                         tarn_error *err) {
  const char *otherwise = get(c, "fields.default-aggregate-function");
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *name = c->schema->fields[i].name, *function;
    if (places[i].orders || has_name(c->schema->primary_keys, c->schema->n_primary_keys, name)) {
      continue;
    }
    TN_TRY(get_of_column(c, name, "aggregate-function", &function, err));
    function = function != NULL ? function : otherwise;
    if (function != NULL && strcmp(function, "last_non_null_value") != 0 && places[i].group < 0) {
      return tn_fail(err, TARN_E_INVALID,
                     "Must use sequence group for aggregation functions but not found for field "
                     "%s.",
                     name);
    }
  }
  return TARN_OK;
}

static tarn_status check_removing_groups(const check *c, const group_place *places,
                                         const char *removing, tarn_error *err) {
  name_list names;
  TN_TRY(split(c->arena, removing, SPLIT_PLAIN, &names, err));
  for (int32_t i = 0; i < names.n; i++) {
    int32_t at =
        tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(names.names[i]));
    if (at < 0 || !places[at].orders) {
      return tn_fail(err, TARN_E_INVALID,
                     "field '%s' defined in '%s' option must be part of sequence groups", removing,
                     REMOVE_ON_GROUP);
    }
  }
  return TARN_OK;
}

/* Rule: PartialUpdateMergeFunction.Factory. */
static tarn_status check_partial_update(check *c, tarn_error *err) {
  const char *removing = get(c, REMOVE_ON_GROUP);
  bool ignores_delete, removes;
  int32_t n_groups;
  group_place *places;
  if (!c->has_key || c->engine != TN_ENGINE_PARTIAL_UPDATE) {
    return TARN_OK;
  }
  places = tn_arena_calloc(c->arena, (size_t)c->schema->n_fields + 1, sizeof(*places));
  if (places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    places[i].group = -1;
  }
  TN_TRY(is_on(c, IGNORE_DELETE, &ignores_delete, err));
  TN_TRY(is_on(c, REMOVE_ON_DELETE, &removes, err));
  TN_TRY(read_groups(c, places, &n_groups, err));
  TN_TRY(check_group_functions(c, places, err));
  if (removes && ignores_delete) {
    return conflict(IGNORE_DELETE, REMOVE_ON_DELETE, err);
  }
  if (removing != NULL && ignores_delete) {
    return conflict(IGNORE_DELETE, REMOVE_ON_GROUP, err);
  }
  if (removes && n_groups > 0) {
    return conflict("sequence-group", REMOVE_ON_DELETE, err);
  }
  return removing != NULL ? check_removing_groups(c, places, removing, err) : TARN_OK;
}

/* Rule: SchemaValidation.validateMergeFunctionFactory. */
static tarn_status check_functions(check *c, tarn_error *err) {
  static const char *const known[] = {
      "bool_and",
      "bool_or",
      "collect",
      "first_non_null_value",
      "first_not_null_value",
      "first_value",
      "hll_sketch",
      "last_non_null_value",
      "last_value",
      "listagg",
      "max",
      "merge_map",
      "merge_map_with_keytime",
      "min",
      "nested_partial_update",
      "nested_update",
      "primary-key",
      "product",
      "rbm32",
      "rbm64",
      "sum",
      "theta_sketch",
  };
  const char *otherwise = get(c, "fields.default-aggregate-function");
  if (!c->has_key || c->engine == TN_ENGINE_DEDUPLICATE || c->engine == TN_ENGINE_FIRST_ROW) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *function;
    TN_TRY(get_of_column(c, c->schema->fields[i].name, "aggregate-function", &function, err));
    function = function != NULL ? function : otherwise;
    if (function != NULL && !has_name(known, (int32_t)TN_COUNT(known), function)) {
      return tn_fail(err, TARN_E_INVALID,
                     "Could not find any factory for identifier '%s' that implements "
                     "'org.apache.paimon.mergetree.compact.aggregate.factory."
                     "FieldAggregatorFactory' in the classpath.",
                     function);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ changelogs, retention */

static tarn_status check_changelog(check *c, tarn_error *err) {
  bool overwrite;
  if (!c->has_key && c->producer != TN_CHANGELOG_NONE) {
    return tn_fail(err, TARN_E_INVALID,
                   "Can not set changelog-producer on table without primary keys, please define "
                   "primary keys.");
  }
  TN_TRY(is_on(c, "streaming-read-overwrite", &overwrite, err));
  if (overwrite &&
      (c->producer == TN_CHANGELOG_FULL_COMPACTION || c->producer == TN_CHANGELOG_LOOKUP)) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot set streaming-read-overwrite to true when changelog producer is "
                   "full-compaction or lookup because it will read duplicated changes.");
  }
  return TARN_OK;
}

static tarn_status check_retention(check *c, tarn_error *err) {
  static const struct {
    const char *min, *max;
  } kinds[] = {
      {"snapshot.num-retained.min", "snapshot.num-retained.max"},
      {"changelog.num-retained.min", "changelog.num-retained.max"}, /* otherwise the snapshots' */
  };
  int64_t min = 0, max = 0;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    int64_t value;
    bool is_set;
    TN_TRY(tn_options_int(&c->options, kinds[i].min, &value, &is_set, err));
    min = is_set || i == 0 ? value : min;
    TN_TRY(tn_options_int(&c->options, kinds[i].max, &value, &is_set, err));
    max = is_set || i == 0 ? value : max;
    if (min <= 0) {
      return tn_fail(err, TARN_E_INVALID, "%s should be at least 1", kinds[i].min);
    }
    if (min > max) {
      return tn_fail(err, TARN_E_INVALID, "%s should not be larger than %s", kinds[i].min,
                     kinds[i].max);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ files */

typedef enum file_format { PARQUET, AVRO, ORC, N_FORMATS } file_format;

static const char *const format_names[N_FORMATS] = {"parquet", "avro", "orc"};

static tarn_status find_format(const char *name, file_format *out, tarn_error *err) {
  static const char *const others[] = {"csv",   "json", "text",   "blob",
                                       "lance", "row",  "vortex", "mosaic"};
  for (size_t i = 0; i < TN_COUNT(format_names); i++) {
    if (tn_slice_is_nocase(tn_slice_text(name), format_names[i])) {
      *out = (file_format)i;
      return TARN_OK;
    }
  }
  for (size_t i = 0; i < TN_COUNT(others); i++) {
    if (tn_slice_is_nocase(tn_slice_text(name), others[i])) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "files of format '%s' are not supported by this release", others[i]);
    }
  }
  return tn_fail(err, TARN_E_INVALID,
                 "Could not find any factory for identifier '%s' that implements "
                 "FileFormatFactory in the classpath.",
                 name);
}

/* Names of Avro records: letters, digits and underscores; those of other alphabets are letters. */
static tarn_status check_avro_name(const char *name, tarn_error *err) {
  for (const char *at = name; *at != '\0'; at++) {
    uint8_t b = (uint8_t)*at;
    if (tn_is_letter(b) || b == '_' || b >= 0x80 || (tn_is_digit(b) && at > name)) {
      continue;
    }
    return tn_fail(err, TARN_E_INVALID,
                   at == name ? "Illegal initial character: %s" : "Illegal character in: %s", name);
  }
  return TARN_OK;
}

static tarn_status unsupported_type(const char *words, const tn_type *type, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "%s%s%s", words, tn_type_text_of(type).text,
                 type->is_nullable ? "" : " NOT NULL");
}

static tarn_status check_parquet_type(const tn_type *type, tarn_error *err) {
  return type->root == TN_VECTOR ? unsupported_type("Unsupported type: ", type, err) : TARN_OK;
}

static tarn_status check_orc_type(const tn_type *type, tarn_error *err) {
  tn_type nullable = *type;
  nullable.is_nullable = true;
  return type->root == TN_VECTOR || type->root == TN_VARIANT
             ? unsupported_type("Unsupported type: ", &nullable, err)
             : TARN_OK;
}

static tarn_status check_avro_type(const tn_type *type, tarn_error *err) {
  switch (type->root) {
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return type->precision <= 6
                 ? TARN_OK
                 : tn_fail(err, TARN_E_INVALID,
                           "Avro does not support TIMESTAMP type with precision: %d, it only "
                           "supports precision less than 6.",
                           (int)type->precision);
    case TN_TIME:
      return type->precision <= 3
                 ? TARN_OK
                 : tn_fail(err, TARN_E_INVALID,
                           "Avro does not support TIME type with precision: %d, it only supports "
                           "precision less than 3.",
                           (int)type->precision);
    case TN_VARIANT:
      return unsupported_type("Unsupported to derive Schema for type: ", type, err);
    case TN_ROW:
      for (int32_t i = 0; i < type->n_fields; i++) {
        TN_TRY(check_avro_name(type->fields[i].name, err));
      }
      return TARN_OK;
    default:
      return TARN_OK;
  }
}

typedef tarn_status (*type_rule)(const tn_type *type, tarn_error *err);

static const type_rule type_rules[N_FORMATS] = {check_parquet_type, check_avro_type,
                                                check_orc_type};

/* A type with all inside of it. */
static tarn_status check_stored_type(const tn_type *type, type_rule rule, int32_t depth,
                                     tarn_error *err) {
  TN_TRY(rule(type, err));
  for (int32_t i = 0; i < type->n_fields && depth <= TN_MAX_TYPE_DEPTH; i++) {
    TN_TRY(check_stored_type(&type->fields[i].type, rule, depth + 1, err));
  }
  return TARN_OK;
}

/* Columns of options that must be BLOBs. Rules: validateBlobDescriptorFields,
 * validateBlobExternalStorageFields. */
static tarn_status check_blob_columns(check *c, name_list *descriptors, tarn_error *err) {
  static const char *const keys[] = {"blob-descriptor-field", "blob-external-storage-field"};
  const char *path = get(c, "blob-external-storage-path");
  name_list lists[2];
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    TN_TRY(split(c->arena, get(c, keys[i]), SPLIT_NONEMPTY, &lists[i], err));
    for (int32_t k = 0; k < lists[i].n; k++) {
      const char *name = lists[i].names[k];
      const tn_field *field = find_field(c, name);
      if (field == NULL || field->type.root != TN_BLOB) {
        return tn_fail(err, TARN_E_INVALID,
                       "Field '%s' in '%s' must be a BLOB field in table "
                       "schema.",
                       name, keys[i]);
      }
      if (i == 1 && !has_name(lists[0].names, lists[0].n, name)) {
        return tn_fail(err, TARN_E_INVALID, "Field '%s' in '%s' must also be in '%s'.", name,
                       keys[1], keys[0]);
      }
    }
  }
  if (lists[1].n > 0 && (path == NULL || path[0] == '\0')) {
    return tn_fail(err, TARN_E_INVALID,
                   "'blob-external-storage-path' must be set when '%s' is configured.", keys[1]);
  }
  *descriptors = lists[0];
  return TARN_OK;
}

static tarn_status check_file_format(check *c, tarn_error *err) {
  const char *name = get(c, "file.format");
  bool vectors_apart = get(c, "vector.file.format") != NULL;
  name_list descriptors;
  file_format format;
  TN_TRY(find_format(name != NULL ? name : format_names[PARQUET], &format, err));
  TN_TRY(check_blob_columns(c, &descriptors, err));
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    bool is_apart =
        (f->type.root == TN_VECTOR && vectors_apart) ||
        (f->type.root == TN_BLOB && !has_name(descriptors.names, descriptors.n, f->name));
    if (!is_apart) {
      TN_TRY(check_stored_type(&f->type, type_rules[format], 1, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ names that are taken */

static tarn_status check_reserved_names(check *c, tarn_error *err) {
  static const char *const reserved[] = {"_VALUE_KIND", "_ROW_ID", "rowkind", "_LEVEL",
                                         "_SEQUENCE_NUMBER"};
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *name = c->columns[i];
    if (has_name(reserved, (int32_t)TN_COUNT(reserved), name)) {
      return tn_fail(err, TARN_E_INVALID, "Field name[%s] in schema cannot be exist in %s", name,
                     text_of(reserved, (int32_t)TN_COUNT(reserved)).text);
    }
    if (strncmp(name, "_KEY_", 5) == 0) {
      return tn_fail(err, TARN_E_INVALID, "Field name[%s] in schema cannot start with [_KEY_]",
                     name);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ single options */

static tarn_status check_append_overwrite(check *c, tarn_error *err) {
  bool overwrite;
  TN_TRY(is_on(c, "streaming-read-overwrite", &overwrite, err));
  return !overwrite || c->has_key
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Doesn't support streaming read the changes from overwrite when the primary "
                       "keys are not defined. Please use streaming-read-append-overwrite to enable "
                       "the streaming read overwrite commit for append table.");
}

static tarn_status check_partition_expiry(check *c, tarn_error *err) {
  return get(c, "partition.expiration-time") == NULL || c->schema->n_partition_keys > 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Can not set 'partition.expiration-time' for non-partitioned table.");
}

static tarn_status check_record_expiry(check *c, tarn_error *err) {
  const char *name = get(c, "record-level.time-field");
  const tn_field *field = name != NULL ? find_field(c, name) : NULL;
  if (name == NULL) {
    return TARN_OK;
  }
  if (field == NULL) {
    return tn_fail(err, TARN_E_INVALID, "Can not find time field %s for record level expire.",
                   name);
  }
  switch (field->type.root) {
    case TN_INT:
    case TN_BIGINT:
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return TARN_OK;
    default:
      return unsupported_type(
          "The record level time field type should be one of INT, BIGINT, or "
          "TIMESTAMP, but field type is ",
          &field->type, err);
  }
}

static tarn_status check_first_row(check *c, tarn_error *err) {
  return c->engine != TN_ENGINE_FIRST_ROW || c->producer == TN_CHANGELOG_LOOKUP ||
                 c->producer == TN_CHANGELOG_NONE
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge "
                       "engine");
}

static tarn_status check_rowkind(check *c, tarn_error *err) {
  const char *name = get(c, "rowkind.field");
  return name == NULL || find_field(c, name) != NULL
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Rowkind field: '%s' can not be found in table schema.",
                       name);
}

/* Rule: SchemaValidation.validateForDeletionVectors. */
static tarn_status check_deletion_vectors(check *c, tarn_error *err) {
  if (!c->vectors) {
    return TARN_OK;
  }
  if (c->producer == TN_CHANGELOG_FULL_COMPACTION) {
    return tn_fail(err, TARN_E_INVALID,
                   "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog "
                   "producer now.");
  }
  return c->clustering_override || c->engine != TN_ENGINE_FIRST_ROW
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "First row merge engine does not need deletion vectors because there is no "
                       "deletion of old data in this merge engine.");
}

static tarn_status check_vector_columns(check *c, tarn_error *err) {
  const char *list = get(c, "vector-field");
  name_list names;
  if (is_blank(list)) {
    return TARN_OK;
  }
  TN_TRY(split(c->arena, list, SPLIT_PLAIN, &names, err));
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    if (has_name(names.names, names.n, f->name) && f->type.root != TN_VECTOR) {
      return tn_fail(err, TARN_E_INVALID,
                     "Field name[%s] is configured as vector-field so the type must be vector, but "
                     "it is %s%s",
                     f->name, tn_type_text_of(&f->type).text,
                     f->type.is_nullable ? "" : " NOT NULL");
    }
  }
  return has_all(c->columns, c->schema->n_fields, names.names, names.n)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Some of the columns specified as vector-field are unknown.");
}

/* ------------------------------------------------------------------ row tracking */

static tarn_status check_evolution(check *c, tarn_error *err) {
  bool incremental;
  if (!c->evolution) {
    return TARN_OK;
  }
  if (!c->row_tracking) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data evolution config must enabled with row-tracking.enabled");
  }
  if (c->vectors) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data evolution config must disabled with deletion-vectors.enabled");
  }
  TN_TRY(is_on(c, "clustering.incremental", &incremental, err));
  return incremental ? tn_fail(err, TARN_E_INVALID,
                               "Data evolution config must disabled with clustering.incremental")
                     : TARN_OK;
}

static tarn_status check_blobs(check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  int32_t n_blobs = 0;
  bool in_partition = false;
  for (int32_t i = 0; i < s->n_fields; i++) {
    if (s->fields[i].type.root == TN_BLOB) {
      n_blobs++;
      in_partition =
          in_partition || has_name(s->partition_keys, s->n_partition_keys, s->fields[i].name);
    }
  }
  if (n_blobs == 0) {
    return TARN_OK;
  }
  if (!c->evolution) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data evolution config must enabled for table with BLOB type column.");
  }
  if (n_blobs == s->n_fields) {
    return tn_fail(err, TARN_E_INVALID,
                   "Table with BLOB type column must have other normal columns.");
  }
  return in_partition ? tn_fail(err, TARN_E_INVALID,
                                "The BLOB type column can not be part of partition keys.")
                      : TARN_OK;
}

static tarn_status check_vector_files(check *c, tarn_error *err) {
  const char *name = get(c, "vector.file.format");
  file_format format;
  if (name == NULL) {
    return TARN_OK;
  }
  TN_TRY(find_format(name, &format, err));
  if (!c->evolution) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data evolution config must enabled for table with vector-store file format.");
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    if (c->schema->fields[i].type.root == TN_VECTOR) {
      TN_TRY(check_stored_type(&c->schema->fields[i].type, type_rules[format], 1, err));
    }
  }
  return TARN_OK;
}

/* Rule: SchemaValidation.validateRowTracking. */
static tarn_status check_row_tracking(check *c, tarn_error *err) {
  if (c->row_tracking && c->bucket != -1) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot define bucket for row tracking table, it only support bucket = -1");
  }
  if (c->row_tracking && c->has_key) {
    return tn_fail(err, TARN_E_INVALID, "Cannot define primary-key for row tracking table.");
  }
  TN_TRY(check_evolution(c, err));
  TN_TRY(check_blobs(c, err));
  return check_vector_files(c, err);
}

/* ------------------------------------------------------------------ clustering */

static tarn_status check_incremental_clustering(check *c, tarn_error *err) {
  bool incremental, ordered;
  TN_TRY(is_on(c, "clustering.incremental", &incremental, err));
  if (!incremental) {
    return TARN_OK;
  }
  if (c->has_key) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot define primary-key for incremental clustering table.");
  }
  TN_TRY(is_on(c, "bucket-append-ordered", &ordered, err));
  if (c->bucket != -1 && ordered) {
    return tn_fail(err, TARN_E_INVALID,
                   "bucket-append-ordered must be false for incremental clustering table.");
  }
  return c->bucket != -1 && c->vectors
             ? tn_fail(err, TARN_E_INVALID,
                       "Cannot enable deletion-vectors for incremental clustering table which "
                       "bucket is not -1.")
             : TARN_OK;
}

static tarn_status check_sequence_numbers(check *c, tarn_error *err) {
  bool reads;
  TN_TRY(is_on(c, "table-read.sequence-number.enabled", &reads, err));
  return !reads || c->has_key
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Cannot enable 'table-read.sequence-number.enabled' for non-primary-key "
                       "table. Sequence number is only available for primary key tables.");
}

#define IN_OVERRIDE "in 'pk-clustering-override' mode."

/* Rule: SchemaValidation.validatePkClusteringOverride. */
static tarn_status check_clustering_override(check *c, tarn_error *err) {
  const char *columns = get(c, "clustering.columns");
  if (!c->clustering_override) {
    return TARN_OK;
  }
  if (columns == NULL || columns[0] == '\0') {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot support 'pk-clustering-override' mode without 'clustering.columns'.");
  }
  if (!c->vectors) {
    return tn_fail(err, TARN_E_INVALID, "Cannot support deletion-vectors disabled " IN_OVERRIDE);
  }
  if (get(c, "record-level.expire-time") != NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot support record level expire time enabled " IN_OVERRIDE);
  }
  if (c->engine != TN_ENGINE_DEDUPLICATE && c->engine != TN_ENGINE_FIRST_ROW) {
    return tn_fail(err, TARN_E_INVALID, "Cannot support merge engine: %s " IN_OVERRIDE,
                   engines[c->engine]);
  }
  if (c->sequence.n > 0) {
    return tn_fail(err, TARN_E_INVALID, "Cannot support sequence field: %s " IN_OVERRIDE,
                   text_of(c->sequence.names, c->sequence.n).text);
  }
  return c->producer == TN_CHANGELOG_NONE || c->producer == TN_CHANGELOG_INPUT
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Cannot support changelog producer: %s " IN_OVERRIDE,
                       producers[c->producer]);
}

/* ------------------------------------------------------------------ all of them */

/* In the order of Java, so that of two faults the same one is told. */
static tarn_status (*const checks[])(check *c, tarn_error *err) = {
    check_kind,
    check_field_names,
    check_trimmed_key,
    check_bucket_keys,
    check_types_of_keys,
    check_bucket,
    check_scan_mode,
    check_fields_options,
    check_sequence,
    check_partial_update,
    check_changelog,
    check_retention,
    check_file_format,
    check_reserved_names,
    check_append_overwrite,
    check_partition_expiry,
    check_record_expiry,
    check_first_row,
    check_rowkind,
    check_deletion_vectors,
    check_vector_columns,
    check_functions,
    check_row_tracking,
    check_incremental_clustering,
    check_sequence_numbers,
    check_clustering_override,
};

tarn_status tn_schema_check(tn_schema *schema, tarn_error *err) {
  check c = {.schema = schema, .arena = &schema->arena, .has_key = schema->n_primary_keys > 0};
  c.columns = column_names(schema);
  if (c.columns == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_options_merge(c.arena, schema, NULL, 0, &c.options, err));
  TN_TRY(read_options(&c, err));
  for (size_t i = 0; i < TN_COUNT(checks); i++) {
    TN_TRY(checks[i](&c, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ values of options */

tarn_status tn_schema_check_option(tarn_env *env, const char *key, const char *value,
                                   tarn_error *err) {
  const tn_option_info *info = tn_option_find(key);
  tn_option item = {key, value};
  tn_options options = {&item, 1};
  int64_t number;
  int32_t place;
  bool flag;
  if (info == NULL) {
    const char *near = tn_option_nearest(key);
    tn_log(env, TARN_LOG_WARN, "option=%s message=\"unknown table option is kept\"%s%s", key,
           near != NULL ? " nearest=" : "", near != NULL ? near : "");
    return TARN_OK;
  }
  switch (info->type) {
    case TN_OPT_BOOLEAN:
      return tn_options_bool(&options, key, &flag, err);
    case TN_OPT_INTEGER:
    case TN_OPT_LONG:
    case TN_OPT_MEMORY:
    case TN_OPT_DURATION:
      return tn_options_int(&options, key, &number, NULL, err);
    case TN_OPT_ENUM:
      return tn_options_enum(&options, key, &place, err);
    case TN_OPT_DOUBLE:
    case TN_OPT_STRING:
    case TN_OPT_MAP:
      return TARN_OK;
  }
  return TN_BUG(err, "a type of option");
}

/* ------------------------------------------------------------------ default values */

/* The two forms that Java's casts to constructed types take; what is inside is seen when rows are
 * written. */
static bool has_form(tn_slice text, const char *word, char open, char close) {
  size_t n = strlen(word);
  text = tn_slice_trim(text);
  if (text.len >= 2 && text.data[0] == open && text.data[text.len - 1] == close) {
    return true;
  }
  if (text.len < n || !tn_slice_is_nocase(tn_slice_of(text.data, n), word)) {
    return false;
  }
  text = tn_slice_trim(tn_slice_of(text.data + n, text.len - n));
  return text.len >= 2 && text.data[0] == '(' && text.data[text.len - 1] == ')';
}

static tarn_status cast_default(tn_arena *scratch, const tn_zone *zone, const tn_type *type,
                                tn_slice text, bool *is_right, tarn_error *err) {
  static const tn_type string = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX};
  tn_datum in = {.is_null = false}, out;
  tarn_status st;
  *is_right = true;
  switch (type->root) {
    case TN_ARRAY:
      *is_right = has_form(text, "ARRAY", '[', ']');
      return TARN_OK;
    case TN_MAP:
      *is_right = has_form(text, "MAP", '{', '}') || tn_slice_is_nocase(text, "NULL");
      return TARN_OK;
    case TN_ROW:
      *is_right = has_form(text, "STRUCT", '{', '}');
      return TARN_OK;
    default:
      break;
  }
  *is_right = tn_cast_exists(&string, type);
  if (!*is_right) {
    return TARN_OK;
  }
  in.v.bytes = text;
  st = tn_cast_datum(scratch, zone, &string, &in, type, &out, err);
  *is_right = st == TARN_OK;
  return st == TARN_E_INVALID || st == TARN_E_UNSUPPORTED ? TARN_OK : st;
}

tarn_status tn_schema_check_default(tn_arena *scratch, const tn_zone *zone, const tn_type *type,
                                    const char *value, tarn_error *err) {
  tn_slice text = tn_slice_text(value);
  bool is_right;
  if (value == NULL) {
    return TARN_OK;
  }
  if (text.len >= 2 && text.data[0] == '\'' && text.data[text.len - 1] == '\'') {
    text = tn_slice_of(text.data + 1, text.len - 2);
  }
  TN_TRY(cast_default(scratch, zone, type, text, &is_right, err));
  return is_right
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Unsupported default value `%s` for type %s%s", value,
                       tn_type_text_of(type).text, type->is_nullable ? "" : " NOT NULL");
}
