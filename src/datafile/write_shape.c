/* write_shape.c - the columns of new files, and what options say of them. */
#include "datafile/write_shape.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "datafile/row_tracking.h"
#include "datafile/writer_settings.h"
#include "format/blob/blob.h"

/* ------------------------------------------------------------------ columns */

static const tn_field sequence_field = {
    .id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}};
static const tn_field kind_field = {
    .id = TN_FIELD_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.root = TN_TINYINT}};

static tarn_status check_type(const tn_write_shape *shape, const tn_field *field, tarn_error *err) {
  if (field->type.root == TN_BLOB && !shape->table->facts.data_evolution) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "column '%s': BLOB columns are written to tables with "
                   "'data-evolution.enabled' only",
                   field->name);
  }
  return TARN_OK;
}

/* A column to be written by its number; NULL: there is none. */
static const tn_field *column_of(const tn_schema *schema, int32_t column) {
  if (column >= 0 && column < schema->n_fields) {
    return &schema->fields[column];
  }
  return column >= 0 && column - schema->n_fields < TN_N_ROW_TRACKING_FIELDS
             ? &tn_row_tracking_fields[column - schema->n_fields]
             : NULL;
}

/* Java takes what entries of tables with data evolution list for columns of the table, and fails on
 * others (RowType#project): columns of row tracking are in the files, and in no list. */
static void leave_out_tracking(tn_write_shape *shape, const int32_t *columns) {
  const tn_schema *schema = shape->table->schema;
  while (shape->n_told > 0 && columns[shape->n_told - 1] >= schema->n_fields) {
    shape->n_told--;
  }
  if (shape->n_told == shape->n_values || shape->n_told != schema->n_fields) {
    return;
  }
  for (int32_t i = 0; i < shape->n_told; i++) {
    if (columns[i] != i) {
      return;
    }
  }
  shape->write_names = NULL; /* all of them */
}

/* The input, and with it the values. */
static tarn_status make_input(tn_write_shape *shape, const int32_t *columns, int32_t n_columns,
                              tarn_error *err) {
  const tn_schema *schema = shape->table->schema;
  int32_t n_system = shape->is_key_value ? 2 : 0;
  shape->n_told = shape->n_values = columns != NULL ? n_columns : schema->n_fields;
  shape->n_input = n_system + shape->n_values;
  shape->n_input_system = n_system;
  shape->input_fields =
      tn_arena_calloc(&shape->arena, (size_t)shape->n_input, sizeof(*shape->input_fields));
  if (columns != NULL) {
    shape->write_names =
        tn_arena_calloc(&shape->arena, (size_t)n_columns, sizeof(*shape->write_names));
  }
  if (shape->input_fields == NULL || (columns != NULL && shape->write_names == NULL)) {
    return tn_oom(err);
  }
  if (shape->is_key_value) {
    shape->input_fields[0] = sequence_field;
    shape->input_fields[1] = kind_field;
  }
  for (int32_t i = 0; i < shape->n_values; i++) {
    const tn_field *field = column_of(schema, columns != NULL ? columns[i] : i);
    if (field == NULL) {
      return TN_BUG(err, "a column that the table does not have");
    }
    TN_TRY(check_type(shape, field, err));
    shape->input_fields[n_system + i] = *field;
    if (columns != NULL) {
      shape->write_names[i] = tn_slice_text(field->name);
    }
  }
  if (columns != NULL && shape->table->facts.data_evolution) {
    leave_out_tracking(shape, columns);
  }
  return TARN_OK;
}

static tarn_status make_keys(tn_write_shape *shape, tarn_error *err) {
  const tn_schema *schema = shape->table->schema;
  int32_t n = shape->is_key_value ? schema->n_key_columns : 0;
  shape->n_keys = n;
  shape->key_fields = tn_arena_calloc(&shape->arena, (size_t)n, sizeof(*shape->key_fields));
  shape->key_values = tn_arena_calloc(&shape->arena, (size_t)n, sizeof(*shape->key_values));
  if (shape->key_fields == NULL || shape->key_values == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const tn_field *field = &schema->fields[schema->key_columns[i]];
    const char *name = tn_arena_printf(&shape->arena, "_KEY_%s", field->name);
    if (name == NULL) {
      return tn_oom(err);
    }
    shape->key_fields[i] =
        (tn_field){.id = TN_FIELD_ID_KEY_BASE + field->id, .name = name, .type = field->type};
    shape->key_values[i] = schema->key_columns[i];
  }
  return TARN_OK;
}

static void add_file_field(tn_write_shape *shape, const tn_field *field, int32_t input) {
  int32_t same = shape->n_file - 1;
  while (same >= 0 && shape->file_inputs[same] != input) {
    same--;
  }
  shape->file_same[shape->n_file] = same;
  shape->file_fields[shape->n_file] = *field;
  shape->file_inputs[shape->n_file++] = input;
}

static tarn_status make_file_fields(tn_write_shape *shape, tarn_error *err) {
  size_t n = (size_t)shape->n_input + (size_t)shape->n_keys;
  shape->file_fields = tn_arena_calloc(&shape->arena, n, sizeof(*shape->file_fields));
  shape->file_inputs = tn_arena_calloc(&shape->arena, n, sizeof(*shape->file_inputs));
  shape->file_same = tn_arena_calloc(&shape->arena, n, sizeof(*shape->file_same));
  if (shape->file_fields == NULL || shape->file_inputs == NULL || shape->file_same == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; !shape->is_thin && i < shape->n_keys; i++) {
    add_file_field(shape, &shape->key_fields[i], shape->n_input_system + shape->key_values[i]);
  }
  shape->first_value = shape->n_file + shape->n_input_system;
  for (int32_t i = 0; i < shape->n_input; i++) {
    add_file_field(shape, &shape->input_fields[i], i);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ maps of levels */

/* Settings of one option for single levels: "0:avro,3:parquet". */
typedef struct level_values {
  int32_t levels[64];
  const char *values[64];
  int32_t n;
} level_values;

static bool parse_level(tn_slice text, int32_t *out) {
  int64_t level = 0;
  if (text.len == 0 || text.len > 9) {
    return false;
  }
  for (size_t i = 0; i < text.len; i++) {
    if (!tn_is_digit(text.data[i])) {
      return false;
    }
    level = level * 10 + (text.data[i] - '0');
  }
  *out = (int32_t)level;
  return true;
}

static tarn_status parse_levels(tn_write_shape *shape, const char *key, level_values *out,
                                tarn_error *err) {
  const char *text = tn_options_get(&shape->table->options, key);
  tn_slice rest = tn_slice_text(text);
  out->n = 0;
  while (rest.len > 0) {
    const uint8_t *comma = memchr(rest.data, ',', rest.len);
    size_t len = comma != NULL ? (size_t)(comma - rest.data) : rest.len;
    tn_slice item = tn_slice_trim(tn_slice_of(rest.data, len));
    const uint8_t *colon = item.len > 0 ? memchr(item.data, ':', item.len) : NULL;
    rest = tn_slice_of(rest.data + len + (comma != NULL), rest.len - len - (comma != NULL));
    if (item.len == 0) {
      continue;
    }
    size_t at = colon != NULL ? (size_t)(colon - item.data) : 0;
    tn_slice value =
        colon != NULL ? tn_slice_trim(tn_slice_of(colon + 1, item.len - at - 1)) : item;
    if (colon == NULL || out->n == (int32_t)TN_COUNT(out->levels) ||
        !parse_level(tn_slice_trim(tn_slice_of(item.data, at)), &out->levels[out->n])) {
      return tn_fail(err, TARN_E_INVALID,
                     "option '%s': cannot parse '%s' as a map of levels, such as \"0:x,5:y\"", key,
                     text);
    }
    out->values[out->n] = tn_arena_strndup(&shape->arena, (const char *)value.data, value.len);
    if (out->values[out->n++] == NULL) {
      return tn_oom(err);
    }
  }
  return TARN_OK;
}

/* The value of a level; the usual one where it has none. */
static const char *level_value(const level_values *values, int32_t level, const char *usual) {
  for (int32_t i = values->n - 1; level >= 0 && i >= 0; i--) {
    if (values->levels[i] == level) {
      return values->values[i];
    }
  }
  return usual;
}

/* ------------------------------------------------------------------ single options */

static const char *text_option(const tn_write_shape *shape, const char *key, const char *usual) {
  const char *value = tn_options_get(&shape->table->options, key);
  return value != NULL ? value : usual;
}

/* Settings of Java's writers that ours do not have change how a file is laid out, never its rows.
 */
static void tell_other_settings(const tn_write_shape *shape) {
  const tn_options *options = &shape->table->options;
  for (int32_t i = 0; i < options->count; i++) {
    const char *key = options->items[i].key;
    if ((strncmp(key, "parquet.", 8) == 0 || strncmp(key, "avro.", 5) == 0) &&
        !tn_writer_settings_know(key)) {
      tn_log(shape->table->env, TARN_LOG_WARN,
             "an option has no effect on new files: table=%s key=%s", shape->table->full_name, key);
    }
  }
}

/* What names of files tell of 'file.compression'. Rule: org.apache.paimon.format.
 * HadoopCompressionType; spec: layout, 1. */
static const char *compression_suffix(const char *compression) {
  static const char *const suffixes[][2] = {
      {"none", ""},         {"gzip", "gz"}, {"bzip2", "bz2"}, {"deflate", "deflate"},
      {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zst"}};
  for (size_t i = 0; i < TN_COUNT(suffixes); i++) {
    if (tn_slice_is_nocase(tn_slice_text(compression), suffixes[i][0])) {
      return suffixes[i][1];
    }
  }
  return compression;
}

/* ------------------------------------------------------------------ modes of statistics */

static bool is_system_name(const char *name) {
  static const char *const names[] = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind",
                                      "_ROW_ID"};
  if (strncmp(name, "_KEY_", 5) == 0) {
    return true;
  }
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    if (strcmp(name, names[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* The key columns of thin files stand for the keys that these lack. */
static bool is_thin_key(const tn_write_shape *shape, int32_t column) {
  for (int32_t i = 0; shape->is_thin && i < shape->n_keys; i++) {
    if (shape->key_values[i] == column - shape->first_value) {
      return true;
    }
  }
  return false;
}

/* Rule: org.apache.paimon.utils.StatsCollectorFactories; key-value files in Avro have their own. */
static tarn_status make_modes(tn_write_shape *shape, const char *table_mode, bool knows_system,
                              const tn_stats_mode **out, tarn_error *err) {
  tn_stats_mode usual, *modes;
  int64_t n_first, n_counted = 0;
  TN_TRY(tn_stats_mode_parse(table_mode, &usual, err));
  TN_TRY(tn_options_int(&shape->table->options, "metadata.stats-keep-first-n-columns", &n_first,
                        NULL, err));
  modes = tn_arena_calloc(&shape->arena, (size_t)shape->n_file, sizeof(*modes));
  if (modes == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < shape->n_file; i++) {
    const char *name = shape->file_fields[i].name;
    const char *key = tn_arena_printf(&shape->arena, "fields.%s.stats-mode", name);
    const char *own;
    if (key == NULL) {
      return tn_oom(err);
    }
    own = tn_options_get(&shape->table->options, key);
    if (own != NULL) {
      tarn_status st = tn_stats_mode_parse(own, &modes[i], err);
      if (st != TARN_OK) {
        return tn_error_context(err, st, "option '%s'", key);
      }
      n_counted++;
    } else if (knows_system && (is_system_name(name) || is_thin_key(shape, i))) {
      modes[i] = (tn_stats_mode){TN_STATS_TRUNCATE, 128};
    } else {
      modes[i] = n_first >= 0 && n_counted >= n_first ? (tn_stats_mode){TN_STATS_NONE, 0} : usual;
      n_counted++;
    }
  }
  *out = modes;
  return TARN_OK;
}

/* ------------------------------------------------------------------ profiles */

/* Can the format hold the columns? Asked with a file that nobody keeps. */
static tarn_status try_format(const tn_write_shape *shape, const tn_file_profile *profile,
                              tarn_error *err) {
  tarn_env *env = shape->table->env;
  tn_write_request request = {
      .fields = shape->file_fields, .n_fields = shape->n_file, .options = &profile->options};
  tn_storage *storage = NULL;
  tn_sink *sink = NULL;
  tn_format_writer *writer = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_create(storage, "/columns", &sink, err));
  st = profile->format->create(env, sink, &request, &writer, err);
done:
  if (writer != NULL) {
    writer->calls->free(writer);
  }
  tn_sink_abort(sink);
  tn_storage_release(storage);
  return st;
}

/* What options say of files by level. */
typedef struct level_options {
  level_values formats, compressions, modes;
  const char *format, *compression, *mode;
  const char *changelog_format, *changelog_compression, *changelog_mode; /* NULL: as data files */
  bool names_compression;
} level_options;

static const char *pick(const tn_file_profile *profile, const char *changelog,
                        const level_values *values, const char *usual) {
  return profile->is_changelog && changelog != NULL ? changelog
                                                    : level_value(values, profile->level, usual);
}

static tarn_status make_profile(tn_write_shape *shape, const level_options *o, int32_t level,
                                bool is_changelog, tarn_error *err) {
  tn_file_profile *p = &shape->profiles[shape->n_profiles];
  const char *suffix = o->names_compression ? compression_suffix(o->compression) : "";
  const char *format;
  p->level = level;
  p->is_changelog = is_changelog;
  format = pick(p, o->changelog_format, &o->formats, o->format);
  TN_TRY(tn_format_writer_by_name(tn_slice_text(format), &p->format, err));
  p->is_columnar = strcmp(p->format->name, "avro") != 0;
  TN_TRY(tn_writer_settings(&shape->table->options, p->format->name,
                            pick(p, o->changelog_compression, &o->compressions, o->compression),
                            &p->options, err));
  TN_TRY(make_modes(shape, pick(p, o->changelog_mode, &o->modes, o->mode),
                    p->is_columnar || !shape->is_key_value, &p->modes, err));
  p->extension =
      tn_arena_printf(&shape->arena, "%s%s%s.%s", shape->part == TN_PART_VECTORS ? ".vector" : "",
                      suffix[0] != '\0' ? "." : "", suffix, p->format->name);
  if (p->extension == NULL) {
    return tn_oom(err);
  }
  TN_TRY(try_format(shape, p, err));
  shape->n_profiles++;
  return TARN_OK;
}

/* The levels that options name, each once. */
static int32_t named_levels(const level_options *o, int32_t *levels) {
  const level_values *const all[] = {&o->formats, &o->compressions, &o->modes};
  int32_t n = 0;
  for (size_t k = 0; k < TN_COUNT(all); k++) {
    for (int32_t i = 0; i < all[k]->n; i++) {
      int32_t at = 0;
      while (at < n && levels[at] != all[k]->levels[i]) {
        at++;
      }
      levels[at] = all[k]->levels[i];
      n += at == n;
    }
  }
  return n;
}

static tarn_status read_level_options(tn_write_shape *shape, level_options *o, tarn_error *err) {
  const tn_options *options = &shape->table->options;
  memset(o, 0, sizeof(*o));
  o->format = text_option(
      shape, shape->part == TN_PART_VECTORS ? "vector.file.format" : "file.format", "parquet");
  o->compression = text_option(shape, "file.compression", "zstd");
  o->mode = text_option(shape, "metadata.stats-mode", "truncate(16)");
  TN_TRY(tn_options_bool(options, "file.suffix.include.compression", &o->names_compression, err));
  if (!shape->is_key_value) {
    return TARN_OK; /* tables of rows as they are have one kind of file */
  }
  o->changelog_format = tn_options_get(options, "changelog-file.format");
  o->changelog_compression = tn_options_get(options, "changelog-file.compression");
  o->changelog_mode = tn_options_get(options, "changelog-file.stats-mode");
  TN_TRY(parse_levels(shape, "file.format.per.level", &o->formats, err));
  TN_TRY(parse_levels(shape, "file.compression.per.level", &o->compressions, err));
  return parse_levels(shape, "metadata.stats-mode.per.level", &o->modes, err);
}

/* Files of BLOBs have no options and no statistics. Rule: MultipleBlobFileWriter. */
static tarn_status make_blob_profile(tn_write_shape *shape, tarn_error *err) {
  shape->profiles = tn_arena_calloc(&shape->arena, 1, sizeof(*shape->profiles));
  if (shape->profiles == NULL) {
    return tn_oom(err);
  }
  shape->profiles[0].level = -1;
  shape->profiles[0].format = &tn_blob_writer;
  shape->profiles[0].extension = ".blob";
  shape->profiles[0].modes =
      tn_arena_calloc(&shape->arena, (size_t)shape->n_file, sizeof(tn_stats_mode));
  shape->n_profiles = 1;
  return shape->profiles[0].modes != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status make_profiles(tn_write_shape *shape, tarn_error *err) {
  level_options o;
  int32_t levels[3 * TN_COUNT(o.formats.levels) + 1], n;
  TN_TRY(read_level_options(shape, &o, err));
  n = named_levels(&o, levels);
  levels[n++] = -1;
  shape->profiles = tn_arena_calloc(&shape->arena, 2 * (size_t)n, sizeof(*shape->profiles));
  if (shape->profiles == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(make_profile(shape, &o, levels[i], false, err));
    if (shape->is_key_value) {
      TN_TRY(make_profile(shape, &o, levels[i], true, err));
    }
  }
  return TARN_OK;
}

const tn_file_profile *tn_write_shape_profile(const tn_write_shape *shape, int32_t level,
                                              bool is_changelog) {
  const tn_file_profile *usual = &shape->profiles[0];
  is_changelog = is_changelog && shape->is_key_value;
  for (int32_t i = 0; i < shape->n_profiles; i++) {
    const tn_file_profile *p = &shape->profiles[i];
    if (p->is_changelog == is_changelog && p->level == level) {
      return p;
    }
    usual = p->is_changelog == is_changelog && p->level == -1 ? p : usual;
  }
  return usual;
}

bool tn_write_shape_same_format(const tn_write_shape *shape, int32_t level, int32_t other) {
  return tn_write_shape_profile(shape, level, false)->format ==
         tn_write_shape_profile(shape, other, false)->format;
}

/* ------------------------------------------------------------------ places */

static tarn_status read_weights(tn_write_shape *shape, tarn_error *err) {
  const char *text = tn_options_get(&shape->table->options, "data-file.external-paths.weights");
  const char *at = text;
  uint64_t sum = 0;
  if (text == NULL || shape->n_external_roots < 2) {
    shape->external = TN_EXTERNAL_ROUND_ROBIN;
    return TARN_OK;
  }
  for (int32_t i = 0; i < shape->n_external_roots; i++) {
    char *end = NULL;
    long weight = at != NULL ? strtol(at, &end, 10) : 0;
    while (end != NULL && *end == ' ') {
      end++;
    }
    bool is_last = i + 1 == shape->n_external_roots;
    if (weight <= 0 || weight > INT32_MAX || end == at || *end != (is_last ? '\0' : ',')) {
      return tn_fail(err, TARN_E_INVALID,
                     "option 'data-file.external-paths.weights': '%s' is no list of %d positive "
                     "numbers, one for each path",
                     text, shape->n_external_roots);
    }
    sum += (uint64_t)weight;
    shape->external_roots[i].weights_end = sum;
    at = end + 1;
  }
  return TARN_OK;
}

static tarn_status add_root(tn_write_shape *shape, tn_slice uri, const char *wanted_scheme,
                            tarn_error *err) {
  tn_external_root *root = &shape->external_roots[shape->n_external_roots];
  const char *text = tn_arena_strndup(&shape->arena, (const char *)uri.data, uri.len);
  const char *colon = text != NULL ? strchr(text, ':') : NULL;
  if (text == NULL) {
    return tn_oom(err);
  }
  if (colon == NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "option 'data-file.external-paths': '%s' has no scheme, such as \"file:\"",
                   text);
  }
  if (wanted_scheme != NULL &&
      !tn_slice_is_nocase(tn_slice_of(text, (size_t)(colon - text)), wanted_scheme)) {
    return TARN_OK;
  }
  TN_TRY(tn_path_plain(&shape->arena, text, &root->path, err));
  root->recorded = tn_arena_printf(&shape->arena, "file:%s", root->path);
  if (root->recorded == NULL) {
    return tn_oom(err);
  }
  shape->n_external_roots++;
  return TARN_OK;
}

/* Rule: org.apache.paimon.AbstractFileStore#createExternalPaths; spec: layout, 1. */
static tarn_status read_external_paths(tn_write_shape *shape, tarn_error *err) {
  const char *text = tn_options_get(&shape->table->options, "data-file.external-paths");
  const char *scheme = NULL;
  tn_slice rest = tn_slice_text(text);
  size_t n = 1;
  int32_t strategy;
  TN_TRY(
      tn_options_enum(&shape->table->options, "data-file.external-paths.strategy", &strategy, err));
  if (rest.len == 0 || strategy == TN_EXTERNAL_NONE) {
    return TARN_OK;
  }
  shape->external = (tn_external_strategy)strategy;
  if (strategy == TN_EXTERNAL_SPECIFIC_FS) {
    scheme = tn_options_get(&shape->table->options, "data-file.external-paths.specific-fs");
    if (scheme == NULL) {
      return tn_fail(err, TARN_E_INVALID,
                     "option 'data-file.external-paths.specific-fs' is needed by the strategy "
                     "specific-fs");
    }
  }
  for (size_t i = 0; i < rest.len; i++) {
    n += rest.data[i] == ',';
  }
  shape->external_roots = tn_arena_calloc(&shape->arena, n, sizeof(*shape->external_roots));
  if (shape->external_roots == NULL) {
    return tn_oom(err);
  }
  while (rest.len > 0) {
    const uint8_t *comma = memchr(rest.data, ',', rest.len);
    size_t len = comma != NULL ? (size_t)(comma - rest.data) : rest.len;
    TN_TRY(add_root(shape, tn_slice_trim(tn_slice_of(rest.data, len)), scheme, err));
    rest = tn_slice_of(rest.data + len + (comma != NULL), rest.len - len - (comma != NULL));
  }
  if (shape->n_external_roots == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "option 'data-file.external-paths': no path is left to write to");
  }
  return strategy == TN_EXTERNAL_WEIGHTED ? read_weights(shape, err) : TARN_OK;
}

/* ------------------------------------------------------------------ the shape */

/* Files beside the data file have target sizes of their own. */
static tarn_status read_part_size(tn_write_shape *shape, tarn_error *err) {
  bool is_blob = shape->part == TN_PART_BLOB, is_set;
  int64_t size;
  TN_TRY(tn_options_int(&shape->table->options,
                        is_blob ? "blob.target-file-size" : "vector.target-file-size", &size,
                        &is_set, err));
  if (is_set) {
    shape->target_bytes = size;
  } else if (!is_blob) {
    shape->target_bytes =
        shape->target_bytes > INT64_MAX / 10 ? INT64_MAX : 10 * shape->target_bytes;
  }
  shape->target_rows = INT64_MAX;
  return TARN_OK;
}

static tarn_status read_sizes(tn_write_shape *shape, tarn_error *err) {
  const tn_options *options = &shape->table->options;
  bool is_set;
  TN_TRY(tn_options_int(options, "target-file-size", &shape->target_bytes, &is_set, err));
  if (!is_set) {
    shape->target_bytes = (shape->table->facts.has_primary_key ? (int64_t)128 : 256) << 20;
  }
  TN_TRY(tn_options_int(options, "target-file-row-num", &shape->target_rows, NULL, err));
  if (shape->target_rows < 1) {
    return tn_fail(err, TARN_E_INVALID, "option 'target-file-row-num' must be at least 1");
  }
  return shape->part == TN_PART_ROWS ? TARN_OK : read_part_size(shape, err);
}

static tarn_status make_shape(tn_write_shape *shape, const int32_t *columns, int32_t n_columns,
                              tarn_error *err) {
  const tn_options *options = &shape->table->options;
  bool thin = false;
  if (shape->is_key_value) {
    TN_TRY(tn_options_bool(options, "data-file.thin-mode", &thin, err));
  }
  shape->is_thin = thin; /* all key columns are among the values */
  TN_TRY(make_input(shape, columns, n_columns, err));
  TN_TRY(make_keys(shape, err));
  TN_TRY(make_file_fields(shape, err));
  TN_TRY(shape->part == TN_PART_BLOB ? make_blob_profile(shape, err) : make_profiles(shape, err));
  tell_other_settings(shape);
  TN_TRY(tn_options_bool(options, "metadata.stats-dense-store", &shape->stats_are_dense, err));
  shape->data_prefix = text_option(shape, "data-file.prefix", "data-");
  shape->changelog_prefix = text_option(shape, "changelog-file.prefix", "changelog-");
  TN_TRY(read_external_paths(shape, err));
  if (shape->part != TN_PART_ROWS) {
    return read_sizes(shape, err);
  }
  TN_TRY(tn_index_specs_read(&shape->arena, options, shape->table->schema->fields,
                             shape->table->schema->n_fields,
                             shape->file_fields + shape->first_value, shape->n_values,
                             &shape->indexes, &shape->n_indexes, err));
  TN_TRY(tn_options_int(options, "file-index.in-manifest-threshold", &shape->embedded_index_bytes,
                        NULL, err));
  return read_sizes(shape, err);
}

/* ------------------------------------------------------------------ rows in several files */

/* Is the column named by an option, which is a list? */
static bool is_listed(const char *list, const char *name) {
  tn_slice rest = tn_slice_text(list);
  while (rest.len > 0) {
    const uint8_t *comma = memchr(rest.data, ',', rest.len);
    size_t len = comma != NULL ? (size_t)(comma - rest.data) : rest.len;
    if (tn_slice_is(tn_slice_trim(tn_slice_of(rest.data, len)), name)) {
      return true;
    }
    rest = tn_slice_of(rest.data + len + (comma != NULL), rest.len - len - (comma != NULL));
  }
  return false;
}

/* Rule: BlobType.fieldsInBlobFile, VectorType.fieldsInVectorFile. */
static tn_shape_part part_of(const tn_table *table, const tn_field *field) {
  const tn_options *options = &table->options;
  if (field->type.root == TN_BLOB) {
    return is_listed(tn_options_get(options, "blob-descriptor-field"), field->name) ? TN_PART_ROWS
                                                                                    : TN_PART_BLOB;
  }
  return field->type.root == TN_VECTOR && tn_options_get(options, "vector.file.format") != NULL
             ? TN_PART_VECTORS
             : TN_PART_ROWS;
}

bool tn_column_is_apart(const tn_table *table, const tn_field *field) {
  return part_of(table, field) != TN_PART_ROWS;
}

static tarn_status create_shape(tn_table *table, bool is_key_value, tn_shape_part part,
                                const int32_t *columns, int32_t n_columns, tn_write_shape **out,
                                tarn_error *err);

static tarn_status add_part(tn_write_shape *shape, tn_shape_part part, const int32_t *columns,
                            int32_t n_columns, tarn_error *err) {
  int32_t at = shape->n_parts;
  if (n_columns == 0) {
    return TARN_OK;
  }
  shape->part_inputs[at] =
      tn_arena_memdup(&shape->arena, columns, (size_t)n_columns * sizeof(*columns));
  if (shape->part_inputs[at] == NULL) {
    return tn_oom(err);
  }
  TN_TRY(create_shape(shape->table, false, part, shape->part_inputs[at], n_columns,
                      &shape->parts[at], err));
  shape->n_parts++;
  return TARN_OK;
}

/* The columns of a part, in their order. */
static int32_t list_part(const tn_table *table, tn_shape_part part, int32_t *columns) {
  int32_t n = 0;
  for (int32_t c = 0; c < table->schema->n_fields; c++) {
    if (part_of(table, &table->schema->fields[c]) == part) {
      columns[n++] = c;
    }
  }
  return n;
}

/* A shape of all columns: of one file, or of several if columns call for it. Rule:
 * DedicatedFormatRollingFileWriter. */
static tarn_status make_parts(tn_write_shape *shape, tarn_error *err) {
  const tn_table *table = shape->table;
  int32_t n = table->schema->n_fields, n_blobs = 0, n_apart = 0, n_found;
  int32_t *columns = tn_arena_calloc(&shape->arena, (size_t)n, sizeof(*columns));
  for (int32_t c = 0; c < n; c++) {
    n_blobs += table->schema->fields[c].type.root == TN_BLOB;
    n_apart += part_of(table, &table->schema->fields[c]) != TN_PART_ROWS;
  }
  if (n_blobs + n_apart == 0) {
    return make_shape(shape, NULL, 0, err);
  }
  if (n_blobs > 0 && tn_options_get(&table->options, "blob-external-storage-field") != NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: option 'blob-external-storage-field': BLOBs in external storage cannot be "
                   "written",
                   table->full_name);
  }
  shape->parts = tn_arena_calloc(&shape->arena, (size_t)n + 1, sizeof(*shape->parts));
  shape->part_inputs = tn_arena_calloc(&shape->arena, (size_t)n + 1, sizeof(*shape->part_inputs));
  if (columns == NULL || shape->parts == NULL || shape->part_inputs == NULL) {
    return tn_oom(err);
  }
  TN_TRY(make_input(shape, NULL, 0, err));
  n_found = list_part(table, TN_PART_ROWS, columns);
  if (n_found == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: all of its columns lie in files beside data files, and none in those",
                   table->full_name);
  }
  TN_TRY(add_part(shape, TN_PART_ROWS, columns, n_found, err));
  n_found = list_part(table, TN_PART_BLOB, columns);
  for (int32_t i = 0; i < n_found; i++) {
    TN_TRY(add_part(shape, TN_PART_BLOB, &columns[i], 1, err));
  }
  return add_part(shape, TN_PART_VECTORS, columns, list_part(table, TN_PART_VECTORS, columns), err);
}

static tarn_status create_shape(tn_table *table, bool is_key_value, tn_shape_part part,
                                const int32_t *columns, int32_t n_columns, tn_write_shape **out,
                                tarn_error *err) {
  tn_write_shape *shape = tn_calloc(&table->env->mem, 1, sizeof(*shape));
  tarn_status st;
  *out = NULL;
  if (shape == NULL) {
    return tn_oom(err);
  }
  shape->table = tn_table_retain(table);
  shape->is_key_value = is_key_value;
  shape->part = part;
  tn_arena_init(&shape->arena, &table->env->mem, SIZE_MAX);
  st = part == TN_PART_ROWS && !is_key_value && columns == NULL
           ? make_parts(shape, err)
           : make_shape(shape, columns, n_columns, err);
  if (st != TARN_OK) {
    tn_write_shape_free(shape);
    return st;
  }
  *out = shape;
  return TARN_OK;
}

tarn_status tn_write_shape_create(tn_table *table, bool is_key_value, const int32_t *write_columns,
                                  int32_t n_write_columns, tn_write_shape **out, tarn_error *err) {
  for (int32_t i = 0; i < n_write_columns && write_columns != NULL; i++) {
    const tn_field *field = column_of(table->schema, write_columns[i]);
    if (field != NULL && part_of(table, field) != TN_PART_ROWS) {
      *out = NULL;
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "column '%s' lies in files of its own, which are written with whole rows only",
                     field->name);
    }
  }
  return create_shape(table, is_key_value, TN_PART_ROWS, write_columns, n_write_columns, out, err);
}

void tn_write_shape_free(tn_write_shape *shape) {
  if (shape != NULL) {
    tn_table *table = shape->table;
    for (int32_t i = 0; i < shape->n_parts; i++) {
      tn_write_shape_free(shape->parts[i]); /* parts have none */
    }
    tn_arena_reset(&shape->arena);
    tn_free(&table->env->mem, shape);
    tn_table_release(table);
  }
}

const tn_field *tn_write_shape_fields(const tn_write_shape *shape, int32_t *n_fields) {
  *n_fields = shape->n_input;
  return shape->input_fields;
}
