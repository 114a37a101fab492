/* cdc.h - records of a change feed as changes of rows: Debezium, Canal, Maxwell, JSON lines.
 *
 * A format reads the nodes of one record (cdc_json.h) and tells which table it is about, and which
 * images of rows it has. What the images' values are is for cdc_value.h. One thread at a time.
 * Rules: docs/cdc.md, from the connectors' own descriptions.
 */
#ifndef CLI_CDC_H
#define CLI_CDC_H

#include "cdc_value.h"
#include "json_rows.h"

/* What is done with a record. */
typedef enum cdc_class {
  CDC_ROWS,
  CDC_TRUNCATE,
  /* nothing; told apart only for the counts at the end */
  CDC_TOMBSTONE, /* null: what a log compaction needs */
  CDC_HEARTBEAT,
  CDC_TRANSACTION, /* markers of begin and end */
  CDC_DDL,         /* changes of the source's schema */
  CDC_OTHER,       /* messages, bootstraps, queries */
  CDC_N_CLASSES
} cdc_class;

extern const char *const cdc_class_names[CDC_N_CLASSES];

typedef enum cdc_op { CDC_INSERT, CDC_UPDATE, CDC_DELETE } cdc_op;

/* One row before and after; nodes, CDC_NONE where there is no image. */
typedef struct cdc_change {
  cdc_op op;
  uint32_t before, after;
  /* `before` has only the columns that differ; the others are those of `after`. Deletes: false. */
  bool before_is_patch;
  const char *kind; /* the row kind that the feed itself names; NULL: by op */
  size_t n_kind;
} cdc_change;

/* A schema of Debezium's: what it tells of the columns. */
typedef struct cdc_schema cdc_schema;
/* The hint of a column; *next is where to look first, then behind the found one. NULL: none. */
const cdc_hint *cdc_schema_find(const cdc_schema *schema, const char *name, size_t n, size_t *next);

typedef struct cdc_name { /* "" when the feed tells none */
  char text[256];
  size_t n;
} cdc_name;

typedef struct cdc_reader cdc_reader;

typedef struct cdc_record {
  cdc_class class;
  cdc_name database, schema_name, table;
  cdc_change *changes; /* borrowed from the reader until the next record */
  size_t n_changes;
  const cdc_schema *schema; /* NULL: none */
  bool is_flat;             /* members that begin with two underscores are no columns */
  bool is_own;    /* by `table tail --format debezium`: decimals are texts, bytes base64 */
  uint32_t types; /* an object: the source's SQL type of each column; CDC_NONE */
  uint32_t meta;  /* the object that --metadata looks into */
} cdc_record;

typedef struct cdc_format {
  const char *name;
  cdc_style style;
  bool names_tables;
  /* Class and changes of the record in reader->json. false: a fault, in *fault. */
  bool (*read)(cdc_reader *reader, cdc_record *out, cli_row_fault *fault);
} cdc_format;

extern const cdc_format cdc_formats[];
extern const size_t cdc_n_formats;
const cdc_format *cdc_format_find(const char *name);

struct cdc_reader {
  const cdc_format *format;
  cdc_json json; /* of the record */
  /* the rest is the reader's own */
  cdc_change *changes;
  size_t capacity;
  cdc_schema *schemas; /* those met so far, the last one used first */
  size_t n_schemas;
  const cdc_schema *schema_in_front; /* of this record, when its text was known already */
  cli_text scratch, unwrapped;
  bool tombstone_is_all; /* of a delete: the rows came flat, and none says that it is deleted */
  bool is_unwrapped;     /* the nodes are those of `unwrapped`, */
  size_t wrapped_at;     /* which stands there in the record */
  const char *kind_name; /* of JSON lines */
};

/* Where in the record something stands that is at a place of the nodes' text. */
static inline size_t cdc_place(const cdc_reader *reader, size_t at) {
  return reader->is_unwrapped ? reader->wrapped_at : at;
}

/* kind_name: the member of JSON lines that tells the row kind; borrowed. */
void cdc_reader_init(cdc_reader *reader, const cdc_format *format, const char *kind_name);
void cdc_reader_reset(cdc_reader *reader);

/* Read the record in n bytes of text; the byte behind them must be readable and a control
 * character. What `out` names lives until the next record, the text as long as the caller keeps it.
 * false: a fault. Any bytes at all. */
bool cdc_read(cdc_reader *reader, const char *text, size_t n, cdc_record *out,
              cli_row_fault *fault);

/* ------------------------------------------------------------------ for formats */

/* Fill the fault: "field payload.op: expected ..., found ...". Returns false. */
bool cdc_wrong(const cdc_json *json, uint32_t at, const char *expected, cli_row_fault *fault);
/* A further change of the record; NULL: no memory, told in the fault. */
cdc_change *cdc_add_change(cdc_reader *reader, cdc_record *record, cli_row_fault *fault);
/* A name from a string; nothing when it is none. false: too long. */
bool cdc_take_name(cdc_reader *reader, uint32_t at, cdc_name *out);
/* The schema of an envelope (a node), made or found again; NULL: it tells nothing. */
const cdc_schema *cdc_schema_take(cdc_reader *reader, uint32_t at);
/* If the text goes on with `{"schema":` and a schema that is known: where it ends; else 0. */
size_t cdc_schema_recognize(cdc_reader *reader, const char *text, size_t n);
void cdc_schemas_free(cdc_reader *reader);

/* Take the nodes of `unwrapped` instead of the record's. */
bool cdc_reparse(cdc_reader *reader, cli_row_fault *fault);

bool cdc_read_debezium(cdc_reader *reader, cdc_record *out, cli_row_fault *fault);

#endif
