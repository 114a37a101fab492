/* manifest_write.c - the schemas of the files, and records made ready for them. */
#include "model/manifest_write.h"

/* clang-format off */
static const char list_schema[] =
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\","
    "\"fields\":[{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_FILE_NAME\","
    "\"type\":\"string\"},{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},{"
    "\"name\":\"_NUM_ADDED_FILES\",\"type\":\"long\"},{\"name\":\"_NUM_DELETED_FILES\","
    "\"type\":\"long\"},{\"name\":\"_PARTITION_STATS\",\"type\":{\"type\":\"record\","
    "\"name\":\"record__PARTITION_STATS\",\"fields\":[{\"name\":\"_MIN_VALUES\","
    "\"type\":\"bytes\"},{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"},{"
    "\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\","
    "\"long\"]}],\"default\":null}]}},{\"name\":\"_SCHEMA_ID\",\"type\":\"long\"},{"
    "\"name\":\"_MIN_BUCKET\",\"type\":[\"null\",\"int\"],\"default\":null},{"
    "\"name\":\"_MAX_BUCKET\",\"type\":[\"null\",\"int\"],\"default\":null},{"
    "\"name\":\"_MIN_LEVEL\",\"type\":[\"null\",\"int\"],\"default\":null},{"
    "\"name\":\"_MAX_LEVEL\",\"type\":[\"null\",\"int\"],\"default\":null},{"
    "\"name\":\"_MIN_ROW_ID\",\"type\":[\"null\",\"long\"],\"default\":null},{"
    "\"name\":\"_MAX_ROW_ID\",\"type\":[\"null\",\"long\"],\"default\":null}]}";

static const char manifest_schema[] =
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\","
    "\"fields\":[{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_KIND\",\"type\":\"int\"},{"
    "\"name\":\"_PARTITION\",\"type\":\"bytes\"},{\"name\":\"_BUCKET\",\"type\":\"int\"},{"
    "\"name\":\"_TOTAL_BUCKETS\",\"type\":\"int\"},{\"name\":\"_FILE\",\"type\":{"
    "\"type\":\"record\",\"name\":\"record__FILE\",\"fields\":[{\"name\":\"_FILE_NAME\","
    "\"type\":\"string\"},{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},{\"name\":\"_ROW_COUNT\","
    "\"type\":\"long\"},{\"name\":\"_MIN_KEY\",\"type\":\"bytes\"},{\"name\":\"_MAX_KEY\","
    "\"type\":\"bytes\"},{\"name\":\"_KEY_STATS\",\"type\":{\"type\":\"record\","
    "\"name\":\"record__FILE__KEY_STATS\",\"fields\":[{\"name\":\"_MIN_VALUES\","
    "\"type\":\"bytes\"},{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"},{"
    "\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\","
    "\"long\"]}],\"default\":null}]}},{\"name\":\"_VALUE_STATS\",\"type\":{\"type\":\"record\","
    "\"name\":\"record__FILE__VALUE_STATS\",\"fields\":[{\"name\":\"_MIN_VALUES\","
    "\"type\":\"bytes\"},{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"},{"
    "\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\","
    "\"long\"]}],\"default\":null}]}},{\"name\":\"_MIN_SEQUENCE_NUMBER\",\"type\":\"long\"},{"
    "\"name\":\"_MAX_SEQUENCE_NUMBER\",\"type\":\"long\"},{\"name\":\"_SCHEMA_ID\","
    "\"type\":\"long\"},{\"name\":\"_LEVEL\",\"type\":\"int\"},{\"name\":\"_EXTRA_FILES\","
    "\"type\":{\"type\":\"array\",\"items\":\"string\"}},{\"name\":\"_CREATION_TIME\",\"type\":["
    "\"null\",{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}],\"default\":null},{"
    "\"name\":\"_DELETE_ROW_COUNT\",\"type\":[\"null\",\"long\"],\"default\":null},{"
    "\"name\":\"_EMBEDDED_FILE_INDEX\",\"type\":[\"null\",\"bytes\"],\"default\":null},{"
    "\"name\":\"_FILE_SOURCE\",\"type\":[\"null\",\"int\"],\"default\":null},{"
    "\"name\":\"_VALUE_STATS_COLS\",\"type\":[\"null\",{\"type\":\"array\","
    "\"items\":\"string\"}],\"default\":null},{\"name\":\"_EXTERNAL_PATH\",\"type\":[\"null\","
    "\"string\"],\"default\":null},{\"name\":\"_FIRST_ROW_ID\",\"type\":[\"null\",\"long\"],"
    "\"default\":null},{\"name\":\"_WRITE_COLS\",\"type\":[\"null\",{\"type\":\"array\","
    "\"items\":\"string\"}],\"default\":null}]}}]}";

static const char index_schema[] =
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\","
    "\"fields\":[{\"name\":\"_VERSION\",\"type\":\"int\"},{\"name\":\"_KIND\",\"type\":\"int\"},{"
    "\"name\":\"_PARTITION\",\"type\":\"bytes\"},{\"name\":\"_BUCKET\",\"type\":\"int\"},{"
    "\"name\":\"_INDEX_TYPE\",\"type\":\"string\"},{\"name\":\"_FILE_NAME\",\"type\":\"string\"},"
    "{\"name\":\"_FILE_SIZE\",\"type\":\"long\"},{\"name\":\"_ROW_COUNT\",\"type\":\"long\"},{"
    "\"name\":\"_DELETIONS_VECTORS_RANGES\",\"type\":[\"null\",{\"type\":\"array\",\"items\":["
    "\"null\",{\"type\":\"record\",\"name\":\"record__DELETIONS_VECTORS_RANGES\",\"fields\":[{"
    "\"name\":\"f0\",\"type\":\"string\"},{\"name\":\"f1\",\"type\":\"int\"},{\"name\":\"f2\","
    "\"type\":\"int\"},{\"name\":\"_CARDINALITY\",\"type\":[\"null\",\"long\"],"
    "\"default\":null}]}]}],\"default\":null},{\"name\":\"_EXTERNAL_PATH\",\"type\":[\"null\","
    "\"string\"],\"default\":null},{\"name\":\"_GLOBAL_INDEX\",\"type\":[\"null\",{"
    "\"type\":\"record\",\"name\":\"record__GLOBAL_INDEX\",\"fields\":[{"
    "\"name\":\"_ROW_RANGE_START\",\"type\":\"long\"},{\"name\":\"_ROW_RANGE_END\","
    "\"type\":\"long\"},{\"name\":\"_INDEX_FIELD_ID\",\"type\":\"int\"},{"
    "\"name\":\"_EXTRA_FIELD_IDS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":\"int\"}],"
    "\"default\":null},{\"name\":\"_INDEX_META\",\"type\":[\"null\",\"bytes\"],"
    "\"default\":null}]}],\"default\":null}]}";
/* clang-format on */

static const char *const schemas[] = {
    [TN_MANIFEST_LIST] = list_schema,
    [TN_MANIFEST] = manifest_schema,
    [TN_INDEX_MANIFEST] = index_schema,
};

tarn_status tn_manifest_writer_begin(tarn_env *env, const tn_record_writer_ops *ops,
                                     tn_manifest_kind kind, const char *compression,
                                     tn_manifest_writer *writer, tarn_error *err) {
  int32_t n_fields;
  const tn_record_field *fields = tn_manifest_fields(kind, &n_fields);
  memset(writer, 0, sizeof(*writer));
  TN_TRY(ops->create(env, schemas[kind], compression, fields, n_fields, &writer->records, err));
  writer->ops = ops;
  return TARN_OK;
}

static tarn_status add(tn_manifest_writer *writer, const void *record, tarn_error *err) {
  TN_TRY(writer->ops->add(writer->records, record, err));
  writer->n_records++;
  return TARN_OK;
}

/* A row of no columns where there are no statistics. */
static void complete_stats(tn_simple_stats *stats) {
  if (stats->min_values.len == 0 || stats->max_values.len == 0) {
    stats->min_values = stats->max_values = tn_binary_row_empty();
    stats->null_counts = (tn_record_array){NULL, 0};
    stats->has_null_counts = true;
  }
}

tarn_status tn_manifest_writer_add_file(tn_manifest_writer *writer, const tn_manifest_file *record,
                                        tarn_error *err) {
  tn_manifest_file file = *record;
  file.version = TN_MANIFEST_VERSION;
  complete_stats(&file.partition_stats);
  return add(writer, &file, err);
}

tarn_status tn_manifest_writer_add_entry(tn_manifest_writer *writer,
                                         const tn_manifest_entry *record, tarn_error *err) {
  tn_manifest_entry entry = *record;
  entry.version = TN_MANIFEST_VERSION;
  complete_stats(&entry.file.key_stats);
  if (entry.file.value_stats.min_values.len == 0) {
    entry.file.has_value_stats_cols = true; /* of no column, not of all */
    entry.file.value_stats_cols = (tn_record_array){NULL, 0};
  }
  complete_stats(&entry.file.value_stats);
  return add(writer, &entry, err);
}

tarn_status tn_manifest_writer_add_index(tn_manifest_writer *writer, const tn_index_entry *record,
                                         tarn_error *err) {
  tn_index_entry entry = *record;
  entry.version = TN_INDEX_MANIFEST_VERSION;
  if (entry.has_global_index && entry.global_index.has_source_meta) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "index file %.*s has _SOURCE_META of Paimon 2, which would be lost",
                   TN_SLICE_ARG(entry.file_name));
  }
  return add(writer, &entry, err);
}

int64_t tn_manifest_writer_size(const tn_manifest_writer *writer) {
  return writer->ops->size(writer->records);
}

tarn_status tn_manifest_writer_finish(tn_manifest_writer *writer, tn_slice *file, tarn_error *err) {
  return writer->ops->finish(writer->records, file, err);
}

void tn_manifest_writer_end(tn_manifest_writer *writer) {
  if (writer->ops != NULL) {
    writer->ops->free(writer->records);
  }
  memset(writer, 0, sizeof(*writer));
}
