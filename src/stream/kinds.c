/* kinds.c - row kinds of streams, and tables that are refused. */
#include "stream/kinds.h"

#include "base/ascii.h"

/* A yes or no of options that only streams know. */
static bool says_yes(const tn_table *table, const char *key) {
  const char *text = tn_options_get(&table->options, key);
  return text != NULL && tn_slice_is_nocase(tn_slice_text(text), "true");
}

bool tn_stream_monitors_files(const tn_table *table) {
  const char *mode = tn_options_get(&table->options, "stream-scan-mode");
  return mode != NULL && tn_slice_is_nocase(tn_slice_text(mode), "file-monitor");
}

static bool has_nullable_key(const tn_table *table) {
  const tn_schema *schema = table->schema;
  for (int32_t i = 0; i < schema->n_primary_keys; i++) {
    int32_t at =
        tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(schema->primary_keys[i]));
    if (at >= 0 && schema->fields[at].type.is_nullable) {
      return true;
    }
  }
  return false;
}

tarn_status tn_stream_kinds_of(const tn_table *table, tn_stream_kinds *out, tarn_error *err) {
  const tn_table_facts *f = &table->facts;
  if (tn_stream_monitors_files(table)) {
    *out = TN_KINDS_ALL;
  } else if (!f->has_primary_key || f->merge_engine == TN_ENGINE_FIRST_ROW) {
    *out = TN_KINDS_INSERT;
  } else if (says_yes(table, "scan.remove-normalize") ||
             f->changelog_producer != TN_CHANGELOG_NONE) {
    *out = TN_KINDS_ALL;
  } else if (has_nullable_key(table)) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: streaming reads with nullable primary keys require a full changelog: set "
                   "changelog-producer to input, lookup or full-compaction",
                   table->full_name);
  } else {
    *out = TN_KINDS_UPSERT;
  }
  return TARN_OK;
}

static tarn_status check_engine(const tn_table *table, tarn_error *err) {
  static const char *const names[] = {
      [TN_ENGINE_PARTIAL_UPDATE] = "Partial update",
      [TN_ENGINE_AGGREGATION] = "Pre-aggregate",
      [TN_ENGINE_FIRST_ROW] = "First row",
  };
  const tn_table_facts *f = &table->facts;
  if (!f->has_primary_key || f->changelog_producer != TN_CHANGELOG_NONE ||
      f->merge_engine == TN_ENGINE_DEDUPLICATE || tn_stream_monitors_files(table)) {
    return TARN_OK;
  }
  return tn_fail(err, TARN_E_INVALID,
                 "%s: %s streaming reading is not supported. You can use 'lookup' or "
                 "'full-compaction' changelog producer to support streaming reading. ('input' "
                 "changelog producer is also supported, but only returns input records.)",
                 table->full_name, names[f->merge_engine]);
}

tarn_status tn_stream_check(const tn_table *table, tarn_error *err) {
  const tn_options *options = &table->options;
  tn_stream_kinds kinds;
  bool reads_overwrites;
  TN_TRY(check_engine(table, err));
  TN_TRY(tn_options_bool(options, "streaming-read-overwrite", &reads_overwrites, err));
  if (reads_overwrites && !table->facts.has_primary_key) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Doesn't support streaming read the changes from overwrite when the primary "
                   "keys are not defined. Please use streaming-read-append-overwrite to enable the "
                   "streaming read overwrite commit for append table.",
                   table->full_name);
  }
  if (reads_overwrites && (table->facts.changelog_producer == TN_CHANGELOG_LOOKUP ||
                           table->facts.changelog_producer == TN_CHANGELOG_FULL_COMPACTION)) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Cannot set streaming-read-overwrite to true when changelog producer is "
                   "full-compaction or lookup because it will read duplicated changes.",
                   table->full_name);
  }
  if (says_yes(table, "postpone.merge-on-read")) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Option 'postpone.merge-on-read' is only supported for batch reads.",
                   table->full_name);
  }
  if (says_yes(table, "scan.dedicated-split-generation")) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: option 'scan.dedicated-split-generation' is for batch reads only",
                   table->full_name);
  }
  return tn_stream_kinds_of(table, &kinds, err);
}

tarn_status tn_stream_check_consumer(const tn_table *table, tarn_error *err) {
  const tn_options *options = &table->options;
  if (tn_options_get(options, "consumer-id") != NULL &&
      tn_options_get(options, "consumer.expiration-time") == NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: You need to configure 'consumer.expiration-time' (ALTER TABLE) and restart "
                   "your write job for it to take effect, when you need consumer-id feature. This "
                   "is to prevent consumers from leaving too many snapshots that could pose a risk "
                   "to the file system.",
                   table->full_name);
  }
  return TARN_OK;
}
