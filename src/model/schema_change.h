/* schema_change.h - a table's next schema: what a list of changes makes of the one it has.
 *
 * Rule: org.apache.paimon.schema.SchemaManager.generateTableSchema; spec: snapshot-schema, "Schema
 * evolution"; write-path, 16. Where Java takes a path for another column than it names, the change
 * is refused (docs/decisions/java-deviations.md).
 */
#ifndef TN_MODEL_SCHEMA_CHANGE_H
#define TN_MODEL_SCHEMA_CHANGE_H

#include "model/schema.h"

typedef enum tn_change_kind {
  TN_CHANGE_ADD,              /* path, type, text: comment, move */
  TN_CHANGE_DROP,             /* path */
  TN_CHANGE_RENAME,           /* path, text: the new name */
  TN_CHANGE_RETYPE,           /* path, type; nullability stays */
  TN_CHANGE_NULLABLE,         /* path, flag */
  TN_CHANGE_MOVE,             /* path, move */
  TN_CHANGE_DESCRIBE,         /* path, text: the comment; NULL: none */
  TN_CHANGE_DEFAULT,          /* path, text: the default value; NULL: none */
  TN_CHANGE_SET,              /* key, text: the value */
  TN_CHANGE_RESET,            /* key */
  TN_CHANGE_TABLE_COMMENT,    /* text; NULL: none */
  TN_CHANGE_DROP_PRIMARY_KEY, /* */
  TN_N_CHANGE_KINDS
} tn_change_kind;

typedef enum tn_move_kind {
  TN_MOVE_NONE,
  TN_MOVE_FIRST,
  TN_MOVE_LAST,
  TN_MOVE_AFTER, /* `reference` */
  TN_MOVE_BEFORE
} tn_move_kind;

typedef struct tn_schema_change {
  tn_change_kind kind;
  const char *const
      *path; /* the steps to a column, through "element" of ARRAY and "value" of MAP */
  int32_t n_path;
  const char *key;       /* of an option */
  const char *text;      /* NULL: none */
  const char *type_text; /* SQL */
  bool flag;
  tn_move_kind move;
  const char *reference;
} tn_schema_change;

/* What a change may depend on. */
typedef struct tn_change_context {
  const char *full_name; /* of the table, for messages */
  bool has_snapshots;
  int64_t now_ms;
  const tn_zone *zone; /* default values of TIMESTAMP_LTZ are texts of it */
} tn_change_context;

/* The next schema, normalised (tn_schema_normalize) but not checked (tn_schema_check). `out` is raw
 * memory; its arena is set up here, and tn_arena_reset(&out->arena) frees it after success and
 * failure alike. Derived members are not filled in.
 * Errors: INVALID (a change that is not allowed), NOT_FOUND (a column), EXISTS (a column), LIMIT
 * (nesting), NOMEM. */
TN_CHECKED tarn_status tn_schema_apply(const tn_schema *old, const tn_schema_change *changes,
                                       int32_t n_changes, const tn_change_context *context,
                                       tn_schema *out, tarn_error *err);

/* May a column change from one type to the other (nullability is not looked at)? Rule:
 * org.apache.paimon.types.DataTypeCasts, casting.CastExecutors. */
bool tn_schema_can_retype(const tn_type *from, const tn_type *to, bool allows_explicit);

#endif
