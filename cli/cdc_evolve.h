/* cdc_evolve.h - the types that columns get, or widen to, when a feed's schema has changed. */
#ifndef CLI_CDC_EVOLVE_H
#define CLI_CDC_EVOLVE_H

#include "cdc.h"

/* The type of a new column, as SQL: from the feed's schema, else from the source's own type (a
 * node, or CDC_NONE), else from the value. false: nothing tells it (null). */
bool cdc_new_type(const cdc_json *json, uint32_t value, const cdc_hint *hint, uint32_t type,
                  char *out, size_t size);
/* Are the values of a type of MySQL's bytes rather than text? BLOBs, BINARY, geometries, BIT(n). */
bool cdc_mysql_is_bytes(const char *type, size_t n);
/* The type that a column must widen to for a value that it has refused; false: none, or none that
 * Paimon changes a column to by itself. Rule: UpdatedDataFieldsProcessFunctionBase. */
bool cdc_wider_type(const cdc_json *json, uint32_t value, const cdc_hint *hint,
                    const cli_column *column, char *out, size_t size);

#endif
