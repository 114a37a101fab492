/* admin.h - creating, changing and maintaining: databases, tables, tags, branches, consumers,
 * snapshots.
 *
 * Every call is one change that either happened or not. Two that change one schema at once: one
 * wins, the other gets TARN_E_CONFLICT.
 */
#ifndef TARN_ADMIN_H
#define TARN_ADMIN_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ databases, tables */

/* Errors: TARN_E_EXISTS, TARN_E_INVALID (a name that no folder can have; "sys"). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_database_create(tarn_catalog *catalog, const char *name,
                                                          tarn_error *err);
/* cascade: 0: only when it has no tables (else TARN_E_INVALID). Errors: also TARN_E_NOT_FOUND. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_database_drop(tarn_catalog *catalog, const char *name,
                                                        int32_t cascade, tarn_error *err);
/* Change properties of a database: each one is set, or removed when its value is NULL. Errors:
 * TARN_E_UNSUPPORTED unless n is 0: a catalog on a file system keeps no properties, and Java's
 * refuses the change, too; TARN_E_INVALID ("sys"). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_database_alter(tarn_catalog *catalog, const char *name,
                                                         const tarn_option *changes, size_t n,
                                                         tarn_error *err);

/* Create a table: schema 0. schema_json: {"fields": [{"name", "type", "description", "default"}],
 * "primaryKeys": [], "partitionKeys": [], "options": {}, "comment"}, types as SQL texts
 * (docs/cli.md, "table create").
 * Errors: TARN_E_EXISTS, TARN_E_NOT_FOUND (database), TARN_E_INVALID (each rule of Java's
 * SchemaValidation, in its words), TARN_E_UNSUPPORTED (a kind or option of table, by name). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_create(tarn_catalog *catalog, const char *name,
                                                       const char *schema_json, tarn_error *err);
/* The schema_json that has the columns of an Arrow schema. out: tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_schema_from_arrow(
    tarn_env *env, const struct ArrowSchema *schema, const char *const *primary_keys,
    size_t n_primary_keys, const char *const *partition_keys, size_t n_partition_keys,
    const tarn_option *options, size_t n_options, tarn_string *out, tarn_error *err);
/* Apply a list of changes, in order, as one new schema. changes_json: [{"add": "c", "type": "INT",
 * "comment": "..", "first": true | "last": true | "after": "a" | "before": "a"}, {"drop": "c"},
 * {"rename": "a", "to": "b"}, {"retype": "a", "type": "BIGINT"}, {"nullable": "a", "value": true},
 * {"move": "a", "first": true | ...}, {"describe": "a", "comment": ".."}, {"default": "a", "value":
 * "5"}, {"set": "option", "value": ".."}, {"reset": "option"}, {"table_comment": ".."},
 * {"drop_primary_key": true}]; null takes a comment or default away. Nested columns are dotted:
 * "r.x" in a ROW, "a.element.k" in an ARRAY, "m.value.q" in a MAP; where a name itself has a dot, a
 * list of names stands for it: ["r", "x.y"]. Keys and options that name a column follow when it is
 * renamed. The table's handles that are open keep the schema they have. name: also
 * "db.t$branch_b". schema_id (may be NULL): of the new schema.
 * Errors: TARN_E_INVALID (a change that is not allowed, in Java's words), TARN_E_NOT_FOUND (table,
 * column), TARN_E_EXISTS (column), TARN_E_CONFLICT. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_alter(tarn_catalog *catalog, const char *name,
                                                      const char *changes_json, int64_t *schema_id,
                                                      tarn_error *err);
/* Errors: TARN_E_NOT_FOUND, TARN_E_EXISTS, TARN_E_INVALID (a branch; a name as above). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_rename(tarn_catalog *catalog, const char *from,
                                                       const char *to, tarn_error *err);
/* The table with its branches is gone at once; then its folder is deleted. Files outside of it
 * (data-file.external-paths) stay: a warning in the log names them. Errors: TARN_E_NOT_FOUND,
 * TARN_E_INVALID (a branch). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_drop(tarn_catalog *catalog, const char *name,
                                                     tarn_error *err);

/* ------------------------------------------------------------------ tags, branches, consumers
 *
 * They belong to the branch that the handle has open. Names must not have a '/'. Errors of all:
 * TARN_E_INVALID (a name that cannot be; a system table), TARN_E_IO. */

/* snapshot_id 0: the latest; one that has expired can be taken from another tag of it.
 * retained_ms: how long it stays; negative: tag.default-time-retained.
 * Errors: TARN_E_EXISTS, TARN_E_NOT_FOUND (the snapshot), TARN_E_EXPIRED (it expires just now). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_tag_create(tarn_table *table, const char *name,
                                                     int64_t snapshot_id, int64_t retained_ms,
                                                     tarn_error *err);
/* Removes the files that only the tag kept. Errors: TARN_E_NOT_FOUND. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_tag_delete(tarn_table *table, const char *name,
                                                     tarn_error *err);
/* Errors: TARN_E_NOT_FOUND, TARN_E_EXISTS. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_tag_rename(tarn_table *table, const char *from,
                                                     const char *to, tarn_error *err);
/* Delete tags that are older than they were to be retained. n_expired may be NULL. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_tags_expire(tarn_table *table, int64_t *n_expired,
                                                      tarn_error *err);

/* tag NULL: an empty branch with the schemas of the table. Errors: TARN_E_EXISTS, TARN_E_NOT_FOUND
 * (the tag). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_branch_create(tarn_table *table, const char *name,
                                                        const char *tag, tarn_error *err);
/* Data that only the branch has stays behind as files without owner. Errors: TARN_E_NOT_FOUND. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_branch_delete(tarn_table *table, const char *name,
                                                        tarn_error *err);
/* Errors: TARN_E_NOT_FOUND, TARN_E_EXISTS. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_branch_rename(tarn_table *table, const char *from,
                                                        const char *to, tarn_error *err);
/* The table becomes what the branch is. If that fails midway, it has an older state, and the same
 * call completes it. Errors: TARN_E_NOT_FOUND, TARN_E_STATE (the branch has no snapshot). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_branch_fast_forward(tarn_table *table, const char *name,
                                                              tarn_error *err);

/* Set where a consumer stands: it keeps this snapshot and those behind it. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_consumer_set(tarn_table *table, const char *id,
                                                       int64_t next_snapshot, tarn_error *err);
/* Errors: TARN_E_NOT_FOUND. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_consumer_delete(tarn_table *table, const char *id,
                                                          tarn_error *err);
/* Delete consumers whose whole id matches `including` (NULL: all) and not `excluding` (NULL: none):
 * POSIX extended regular expressions. n_deleted may be NULL. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_consumers_clear(tarn_table *table, const char *including,
                                                          const char *excluding, int64_t *n_deleted,
                                                          tarn_error *err);

/* ------------------------------------------------------------------ snapshots */

typedef struct tarn_expire_options {
  size_t struct_size;
  int32_t retain_max, retain_min; /* 0: the table's options */
  int64_t older_than_ms;          /* expire what is older; 0: snapshot.time-retained ago */
  int32_t max_deletes;            /* 0: snapshot.expire.limit */
  int32_t dry_run;                /* 1: only count */
  tarn_cancel *cancel;            /* NULL: none */
} tarn_expire_options;
#define TARN_EXPIRE_OPTIONS_INIT {sizeof(tarn_expire_options), 0, 0, 0, 0, 0, 0}

/* Expire snapshots, and long-lived changelogs where there are some; what tags, branches and
 * consumers need stays. options may be NULL. n_expired (may be NULL): snapshots. A run that fails
 * midway is completed by the next one.
 * Errors: TARN_E_INVALID (retain_max below retain_min), TARN_E_CANCELLED, TARN_E_IO, and those of
 * reading what a tag or branch needs: nothing expires then. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_expire(tarn_table *table,
                                                       const tarn_expire_options *options,
                                                       int64_t *n_expired, tarn_error *err);
/* Make an earlier snapshot the latest; newer snapshots, changelogs and tags go. An id that has
 * expired comes back from a tag of it. Errors: TARN_E_NOT_FOUND, TARN_E_EXPIRED (its expiry has
 * begun, and no tag keeps it: nothing was changed). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_rollback(tarn_table *table, int64_t snapshot_id,
                                                         tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_rollback_to_tag(tarn_table *table, const char *tag,
                                                                tarn_error *err);
/* To the newest snapshot of that time (milliseconds since 1970) or before. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_rollback_to_time(tarn_table *table, int64_t time_ms,
                                                                 tarn_error *err);

/* ------------------------------------------------------------------ partitions */

/* Drop the partitions that have expired by the table's options (partition.expiration-time and
 * others), whenever they were looked at last, by commits of this user and identifier. commit_user
 * NULL: made up. n_expired may be NULL. Errors: TARN_E_INVALID (no expiration time; a formatter
 * that is not understood), those of committing. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_partitions_expire(tarn_table *table,
                                                            const char *commit_user,
                                                            int64_t identifier, int64_t *n_expired,
                                                            tarn_error *err);
/* Say that a partition is complete, as partition.mark-done-action asks: its folder gets a file
 * _SUCCESS. partition: the values of all partition columns as texts, in any order.
 * Errors: TARN_E_INVALID (a column that is missing or is none, a value), TARN_E_UNSUPPORTED (an
 * action by name). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_partition_mark_done(tarn_table *table,
                                                              const tarn_option *partition,
                                                              size_t n, tarn_error *err);

/* ------------------------------------------------------------------ fsck */

typedef struct tarn_fsck_options {
  size_t struct_size;
  int32_t deep; /* 1: read the rows of all live files and compare them with the metadata */
  /* Files that nothing names and that were modified since (milliseconds since 1970) are faults: for
   * who knows when the writers began that have ended. 0: they are only counted; negative: a time
   * before 1970. */
  int64_t left_since_ms;
  tarn_cancel *cancel; /* NULL: none */
} tarn_fsck_options;
#define TARN_FSCK_OPTIONS_INIT {sizeof(tarn_fsck_options), 0, 0, 0}

/* Check that all that the table and its branches name exists and agrees. out: one JSON object a
 * line, a fault each ({"fault", "path", "detail"}), then one that sums up ({"snapshots", "files",
 * "bytes", "unreachable", "unread" (of a format that cannot be read), "faults"});
 * tarn_string_free(). A table with faults is no error of the call: n_faults (may be NULL) tells.
 * The table should not be changed meanwhile. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_fsck(tarn_table *table,
                                                     const tarn_fsck_options *options,
                                                     int64_t *n_faults, tarn_string *out,
                                                     tarn_error *err);

#ifdef __cplusplus
}
#endif
#endif
