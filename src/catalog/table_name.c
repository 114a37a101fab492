/* table_name.c - what users write for a table, taken apart. Rule: catalog.Identifier. */
#include <string.h>

#include "base/ascii.h"
#include "catalog/catalog.h"

static char *lower_copy(tn_arena *arena, tn_slice text) {
  char *copy = tn_arena_strndup(arena, (const char *)text.data, text.len);
  for (char *c = copy; c != NULL && *c != '\0'; c++) {
    *c = (char)tn_lower((uint8_t)*c);
  }
  return copy;
}

/* "t", "t$system", "t$branch_b", "t$branch_b$system": branch and system of `object`; the table's
 * own name is left in *object. */
static tarn_status split_object(tn_arena *arena, const char *text, tn_slice *object,
                                tn_table_name *out, tarn_error *err) {
  static const char branch_prefix[] = "branch_";
  const size_t prefix_len = sizeof(branch_prefix) - 1;
  tn_slice parts[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
  int n_parts = 0;
  size_t begin = 0;
  tn_slice branch = {NULL, 0}, system = {NULL, 0};
  for (size_t i = 0; i <= object->len; i++) {
    if (i == object->len || object->data[i] == '$') {
      if (n_parts == 3) {
        return tn_fail(err, TARN_E_INVALID, "invalid table name '%s': at most two '$'", text);
      }
      parts[n_parts++] = tn_slice_of(object->data + begin, i - begin);
      begin = i + 1;
    }
  }
  if (n_parts >= 2) {
    if (tn_slice_starts_with(parts[1], tn_slice_text(branch_prefix))) {
      branch = tn_slice_of(parts[1].data + prefix_len, parts[1].len - prefix_len);
    } else if (n_parts == 3) {
      return tn_fail(err, TARN_E_INVALID,
                     "invalid table name '%s': between two '$' only branch_NAME is allowed", text);
    } else {
      system = parts[1];
    }
  }
  if (n_parts == 3) {
    system = parts[2];
  }
  if (parts[0].len == 0 || (n_parts >= 2 && branch.len == 0 && system.len == 0) ||
      (n_parts == 3 && (branch.len == 0 || system.len == 0))) {
    return tn_fail(err, TARN_E_INVALID, "invalid table name '%s': a part of it is empty", text);
  }
  if (branch.len > 0 && !tn_slice_is(branch, "main")) {
    out->branch = tn_arena_strndup(arena, (const char *)branch.data, branch.len);
    if (out->branch == NULL) {
      return tn_oom(err);
    }
  }
  if (system.len > 0) {
    out->system = lower_copy(arena, system);
    if (out->system == NULL) {
      return tn_oom(err);
    }
  }
  *object = parts[0];
  return TARN_OK;
}

tarn_status tn_table_name_parse(tn_arena *arena, const char *text, tn_table_name *out,
                                tarn_error *err) {
  static const char database_suffix[] = ".db";
  const size_t suffix_len = sizeof(database_suffix) - 1;
  const char *slash = strrchr(text, '/');
  const char *dot = strchr(text, '.');
  tn_slice object, database;
  memset(out, 0, sizeof(*out));
  if (slash != NULL) {
    size_t n = strlen(text);
    const char *parent_end = slash, *parent;
    while (n > 1 && text[n - 1] == '/') {
      n--;
    }
    slash = text + n;
    while (slash > text && slash[-1] != '/') {
      slash--;
    }
    object = tn_slice_of(slash, (size_t)(text + n - slash));
    TN_TRY(split_object(arena, text, &object, out, err));
    out->path =
        tn_arena_strndup(arena, text, (size_t)((const char *)object.data - text) + object.len);
    /* The database's name, if the parent folder tells it. */
    parent_end = slash > text ? slash - 1 : slash;
    parent = parent_end;
    while (parent > text && parent[-1] != '/') {
      parent--;
    }
    database = tn_slice_of(parent, (size_t)(parent_end - parent));
    if (database.len > suffix_len &&
        memcmp(database.data + database.len - suffix_len, database_suffix, suffix_len) == 0) {
      database.len -= suffix_len;
    } else {
      database.len = 0;
    }
  } else if (dot == NULL || dot == text || dot[1] == '\0') {
    return tn_fail(
        err, TARN_E_INVALID,
        "invalid table name '%s': expected DB.TABLE, or the path of its folder with a '/'", text);
  } else {
    database = tn_slice_of(text, (size_t)(dot - text));
    object = tn_slice_text(dot + 1);
    TN_TRY(split_object(arena, text, &object, out, err));
  }
  out->database = tn_arena_strndup(arena, (const char *)database.data, database.len);
  out->table = tn_arena_strndup(arena, (const char *)object.data, object.len);
  if (out->database == NULL || out->table == NULL || (slash != NULL && out->path == NULL)) {
    return tn_oom(err);
  }
  return TARN_OK;
}
