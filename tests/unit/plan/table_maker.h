/* table_maker.h - small tables in memory: schemas, snapshots, manifests, written piece by piece.
 *
 * Everything fails through cmocka. Paths begin with "/t". Manifests are Avro without compression,
 * in the field order of Paimon 1.4.2, or of 1.0.1 on request.
 */
#ifndef TN_TESTS_UNIT_PLAN_TABLE_MAKER_H
#define TN_TESTS_UNIT_PLAN_TABLE_MAKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/manifest.h"
#include "model/table.h"
#include "plan/plan.h"

#define OK(expr)                                                          \
  do {                                                                    \
    tarn_error ok_err_ = {0};                                             \
    tarn_error *err = &ok_err_;                                           \
    if ((expr) != TARN_OK) {                                              \
      fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #expr, err->message); \
    }                                                                     \
  } while (0)

typedef struct table_maker {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  const char *branch_path; /* "/t" */
  bool is_old;             /* manifests as Paimon 1.0.1 writes them */
  int n_files;
  tn_schema *schema; /* the last one that was added */
  tn_schema *schemas[8];
  int n_schemas;
} table_maker;

void tm_begin(table_maker *tm, int32_t threads);
void tm_begin_in(table_maker *tm, tarn_env *env); /* an environment that is not freed */
void tm_end(table_maker *tm);

/* A schema from its parts: fields "0 a INT NOT NULL|1 b STRING", keys "a,b" or "", options
 * "bucket=1;merge-engine=first-row". */
tn_schema *tm_schema(table_maker *tm, int64_t id, const char *fields, const char *partition_keys,
                     const char *primary_keys, const char *options);
/* The table of the last schema, with dynamic options as above. */
tn_table *tm_table(table_maker *tm, const char *dynamic);

/* A binary row with its arity: types "INT|STRING", values "1|abc"; null is a null. */
tn_slice tm_row(table_maker *tm, const char *types, const char *values);
/* A list of texts "a,b" (NULL: none), of longs "1,null". */
tn_record_array tm_texts(table_maker *tm, const char *texts);
tn_record_array tm_longs(table_maker *tm, const char *longs);
tn_slice tm_text(const char *text);

/* An ADD entry of an unpartitioned append table; change what else it should be. */
tn_manifest_entry tm_entry(const char *name, int64_t rows);
/* The same with an INT partition column, bucket 0. */
tn_manifest_entry tm_entry_in(table_maker *tm, int32_t partition, const char *name, int64_t rows);
/* An entry of a table with one INT key column. */
tn_manifest_entry tm_entry_keyed(table_maker *tm, const char *name, int32_t level, int32_t min,
                                 int32_t max);
tn_manifest_entry tm_deleted(tn_manifest_entry entry);

/* A manifest; the record for its list, with counts and ranges, without partition statistics. */
tn_manifest_file tm_manifest(table_maker *tm, const tn_manifest_entry *entries, int n);
const char *tm_list(table_maker *tm, const tn_manifest_file *manifests, int n);
const char *tm_index(table_maker *tm, const tn_index_entry *entries, int n);

typedef struct tm_snapshot_parts {
  int64_t id, schema_id, time_ms;
  const char *base, *delta, *index, *changelog;
  tn_commit_kind kind;
  int64_t identifier; /* of the commit */
  bool has_watermark;
  int64_t watermark;
} tm_snapshot_parts;
void tm_snapshot(table_maker *tm, const tm_snapshot_parts *parts);
/* The same bytes as a tag. */
void tm_tag(table_maker *tm, const char *name, const tm_snapshot_parts *parts);
/* Any file below the branch path. */
void tm_put(table_maker *tm, const char *name, const char *text);
/* Snapshot `id` of time id * 100, with one manifest of these entries in its delta list. */
void tm_commit(table_maker *tm, int64_t id, const tn_manifest_entry *entries, int n);

/* A file as a text of the arena. */
const char *tm_content(table_maker *tm, const char *path);
const tn_pred *tm_where(table_maker *tm, const tn_table *table, const char *where);

/* A plan as text: one split after the other, "p1/b0[a b]raw(3) ...": partition text, bucket, files,
 * raw, row count ("?" unknown). Splits of two states are "[a -> b]", those of changes have a "~"
 * behind the bracket, those of a fallback branch a "!" in front. */
const char *tm_plan_text(table_maker *tm, const tn_plan *plan);
/* Plan and give its text; NULL where: all rows. */
const char *tm_plan(table_maker *tm, tn_table *table, const char *where, int64_t limit);
tarn_status tm_plan_status(table_maker *tm, tn_table *table, tarn_error *err);

#endif
