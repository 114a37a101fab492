/* table.h - catalogs and tables.
 *
 * Handles are immutable after opening and may be used by many threads. Each is freed by its owner;
 * the order does not matter, but the environment comes last.
 */
#ifndef TARN_TABLE_H
#define TARN_TABLE_H

#include "tarn/arrow.h"
#include "tarn/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One key and value; both NUL-terminated UTF-8, borrowed for the call. */
typedef struct tarn_option {
  const char *key;
  const char *value;
} tarn_option;

/* Text made by the library. */
typedef struct tarn_string {
  const char *data; /* NUL-terminated */
  size_t length;
  void *owner;
} tarn_string;
TARN_EXPORT void tarn_string_free(tarn_string *string); /* accepts one that is all zero */

/* A list of names, sorted. */
typedef struct tarn_names {
  const char *const *items;
  size_t count;
  void *owner;
} tarn_names;
TARN_EXPORT void tarn_names_free(tarn_names *names); /* accepts one that is all zero */

/* ------------------------------------------------------------------ catalog */

typedef struct tarn_catalog tarn_catalog;

/* A warehouse on a file system: a folder or a "file:" URI. Rule: FileSystemCatalog.
 *
 * out    owned by the caller: tarn_catalog_free()
 * Errors: TARN_E_NOT_FOUND (no such folder), TARN_E_UNSUPPORTED (another scheme, by name).
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_catalog_open(tarn_env *env, const char *warehouse,
                                                       tarn_catalog **out, tarn_error *err);
/* The same from the options of a catalog, as Paimon has them: "warehouse" is needed; "metastore"
 * may be "filesystem"; "catalog-options-table.enabled"="true" shows all of them as the table
 * sys.catalog_options. Others are kept and not looked at.
 * Errors: also TARN_E_INVALID (no warehouse). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_catalog_open_options(tarn_env *env,
                                                               const tarn_option *options,
                                                               size_t n_options, tarn_catalog **out,
                                                               tarn_error *err);
TARN_EXPORT void tarn_catalog_free(tarn_catalog *catalog);

/* Names of databases, and of the tables of one. The database "sys" (see tarn_table_open) is not
 * listed, but its tables are. out: tarn_names_free().
 * Errors: TARN_E_NOT_FOUND (database), TARN_E_IO. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_catalog_list_databases(tarn_catalog *catalog,
                                                                 tarn_names *out, tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_catalog_list_tables(tarn_catalog *catalog,
                                                              const char *database, tarn_names *out,
                                                              tarn_error *err);

/* ------------------------------------------------------------------ table */

typedef struct tarn_table tarn_table;

/* Open a table.
 *
 * System tables tell about a table: "db.t$snapshots" or, of a branch, "db.t$branch_b$snapshots", in
 * letters of any case:
 *
 *   aggregation_fields  options of columns of aggregation     options          stored options
 *   audit_log           rows with their kinds, deletes too    partitions       partitions
 *   binlog              as audit_log, values as arrays        ro               the compacted rows
 *   branches            branches                              row_tracking     rows with row ids
 *   buckets             buckets                               schemas          schemas
 *   consumers           consumers and where they stand        snapshots        snapshots
 *   file_key_ranges     data files, shorter                   statistics       of the last ANALYZE
 *   files               data files                            table_indexes    index files
 *   manifests           manifests                             tags             tags
 *
 * and those of the database "sys" about all tables of a catalog: sys.tables, sys.partitions,
 * sys.all_table_options and, if the catalog allows it, sys.catalog_options.
 *
 * catalog    may be NULL when `name` is a path
 * name       "db.t", "db.t$branch_b", a system table, or the path of a table's folder
 * options    dynamic options over the stored ones (scan.*, read.*): see docs/options.md. A travel
 *            option (scan.snapshot-id, scan.tag-name ...) also switches the schema to that
 *            snapshot's
 * out        owned by the caller: tarn_table_free()
 * Errors: TARN_E_NOT_FOUND (database, table, branch, system table; names what is near),
 *         TARN_E_INVALID (a value that does not parse, options that contradict each other),
 *         TARN_E_UNSUPPORTED (a table kind, option or type, by name), TARN_E_CORRUPT, TARN_E_IO.
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_open(tarn_env *env, tarn_catalog *catalog,
                                                     const char *name, const tarn_option *options,
                                                     size_t n_options, tarn_table **out,
                                                     tarn_error *err);
TARN_EXPORT void tarn_table_free(tarn_table *table);

/* The columns as an Arrow schema (struct). out->release is the caller's to call. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_schema(tarn_table *table, struct ArrowSchema *out,
                                                       tarn_error *err);

/* Facts as one JSON object: name, system table, path, branch, comment, fields (id, name, type,
 * description, default), partition keys, primary keys, options, schema id, latest snapshot. out:
 * tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_describe(tarn_table *table, tarn_string *out,
                                                         tarn_error *err);

/* Known table options, for tools; texts live as long as the library. */
typedef struct tarn_option_info {
  const char *key;
  const char *type; /* "Boolean", "Integer", "Long", "Double", "MemorySize", "Duration", ... */
  const char *default_value; /* NULL: none */
  const char *doc;
} tarn_option_info;
TARN_EXPORT size_t tarn_option_info_count(void);
/* TARN_E_NOT_FOUND past the end. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_option_info_get(size_t i, tarn_option_info *out);
/* The known option nearest to a key that is not known; NULL: none is near. The key itself when it
 * is known. */
TARN_EXPORT const char *tarn_option_nearest(const char *key);

#ifdef __cplusplus
}
#endif
#endif
