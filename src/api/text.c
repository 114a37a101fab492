/* text.c - texts and names that the library hands out. */
#include "api/handles.h"

/* What tarn_string.owner points to. */
typedef struct text_owner {
  tn_mem *mem;
  char text[];
} text_owner;

tarn_status tn_api_string(tarn_status st, tn_buf *text, tarn_string *out, tarn_error *err) {
  if (st == TARN_OK) {
    text_owner *owner = tn_alloc(text->mem, sizeof(*owner) + text->len + 1);
    if (owner == NULL) {
      st = tn_oom(err);
    } else {
      owner->mem = text->mem;
      memcpy(owner->text, text->len > 0 ? (const char *)text->data : "", text->len);
      owner->text[text->len] = '\0';
      *out = (tarn_string){owner->text, text->len, owner};
    }
  }
  tn_buf_reset(text);
  return st;
}

void tarn_string_free(tarn_string *string) {
  if (string != NULL && string->owner != NULL) {
    text_owner *owner = string->owner;
    tn_free(owner->mem, owner);
    memset(string, 0, sizeof(*string));
  }
}

/* What tarn_names.owner points to. */
typedef struct names_owner {
  tn_mem *mem;
  tn_arena arena;
} names_owner;

typedef tarn_status (*list_fn)(tn_catalog *catalog, const char *database, tn_arena *arena,
                               const char ***names, int32_t *n_names, tarn_error *err);

static tarn_status list_databases(tn_catalog *catalog, const char *database, tn_arena *arena,
                                  const char ***names, int32_t *n_names, tarn_error *err) {
  (void)database;
  return tn_catalog_databases(catalog, arena, names, n_names, err);
}

static tarn_status list_names(tarn_catalog *catalog, const char *database, list_fn list,
                              tarn_names *out, tarn_error *err) {
  tarn_env *env = catalog->catalog->env;
  names_owner *owner;
  const char **names = NULL;
  int32_t n_names = 0;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(env, err));
  owner = tn_alloc(&env->mem, sizeof(*owner));
  if (owner == NULL) {
    return tn_oom(err);
  }
  owner->mem = &env->mem;
  tn_arena_init(&owner->arena, &env->mem, TN_API_TEXT_LIMIT);
  st = list(catalog->catalog, database, &owner->arena, &names, &n_names, err);
  out->items = names;
  out->count = st == TARN_OK ? (size_t)n_names : 0;
  out->owner = owner;
  if (st != TARN_OK) {
    tarn_names_free(out);
  }
  return st;
}

tarn_status tarn_catalog_list_databases(tarn_catalog *catalog, tarn_names *out, tarn_error *err) {
  return list_names(catalog, NULL, list_databases, out, err);
}

tarn_status tarn_catalog_list_tables(tarn_catalog *catalog, const char *database, tarn_names *out,
                                     tarn_error *err) {
  return list_names(catalog, database, tn_catalog_tables, out, err);
}

void tarn_names_free(tarn_names *names) {
  if (names != NULL && names->owner != NULL) {
    names_owner *owner = names->owner;
    tn_arena_reset(&owner->arena);
    tn_free(owner->mem, owner);
    memset(names, 0, sizeof(*names));
  }
}

size_t tarn_float_text(float value, char *out) {
  return tn_float_to_java(value, out);
}

size_t tarn_double_text(double value, char *out) {
  return tn_double_to_java(value, out);
}
