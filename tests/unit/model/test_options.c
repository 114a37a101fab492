/* Options: the syntax of values, old names, what reading refuses, what is near. */
#include "model/options.h"
#include "unit/model/model_test.h"

static void parse_memory_size__takes_units_of_java(void **state) {
  static const struct {
    const char *text;
    int64_t bytes;
  } CASES[] = {
      {"0", 0},
      {"12", 12},
      {"12b", 12},
      {"3 bytes", 3},
      {"2k", 2048},
      {"2 KB", 2048},
      {"1 kibibytes", 1024},
      {"64 mb", 64 << 20},
      {"64M", 64 << 20},
      {"1 mebibytes", 1 << 20},
      {"5g", 5ll << 30},
      {"5 Gb", 5ll << 30},
      {"1 gibibytes", 1ll << 30},
      {"2 tb", 2ll << 40},
      {"1 tebibytes", 1ll << 40},
      {" 7 mb ", 7 << 20},
      {"9223372036854775807", INT64_MAX},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    int64_t bytes = -1;
    expect_ok(f, tn_parse_memory_size(CASES[i].text, &bytes, &f->err));
    assert_int_equal(bytes, CASES[i].bytes);
  }
}

static void parse_memory_size__refuses_the_rest(void **state) {
  static const char *const CASES[] = {"",
                                      "mb",
                                      "1.5 mb",
                                      "-1",
                                      "1 pb",
                                      "12 kbb",
                                      "1 m b",
                                      "9223372036854775808",
                                      "9223372036854775807 kb",
                                      "x"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    int64_t bytes;
    expect_error(f, tn_parse_memory_size(CASES[i], &bytes, &f->err), TARN_E_INVALID,
                 "as a memory size");
  }
}

static void parse_duration__takes_units_of_java(void **state) {
  static const struct {
    const char *text;
    int64_t ms;
  } CASES[] = {
      {"500", 500},        {"500 ms", 500},       {"3s", 3000},      {"3 sec", 3000},
      {"3 seconds", 3000}, {"1 second", 1000},    {"2 m", 120000},   {"2 min", 120000},
      {"1 minute", 60000}, {"2 MINUTES", 120000}, {"1h", 3600000},   {"2 hours", 7200000},
      {"1 d", 86400000},   {"2 days", 172800000}, {"1500000 ns", 1}, {"2500 µs", 2},
      {"7 micros", 0},     {"9 millis", 9},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    int64_t ms = -1;
    expect_ok(f, tn_parse_duration(CASES[i].text, &ms, &f->err));
    assert_int_equal(ms, CASES[i].ms);
  }
}

static void parse_duration__refuses_the_rest(void **state) {
  static const char *const CASES[] = {"", "PT1H", "1.5 h", "-1 s", "1 year", "h", "1 h 2 m"};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    int64_t ms;
    expect_error(f, tn_parse_duration(CASES[i], &ms, &f->err), TARN_E_INVALID, "as a duration");
  }
}

/* ------------------------------------------------------------------ finding */

static void option_find__knows_patterns_maps_and_old_names(void **state) {
  static const struct {
    const char *key, *option;
  } CASES[] = {
      {"bucket", "bucket"},
      {"log.scan", "scan.mode"},
      {"first-row.ignore-delete", "ignore-delete"},
      {"fields.a.b.aggregate-function", "fields.*.aggregate-function"},
      {"fields.g1,g2.sequence-group", "fields.*.sequence-group"},
      {"fields.default-aggregate-function", "fields.default-aggregate-function"},
      {"file.format.per.level.0", "file.format.per.level"},
      {"file-index.bloom-filter.columns", "file-index.*.columns"},
      {"file-index.bloom-filter.c.fpp", "file-index.*.*.*"},
      {"parquet.block.size", "parquet.*"},
      {"commit.callback.x.param", "commit.callback.*.param"},
      {"metadata.iceberg.storage", "metadata.iceberg.*"},
  };
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    const tn_option_info *info = tn_option_find(CASES[i].key);
    assert_non_null(info);
    assert_string_equal(info->key, CASES[i].option);
  }
  assert_null(tn_option_find("scan.split-size"));
  assert_null(tn_option_find("fields..aggregate-function"));
  assert_null(tn_option_find("bucketx"));
  (void)state;
}

static void option_nearest__names_what_was_meant(void **state) {
  static const struct {
    const char *key, *near;
  } CASES[] = {
      {"scan.split-size", "source.split.target-size"},
      {"read.buffer-size", "read.batch-size"},
      {"partition.generate-legacy-name", "partition.legacy-name"},
      {"merge.engine", "merge-engine"},
      {"scan.snapshot-idd", "scan.snapshot-id"},
      {"buckte", "bucket"},
  };
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    assert_string_equal(tn_option_nearest(CASES[i].key), CASES[i].near);
  }
  assert_null(tn_option_nearest("nothing.like.it.at.all"));
  (void)state;
}

/* ------------------------------------------------------------------ merging and typed values */

static tn_options merge(fixture *f, const char *stored, const tn_option *dynamic, int32_t n) {
  char *json =
      tn_arena_printf(&f->arena,
                      "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":"
                      "\"INT\"}],\"options\":{%s}}",
                      stored);
  tn_schema *schema;
  tn_options options;
  expect_ok(f, tn_schema_decode(f->env, tn_slice_text(json), "s", &schema, &f->err));
  expect_ok(f, tn_options_merge(&f->arena, schema, dynamic, n, &options, &f->err));
  tn_schema_release(schema);
  return options;
}

static void options_merge__lets_later_keys_win(void **state) {
  static const tn_option DYNAMIC[] = {{"a", "2"}, {"c", "3"}, {"a", "4"}};
  fixture *f = *state;
  tn_options o = merge(f, "\"a\":\"1\",\"b\":\"1\"", DYNAMIC, 3);
  assert_int_equal(o.count, 3);
  assert_string_equal(tn_options_get(&o, "a"), "4");
  assert_string_equal(tn_options_get(&o, "b"), "1");
  assert_string_equal(tn_options_get(&o, "c"), "3");
  assert_null(tn_options_get(&o, "d"));
}

static void options_get__prefers_the_current_name(void **state) {
  fixture *f = *state;
  tn_options o = merge(f, "\"log.scan\":\"latest\",\"first-row.ignore-delete\":\"true\"", NULL, 0);
  bool ignores;
  assert_string_equal(tn_options_get(&o, "scan.mode"), "latest");
  expect_ok(f, tn_options_bool(&o, "ignore-delete", &ignores, &f->err));
  assert_true(ignores);
  o = merge(f, "\"log.scan\":\"latest\",\"scan.mode\":\"full\"", NULL, 0);
  assert_string_equal(tn_options_get(&o, "scan.mode"), "full");
}

static void options__give_values_and_defaults(void **state) {
  fixture *f = *state;
  tn_options o = merge(f,
                       "\"bucket\":\"+4\",\"source.split.target-size\":\"1 kb\","
                       "\"merge-engine\":\"Partial-Update\",\"deletion-vectors.enabled\":\"TRUE\"",
                       NULL, 0);
  int64_t number;
  int32_t index;
  bool flag, is_set;
  expect_ok(f, tn_options_int(&o, "bucket", &number, &is_set, &f->err));
  assert_int_equal(number, 4);
  assert_true(is_set);
  expect_ok(f, tn_options_int(&o, "source.split.target-size", &number, NULL, &f->err));
  assert_int_equal(number, 1024);
  expect_ok(f, tn_options_int(&o, "source.split.open-file-cost", &number, &is_set, &f->err));
  assert_int_equal(number, 4 << 20);
  assert_false(is_set);
  expect_ok(f, tn_options_int(&o, "scan.snapshot-id", &number, &is_set, &f->err));
  assert_int_equal(number, 0);
  assert_false(is_set);
  expect_ok(f, tn_options_enum(&o, "merge-engine", &index, &f->err));
  assert_int_equal(index, 1);
  expect_ok(f, tn_options_enum(&o, "changelog-producer", &index, &f->err));
  assert_int_equal(index, 0);
  expect_ok(f, tn_options_bool(&o, "deletion-vectors.enabled", &flag, &f->err));
  assert_true(flag);
  expect_ok(f, tn_options_bool(&o, "partition.legacy-name", &flag, &f->err));
  assert_true(flag);
}

static void options__refuse_values_that_do_not_parse(void **state) {
  static const struct {
    const char *key, *value, *message;
  } CASES[] = {
      {"deletion-vectors.enabled", "yes",
       "option 'deletion-vectors.enabled': cannot parse 'yes' as a boolean"},
      {"bucket", "many", "option 'bucket': cannot parse 'many' as an integer of 32 bits"},
      {"bucket", "2147483648", "as an integer of 32 bits"},
      {"bucket", "4 ", "as an integer of 32 bits"},
      {"scan.snapshot-id", "0x10", "as an integer of 64 bits"},
      {"source.split.target-size", "1.5 mb", "as a memory size"},
      {"merge-engine", "partial_update",
       "it is one of deduplicate,partial-update,aggregation,first-row"},
      {"log.scan", "sideways", "option 'log.scan': cannot parse 'sideways'"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_option option = {CASES[i].key, CASES[i].value};
    tn_options o = merge(f, "", &option, 1);
    expect_error(f, tn_options_check_read(f->env, &o, &f->err), TARN_E_INVALID, CASES[i].message);
  }
}

/* Each default of the table is a value of its own type, and harmless. */
static void options_table__has_defaults_that_parse(void **state) {
  fixture *f = *state;
  size_t count;
  const tn_option_info *all = tn_option_all(&count);
  assert_true(count > 280);
  for (size_t i = 0; i < count; i++) {
    tn_option option;
    tn_options o;
    int64_t number;
    int32_t index;
    bool flag;
    assert_non_null(all[i].doc);
    assert_ptr_equal(tn_option_find(all[i].key), &all[i]);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(all[i].key, all[k].key);
    }
    if (all[i].default_value == NULL || strchr(all[i].key, '*') != NULL) {
      continue;
    }
    option = (tn_option){all[i].key, all[i].default_value};
    o = merge(f, "", &option, 1);
    expect_ok(f, tn_options_check_read(f->env, &o, &f->err));
    o = merge(f, "", NULL, 0);
    expect_ok(f, all[i].type == TN_OPT_BOOLEAN ? tn_options_bool(&o, all[i].key, &flag, &f->err)
                 : all[i].type == TN_OPT_ENUM
                     ? tn_options_enum(&o, all[i].key, &index, &f->err)
                     : tn_options_int(&o, all[i].key, &number, NULL, &f->err));
  }
}

/* ------------------------------------------------------------------ refusing */

static void options_check_read__refuses_what_would_change_rows(void **state) {
  static const char *const CASES[][2] = {
      {"type", "object-table"},
      {"type", "format-table"},
      {"type", "iceberg-table"},
      {"type", "lance-table"},
      {"query-auth.enabled", "true"},
      {"chain-table.enabled", "true"},
      {"postpone.merge-on-read", "true"},
      {"pk-clustering-override", "true"},
      {"primary-key.nullable", "true"},
      {"sequence.snapshot-ordering", "true"},
      {"fields.m.map.storage-layout", "shredded"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_option option = {CASES[i][0], CASES[i][1]};
    tn_options o = merge(f, "", &option, 1);
    char message[128];
    (void)snprintf(message, sizeof(message), "option '%s' = '%s' is not supported", CASES[i][0],
                   CASES[i][1]);
    expect_error(f, tn_options_check_read(f->env, &o, &f->err), TARN_E_UNSUPPORTED, message);
  }
}

static void options_check_read__takes_harmless_values(void **state) {
  static const char *const CASES[][2] = {
      {"type", "table"},
      {"type", "Materialized-Table"},
      {"query-auth.enabled", "FALSE"},
      {"row-tracking.enabled", "true"},
      {"incremental-between", "1,2"},
      {"snapshot.num-retained.max", "not a number"}, /* not a reader's business */
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    tn_option option = {CASES[i][0], CASES[i][1]};
    tn_options o = merge(f, "", &option, 1);
    expect_ok(f, tn_options_check_read(f->env, &o, &f->err));
  }
  assert_string_equal(f->log, "");
}

static void options_check_read__warns_once_of_unknown_keys(void **state) {
  fixture *f = *state;
  tn_options o =
      merge(f, "\"scan.split-size\":\"1\",\"my.own.secret.thing\":\"2\",\"bucket\":\"1\"", NULL, 0);
  expect_ok(f, tn_options_check_read(f->env, &o, &f->err));
  assert_non_null(strstr(f->log, "option=scan.split-size"));
  assert_non_null(strstr(f->log, "nearest=source.split.target-size"));
  assert_non_null(strstr(f->log, "option=my.own.secret.thing"));
  assert_null(strstr(f->log, "bucket"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL_TEST(parse_memory_size__takes_units_of_java),
      MODEL_TEST(parse_memory_size__refuses_the_rest),
      MODEL_TEST(parse_duration__takes_units_of_java),
      MODEL_TEST(parse_duration__refuses_the_rest),
      MODEL_TEST(option_find__knows_patterns_maps_and_old_names),
      MODEL_TEST(option_nearest__names_what_was_meant),
      MODEL_TEST(options_merge__lets_later_keys_win),
      MODEL_TEST(options_get__prefers_the_current_name),
      MODEL_TEST(options__give_values_and_defaults),
      MODEL_TEST(options__refuse_values_that_do_not_parse),
      MODEL_TEST(options_table__has_defaults_that_parse),
      MODEL_TEST(options_check_read__refuses_what_would_change_rows),
      MODEL_TEST(options_check_read__takes_harmless_values),
      MODEL_TEST(options_check_read__warns_once_of_unknown_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
