/* paged_file.c - pages in their places, written when another page needs the place. */
#include "stream/paged_file.h"

#include <string.h>

#define FEW_PLACES 16 /* with one page each their memory is not counted */

tarn_status tn_paged_file_init(tarn_env *env, const char *path, bool has_no_name, size_t page_bytes,
                               size_t max_bytes, tn_paged_file *out, tarn_error *err) {
  size_t n = 1;
  *out = (tn_paged_file){.env = env, .has_no_name = has_no_name, .page_bytes = page_bytes};
  while (n < max_bytes / page_bytes / 2 + 1 && n * 2 * page_bytes <= max_bytes) {
    n *= 2;
  }
  while (n > 1 && !tn_reserve_try(&env->mem, n * page_bytes)) {
    n /= 2;
  }
  out->reserved = n > 1 ? n * page_bytes : 0;
  out->n_places = n;
  out->path = tn_strdup(&env->mem, path);
  out->places = tn_calloc(&env->mem, n, page_bytes);
  out->pages = tn_alloc(&env->mem, n * sizeof(*out->pages));
  out->is_changed = tn_calloc(&env->mem, n, sizeof(*out->is_changed));
  if (out->path == NULL || out->places == NULL || out->pages == NULL || out->is_changed == NULL) {
    return tn_oom(err);
  }
  memset(out->pages, 0xff, n * sizeof(*out->pages));
  return TARN_OK;
}

void tn_paged_file_reset(tn_paged_file *f) {
  if (f->env != NULL) {
    tn_mem *mem = &f->env->mem;
    tn_random_file_close(f->file);
    tn_free(mem, f->path);
    tn_free(mem, f->places);
    tn_free(mem, f->pages);
    tn_free(mem, f->is_changed);
    tn_unreserve(mem, f->reserved);
  }
  memset(f, 0, sizeof(*f));
}

void tn_paged_file_move(tn_paged_file *to, tn_paged_file *from) {
  *to = *from;
  memset(from, 0, sizeof(*from));
}

tarn_status tn_paged_file_open(tn_paged_file *f, int64_t size_bytes, tarn_error *err) {
  int64_t size;
  TN_TRY(tn_random_file_open(f->env, f->path, false, &f->file, err));
  TN_TRY(tn_random_file_size(f->file, &size, err));
  if (size < size_bytes) {
    return tn_fail(err, TARN_E_CORRUPT, "%s has %lld bytes, expected %lld or more", f->path,
                   (long long)size, (long long)size_bytes);
  }
  f->file_bytes = size;
  return TARN_OK;
}

static tarn_status need_file(tn_paged_file *f, tarn_error *err) {
  if (f->file != NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_random_file_open(f->env, f->path, true, &f->file, err));
  return f->has_no_name ? tn_random_file_unlink(f->file, err) : TARN_OK;
}

static tarn_status write_place(tn_paged_file *f, size_t place, tarn_error *err) {
  int64_t offset = f->pages[place] * (int64_t)f->page_bytes;
  TN_TRY(need_file(f, err));
  TN_TRY(
      tn_random_file_write(f->file, offset, f->places + place * f->page_bytes, f->page_bytes, err));
  f->is_changed[place] = false;
  if (offset + (int64_t)f->page_bytes > f->file_bytes) {
    f->file_bytes = offset + (int64_t)f->page_bytes;
  }
  return TARN_OK;
}

static tarn_status load_place(tn_paged_file *f, size_t place, int64_t page, tarn_error *err) {
  uint8_t *to = f->places + place * f->page_bytes;
  int64_t offset = page * (int64_t)f->page_bytes;
  size_t n = 0;
  if (f->is_changed[place]) {
    TN_TRY(write_place(f, place, err));
  }
  f->pages[place] = -1;
  if (f->file != NULL && offset < f->file_bytes) {
    TN_TRY(tn_random_file_read(f->file, offset, to, f->page_bytes, &n, err));
  }
  memset(to + n, 0, f->page_bytes - n);
  f->pages[place] = page;
  return TARN_OK;
}

tarn_status tn_paged_file_page(tn_paged_file *f, int64_t offset, bool is_to_change, uint8_t **at,
                               tarn_error *err) {
  size_t within = (size_t)offset & (f->page_bytes - 1);
  int64_t page = offset / (int64_t)f->page_bytes;
  size_t place = (size_t)page & (f->n_places - 1);
  if (TN_UNLIKELY(f->pages[place] != page)) {
    TN_TRY(load_place(f, place, page, err));
  }
  f->is_changed[place] |= is_to_change;
  *at = f->places + place * f->page_bytes + within;
  return TARN_OK;
}

/* Bytes at offset that lie in its page. */
static size_t in_page(const tn_paged_file *f, int64_t offset, size_t n_bytes) {
  size_t left = f->page_bytes - ((size_t)offset & (f->page_bytes - 1));
  return n_bytes < left ? n_bytes : left;
}

tarn_status tn_paged_file_read(tn_paged_file *f, int64_t offset, void *out, size_t n_bytes,
                               tarn_error *err) {
  while (n_bytes > 0) {
    size_t n = in_page(f, offset, n_bytes);
    uint8_t *at;
    TN_TRY(tn_paged_file_page(f, offset, false, &at, err));
    memcpy(out, at, n);
    out = (uint8_t *)out + n;
    offset += (int64_t)n;
    n_bytes -= n;
  }
  return TARN_OK;
}

tarn_status tn_paged_file_write(tn_paged_file *f, int64_t offset, const void *bytes, size_t n_bytes,
                                tarn_error *err) {
  while (n_bytes > 0) {
    size_t n = in_page(f, offset, n_bytes);
    uint8_t *at;
    TN_TRY(tn_paged_file_page(f, offset, true, &at, err));
    memcpy(at, bytes, n);
    bytes = (const uint8_t *)bytes + n;
    offset += (int64_t)n;
    n_bytes -= n;
  }
  return TARN_OK;
}

static tarn_status write_changed(tn_paged_file *f, tarn_error *err) {
  for (size_t i = 0; i < f->n_places; i++) {
    if (f->is_changed[i]) {
      TN_TRY(write_place(f, i, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_paged_file_shrink(tn_paged_file *f, tarn_error *err) {
  uint8_t *places;
  if (f->n_places <= FEW_PLACES) {
    return TARN_OK;
  }
  TN_TRY(write_changed(f, err));
  memset(f->pages, 0xff, FEW_PLACES * sizeof(*f->pages));
  f->n_places = FEW_PLACES;
  places = tn_realloc(&f->env->mem, f->places, FEW_PLACES * f->page_bytes);
  f->places = places != NULL ? places : f->places;
  tn_unreserve(&f->env->mem, f->reserved);
  f->reserved = 0;
  return TARN_OK;
}

tarn_status tn_paged_file_sync(tn_paged_file *f, tarn_error *err) {
  TN_TRY(need_file(f, err));
  TN_TRY(write_changed(f, err));
  return tn_random_file_sync(f->file, err);
}
