/* avro_schema.h - a writer schema as a tree of nodes whose names are resolved.
 *
 * Nodes live in the arena of whoever parsed the schema and are immutable. A named type that is
 * used twice is one node; a type that contains itself is refused (Paimon writes none), so the
 * nodes form no cycle, and no walk goes down more than TN_MAX_TYPE_DEPTH constructed types or meets
 * more than TN_AVRO_MAX_WEIGHT of them.
 *
 * Rule: Apache Avro specification 1.11, "Schema Declaration"; spec: manifest, 1; datafiles, 5.
 */
#ifndef TN_FORMAT_AVRO_SCHEMA_H
#define TN_FORMAT_AVRO_SCHEMA_H

#include "base/arena.h"
#include "base/json.h"

#define TN_AVRO_MAX_WEIGHT (1 << 20)

typedef enum tn_avro_kind {
  TN_AVRO_NULL,
  TN_AVRO_BOOLEAN,
  TN_AVRO_INT,
  TN_AVRO_LONG,
  TN_AVRO_FLOAT,
  TN_AVRO_DOUBLE,
  TN_AVRO_BYTES,
  TN_AVRO_STRING,
  TN_AVRO_FIXED,
  TN_AVRO_ENUM,
  TN_AVRO_RECORD,
  TN_AVRO_ARRAY, /* child 0: the items */
  TN_AVRO_MAP,   /* child 0: the values */
  TN_AVRO_UNION  /* a child a branch */
} tn_avro_kind;

typedef enum tn_avro_logical {
  TN_AVRO_PLAIN, /* none, or one that changes nothing for us */
  TN_AVRO_DECIMAL,
  TN_AVRO_DATE,
  TN_AVRO_TIME_MILLIS,
  TN_AVRO_TIME_MICROS,
  TN_AVRO_TIMESTAMP_MILLIS,
  TN_AVRO_TIMESTAMP_MICROS,
  TN_AVRO_TIMESTAMP_NANOS,
  TN_AVRO_LOCAL_MILLIS,
  TN_AVRO_LOCAL_MICROS,
  TN_AVRO_LOCAL_NANOS,
  TN_AVRO_MAP_ENTRIES /* "map": an array of records {key, value} */
} tn_avro_logical;

typedef struct tn_avro_node {
  tn_avro_kind kind;
  tn_avro_logical logical;
  int32_t precision, scale; /* TN_AVRO_DECIMAL */
  int32_t size;             /* FIXED: bytes */
  const char *name;         /* RECORD, ENUM, FIXED: the full name */
  int32_t n_children;       /* RECORD: fields; UNION: branches; ARRAY, MAP: 1 */
  const struct tn_avro_node **children;
  const char **names; /* RECORD: names of the fields; ENUM: n_names symbols */
  int32_t n_names;
  int64_t min_bytes; /* the fewest bytes that a value takes */
  int32_t height;    /* constructed types on the longest way down; unions do not count */
  int32_t weight;    /* types below and itself, named ones as often as they are used */
  bool is_open;      /* while being parsed: to find a type that contains itself */
} tn_avro_node;

/* Parse the JSON of a schema. `path` names the file in messages.
 * Errors: CORRUPT (not a schema), UNSUPPORTED (a type that contains itself, by name), LIMIT
 * (nesting), NOMEM. */
TN_CHECKED tarn_status tn_avro_schema_parse(tn_arena *arena, const tn_json *json, const char *path,
                                            const tn_avro_node **out, tarn_error *err);

/* "record", "union" and so on, for messages. */
const char *tn_avro_kind_name(tn_avro_kind kind);

/* A union of null and one other type, in either order: *value is that type and the return is the
 * branch of null. A type that is no union: -1. A union of other form: -2. */
int tn_avro_nullable(const tn_avro_node *node, const tn_avro_node **value);

#endif
