/* inspect.c - what a single file of a table is and holds: told by its first bytes, for JSON by its
 * members, for the rest by its name. Index files: inspect_index.c. */
#include "api/inspect_parts.h"
#include "base/bytes.h"
#include "column/variant.h"
#include "model/snapshot.h"

#define JSON_FILE_LIMIT ((size_t)16 << 20)
#define INDEX_FILE_LIMIT ((size_t)1 << 30)
#define HINT_BYTES 32

/* ------------------------------------------------------------------ data and manifests */

static bool has_field(const tn_field *fields, int32_t n, const char *name) {
  return tn_fields_find(fields, n, tn_slice_text(name)) >= 0;
}

/* Manifests are told by the fields of their records (spec: manifest). */
static const char *record_kind(const tn_field *fields, int32_t n) {
  if (has_field(fields, n, "_NUM_ADDED_FILES")) {
    return "manifest list";
  }
  if (has_field(fields, n, "_TOTAL_BUCKETS") && has_field(fields, n, "_FILE")) {
    return "manifest";
  }
  if (has_field(fields, n, "_INDEX_TYPE")) {
    return "index manifest";
  }
  if (has_field(fields, n, "_VALUE_KIND") && has_field(fields, n, "_SEQUENCE_NUMBER")) {
    return "key-value data file";
  }
  return "data file";
}

static tarn_status inspect_format(tn_inspection *in, const tn_format_ops *format, tarn_error *err) {
  tn_format_file *file = NULL;
  tn_field *fields;
  int32_t n_fields;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &in->env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, format->open(in->env, in->file, &file, err));
  TN_TRY_TO(done, format->schema(file, &arena, &fields, &n_fields, err));
  TN_TRY_TO(done, tn_buf_printf(in->out, err, ",\"kind\":\"%s\",\"%s\":",
                                record_kind(fields, n_fields), format->name));
  st = format->inspect(file, in->out, err);
done:
  tn_format_file_release(file);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ JSON files */

/* What is wrong with a snapshot, tag or changelog, with a schema; see json_kinds. */
static tarn_status check_snapshot(tn_inspection *in, tn_slice text, tarn_error *err) {
  tn_snapshot snapshot;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &in->env->mem, TN_API_TEXT_LIMIT);
  st = tn_snapshot_decode(&in->env->mem, &arena, text, in->path, &snapshot, err);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status check_schema(tn_inspection *in, tn_slice text, tarn_error *err) {
  tn_schema *schema = NULL;
  tarn_status st = tn_schema_decode(in->env, text, in->path, &schema, err);
  tn_schema_release(schema);
  return st;
}

/* The first that has the member, and whose files begin so, if it says. */
static const struct {
  const char *member, *prefix, *kind;
  tarn_status (*check)(tn_inspection *in, tn_slice text, tarn_error *err);
} json_kinds[] = {
    {"deltaManifestList", "tag-", "tag", check_snapshot},
    {"deltaManifestList", "changelog-", "changelog snapshot", check_snapshot},
    {"deltaManifestList", "", "snapshot", check_snapshot},
    {"highestFieldId", "", "schema", check_schema},
    {"nextSnapshot", "", "consumer", NULL},
    {"mergedRecordCount", "", "statistics", NULL},
    {"colStats", "", "statistics", NULL},
    {"creationTime", "", "success file", NULL},
    {"format-version", "", "Iceberg metadata", NULL},
    {NULL, "snapshot-", "snapshot", check_snapshot},
    {NULL, "schema-", "schema", check_schema},
    {NULL, "service-", "service addresses", NULL},
    {NULL, "", "JSON", NULL},
};

static tarn_status inspect_json(tn_inspection *in, tarn_error *err) {
  tn_json_doc *doc = NULL;
  tarn_error fault = {0};
  size_t kind = 0;
  tarn_status st;
  tn_buf text;
  tn_buf_init(&text, &in->env->mem, JSON_FILE_LIMIT);
  TN_TRY_TO(done, tn_storage_read_all(in->storage, in->path, &text, err));
  TN_TRY_TO(done, tn_json_parse(&in->env->mem, tn_buf_slice(&text), in->path, &doc, err));
  while ((json_kinds[kind].member != NULL &&
          tn_json_get(tn_json_root(doc), json_kinds[kind].member) == NULL) ||
         strncmp(in->name, json_kinds[kind].prefix, strlen(json_kinds[kind].prefix)) != 0) {
    kind++;  // the last one fits everything
  }
  TN_TRY_TO(done, tn_buf_printf(in->out, err, ",\"kind\":\"%s\"", json_kinds[kind].kind));
  if (json_kinds[kind].check != NULL &&
      json_kinds[kind].check(in, tn_buf_slice(&text), &fault) != TARN_OK) {
    TN_TRY_TO(done, tn_buf_text(in->out, ",\"fault\":", err));
    TN_TRY_TO(done, tn_json_quote(in->out, tn_slice_text(fault.message), err));
  }
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] == '\n' || text.data[i] == '\r') {
      text.data[i] = ' '; /* between tokens: line breaks cannot stand inside JSON strings */
    }
  }
  TN_TRY_TO(done, tn_buf_text(in->out, ",\"content\":", err));
  st = tn_buf_append(in->out, text.data, text.len, err);
done:
  tn_json_free(doc);
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ other files */

static bool is_hint(const tn_inspection *in) {
  return strcmp(in->name, "LATEST") == 0 || strcmp(in->name, "EARLIEST") == 0;
}

/* LATEST, EARLIEST: an id in decimal digits; a wrong one is as good as none (spec: layout, 3). */
static tarn_status inspect_hint(tn_inspection *in, tarn_error *err) {
  uint8_t bytes[HINT_BYTES];
  size_t n = (size_t)in->file->size_bytes;
  int64_t id = 0;
  bool is_number = n > 0 && n < 19;
  if (n <= sizeof(bytes)) {
    TN_TRY(tn_file_read(in->file, 0, bytes, n, err));
  }
  for (size_t i = 0; i < n && is_number; i++) {
    is_number = bytes[i] >= '0' && bytes[i] <= '9';
    id = id * 10 + (bytes[i] - '0');
  }
  TN_TRY(tn_buf_text(in->out, ",\"kind\":\"hint\"", err));
  return is_number ? tn_buf_printf(in->out, err, ",\"id\":%lld", (long long)id)
                   : tn_buf_text(in->out,
                                 ",\"id\":null,\"fault\":\"not a decimal number: readers list the "
                                 "folder instead\"",
                                 err);
}

/* Files that are known and not read, and files that are not known at all. */
static tarn_status refuse(const tn_inspection *in, tarn_error *err) {
  static const struct {
    const char *head, *what;
  } heads[] = {
      {"ORC", "ORC files are not in this release"},
      {"\x1f\x8b", "a file in gzip, which is no file of a Paimon table by itself"},
      {"\x28\xb5\x2f\xfd", "a file in zstd, which is no file of a Paimon table by itself"},
  };
  for (size_t i = 0; i < TN_COUNT(heads); i++) {
    if (memcmp(in->head, heads[i].head, strlen(heads[i].head)) == 0) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: %s", in->path, heads[i].what);
    }
  }
  if (in->file->size_bytes == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: the file is empty", in->path);
  }
  return tn_fail(err, TARN_E_UNSUPPORTED,
                 "%s: not a file that can be inspected: %lld bytes that begin with %02x %02x %02x "
                 "%02x, and no Parquet, Avro, manifest, BLOB file, deletion vectors, file index, "
                 "hash index, JSON or hint",
                 in->path, (long long)in->file->size_bytes, in->head[0], in->head[1], in->head[2],
                 in->head[3]);
}

/* The bytes of an index file and its kind; NONE without bytes when it can be none. */
static tarn_status read_index(const tn_inspection *in, tn_buf *bytes, tn_index_file *kind,
                              tarn_error *err) {
  *kind = TN_INDEX_FILE_NONE;
  if (in->file->size_bytes == 0 && strncmp(in->name, "index-", 6) != 0) {
    return TARN_OK;
  }
  TN_TRY(tn_storage_read_all(in->storage, in->path, bytes, err));
  *kind = tn_inspect_index_kind(in, tn_buf_slice(bytes));
  return TARN_OK;
}

static tarn_status inspect_other(tn_inspection *in, tarn_error *err) {
  tn_index_file kind;
  tn_buf bytes;
  tarn_status st;
  tn_buf_init(&bytes, &in->env->mem, INDEX_FILE_LIMIT);
  st = read_index(in, &bytes, &kind, err);
  if (st == TARN_OK) {
    st = kind != TN_INDEX_FILE_NONE ? tn_inspect_index(in, kind, tn_buf_slice(&bytes), err)
                                    : refuse(in, err);
  }
  tn_buf_reset(&bytes);
  return st;
}

/* ------------------------------------------------------------------ the door */

static tarn_status open_path(tarn_env *env, const char *path, tn_arena *arena, tn_inspection *in,
                             tarn_error *err) {
  const char *slash;
  TN_TRY(tn_storage_for_uri(env, arena, path, &in->storage, &in->path, err));
  slash = strrchr(in->path, '/');
  in->name = slash != NULL ? slash + 1 : in->path;
  TN_TRY(tn_storage_open(in->storage, in->path, &in->file, err));
  return tn_file_read(in->file, 0, in->head,
                      in->file->size_bytes < 4 ? (size_t)in->file->size_bytes : 4, err);
}

/* The format of a file of rows by its first bytes, of BLOBs by its name; NULL: none. */
static tarn_status format_of(const tn_inspection *in, const tn_format_ops **out, tarn_error *err) {
  static const char blob[] = ".blob";
  size_t n = strlen(in->name);
  *out = NULL;
  if (memcmp(in->head, "PAR1", 4) == 0 || memcmp(in->head, "PARE", 4) == 0) {
    return tn_format_by_name(tn_slice_text("parquet"), out, err);
  }
  if (memcmp(in->head, "Obj\x01", 4) == 0) {
    return tn_format_by_name(tn_slice_text("avro"), out, err);
  }
  if (n >= sizeof(blob) && strcmp(in->name + n - (sizeof(blob) - 1), blob) == 0) {
    return tn_format_by_name(tn_slice_text("blob"), out, err);
  }
  return TARN_OK;
}

static tarn_status inspect(tn_inspection *in, tarn_error *err) {
  const tn_format_ops *format;
  TN_TRY(format_of(in, &format, err));
  TN_TRY(tn_buf_text(in->out, "{\"path\":", err));
  TN_TRY(tn_json_quote(in->out, tn_slice_text(in->path), err));
  TN_TRY(tn_buf_printf(in->out, err, ",\"size\":%lld", (long long)in->file->size_bytes));
  if (format != NULL) {
    TN_TRY(inspect_format(in, format, err));
  } else if (in->head[0] == '{' || in->head[0] == '[') {
    TN_TRY(inspect_json(in, err));
  } else if (is_hint(in)) {
    TN_TRY(inspect_hint(in, err));
  } else {
    TN_TRY(inspect_other(in, err));
  }
  return tn_buf_text(in->out, "}", err);
}

tarn_status tarn_inspect(tarn_env *env, const char *path, tarn_string *out, tarn_error *err) {
  tn_inspection in = {0};
  tn_arena arena;
  tarn_status st;
  tn_buf text;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(env, err));
  tn_arena_init(&arena, &env->mem, TN_API_TEXT_LIMIT);
  tn_buf_init(&text, &env->mem, TN_API_TEXT_LIMIT);
  in.env = env;
  in.out = &text;
  st = open_path(env, path, &arena, &in, err);
  if (st == TARN_OK) {
    st = inspect(&in, err);
  }
  st = tn_api_string(st, &text, out, err);
  tn_file_release(in.file);
  tn_storage_release(in.storage);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ rows */

/* A reader of all columns that the file itself names. */
static tarn_status open_rows(const tn_inspection *in, tn_api_file_rows *rows, tarn_error *err) {
  const tn_format_ops *format = NULL;
  tn_read_request request = {0};
  tn_field *fields;
  TN_TRY(format_of(in, &format, err));
  if (format == NULL) {
    tn_index_file kind = TN_INDEX_FILE_NONE;
    tarn_status st = TARN_OK;
    tn_buf bytes;
    tn_buf_init(&bytes, &in->env->mem, INDEX_FILE_LIMIT);
    if (in->head[0] != '{' && in->head[0] != '[' && !is_hint(in)) {
      st = read_index(in, &bytes, &kind, err);
    }
    if (st == TARN_OK) {
      st = kind != TN_INDEX_FILE_NONE
               ? tn_inspect_index_rows(in, kind, &bytes, rows, err)
               : tn_fail(err, TARN_E_UNSUPPORTED,
                         "%s has no rows to show: not a Parquet, Avro or BLOB file, nor an index",
                         in->path);
    }
    tn_buf_reset(&bytes);
    return st;
  }
  TN_TRY(format->open(in->env, in->file, &rows->file, err));
  TN_TRY(format->schema(rows->file, &rows->arena, &fields, &rows->n_fields, err));
  rows->fields = fields;
  request.fields = fields;
  request.n_fields = rows->n_fields;
  return format->read(rows->file, &request, &rows->reader, err);
}

tarn_status tarn_inspect_rows(tarn_env *env, const char *path, int64_t limit,
                              int32_t timestamp_ns_as_us, struct ArrowArrayStream *out,
                              tarn_error *err) {
  tn_api_file_rows *rows;
  tn_inspection in = {.env = env};
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(env, err));
  rows = tn_calloc(&env->mem, 1, sizeof(*rows));
  if (rows == NULL) {
    return tn_oom(err);
  }
  rows->env = env;
  rows->limit = limit;
  rows->arrow = tn_api_times(timestamp_ns_as_us);
  tn_arena_init(&rows->arena, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(done, open_path(env, path, &rows->arena, &in, err));
  TN_TRY_TO(done, open_rows(&in, rows, err));
  st = tn_api_file_stream(rows, out, err);
done:
  if (st != TARN_OK) {
    tn_reader_free(rows->reader);
    tn_format_file_release(rows->file);
    tn_arena_reset(&rows->arena);
    tn_free(&env->mem, rows);
  }
  tn_file_release(in.file);
  tn_storage_release(in.storage);
  return st;
}

tarn_status tarn_variant_to_json(tarn_env *env, const void *metadata, size_t n_metadata,
                                 const void *value, size_t n_value, tarn_string *out,
                                 tarn_error *err) {
  tarn_status st;
  tn_buf text;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(env, err));
  tn_buf_init(&text, &env->mem, TN_API_TEXT_LIMIT);
  st = tn_variant_to_json(tn_slice_of(metadata, n_metadata), tn_slice_of(value, n_value), env->zone,
                          &text, err);
  return tn_api_string(st, &text, out, err);
}
