/* writer.c - Arrow batches in, messages out. */
#include <stdio.h>

#include "api/write_handles.h"
#include "base/nearest.h"
#include "column/arrow_import.h"

/* Rows that are taken out of an array at once: their copies fit the caches of the machine. */
#define CHUNK_ROWS 16384
#define DEFAULT_KIND_NAME "_row_kind"

struct tarn_writer {
  tarn_env *env;
  tn_write *write;
  char *user, *kind_name;
  tarn_cancel *cancel;
  int64_t last_identifier;
  bool has_prepared;
};

tn_write *tn_api_writer_write(tarn_writer *writer) {
  return writer->write;
}

/* ------------------------------------------------------------------ life */

tarn_status tn_api_written_table(tarn_table *table, tn_table **out, tarn_error *err) {
  if (table->system != NULL) {
    return tn_fail(err, TARN_E_INVALID, "%s: system tables cannot be written",
                   table->system->full_name);
  }
  *out = table->table;
  return TARN_OK;
}

tarn_status tn_api_commit_user(const tn_table *table, const char *given, char **out,
                               tarn_error *err) {
  tarn_env *env = table->env;
  const char *prefix = tn_options_get(&table->options, "commit.user-prefix");
  char uuid[TN_UUID_CHARS + 1];
  size_t size;
  *out = NULL;
  if (given != NULL) {
    *out = tn_strdup(&env->mem, given);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  TN_TRY(tn_env_uuid(env, uuid, err));
  size = sizeof(uuid) + (prefix != NULL ? strlen(prefix) + 1 : 0);
  *out = tn_alloc(&env->mem, size);
  if (*out == NULL) {
    return tn_oom(err);
  }
  snprintf(*out, size, "%s%s%s", prefix != NULL ? prefix : "", prefix != NULL ? "_" : "", uuid);
  return TARN_OK;
}

/* Options of any older size: what the caller does not know is as the macro has it. */
static void read_options(const tarn_writer_options *given, tarn_writer_options *out) {
  static const tarn_writer_options standard = TARN_WRITER_OPTIONS_INIT;
  *out = standard;
  if (given != NULL) {
    size_t size = given->struct_size < sizeof(*out) ? given->struct_size : sizeof(*out);
    memcpy(out, given, size);
  }
}

/* Names of columns as their places in the table. */
static tarn_status find_columns(const tn_table *table, const tarn_writer_options *o,
                                int32_t *columns, tarn_error *err) {
  const tn_schema *schema = table->schema;
  for (size_t i = 0; i < o->n_columns; i++) {
    tn_slice name = tn_slice_text(o->columns[i]);
    columns[i] = tn_fields_find(schema->fields, schema->n_fields, name);
    for (size_t k = 0; k < i; k++) {
      if (columns[k] == columns[i] && columns[i] >= 0) {
        return tn_fail(err, TARN_E_INVALID, "column '%s' comes twice", o->columns[i]);
      }
    }
    if (columns[i] < 0) {
      tn_nearest nearest;
      tn_nearest_init(&nearest, name);
      for (int32_t k = 0; k < schema->n_fields; k++) {
        tn_nearest_offer(&nearest, schema->fields[k].name);
      }
      return tn_fail(err, TARN_E_NOT_FOUND, "%s: there is no column '%s'%s", table->full_name,
                     o->columns[i], tn_nearest_hint(&nearest).text);
    }
  }
  return TARN_OK;
}

static tarn_status open_write(tarn_writer *writer, tn_table *table, const tarn_writer_options *o,
                              int32_t *columns, tarn_error *err) {
  tn_table_write_options options = {.user = writer->user,
                                    .ignores_previous = o->ignores_previous != 0,
                                    .columns = columns,
                                    .n_columns = (int32_t)o->n_columns,
                                    .first_row_id = o->first_row_id,
                                    .spill_folder = o->spill_folder,
                                    .compacts = true,
                                    .waits = o->waits_for_compaction != 0,
                                    .skips_full_compaction = o->skips_full_compaction != 0,
                                    .cancel = o->cancel};
  if (columns != NULL) {
    TN_TRY(find_columns(table, o, columns, err));
  }
  return tn_write_create(table, &options, &writer->write, err);
}

tarn_status tarn_writer_create(tarn_table *table, const tarn_writer_options *options,
                               tarn_writer **out, tarn_error *err) {
  tarn_env *env = table->env;
  tarn_writer_options o;
  tarn_writer *writer = NULL;
  tn_table *written;
  int32_t *columns = NULL;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_api_written_table(table, &written, err));
  read_options(options, &o);
  writer = tn_calloc(&env->mem, 1, sizeof(*writer));
  columns = o.columns != NULL ? tn_alloc(&env->mem, o.n_columns * sizeof(*columns)) : NULL;
  if (writer == NULL || (o.columns != NULL && columns == NULL)) {
    st = tn_oom(err);
    goto done;
  }
  writer->env = env;
  writer->cancel = o.cancel;
  writer->kind_name =
      tn_strdup(&env->mem, o.row_kind_name != NULL ? o.row_kind_name : DEFAULT_KIND_NAME);
  if (writer->kind_name == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_api_commit_user(written, o.commit_user, &writer->user, err));
  TN_TRY_TO(done, open_write(writer, written, &o, columns, err));
  *out = writer;
  writer = NULL;
done:
  tn_free(&env->mem, columns);
  tarn_writer_free(writer);
  return st;
}

void tarn_writer_free(tarn_writer *writer) {
  if (writer != NULL) {
    tarn_env *env = writer->env;
    tn_write_free(writer->write);
    tn_free(&env->mem, writer->user);
    tn_free(&env->mem, writer->kind_name);
    tn_free(&env->mem, writer);
  }
}

const char *tarn_writer_commit_user(const tarn_writer *writer) {
  return writer->user;
}

/* ------------------------------------------------------------------ rows */

/* Rows of an array that were taken out and checked. */
typedef struct chunk {
  tn_batch batch; /* n_rows == 0: to be taken out once more */
  const int8_t *kinds;
} chunk;

typedef struct batch_walk {
  tarn_writer *writer;
  tn_arrow_import *import;
  const struct ArrowArray *array;
  chunk *chunks;
  int64_t n_chunks;
  size_t room; /* what checked chunks may hold yet */
} batch_walk;

static tarn_status import_chunk(const batch_walk *walk, int64_t i, chunk *out, tarn_error *err) {
  int64_t begin = i * CHUNK_ROWS, left = walk->array->length - begin;
  tn_batch *batch = &out->batch;
  tarn_status st;
  TN_TRY(tn_cancel_check(walk->writer->cancel, err));
  TN_TRY(tn_arrow_import_rows(walk->writer->env, walk->import, walk->array, begin,
                              left < CHUNK_ROWS ? left : CHUNK_ROWS, batch, &out->kinds, err));
  st = tn_write_check(walk->writer->write, batch, out->kinds, begin, err);
  if (st != TARN_OK) {
    tn_batch_reset(walk->writer->env, batch);
  }
  return st;
}

/* Every row is checked before any is taken in. What is taken out for that is kept as long as it is
 * not too much. */
static tarn_status check_chunks(batch_walk *walk, tarn_error *err) {
  tarn_env *env = walk->writer->env;
  for (int64_t i = 0; i < walk->n_chunks; i++) {
    size_t n_bytes;
    TN_TRY(import_chunk(walk, i, &walk->chunks[i], err));
    n_bytes = tn_write_batch_bytes(&walk->chunks[i].batch);
    if (n_bytes > walk->room) {
      tn_batch_reset(env, &walk->chunks[i].batch);
    } else {
      walk->room -= n_bytes;
    }
  }
  return TARN_OK;
}

static tarn_status take_chunks(batch_walk *walk, tarn_error *err) {
  tarn_writer *writer = walk->writer;
  for (int64_t i = 0; i < walk->n_chunks; i++) {
    chunk *c = &walk->chunks[i];
    if (c->batch.n_rows == 0) {
      TN_TRY(import_chunk(walk, i, c, err));
    }
    TN_TRY(tn_write_batch(writer->write, &c->batch, c->kinds, err));
    tn_batch_reset(writer->env, &c->batch);
  }
  return TARN_OK;
}

static tarn_status walk_array(batch_walk *walk, tarn_error *err) {
  tarn_env *env = walk->writer->env;
  tarn_status st;
  walk->n_chunks = (walk->array->length + CHUNK_ROWS - 1) / CHUNK_ROWS;
  walk->room = env->mem.budget_bytes / 8;
  walk->chunks = tn_calloc(&env->mem, (size_t)walk->n_chunks, sizeof(*walk->chunks));
  if (walk->chunks == NULL) {
    return tn_oom(err);
  }
  st = check_chunks(walk, err);
  st = st == TARN_OK ? take_chunks(walk, err) : st;
  for (int64_t i = 0; i < walk->n_chunks; i++) {
    tn_batch_reset(env, &walk->chunks[i].batch);
  }
  tn_free(&env->mem, walk->chunks);
  return st;
}

tarn_status tarn_writer_write(tarn_writer *writer, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, tarn_error *err) {
  batch_walk walk = {.writer = writer, .array = array};
  const tn_field *fields;
  int32_t n_fields;
  tn_arena arena;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(writer->env, err));
  if (array == NULL || array->release == NULL) {
    return tn_fail(err, TARN_E_INVALID, "an array that is released");
  }
  tn_arena_init(&arena, &writer->env->mem, (size_t)1 << 30);
  fields = tn_write_fields(writer->write, &n_fields);
  st = tn_arrow_import_prepare(&arena, schema, fields, n_fields, writer->kind_name, &walk.import,
                               err);
  st = st == TARN_OK ? walk_array(&walk, err) : st;
  tn_arena_reset(&arena);
  return st;
}

tarn_status tarn_writer_prepare(tarn_writer *writer, int64_t identifier, tarn_messages **out,
                                tarn_error *err) {
  tarn_messages *messages = NULL;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(writer->env, err));
  if (writer->has_prepared && identifier <= writer->last_identifier) {
    return tn_fail(err, TARN_E_STATE,
                   "identifier %lld is not larger than %lld, that of the commit before%s",
                   (long long)identifier, (long long)writer->last_identifier,
                   writer->last_identifier == TARN_BATCH_COMMIT
                       ? ": BatchTableWrite only support one-time committing."
                       : "");
  }
  TN_TRY(tn_api_messages_create(writer->env, &messages, err));
  st = tn_write_prepare(writer->write, identifier, &messages->arena, &messages->items,
                        &messages->n_items, err);
  if (st != TARN_OK) {
    tarn_messages_free(messages);
    return st;
  }
  if (messages->n_items > 0 || identifier == TARN_BATCH_COMMIT) {
    writer->has_prepared = true;
    writer->last_identifier = identifier;
  }
  *out = messages;
  return TARN_OK;
}

tarn_status tarn_writer_compact(tarn_writer *writer, int32_t is_full, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(writer->env, err));
  return tn_write_compact_all(writer->write, is_full != 0, err);
}

tarn_status tarn_writer_refresh(tarn_writer *writer, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(writer->env, err));
  writer->has_prepared = false;
  return tn_write_refresh(writer->write, err);
}

static void add_compactions(const tn_write_stats *stats, tarn_writer_stats *out) {
  const tn_compact_counts *c = &stats->compactions;
  int64_t n = c->n_completed > 0 ? c->n_completed : 1;
  out->compactions = c->n_started;
  out->compactions_completed = c->n_completed;
  out->compactions_queued = c->n_waiting + c->n_running;
  out->compaction_threads_busy = 100 * c->n_running;
  out->compaction_avg_ms = c->ms / n;
  out->compaction_avg_input_bytes = c->bytes_in / n;
  out->compaction_max_input_bytes = c->max_bytes_in;
  out->compaction_avg_output_bytes = c->bytes_out / n;
  out->compaction_max_output_bytes = c->max_bytes_out;
  out->level_0_avg_files = stats->n_level_0 / (stats->n_trees > 0 ? stats->n_trees : 1);
  out->level_0_max_files = stats->max_level_0;
}

void tarn_writer_get_stats(const tarn_writer *writer, tarn_writer_stats *out) {
  tn_write_stats stats;
  tarn_writer_stats all = {.struct_size = out->struct_size};
  tn_write_get_stats(writer->write, &stats);
  all.rows = stats.n_rows;
  all.files = stats.n_files;
  all.bytes = stats.n_bytes;
  all.spilled_bytes = stats.n_spilled_bytes;
  all.writers = stats.n_buckets;
  all.preempted = stats.n_preempted;
  all.used_bytes = stats.held_bytes;
  all.total_bytes = stats.room_bytes;
  add_compactions(&stats, &all);
  memcpy(out, &all, out->struct_size < sizeof(all) ? out->struct_size : sizeof(all));
}
