/* changes.h - the rows of a stream as records of a change feed: Debezium's and Canal's JSON.
 *
 * One record a line, without a schema envelope, as Flink's debezium-json and canal-json read it. A
 * -U waits for the +U of its key, which comes right behind it in a complete changelog, and both are
 * one record then; without it the -U is a deletion. Rules: docs/cli.md, "Change feeds out".
 *
 * Values are those of `table write --cdc`, read back without loss: DECIMAL as a string, TIMESTAMP
 * as 2024-02-29 12:34:56.123 (with Z where it is an instant), bytes in base64 (Debezium) or as
 * characters up to U+00FF (Canal), a MAP with texts as keys as an object, VARIANT as its JSON text
 * in a string.
 */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include "cell.h"

typedef enum cli_changes_kind { CLI_CHANGES_DEBEZIUM, CLI_CHANGES_CANAL } cli_changes_kind;

typedef struct cli_changes cli_changes; /* one thread */

/* cells: the row kind first, then the snapshot, then columns; borrowed, and their JSON is changed
 * to that of the feed. facts: what tarn_table_describe() tells of the table (n bytes). out:
 * cli_changes_free(). Errors: TARN_E_NOMEM. */
tarn_status cli_changes_create(cli_cells *cells, cli_changes_kind kind, const char *facts, size_t n,
                               cli_changes **out, tarn_error *err);
void cli_changes_free(cli_changes *changes); /* accepts NULL */

/* Rows come now that were made at made_ms (since 1970; negative: not known). */
void cli_changes_begin(cli_changes *changes, int64_t made_ms);
/* Add the records of a row of the bound batch: none, one or two. */
void cli_changes_add(cli_changes *changes, int64_t row, cli_text *out);
/* What waits will wait in vain. */
void cli_changes_end(cli_changes *changes, cli_text *out);
/* Does a -U wait? */
bool cli_changes_waits(const cli_changes *changes);
int64_t cli_changes_count(const cli_changes *changes); /* records so far */

#endif
