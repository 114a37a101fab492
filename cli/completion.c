/* completion.c - completion scripts, from the tables of verbs.h.
 *
 * The scripts of bash and zsh walk over the words before the cursor, skipping options and their
 * values, to find noun and verb; then they offer what may follow. fish has conditions for that.
 */
#include <stdio.h>

#include "help.h"
#include "session.h"

static bool is_shown(const cli_verb *v) {
  return cli_verb_is_here(v);
}

/* The letter of an option, unless an option before it in the table has the same. */
static char letter_of(const cli_option *o) {
  for (const cli_option *before = cli_options; before < o; before++) {
    if (before->letter == o->letter) {
      return 0;
    }
  }
  return o->letter;
}

/* "--limit|-l", as a pattern of case. */
static void add_pattern(cli_text *out, const cli_option *o) {
  cli_text_printf(out, "--%s", o->name);
  if (letter_of(o) != 0) {
    cli_text_printf(out, "|-%c", o->letter);
  }
}

/* "--limit -l", with a blank before each. */
static void add_names(cli_text *out, const cli_option_list *which) {
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (cli_options_have(which, (cli_option_id)i)) {
      cli_text_printf(out, " --%s", cli_options[i].name);
      if (letter_of(&cli_options[i]) != 0) {
        cli_text_printf(out, " -%c", cli_options[i].letter);
      }
    }
  }
}

/* ------------------------------------------------------------------ bash and zsh */

/* Where the two shells differ. */
typedef struct shell {
  const char *begin;       /* up to the walk; words before the cursor are in `before` */
  const char *offer_words; /* $choices */
  const char *offer_files, *offer_folders, *offer_keys;
  const char *end;
} shell;

static const shell bash = {
    "# bash completion for tarn; made by 'tarn completion bash'\n"
    "_tarn() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  local noun= verb= choices= options= kind= skip= word\n"
    "  local before=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n"
    "  COMPREPLY=()\n",
    "COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))",
    "COMPREPLY=($(compgen -f -- \"$cur\"))",
    "COMPREPLY=($(compgen -d -- \"$cur\"))",
    "compopt -o nospace 2>/dev/null; "
    "COMPREPLY=($(compgen -S = -W \"$(tarn completion options 2>/dev/null)\" -- \"$cur\"))",
    "}\ncomplete -F _tarn tarn\n",
};

static const shell zsh = {
    "#compdef tarn\n"
    "# zsh completion for tarn; made by 'tarn completion zsh'\n"
    "_tarn() {\n"
    "  local cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
    "  local noun= verb= choices= options= kind= skip= word\n"
    "  local before; before=(\"${(@)words[2,CURRENT-1]}\")\n",
    "compadd -- ${=choices}",
    "_files",
    "_files -/",
    "compadd -S = -- ${(f)\"$(tarn completion options 2>/dev/null)\"}",
    "}\n_tarn \"$@\"\n",
};

static void add_walk(cli_text *out) {
  const char *between = "";
  cli_text_puts(out,
                "  for word in \"${before[@]}\"; do\n"
                "    if [[ -n $skip ]]; then skip=; continue; fi\n"
                "    case $word in\n      ");
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (cli_options[i].kind != CLI_VALUE_NONE) {
      cli_text_puts(out, between);
      add_pattern(out, &cli_options[i]);
      between = "|";
    }
  }
  cli_text_puts(out,
                ") skip=1 ;;\n"
                "      -*) ;;\n"
                "      *) if [[ -z $noun ]]; then noun=$word; elif [[ -z $verb ]]; then "
                "verb=$word; fi ;;\n"
                "    esac\n"
                "  done\n");
}

/* What the value of the option before the cursor may be. */
static void add_values(cli_text *out, const shell *sh) {
  cli_text_puts(out, "  case $prev in\n");
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    const cli_option *o = &cli_options[i];
    if (o->kind == CLI_VALUE_NONE) {
      continue;
    }
    cli_text_puts(out, "    ");
    add_pattern(out, o);
    cli_text_puts(out, ") ");
    switch (o->kind) {
      case CLI_VALUE_FILE:
        cli_text_puts(out, sh->offer_files);
        break;
      case CLI_VALUE_FOLDER:
        cli_text_puts(out, sh->offer_folders);
        break;
      case CLI_VALUE_CHOICE:
        cli_text_printf(out, "choices='%s'; %s", o->choices, sh->offer_words);
        break;
      case CLI_VALUE_TABLE_OPTION:
        cli_text_puts(out, sh->offer_keys);
        break;
      default:
        cli_text_puts(out, ":");
        break;
    }
    cli_text_puts(out, "; return ;;\n");
  }
  cli_text_puts(out, "  esac\n");
}

/* "'table '*) choices='list get ...'": the verbs of a noun; of "" the nouns. */
static void add_next_words(cli_text *out) {
  cli_text_puts(out, "    ' ') choices='");
  for (size_t i = 0; i < cli_n_nouns; i++) {
    cli_text_printf(out, "%s%s", i > 0 ? " " : "", cli_nouns[i].name);
  }
  cli_text_puts(out, "' ;;\n");
  for (size_t i = 0; i < cli_n_nouns; i++) {
    bool has_verbs = false;
    if (!cli_noun_find(cli_nouns[i].name, &has_verbs) || !has_verbs) {
      continue;
    }
    cli_text_printf(out, "    '%s ') choices='", cli_nouns[i].name);
    for (size_t j = 0; j < cli_n_verbs; j++) {
      if (is_shown(&cli_verbs[j]) && strcmp(cli_verbs[j].noun, cli_nouns[i].name) == 0) {
        cli_text_printf(out, " %s", cli_verbs[j].verb);
      }
    }
    cli_text_puts(out, "' ;;\n");
  }
}

/* Options and arguments of each verb; for help the nouns again. */
static void add_verb_words(cli_text *out) {
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    if (!is_shown(v)) {
      continue;
    }
    cli_text_printf(out, "    '%s %s'%s) options='", v->noun, v->verb != NULL ? v->verb : "",
                    v->verb == NULL ? "*" : "");
    add_names(out, v->options);
    cli_text_puts(out, "'");
    if (v->argument_kind == CLI_VALUE_FILE || v->argument_kind == CLI_VALUE_FOLDER) {
      cli_text_printf(out, " kind=%s", v->argument_kind == CLI_VALUE_FILE ? "files" : "folders");
    } else if (strchr(v->arguments, '|') != NULL) {
      cli_text_puts(out, " choices='");
      for (const char *a = v->arguments; *a != '\0'; a++) {
        cli_text_char(out, *a == '|' ? ' ' : *a);
      }
      cli_text_puts(out, "'");
    }
    cli_text_puts(out, " ;;\n");
  }
}

static void add_script(cli_text *out, const shell *sh) {
  cli_text_puts(out, sh->begin);
  add_walk(out);
  add_values(out, sh);
  cli_text_puts(out, "  case \"$noun $verb\" in\n");
  add_next_words(out);
  add_verb_words(out);
  cli_text_puts(out, "  esac\n  if [[ $cur == -* ]]; then\n    choices=\"$options");
  add_names(out, cli_common_options);
  cli_text_printf(out, "\"\n    %s\n", sh->offer_words);
  cli_text_printf(out, "  elif [[ $kind == files ]]; then\n    %s\n", sh->offer_files);
  cli_text_printf(out, "  elif [[ $kind == folders ]]; then\n    %s\n", sh->offer_folders);
  cli_text_printf(out, "  else\n    %s\n  fi\n%s", sh->offer_words, sh->end);
}

/* ------------------------------------------------------------------ fish */

static void add_fish_text(cli_text *out, const char *words) {
  cli_text_char(out, '\'');
  for (; *words != '\0'; words++) {
    if (*words == '\'' || *words == '\\') {
      cli_text_char(out, '\\');
    }
    cli_text_char(out, *words);
  }
  cli_text_char(out, '\'');
}

static void add_fish_option(cli_text *out, const char *condition, const cli_option *o) {
  cli_text_puts(out, "complete -c tarn");
  if (condition != NULL) {
    cli_text_puts(out, " -n ");
    add_fish_text(out, condition);
  }
  cli_text_printf(out, " -l %s", o->name);
  if (letter_of(o) != 0) {
    cli_text_printf(out, " -s %c", o->letter);
  }
  switch (o->kind) {
    case CLI_VALUE_NONE:
      break;
    case CLI_VALUE_FILE:
      cli_text_puts(out, " -r -F");
      break;
    case CLI_VALUE_FOLDER:
      cli_text_puts(out, " -x -a '(__fish_complete_directories)'");
      break;
    case CLI_VALUE_CHOICE:
      cli_text_puts(out, " -x -a ");
      add_fish_text(out, o->choices);
      break;
    case CLI_VALUE_TABLE_OPTION:
      cli_text_puts(out, " -x -a '(tarn completion options)='");
      break;
    default:
      cli_text_puts(out, " -x");
      break;
  }
  cli_text_puts(out, " -d ");
  add_fish_text(out, o->doc);
  cli_text_char(out, '\n');
}

static void add_fish_verbs(cli_text *out, const char *noun) {
  char condition[768], verbs[512] = "";
  size_t n = 0;
  for (size_t i = 0; i < cli_n_verbs; i++) {
    if (is_shown(&cli_verbs[i]) && strcmp(cli_verbs[i].noun, noun) == 0 && n < sizeof(verbs)) {
      n += (size_t)snprintf(verbs + n, sizeof(verbs) - n, " %s", cli_verbs[i].verb);
    }
  }
  (void)snprintf(condition, sizeof(condition),
                 "__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from%s", noun,
                 verbs);
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    if (is_shown(v) && strcmp(v->noun, noun) == 0) {
      cli_text_puts(out, "complete -c tarn -f -n ");
      add_fish_text(out, condition);
      cli_text_printf(out, " -a %s -d ", v->verb);
      add_fish_text(out, v->doc);
      cli_text_char(out, '\n');
    }
  }
}

/* What the argument of a verb may be: one of a few words, or a noun. */
static void add_fish_arguments(cli_text *out, const cli_verb *v, const char *condition) {
  bool is_choice = strchr(v->arguments, '|') != NULL;
  if (!is_choice && strcmp(v->noun, "help") != 0) {
    return;
  }
  cli_text_puts(out, "complete -c tarn -f -n ");
  add_fish_text(out, condition);
  cli_text_puts(out, " -a '");
  for (const char *a = is_choice ? v->arguments : ""; *a != '\0'; a++) {
    cli_text_char(out, *a == '|' ? ' ' : *a);
  }
  for (size_t i = 0; i < cli_n_nouns && !is_choice; i++) {
    cli_text_printf(out, "%s%s", i > 0 ? " " : "", cli_nouns[i].name);
  }
  cli_text_puts(out, "'\n");
}

static void add_fish(cli_text *out) {
  cli_text_puts(out, "# fish completion for tarn; made by 'tarn completion fish'\n");
  for (size_t i = 0; i < cli_n_nouns; i++) {
    bool has_verbs = false;
    cli_text_printf(out, "complete -c tarn -f -n __fish_use_subcommand -a %s -d ",
                    cli_nouns[i].name);
    add_fish_text(out, cli_nouns[i].doc);
    cli_text_char(out, '\n');
    if (cli_noun_find(cli_nouns[i].name, &has_verbs) && has_verbs) {
      add_fish_verbs(out, cli_nouns[i].name);
    }
  }
  for (size_t i = 0; i < CLI_N_OPTIONS; i++) {
    if (cli_options_have(cli_common_options, (cli_option_id)i)) {
      add_fish_option(out, NULL, &cli_options[i]);
    }
  }
  for (size_t i = 0; i < cli_n_verbs; i++) {
    const cli_verb *v = &cli_verbs[i];
    char condition[256];
    (void)snprintf(condition, sizeof(condition),
                   v->verb != NULL
                       ? "__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s"
                       : "__fish_seen_subcommand_from %s",
                   v->noun, v->verb);
    if (is_shown(v)) {
      add_fish_arguments(out, v, condition);
    }
    for (size_t o = 0; o < CLI_N_OPTIONS && is_shown(v); o++) {
      if (cli_options_have(v->options, (cli_option_id)o)) {
        add_fish_option(out, condition, &cli_options[o]);
      }
    }
  }
}

/* ------------------------------------------------------------------ the verb */

bool cli_completion(const char *name, cli_text *out) {
  if (strcmp(name, "bash") == 0) {
    add_script(out, &bash);
  } else if (strcmp(name, "zsh") == 0) {
    add_script(out, &zsh);
  } else if (strcmp(name, "fish") == 0) {
    add_fish(out);
  } else if (strcmp(name, "options") == 0) {
    for (size_t i = 0; i < tarn_option_info_count(); i++) {
      tarn_option_info info;
      if (tarn_option_info_get(i, &info) == TARN_OK && strchr(info.key, '*') == NULL) {
        cli_text_printf(out, "%s\n", info.key);
      }
    }
  } else {
    return false;
  }
  return true;
}

int cli_run_completion(cli_session *s) {
  tarn_error err;
  if (!cli_completion(s->args->arguments[0], &s->output.pending)) {
    (void)cli_usage(&err, "no completion for '%s'; expected %s", s->args->arguments[0],
                    s->args->verb->arguments);
    return cli_fail(s, &err);
  }
  return cli_finish(s);
}
