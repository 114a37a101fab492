/* schema_change.c - changes of schemas, one after the other, over a copy. */
#include "model/schema_change.h"

#include <string.h>

#include "base/ascii.h"
#include "column/cast.h"
#include "model/java_map.h"
#include "model/options.h"
#include "model/schema_check.h"
#include "model/schema_write.h"

/* The schema that is being changed. Its types are copies in the arena, so that all of them may be
 * written to. */
typedef struct work {
  tn_schema *schema;
  tn_arena *arena;
  const tn_schema *old;
  const tn_change_context *context;
  tn_java_map options;
  bool has_renamed;
  bool keeps_nulls;   /* alter-column-null-to-not-null.disabled */
  bool only_implicit; /* disable-explicit-type-casting */
  bool adds_before_partition;
  tarn_error *err;
} work;

/* ------------------------------------------------------------------ casts */

#define ROOT(root) (1u << (root))
#define INTEGERS (ROOT(TN_TINYINT) | ROOT(TN_SMALLINT) | ROOT(TN_INT) | ROOT(TN_BIGINT))
#define NUMBERS (INTEGERS | ROOT(TN_FLOAT) | ROOT(TN_DOUBLE) | ROOT(TN_DECIMAL))
#define TEXTS (ROOT(TN_CHAR) | ROOT(TN_VARCHAR))
#define BINARIES (ROOT(TN_BINARY) | ROOT(TN_VARBINARY))
#define TIMESTAMPS (ROOT(TN_TIMESTAMP) | ROOT(TN_TIMESTAMP_LTZ))
#define DATE_TIMES (ROOT(TN_DATE) | ROOT(TN_TIME) | TIMESTAMPS)
#define CONSTRUCTED \
  (ROOT(TN_ARRAY) | ROOT(TN_VECTOR) | ROOT(TN_MULTISET) | ROOT(TN_MAP) | ROOT(TN_ROW))
#define ALL (ROOT(TN_N_TYPE_ROOTS) - 1)
#define TO_NUMBER (NUMBERS | TEXTS | ROOT(TN_BOOLEAN) | TIMESTAMPS)

/* From which types a column may come to a type. Rule: types.DataTypeCasts. */
static const struct {
  uint32_t implicit, explicit; /* its own root is always implicit */
} casts_to[TN_N_TYPE_ROOTS] = {
    [TN_CHAR] = {0, ALL},
    [TN_VARCHAR] = {TEXTS, ALL},
    [TN_BOOLEAN] = {0, TEXTS | INTEGERS},
    [TN_BINARY] = {0, TEXTS | ROOT(TN_VARBINARY)},
    [TN_VARBINARY] = {BINARIES, TEXTS},
    [TN_DECIMAL] = {NUMBERS, TO_NUMBER},
    [TN_TINYINT] = {0, TO_NUMBER},
    [TN_SMALLINT] = {ROOT(TN_TINYINT), TO_NUMBER},
    [TN_INT] = {ROOT(TN_TINYINT) | ROOT(TN_SMALLINT), TO_NUMBER},
    [TN_BIGINT] = {INTEGERS, TO_NUMBER},
    [TN_FLOAT] = {INTEGERS | ROOT(TN_DECIMAL), TO_NUMBER},
    [TN_DOUBLE] = {NUMBERS, TO_NUMBER},
    [TN_DATE] = {ROOT(TN_TIMESTAMP), TIMESTAMPS | TEXTS},
    [TN_TIME] = {ROOT(TN_TIMESTAMP), TIMESTAMPS | TEXTS},
    [TN_TIMESTAMP] = {TIMESTAMPS, DATE_TIMES | TEXTS | NUMBERS},
    [TN_TIMESTAMP_LTZ] = {TIMESTAMPS, DATE_TIMES | TEXTS | NUMBERS},
};

/* Types that have a rule to themselves; nothing casts the others, not even to the same. */
#define CAST_TO_SELF (NUMBERS | TEXTS | BINARIES | TIMESTAMPS)

bool tn_schema_can_retype(const tn_type *from, const tn_type *to, bool allows_explicit) {
  uint32_t from_root = ROOT(from->root);
  if (from->root == to->root) {
    return (from_root & CAST_TO_SELF) != 0;
  }
  return ((casts_to[to->root].implicit & from_root) != 0 ||
          (allows_explicit && (casts_to[to->root].explicit & from_root) != 0)) &&
         tn_cast_exists(from, to);
}

/* ------------------------------------------------------------------ finding columns */

/* Where a path leads. */
typedef struct place {
  tn_type *row;     /* the ROW that has the column; NULL: the table */
  int32_t column;   /* of its fields; -1: none has the last name */
  tn_type *element; /* the path ends in a part of an ARRAY or MAP: its type */
} place;

static tn_field *fields_at(const work *w, const place *at, int32_t *n) {
  *n = at->row != NULL ? at->row->n_fields : w->schema->n_fields;
  return at->row != NULL ? (tn_field *)at->row->fields : w->schema->fields;
}

static tn_field *field_at(const work *w, const place *at) {
  int32_t n;
  return &fields_at(w, at, &n)[at->column];
}

/* The first n steps, joined by dots, the last one replaced if `last` is given. */
static const char *path_text(const work *w, const tn_schema_change *change, int32_t n,
                             const char *last) {
  const char *text = "";
  for (int32_t i = 0; i < n && text != NULL; i++) {
    text = tn_arena_printf(w->arena, "%s%s%s", text, i > 0 ? "." : "",
                           i + 1 == n && last != NULL ? last : change->path[i]);
  }
  return text;
}

static tarn_status no_column(const work *w, const tn_schema_change *change, int32_t n_steps,
                             const char *last) {
  const char *text = path_text(w, change, n_steps, last);
  return text == NULL
             ? tn_oom(w->err)
             : tn_fail(w->err, TARN_E_NOT_FOUND, "Column %s does not exist in the %s table.", text,
                       w->context->full_name);
}

static tarn_status has_column(const work *w, const tn_schema_change *change, const char *last) {
  const char *text = path_text(w, change, change->n_path, last);
  return text == NULL ? tn_oom(w->err)
                      : tn_fail(w->err, TARN_E_EXISTS, "Column %s already exists in the %s table.",
                                text, w->context->full_name);
}

/* Go from a column through "element" and "value" to the next ROW. *step: the last step taken; at
 * the path's end `element` is the type found. */
static tarn_status enter(const work *w, const tn_schema_change *change, tn_type *type,
                         int32_t *step, place *at) {
  for (;;) {
    bool is_last = *step + 1 == change->n_path;
    const char *name = is_last ? NULL : change->path[*step + 1];
    if (is_last) {
      at->element = type;
      return TARN_OK;
    }
    if (type->root == TN_ROW) {
      at->row = type;
      return TARN_OK;
    }
    if (type->root == TN_ARRAY && strcmp(name, "element") == 0) {
      type = (tn_type *)&type->fields[0].type;
    } else if (type->root == TN_MAP && strcmp(name, "value") == 0) {
      type = (tn_type *)&type->fields[1].type;
    } else {
      return no_column(w, change, *step + 2, NULL);
    }
    ++*step;
  }
}

static tarn_status find_place(const work *w, const tn_schema_change *change, place *at) {
  memset(at, 0, sizeof(*at));
  for (int32_t step = 0; step < change->n_path; step++) {
    int32_t n;
    tn_field *fields = fields_at(w, at, &n);
    at->column = tn_fields_find(fields, n, tn_slice_text(change->path[step]));
    if (step + 1 == change->n_path) {
      return TARN_OK;
    }
    if (at->column < 0) {
      return no_column(w, change, step + 1, NULL);
    }
    TN_TRY(enter(w, change, &fields[at->column].type, &step, at));
    if (at->element != NULL) {
      return TARN_OK;
    }
  }
  return TARN_OK;
}

/* The place of a column that is there. */
static tarn_status find_column(const work *w, const tn_schema_change *change, place *at) {
  TN_TRY(find_place(w, change, at));
  return at->element != NULL || at->column >= 0 ? TARN_OK
                                                : no_column(w, change, change->n_path, NULL);
}

/* The same, and no part of an ARRAY or MAP: those have types, but no names and ids. */
static tarn_status find_named(const work *w, const tn_schema_change *change, place *at) {
  TN_TRY(find_place(w, change, at));
  if (at->element != NULL) {
    const char *text = path_text(w, change, change->n_path, NULL);
    return text == NULL
               ? tn_oom(w->err)
               : tn_fail(w->err, TARN_E_INVALID,
                         "%s is part of an ARRAY or MAP, which is not a column of its own", text);
  }
  return TARN_OK;
}

static tn_type *type_at(const work *w, const place *at) {
  return at->element != NULL ? at->element : &field_at(w, at)->type;
}

static bool is_key(const char *const *keys, int32_t n, const tn_schema_change *change) {
  for (int32_t i = 0; i < n && change->n_path == 1; i++) {
    if (strcmp(keys[i], change->path[0]) == 0) {
      return true;
    }
  }
  return false;
}

/* Columns of keys, by the names they have by now. */
static tarn_status guard_partition(const work *w, const tn_schema_change *change,
                                   const char *what) {
  return is_key(w->schema->partition_keys, w->schema->n_partition_keys, change)
             ? tn_fail(w->err, TARN_E_INVALID, "Cannot %s partition column: [%s]", what,
                       change->path[0])
             : TARN_OK;
}

static tarn_status guard_primary(const work *w, const tn_schema_change *change, const char *what) {
  return is_key(w->schema->primary_keys, w->schema->n_primary_keys, change)
             ? tn_fail(w->err, TARN_E_INVALID, "Cannot %s primary key", what)
             : TARN_OK;
}

/* ------------------------------------------------------------------ columns come, go and move */

static void shift(tn_field *fields, int32_t from, int32_t to) {
  tn_field moved = fields[from];
  if (from < to) {
    memmove(&fields[from], &fields[from + 1], (size_t)(to - from) * sizeof(*fields));
  } else {
    memmove(&fields[to + 1], &fields[to], (size_t)(from - to) * sizeof(*fields));
  }
  fields[to] = moved;
}

static int32_t first_partition_column(const work *w) {
  for (int32_t i = 0; i < w->schema->n_fields; i++) {
    for (int32_t k = 0; k < w->schema->n_partition_keys; k++) {
      if (strcmp(w->schema->fields[i].name, w->schema->partition_keys[k]) == 0) {
        return i;
      }
    }
  }
  return -1;
}

/* Where among n fields a new one goes. */
static tarn_status new_place(const work *w, const tn_schema_change *change, const place *at,
                             int32_t *out) {
  int32_t n, reference, before = -1;
  const tn_field *fields = fields_at(w, at, &n);
  *out = n;
  switch (change->move) {
    case TN_MOVE_NONE:
      if (w->adds_before_partition && at->row == NULL) {
        before = first_partition_column(w);
      }
      *out = before >= 0 ? before : n;
      return TARN_OK;
    case TN_MOVE_LAST:
      return TARN_OK;
    case TN_MOVE_FIRST:
      *out = 0;
      return TARN_OK;
    case TN_MOVE_AFTER:
    case TN_MOVE_BEFORE:
      break;
  }
  reference = tn_fields_find(fields, n, tn_slice_text(change->reference));
  if (reference < 0) {
    return tn_fail(w->err, TARN_E_NOT_FOUND, "Column %s does not exist in the %s table.",
                   change->reference, w->context->full_name);
  }
  *out = reference + (change->move == TN_MOVE_AFTER);
  return TARN_OK;
}

static tarn_status set_fields(const work *w, const place *at, tn_field *fields, int32_t n) {
  if (at->row != NULL) {
    at->row->fields = fields;
    at->row->n_fields = n;
  } else {
    w->schema->fields = fields;
    w->schema->n_fields = n;
  }
  return TARN_OK;
}

static tarn_status parse_type(const work *w, const tn_schema_change *change, int32_t *next_id,
                              tn_type *out) {
  tarn_status st = tn_type_from_sql(w->arena, change->type_text, next_id, out, w->err);
  const char *text = path_text(w, change, change->n_path, NULL);
  return st == TARN_OK || text == NULL ? st : tn_error_context(w->err, st, "column %s", text);
}

static tarn_status add_column(work *w, const tn_schema_change *change) {
  const char *name = change->path[change->n_path - 1];
  int32_t n, to, next_id = w->schema->highest_field_id + 2;
  tn_field *fields, *grown;
  tn_field added = {.id = w->schema->highest_field_id + 1, .name = name};
  place at;
  if (w->schema->highest_field_id > TN_FIELD_ID_KEY_BASE - 100000) {
    return tn_fail(w->err, TARN_E_LIMIT, "no field ids are left");
  }
  TN_TRY(parse_type(w, change, &next_id, &added.type));
  if (!added.type.is_nullable) {
    const char *text = path_text(w, change, change->n_path, NULL);
    return text == NULL ? tn_oom(w->err)
                        : tn_fail(w->err, TARN_E_INVALID,
                                  "Column %s cannot specify NOT NULL in the %s table.", text,
                                  w->context->full_name);
  }
  w->schema->highest_field_id = next_id - 1;
  added.description = change->text;
  TN_TRY(find_named(w, change, &at));
  if (at.column >= 0) {
    return has_column(w, change, NULL);
  }
  TN_TRY(new_place(w, change, &at, &to));
  fields = fields_at(w, &at, &n);
  grown = tn_arena_calloc(w->arena, (size_t)n + 1, sizeof(*grown));
  if (grown == NULL) {
    return tn_oom(w->err);
  }
  if (n > 0) {
    memcpy(grown, fields, (size_t)n * sizeof(*grown));
  }
  grown[n] = added;
  shift(grown, n, to);
  return set_fields(w, &at, grown, n + 1);
}

static tarn_status drop_column(work *w, const tn_schema_change *change) {
  tn_field *fields;
  int32_t n;
  place at;
  if (is_key(w->schema->partition_keys, w->schema->n_partition_keys, change) ||
      is_key(w->schema->primary_keys, w->schema->n_primary_keys, change)) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot drop partition key or primary key: [%s]",
                   change->path[0]);
  }
  TN_TRY(find_named(w, change, &at));
  if (at.column < 0) {
    return no_column(w, change, change->n_path, NULL);
  }
  fields = fields_at(w, &at, &n);
  if (n == 1) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot drop all fields in table");
  }
  shift(fields, at.column, n - 1);
  return set_fields(w, &at, fields, n - 1);
}

static tarn_status cannot_move_itself(const work *w, const char *name) {
  return tn_fail(w->err, TARN_E_INVALID, "Cannot move itself for column %s", name);
}

/* Rule: SchemaManager.applyMove: columns of the table only. */
static tarn_status move_column(work *w, const tn_schema_change *change) {
  tn_field *fields = w->schema->fields;
  int32_t n = w->schema->n_fields, from = -1, to = 0;
  if (change->n_path == 1) {
    from = tn_fields_find(fields, n, tn_slice_text(change->path[0]));
  }
  if (from < 0) {
    const char *text = path_text(w, change, change->n_path, NULL);
    return text == NULL ? tn_oom(w->err)
                        : tn_fail(w->err, TARN_E_NOT_FOUND, "Field name not found: %s", text);
  }
  if (change->move == TN_MOVE_LAST) {
    to = n - 1;
  } else if (change->move != TN_MOVE_FIRST) {
    to = tn_fields_find(fields, n, tn_slice_text(change->reference));
    if (to < 0) {
      return tn_fail(w->err, TARN_E_NOT_FOUND, "Reference field name not found: %s",
                     change->reference);
    }
  }
  if (to == from) {
    return cannot_move_itself(w, change->path[0]);
  }
  to += change->move == TN_MOVE_AFTER && from > to;
  to -= change->move == TN_MOVE_BEFORE && from < to;
  shift(fields, from, to);
  return TARN_OK;
}

/* ------------------------------------------------------------------ renaming */

/* A comma separated list with `from` as `to`; the list itself when it is not in there. NULL: out of
 * memory. */
static const char *rename_in_list(const work *w, const char *list, const char *from,
                                  const char *to) {
  const char *out = "", *at = list;
  bool found = false;
  while (at != NULL && out != NULL) {
    const char *comma = strchr(at, ',');
    tn_slice part = tn_slice_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at));
    bool is_it = tn_slice_is(tn_slice_trim(part), from);
    found = found || is_it;
    out = tn_arena_printf(w->arena, "%s%s%.*s", out, at > list ? "," : "",
                          is_it ? (int)strlen(to) : (int)part.len,
                          is_it ? to : (const char *)part.data);
    at = comma != NULL ? comma + 1 : NULL;
  }
  return out != NULL && !found ? list : out;
}

static tarn_status rename_in_option(work *w, const char *key, const char *from, const char *to) {
  const char *value = tn_java_map_get(&w->options, key), *renamed;
  if (value == NULL) {
    return TARN_OK;
  }
  renamed = rename_in_list(w, value, from, to);
  return renamed == NULL ? tn_oom(w->err) : tn_java_map_put(&w->options, key, renamed, w->err);
}

#define FIELDS "fields."
#define GROUP_SUFFIX ".sequence-group"

static bool ends_with(const char *text, const char *suffix) {
  size_t n = strlen(text), m = strlen(suffix);
  return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* "fields.<names>.<suffix>": the names; false: not such a key. */
static bool names_of(const work *w, const char *key, const char **names, const char **suffix) {
  const char *dot;
  *names = NULL;
  if (strncmp(key, FIELDS, strlen(FIELDS)) != 0) {
    return false;
  }
  *suffix = strchr(key + strlen(FIELDS), '.');
  dot = *suffix;
  if (dot == NULL) {
    return false;
  }
  *names = tn_arena_strndup(w->arena, key + strlen(FIELDS), (size_t)(dot - key) - strlen(FIELDS));
  return true;
}

/* Options that name columns in their keys, in the order in which Java puts them in anew, which
 * shows in their order afterwards. The last two are taken out and put in again whether they name
 * the column or not. Java knows no others and refuses to rename a column that has any. */
static const char *const column_suffixes[] = {
    ".aggregate-function", ".ignore-retract", ".distinct", ".list-agg-delimiter", NULL,
    GROUP_SUFFIX,          ".nested-key",
};
#define OTHER_SUFFIXES 4u
#define TAKEN_OUT 5u /* and those behind it */

static size_t suffix_place(const char *key) {
  for (size_t i = 0; i < TN_COUNT(column_suffixes); i++) {
    if (column_suffixes[i] != NULL && ends_with(key, column_suffixes[i])) {
      return i;
    }
  }
  return OTHER_SUFFIXES;
}

static tarn_status rename_in_key(work *w, const tn_option *item, const char *from, const char *to) {
  const char *names, *suffix, *renamed, *key, *value = item->value;
  if (!names_of(w, item->key, &names, &suffix)) {
    return TARN_OK;
  }
  renamed = names != NULL ? rename_in_list(w, names, from, to) : NULL;
  if (renamed != NULL && ends_with(item->key, GROUP_SUFFIX)) {
    value = rename_in_list(w, value, from, to);
  }
  if (renamed == NULL || value == NULL) {
    return tn_oom(w->err);
  }
  key = renamed == names ? item->key : tn_arena_printf(w->arena, FIELDS "%s%s", renamed, suffix);
  if (key == NULL) {
    return tn_oom(w->err);
  }
  if (key != item->key || suffix_place(key) >= TAKEN_OUT) {
    (void)tn_java_map_remove(&w->options, item->key);
  }
  return tn_java_map_put(&w->options, key, value, w->err);
}

static tarn_status rename_in_keys(work *w, const char *from, const char *to) {
  size_t n = w->options.count;
  tn_option *items;
  TN_TRY(tn_java_map_sort(&w->options, w->err));
  items = tn_arena_memdup(w->arena, w->options.items, n * sizeof(*items));
  if (items == NULL) {
    return tn_oom(w->err);
  }
  for (size_t turn = 0; turn <= TAKEN_OUT; turn++) {
    for (size_t i = 0; i < n; i++) {
      size_t own = suffix_place(items[i].key);
      if ((own < TAKEN_OUT ? own : TAKEN_OUT) == turn) {
        TN_TRY(rename_in_key(w, &items[i], from, to));
      }
    }
  }
  return TARN_OK;
}

/* The names of nested fields in fields.<column>.nested-key, where the column is a list of ROWs. */
static tarn_status rename_nested(work *w, const tn_schema_change *change) {
  const char *key = tn_arena_printf(w->arena, FIELDS "%s.nested-key", change->path[0]);
  if (key == NULL) {
    return tn_oom(w->err);
  }
  if (change->n_path == 3) {
    TN_TRY(rename_in_option(w, key, change->path[2], change->text));
  }
  return rename_in_keys(w, "", ""); /* for the order alone */
}

static void rename_key(const char **keys, int32_t n, const char *from, const char *to) {
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(keys[i], from) == 0) {
      keys[i] = to;
    }
  }
}

static tarn_status rename_column(work *w, const tn_schema_change *change) {
  const char *from = change->path[change->n_path - 1];
  int32_t n;
  tn_field *fields;
  place at;
  TN_TRY(guard_partition(w, change, "rename"));
  TN_TRY(find_named(w, change, &at));
  if (at.column < 0) {
    return no_column(w, change, change->n_path, NULL);
  }
  fields = fields_at(w, &at, &n);
  if (at.row == NULL && fields[at.column].type.root == TN_BLOB) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot rename BLOB column: [%s]", from);
  }
  if (tn_fields_find(fields, n, tn_slice_text(change->text)) >= 0) {
    return has_column(w, change, change->text);
  }
  fields[at.column].name = change->text;
  w->has_renamed = true;
  if (change->n_path > 1) {
    return rename_nested(w, change);
  }
  rename_key(w->schema->primary_keys, w->schema->n_primary_keys, from, change->text);
  TN_TRY(rename_in_option(w, "bucket-key", from, change->text));
  TN_TRY(rename_in_option(w, "sequence.field", from, change->text));
  return rename_in_keys(w, from, change->text);
}

/* ------------------------------------------------------------------ types and texts */

static tarn_status retype_column(work *w, const tn_schema_change *change) {
  tn_type to, *from;
  place at;
  TN_TRY(guard_partition(w, change, "update"));
  TN_TRY(guard_primary(w, change, "update"));
  TN_TRY(find_column(w, change, &at));
  TN_TRY(parse_type(w, change, NULL, &to));
  from = type_at(w, &at);
  to.is_nullable = from->is_nullable;
  if (!tn_schema_can_retype(from, &to, !w->only_implicit)) {
    const char *null_text = from->is_nullable ? "" : " NOT NULL";
    return tn_fail(w->err, TARN_E_INVALID,
                   "Column type %s[%s%s] cannot be converted to %s%s without loosing information.",
                   field_at(w, &at)->name, tn_type_text_of(from).text, null_text,
                   tn_type_text_of(&to).text, null_text);
  }
  *from = to;
  return TARN_OK;
}

static tarn_status change_nullability(work *w, const tn_schema_change *change) {
  tn_type *type;
  place at;
  if (change->flag) {
    TN_TRY(guard_primary(w, change, "change nullability of"));
  }
  TN_TRY(find_column(w, change, &at));
  type = type_at(w, &at);
  if (w->keeps_nulls && type->is_nullable && !change->flag) {
    const char *text = path_text(w, change, change->n_path, NULL);
    return text == NULL
               ? tn_oom(w->err)
               : tn_fail(w->err, TARN_E_INVALID,
                         "Cannot update column type from nullable to non nullable for %s. You can "
                         "set table configuration option 'alter-column-null-to-not-null.disabled' "
                         "= 'false' to allow converting null columns to not null",
                         text);
  }
  type->is_nullable = change->flag;
  return TARN_OK;
}

static tarn_status find_to_describe(work *w, const tn_schema_change *change, place *at) {
  TN_TRY(find_named(w, change, at));
  return at->column >= 0 ? TARN_OK : no_column(w, change, change->n_path, NULL);
}

static tarn_status describe_column(work *w, const tn_schema_change *change) {
  place at;
  TN_TRY(find_to_describe(w, change, &at));
  field_at(w, &at)->description = change->text;
  return TARN_OK;
}

static tarn_status change_default(work *w, const tn_schema_change *change) {
  place at;
  TN_TRY(find_to_describe(w, change, &at));
  TN_TRY(tn_schema_check_default(w->arena, w->context->zone, &field_at(w, &at)->type, change->text,
                                 w->err));
  field_at(w, &at)->default_value = change->text;
  return TARN_OK;
}

/* ------------------------------------------------------------------ options */

/* Options that stay as they are once there are snapshots. Rule: CoreOptions.IMMUTABLE_OPTIONS of
 * 1.4.2, and what later releases have added (docs/decisions/java-deviations.md). */
static const char *const immutable[] = {
    "aggregation.remove-record-on-delete",
    "blob-descriptor-field",
    "blob-external-storage-field",
    "blob-external-storage-path",
    "blob-field",
    "blob-view-field",
    "bucket-function.type",
    "bucket-key",
    "data-evolution.enabled",
    "data-file.path-directory",
    "dynamic-bucket.initial-buckets",
    "force-lookup",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "partition",
    "pk-clustering-override",
    "primary-key",
    "primary-key.nullable",
    "row-tracking.enabled",
    "rowkind.field",
    "sequence.snapshot-ordering",
    "type",
};

static tarn_status guard_immutable(const work *w, const char *key) {
  for (size_t i = 0; i < TN_COUNT(immutable); i++) {
    if (strcmp(immutable[i], key) == 0) {
      return tn_fail(w->err, TARN_E_INVALID, "Change '%s' is not supported yet.", key);
    }
  }
  return TARN_OK;
}

/* An option before the changes: Boolean.parseBoolean, false by default. */
static bool was_on(const work *w, const char *key) {
  const char *value = tn_schema_option(w->old, key);
  return value != NULL && tn_slice_is_nocase(tn_slice_text(value), "true");
}

static tarn_status guard_bucket(const work *w, const char *value) {
  tn_option item = {"bucket", value};
  tn_options options = {&item, 1};
  const char *old = tn_schema_option(w->old, "bucket");
  int64_t from = -1, to;
  TN_TRY(tn_options_int(&options, "bucket", &to, NULL, w->err));
  if (old != NULL) {
    item.value = old;
    TN_TRY(tn_options_int(&options, "bucket", &from, NULL, w->err));
  }
  if (from == -1) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot change bucket when it is -1.");
  }
  return to == -1 ? tn_fail(w->err, TARN_E_INVALID, "Cannot change bucket to -1.") : TARN_OK;
}

/* Rule: SchemaManager.checkAlterTableOption. */
static tarn_status guard_set(const work *w, const char *key, const char *value) {
  bool to = tn_slice_is_nocase(tn_slice_text(value), "true");
  TN_TRY(guard_immutable(w, key));
  if (strcmp(key, "bucket") == 0) {
    return guard_bucket(w, value);
  }
  if (strcmp(key, "deletion-vectors.enabled") == 0 && was_on(w, key) != to &&
      !was_on(w, "deletion-vectors.modifiable")) {
    return tn_fail(w->err, TARN_E_INVALID,
                   "Cannot change deletion vectors mode from %s to %s. If modifying table "
                   "deletion-vectors mode without full-compaction, this may result in data "
                   "duplication. If you are confident, you can set table option "
                   "'deletion-vectors.modifiable' = 'true' to allow deletion vectors modification.",
                   to ? "false" : "true", to ? "true" : "false");
  }
  if ((strcmp(key, "ignore-delete") == 0 || strcmp(key, "ignore-update-before") == 0) &&
      was_on(w, key) && !to) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot change %s from true to false.", key);
  }
  if (strcmp(key, "clustering.columns") == 0 &&
      tn_schema_option(w->old, "pk-clustering-override") != NULL) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot change %s when %s enabled.", key,
                   "pk-clustering-override");
  }
  return TARN_OK;
}

static tarn_status set_option(work *w, const tn_schema_change *change) {
  if (strcmp(change->key, "path") == 0) {
    return tn_fail(w->err, TARN_E_INVALID, "Change path is not supported yet.");
  }
  if (w->context->has_snapshots) {
    TN_TRY(guard_set(w, change->key, change->text));
  }
  return tn_java_map_put(&w->options, change->key, change->text, w->err);
}

/* Rule: SchemaManager.checkResetTableOption. Taking away an option that says true is a change to
 * false, which setting it would refuse. */
static tarn_status guard_reset(const work *w, const char *key) {
  TN_TRY(guard_immutable(w, key));
  if (strcmp(key, "bucket") == 0) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot reset %s.", key);
  }
  if (strcmp(key, "clustering.columns") == 0 &&
      tn_schema_option(w->old, "pk-clustering-override") != NULL) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot reset %s when %s enabled.", key,
                   "pk-clustering-override");
  }
  return was_on(w, key) ? guard_set(w, key, "false") : TARN_OK;
}

static tarn_status reset_option(work *w, const tn_schema_change *change) {
  if (w->context->has_snapshots) {
    TN_TRY(guard_reset(w, change->key));
  }
  (void)tn_java_map_remove(&w->options, change->key);
  return TARN_OK;
}

/* ------------------------------------------------------------------ the table */

static tarn_status change_comment(work *w, const tn_schema_change *change) {
  w->schema->comment = change->text;
  return TARN_OK;
}

static tarn_status drop_primary_key(work *w, const tn_schema_change *change) {
  (void)change;
  if (w->context->has_snapshots) {
    return tn_fail(w->err, TARN_E_INVALID, "Cannot drop primary keys on a non-empty table.");
  }
  w->schema->n_primary_keys = 0;
  return TARN_OK;
}

static tarn_status (*const appliers[TN_N_CHANGE_KINDS])(work *w, const tn_schema_change *change) = {
    [TN_CHANGE_ADD] = add_column,
    [TN_CHANGE_DROP] = drop_column,
    [TN_CHANGE_RENAME] = rename_column,
    [TN_CHANGE_RETYPE] = retype_column,
    [TN_CHANGE_NULLABLE] = change_nullability,
    [TN_CHANGE_MOVE] = move_column,
    [TN_CHANGE_DESCRIBE] = describe_column,
    [TN_CHANGE_DEFAULT] = change_default,
    [TN_CHANGE_SET] = set_option,
    [TN_CHANGE_RESET] = reset_option,
    [TN_CHANGE_TABLE_COMMENT] = change_comment,
    [TN_CHANGE_DROP_PRIMARY_KEY] = drop_primary_key,
};

static tarn_status copy_text(const work *w, const char *text, const char **out) {
  *out = text != NULL ? tn_arena_strdup(w->arena, text) : NULL;
  return text == NULL || *out != NULL ? TARN_OK : tn_oom(w->err);
}

static tarn_status copy_keys(const work *w, const char *const *keys, int32_t n, const char ***out,
                             int32_t *n_out) {
  *out = tn_arena_calloc(w->arena, (size_t)n + 1, sizeof(**out));
  *n_out = n;
  if (*out == NULL) {
    return tn_oom(w->err);
  }
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(copy_text(w, keys[i], &(*out)[i]));
  }
  return TARN_OK;
}

/* As SchemaSerializer reads a map of options, and generateTableSchema copies it. */
static tarn_status copy_options(work *w) {
  tn_java_map read;
  tn_java_map_init(&read, w->arena, 0);
  for (int32_t i = 0; i < w->old->n_options; i++) {
    const char *key, *value;
    TN_TRY(copy_text(w, w->old->options[i].key, &key));
    TN_TRY(copy_text(w, w->old->options[i].value, &value));
    TN_TRY(tn_java_map_put(&read, key, value, w->err));
  }
  return tn_java_map_copy(&read, &w->options, w->err);
}

static tarn_status copy_schema(work *w) {
  const tn_schema *old = w->old;
  tn_schema *s = w->schema;
  s->version = TN_SCHEMA_VERSION;
  s->id = old->id + 1;
  s->highest_field_id = old->highest_field_id;
  s->time_ms = w->context->now_ms;
  s->fields = tn_arena_calloc(w->arena, (size_t)old->n_fields + 1, sizeof(*s->fields));
  if (s->fields == NULL) {
    return tn_oom(w->err);
  }
  s->n_fields = old->n_fields;
  for (int32_t i = 0; i < old->n_fields; i++) {
    const tn_field *from = &old->fields[i];
    s->fields[i].id = from->id;
    TN_TRY(copy_text(w, from->name, &s->fields[i].name));
    TN_TRY(copy_text(w, from->description, &s->fields[i].description));
    TN_TRY(copy_text(w, from->default_value, &s->fields[i].default_value));
    TN_TRY(tn_type_copy(w->arena, &from->type, &s->fields[i].type, w->err));
  }
  TN_TRY(copy_keys(w, old->partition_keys, old->n_partition_keys, &s->partition_keys,
                   &s->n_partition_keys));
  TN_TRY(
      copy_keys(w, old->primary_keys, old->n_primary_keys, &s->primary_keys, &s->n_primary_keys));
  TN_TRY(copy_text(w, old->comment, &s->comment));
  return copy_options(w);
}

static tarn_status finish_options(work *w) {
  if (w->has_renamed) { /* applyRenameColumnsToOptions works on a copy */
    tn_java_map renamed;
    TN_TRY(tn_java_map_copy(&w->options, &renamed, w->err));
    w->options = renamed;
  }
  TN_TRY(tn_java_map_sort(&w->options, w->err));
  w->schema->options = w->options.items;
  w->schema->n_options = (int32_t)w->options.count;
  return TARN_OK;
}

tarn_status tn_schema_apply(const tn_schema *old, const tn_schema_change *changes,
                            int32_t n_changes, const tn_change_context *context, tn_schema *out,
                            tarn_error *err) {
  work w = {.schema = out, .arena = &out->arena, .old = old, .context = context, .err = err};
  const char *keeps = tn_schema_option(old, "alter-column-null-to-not-null.disabled");
  memset(out, 0, sizeof(*out));
  out->env = old->env;
  tn_arena_init(&out->arena, &old->env->mem, SIZE_MAX);
  w.keeps_nulls = keeps == NULL || tn_slice_is_nocase(tn_slice_text(keeps), "true");
  w.only_implicit = was_on(&w, "disable-explicit-type-casting");
  w.adds_before_partition = was_on(&w, "add-column-before-partition");
  TN_TRY(copy_schema(&w));
  for (int32_t i = 0; i < n_changes; i++) {
    TN_TRY(appliers[changes[i].kind](&w, &changes[i]));
  }
  TN_TRY(finish_options(&w));
  return tn_schema_normalize(out, NULL, 0, err);
}
