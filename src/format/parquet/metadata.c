/* metadata.c - names, and the footer: schema elements, row groups, column chunks. */
#include "format/parquet/metadata.h"

#include <stdio.h>

#include "base/checked.h"
#include "format/parquet/thrift.h"

#define MAX_ELEMENTS (1 << 20) /* schema elements that are accepted */

/* ------------------------------------------------------------------ names */

static const char *const physical_names[TN_PQ_N_PHYSICAL] = {
    "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
};

static const char *const encoding_names[TN_PQ_N_ENCODINGS] = {
    "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
    "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
    "RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
};

static const struct {
  const char *name;
  tn_codec_id id;
} codecs[] = {
    {"UNCOMPRESSED", TN_CODEC_NONE}, {"SNAPPY", TN_CODEC_SNAPPY},   {"GZIP", TN_CODEC_GZIP},
    {"LZO", TN_CODEC_LZO},           {"BROTLI", TN_CODEC_BROTLI},   {"LZ4", TN_CODEC_LZ4_HADOOP},
    {"ZSTD", TN_CODEC_ZSTD},         {"LZ4_RAW", TN_CODEC_LZ4_RAW},
};

static const char *const logical_names[TN_PQ_N_LOGICAL] = {
    "",     "STRING",  "MAP",       "MAP_KEY_VALUE", "LIST",      "ENUM",     "DECIMAL",
    "DATE", "TIME",    "TIMESTAMP", "INTEGER",       "UNKNOWN",   "JSON",     "BSON",
    "UUID", "FLOAT16", "VARIANT",   "GEOMETRY",      "GEOGRAPHY", "INTERVAL",
};

const char *tn_pq_physical_name(int32_t physical) {
  return physical >= 0 && physical < TN_PQ_N_PHYSICAL ? physical_names[physical] : "?";
}

const char *tn_pq_encoding_name(int32_t encoding) {
  return encoding >= 0 && encoding < TN_PQ_N_ENCODINGS ? encoding_names[encoding] : "?";
}

const char *tn_pq_codec_label(int32_t codec) {
  return codec >= 0 && codec < (int32_t)TN_COUNT(codecs) ? codecs[codec].name : "?";
}

bool tn_pq_codec_id(int32_t codec, tn_codec_id *out) {
  if (codec < 0 || codec >= (int32_t)TN_COUNT(codecs)) {
    return false;
  }
  *out = codecs[codec].id;
  return true;
}

void tn_pq_element_text(const tn_pq_element *element, char *out, size_t n_out) {
  static const char *const units[] = {"MILLIS", "MICROS", "NANOS"};
  const tn_pq_logical *l = &element->logical;
  char physical[48], logical[64];
  if (element->is_group) {
    snprintf(physical, sizeof(physical), "%sgroup",
             element->repetition == TN_PQ_REPEATED ? "repeated " : "");
  } else if (element->physical == TN_PQ_FIXED) {
    snprintf(physical, sizeof(physical), "FIXED_LEN_BYTE_ARRAY(%d)", (int)element->type_length);
  } else {
    snprintf(physical, sizeof(physical), "%s", tn_pq_physical_name((int32_t)element->physical));
  }
  switch (l->kind) {
    case TN_PQ_NONE:
      snprintf(out, n_out, "%s", physical);
      return;
    case TN_PQ_DECIMAL:
      snprintf(logical, sizeof(logical), "DECIMAL(%d, %d)", (int)l->precision, (int)l->scale);
      break;
    case TN_PQ_INTEGER:
      snprintf(logical, sizeof(logical), "INT(%d, %s)", (int)l->bit_width,
               l->is_signed ? "signed" : "unsigned");
      break;
    case TN_PQ_TIME:
    case TN_PQ_TIMESTAMP:
      snprintf(logical, sizeof(logical), "%s(%s%s)", logical_names[l->kind], units[l->unit],
               l->is_utc ? ", UTC" : "");
      break;
    default:
      snprintf(logical, sizeof(logical), "%s", logical_names[l->kind]);
      break;
  }
  snprintf(out, n_out, "%s (%s)", physical, logical);
}

/* ------------------------------------------------------------------ schema elements */

/* ConvertedType, by its number. */
static const tn_pq_logical converted_types[] = {
    {.kind = TN_PQ_STRING},
    {.kind = TN_PQ_MAP},
    {.kind = TN_PQ_MAP_KEY_VALUE},
    {.kind = TN_PQ_LIST},
    {.kind = TN_PQ_ENUM},
    {.kind = TN_PQ_DECIMAL},
    {.kind = TN_PQ_DATE},
    {.kind = TN_PQ_TIME, .unit = TN_PQ_MILLIS, .is_utc = true},
    {.kind = TN_PQ_TIME, .unit = TN_PQ_MICROS, .is_utc = true},
    {.kind = TN_PQ_TIMESTAMP, .unit = TN_PQ_MILLIS, .is_utc = true},
    {.kind = TN_PQ_TIMESTAMP, .unit = TN_PQ_MICROS, .is_utc = true},
    {.kind = TN_PQ_INTEGER, .bit_width = 8},
    {.kind = TN_PQ_INTEGER, .bit_width = 16},
    {.kind = TN_PQ_INTEGER, .bit_width = 32},
    {.kind = TN_PQ_INTEGER, .bit_width = 64},
    {.kind = TN_PQ_INTEGER, .bit_width = 8, .is_signed = true},
    {.kind = TN_PQ_INTEGER, .bit_width = 16, .is_signed = true},
    {.kind = TN_PQ_INTEGER, .bit_width = 32, .is_signed = true},
    {.kind = TN_PQ_INTEGER, .bit_width = 64, .is_signed = true},
    {.kind = TN_PQ_JSON},
    {.kind = TN_PQ_BSON},
    {.kind = TN_PQ_INTERVAL},
};

/* LogicalType's union: the field id of each member. */
static const tn_pq_logical_kind logical_members[] = {
    [1] = TN_PQ_STRING,     [2] = TN_PQ_MAP,      [3] = TN_PQ_LIST,     [4] = TN_PQ_ENUM,
    [5] = TN_PQ_DECIMAL,    [6] = TN_PQ_DATE,     [7] = TN_PQ_TIME,     [8] = TN_PQ_TIMESTAMP,
    [10] = TN_PQ_INTEGER,   [11] = TN_PQ_NULL,    [12] = TN_PQ_JSON,    [13] = TN_PQ_BSON,
    [14] = TN_PQ_UUID,      [15] = TN_PQ_FLOAT16, [16] = TN_PQ_VARIANT, [17] = TN_PQ_GEOMETRY,
    [18] = TN_PQ_GEOGRAPHY,
};

/* TimeUnit: an empty struct under field 1, 2 or 3. */
static void parse_unit(tn_thrift *t, tn_pq_unit *unit) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    if (f.id >= 1 && f.id <= 3) {
      *unit = (tn_pq_unit)(f.id - 1);
    }
    tn_thrift_skip(t, &f);
  }
}

static void parse_logical_member(tn_thrift *t, tn_pq_logical *out) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    if (out->kind == TN_PQ_DECIMAL && f.id == 1) {
      tn_thrift_i32(t, &f, &out->scale);
    } else if (out->kind == TN_PQ_DECIMAL && f.id == 2) {
      tn_thrift_i32(t, &f, &out->precision);
    } else if ((out->kind == TN_PQ_TIME || out->kind == TN_PQ_TIMESTAMP) && f.id == 1) {
      tn_thrift_bool(t, &f, &out->is_utc);
    } else if ((out->kind == TN_PQ_TIME || out->kind == TN_PQ_TIMESTAMP) && f.id == 2) {
      if (tn_thrift_open(t, &f)) {
        parse_unit(t, &out->unit);
      }
    } else if (out->kind == TN_PQ_INTEGER && f.id == 1) {
      tn_thrift_i32(t, &f, &out->bit_width);
    } else if (out->kind == TN_PQ_INTEGER && f.id == 2) {
      tn_thrift_bool(t, &f, &out->is_signed);
    } else {
      tn_thrift_skip(t, &f);
    }
  }
}

/* A member that is not known leaves NONE: the value is then what its physical type says. */
static void parse_logical(tn_thrift *t, tn_pq_logical *out) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    bool is_known = f.id > 0 && f.id < (int32_t)TN_COUNT(logical_members) &&
                    logical_members[f.id] != TN_PQ_NONE;
    if (is_known && tn_thrift_open(t, &f)) {
      out->kind = logical_members[f.id];
      parse_logical_member(t, out);
    } else if (!is_known) {
      tn_thrift_skip(t, &f);
    }
  }
}

/* The parts of a schema element that are folded into `logical` once all are known. */
typedef struct raw_annotation {
  int32_t converted; /* -1: none */
  int32_t precision, scale;
} raw_annotation;

static tarn_status finish_element(tn_pq_element *e, bool has_type, int32_t type, bool is_root,
                                  const raw_annotation *raw, const char *path, tarn_error *err) {
  if (e->logical.kind == TN_PQ_NONE && raw->converted >= 0 &&
      raw->converted < (int32_t)TN_COUNT(converted_types)) {
    e->logical = converted_types[raw->converted];
    e->logical.precision = raw->precision;
    e->logical.scale = raw->scale;
  }
  e->is_group = !has_type;
  if (e->is_group) {
    return TARN_OK;  // children are counted by the caller
  }
  if (is_root || e->n_children > 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: schema element `%s` has a type and children",
                   path, e->name);
  }
  if (type < 0 || type >= TN_PQ_N_PHYSICAL) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: column `%s` has unknown physical type %d",
                   path, e->name, (int)type);
  }
  e->physical = (tn_pq_physical)type;
  if (e->physical == TN_PQ_FIXED && e->type_length <= 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer: column `%s` is FIXED_LEN_BYTE_ARRAY of length %d", path, e->name,
                   (int)e->type_length);
  }
  return TARN_OK;
}

static tarn_status parse_element(tn_arena *arena, tn_thrift *t, bool is_root, const char *path,
                                 tn_pq_element *e, tarn_error *err) {
  tn_thrift_field f = {0, 0};
  raw_annotation raw = {-1, 0, 0};
  int32_t type = 0, repetition = 0;
  bool has_type = false;
  tn_slice name = {NULL, 0};
  memset(e, 0, sizeof(*e));
  e->field_id = -1;
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        has_type = tn_thrift_i32(t, &f, &type);
        break;
      case 2:
        tn_thrift_i32(t, &f, &e->type_length);
        break;
      case 3:
        tn_thrift_i32(t, &f, &repetition);
        break;
      case 4:
        tn_thrift_binary(t, &f, &name);
        break;
      case 5:
        tn_thrift_i32(t, &f, &e->n_children);
        break;
      case 6:
        tn_thrift_i32(t, &f, &raw.converted);
        break;
      case 7:
        tn_thrift_i32(t, &f, &raw.scale);
        break;
      case 8:
        tn_thrift_i32(t, &f, &raw.precision);
        break;
      case 9:
        tn_thrift_i32(t, &f, &e->field_id);
        break;
      case 10:
        if (tn_thrift_open(t, &f)) {
          parse_logical(t, &e->logical);
        }
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
  if (!tn_thrift_is_ok(t)) {
    return TARN_OK;  // told by the caller
  }
  if (name.data == NULL || repetition < 0 || repetition > 2 || e->n_children < 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer: schema element `%.*s` has repetition %d and %d children", path,
                   TN_SLICE_ARG(name), (int)repetition, (int)e->n_children);
  }
  e->repetition = is_root ? TN_PQ_REQUIRED : (tn_pq_repetition)repetition;
  e->name = tn_arena_strndup(arena, (const char *)name.data, name.len);
  if (e->name == NULL) {
    return tn_oom(err);
  }
  return finish_element(e, has_type, type, is_root, &raw, path, err);
}

/* The depth-first list must be one tree. */
static tarn_status check_tree(const tn_pq_footer *footer, const char *path, tarn_error *err) {
  int64_t expected = 1;
  for (int32_t i = 0; i < footer->n_elements; i++) {
    if (expected == 0) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: footer: %d schema elements, the tree ends at %d",
                     path, (int)footer->n_elements, (int)i);
    }
    expected += footer->elements[i].n_children - 1;
  }
  if (expected != 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: the schema lacks %lld elements", path,
                   (long long)expected);
  }
  return TARN_OK;
}

static tarn_status parse_schema(tn_arena *arena, tn_thrift *t, int64_t count, const char *path,
                                tn_pq_footer *out, tarn_error *err) {
  tn_pq_element *elements = NULL;
  size_t capacity = 0;
  if (count < 1 || count > MAX_ELEMENTS) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: %lld schema elements", path, (long long)count);
  }
  for (int64_t i = 0; i < count && tn_thrift_is_ok(t); i++) {
    if (!tn_arena_grow(arena, (void **)&elements, &capacity, (size_t)i, sizeof(*elements))) {
      return tn_oom(err);
    }
    TN_TRY(parse_element(arena, t, i == 0, path, &elements[i], err));
    out->n_leaves += !elements[i].is_group;
    out->n_elements++;
  }
  out->elements = elements;
  return tn_thrift_is_ok(t) ? check_tree(out, path, err) : TARN_OK;
}

/* ------------------------------------------------------------------ row groups */

static void parse_stats(tn_thrift *t, tn_pq_stats *s) {
  tn_thrift_field f = {0, 0};
  bool has_old_min = false, has_old_max = false, has_min = false, has_max = false;
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        has_old_max = tn_thrift_binary(t, &f, &s->old_max);
        break;
      case 2:
        has_old_min = tn_thrift_binary(t, &f, &s->old_min);
        break;
      case 3:
        tn_thrift_i64(t, &f, &s->null_count);
        break;
      case 4:
        tn_thrift_i64(t, &f, &s->distinct_count);
        break;
      case 5:
        has_max = tn_thrift_binary(t, &f, &s->max);
        break;
      case 6:
        has_min = tn_thrift_binary(t, &f, &s->min);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
  s->has_old_bounds = has_old_min && has_old_max;
  s->has_bounds = has_min && has_max;
}

static tarn_status parse_encoding_stats(tn_arena *arena, tn_thrift *t, const tn_thrift_field *field,
                                        tn_pq_chunk *chunk, tarn_error *err) {
  tn_pq_encoding_stats *list = NULL;
  size_t capacity = 0;
  int64_t count;
  if (!tn_thrift_list_of(t, field, TN_THRIFT_STRUCT, &count)) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < count && tn_thrift_is_ok(t); i++) {
    tn_thrift_field f = {0, 0};
    if (!tn_arena_grow(arena, (void **)&list, &capacity, (size_t)i, sizeof(*list))) {
      return tn_oom(err);
    }
    list[i] = (tn_pq_encoding_stats){-1, -1, 0};
    while (tn_thrift_next(t, &f)) {
      if (f.id == 1) {
        tn_thrift_i32(t, &f, &list[i].page_type);
      } else if (f.id == 2) {
        tn_thrift_i32(t, &f, &list[i].encoding);
      } else if (f.id == 3) {
        tn_thrift_i32(t, &f, &list[i].count);
      } else {
        tn_thrift_skip(t, &f);
      }
    }
    chunk->n_encoding_stats++;
  }
  chunk->encoding_stats = list;
  return TARN_OK;
}

static void parse_encodings(tn_thrift *t, const tn_thrift_field *field, tn_pq_chunk *chunk) {
  int64_t count;
  if (!tn_thrift_list_of(t, field, TN_THRIFT_I32, &count)) {
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t encoding = tn_thrift_element_int(t);
    if (encoding >= 0 && encoding < 32) {
      chunk->encodings |= (uint32_t)1 << encoding;
    }
  }
}

static tarn_status parse_column_meta(tn_arena *arena, tn_thrift *t, tn_pq_chunk *c, bool *is_whole,
                                     tarn_error *err) {
  enum { HAS_TYPE = 1, HAS_CODEC = 2, HAS_VALUES = 4, HAS_BYTES = 8, HAS_OFFSET = 16, ALL = 31 };
  tn_thrift_field f = {0, 0};
  int has = 0;
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        has |= tn_thrift_i32(t, &f, &c->physical) ? HAS_TYPE : 0;
        break;
      case 2:
        parse_encodings(t, &f, c);
        break;
      case 4:
        has |= tn_thrift_i32(t, &f, &c->codec) ? HAS_CODEC : 0;
        break;
      case 5:
        has |= tn_thrift_i64(t, &f, &c->n_values) ? HAS_VALUES : 0;
        break;
      case 6:
        tn_thrift_i64(t, &f, &c->uncompressed_bytes);
        break;
      case 7:
        has |= tn_thrift_i64(t, &f, &c->compressed_bytes) ? HAS_BYTES : 0;
        break;
      case 9:
        has |= tn_thrift_i64(t, &f, &c->data_page_offset) ? HAS_OFFSET : 0;
        break;
      case 11:
        tn_thrift_i64(t, &f, &c->dictionary_page_offset);
        break;
      case 12:
        if (tn_thrift_open(t, &f)) {
          parse_stats(t, &c->stats);
        }
        break;
      case 13:
        TN_TRY(parse_encoding_stats(arena, t, &f, c, err));
        break;
      case 14:
        tn_thrift_i64(t, &f, &c->bloom_filter_offset);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
  *is_whole = has == ALL;
  return TARN_OK;
}

static tarn_status parse_chunk(tn_arena *arena, tn_thrift *t, const char *path, tn_pq_chunk *c,
                               tarn_error *err) {
  tn_thrift_field f = {0, 0};
  tn_slice file_path = {NULL, 0};
  bool is_whole = false, is_encrypted = false;
  memset(c, 0, sizeof(*c));
  c->stats.null_count = c->stats.distinct_count = -1;
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        tn_thrift_binary(t, &f, &file_path);
        break;
      case 3:
        if (tn_thrift_open(t, &f)) {
          TN_TRY(parse_column_meta(arena, t, c, &is_whole, err));
        }
        break;
      case 4:
        tn_thrift_i64(t, &f, &c->offset_index_offset);
        break;
      case 5:
        tn_thrift_i32(t, &f, &c->offset_index_bytes);
        break;
      case 6:
        tn_thrift_i64(t, &f, &c->column_index_offset);
        break;
      case 7:
        tn_thrift_i32(t, &f, &c->column_index_bytes);
        break;
      case 8:
        is_encrypted = true;
        tn_thrift_skip(t, &f);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
  if (!tn_thrift_is_ok(t)) {
    return TARN_OK;
  }
  if (is_encrypted) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: encrypted Parquet is not supported", path);
  }
  if (file_path.len > 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "%s: Parquet with column data in another file (`%.*s`) is not supported", path,
                   TN_SLICE_ARG(file_path));
  }
  if (!is_whole || c->n_values < 0 || c->compressed_bytes < 0) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer: a column chunk lacks metadata or has %lld values in %lld bytes",
                   path, (long long)c->n_values, (long long)c->compressed_bytes);
  }
  return TARN_OK;
}

static tarn_status parse_chunks(tn_arena *arena, tn_thrift *t, const tn_thrift_field *field,
                                const char *path, int32_t n_leaves, tn_pq_row_group *group,
                                tarn_error *err) {
  uint8_t element_type;
  int64_t count;
  if (!tn_thrift_list(t, field, &element_type, &count)) {
    return TARN_OK;
  }
  if (count != n_leaves || (count > 0 && element_type != TN_THRIFT_STRUCT)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer: a row group has %lld columns, the schema has %d", path,
                   (long long)count, (int)n_leaves);
  }
  group->chunks = tn_arena_calloc(arena, (size_t)count + 1, sizeof(*group->chunks));
  if (group->chunks == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < count && tn_thrift_is_ok(t); i++) {
    TN_TRY(parse_chunk(arena, t, path, &group->chunks[i], err));
  }
  return TARN_OK;
}

static tarn_status parse_row_group(tn_arena *arena, tn_thrift *t, const char *path,
                                   int32_t n_leaves, tn_pq_row_group *group, tarn_error *err) {
  tn_thrift_field f = {0, 0};
  bool has_rows = false;
  memset(group, 0, sizeof(*group));
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        TN_TRY(parse_chunks(arena, t, &f, path, n_leaves, group, err));
        break;
      case 2:
        tn_thrift_i64(t, &f, &group->total_bytes);
        break;
      case 3:
        has_rows = tn_thrift_i64(t, &f, &group->n_rows);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
  if (tn_thrift_is_ok(t) && (!has_rows || group->n_rows < 0 || group->chunks == NULL)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: a row group lacks its columns or row count",
                   path);
  }
  return TARN_OK;
}

static tarn_status parse_row_groups(tn_arena *arena, tn_thrift *t, int64_t count, const char *path,
                                    tn_pq_footer *out, tarn_error *err) {
  tn_pq_row_group *groups = NULL;
  size_t capacity = 0;
  int64_t first_row = 0;
  for (int64_t i = 0; i < count && tn_thrift_is_ok(t); i++) {
    if (!tn_arena_grow(arena, (void **)&groups, &capacity, (size_t)i, sizeof(*groups))) {
      return tn_oom(err);
    }
    TN_TRY(parse_row_group(arena, t, path, out->n_leaves, &groups[i], err));
    groups[i].first_row = first_row;
    if (!tn_add_i64(first_row, groups[i].n_rows, &first_row)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: footer: more than 2^63 rows", path);
    }
    out->n_row_groups++;
  }
  out->row_groups = groups;
  return TARN_OK;
}

/* ------------------------------------------------------------------ the footer */

static tarn_status parse_key_values(tn_arena *arena, tn_thrift *t, const tn_thrift_field *field,
                                    tn_pq_footer *out, tarn_error *err) {
  tn_pq_key_value *list = NULL;
  size_t capacity = 0;
  int64_t count;
  if (!tn_thrift_list_of(t, field, TN_THRIFT_STRUCT, &count)) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < count && tn_thrift_is_ok(t); i++) {
    tn_thrift_field f = {0, 0};
    if (!tn_arena_grow(arena, (void **)&list, &capacity, (size_t)i, sizeof(*list))) {
      return tn_oom(err);
    }
    memset(&list[i], 0, sizeof(list[i]));
    while (tn_thrift_next(t, &f)) {
      if (f.id == 1) {
        tn_thrift_binary(t, &f, &list[i].key);
      } else if (f.id == 2) {
        tn_thrift_binary(t, &f, &list[i].value);
      } else {
        tn_thrift_skip(t, &f);
      }
    }
    out->n_key_values++;
  }
  out->key_values = list;
  return TARN_OK;
}

static tarn_status parse_orders(tn_arena *arena, tn_thrift *t, const tn_thrift_field *field,
                                const char *path, tn_pq_footer *out, tarn_error *err) {
  static const tn_pq_order known[] = {TN_PQ_ORDER_UNKNOWN, TN_PQ_ORDER_TYPE, TN_PQ_ORDER_TOTAL};
  tn_pq_order *orders;
  uint8_t element_type;
  int64_t count;
  if (!tn_thrift_list(t, field, &element_type, &count)) {
    return TARN_OK;
  }
  if (element_type != TN_THRIFT_STRUCT || count != out->n_leaves) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: footer: %lld column orders, the schema has %d columns",
                   path, (long long)count, (int)out->n_leaves);
  }
  orders = tn_arena_calloc(arena, (size_t)count + 1, sizeof(*orders));
  if (orders == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < count; i++) {
    tn_thrift_field f = {0, 0};
    while (tn_thrift_next(t, &f)) {
      orders[i] = f.id > 0 && f.id < (int32_t)TN_COUNT(known) ? known[f.id] : TN_PQ_ORDER_UNKNOWN;
      tn_thrift_skip(t, &f);
    }
  }
  out->orders = orders;
  return TARN_OK;
}

/* Fields 1 to 9 of FileMetaData. */
static tarn_status parse_file_field(tn_arena *arena, tn_thrift *t, const tn_thrift_field *f,
                                    const char *path, tn_pq_footer *out, bool *has_rows,
                                    tarn_error *err) {
  uint8_t element_type;
  int64_t count;
  switch (f->id) {
    case 1:
      tn_thrift_i32(t, f, &out->version);
      return TARN_OK;
    case 2:
      if (out->elements == NULL && tn_thrift_list(t, f, &element_type, &count) &&
          element_type == TN_THRIFT_STRUCT) {
        return parse_schema(arena, t, count, path, out, err);
      }
      return tn_fail(err, TARN_E_CORRUPT, "%s: footer: the schema is no list", path);
    case 3:
      *has_rows = tn_thrift_i64(t, f, &out->n_rows);
      return TARN_OK;
    case 4:
      // The schema has the lower number and every writer writes in this order.
      if (out->elements != NULL && out->row_groups == NULL &&
          tn_thrift_list(t, f, &element_type, &count) &&
          (element_type == TN_THRIFT_STRUCT || count == 0)) {
        return parse_row_groups(arena, t, count, path, out, err);
      }
      return tn_fail(err, TARN_E_CORRUPT, "%s: footer: row groups without a schema", path);
    case 5:
      return parse_key_values(arena, t, f, out, err);
    case 6:
      tn_thrift_binary(t, f, &out->created_by);
      return TARN_OK;
    case 7:
      return parse_orders(arena, t, f, path, out, err);
    case 8:
    case 9:
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: encrypted Parquet is not supported", path);
    default:
      tn_thrift_skip(t, f);
      return TARN_OK;
  }
}

tarn_status tn_pq_footer_parse(tn_arena *arena, tn_slice bytes, const char *path, tn_pq_footer *out,
                               tarn_error *err) {
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  bool has_rows = false;
  int64_t n_rows = 0;
  memset(out, 0, sizeof(*out));
  tn_thrift_init(&t, bytes);
  while (tn_thrift_next(&t, &f)) {
    TN_TRY(parse_file_field(arena, &t, &f, path, out, &has_rows, err));
  }
  if (!tn_thrift_is_ok(&t) || out->elements == NULL || !has_rows) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer of %zu bytes is no Parquet metadata: it ends early or is damaged",
                   path, bytes.len);
  }
  for (int32_t i = 0; i < out->n_row_groups; i++) {
    n_rows += out->row_groups[i].n_rows;
  }
  if (out->n_rows == 0) {
    out->n_rows = n_rows;  // early writers left it at 0
  }
  if (n_rows != out->n_rows) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: footer: the file has %lld rows, its row groups together %lld", path,
                   (long long)out->n_rows, (long long)n_rows);
  }
  return TARN_OK;
}
