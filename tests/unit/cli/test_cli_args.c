/* test_cli_args.c - command lines taken apart, mistakes told. */
#include "args.h"
#include "nearest.h"
#include "support/test.h"

#define MAX_WORDS 16

static tarn_status parse(cli_args *args, tarn_error *err, const char *const *words) {
  char *argv[MAX_WORDS + 1] = {(char *)(uintptr_t)"tarn"};
  int argc = 1;
  for (; words[argc - 1] != NULL; argc++) {
    argv[argc] = (char *)(uintptr_t)words[argc - 1];
  }
  return cli_args_parse(argc, argv, args, err);
}

/* The forms of options, anywhere. */
static void args__take_options_in_every_form_and_place(void **state) {
  static const char *const lines[][MAX_WORDS] = {
      {"table", "read", "d.t", "--limit", "5", "--warehouse", "/w", "--quiet"},
      {"--limit=5", "-W", "/w", "-q", "table", "read", "d.t"},
      {"table", "-l", "5", "read", "-q", "-W/w", "d.t"},
      {"-ql5", "table", "--warehouse=/w", "read", "--", "d.t"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    cli_args args;
    tarn_error err;
    assert_works(parse(&args, &err, lines[i]), err);
    assert_string_equal(args.verb->noun, "table");
    assert_string_equal(args.verb->verb, "read");
    assert_int_equal(args.n_arguments, 1);
    assert_string_equal(args.arguments[0], "d.t");
    assert_string_equal(args.values[OPT_LIMIT], "5");
    assert_string_equal(args.values[OPT_WAREHOUSE], "/w");
    assert_true(cli_args_has(&args, OPT_QUIET));
    assert_false(cli_args_has(&args, OPT_VERBOSE));
    cli_args_reset(&args);
  }
}

static void args__table_options_add_up(void **state) {
  static const char *const words[] = {
      "table", "read", "d.t", "-o", "scan.snapshot-id=3", "-o", "fields.a.aggregate-function=sum",
      NULL};
  cli_args args;
  tarn_error err;
  (void)state;
  assert_works(parse(&args, &err, words), err);
  assert_int_equal(args.n_table_options, 2);
  assert_string_equal(args.table_options[0].key, "scan.snapshot-id");
  assert_string_equal(args.table_options[0].value, "3");
  assert_string_equal(args.table_options[1].key, "fields.a.aggregate-function");
  cli_args_reset(&args);
}

/* Usage errors: each says what is wrong, and the nearest name where there is one. */
static void args__tell_mistakes(void **state) {
  static const struct {
    const char *words[MAX_WORDS];
    const char *parts[3];
  } cases[] = {
      {{NULL}, {"usage"}},
      {{"tabel", "read", "d.t"}, {"'tabel'", "'table'"}},
      {{"table", "raed", "d.t"}, {"'table raed'", "'table read'"}},
      {{"table"}, {"needs a verb", "read", "explain"}},
      {{"table", "read"}, {"needs an argument", "TABLE"}},
      {{"table", "read", "d.t", "more"}, {"'more'"}},
      {{"table", "read", "d.t", "--selekt", "a"}, {"--selekt", "--select"}},
      {{"table", "read", "d.t", "-Z"}, {"-Z"}},
      {{"table", "read", "d.t", "--select"}, {"--select", "needs a value"}},
      {{"table", "read", "d.t", "--count=3"}, {"--count", "takes no value"}},
      {{"table", "list", "d", "--count"}, {"'table list'", "--count"}},
      {{"table", "read", "d.t", "-f", "yaml"}, {"'yaml'", "jsonl"}},
      {{"table", "write", "d.t", "--on-error", "ignore"}, {"'ignore'", "skip"}},
      {{"table", "write", "d.t", "--on-error", "dead-letter"}, {"dead-letter FILE"}},
      {{"table", "read", "d.t", "-o", "scan.snapshot-id"}, {"KEY=VALUE"}},
      {{"table", "read", "d.t", "-o", "scan.snapshot-idd=3"},
       {"'scan.snapshot-idd'", "'scan.snapshot-id'"}},
      {{"table", "read", "d.t", "-o", "scan.split-size=1mb"}, {"'source.split.target-size'"}},
      {{"table", "read", "d.t", "-o", "zzzzzzzzzz=1"}, {"'zzzzzzzzzz'", "tarn help options"}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_args args;
    tarn_error err;
    assert_int_equal(parse(&args, &err, cases[i].words), TARN_E_INVALID);
    assert_int_equal(err.os_errno, CLI_ERRNO_USAGE);
    for (size_t j = 0; j < 3 && cases[i].parts[j] != NULL; j++) {
      assert_contains(err.message, cases[i].parts[j]);
    }
    cli_args_reset(&args);
  }
}

/* Whatever options they are given. */
static void args__refuse_verbs_to_come_by_name(void **state) {
  static const struct {
    const char *words[MAX_WORDS];
    const char *message;
  } cases[] = {
      {{"--commit-user=u", "table", "rescale"}, "\"table rescale\" is not in this release"},
      {{"orphans", "d.t"}, "\"orphans\" is not in this release"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_args args;
    tarn_error err;
    assert_int_equal(parse(&args, &err, cases[i].words), TARN_E_INVALID);
    assert_string_equal(err.message, cases[i].message);
    cli_args_reset(&args);
  }
}

/* A letter is first the verb's own, from the verb on. */
static void args__letters_belong_to_the_verb(void **state) {
  static const char *const line[] = {"-v",     "table", "alter", "d.t", "set-option", "-k",
                                     "bucket", "-v",    "4",     "-c",  "x",          NULL};
  cli_args args;
  tarn_error err;
  (void)state;
  assert_works(parse(&args, &err, line), err);
  assert_true(cli_args_has(&args, OPT_VERBOSE));
  assert_string_equal(args.values[OPT_KEY], "bucket");
  assert_string_equal(args.values[OPT_VALUE], "4");
  assert_string_equal(args.values[OPT_COMMENT], "x");
  assert_null(args.values[OPT_CONFIG]);
  cli_args_reset(&args);
}

/* The file of dead letters is the word behind. */
static void args__dead_letter_takes_a_file(void **state) {
  static const char *const line[] = {"table",     "write", "--on-error", "dead-letter",
                                     "bad.jsonl", "d.t",   "rows.jsonl", NULL};
  cli_args args;
  tarn_error err;
  (void)state;
  assert_works(parse(&args, &err, line), err);
  assert_string_equal(args.values[OPT_DEAD_LETTER], "bad.jsonl");
  assert_int_equal(args.n_arguments, 2);
  cli_args_reset(&args);
}

static void args__help_needs_no_whole_command(void **state) {
  static const char *const lines[][MAX_WORDS] = {
      {"-h"}, {"table", "-h"}, {"table", "read", "--help"}, {"--version"}, {"inspect", "-h"}};
  static const char *const wrong[] = {"table", "raed", "-h", NULL};
  cli_args args;
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    assert_works(parse(&args, &err, lines[i]), err);
    cli_args_reset(&args);
  }
  assert_int_equal(parse(&args, &err, wrong), TARN_E_INVALID);
  cli_args_reset(&args);
}

static void args_number__accepts_whole_numbers_within_bounds(void **state) {
  static const struct {
    const char *text;
    bool is_good;
    int64_t value;
  } cases[] = {{"0", true, 0},
               {"100", true, 100},
               {"101", false, 0},
               {"-1", false, 0},
               {"ten", false, 0},
               {"", false, 0},
               {"1x", false, 0},
               {" 1", false, 0},
               {"+1", false, 0},
               {"007", true, 7},
               {"99999999999999999999", false, 0}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_args args = {0};
    tarn_error err = {TARN_OK, 0, ""};
    int64_t value = -5;
    args.values[OPT_LIMIT] = cases[i].text;
    assert_int_equal(cli_args_number(&args, OPT_LIMIT, 0, 100, &value, &err),
                     cases[i].is_good ? TARN_OK : TARN_E_INVALID);
    assert_int_equal(value, cases[i].is_good ? cases[i].value : -5);
  }
}

static void nearest__stays_within_a_third(void **state) {
  static const struct {
    const char *name, *candidate;
    bool is_near;
  } cases[] = {{"tabel", "table", true},       {"read", "raed", true},      {"db", "dbs", true},
               {"snapshot", "SNAPSHOT", true}, {"tag", "table", false},     {"x", "y", true},
               {"list", "read", false},        {"inspekt", "inspect", true}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_nearest nearest;
    cli_nearest_init(&nearest, cases[i].name);
    cli_nearest_offer(&nearest, cases[i].candidate);
    assert_int_equal(nearest.best != NULL, cases[i].is_near);
  }
}

/* The tables hold together. */
static void verbs__table_is_sound(void **state) {
  (void)state;
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    const cli_option *o = &cli_options[i];
    assert_non_null(o->name);
    assert_non_null(o->doc);
    assert_int_equal(o->kind == CLI_VALUE_NONE, o->value == NULL);
    assert_int_equal(o->kind == CLI_VALUE_CHOICE, o->choices != NULL);
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(o->name, cli_options[j].name);
    }
  }
  for (size_t i = 0; i < cli_n_verbs; i++) { /* among the options of one verb */
    for (const cli_option_list *o = cli_verbs[i].options; *o != CLI_N_OPTIONS; o++) {
      assert_false(cli_options_have(cli_common_options, (cli_option_id)*o));
      assert_false(cli_options_have(o + 1, (cli_option_id)*o));
      for (const cli_option_list *p = o + 1; *p != CLI_N_OPTIONS; p++) {
        assert_true(cli_options[*o].letter == 0 ||
                    cli_options[*o].letter != cli_options[*p].letter);
      }
    }
  }
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    bool is_now = cli_verb_is_here(v);
    assert_int_equal(is_now, v->run != NULL);
    assert_int_equal(is_now, v->doc != NULL);
    assert_ptr_equal(cli_verb_find(v->noun, v->verb), v);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(args__take_options_in_every_form_and_place),
      cmocka_unit_test(args__table_options_add_up),
      cmocka_unit_test(args__tell_mistakes),
      cmocka_unit_test(args__refuse_verbs_to_come_by_name),
      cmocka_unit_test(args__letters_belong_to_the_verb),
      cmocka_unit_test(args__dead_letter_takes_a_file),
      cmocka_unit_test(args__help_needs_no_whole_command),
      cmocka_unit_test(args_number__accepts_whole_numbers_within_bounds),
      cmocka_unit_test(nearest__stays_within_a_third),
      cmocka_unit_test(verbs__table_is_sound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
