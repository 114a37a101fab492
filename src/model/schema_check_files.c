/* schema_check_files.c - rules about files and what goes with them: formats and the types they can
 * store, BLOBs and vectors, row tracking, clustering. */
#include "model/schema_check_parts.h"

#include <string.h>

#include "base/ascii.h"

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

static tarn_status check_parquet_type(const tn_type *type, tarn_error *err) {
  return type->root == TN_VECTOR ? tn_check_refuse_type("Unsupported type: ", type, err) : TARN_OK;
}

static tarn_status check_orc_type(const tn_type *type, tarn_error *err) {
  tn_type nullable = *type;
  nullable.is_nullable = true;
  return type->root == TN_VECTOR || type->root == TN_VARIANT
             ? tn_check_refuse_type("Unsupported type: ", &nullable, err)
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
      return tn_check_refuse_type("Unsupported to derive Schema for type: ", type, err);
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
static tarn_status check_blob_columns(tn_check *c, tn_name_list *descriptors, tarn_error *err) {
  static const char *const keys[] = {"blob-descriptor-field", "blob-external-storage-field"};
  const char *path = tn_check_get(c, "blob-external-storage-path");
  tn_name_list lists[2];
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    TN_TRY(tn_list_split(c->arena, tn_check_get(c, keys[i]), TN_SPLIT_NONEMPTY, &lists[i], err));
    for (int32_t k = 0; k < lists[i].n; k++) {
      const char *name = lists[i].names[k];
      const tn_field *field = tn_check_field(c, name);
      if (field == NULL || field->type.root != TN_BLOB) {
        return tn_fail(err, TARN_E_INVALID,
                       "Field '%s' in '%s' must be a BLOB field in table "
                       "schema.",
                       name, keys[i]);
      }
      if (i == 1 && !tn_list_has(lists[0].names, lists[0].n, name)) {
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

tarn_status tn_check_file_format(tn_check *c, tarn_error *err) {
  const char *name = tn_check_get(c, "file.format");
  bool vectors_apart = tn_check_get(c, "vector.file.format") != NULL;
  tn_name_list descriptors;
  file_format format;
  TN_TRY(find_format(name != NULL ? name : format_names[PARQUET], &format, err));
  TN_TRY(check_blob_columns(c, &descriptors, err));
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    bool is_apart =
        (f->type.root == TN_VECTOR && vectors_apart) ||
        (f->type.root == TN_BLOB && !tn_list_has(descriptors.names, descriptors.n, f->name));
    if (!is_apart) {
      TN_TRY(check_stored_type(&f->type, type_rules[format], 1, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_check_vector_columns(tn_check *c, tarn_error *err) {
  const char *list = tn_check_get(c, "vector-field");
  tn_name_list names;
  if (tn_is_blank(list)) {
    return TARN_OK;
  }
  TN_TRY(tn_list_split(c->arena, list, TN_SPLIT_PLAIN, &names, err));
  for (int32_t i = 0; i < c->schema->n_fields; i++) {
    const tn_field *f = &c->schema->fields[i];
    if (tn_list_has(names.names, names.n, f->name) && f->type.root != TN_VECTOR) {
      return tn_fail(err, TARN_E_INVALID,
                     "Field name[%s] is configured as vector-field so the type must be vector, but "
                     "it is %s%s",
                     f->name, tn_type_text_of(&f->type).text,
                     f->type.is_nullable ? "" : " NOT NULL");
    }
  }
  return tn_list_has_all(c->columns, c->schema->n_fields, names.names, names.n)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Some of the columns specified as vector-field are unknown.");
}

/* ------------------------------------------------------------------ row tracking */

static tarn_status check_evolution(tn_check *c, tarn_error *err) {
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
  TN_TRY(tn_check_is_on(c, "clustering.incremental", &incremental, err));
  return incremental ? tn_fail(err, TARN_E_INVALID,
                               "Data evolution config must disabled with clustering.incremental")
                     : TARN_OK;
}

static tarn_status check_blobs(tn_check *c, tarn_error *err) {
  const tn_schema *s = c->schema;
  int32_t n_blobs = 0;
  bool in_partition = false;
  for (int32_t i = 0; i < s->n_fields; i++) {
    if (s->fields[i].type.root == TN_BLOB) {
      n_blobs++;
      in_partition =
          in_partition || tn_list_has(s->partition_keys, s->n_partition_keys, s->fields[i].name);
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

static tarn_status check_vector_files(tn_check *c, tarn_error *err) {
  const char *name = tn_check_get(c, "vector.file.format");
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
tarn_status tn_check_row_tracking(tn_check *c, tarn_error *err) {
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

static const char *const producers[] = {"none", "input", "full-compaction", "lookup"};
static const char *const engines[] = {"deduplicate", "partial-update", "aggregation", "first-row"};

tarn_status tn_check_incremental_clustering(tn_check *c, tarn_error *err) {
  bool incremental, ordered;
  TN_TRY(tn_check_is_on(c, "clustering.incremental", &incremental, err));
  if (!incremental) {
    return TARN_OK;
  }
  if (c->has_key) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot define primary-key for incremental clustering table.");
  }
  TN_TRY(tn_check_is_on(c, "bucket-append-ordered", &ordered, err));
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

tarn_status tn_check_sequence_numbers(tn_check *c, tarn_error *err) {
  bool reads;
  TN_TRY(tn_check_is_on(c, "table-read.sequence-number.enabled", &reads, err));
  return !reads || c->has_key
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "Cannot enable 'table-read.sequence-number.enabled' for non-primary-key "
                       "table. Sequence number is only available for primary key tables.");
}

#define IN_OVERRIDE "in 'pk-clustering-override' mode."

/* Rule: SchemaValidation.validatePkClusteringOverride. */
tarn_status tn_check_clustering_override(tn_check *c, tarn_error *err) {
  const char *columns = tn_check_get(c, "clustering.columns");
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
  if (tn_check_get(c, "record-level.expire-time") != NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "Cannot support record level expire time enabled " IN_OVERRIDE);
  }
  if (c->engine != TN_ENGINE_DEDUPLICATE && c->engine != TN_ENGINE_FIRST_ROW) {
    return tn_fail(err, TARN_E_INVALID, "Cannot support merge engine: %s " IN_OVERRIDE,
                   engines[c->engine]);
  }
  if (c->sequence.n > 0) {
    return tn_fail(err, TARN_E_INVALID, "Cannot support sequence field: %s " IN_OVERRIDE,
                   tn_list_text_of(c->sequence.names, c->sequence.n).text);
  }
  return c->producer == TN_CHANGELOG_NONE || c->producer == TN_CHANGELOG_INPUT
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "Cannot support changelog producer: %s " IN_OVERRIDE,
                       producers[c->producer]);
}
