/* options.c - compaction's options read from a table, with Java's defaults and bounds.
 */
#include "compact/options.h"

#include "column/number_text.h"

/* ------------------------------------------------------------------ numbers */

/* v + n, or the largest number. */
static int32_t add_safely(int32_t v, int32_t n) {
  return v > INT32_MAX - n ? INT32_MAX : v + n;
}

static int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* An option of type Integer. */
static tarn_status read_int(const tn_options *options, const char *key, int32_t fallback,
                            int32_t *out, tarn_error *err) {
  int64_t v;
  bool is_set;
  TN_TRY(tn_options_int(options, key, &v, &is_set, err));
  *out = is_set || v != 0 ? (int32_t)v : fallback;
  return TARN_OK;
}

/* An option of type Double; without it `fallback`. */
static tarn_status read_double(const tn_options *options, const char *key, double fallback,
                               double *out, tarn_error *err) {
  const char *text = tn_options_get(options, key);
  *out = fallback;
  if (text != NULL && !tn_double_from_text(tn_slice_text(text), out)) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s' as a number", key, text);
  }
  return TARN_OK;
}

static int64_t share_of(int64_t bytes, double ratio) {
  double v = (double)bytes * ratio;
  if (!(v > 0)) {
    return 0;
  }
  return v < 9223372036854775807.0 ? (int64_t)v : INT64_MAX;
}

/* ------------------------------------------------------------------ parts */

static tarn_status read_tree(const tn_table *table, tn_compact_options *o, tarn_error *err) {
  const tn_options *options = &table->options;
  tn_off_peak *off = &o->off_peak;
  bool overrides;
  TN_TRY(read_int(options, "num-sorted-run.compaction-trigger", 0, &o->trigger, err));
  TN_TRY(read_int(options, "num-sorted-run.stop-trigger", add_safely(o->trigger, 3),
                  &o->stop_trigger, err));
  TN_TRY(read_int(options, "num-levels", add_safely(o->trigger, 1), &o->num_levels, err));
  TN_TRY(read_int(options, "compaction.size-ratio", 0, &o->size_ratio, err));
  TN_TRY(read_int(options, "compaction.max-size-amplification-percent", 0, &o->size_amplification,
                  err));
  TN_TRY(read_int(options, "compaction.offpeak.start.hour", 0, &off->start_hour, err));
  TN_TRY(read_int(options, "compaction.offpeak.end.hour", 0, &off->end_hour, err));
  TN_TRY(read_int(options, "compaction.offpeak-ratio", 0, &off->ratio, err));
  TN_TRY(tn_options_bool(options, "pk-clustering-override", &overrides, err));
  o->stop_trigger = larger(o->stop_trigger, o->trigger);
  o->checks_overlap = !overrides;
  if (table->facts.has_primary_key && o->num_levels < 2) {
    return tn_fail(err, TARN_E_INVALID, "Number of levels must be at least 2.");
  }
  return TARN_OK;
}

static tarn_status read_early_full(const tn_options *options, tn_compact_options *o,
                                   tarn_error *err) {
  TN_TRY(tn_options_int(options, "compaction.optimization-interval", &o->optimization_interval_ms,
                        &o->has_optimization_interval, err));
  TN_TRY(tn_options_int(options, "compaction.total-size-threshold", &o->total_size_threshold,
                        &o->has_total_size_threshold, err));
  return tn_options_int(options, "compaction.incremental-size-threshold",
                        &o->incremental_size_threshold, &o->has_incremental_size_threshold, err);
}

static tarn_status read_lookup(const tn_table *table, tn_compact_options *o, tarn_error *err) {
  const tn_options *options = &table->options;
  int32_t mode, twice = o->trigger > INT32_MAX / 2 ? INT32_MAX : o->trigger * 2;
  TN_TRY(tn_options_bool(options, "compaction.force-up-level-0", &o->force_up_level_0, err));
  TN_TRY(tn_options_enum(options, "lookup-compact", &mode, err));
  TN_TRY(read_int(options, "lookup-compact.max-interval", twice, &o->lookup_max_interval, err));
  TN_TRY(tn_options_bool(options, "lookup-wait", &o->lookup_wait, err));
  o->needs_lookup = table->facts.needs_lookup;
  o->deletion_vectors = table->facts.deletion_vectors;
  o->force_up_level_0 = o->force_up_level_0 || o->needs_lookup;
  o->lookup_compact =
      o->needs_lookup && mode == 1 ? TN_LOOKUP_COMPACT_GENTLE : TN_LOOKUP_COMPACT_RADICAL;
  o->lookup_max_interval = larger(o->lookup_max_interval, o->trigger);
  return TARN_OK;
}

static tarn_status read_files(const tn_table *table, tn_compact_options *o, tarn_error *err) {
  static const char ratio_key[] = "compaction.small-file-ratio";
  const tn_options *options = &table->options;
  double ratio;
  bool is_set;
  TN_TRY(tn_options_int(options, "target-file-size", &o->target_file_bytes, &is_set, err));
  if (!is_set) {
    o->target_file_bytes = (table->facts.has_primary_key ? (int64_t)128 : 256) << 20;
  }
  TN_TRY(read_double(options, ratio_key, 0.7, &ratio, err));
  o->small_file_bytes = tn_options_get(options, ratio_key) != NULL
                            ? share_of(o->target_file_bytes, ratio)
                            : o->target_file_bytes / 10 * 7; /* 1.4.2 */
  TN_TRY(tn_options_bool(options, "compaction.force-rewrite-all-files", &o->force_rewrite_all_files,
                         err));
  TN_TRY(read_int(options, "sort-spill-threshold", add_safely(o->stop_trigger, 1),
                  &o->sort_spill_threshold, err));
  TN_TRY(tn_options_bool(options, "write-only", &o->write_only, err));
  if (table->facts.has_primary_key && o->sort_spill_threshold < 2) {
    return tn_fail(err, TARN_E_INVALID, "The sort spill threshold cannot be smaller than 2.");
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ columns */

/* Names that options use are those of table->named_by. *field may be NULL, when none has the name;
 * *column is -1 when the effective schema lacks it. */
static void find_column(const tn_table *table, tn_slice name, const tn_field **field,
                        int32_t *column) {
  const tn_schema *names = table->named_by, *schema = table->schema;
  int32_t i = tn_fields_find(names->fields, names->n_fields, name);
  *field = i >= 0 ? &names->fields[i] : NULL;
  *column = i >= 0 ? tn_fields_find_id(schema->fields, schema->n_fields, names->fields[i].id) : -1;
}

static tarn_status read_changelog(const tn_table *table, tn_arena *arena, tn_compact_options *o,
                                  tarn_error *err) {
  const tn_options *options = &table->options;
  const char *list = tn_options_get(options, "changelog-producer.row-deduplicate-ignore-fields");
  size_t room = 1;
  o->changelog_producer = table->facts.changelog_producer;
  TN_TRY(read_int(options, "full-compaction.delta-commits", 0, &o->delta_commits, err));
  TN_TRY(tn_options_bool(options, "changelog-producer.row-deduplicate", &o->row_deduplicate, err));
  for (const char *at = list; at != NULL && *at != '\0'; at++) {
    room += *at == ',';
  }
  o->ignored_columns = tn_arena_calloc(arena, room, sizeof(int32_t));
  if (o->ignored_columns == NULL) {
    return tn_oom(err);
  }
  /* Names are not trimmed, and one that is no column ignores nothing, as in Java. */
  for (const char *at = list; at != NULL;) {
    const char *comma = strchr(at, ',');
    const tn_field *field;
    int32_t column;
    find_column(table, tn_slice_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at)), &field,
                &column);
    if (column >= 0) {
      o->ignored_columns[o->n_ignored_columns++] = column;
    }
    at = comma != NULL ? comma + 1 : NULL;
  }
  return TARN_OK;
}

static tarn_status read_expiry(const tn_table *table, tn_compact_options *o, tarn_error *err) {
  const char *name = tn_options_get(&table->options, "record-level.time-field");
  const tn_field *field;
  int64_t expire_ms;
  TN_TRY(tn_options_int(&table->options, "record-level.expire-time", &expire_ms,
                        &o->has_record_expiry, err));
  o->time_column = -1;
  if (!o->has_record_expiry) {
    return TARN_OK;
  }
  o->expire_seconds = expire_ms / 1000;
  if (name == NULL) {
    return tn_fail(err, TARN_E_INVALID, "You should set time field for record-level expire.");
  }
  find_column(table, tn_slice_text(name), &field, &o->time_column);
  if (field == NULL) {
    return tn_fail(err, TARN_E_INVALID, "Can not find time field %s for record level expire.",
                   name);
  }
  if (o->time_column < 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "option 'record-level.time-field' names '%s', which schema %lld does not have",
                   name, (long long)table->schema->id);
  }
  field = &table->schema->fields[o->time_column];
  switch (field->type.root) {
    case TN_INT:
      o->time_unit = TN_EXPIRY_SECONDS;
      return TARN_OK;
    case TN_BIGINT:
      o->time_unit = TN_EXPIRY_BY_SIZE;
      return TARN_OK;
    case TN_TIMESTAMP:
      o->time_unit = TN_EXPIRY_TIMESTAMP;
      return TARN_OK;
    case TN_TIMESTAMP_LTZ:
      o->time_unit = TN_EXPIRY_TIMESTAMP_LTZ;
      return TARN_OK;
    default:
      return tn_fail(err, TARN_E_INVALID,
                     "The record level time field type should be one of INT, BIGINT, or "
                     "TIMESTAMP, but field type is %s%s.",
                     tn_type_text_of(&field->type).text,
                     field->type.is_nullable ? "" : " NOT NULL");
  }
}

static tarn_status read_append(const tn_table *table, tn_compact_options *o, tarn_error *err) {
  const tn_options *options = &table->options;
  TN_TRY(read_int(options, "compaction.min.file-num", 0, &o->append_min_files, err));
  TN_TRY(read_int(options, "compaction.file-num-limit", 0, &o->file_num_limit, err));
  TN_TRY(read_double(options, "compaction.delete-ratio-threshold", 0.2, &o->delete_ratio, err));
  o->open_file_bytes = table->facts.split_open_cost_bytes;
  return tn_options_bool(options, "bucket-append-ordered", &o->append_is_ordered, err);
}

/* ------------------------------------------------------------------ the whole */

tarn_status tn_compact_check_cache(const tn_table *table, tarn_error *err) {
  double ratio;
  TN_TRY(read_double(&table->options, "lookup.cache.high-priority-pool-ratio", 0.25, &ratio, err));
  return !table->facts.has_primary_key || (ratio >= 0 && ratio < 1)
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "The high priority pool ratio should in the range [0, 1).");
}

tarn_status tn_compact_options_read(const tn_table *table, tn_arena *arena, tn_compact_options *out,
                                    tarn_error *err) {
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_compact_check_cache(table, err));
  TN_TRY(read_tree(table, out, err));
  TN_TRY(read_early_full(&table->options, out, err));
  TN_TRY(read_lookup(table, out, err));
  TN_TRY(read_files(table, out, err));
  TN_TRY(read_changelog(table, arena, out, err));
  TN_TRY(read_expiry(table, out, err));
  return read_append(table, out, err);
}

int64_t tn_compact_size_ratio(const tn_compact_options *options, int32_t local_hour) {
  const tn_off_peak *off = &options->off_peak;
  bool is_in;
  if (off->start_hour == -1 || off->end_hour == -1 || off->start_hour == off->end_hour) {
    is_in = false;
  } else if (off->start_hour <= off->end_hour) {
    is_in = off->start_hour <= local_hour && local_hour < off->end_hour;
  } else {
    is_in = local_hour < off->end_hour || local_hour >= off->start_hour;
  }
  return (int64_t)options->size_ratio + (is_in ? off->ratio : 0);
}
