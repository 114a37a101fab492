/* File indexes when a data file is read: which of its rows are read at all. */
#include "datafile/data_reader.h"

#include <roaring.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "data_maker.h"
#include "index_maker.h"
#include "support/files.h"

#define VALUES "7,1,7,null,2,3,4,5,7,6"
#define ROWS "0|7;1|1;2|7;3|null;4|2;5|3;6|4;7|5;8|7;9|6"
#define N_ROWS 10

/* A table "id INT, c INT" with one file of these rows, and an index of c. */
typedef struct reading {
  table_maker tm;
  tn_table *table;
  tn_data_file file;
  tn_data_request request;
  tn_slice index;
} reading;

static void begin(reading *r, const char *dynamic) {
  memset(r, 0, sizeof(*r));
  tm_begin(&r->tm, 1);
  tm_schema(&r->tm, 0, "0 id INT|1 c INT", "", "", "");
  r->table = tm_table(&r->tm, dynamic);
  r->file = dm_append(&r->tm, "/t", "f.avro", "id INT|c INT", ROWS);
  r->request.path = dm_path(&r->tm, "/t", "f.avro");
  r->index = make_bitmap_of(&r->tm.arena, "c", VALUES);
}

static void embed(reading *r) {
  r->file.has_embedded_index = true;
  r->file.embedded_index = r->index;
}

static void put_beside(reading *r, const char *path) {
  OK(tn_storage_memory_put(r->tm.storage, path, r->index, err));
}

static void end(reading *r) {
  tn_table_release(r->table);
  tm_end(&r->tm);
}

/* Rows that are left to be read: their first column as text. */
static tarn_status read_rows(reading *r, const char *where, tn_buf *text, tarn_error *error) {
  const tn_schema *schema = r->table->schema;
  tn_data_shape *shape = NULL;
  tn_data_reader *reader = NULL;
  tn_batch batch = {0};
  const uint8_t *alive;
  tarn_status st = tn_data_shape_create(r->table, schema->fields, 1, NULL, 0, false, &shape, error);
  r->request.shape = shape;
  r->request.file = &r->file;
  r->request.pushed = tm_where(&r->tm, r->table, where);
  if (st == TARN_OK) {
    st = tn_data_reader_open(&r->request, &reader, error);
  }
  while (st == TARN_OK) {
    st = tn_data_reader_next(reader, 100, &batch, &alive, error);
    if (st != TARN_OK || batch.n_rows == 0) {
      break;
    }
    for (int64_t i = 0; i < batch.n_rows; i++) {
      tn_datum id = tn_vec_datum(&batch.columns[0], i);
      if (alive == NULL || tn_bit_get(alive, i)) {
        OK(tn_buf_printf(text, err, "%s%d", text->len > 0 ? " " : "", (int)id.v.i64));
      }
    }
  }
  tn_batch_reset(r->tm.env, &batch);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
  return st;
}

static void assert_rows(reading *r, const char *where, const char *expected) {
  tarn_error error = {0};
  tn_buf text;
  tn_buf_init(&text, &r->tm.env->mem, 1u << 16);
  if (read_rows(r, where, &text, &error) != TARN_OK) {
    fail_msg("%s: %s", where, error.message);
  }
  OK(tn_buf_append(&text, "", 1, err));
  assert_string_equal((const char *)text.data, expected);
  tn_buf_reset(&text);
}

static void assert_fails(reading *r, tarn_status status, const char *words) {
  tarn_error error = {0};
  tn_buf text;
  tn_buf_init(&text, &r->tm.env->mem, 1u << 16);
  assert_int_equal(read_rows(r, "c = 7", &text, &error), status);
  assert_contains(error.message, words);
  tn_buf_reset(&text);
}

#define ALL "0 1 2 3 4 5 6 7 8 9"

/* ------------------------------------------------------------------ finding it */

static void index__embedded_bounds_what_is_read(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  assert_rows(&r, "c = 2", ALL); /* Avro has no statistics */
  embed(&r);
  assert_rows(&r, "c = 2", "4");
  assert_rows(&r, "c = 7", "0 1 2 3 4 5 6 7 8"); /* from the first match to the last */
  assert_rows(&r, "c IS NULL", "3");
  assert_rows(&r, "c = 2 AND id > 100", "4");
  assert_rows(&r, "c = 2 AND c = 3", "");
  assert_rows(&r, "c = 2 OR c = 3", "4 5");
  assert_rows(&r, "c = 2 OR id > 100", ALL);
  assert_rows(&r, "c < 2", ALL);
  end(&r);
}

static void index__beside_is_found_by_its_listed_name(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  r.file.extra_files = tm_texts(&r.tm, "other.changelog,f.avro-1.index");
  put_beside(&r, "/t/f.avro-1.index");
  assert_rows(&r, "c = 2", "4");
  end(&r);
}

static void index__embedded_comes_before_the_one_beside(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  r.file.extra_files = tm_texts(&r.tm, "gone.index");
  embed(&r);
  assert_rows(&r, "c = 2", "4");
  end(&r);
}

static void index__two_beside_are_corrupt(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  r.file.extra_files = tm_texts(&r.tm, "a.index,b.index");
  assert_fails(&r, TARN_E_CORRUPT, "two index files: a.index and b.index");
  end(&r);
}

static void index__is_off_when_told_so(void **state) {
  reading r;
  (void)state;
  begin(&r, "file-index.read.enabled=false");
  r.index = tm_text("no index at all");
  embed(&r);
  assert_rows(&r, "c = 2", ALL);
  end(&r);
}

/* ------------------------------------------------------------------ what it skips */

static void index__that_leaves_no_row_spares_the_file(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  embed(&r);
  tn_storage_memory_remove(r.tm.storage, "/t/f.avro");
  assert_rows(&r, "c = 99", "");
  assert_fails(&r, TARN_E_NOT_FOUND, "/t/f.avro");
  end(&r);
}

static void index__meets_the_wanted_rows(void **state) {
  tn_ranges wanted;
  reading r;
  (void)state;
  begin(&r, "");
  embed(&r);
  tn_ranges_init(&wanted, &r.tm.env->mem);
  OK(tn_ranges_add(&wanted, 0, 1, err));
  OK(tn_ranges_add(&wanted, 5, 9, err));
  r.request.rows = &wanted;
  assert_rows(&r, "c = 2", "");
  assert_rows(&r, "c = 3", "5");
  assert_rows(&r, "c = 7", "0 5 6 7 8");
  tn_ranges_reset(&wanted);
  end(&r);
}

static void index__is_asked_under_the_names_of_the_file(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  embed(&r);
  tn_table_release(r.table);
  tm_schema(&r.tm, 1, "0 id INT|1 renamed BIGINT|2 c INT", "", "", "");
  r.table = tm_table(&r.tm, "");
  assert_rows(&r, "renamed = 2", "4"); /* wider by now; the literal fits the old type */
  assert_rows(&r, "renamed = 2000000000000", ALL);
  assert_rows(&r, "c IS NULL", ALL);            /* the new c has nothing to do with the index */
  assert_rows(&r, "c = 2 OR renamed = 2", "4"); /* it is null in this file */
  end(&r);
}

/* ------------------------------------------------------------------ with deletions (B55) */

static tn_dv *wide_deletions(reading *r, uint32_t position) {
  roaring_bitmap_t *bitmap = roaring_bitmap_of_ptr(1, &position);
  size_t n = roaring_bitmap_portable_size_in_bytes(bitmap);
  uint8_t *blob = calloc(1, n + 24);
  tn_dv *dv;
  tn_store_be32(blob, (uint32_t)n + 16);
  tn_store_le32(blob + 4, 0x6439D3D1u);
  tn_store_le64(blob + 8, 1);
  roaring_bitmap_portable_serialize(bitmap, (char *)blob + 20);
  tn_store_be32(blob + 20 + n, tn_crc32(0, blob + 4, n + 16));
  OK(tn_dv_decode(r->tm.env, tn_slice_of(blob, n + 24), "dv", &dv, err));
  roaring_bitmap_free(bitmap);
  free(blob);
  return dv;
}

static void index__and_deletions_are_intersected(void **state) {
  reading r;
  tn_dv *dv;
  (void)state;
  begin(&r, "");
  embed(&r);
  r.request.deletions = dv = dm_deletions(&r.tm, "0,2");
  assert_rows(&r, "c = 7", "8");
  tn_dv_release(dv);
  r.request.deletions = dv = dm_deletions(&r.tm, "0,2,8");
  tn_storage_memory_remove(r.tm.storage, "/t/f.avro");
  assert_rows(&r, "c = 7", ""); /* without opening the file */
  tn_dv_release(dv);
  end(&r);
}

static void index__is_not_used_beside_deletions_of_64_bits(void **state) {
  reading r;
  tn_dv *dv;
  (void)state;
  begin(&r, "");
  embed(&r);
  r.request.deletions = dv = wide_deletions(&r, 2);
  assert_int_equal(tn_dv_version(dv), 2);
  assert_rows(&r, "c = 2", "0 1 3 4 5 6 7 8 9");
  tn_dv_release(dv);
  end(&r);
}

/* ------------------------------------------------------------------ faults */

static void index__lost_or_broken_is_told_with_a_way_out(void **state) {
  reading r;
  (void)state;
  begin(&r, "");
  r.file.extra_files = tm_texts(&r.tm, "f.index");
  assert_fails(&r, TARN_E_NOT_FOUND, "/t/f.index");
  assert_fails(&r, TARN_E_NOT_FOUND, "'file-index.read.enabled' = false");
  r.index.len--;
  put_beside(&r, "/t/f.index");
  assert_fails(&r, TARN_E_CORRUPT, "/t/f.index: file index: bitmap of column c");
  assert_fails(&r, TARN_E_CORRUPT, "'file-index.read.enabled' = false");
  r.index = make_bitmap_of(&r.tm.arena, "c", "7,7");
  put_beside(&r, "/t/f.index");
  assert_fails(&r, TARN_E_CORRUPT, "an index of 2 rows, but the data file has 10");
  end(&r);
}

static void index__lost_or_broken_costs_no_rows_where_that_is_forgiven(void **state) {
  reading r;
  (void)state;
  begin(&r, "scan.ignore-lost-files=true");
  r.file.extra_files = tm_texts(&r.tm, "f.index");
  assert_rows(&r, "c = 7", ALL);
  put_beside(&r, "/t/f.index");
  assert_rows(&r, "c = 2", "4");
  end(&r);
  begin(&r, "scan.ignore-corrupt-files=true");
  r.index.len--;
  embed(&r);
  assert_rows(&r, "c = 7", ALL);
  end(&r);
}

static void index__of_a_newer_paimon_costs_no_rows(void **state) {
  reading r;
  uint8_t *bytes;
  (void)state;
  begin(&r, "");
  bytes = (uint8_t *)(uintptr_t)r.index.data;
  tn_store_be32(bytes + 8, 2);
  embed(&r);
  assert_rows(&r, "c = 7", ALL);
  end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(index__embedded_bounds_what_is_read),
      cmocka_unit_test(index__beside_is_found_by_its_listed_name),
      cmocka_unit_test(index__embedded_comes_before_the_one_beside),
      cmocka_unit_test(index__two_beside_are_corrupt),
      cmocka_unit_test(index__is_off_when_told_so),
      cmocka_unit_test(index__that_leaves_no_row_spares_the_file),
      cmocka_unit_test(index__meets_the_wanted_rows),
      cmocka_unit_test(index__is_asked_under_the_names_of_the_file),
      cmocka_unit_test(index__and_deletions_are_intersected),
      cmocka_unit_test(index__is_not_used_beside_deletions_of_64_bits),
      cmocka_unit_test(index__lost_or_broken_is_told_with_a_way_out),
      cmocka_unit_test(index__lost_or_broken_costs_no_rows_where_that_is_forgiven),
      cmocka_unit_test(index__of_a_newer_paimon_costs_no_rows),
  };
  return cmocka_run_group_tests_name("index_filter", tests, NULL, NULL);
}
