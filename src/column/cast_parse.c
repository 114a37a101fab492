/* cast_parse.c - texts as ARRAYs, MAPs and ROWs, level by level: all parts of one level are one
 * list of texts, and become one vector. */
#include "column/cast_parse.h"

#include <string.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "column/vector_parts.h"

typedef struct parser {
  tarn_env *env; /* NULL: the texts are only looked at */
  tn_arena *arena;
  const tn_zone *zone;
  tarn_error *err;
} parser;

/* Those without data are null. */
typedef struct text_list {
  tn_slice *items;
  size_t count, capacity;
} text_list;

static const tn_slice null_text = {NULL, 0};

bool tn_nested_has_text(const tn_type *type) {
  return type->root == TN_ARRAY || type->root == TN_MAP || type->root == TN_ROW;
}

static tarn_status refuse(const parser *p, const tn_type *type, tn_slice text) {
  return tn_fail(p->err, TARN_E_INVALID, "cannot parse '%.*s' as %s", TN_SLICE_ARG(text),
                 tn_type_text_of(type).text);
}

static tarn_status add_text(const parser *p, text_list *list, tn_slice text) {
  if (!tn_arena_grow(p->arena, (void **)&list->items, &list->capacity, list->count,
                     sizeof(*list->items))) {
    return tn_oom(p->err);
  }
  list->items[list->count++] = text;
  return TARN_OK;
}

/* A part of a value of the type. */
static tarn_status add_part(const parser *p, text_list *list, const tn_type *type, tn_slice part) {
  part = tn_slice_trim(part);
  if (tn_slice_is(part, "null")) {
    part = null_text;
  }
  if (part.data == NULL && !type->is_nullable && p->env != NULL) {
    return tn_fail(p->err, TARN_E_INVALID, "a null in %s NOT NULL", tn_type_text_of(type).text);
  }
  return add_text(p, list, part);
}

/* ------------------------------------------------------------------ one text */

/* What is between the brackets, of either form. */
static bool open_text(tn_slice text, const char *word, char open, char close, tn_slice *content) {
  size_t n = strlen(word);
  text = tn_slice_trim(text);
  if (memchr(text.data, '\n', text.len) != NULL || memchr(text.data, '\r', text.len) != NULL) {
    return false; /* no character of a Java pattern */
  }
  if (text.len >= 2 && text.data[0] == open && text.data[text.len - 1] == close) {
    *content = tn_slice_of(text.data + 1, text.len - 2);
    return true;
  }
  if (text.len < n || !tn_slice_is_nocase(tn_slice_of(text.data, n), word)) {
    return false;
  }
  text = tn_slice_trim(tn_slice_of(text.data + n, text.len - n));
  if (text.len < 2 || text.data[0] != '(' || text.data[text.len - 1] != ')') {
    return false;
  }
  *content = tn_slice_of(text.data + 1, text.len - 2);
  return true;
}

/* Cut at commas. is_map: quotes and escaped characters vanish. */
static tarn_status split(const parser *p, tn_slice content, bool is_map, text_list *out) {
  uint8_t *copy = tn_arena_alloc(p->arena, content.len + 1);
  size_t n = 0, depth = 0;
  bool is_quoted = false;
  if (copy == NULL) {
    return tn_oom(p->err);
  }
  for (size_t i = 0; i <= content.len; i++) {
    uint8_t c = i < content.len ? content.data[i] : ',';
    if (i == content.len || (c == ',' && depth == 0 && !is_quoted)) {
      if (n > 0) {
        TN_TRY(add_text(p, out, tn_slice_of(copy, n)));
      }
      copy += n;
      n = 0;
    } else if (c == '\\') {
      bool has_next = i + 1 < content.len;
      if (!is_map) {
        copy[n++] = c;
        if (has_next) {
          copy[n++] = content.data[i + 1];
        }
      }
      i += has_next;
    } else if (c == '"') {
      is_quoted = !is_quoted;
      if (!is_map) {
        copy[n++] = c;
      }
    } else {
      if (!is_quoted && (c == '[' || c == '{' || c == '(')) {
        depth++;
      } else if (!is_quoted && depth > 0 && (c == ']' || c == '}' || c == ')')) {
        depth--;
      }
      copy[n++] = c;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ vectors */

static tarn_status read_values(const parser *p, const tn_type *type, const text_list *texts,
                               tn_vec *out);

static tarn_status read_atom(const parser *p, const tn_type *type, tn_slice text, tn_vec *out) {
  static const tn_type string = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX};
  tn_datum in = {.is_null = false}, value;
  if (text.data == NULL) {
    return p->env != NULL ? tn_vec_init_nulls(p->env, type, 1, true, out, p->err) : TARN_OK;
  }
  in.v.bytes = text;
  TN_TRY(tn_cast_datum(p->arena, p->zone, &string, &in, type, &value, p->err));
  return p->env != NULL ? tn_datum_to_vec(p->env, type, &value, out, p->err) : TARN_OK;
}

static tarn_status read_atoms(const parser *p, const tn_type *type, const text_list *texts,
                              tn_vec *out) {
  size_t n = texts->count;
  tn_vec *values = tn_arena_calloc(p->arena, n + 1, sizeof(*values));
  const tn_vec **sources = tn_arena_calloc(p->arena, n + 1, sizeof(*sources));
  tn_row_ref *refs = tn_arena_calloc(p->arena, n + 1, sizeof(*refs));
  tarn_status st = TARN_OK;
  if (values == NULL || sources == NULL || refs == NULL || n > INT32_MAX) {
    return tn_oom(p->err);
  }
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    sources[i] = &values[i];
    refs[i] = (tn_row_ref){(uint32_t)i, 0};
    st = read_atom(p, type, texts->items[i], &values[i]);
  }
  if (st == TARN_OK && p->env != NULL) {
    st = tn_vec_gather(p->env, type, sources, (int32_t)n, refs, (int64_t)n, out, p->err);
  }
  for (size_t i = 0; i < n && p->env != NULL; i++) {
    tn_vec_reset(p->env, &values[i]);
  }
  return st;
}

/* A vector of lists or rows with room for the texts, of which some are null. */
static tarn_status begin_vector(const parser *p, const tn_type *type, const text_list *texts,
                                tn_vec *out) {
  int64_t n_nulls = 0;
  for (size_t i = 0; i < texts->count; i++) {
    n_nulls += texts->items[i].data == NULL;
  }
  tn_vec_reset(p->env, out); /* as a child it has children already */
  TN_TRY(tn_vec_init(p->env, type, out, p->err));
  TN_TRY(tn_vec_alloc(p->env, out, (int64_t)texts->count, 0, p->err));
  if (n_nulls > 0) {
    TN_TRY(tn_vec_alloc_valid(p->env, out, true, p->err));
    for (size_t i = 0; i < texts->count; i++) {
      if (texts->items[i].data == NULL) {
        tn_bit_clear(out->valid, (int64_t)i);
      }
    }
    out->null_count = n_nulls;
  }
  return TARN_OK;
}

static tarn_status end_list(const parser *p, tn_vec *out, size_t row, size_t end) {
  if (end > INT32_MAX) {
    return tn_oom(p->err);
  }
  if (p->env != NULL) {
    out->offsets[row + 1] = (int32_t)end;
  }
  return TARN_OK;
}

static tarn_status read_arrays(const parser *p, const tn_type *type, const text_list *texts,
                               tn_vec *out) {
  const tn_type *element = &type->fields[0].type;
  text_list all = {NULL, 0, 0};
  for (size_t i = 0; i < texts->count; i++) {
    text_list parts = {NULL, 0, 0};
    tn_slice text = texts->items[i], content;
    if (text.data != NULL) {
      if (!open_text(text, "ARRAY", '[', ']', &content)) {
        return refuse(p, type, text);
      }
      if (tn_slice_trim(content).len > 0) {
        TN_TRY(split(p, content, false, &parts));
      }
      for (size_t k = 0; k < parts.count; k++) {
        TN_TRY(add_part(p, &all, element, parts.items[k]));
      }
    }
    TN_TRY(end_list(p, out, i, all.count));
  }
  return read_values(p, element, &all, p->env != NULL ? &out->children[0] : NULL);
}

static bool is_same_text(tn_slice a, tn_slice b) {
  return (a.data == NULL) == (b.data == NULL) && tn_slice_equal(a, b);
}

/* Behind `first` there are the pairs of this map. Of equal keys the last one counts; MAP(...) takes
 * neither such nor null values. */
static tarn_status add_pair(const parser *p, const tn_type *type, text_list *keys,
                            text_list *values, size_t first, tn_slice key, tn_slice value,
                            bool is_strict, bool *is_right) {
  size_t at = first;
  TN_TRY(add_part(p, keys, &type->fields[0].type, key));
  TN_TRY(add_part(p, values, &type->fields[1].type, value));
  keys->count--;
  values->count--;
  while (at < keys->count && !is_same_text(keys->items[at], keys->items[keys->count])) {
    at++;
  }
  *is_right = !is_strict || (at == keys->count && values->items[values->count].data != NULL);
  values->items[at] = values->items[values->count];
  if (at == keys->count) {
    keys->count++;
    values->count++;
  }
  return TARN_OK;
}

/* "key -> value" */
static bool cut_entry(tn_slice entry, tn_slice *key, tn_slice *value) {
  for (size_t i = 0; i + 1 < entry.len; i++) {
    if (entry.data[i] == '-' && entry.data[i + 1] == '>') {
      *key = tn_slice_trim(tn_slice_of(entry.data, i));
      *value = tn_slice_trim(tn_slice_of(entry.data + i + 2, entry.len - i - 2));
      return key->len > 0 && value->len > 0;
    }
  }
  return false;
}

static tarn_status read_map(const parser *p, const tn_type *type, tn_slice text, text_list *keys,
                            text_list *values) {
  bool is_call = tn_slice_trim(text).len > 0 && tn_slice_trim(text).data[0] != '{', is_right = true;
  text_list parts = {NULL, 0, 0};
  size_t first = keys->count;
  tn_slice content, key, value;
  if (!open_text(text, "MAP", '{', '}', &content)) {
    return refuse(p, type, text);
  }
  if (tn_slice_trim(content).len > 0) {
    TN_TRY(split(p, content, true, &parts));
  }
  if (is_call && parts.count % 2 != 0) {
    return refuse(p, type, text);
  }
  for (size_t k = 0; k < parts.count && is_right; k += is_call ? 2 : 1) {
    if (is_call) {
      key = parts.items[k];
      value = parts.items[k + 1];
    } else if (!cut_entry(parts.items[k], &key, &value)) {
      return refuse(p, type, text);
    }
    TN_TRY(add_pair(p, type, keys, values, first, key, value, is_call, &is_right));
  }
  return is_right ? TARN_OK : refuse(p, type, text);
}

static tarn_status read_maps(const parser *p, const tn_type *type, const text_list *texts,
                             tn_vec *out) {
  text_list keys = {NULL, 0, 0}, values = {NULL, 0, 0};
  tn_vec *pairs = p->env != NULL ? &out->children[0] : NULL;
  for (size_t i = 0; i < texts->count; i++) {
    if (texts->items[i].data != NULL) {
      TN_TRY(read_map(p, type, texts->items[i], &keys, &values));
    }
    TN_TRY(end_list(p, out, i, keys.count));
  }
  if (pairs != NULL) {
    pairs->length = (int64_t)keys.count;
  }
  TN_TRY(read_values(p, &type->fields[0].type, &keys, pairs != NULL ? &pairs->children[0] : NULL));
  return read_values(p, &type->fields[1].type, &values, pairs != NULL ? &pairs->children[1] : NULL);
}

static tarn_status read_rows(const parser *p, const tn_type *type, const text_list *texts,
                             tn_vec *out) {
  size_t n_fields = (size_t)type->n_fields;
  text_list *columns = tn_arena_calloc(p->arena, n_fields + 1, sizeof(*columns));
  if (columns == NULL) {
    return tn_oom(p->err);
  }
  for (size_t i = 0; i < texts->count; i++) {
    text_list parts = {NULL, 0, 0};
    tn_slice text = texts->items[i], content;
    bool is_empty = true;
    if (text.data != NULL) {
      if (!open_text(text, "STRUCT", '{', '}', &content)) {
        return refuse(p, type, text);
      }
      is_empty = tn_slice_trim(content).len == 0;
      if (!is_empty) {
        TN_TRY(split(p, content, false, &parts));
      }
      if (!is_empty && parts.count != n_fields) {
        return refuse(p, type, text);
      }
    }
    for (size_t f = 0; f < n_fields; f++) {
      TN_TRY(text.data == NULL ? add_text(p, &columns[f], null_text)
                               : add_part(p, &columns[f], &type->fields[f].type,
                                          is_empty ? tn_slice_text("null") : parts.items[f]));
    }
  }
  for (size_t f = 0; f < n_fields; f++) {
    TN_TRY(read_values(p, &type->fields[f].type, &columns[f],
                       p->env != NULL ? &out->children[f] : NULL));
  }
  return TARN_OK;
}

/* The recursion goes as deep as the type. out: NULL without an environment; all zero or
 * initialised. */
static tarn_status read_values(const parser *p, const tn_type *type, const text_list *texts,
                               tn_vec *out) {
  tarn_status st;
  if (!tn_nested_has_text(type)) {
    return read_atoms(p, type, texts, out);
  }
  st = out != NULL ? begin_vector(p, type, texts, out) : TARN_OK;
  if (st == TARN_OK) {
    st = type->root == TN_ARRAY ? read_arrays(p, type, texts, out)
         : type->root == TN_MAP ? read_maps(p, type, texts, out)
                                : read_rows(p, type, texts, out);
  }
  if (st != TARN_OK && out != NULL) {
    tn_vec_reset(p->env, out);
  }
  return st;
}

static tarn_status read_text(const parser *p, const tn_type *type, tn_slice text, tn_vec *out) {
  bool is_null = type->root == TN_MAP && tn_slice_is_nocase(text, "NULL");
  tn_slice item = is_null ? null_text : text;
  const text_list one = {&item, 1, 1};
  if (!is_null && text.data == NULL) {
    return refuse(p, type, tn_slice_text(""));
  }
  return read_values(p, type, &one, out);
}

tarn_status tn_nested_check_text(tn_arena *scratch, const tn_zone *zone, const tn_type *type,
                                 tn_slice text, tarn_error *err) {
  const parser p = {NULL, scratch, zone, err};
  return read_text(&p, type, text, NULL);
}

tarn_status tn_nested_from_text(tarn_env *env, tn_arena *scratch, const tn_type *type,
                                tn_slice text, tn_vec *out, tarn_error *err) {
  const parser p = {env, scratch, env->zone, err};
  return read_text(&p, type, text, out);
}
