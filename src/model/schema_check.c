/* schema_check.c - the rules for new schemas, as a table of checks; each in Java's words. Those
 * about merging and files are in files of their own. */
#include <string.h>

#include "base/ascii.h"
#include "column/cast_parse.h"
#include "column/datum.h"
#include "model/schema_check_parts.h"

/* ------------------------------------------------------------------ what checks look at */

const char *tn_check_get(const tn_check *c, const char *key) {
  return tn_options_get(&c->options, key);
}

const tn_field *tn_check_field(const tn_check *c, const char *name) {
  int32_t i = tn_fields_find(c->schema->fields, c->schema->n_fields, tn_slice_text(name));
  return i >= 0 ? &c->schema->fields[i] : NULL;
}

tarn_status tn_check_is_on(const tn_check *c, const char *key, bool *out, tarn_error *err) {
  return tn_options_bool(&c->options, key, out, err);
}

static tarn_status read_options(tn_check *c, tarn_error *err) {
  static const struct {
    const char *key;
    size_t offset;
  } flags[] = {
      {"deletion-vectors.enabled", offsetof(tn_check, vectors)},
      {"row-tracking.enabled", offsetof(tn_check, row_tracking)},
      {"data-evolution.enabled", offsetof(tn_check, evolution)},
      {"pk-clustering-override", offsetof(tn_check, clustering_override)},
  };
  for (size_t i = 0; i < TN_COUNT(flags); i++) {
    TN_TRY(tn_check_is_on(c, flags[i].key, (bool *)((char *)c + flags[i].offset), err));
  }
  TN_TRY(tn_options_int(&c->options, "bucket", &c->bucket, NULL, err));
  TN_TRY(tn_options_enum(&c->options, "merge-engine", &c->engine, err));
  TN_TRY(tn_options_enum(&c->options, "changelog-producer", &c->producer, err));
  return tn_list_split(c->arena, tn_check_get(c, "sequence.field"), TN_SPLIT_TRIM, &c->sequence,
                       err);
}

tarn_status tn_check_refuse_type(const char *words, const tn_type *type, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "%s%s%s", words, tn_type_text_of(type).text,
                 type->is_nullable ? "" : " NOT NULL");
}

/* ------------------------------------------------------------------ kinds of tables */

static tarn_status check_kind(tn_check *c, tarn_error *err) {
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
    const char *value = tn_check_get(c, kinds[i].key);
    tn_name_list allowed;
    bool is_allowed = value == NULL;
    TN_TRY(tn_list_split(c->arena, kinds[i].allowed, TN_SPLIT_PLAIN, &allowed, err));
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
    if (tn_is_blank(fields[i].name)) {
      return tn_fail(err, TARN_E_INVALID,
                     "Field names must contain at least one non-whitespace character.");
    }
    if (tn_type_is_nested(type)) {
      TN_TRY(check_names(type->fields, type->n_fields, depth + 1, err));
    }
  }
  return TARN_OK;
}

static tarn_status check_field_names(tn_check *c, tarn_error *err) {
  return check_names(c->schema->fields, c->schema->n_fields, 1, err);
}

/* ------------------------------------------------------------------ keys */

/* Rule: TableSchema.trimmedPrimaryKeys. */
static tarn_status check_trimmed_key(tn_check *c, tarn_error *err) {
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
    if (!tn_list_has(s->partition_keys, s->n_partition_keys, s->primary_keys[i])) {
      c->bucket_keys.names[c->bucket_keys.n++] = s->primary_keys[i];
    }
  }
  if (c->bucket_keys.n == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "Primary key constraint %s should not be same with partition fields %s, this "
                   "will result in only one record in a partition",
                   tn_list_text_of(s->primary_keys, s->n_primary_keys).text,
                   tn_list_text_of(s->partition_keys, s->n_partition_keys).text);
  }
  return TARN_OK;
}

/* Rule: TableSchema.originalBucketKeys. */
static tarn_status check_bucket_keys(tn_check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  const char *list = tn_check_get(c, "bucket-key");
  tn_name_list keys;
  if (tn_is_blank(list)) {
    return TARN_OK;
  }
  TN_TRY(tn_list_split(c->arena, list, TN_SPLIT_PLAIN, &keys, err));
  if (!tn_list_has_all(c->columns, s->n_fields, keys.names, keys.n)) {
    return tn_fail(err, TARN_E_INVALID, "Field names %s should contains all bucket keys %s.",
                   tn_list_text_of(c->columns, s->n_fields).text,
                   tn_list_text_of(keys.names, keys.n).text);
  }
  for (int32_t i = 0; i < keys.n; i++) {
    if (tn_list_has(s->partition_keys, s->n_partition_keys, keys.names[i])) {
      return tn_fail(err, TARN_E_INVALID, "Bucket keys %s should not in partition keys %s.",
                     tn_list_text_of(keys.names, keys.n).text,
                     tn_list_text_of(s->partition_keys, s->n_partition_keys).text);
    }
  }
  if (c->has_key && !tn_list_has_all(s->primary_keys, s->n_primary_keys, keys.names, keys.n)) {
    return tn_fail(err, TARN_E_INVALID, "Primary keys %s should contains all bucket keys %s.",
                   tn_list_text_of(s->primary_keys, s->n_primary_keys).text,
                   tn_list_text_of(keys.names, keys.n).text);
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

static tarn_status check_key_types(tn_check *c, const char *const *keys, int32_t n,
                                   const char *what, tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    const tn_field *field = tn_check_field(c, keys[i]);
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

static tarn_status check_types_of_keys(tn_check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  const char *upsert = tn_check_get(c, "upsert-key");
  tn_name_list keys = {NULL, 0};
  TN_TRY(check_key_types(c, s->primary_keys, s->n_primary_keys, "primary key", err));
  TN_TRY(check_key_types(c, s->partition_keys, s->n_partition_keys, "partition", err));
  if (upsert != NULL && upsert[0] != '\0') {
    TN_TRY(tn_list_split(c->arena, upsert, TN_SPLIT_PLAIN, &keys, err));
  }
  TN_TRY(check_key_types(c, keys.names, keys.n, "upsert key", err));
  if (keys.n > 0 && c->has_key) {
    return tn_fail(err, TARN_E_INVALID, "Cannot define 'upsert-key' %s with 'primary-key' %s.",
                   tn_list_text_of(keys.names, keys.n).text,
                   tn_list_text_of(s->primary_keys, s->n_primary_keys).text);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ buckets */

static tarn_status check_bucket_types(tn_check *c, tarn_error *err) {
  tn_name_list nested = {NULL, 0};
  nested.names = tn_arena_calloc(c->arena, (size_t)c->schema->n_fields + 1, sizeof(*nested.names));
  if (nested.names == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    if (tn_type_is_nested(&f->type) &&
        tn_list_has(c->bucket_keys.names, c->bucket_keys.n, f->name)) {
      nested.names[nested.n++] = f->name;
    }
  }
  return nested.n == 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "nested type can not in bucket-key, in your table these key are %s",
                       tn_list_text_of(nested.names, nested.n).text);
}

/* Rule: SchemaValidation.validateBucket. */
static tarn_status check_bucket(tn_check *c, tarn_error *err) {
  if (c->bucket == -1) {
    if (tn_check_get(c, "bucket-key") != NULL) {
      return tn_fail(err, TARN_E_INVALID,
                     "Cannot define 'bucket-key' with bucket = -1, please remove the 'bucket-key' "
                     "setting or specify a bucket number.");
    }
    if (!c->has_key && tn_check_get(c, "full-compaction.delta-commits") != NULL) {
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
static const char *scan_mode(const tn_check *c) {
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
  const char *mode = tn_check_get(c, "scan.mode");
  if (mode != NULL && !tn_slice_is_nocase(tn_slice_text(mode), "default")) {
    return tn_slice_is_nocase(tn_slice_text(mode), "full") ? "latest-full" : mode;
  }
  for (size_t i = 0; i < TN_COUNT(implied); i++) {
    if (tn_check_get(c, implied[i].key) != NULL) {
      return implied[i].mode;
    }
  }
  return "latest-full";
}

static tarn_status count_set(const tn_check *c, const char *list, int32_t *n_set,
                             const char **first, tarn_error *err) {
  tn_name_list keys;
  *n_set = 0;
  TN_TRY(tn_list_split(c->arena, list, TN_SPLIT_PLAIN, &keys, err));
  for (int32_t i = 0; i < keys.n; i++) {
    if (tn_check_get(c, keys.names[i]) != NULL && (*n_set)++ == 0) {
      *first = keys.names[i];
    }
  }
  return TARN_OK;
}

/* Rule: SchemaValidation.validateStartupMode. */
static tarn_status check_scan_mode(tn_check *c, tarn_error *err) {
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
  if (mode_rules[i].needs != NULL && tn_check_get(c, mode_rules[i].needs) == NULL) {
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

/* ------------------------------------------------------------------ retention */

static tarn_status check_retention(tn_check *c, tarn_error *err) {
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

/* ------------------------------------------------------------------ names that are taken */

static tarn_status check_reserved_names(tn_check *c, tarn_error *err) {
  static const char *const reserved[] = {"_VALUE_KIND", "_ROW_ID", "rowkind", "_LEVEL",
                                         "_SEQUENCE_NUMBER"};
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const char *name = c->columns[i];
    if (tn_list_has(reserved, (int32_t)TN_COUNT(reserved), name)) {
      return tn_fail(err, TARN_E_INVALID, "Field name[%s] in schema cannot be exist in %s", name,
                     tn_list_text_of(reserved, (int32_t)TN_COUNT(reserved)).text);
    }
    if (strncmp(name, "_KEY_", 5) == 0) {
      return tn_fail(err, TARN_E_INVALID, "Field name[%s] in schema cannot start with [_KEY_]",
                     name);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ single options */

static tarn_status check_append_overwrite(tn_check *c, tarn_error *err) {
  bool overwrite;
  TN_TRY(tn_check_is_on(c, "streaming-read-overwrite", &overwrite, err));
  return !overwrite || c->has_key
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Doesn't support streaming read the changes from overwrite when the primary "
                       "keys are not defined. Please use streaming-read-append-overwrite to enable "
                       "the streaming read overwrite commit for append table.");
}

static tarn_status check_partition_expiry(tn_check *c, tarn_error *err) {
  return tn_check_get(c, "partition.expiration-time") == NULL || c->schema->n_partition_keys > 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Can not set 'partition.expiration-time' for non-partitioned table.");
}

static tarn_status check_record_expiry(tn_check *c, tarn_error *err) {
  const char *name = tn_check_get(c, "record-level.time-field");
  const tn_field *field = name != NULL ? tn_check_field(c, name) : NULL;
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
      return tn_check_refuse_type(
          "The record level time field type should be one of INT, BIGINT, or "
          "TIMESTAMP, but field type is ",
          &field->type, err);
  }
}

static tarn_status check_first_row(tn_check *c, tarn_error *err) {
  return c->engine != TN_ENGINE_FIRST_ROW || c->producer == TN_CHANGELOG_LOOKUP ||
                 c->producer == TN_CHANGELOG_NONE
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge "
                       "engine");
}

static tarn_status check_rowkind(tn_check *c, tarn_error *err) {
  const char *name = tn_check_get(c, "rowkind.field");
  return name == NULL || tn_check_field(c, name) != NULL
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Rowkind field: '%s' can not be found in table schema.",
                       name);
}

/* Rule: SchemaValidation.validateForDeletionVectors. */
static tarn_status check_deletion_vectors(tn_check *c, tarn_error *err) {
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

/* ------------------------------------------------------------------ all of them */

/* In the order of Java, so that of two faults the same one is told. */
static tarn_status (*const checks[])(tn_check *c, tarn_error *err) = {
    check_kind,
    check_field_names,
    check_trimmed_key,
    check_bucket_keys,
    check_types_of_keys,
    check_bucket,
    check_scan_mode,
    tn_check_fields_options,
    tn_check_sequence,
    tn_check_partial_update,
    tn_check_changelog,
    check_retention,
    tn_check_file_format,
    check_reserved_names,
    check_append_overwrite,
    check_partition_expiry,
    check_record_expiry,
    check_first_row,
    check_rowkind,
    check_deletion_vectors,
    tn_check_vector_columns,
    tn_check_functions,
    tn_check_row_tracking,
    tn_check_incremental_clustering,
    tn_check_sequence_numbers,
    tn_check_clustering_override,
};

tarn_status tn_schema_check(tn_schema *schema, tarn_error *err) {
  tn_check c = {.schema = schema, .arena = &schema->arena, .has_key = schema->n_primary_keys > 0};
  c.columns = tn_check_column_names(schema);
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

static tarn_status cast_default(tn_arena *scratch, const tn_zone *zone, const tn_type *type,
                                tn_slice text, bool *is_right, tarn_error *err) {
  static const tn_type string = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX};
  tn_datum in = {.is_null = false}, out;
  tarn_status st;
  *is_right = true;
  if (tn_nested_has_text(type)) {
    st = tn_nested_check_text(scratch, zone, type, text, err);
    *is_right = st == TARN_OK;
    return st == TARN_E_INVALID || st == TARN_E_UNSUPPORTED ? TARN_OK : st;
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
