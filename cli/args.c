/* args.c - the command line, taken apart by the tables of verbs.h. */
#include "args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "text.h"

tarn_status cli_usage(tarn_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  err->status = TARN_E_INVALID;
  err->os_errno = CLI_ERRNO_USAGE;
  (void)vsnprintf(err->message, sizeof(err->message), format, args);
  va_end(args);
  return TARN_E_INVALID;
}

void cli_args_reset(cli_args *args) {
  for (size_t i = 0; i < args->n_table_options; i++) {
    free((void *)(uintptr_t)args->table_options[i].key); /* the value is behind it */
  }
  free(args->table_options);
  free((void *)args->arguments);
  free((void *)args->keys);
  memset(args, 0, sizeof(*args));
}

tarn_status cli_args_add_option(cli_args *args, const char *key, size_t n_key, const char *value,
                                tarn_error *err) {
  size_t n_value = strlen(value);
  tarn_option *grown;
  char *copy;
  grown = realloc(args->table_options, (args->n_table_options + 1) * sizeof(*grown));
  if (grown == NULL) {
    return cli_no_memory(err);
  }
  args->table_options = grown;
  copy = malloc(n_key + n_value + 2);
  if (copy == NULL) {
    return cli_no_memory(err);
  }
  memcpy(copy, key, n_key);
  copy[n_key] = '\0';
  memcpy(copy + n_key + 1, value, n_value + 1);
  grown[args->n_table_options].key = copy;
  grown[args->n_table_options].value = copy + n_key + 1;
  args->n_table_options++;
  return TARN_OK;
}

/* ------------------------------------------------------------------ options */

/* -o KEY=VALUE; a key that Paimon does not know is a mistake here. */
static tarn_status take_table_option(cli_args *args, const char *text, tarn_error *err) {
  const char *equals = strchr(text, '=');
  const char *key, *near;
  if (equals == NULL || equals == text) {
    return cli_usage(err, "--option %s: expected KEY=VALUE", text);
  }
  if (cli_args_add_option(args, text, (size_t)(equals - text), equals + 1, err) != TARN_OK) {
    return err->status;
  }
  key = args->table_options[args->n_table_options - 1].key;
  near = tarn_option_nearest(key);
  if (near == NULL) {
    return cli_usage(err, "--option: there is no table option '%s'; 'tarn help options' lists them",
                     key);
  }
  return strcmp(near, key) == 0
             ? TARN_OK
             : cli_usage(err, "--option: there is no table option '%s'; did you mean '%s'?", key,
                         near);
}

/* Is the word one of those separated by blanks? */
static bool is_among(const char *words, const char *word) {
  size_t n = strlen(word);
  while (words != NULL && *words != '\0' && n > 0) {
    size_t length = strcspn(words, " ");
    if (length == n && memcmp(words, word, n) == 0) {
      return true;
    }
    words += length + (words[length] == ' ');
  }
  return false;
}

/* argv, and how far it was read. */
typedef struct arg_reader {
  int argc, at;
  char *const *argv;
  const cli_verb *verb; /* once it was read; NULL until then */
} arg_reader;

static tarn_status needs_value(const cli_option *o, tarn_error *err) {
  return cli_usage(err, "--%s needs a value: --%s %s", o->name, o->name, o->value);
}

/* --key of table lookup. */
static tarn_status take_key(cli_args *args, const char *text, tarn_error *err) {
  const char **keys = realloc((void *)args->keys, (args->n_keys + 1) * sizeof(*keys));
  if (keys == NULL) {
    return cli_no_memory(err);
  }
  args->keys = keys;
  args->keys[args->n_keys++] = text;
  return TARN_OK;
}

static tarn_status set_value(cli_args *args, arg_reader *in, cli_option_id id, const char *value,
                             tarn_error *err) {
  const cli_option *o = &cli_options[id];
  args->values[id] = value;
  if (id == OPT_ON_ERROR && strcmp(value, "dead-letter") == 0) { /* its file is the next word */
    if (in->at >= in->argc) {
      return cli_usage(err, "--on-error dead-letter needs a file: --on-error dead-letter FILE");
    }
    args->values[OPT_DEAD_LETTER] = in->argv[in->at++];
  }
  if (o->kind == CLI_VALUE_CHOICE && !is_among(o->choices, value)) {
    return cli_usage(err, "--%s: unknown value '%s'; expected one of: %s", o->name, value,
                     o->choices);
  }
  if (id == OPT_KEY) {
    return take_key(args, value, err);
  }
  return o->kind == CLI_VALUE_TABLE_OPTION ? take_table_option(args, value, err) : TARN_OK;
}

static tarn_status unknown_option(const char *name, size_t n, tarn_error *err) {
  static const char to_come[] = "follow state cdc"; /* of table write, by the contract */
  char text[80];
  cli_nearest nearest;
  (void)snprintf(text, sizeof(text), "%.*s", (int)n, name);
  if (is_among(to_come, text)) {
    return cli_usage(err, "--%s is not in this release", text);
  }
  cli_nearest_init(&nearest, text);
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    cli_nearest_offer(&nearest, cli_options[i].name);
  }
  return nearest.best != NULL
             ? cli_usage(err, "unknown option --%s; did you mean --%s?", text, nearest.best)
             : cli_usage(err, "unknown option --%s; 'tarn help' lists the options", text);
}

/* The option of that name; CLI_N_OPTIONS: there is none. */
static size_t find_long(const char *name, size_t n) {
  size_t i = 0;
  while (i < CLI_N_OPTIONS &&
         (strlen(cli_options[i].name) != n || memcmp(cli_options[i].name, name, n) != 0)) {
    i++;
  }
  return i;
}

/* "--name", "--name=value", "--name" "value". */
static tarn_status take_long(cli_args *args, arg_reader *in, const char *text, tarn_error *err) {
  size_t n = strcspn(text, "="), i = find_long(text, n);
  const cli_option *o;
  if (i == CLI_N_OPTIONS) {
    return unknown_option(text, n, err);
  }
  o = &cli_options[i];
  if (o->kind == CLI_VALUE_NONE) {
    return text[n] == '='
               ? cli_usage(err, "--%s takes no value, but '%s' was given", o->name, text + n + 1)
               : set_value(args, in, (cli_option_id)i, "", err);
  }
  if (text[n] == '=') {
    return set_value(args, in, (cli_option_id)i, text + n + 1, err);
  }
  if (in->at >= in->argc) {
    return needs_value(o, err);
  }
  return set_value(args, in, (cli_option_id)i, in->argv[in->at++], err);
}

/* The verb's own option of that letter; else any. CLI_N_OPTIONS: there is none. */
static size_t find_letter(const cli_verb *verb, char letter) {
  size_t found = CLI_N_OPTIONS;
  for (size_t i = CLI_N_OPTIONS; i-- > 0;) {
    if (cli_options[i].letter == letter) {
      found = i;
      if (verb != NULL && cli_options_have(verb->options, (cli_option_id)i)) {
        break;
      }
    }
  }
  return found;
}

/* The letters behind a dash: flags, then perhaps an option with its value. */
static tarn_status take_letters(cli_args *args, arg_reader *in, const char *text, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (; *text != '\0' && st == TARN_OK; text++) {
    size_t i = find_letter(in->verb, *text);
    if (i == CLI_N_OPTIONS) {
      return cli_usage(err, "unknown option -%c; 'tarn help' lists the options", *text);
    }
    if (cli_options[i].kind == CLI_VALUE_NONE) {
      st = set_value(args, in, (cli_option_id)i, "", err);
      continue;
    }
    if (text[1] != '\0') {
      return set_value(args, in, (cli_option_id)i, text + 1, err);
    }
    if (in->at >= in->argc) {
      return needs_value(&cli_options[i], err);
    }
    return set_value(args, in, (cli_option_id)i, in->argv[in->at++], err);
  }
  return st;
}

/* ------------------------------------------------------------------ verbs */

static tarn_status unknown_noun(const char *noun, tarn_error *err) {
  cli_nearest nearest;
  cli_nearest_init(&nearest, noun);
  for (size_t i = 0; i < cli_n_nouns; i++) {
    cli_nearest_offer(&nearest, cli_nouns[i].name);
  }
  return nearest.best != NULL
             ? cli_usage(err, "unknown command '%s'; did you mean '%s'?", noun, nearest.best)
             : cli_usage(err, "unknown command '%s'; 'tarn help' lists the commands", noun);
}

static tarn_status unknown_verb(const char *noun, const char *verb, tarn_error *err) {
  cli_text list = {0};
  cli_nearest nearest;
  char words[512];
  cli_nearest_init(&nearest, verb != NULL ? verb : "");
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    if (strcmp(v->noun, noun) == 0 && cli_verb_is_here(v)) {
      cli_text_puts(&list, list.len > 0 ? ", " : "");
      cli_text_puts(&list, v->verb);
      cli_nearest_offer(&nearest, v->verb);
    }
  }
  cli_text_copy(&list, words, sizeof(words));
  cli_text_reset(&list);
  if (verb == NULL) {
    return cli_usage(err, "'tarn %s' needs a verb: %s", noun, words);
  }
  return nearest.best != NULL ? cli_usage(err, "unknown command '%s %s'; did you mean '%s %s'?",
                                          noun, verb, noun, nearest.best)
                              : cli_usage(err, "unknown command '%s %s'; the verbs of %s: %s", noun,
                                          verb, noun, words);
}

/* Find the verb; what stands behind it are its arguments. */
static tarn_status find_verb(cli_args *args, tarn_error *err) {
  bool has_verbs = false;
  int used;
  if (args->n_arguments == 0) {
    return cli_usage(err,
                     "no command; usage: tarn NOUN VERB [ARGUMENT...] [OPTION...]; 'tarn help' "
                     "lists the commands");
  }
  args->noun = args->arguments[0];
  args->second = args->n_arguments > 1 ? args->arguments[1] : NULL;
  if (!cli_noun_find(args->noun, &has_verbs)) {
    return unknown_noun(args->noun, err);
  }
  args->verb = cli_verb_find(args->noun, args->second);
  if (args->verb == NULL) {
    return unknown_verb(args->noun, args->second, err);
  }
  used = has_verbs ? 2 : 1;
  args->n_arguments -= used;
  memmove((void *)args->arguments, (void *)(args->arguments + used),
          (size_t)args->n_arguments * sizeof(*args->arguments));
  return TARN_OK;
}

static tarn_status check_fit(const cli_args *args, tarn_error *err) {
  static const cli_option_id files[] = {OPT_METRICS, OPT_STATE, OPT_DEAD_LETTER};
  const cli_verb *v = args->verb;
  char name[64];
  cli_verb_name(v, name, sizeof(name));
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (args->values[i] != NULL && !cli_options_have(v->options, (cli_option_id)i) &&
        !cli_options_have(cli_common_options, (cli_option_id)i)) {
      return cli_usage(err, "'%s' takes no option --%s; see 'tarn help %s'", name,
                       cli_options[i].name, name);
    }
  }
  for (size_t i = 0; i < CLI_COUNT(files); i++) {
    const char *file = args->values[files[i]];
    if (file != NULL && strcmp(file, "-") == 0) {
      return cli_usage(err, "--%s -: expected a file, which is kept; ./- is one of that name",
                       cli_options[files[i]].name);
    }
  }
  if (args->n_arguments < v->min_arguments) {
    return cli_usage(err, "'%s' needs an argument; usage: tarn %s %s [OPTION...]", name, name,
                     v->arguments);
  }
  if (args->n_arguments > v->max_arguments) {
    return cli_usage(err, "unexpected argument '%s'; usage: tarn %s %s%s[OPTION...]",
                     args->arguments[v->max_arguments], name, v->arguments,
                     v->arguments[0] != '\0' ? " " : "");
  }
  return TARN_OK;
}

tarn_status cli_args_parse(int argc, char *const *argv, cli_args *out, tarn_error *err) {
  arg_reader in = {argc, 1, argv, NULL};
  tarn_error first = {TARN_OK, 0, ""}; /* told only if the verb is one of this release */
  bool is_plain = false;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  memset(err, 0, sizeof(*err));
  out->arguments = calloc((size_t)argc + 1, sizeof(*out->arguments));
  if (out->arguments == NULL) {
    return cli_no_memory(err);
  }
  while (in.at < argc) {
    const char *word = argv[in.at++];
    st = TARN_OK;
    if (is_plain || word[0] != '-' || word[1] == '\0') {
      out->arguments[out->n_arguments++] = word;
      if (in.verb == NULL) {
        in.verb = cli_verb_find(out->arguments[0], out->n_arguments > 1 ? word : NULL);
      }
    } else if (strcmp(word, "--") == 0) {
      is_plain = true;
    } else {
      st = word[1] == '-' ? take_long(out, &in, word + 2, err)
                          : take_letters(out, &in, word + 1, err);
    }
    if (st != TARN_OK && first.status == TARN_OK) {
      first = *err;
    }
  }
  st = find_verb(out, err);
  if (st == TARN_OK && !cli_verb_is_here(out->verb)) {
    char name[64];
    cli_verb_name(out->verb, name, sizeof(name));
    return cli_usage(err, "\"%s\" is not in this release", name);
  }
  if (first.status != TARN_OK) {
    *err = first;
    return first.status;
  }
  if (cli_args_has(out, OPT_HELP) || cli_args_has(out, OPT_VERSION)) {
    /* Help about what was given, be it whole or not; but not about what there is not. */
    bool is_whole = st == TARN_OK || out->noun == NULL || out->second == NULL;
    bool has_verbs;
    return is_whole && (out->noun == NULL || cli_noun_find(out->noun, &has_verbs)) ? TARN_OK : st;
  }
  return st != TARN_OK ? st : check_fit(out, err);
}

/* ------------------------------------------------------------------ values */

tarn_status cli_args_number(const cli_args *args, cli_option_id id, int64_t min, int64_t max,
                            int64_t *out, tarn_error *err) {
  const char *text = args->values[id];
  long long number;
  char *end;
  if (text == NULL) {
    return TARN_OK;
  }
  errno = 0;
  number = strtoll(text, &end, 10);
  if (strspn(text, "0123456789") != strlen(text) || end == text || errno != 0 || number < min ||
      number > max) {
    return max == INT64_MAX ? cli_usage(err, "--%s '%s': expected a whole number from %lld on",
                                        cli_options[id].name, text, (long long)min)
                            : cli_usage(err, "--%s '%s': expected a whole number from %lld to %lld",
                                        cli_options[id].name, text, (long long)min, (long long)max);
  }
  *out = number;
  return TARN_OK;
}
