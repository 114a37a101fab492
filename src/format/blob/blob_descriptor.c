/* blob_descriptor.c - descriptors, and reading what they refer to. */
#include "format/blob/blob_descriptor.h"

#include <string.h>

#include "base/bytes.h"

#define VERSION 2
#define MAGIC UINT64_C(0x424C4F4244455343)
#define HEAD_BYTES 13 /* version, magic, length of the URI */
#define TAIL_BYTES 16

bool tn_blob_is_descriptor(tn_slice value) {
  return value.len >= 9 && value.data[0] <= VERSION && tn_load_le64(value.data + 1) == MAGIC;
}

tarn_status tn_blob_descriptor_decode(tn_slice value, tn_blob_descriptor *out, tarn_error *err) {
  uint32_t n;
  if (!tn_blob_is_descriptor(value) || value.len < HEAD_BYTES + TAIL_BYTES ||
      value.data[0] != VERSION) {
    return tn_fail(err, TARN_E_CORRUPT, "a descriptor of a BLOB of %zu bytes, version %d",
                   value.len, value.len > 0 ? (int)value.data[0] : 0);
  }
  n = tn_load_le32(value.data + HEAD_BYTES - 4);
  if (n != value.len - HEAD_BYTES - TAIL_BYTES) {
    return tn_fail(err, TARN_E_CORRUPT, "a descriptor of a BLOB of %zu bytes with a URI of %u",
                   value.len, n);
  }
  out->uri = tn_slice_of(value.data + HEAD_BYTES, n);
  out->offset = (int64_t)tn_load_le64(value.data + HEAD_BYTES + n);
  out->length = (int64_t)tn_load_le64(value.data + HEAD_BYTES + n + 8);
  if (out->offset < 0 || out->length < -1) {
    return tn_fail(err, TARN_E_CORRUPT, "a descriptor of a BLOB with offset %lld and length %lld",
                   (long long)out->offset, (long long)out->length);
  }
  return TARN_OK;
}

size_t tn_blob_descriptor_bytes(size_t uri_bytes) {
  return HEAD_BYTES + uri_bytes + TAIL_BYTES;
}

void tn_blob_descriptor_encode(const tn_blob_descriptor *descriptor, uint8_t *out) {
  size_t n = descriptor->uri.len;
  out[0] = VERSION;
  tn_store_le64(out + 1, MAGIC);
  tn_store_le32(out + HEAD_BYTES - 4, (uint32_t)n);
  memcpy(out + HEAD_BYTES, descriptor->uri.data, n);
  tn_store_le64(out + HEAD_BYTES + n, (uint64_t)descriptor->offset);
  tn_store_le64(out + HEAD_BYTES + n + 8, (uint64_t)descriptor->length);
}

/* ------------------------------------------------------------------ resolving */

/* What is read of the descriptors of one vector. */
typedef struct resolver {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena; /* the path of `file` */
  tn_slice uri;   /* of `file`; borrowed from the vector */
  tn_file *file;  /* the one opened last; NULL: none */
} resolver;

/* Open the file of a descriptor; the bytes that it means. */
static tarn_status locate(resolver *r, const tn_blob_descriptor *d, int64_t *n_bytes,
                          tarn_error *err) {
  if (r->file == NULL || !tn_slice_equal(r->uri, d->uri)) {
    const char *uri, *path;
    tn_file_release(r->file);
    r->file = NULL;
    tn_arena_reset(&r->arena);
    uri = tn_arena_strndup(&r->arena, (const char *)d->uri.data, d->uri.len);
    if (uri == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_path_plain(&r->arena, uri, &path, err));
    TN_TRY(tn_storage_open(r->storage, path, &r->file, err));
    r->uri = d->uri;
  }
  *n_bytes = d->length >= 0 ? d->length : r->file->size_bytes - d->offset;
  if (d->offset > r->file->size_bytes || *n_bytes > r->file->size_bytes - d->offset) {
    return tn_fail(
        err, TARN_E_CORRUPT, "a BLOB of %lld bytes at offset %lld of %s, which has %lld bytes",
        (long long)*n_bytes, (long long)d->offset, r->file->path, (long long)r->file->size_bytes);
  }
  return TARN_OK;
}

/* Bytes of each value, as end offsets. */
static tarn_status measure(resolver *r, const tn_vec *in, int32_t *ends, size_t *sum,
                           tarn_error *err) {
  *sum = 0;
  for (int64_t i = 0; i < in->length; i++) {
    tn_slice value = tn_vec_bytes(in, i);
    int64_t n = (int64_t)value.len;
    if (tn_blob_is_descriptor(value)) {
      tn_blob_descriptor d;
      TN_TRY(tn_blob_descriptor_decode(value, &d, err));
      TN_TRY(locate(r, &d, &n, err));
    }
    if (n > INT32_MAX - (int64_t)*sum) {
      return tn_fail(err, TARN_E_LIMIT,
                     "values of %lld bytes in one batch; 'blob-as-descriptor' = true reads where "
                     "they lie",
                     (long long)*sum + (long long)n);
    }
    *sum += (size_t)n;
    ends[i] = (int32_t)*sum;
  }
  return TARN_OK;
}

static tarn_status fill(resolver *r, const tn_vec *in, tn_vec *out, tarn_error *err) {
  uint8_t *to = out->values;
  for (int64_t i = 0; i < in->length; i++) {
    tn_slice value = tn_vec_bytes(in, i);
    size_t n = (size_t)(out->offsets[i + 1] - out->offsets[i]);
    if (tn_blob_is_descriptor(value)) {
      tn_blob_descriptor d;
      int64_t n_bytes;
      TN_TRY(tn_blob_descriptor_decode(value, &d, err));
      TN_TRY(locate(r, &d, &n_bytes, err));
      if (n_bytes != (int64_t)n) {
        return tn_fail(err, TARN_E_IO, "%s has become another file", r->file->path);
      }
      TN_TRY(tn_file_read(r->file, d.offset, to + out->offsets[i], n, err));
    } else if (n > 0) {
      memcpy(to + out->offsets[i], value.data, n);
    }
  }
  return TARN_OK;
}

static bool has_descriptors(const tn_vec *vec) {
  for (int64_t i = 0; i < vec->length; i++) {
    if (tn_blob_is_descriptor(tn_vec_bytes(vec, i))) {
      return true;
    }
  }
  return false;
}

tarn_status tn_blob_resolve(tarn_env *env, tn_storage *storage, tn_vec *vec, tarn_error *err) {
  resolver r = {.env = env, .storage = storage};
  tn_vec out = {0};
  int32_t *ends;
  size_t sum;
  tarn_status st = TARN_OK;
  if (!has_descriptors(vec)) {
    return TARN_OK;
  }
  tn_arena_init(&r.arena, &env->mem, 1u << 20);
  ends = tn_calloc(&env->mem, (size_t)vec->length, sizeof(*ends));
  if (ends == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_vec_flatten(env, vec, err));
  TN_TRY_TO(done, measure(&r, vec, ends, &sum, err));
  TN_TRY_TO(done, tn_vec_init(env, vec->type, &out, err));
  TN_TRY_TO(done, tn_vec_alloc(env, &out, vec->length, sum, err));
  memcpy(out.offsets + 1, ends, (size_t)vec->length * sizeof(*ends));
  TN_TRY_TO(done, fill(&r, vec, &out, err));
  out.valid_buffer = tn_buffer_retain(vec->valid_buffer);
  out.valid = vec->valid;
  out.null_count = vec->null_count;
  tn_vec_reset(env, vec);
  tn_vec_move(vec, &out);
done:
  tn_vec_reset(env, &out);
  tn_free(&env->mem, ends);
  tn_file_release(r.file);
  tn_arena_reset(&r.arena);
  return st;
}
