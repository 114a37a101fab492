/* cdc_value.h - values of a change feed as values of columns.
 *
 * Connectors write one value in many ways: a time as days, milliseconds, microseconds, nanoseconds
 * or a text, a decimal as text, number or bytes. Which way it is comes from the record's schema
 * where there is one (cdc_hint), else from the column's type by the rules of docs/cdc.md. Nothing
 * is rounded; what does not fit its column is refused (columns->expected), but for the parts of a
 * TIME below a millisecond, which no column can hold.
 */
#ifndef CLI_CDC_VALUE_H
#define CLI_CDC_VALUE_H

#include "cdc_json.h"
#include "columns.h"

/* How a value is written: the logical types of Kafka Connect and Debezium. */
typedef enum cdc_encoding {
  CDC_PLAIN, /* as its JSON says; no hint */
  CDC_DAYS,  /* since 1970 */
  CDC_SECONDS,
  CDC_MILLIS, /* of the day, or since 1970 */
  CDC_MICROS,
  CDC_NANOS,
  CDC_ISO,      /* a text */
  CDC_DECIMAL,  /* base64 of the unscaled value, big endian */
  CDC_VARIABLE, /* {"scale", "value"} */
  CDC_BITS,     /* base64, little endian */
  CDC_BINARY    /* the feed's way of bytes */
} cdc_encoding;

/* What a schema tells of one field. Texts are borrowed from the schema. */
typedef struct cdc_hint {
  const char *name;
  size_t n_name;
  bool name_has_escapes; /* of JSON */
  cdc_encoding encoding;
  int32_t scale, precision;     /* DECIMAL; precision 0: not told */
  char type[64];                /* the type that a new column gets, as SQL */
  const struct cdc_hint *inner; /* of a list's elements; of a map's keys and values; of fields */
  size_t n_inner;
} cdc_hint;

/* The hint of a field of a struct; NULL: none. *next is where to look first, then behind it. */
const cdc_hint *cdc_hint_find(const cdc_hint *hints, size_t n_hints, const char *name, size_t n,
                              size_t *next);

typedef enum cdc_bytes { CDC_BASE64, CDC_HEX, CDC_LATIN1 } cdc_bytes;
typedef enum cdc_decimals {
  CDC_DECIMALS_GUESS,
  CDC_DECIMALS_TEXT,
  CDC_DECIMALS_BASE64
} cdc_decimals;

/* How a feed writes values where no schema tells. */
typedef struct cdc_style {
  cdc_bytes bytes;
  cdc_encoding times; /* MILLIS, MICROS, NANOS; PLAIN: by the column's digits */
  cdc_decimals decimals;
  const char *zone;    /* of local times for TIMESTAMP_LTZ; NULL: UTC */
  bool bytes_are_told; /* by whoever runs it */
} cdc_style;

typedef struct cdc_values {
  cli_columns *columns;
  const cdc_json *json;
  cdc_style style;
  cli_text scratch, bytes;   /* owned */
  cli_text type;             /* of the caller's, likewise */
  uint32_t bad;              /* the node that was refused */
  bool met_text, met_base64; /* DECIMALs without a schema that can only have been that */
  char minute[17];           /* of the last local time, and its seconds east of Greenwich */
  int offset;
} cdc_values;

void cdc_values_reset(cdc_values *values);

/* Add the value of a node to a column. hint may be NULL. false: refused; columns->expected tells
 * what it should have been. */
bool cdc_add_value(cdc_values *values, cli_column *column, uint32_t node, const cdc_hint *hint);
/* The same of a text that is the number of an ENUM's or SET's value, as Canal logs them: the name.
 * type: the source's, "enum('a','b')". *is_one false: it is no such number, and nothing was done.
 */
bool cdc_add_ordinal(cdc_values *values, cli_column *column, uint32_t node, const char *type,
                     size_t n_type, bool *is_one);
/* The same of bytes that are written one a character, for a column of text: the text that they are.
 */
bool cdc_add_text_of_bytes(cdc_values *values, cli_column *column, uint32_t node);
/* What stands in a NOT NULL column of a deleted row of which only the key is known: 0, "", an empty
 * list. */
bool cdc_add_nothing(cli_columns *columns, cli_column *column);

/* "DECIMAL(10, 2) NOT NULL": the first or second number in the brackets; `otherwise`: it has none.
 */
int32_t cdc_type_number(const cli_column *column, int which, int32_t otherwise);

#endif
