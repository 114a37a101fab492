/* test_cli_times.c - times of --as-of and the configuration file. */
#include <unistd.h>

#include "as_of.h"
#include "config.h"
#include "support/test.h"

static void as_of__local_times_and_instants(void **state) {
  static const struct {
    const char *text, *key, *value;
  } cases[] = {
      {"2024-05-01", "scan.timestamp", "2024-05-01 00:00:00.000"},
      {"2024-05-01 12:30", "scan.timestamp", "2024-05-01 12:30:00.000"},
      {"2024-02-29T12:30:15.5", "scan.timestamp", "2024-02-29 12:30:15.500"},
      {"2024-05-01 12:30:15.123456789", "scan.timestamp", "2024-05-01 12:30:15.123"},
      {"1970-01-01T00:00:00Z", "scan.timestamp-millis", "0"},
      {"1970-01-02Z", "scan.timestamp-millis", "86400000"},
      {"2024-02-29T12:34:56.789Z", "scan.timestamp-millis", "1709210096789"},
      {"2024-02-29 14:34:56.789+02:00", "scan.timestamp-millis", "1709210096789"},
      {"2024-02-29 14:34:56.789 +0200", "scan.timestamp-millis", "1709210096789"},
      {"2024-02-29T07:04:56.789-05:30", "scan.timestamp-millis", "1709210096789"},
      {"1969-12-31T23:59:59Z", "scan.timestamp-millis", "-1000"},
      {"1709210096789", "scan.timestamp-millis", "1709210096789"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_args args = {0};
    tarn_error err;
    assert_works(cli_as_of(&args, cases[i].text, &err), err);
    assert_int_equal(args.n_table_options, 1);
    assert_string_equal(args.table_options[0].key, cases[i].key);
    assert_string_equal(args.table_options[0].value, cases[i].value);
    cli_args_reset(&args);
  }
}

static void as_of__refuses_what_is_no_time(void **state) {
  static const char *const cases[] = {"",
                                      "yesterday-ish",
                                      "2024-13-01",
                                      "2024-02-30",
                                      "2023-02-29",
                                      "2024-00-10",
                                      "2024-05-01 ",
                                      "2024-05-01 25:00",
                                      "2024-05-01 12",
                                      "2024-05-01 12:30:61",
                                      "2024-05-01 12:30:00.",
                                      "2024-05-01 12:30:00+",
                                      "2024-05-01 12:30:00+25:00",
                                      "2024-05-01 12:30:00Zx",
                                      "24-05-01",
                                      "-5",
                                      "9999999999999999999"};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_args args = {0};
    tarn_error err;
    if (cli_as_of(&args, cases[i], &err) != TARN_E_INVALID) {
      fail_msg("accepted: %s", cases[i]);
    }
    assert_contains(err.message, cases[i]);
    cli_args_reset(&args);
  }
}

/* Write the text as a file and read it. */
static tarn_status read_config(const char *text, cli_config *config, tarn_error *err) {
  char path[] = "/tmp/test_cli_config_XXXXXX";
  int fd = mkstemp(path);
  tarn_status st;
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  st = cli_config_read(path, config, err);
  unlink(path);
  return st;
}

static void config__names_the_warehouse(void **state) {
  static const struct {
    const char *text, *warehouse;
  } cases[] = {
      {"warehouse: /data/w\n", "/data/w"},
      {"---\n# paimon\nmetastore: filesystem\nwarehouse: /data/w # here\n", "/data/w"},
      {"metastore: 'filesystem'\r\nwarehouse: \"/da ta/#w\"\r\n", "/da ta/#w"},
      {"warehouse: a\nother.key: x: y\nwarehouse: file:///b", "file:///b"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_config config;
    tarn_error err;
    assert_works(read_config(cases[i].text, &config, &err), err);
    assert_string_equal(config.warehouse, cases[i].warehouse);
    cli_config_reset(&config);
  }
}

static void config__keeps_every_option_in_order(void **state) {
  cli_config config;
  tarn_error err;
  (void)state;
  assert_works(read_config("b: 1\nwarehouse: /w\na: x y\nb: 2\n", &config, &err), err);
  assert_int_equal(config.n_options, 4);
  assert_string_equal(config.options[0].key, "b");
  assert_string_equal(config.options[2].value, "x y");
  assert_string_equal(config.options[3].value, "2");
  cli_config_reset(&config);
  assert_null(config.options);
}

static void config__tells_what_is_wrong(void **state) {
  static const struct {
    const char *text;
    tarn_status status;
    const char *part;
  } cases[] = {
      {"metastore: hive\nwarehouse: /w\n", TARN_E_UNSUPPORTED, "'hive'"},
      {"metastore: filesystem\n", TARN_E_INVALID, "no warehouse"},
      {"warehouse:\n", TARN_E_INVALID, "no warehouse"},
      {"a: b\nnonsense\n", TARN_E_INVALID, "line 2"},
      {"s3:\n  key: x\n", TARN_E_INVALID, "line 2"},
      {"warehouse: \"open\n", TARN_E_INVALID, "quote"},
  };
  cli_config config;
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_int_equal(read_config(cases[i].text, &config, &err), cases[i].status);
    assert_contains(err.message, cases[i].part);
    assert_null(config.warehouse);
    cli_config_reset(&config);
  }
  assert_int_equal(cli_config_read("/nowhere/paimon.yaml", &config, &err), TARN_E_NOT_FOUND);
  assert_contains(err.message, "/nowhere/paimon.yaml");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_of__local_times_and_instants),
      cmocka_unit_test(as_of__refuses_what_is_no_time),
      cmocka_unit_test(config__names_the_warehouse),
      cmocka_unit_test(config__keeps_every_option_in_order),
      cmocka_unit_test(config__tells_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
