/* Which column of a file answers for a column of the table. */
#include "datafile/column_map.h"

#include "data_maker.h"

static const tn_field *field_of(const tn_schema *schema, const char *name) {
  int32_t at = tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(name));
  assert_true(at >= 0);
  return &schema->fields[at];
}

static tn_file_columns columns_of(const tn_schema *schema, bool is_key_value) {
  return (tn_file_columns){schema->fields, schema->n_fields, is_key_value, {false, false}};
}

static tn_column_map map_of(table_maker *tm, tn_table *table, const tn_schema *file,
                            const tn_field *wanted, int32_t n) {
  tn_column_map map;
  tn_file_columns columns = columns_of(file, false);
  OK(tn_column_map_make(&tm->arena, table, &columns, wanted, n, &map, err));
  return map;
}

static void column_map__finds_columns_by_id_under_their_old_names(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tn_schema *old = tm_schema(&tm, 0, "0 a INT|1 b STRING|2 c INT", "", "", "");
  tn_schema *new = tm_schema(&tm, 1, "1 renamed STRING|3 a INT|0 wider BIGINT", "", "", "");
  tn_table *table = tm_table(&tm, "");
  tn_column_map map = map_of(&tm, table, old, new->fields, 3);
  assert_int_equal(map.n_physical, 2);
  assert_int_equal(map.places[0].origin, TN_FROM_FILE);
  assert_string_equal(map.physical[map.places[0].index].name, "b");
  assert_false(map.places[0].needs_cast);
  assert_int_equal(map.places[1].origin, TN_FROM_NOTHING); /* another column of an old name */
  assert_string_equal(map.physical[map.places[2].index].name, "a");
  assert_int_equal(map.physical[map.places[2].index].type.root, TN_INT);
  assert_true(map.places[2].needs_cast);
  tn_table_release(table);
  tm_end(&tm);
}

static void column_map__takes_partition_keys_from_the_partition(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tn_schema *schema = tm_schema(&tm, 0, "0 a INT|1 p INT|2 q STRING", "q,p", "", "");
  tn_table *table = tm_table(&tm, "");
  tn_column_map map = map_of(&tm, table, schema, schema->fields, 3);
  assert_int_equal(map.n_physical, 1);
  assert_int_equal(map.places[1].origin, TN_FROM_PARTITION);
  assert_int_equal(map.places[1].index, 1); /* the second partition key */
  assert_int_equal(map.places[2].index, 0);
  tn_table_release(table);
  tm_end(&tm);
}

static void column_map__refuses_system_columns_it_cannot_have(void **state) {
  table_maker tm;
  tn_column_map map;
  tarn_error error;
  tn_field row_id = {.id = TN_FIELD_ID_ROW_ID, .name = "_ROW_ID", .type = {.root = TN_BIGINT}};
  tn_field kind = {.id = TN_FIELD_ID_VALUE_KIND, .name = "x", .type = {.root = TN_TINYINT}};
  (void)state;
  tm_begin(&tm, 1);
  tn_schema *schema = tm_schema(&tm, 0, "0 a INT", "", "", "");
  tn_table *table = tm_table(&tm, "");
  tn_file_columns keyed = columns_of(schema, true), plain = columns_of(schema, false);
  assert_int_equal(tn_column_map_make(&tm.arena, table, &keyed, &row_id, 1, &map, &error),
                   TARN_E_UNSUPPORTED);
  assert_non_null(strstr(error.message, "_ROW_ID"));
  assert_int_equal(tn_column_map_make(&tm.arena, table, &plain, &row_id, 1, &map, &error),
                   TARN_E_UNSUPPORTED);
  assert_non_null(strstr(error.message, "row-tracking.enabled"));
  assert_int_equal(tn_column_map_make(&tm.arena, table, &plain, &kind, 1, &map, &error),
                   TARN_E_UNSUPPORTED);
  OK(tn_column_map_make(&tm.arena, table, &keyed, &kind, 1, &map, err));
  assert_string_equal(map.physical[0].name, "_VALUE_KIND");
  tn_table_release(table);
  tm_end(&tm);
}

static void column_map__takes_tracked_columns_from_file_or_entry(void **state) {
  table_maker tm;
  tn_column_map map;
  (void)state;
  tm_begin(&tm, 1);
  tn_schema *schema = tm_schema(&tm, 0, "0 a INT", "", "", "row-tracking.enabled=true");
  tn_table *table = tm_table(&tm, "");
  tn_file_columns columns = columns_of(schema, false);
  columns.stores[0] = true;
  OK(tn_column_map_make(&tm.arena, table, &columns, tn_row_tracking_fields, 2, &map, err));
  assert_int_equal(map.places[0].origin, TN_FROM_ENTRY);
  assert_int_equal(map.places[0].index, 0);
  assert_string_equal(map.physical[0].name, "_ROW_ID");
  assert_int_equal(map.places[1].origin, TN_FROM_ENTRY);
  assert_int_equal(map.places[1].index, -1);
  assert_int_equal(map.n_physical, 1);
  tn_table_release(table);
  tm_end(&tm);
}

/* ids of nested fields: depth first from 100 on */
static const tn_type *nested_type(table_maker *tm, const char *sql) {
  tn_type *type = tn_arena_calloc(&tm->arena, 1, sizeof(*type));
  int32_t next_id = 100;
  OK(tn_type_from_sql(&tm->arena, sql, &next_id, type, err));
  return type;
}

/* `wanted` without some of the fields of `file`, which keep their ids. */
static const struct prune_case {
  const char *file, *wanted; /* before `drop` */
  int32_t drop;              /* id of the top-level field of the ROW that is not wanted */
  const char *physical;
  bool needs_cast;
} prune_cases[] = {
    {"ROW<a INT, b STRING>", "ROW<a INT, b STRING>", -1, "ROW<`a` INT, `b` STRING>", false},
    {"ROW<a INT, b STRING>", "ROW<x INT, y STRING>", -1, "ROW<`a` INT, `b` STRING>", false},
    {"ROW<a INT, b STRING>", "ROW<a INT, b STRING>", 100, "ROW<`b` STRING>", false},
    {"ROW<a INT, b STRING>", "ROW<a BIGINT, b STRING>", -1, "ROW<`a` INT, `b` STRING>", true},
    {"ROW<a INT>", "ROW<a INT, b STRING>", 100, "ROW<`a` INT>", true},
    {"ROW<a INT, b STRING>", "STRING", -1, "ROW<`a` INT, `b` STRING>", true},
};

static void column_map__prunes_nested_fields(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(prune_cases) / sizeof(prune_cases[0]); i++) {
    const struct prune_case *c = &prune_cases[i];
    table_maker tm;
    tn_schema file = {0};
    tn_field wanted = {.id = 0, .name = "r"}, have = wanted, *left;
    tn_buf text;
    int32_t n = 0;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 r INT", "", "", "");
    tn_table *table = tm_table(&tm, "");
    have.type = *nested_type(&tm, c->file);
    wanted.type = *nested_type(&tm, c->wanted);
    file.fields = &have;
    file.n_fields = 1;
    left = tn_arena_calloc(&tm.arena, 8, sizeof(*left));
    for (int32_t k = 0; k < wanted.type.n_fields; k++) {
      left[n] = wanted.type.fields[k];
      n += left[n].id != c->drop;
    }
    if (wanted.type.root == TN_ROW) {
      wanted.type.fields = left;
      wanted.type.n_fields = n;
    }
    tn_column_map map = map_of(&tm, table, &file, &wanted, 1);
    tn_buf_init(&text, &tm.env->mem, 1000);
    OK(tn_type_to_sql(&map.physical[0].type, &text, err));
    assert_string_equal(tn_arena_strndup(&tm.arena, (const char *)text.data, text.len),
                        c->physical);
    assert_int_equal(map.places[0].needs_cast, c->needs_cast);
    tn_buf_reset(&text);
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void column_map__prunes_rows_in_lists(void **state) {
  table_maker tm;
  tn_schema file = {0};
  tn_field wanted = {.id = 0, .name = "r"}, have = wanted;
  tn_field element, part;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 r INT", "", "", "");
  tn_table *table = tm_table(&tm, "");
  have.type = *nested_type(&tm, "ARRAY<ROW<a INT, b STRING>>");
  wanted.type = have.type;
  element = have.type.fields[0];
  part = element.type.fields[1];
  element.type.fields = &part;
  element.type.n_fields = 1;
  wanted.type.fields = &element;
  file.fields = &have;
  file.n_fields = 1;
  tn_column_map map = map_of(&tm, table, &file, &wanted, 1);
  assert_int_equal(map.physical[0].type.fields[0].type.n_fields, 1);
  assert_string_equal(map.physical[0].type.fields[0].type.fields[0].name, "b");
  assert_false(map.places[0].needs_cast);
  tn_table_release(table);
  tm_end(&tm);
}

static void data_shape__makes_maps_once_a_schema(void **state) {
  table_maker tm;
  tn_data_shape *shape;
  const tn_shape_maps *a, *b, *again;
  tarn_error error;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "");
  tm_schema(&tm, 1, "0 a BIGINT", "", "", "");
  tn_table *table = tm_table(&tm, "");
  const tn_field *a_field = field_of(table->schema, "a");
  OK(tn_data_shape_create(table, a_field, 1, NULL, 0, false, &shape, err));
  tn_data_file file = {.schema_id = 0};
  OK(tn_data_shape_maps(shape, &file, &a, err));
  file.schema_id = 1;
  OK(tn_data_shape_maps(shape, &file, &b, err));
  file.schema_id = 0;
  OK(tn_data_shape_maps(shape, &file, &again, err));
  assert_ptr_equal(a, again);
  assert_true(a->first.places[0].needs_cast);
  assert_false(b->first.places[0].needs_cast);
  file.schema_id = 7;
  assert_int_equal(tn_data_shape_maps(shape, &file, &b, &error), TARN_E_NOT_FOUND);
  tn_data_shape_free(shape);
  tn_table_release(table);
  tm_end(&tm);
}

static void data_shape__tells_files_of_other_columns_apart(void **state) {
  table_maker tm;
  tn_data_shape *shape;
  const tn_shape_maps *all, *some, *again;
  tn_slice b = tn_slice_text("b");
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 b INT", "", "", "row-tracking.enabled=true");
  tn_table *table = tm_table(&tm, "");
  OK(tn_data_shape_create(table, table->schema->fields, 2, NULL, 0, false, &shape, err));
  tn_data_file file = {.has_first_row_id = true};
  OK(tn_data_shape_maps(shape, &file, &all, err));
  file.has_write_cols = true;
  file.write_cols = (tn_record_array){&b, 1};
  OK(tn_data_shape_maps(shape, &file, &some, err));
  OK(tn_data_shape_maps(shape, &file, &again, err));
  assert_ptr_equal(some, again);
  assert_int_equal(all->first.n_physical, 2);
  assert_int_equal(some->first.n_physical, 1);
  assert_int_equal(some->first.places[0].origin, TN_FROM_NOTHING);
  assert_int_equal(some->first.places[1].origin, TN_FROM_FILE);
  tn_data_shape_free(shape);
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(column_map__finds_columns_by_id_under_their_old_names),
      cmocka_unit_test(column_map__takes_partition_keys_from_the_partition),
      cmocka_unit_test(column_map__refuses_system_columns_it_cannot_have),
      cmocka_unit_test(column_map__takes_tracked_columns_from_file_or_entry),
      cmocka_unit_test(data_shape__tells_files_of_other_columns_apart),
      cmocka_unit_test(column_map__prunes_nested_fields),
      cmocka_unit_test(column_map__prunes_rows_in_lists),
      cmocka_unit_test(data_shape__makes_maps_once_a_schema),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
