/* paged_file.h - bytes in any order, in a bounded number of pages in memory and the rest in a file.
 *
 * What fits in memory needs no file. Each page has one place in memory (its number modulo the
 * places); who takes the place of a changed page writes it first. Bytes that were never written are
 * zero. One thread at a time. Internal.
 */
#ifndef TN_STREAM_PAGED_FILE_H
#define TN_STREAM_PAGED_FILE_H

#include "io/random_file.h"

typedef struct tn_paged_file {
  tarn_env *env;
  char *path;           /* owned */
  bool has_no_name;     /* the file loses its name when it is made */
  tn_random_file *file; /* NULL: none was needed so far */
  int64_t file_bytes;   /* of pages in the file: those behind are zero */
  size_t page_bytes;    /* a power of two */
  size_t n_places;      /* a power of two */
  uint8_t *places;
  int64_t *pages;   /* that are in the places; -1: none */
  bool *is_changed; /* and differ from the file */
  size_t reserved;
} tn_paged_file;

/* Into raw memory: no bytes, no file. As many places as max_bytes allows, and the budget; one at
 * least. tn_paged_file_reset(), on failure too. */
TN_CHECKED tarn_status tn_paged_file_init(tarn_env *env, const char *path, bool has_no_name,
                                          size_t page_bytes, size_t max_bytes, tn_paged_file *out,
                                          tarn_error *err);
/* Go on with a file that is there, of size_bytes bytes or more: all of them stay until they are
 * written over. Errors: NOT_FOUND, CORRUPT (it is shorter), IO. */
TN_CHECKED tarn_status tn_paged_file_open(tn_paged_file *f, int64_t size_bytes, tarn_error *err);
/* Write what differs from the file, and go on with few places: for one more reading front to back.
 * Nothing when it has few already. */
TN_CHECKED tarn_status tn_paged_file_shrink(tn_paged_file *f, tarn_error *err);
void tn_paged_file_reset(tn_paged_file *f); /* accepts one that is all zero; the file stays */
void tn_paged_file_move(tn_paged_file *to, tn_paged_file *from);

/* The page of the byte at offset, valid until the next call; *at: that byte. */
TN_CHECKED tarn_status tn_paged_file_page(tn_paged_file *f, int64_t offset, bool is_to_change,
                                          uint8_t **at, tarn_error *err);
TN_CHECKED tarn_status tn_paged_file_read(tn_paged_file *f, int64_t offset, void *out,
                                          size_t n_bytes, tarn_error *err);
TN_CHECKED tarn_status tn_paged_file_write(tn_paged_file *f, int64_t offset, const void *bytes,
                                           size_t n_bytes, tarn_error *err);
/* All that was written is in the file, and on the disk. */
TN_CHECKED tarn_status tn_paged_file_sync(tn_paged_file *f, tarn_error *err);

#endif
