/* inspect.c - what a single file of a table is and holds. */
#include "api/handles.h"
#include "base/bytes.h"
#include "column/variant.h"
#include "index/deletion_vector.h"
#include "index/file_index.h"

#define JSON_FILE_LIMIT ((size_t)16 << 20)
#define INDEX_FILE_LIMIT ((size_t)1 << 30)

typedef struct inspection {
  tarn_env *env;
  tn_storage *storage;
  const char *path; /* plain */
  tn_file *file;
  uint8_t head[4]; /* first bytes; zero behind a shorter file */
  tn_buf *out;
} inspection;

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

static tarn_status inspect_format(inspection *in, const tn_format_ops *format, tarn_error *err) {
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

static tarn_status inspect_json(inspection *in, tarn_error *err) {
  static const struct {
    const char *key, *kind;
  } kinds[] = {
      {"deltaManifestList", "snapshot"}, {"highestFieldId", "schema"},
      {"nextSnapshot", "consumer"},      {"mergedRecordCount", "statistics"},
      {"creationTime", "success file"},
  };
  tn_json_doc *doc = NULL;
  const char *kind = "JSON";
  tarn_status st;
  tn_buf text;
  tn_buf_init(&text, &in->env->mem, JSON_FILE_LIMIT);
  TN_TRY_TO(done, tn_storage_read_all(in->storage, in->path, &text, err));
  TN_TRY_TO(done, tn_json_parse(&in->env->mem, tn_buf_slice(&text), in->path, &doc, err));
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    if (tn_json_get(tn_json_root(doc), kinds[i].key) != NULL) {
      kind = kinds[i].kind;
      break;
    }
  }
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] == '\n' || text.data[i] == '\r') {
      text.data[i] = ' '; /* between tokens: line breaks cannot stand inside JSON strings */
    }
  }
  TN_TRY_TO(done, tn_buf_printf(in->out, err, ",\"kind\":\"%s\",\"content\":", kind));
  st = tn_buf_append(in->out, text.data, text.len, err);
done:
  tn_json_free(doc);
  tn_buf_reset(&text);
  return st;
}

/* ------------------------------------------------------------------ index files */

#define DV_FIRST_BLOB 1u

/* Do the lengths of blobs lead exactly to the end? A hash index may begin with 01, too. */
static bool is_vectors(tn_slice bytes) {
  size_t at = DV_FIRST_BLOB;
  if (bytes.len == 0 || bytes.data[0] != 1) {
    return false;
  }
  while (at < bytes.len) {
    size_t length = bytes.len - at >= 8 ? tn_load_be32(bytes.data + at) : SIZE_MAX;
    if (length > bytes.len - at - 8) {
      return bytes.len % 4 != 0; /* a damaged container rather than hashes */
    }
    at += length + 8;
  }
  return true;
}

/* Every deletion vector of a container: [01] then [be32 L][L bytes][crc]... (spec: indexes, 2). */
static tarn_status inspect_vectors(inspection *in, tn_slice bytes, tarn_error *err) {
  size_t at = DV_FIRST_BLOB;
  bool is_first = true;
  TN_TRY(tn_buf_text(in->out, ",\"kind\":\"deletion vectors\",\"vectors\":[", err));
  while (at < bytes.len) {
    uint32_t length = bytes.len - at >= 8 ? tn_load_be32(bytes.data + at) : UINT32_MAX;
    tn_dv *dv = NULL;
    if (length > bytes.len - at - 8) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s: a deletion vector at offset %zu does not fit the file's %zu bytes",
                     in->path, at, bytes.len);
    }
    TN_TRY(tn_dv_decode(in->env, tn_slice_of(bytes.data + at, (size_t)length + 8), in->path, &dv,
                        err));
    {
      tarn_status st = tn_buf_printf(
          in->out, err, "%s{\"offset\":%zu,\"length\":%lu,\"version\":%d,\"cardinality\":%lld}",
          is_first ? "" : ",", at, (unsigned long)(tn_dv_version(dv) == 1 ? length : length + 8),
          (int)tn_dv_version(dv), (long long)tn_dv_cardinality(dv));
      tn_dv_release(dv);
      TN_TRY(st);
    }
    is_first = false;
    at += (size_t)length + 8;
  }
  return tn_buf_text(in->out, "]", err);
}

static tarn_status inspect_file_index(inspection *in, tn_slice bytes, tarn_error *err) {
  tn_file_index *index;
  tarn_status st;
  TN_TRY(tn_file_index_open(in->env, bytes, in->path, &index, err));
  st = tn_buf_text(in->out, ",\"kind\":\"file index\",\"columns\":", err);
  if (st == TARN_OK) {
    st = tn_file_index_describe(index, in->out, err);
  }
  tn_file_index_release(index);
  return st;
}

static tarn_status inspect_other(inspection *in, tarn_error *err) {
  const char *slash = strrchr(in->path, '/');
  const char *name = slash != NULL ? slash + 1 : in->path;
  tn_buf bytes;
  tarn_status st;
  if (memcmp(in->head, "ORC", 3) == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: ORC files are not in this release", in->path);
  }
  if (memcmp(in->head, "PARE", 4) == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: encrypted Parquet is not supported", in->path);
  }
  tn_buf_init(&bytes, &in->env->mem, INDEX_FILE_LIMIT);
  TN_TRY_TO(done, tn_storage_read_all(in->storage, in->path, &bytes, err));
  if (tn_file_index_is(tn_buf_slice(&bytes))) {
    st = inspect_file_index(in, tn_buf_slice(&bytes), err);
  } else if (is_vectors(tn_buf_slice(&bytes))) {
    st = inspect_vectors(in, tn_buf_slice(&bytes), err);
  } else if (strncmp(name, "index-", 6) == 0 && bytes.len % 4 == 0) {
    st = tn_buf_printf(in->out, err, ",\"kind\":\"hash index\",\"hashes\":%zu", bytes.len / 4);
  } else {
    st = tn_fail(err, TARN_E_UNSUPPORTED,
                 "%s: not a file that can be inspected (Parquet, Avro, manifest, deletion vectors, "
                 "file index, hash index or JSON)",
                 in->path);
  }
done:
  tn_buf_reset(&bytes);
  return st;
}

/* ------------------------------------------------------------------ the door */

static tarn_status open_path(tarn_env *env, const char *path, tn_arena *arena, inspection *in,
                             tarn_error *err) {
  TN_TRY(tn_storage_for_uri(env, arena, path, &in->storage, &in->path, err));
  TN_TRY(tn_storage_open(in->storage, in->path, &in->file, err));
  return tn_file_read(in->file, 0, in->head,
                      in->file->size_bytes < 4 ? (size_t)in->file->size_bytes : 4, err);
}

/* The format of a file of rows by its first bytes; NULL: none. */
static tarn_status format_of_head(const uint8_t *head, const tn_format_ops **out, tarn_error *err) {
  *out = NULL;
  if (memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0) {
    return tn_format_by_name(tn_slice_text("parquet"), out, err);
  }
  if (memcmp(head, "Obj\x01", 4) == 0) {
    return tn_format_by_name(tn_slice_text("avro"), out, err);
  }
  return TARN_OK;
}

tarn_status tarn_inspect(tarn_env *env, const char *path, tarn_string *out, tarn_error *err) {
  const tn_format_ops *format;
  inspection in = {0};
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
  TN_TRY_TO(done, open_path(env, path, &arena, &in, err));
  TN_TRY_TO(done, format_of_head(in.head, &format, err));
  TN_TRY_TO(done, tn_buf_text(&text, "{\"path\":", err));
  TN_TRY_TO(done, tn_json_quote(&text, tn_slice_text(in.path), err));
  TN_TRY_TO(done, tn_buf_printf(&text, err, ",\"size\":%lld", (long long)in.file->size_bytes));
  if (format != NULL) {
    st = inspect_format(&in, format, err);
  } else if (in.head[0] == '{') {
    st = inspect_json(&in, err);
  } else {
    st = inspect_other(&in, err);
  }
  if (st == TARN_OK) {
    st = tn_buf_text(&text, "}", err);
  }
done:
  st = tn_api_string(st, &text, out, err);
  tn_file_release(in.file);
  tn_storage_release(in.storage);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tarn_inspect_rows(tarn_env *env, const char *path, int64_t limit,
                              struct ArrowArrayStream *out, tarn_error *err) {
  const tn_format_ops *format = NULL;
  tn_read_request request = {0};
  tn_api_file_rows *rows;
  inspection in = {0};
  tn_field *fields;
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
  tn_arena_init(&rows->arena, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(fail, open_path(env, path, &rows->arena, &in, err));
  TN_TRY_TO(fail, format_of_head(in.head, &format, err));
  if (format == NULL) {
    st = tn_fail(err, TARN_E_UNSUPPORTED, "%s has no rows to show: not a Parquet or Avro file",
                 in.path);
    goto fail;
  }
  TN_TRY_TO(fail, format->open(env, in.file, &rows->file, err));
  TN_TRY_TO(fail, format->schema(rows->file, &rows->arena, &fields, &rows->n_fields, err));
  rows->fields = fields;
  request.fields = fields;
  request.n_fields = rows->n_fields;
  TN_TRY_TO(fail, format->read(rows->file, &request, &rows->reader, err));
  TN_TRY_TO(fail, tn_api_file_stream(rows, out, err));
  tn_file_release(in.file);
  tn_storage_release(in.storage);
  return TARN_OK;
fail:
  tn_reader_free(rows->reader);
  tn_format_file_release(rows->file);
  tn_file_release(in.file);
  tn_storage_release(in.storage);
  tn_arena_reset(&rows->arena);
  tn_free(&env->mem, rows);
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
