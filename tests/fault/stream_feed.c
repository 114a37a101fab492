/* stream_feed.c - what goes into the pipelines that are killed, and whether it came out.
 *
 *   stream_feed feed KINDS SEED KEYS ROWS [ROWS-A-SECOND]     > rows.jsonl
 *   stream_feed check WAREHOUSE SOURCE TARGET KEYS rows
 *                     ... stream [OPTION=VALUE...] | feed KINDS SEED ROWS
 *
 * KINDS: inserts, upserts, changes. check compares, by counts and hashes:
 *   - all rows of SOURCE with all rows of TARGET, in any order;
 *   - `stream`: the changes of TARGET from its first snapshot on, of each key in their order, with
 *     what a stream of SOURCE with these options gives;
 *   - `feed`: the same changes with the feed itself; of inserts only the rows of TARGET, as buckets
 *     without keys have no order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream_rows.h"

enum { MAX_OPTIONS = 16 };

/* What was seen: all rows together, and the changes of each key. */
typedef struct tally {
  int64_t n_rows;
  uint64_t sum;
  uint64_t *chains; /* by key; NULL: not wanted */
  int64_t n_keys;
} tally;

static int fail(const char *what, const tarn_error *error) {
  fprintf(stderr, "%s: %s: %s\n", what, tarn_status_name(error->status), error->message);
  return 1;
}

static bool count_row(tally *t, const pipeline_row *row) {
  uint64_t hash = row_hash(row);
  t->n_rows++;
  t->sum += hash;
  if (t->chains != NULL) {
    if (row->id < 0 || row->id >= t->n_keys) {
      fprintf(stderr, "a row with id %" PRId64 "\n", row->id);
      return false;
    }
    t->chains[row->id] = mix_hash(t->chains[row->id] + hash + (uint64_t)row->kind + 1);
  }
  return true;
}

static bool tally_init(tally *t, int64_t n_keys) {
  *t = (tally){.n_keys = n_keys, .chains = calloc((size_t)n_keys, sizeof(uint64_t))};
  return t->chains != NULL;
}

/* ------------------------------------------------------------------ feed */

static bool kinds_of(const char *name, feed_kinds *out) {
  static const char *const names[] = {"inserts", "upserts", "changes"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, names[i]) == 0) {
      *out = (feed_kinds)i;
      return true;
    }
  }
  return false;
}

static void print_row(const pipeline_row *row) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  printf("{\"_row_kind\":\"%s\",\"shard\":%" PRId32 ",\"id\":%" PRId64 ",\"seq\":%" PRId64,
         kinds[row->kind], row->shard, row->id, row->seq);
  if (row->n_text != NO_TEXT) {
    printf(",\"text\":\"%.*s\"", row->n_text, row->text);
  }
  puts("}");
}

static int print_feed(feed_kinds kinds, uint64_t seed, int64_t n_keys, int64_t n_rows,
                      int64_t rows_a_second) {
  feed f;
  pipeline_row row;
  if (!feed_init(&f, kinds, seed, n_keys)) {
    return 1;
  }
  for (int64_t i = 0; i < n_rows && !ferror(stdout); i++) {
    feed_next(&f, &row);
    print_row(&row);
    if (rows_a_second > 0 && i % 1000 == 999) {
      struct timespec pause = {0, (long)(INT64_C(1000000000000) / rows_a_second)};
      pause.tv_sec = pause.tv_nsec / 1000000000;
      pause.tv_nsec %= 1000000000;
      nanosleep(&pause, NULL);
    }
  }
  feed_reset(&f);
  return fflush(stdout) != 0;
}

static bool tally_feed(tally *t, feed_kinds kinds, uint64_t seed, int64_t n_rows) {
  feed f;
  pipeline_row row;
  bool is_good = feed_init(&f, kinds, seed, t->n_keys > 0 ? t->n_keys : 1);
  for (int64_t i = 0; is_good && i < n_rows; i++) {
    feed_next(&f, &row);
    is_good = count_row(t, &row);
  }
  feed_reset(&f);
  return is_good;
}

/* ------------------------------------------------------------------ tables */

static bool count_array(tally *t, const struct ArrowArray *rows, bool with_row_kind) {
  pipeline_row row;
  for (int64_t i = 0; i < rows->length; i++) {
    row_at(rows, i, with_row_kind, &row);
    if (!count_row(t, &row)) {
      return false;
    }
  }
  return true;
}

/* All rows of a table now. */
static int tally_rows(tally *t, tarn_env *env, tarn_catalog *catalog, const char *name) {
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  struct ArrowArrayStream stream = {0};
  struct ArrowSchema schema = {0};
  tarn_error error;
  int result = 0;
  if (tarn_table_open(env, catalog, name, NULL, 0, &table, &error) ||
      tarn_scan_create(table, NULL, &scan, &error) || tarn_scan_schema(scan, &schema, &error) ||
      tarn_scan_read(scan, &stream, &error)) {
    result = fail(name, &error);
  } else if (!schema_fits(&schema, false)) {
    fprintf(stderr, "%s: other columns\n", name);
    result = 1;
  }
  while (result == 0) {
    struct ArrowArray rows = {0};
    if (stream.get_next(&stream, &rows) != 0) {
      (void)!tarn_stream_error(&stream, &error);
      result = fail(name, &error);
    }
    if (rows.release == NULL) {
      break;
    }
    result = count_array(t, &rows, false) ? 0 : 1;
    rows.release(&rows);
  }
  if (stream.release != NULL) {
    stream.release(&stream);
  }
  if (schema.release != NULL) {
    schema.release(&schema);
  }
  tarn_scan_free(scan);
  tarn_table_free(table);
  return result;
}

/* All rows that a stream gives. */
static int tally_changes(tally *t, tarn_env *env, tarn_catalog *catalog, const char *name,
                         const tarn_option *options, size_t n_options) {
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  tarn_stream *stream = NULL;
  tarn_stream_reader *reader = NULL;
  tarn_scan_options of_scan = TARN_SCAN_OPTIONS_INIT;
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  tarn_error error;
  int result = 0;
  of_scan.with_row_kind = 1;
  if (tarn_table_open(env, catalog, name, options, n_options, &table, &error) ||
      tarn_scan_create(table, &of_scan, &scan, &error) ||
      tarn_stream_create(scan, NULL, &stream, &error) ||
      tarn_stream_reader_create(stream, 0, &reader, &error)) {
    result = fail(name, &error);
  }
  while (result == 0) {
    struct ArrowArray rows = {0};
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    if (tarn_stream_reader_next(reader, &rows, &batch, &error)) {
      result = fail(name, &error);
    } else if (rows.release != NULL) {
      result = count_array(t, &rows, true) ? 0 : 1;
      rows.release(&rows);
    } else if (tarn_stream_get_status(stream, &status, &error)) {
      result = fail(name, &error);
    } else if (status.lag_snapshots == 0 && status.pending_splits == 0) {
      break;
    }
  }
  tarn_stream_reader_free(reader);
  tarn_stream_free(stream);
  tarn_scan_free(scan);
  tarn_table_free(table);
  return result;
}

/* ------------------------------------------------------------------ check */

static int differs(const char *what, const tally *source, const tally *target) {
  int64_t n = 0, first = -1;
  if (source->n_rows != target->n_rows || source->sum != target->sum) {
    printf("%s: %" PRId64 " in the source, %" PRId64 " in the target, sums %016" PRIx64
           " and %016" PRIx64 "\n",
           what, source->n_rows, target->n_rows, source->sum, target->sum);
    n = 1;
  }
  for (int64_t i = 0; source->chains != NULL && target->chains != NULL && i < source->n_keys; i++) {
    if (source->chains[i] != target->chains[i]) {
      first = first < 0 ? i : first;
      n++;
    }
  }
  if (first >= 0) {
    printf("%s: %" PRId64 " ids differ, such as %" PRId64 "\n", what, n, first);
  }
  return n > 0;
}

typedef struct check_job {
  const char *source, *target;
  int64_t n_keys;
  bool has_order; /* the changes are compared, too */
  feed_kinds kinds;
  uint64_t seed;
  int64_t n_rows; /* of the feed; 0: the changes of the source's stream count */
  tarn_option options[MAX_OPTIONS];
  size_t n_options;
} check_job;

static int check(const check_job *job, tarn_env *env, tarn_catalog *catalog) {
  static const tarn_option from_the_first[] = {{"scan.mode", "from-snapshot"},
                                               {"scan.snapshot-id", "1"}};
  tally source = {0}, target = {0}, of_source = {0}, of_target = {0};
  int result = tally_rows(&source, env, catalog, job->source) ||
               tally_rows(&target, env, catalog, job->target);
  if (result == 0) {
    result = differs("rows", &source, &target);
    printf("%" PRId64 " rows", target.n_rows);
  }
  if (job->has_order &&
      (!tally_init(&of_source, job->n_keys) || !tally_init(&of_target, job->n_keys))) {
    result = 1;
  }
  if (job->has_order && result == 0) {
    result = tally_changes(&of_target, env, catalog, job->target, from_the_first, 2);
    if (result == 0 && job->n_rows > 0) {
      result = !tally_feed(&of_source, job->kinds, job->seed, job->n_rows);
    } else if (result == 0) {
      result = tally_changes(&of_source, env, catalog, job->source, job->options, job->n_options);
    }
    printf(", %" PRId64 " changes", of_target.n_rows);
    result = result || differs("changes", &of_source, &of_target);
  } else if (result == 0 && job->n_rows > 0) {
    result = !tally_feed(&of_source, job->kinds, job->seed, job->n_rows) ||
             differs("rows of the feed", &of_source, &target);
  }
  puts("");
  free(of_source.chains);
  free(of_target.chains);
  return result;
}

static int run_check(int argc, char **argv) {
  check_job job = {.source = argv[3], .target = argv[4], .n_keys = strtoll(argv[5], NULL, 10)};
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_error error;
  int at = 7, result;
  if (strcmp(argv[6], "feed") == 0 && argc == 10 && kinds_of(argv[7], &job.kinds)) {
    job.seed = strtoull(argv[8], NULL, 10);
    job.n_rows = strtoll(argv[9], NULL, 10);
    job.has_order = job.kinds != FEED_INSERTS;
  } else if (strcmp(argv[6], "stream") == 0) {
    job.has_order = true;
    for (; at < argc && job.n_options < MAX_OPTIONS; at++) {
      char *value = strchr(argv[at], '=');
      if (value != NULL) {
        *value++ = '\0';
        job.options[job.n_options++] = (tarn_option){argv[at], value};
      }
    }
  }
  if (tarn_env_create(NULL, &env, &error) || tarn_catalog_open(env, argv[2], &catalog, &error)) {
    result = fail(argv[2], &error);
  } else {
    result = check(&job, env, catalog);
  }
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return result;
}

int main(int argc, char **argv) {
  feed_kinds kinds;
  if (argc >= 6 && strcmp(argv[1], "feed") == 0 && kinds_of(argv[2], &kinds)) {
    return print_feed(kinds, strtoull(argv[3], NULL, 10), strtoll(argv[4], NULL, 10),
                      strtoll(argv[5], NULL, 10), argc > 6 ? strtoll(argv[6], NULL, 10) : 0);
  }
  if (argc >= 7 && strcmp(argv[1], "check") == 0) {
    return run_check(argc, argv);
  }
  fprintf(stderr,
          "usage: stream_feed feed KINDS SEED KEYS ROWS [ROWS-A-SECOND]\n"
          "       stream_feed check WAREHOUSE SOURCE TARGET KEYS [KINDS SEED ROWS] "
          "[OPTION=VALUE...]\n");
  return 2;
}
