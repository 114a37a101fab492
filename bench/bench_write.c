/* bench_write.c - our side of the write benchmark: the rows of bench/peers/py_write.py through the
 * public API, in process.
 *
 *   bench_write WAREHOUSE NAME ROWS_PER_COMMIT COMMITS KEY_SPACE [reps=3] [memory_mb=256]
 *               [keys=k] [partitions=0] [sync=1] [spill=DIR] [OPTION=VALUE ...]
 *
 * The table db.NAME is dropped and made anew for each repetition, which prints one JSON line. The
 * batches (one a commit) are made before the clock starts. partitions=N: a column p of N values is
 * the partition. keys=: a table without a primary key.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tarn/tarn.h"

enum { MAX_OPTIONS = 32, N_COLUMNS = 7 };

typedef struct settings {
  const char *warehouse, *name, *keys, *spill;
  long rows, commits, space, reps, memory_mb, partitions, sync;
  tarn_option options[MAX_OPTIONS];
  int n_options;
} settings;

/* ------------------------------------------------------------------ rows */

static void *must(void *p) {
  if (p == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return p;
}

static void keep_array(struct ArrowArray *array) {
  (void)array;
}

static void keep_schema(struct ArrowSchema *schema) {
  (void)schema;
}

/* Columns of one batch; never freed. */
typedef struct rows {
  struct ArrowArray array, columns[N_COLUMNS], *children[N_COLUMNS];
  const void *buffers[N_COLUMNS][3], *no_buffers[1];
} rows;

static void set_column(rows *r, int c, int64_t n, const void *first, const void *second) {
  r->buffers[c][0] = NULL;
  r->buffers[c][1] = first;
  r->buffers[c][2] = second;
  r->columns[c] = (struct ArrowArray){.length = n,
                                      .n_buffers = second != NULL ? 3 : 2,
                                      .buffers = r->buffers[c],
                                      .release = keep_array};
  r->children[c] = &r->columns[c];
}

static rows *make_rows(const settings *s, long commit) {
  static const char *const words[] = {"open", "closed", "pending", "void"};
  size_t n = (size_t)s->rows;
  rows *r = must(calloc(1, sizeof *r));
  int64_t *k = must(malloc(n * 8)), *ts = must(malloc(n * 8));
  int32_t *qty = must(malloc(n * 4)), *p = must(malloc(n * 4));
  double *price = must(malloc(n * 8));
  int32_t *status_at = must(malloc((n + 1) * 4)), *comment_at = must(malloc((n + 1) * 4));
  char *status = must(malloc(n * 8 + 64)), *comment = must(malloc(n * 48 + 64));
  status_at[0] = comment_at[0] = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t number = (uint64_t)commit * n + i, x = mix(number);
    const char *word = words[(x >> 20) & 3];
    k[i] = (int64_t)(x % (uint64_t)s->space);
    qty[i] = (int32_t)(x >> 58);
    price[i] = (double)(x >> 11) * 0x1p-53 * 1000;
    p[i] = s->partitions > 0 ? (int32_t)(number % (uint64_t)s->partitions) : 0;
    ts[i] = 1700000000000000 + (int64_t)number * 1000;
    memcpy(status + status_at[i], word, strlen(word));
    status_at[i + 1] = status_at[i] + (int32_t)strlen(word);
    comment_at[i + 1] =
        comment_at[i] +
        sprintf(comment + comment_at[i], "order comment %" PRIx64 " %d", x >> 24, (int)(x & 1023));
  }
  set_column(r, 0, s->rows, k, NULL);
  set_column(r, 1, s->rows, qty, NULL);
  set_column(r, 2, s->rows, price, NULL);
  set_column(r, 3, s->rows, status_at, status);
  set_column(r, 4, s->rows, comment_at, comment);
  set_column(r, 5, s->rows, ts, NULL);
  set_column(r, 6, s->rows, p, NULL);
  r->array = (struct ArrowArray){.length = s->rows,
                                 .n_buffers = 1,
                                 .n_children = s->partitions > 0 ? 7 : 6,
                                 .buffers = r->no_buffers,
                                 .children = r->children,
                                 .release = keep_array};
  return r;
}

static void make_schema(const settings *s, struct ArrowSchema *schema) {
  static const char *const names[] = {"k", "qty", "price", "status", "comment", "ts", "p"};
  static const char *const formats[] = {"l", "i", "g", "u", "u", "tsu:", "i"};
  static struct ArrowSchema columns[N_COLUMNS], *children[N_COLUMNS];
  for (int c = 0; c < N_COLUMNS; c++) {
    columns[c] = (struct ArrowSchema){.format = formats[c],
                                      .name = names[c],
                                      .flags = ARROW_FLAG_NULLABLE,
                                      .release = keep_schema};
    children[c] = &columns[c];
  }
  *schema = (struct ArrowSchema){.format = "+s",
                                 .name = "",
                                 .n_children = s->partitions > 0 ? 7 : 6,
                                 .children = children,
                                 .release = keep_schema};
}

/* ------------------------------------------------------------------ a run */

static tarn_status make_table(const settings *s, tarn_catalog *catalog, const char *name,
                              tarn_error *err) {
  char json[8192];
  size_t at;
  tarn_status st = tarn_database_create(catalog, "db", err);
  if (st != TARN_OK && st != TARN_E_EXISTS) {
    return st;
  }
  st = tarn_table_drop(catalog, name, err);
  if (st != TARN_OK && st != TARN_E_NOT_FOUND) {
    return st;
  }
  at = (size_t)snprintf(
      json, sizeof json,
      "{\"fields\":[{\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"qty\","
      "\"type\":\"INT\"},{\"name\":\"price\",\"type\":\"DOUBLE\"},{\"name\":\"status\","
      "\"type\":\"STRING\"},{\"name\":\"comment\",\"type\":\"STRING\"},{\"name\":\"ts\","
      "\"type\":\"TIMESTAMP(6)\"}%s],\"primaryKeys\":[%s%s%s%s],\"partitionKeys\":[%s],\"options\":"
      "{",
      s->partitions > 0 ? ",{\"name\":\"p\",\"type\":\"INT NOT NULL\"}" : "",
      s->keys[0] ? "\"" : "", s->keys, s->keys[0] ? "\"" : "",
      s->keys[0] && s->partitions > 0 ? ",\"p\"" : "", s->partitions > 0 ? "\"p\"" : "");
  for (int i = 0; i < s->n_options; i++) {
    at += (size_t)snprintf(json + at, sizeof json - at, "%s\"%s\":\"%s\"", i > 0 ? "," : "",
                           s->options[i].key, s->options[i].value);
  }
  snprintf(json + at, sizeof json - at, "}}");
  return tarn_table_create(catalog, name, json, err);
}

static tarn_status write_all(const settings *s, tarn_table *table, rows *const *batches,
                             tarn_writer_stats *stats, tarn_error *err) {
  tarn_writer_options options = TARN_WRITER_OPTIONS_INIT;
  struct ArrowSchema schema;
  tarn_writer *writer = NULL;
  tarn_committer *committer = NULL;
  tarn_status st;
  options.spill_folder = s->spill;
  options.waits_for_compaction = 1; /* of tables that are not write-only */
  make_schema(s, &schema);
  st = tarn_writer_create(table, &options, &writer, err);
  st = st == TARN_OK ? tarn_committer_create(table, NULL, &committer, err) : st;
  for (long k = 0; st == TARN_OK && k < s->commits; k++) {
    tarn_messages *messages = NULL;
    int64_t id = s->commits == 1 ? TARN_BATCH_COMMIT : k;
    st = tarn_writer_write(writer, &schema, &batches[k]->array, err);
    st = st == TARN_OK ? tarn_writer_prepare(writer, id, &messages, err) : st;
    st = st == TARN_OK ? tarn_committer_commit(committer, id, messages, NULL, NULL, err) : st;
    tarn_messages_free(messages);
  }
  stats->struct_size = sizeof *stats;
  if (writer != NULL) {
    tarn_writer_get_stats(writer, stats);
  }
  tarn_committer_free(committer);
  tarn_writer_free(writer);
  return st;
}

static tarn_status run_once(const settings *s, rows *const *batches, tarn_error *err) {
  tarn_env_options o = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tarn_catalog *catalog = NULL;
  tarn_table *table = NULL;
  tarn_writer_stats stats = {0};
  char name[256];
  double s0, c0, before;
  tarn_status st;
  FILE *f;
  malloc_trim(0); /* what the repetition before has left */
  before = memory_mb("VmRSS");
  f = fopen("/proc/self/clear_refs", "w");
  if (f != NULL) { /* the peak counts from here on */
    fputs("5", f);
    fclose(f);
  }
  snprintf(name, sizeof name, "db.%s", s->name);
  o.memory_budget_bytes = (size_t)s->memory_mb << 20;
  o.no_sync = s->sync == 0;
  st = tarn_env_create(&o, &env, err);
  st = st == TARN_OK ? tarn_catalog_open(env, s->warehouse, &catalog, err) : st;
  st = st == TARN_OK ? make_table(s, catalog, name, err) : st;
  s0 = seconds(CLOCK_MONOTONIC);
  c0 = seconds(CLOCK_PROCESS_CPUTIME_ID);
  st = st == TARN_OK ? tarn_table_open(env, catalog, name, NULL, 0, &table, err) : st;
  st = st == TARN_OK ? write_all(s, table, batches, &stats, err) : st;
  s0 = seconds(CLOCK_MONOTONIC) - s0;
  c0 = seconds(CLOCK_PROCESS_CPUTIME_ID) - c0;
  if (st == TARN_OK) {
    printf("{\"op\":\"write\",\"engine\":\"tarn\",\"rows\":%" PRId64
           ",\"s\":%.3f,\"cpu\":%.3f,"
           "\"peak_mb\":%.1f,\"files\":%" PRId64 ",\"bytes\":%" PRId64 ",\"spilled\":%" PRId64
           "}\n",
           stats.rows, s0, c0, memory_mb("VmHWM") - before, stats.files, stats.bytes,
           stats.spilled_bytes);
    fflush(stdout);
  }
  tarn_table_free(table);
  tarn_catalog_free(catalog);
  tarn_env_free(env);
  return st;
}

int main(int argc, char **argv) {
  settings s = {.keys = "k", .reps = 3, .memory_mb = 256, .sync = 1};
  rows **batches;
  tarn_error err = {0};
  if (argc < 6) {
    fprintf(stderr, "usage: bench_write WAREHOUSE NAME ROWS_PER_COMMIT COMMITS KEY_SPACE [...]\n");
    return 2;
  }
  s.warehouse = argv[1];
  s.name = argv[2];
  s.rows = strtol(argv[3], NULL, 10);
  s.commits = strtol(argv[4], NULL, 10);
  s.space = strtol(argv[5], NULL, 10);
  for (int i = 6; i < argc; i++) {
    char *value = strchr(argv[i], '=');
    if (value == NULL) {
      fprintf(stderr, "bench_write: %s: not name=value\n", argv[i]);
      return 2;
    }
    *value++ = 0;
    struct {
      const char *name;
      long *number;
      const char **text;
    } own[] = {{"reps", &s.reps, NULL},
               {"memory_mb", &s.memory_mb, NULL},
               {"partitions", &s.partitions, NULL},
               {"sync", &s.sync, NULL},
               {"keys", NULL, &s.keys},
               {"spill", NULL, &s.spill}};
    size_t at = 0;
    while (at < sizeof own / sizeof *own && strcmp(own[at].name, argv[i]) != 0) {
      at++;
    }
    if (at == sizeof own / sizeof *own) {
      if (s.n_options < MAX_OPTIONS) {
        s.options[s.n_options++] = (tarn_option){argv[i], value};
      }
    } else if (own[at].number != NULL) {
      *own[at].number = strtol(value, NULL, 10);
    } else {
      *own[at].text = value;
    }
  }
  batches = must(calloc((size_t)s.commits, sizeof(*batches)));
  for (long k = 0; k < s.commits; k++) {
    batches[k] = make_rows(&s, k);
  }
  for (long rep = 0; rep < s.reps; rep++) {
    if (run_once(&s, batches, &err) != TARN_OK) {
      fprintf(stderr, "bench_write: %s: %s\n", tarn_status_name(err.status), err.message);
      return 1;
    }
  }
  return 0;
}
