/* stream_rows.c - the feed, and rows as Arrow arrays. */
#include "stream_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ hashes */

/* splitmix64's last step. */
uint64_t mix_hash(uint64_t h) {
  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  return h ^ (h >> 31);
}

uint64_t row_hash(const pipeline_row *row) {
  uint64_t h = mix_hash((uint64_t)row->id + 1);
  h = mix_hash(h ^ (uint64_t)row->seq);
  h = mix_hash(h ^ (uint64_t)(row->shard + 1) ^ ((uint64_t)(uint8_t)row->n_text << 32));
  for (int i = 0; i < row->n_text; i++) {
    h = h * 31 + (uint8_t)row->text[i];
  }
  return mix_hash(h);
}

/* ------------------------------------------------------------------ feed */

bool feed_init(feed *f, feed_kinds kinds, uint64_t seed, int64_t n_keys) {
  *f = (feed){.kinds = kinds, .seed = seed, .n_keys = n_keys};
  f->alive = malloc((size_t)n_keys * sizeof(*f->alive));
  for (int64_t i = 0; f->alive != NULL && i < n_keys; i++) {
    f->alive[i] = -1;
  }
  return f->alive != NULL;
}

void feed_reset(feed *f) {
  free(f->alive);
  f->alive = NULL;
}

static void fill_row(pipeline_row *row, int64_t id, int64_t seq, int8_t kind) {
  memset(row, 0, sizeof(*row));
  row->id = id;
  row->seq = seq;
  row->shard = (int32_t)(mix_hash((uint64_t)id) % N_SHARDS);
  row->kind = kind;
  row->n_text = NO_TEXT;
  if (seq % 16 != 0) {
    int n = snprintf(row->text, sizeof(row->text), "%0*" PRId64, 1 + (int)(seq % 19), seq);
    row->n_text = (int8_t)n;
  }
}

void feed_next(feed *f, pipeline_row *out) {
  if (f->has_second) {
    *out = f->second;
    f->has_second = false;
    return;
  }
  uint64_t random = mix_hash(f->seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)f->seq);
  int64_t id = (int64_t)(random % (uint64_t)f->n_keys), seq = f->seq++;
  bool deletes = (random >> 56) % 5 == 0;
  if (f->kinds == FEED_INSERTS) {
    fill_row(out, seq, seq, 0);
    return;
  }
  if (f->alive[id] < 0) {
    fill_row(out, id, seq, 0);
    f->alive[id] = seq;
  } else if (deletes) {
    fill_row(out, id, f->alive[id], 3);
    f->alive[id] = -1;
  } else if (f->kinds == FEED_UPSERTS) {
    fill_row(out, id, seq, 0);
    f->alive[id] = seq;
  } else {
    fill_row(out, id, f->alive[id], 1);
    fill_row(&f->second, id, seq, 2);
    f->has_second = true;
    f->alive[id] = seq;
  }
}

/* ------------------------------------------------------------------ arrays of others */

static const char *const column_names[ROW_COLUMNS] = {"_row_kind", "shard", "id", "seq", "text"};
static const char *const column_formats[ROW_COLUMNS] = {"c", "i", "l", "l", "u"};

bool schema_fits(const struct ArrowSchema *schema, bool with_row_kind) {
  int skipped = with_row_kind ? 0 : 1;
  if (schema->n_children != ROW_COLUMNS - skipped) {
    return false;
  }
  for (int i = skipped; i < ROW_COLUMNS; i++) {
    const struct ArrowSchema *column = schema->children[i - skipped];
    if (strcmp(column->name, column_names[i]) != 0 ||
        strcmp(column->format, column_formats[i]) != 0) {
      return false;
    }
  }
  return true;
}

void row_at(const struct ArrowArray *array, int64_t i, bool with_row_kind, pipeline_row *out) {
  struct ArrowArray *const *columns = array->children + (with_row_kind ? 0 : -1);
  const struct ArrowArray *shard = columns[1], *id = columns[2], *seq = columns[3],
                          *text = columns[4];
  memset(out, 0, sizeof(*out));
  i += array->offset;
  if (with_row_kind) {
    out->kind = ((const int8_t *)columns[0]->buffers[1])[i + columns[0]->offset];
  }
  out->shard = ((const int32_t *)shard->buffers[1])[i + shard->offset];
  out->id = ((const int64_t *)id->buffers[1])[i + id->offset];
  out->seq = ((const int64_t *)seq->buffers[1])[i + seq->offset];
  out->n_text = NO_TEXT;
  i += text->offset;
  const uint8_t *valid = text->buffers[0];
  if (valid == NULL || (valid[i / 8] >> (i % 8) & 1) != 0) {
    const int32_t *offsets = text->buffers[1];
    int32_t n = offsets[i + 1] - offsets[i];
    n = n < TEXT_BYTES ? n : TEXT_BYTES;
    out->n_text = (int8_t)n;
    if (n > 0) {
      memcpy(out->text, (const char *)text->buffers[2] + offsets[i], (size_t)n);
    }
  }
}

/* ------------------------------------------------------------------ arrays of ours */

static void keep_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}

static void keep_array(struct ArrowArray *array) {
  array->release = NULL;
}

bool row_array_init(row_array *a, int64_t capacity, bool with_row_kind) {
  size_t n = (size_t)capacity;
  memset(a, 0, sizeof(*a));
  a->capacity = capacity;
  a->kinds = malloc(n);
  a->shards = malloc(n * sizeof(*a->shards));
  a->ids = malloc(n * sizeof(*a->ids));
  a->seqs = malloc(n * sizeof(*a->seqs));
  a->offsets = malloc((n + 1) * sizeof(*a->offsets));
  a->valid = malloc(n / 8 + 1);
  a->text = malloc(n * TEXT_BYTES);
  if (a->kinds == NULL || a->shards == NULL || a->ids == NULL || a->seqs == NULL ||
      a->offsets == NULL || a->valid == NULL || a->text == NULL) {
    row_array_reset(a);
    return false;
  }
  const void *values[ROW_COLUMNS] = {a->kinds, a->shards, a->ids, a->seqs, a->offsets};
  int skipped = with_row_kind ? 0 : 1;
  a->schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = ROW_COLUMNS - skipped,
                                   .children = a->column_list + skipped,
                                   .release = keep_schema};
  a->array = (struct ArrowArray){.n_buffers = 1,
                                 .n_children = ROW_COLUMNS - skipped,
                                 .buffers = a->no_buffer,
                                 .children = a->child_list + skipped,
                                 .release = keep_array};
  for (int i = 0; i < ROW_COLUMNS; i++) {
    bool is_text = i == ROW_COLUMNS - 1;
    a->columns[i] = (struct ArrowSchema){.format = column_formats[i],
                                         .name = column_names[i],
                                         .flags = is_text ? ARROW_FLAG_NULLABLE : 0,
                                         .release = keep_schema};
    a->buffers[i][0] = is_text ? a->valid : NULL;
    a->buffers[i][1] = values[i];
    a->buffers[i][2] = is_text ? a->text : NULL;
    a->children[i] = (struct ArrowArray){
        .n_buffers = is_text ? 3 : 2, .buffers = a->buffers[i], .release = keep_array};
    a->column_list[i] = &a->columns[i];
    a->child_list[i] = &a->children[i];
  }
  row_array_clear(a);
  return true;
}

void row_array_reset(row_array *a) {
  free(a->kinds);
  free(a->shards);
  free(a->ids);
  free(a->seqs);
  free(a->offsets);
  free(a->valid);
  free(a->text);
  memset(a, 0, sizeof(*a));
}

void row_array_clear(row_array *a) {
  a->array.length = 0;
  a->offsets[0] = 0;
  a->n_text = 0;
  for (int i = 0; i < ROW_COLUMNS; i++) {
    a->children[i].length = a->children[i].null_count = 0;
  }
}

bool row_array_add(row_array *a, const pipeline_row *row) {
  int64_t n = a->array.length;
  bool has_text = row->n_text != NO_TEXT;
  if (n == a->capacity) {
    return false;
  }
  a->kinds[n] = row->kind;
  a->shards[n] = row->shard;
  a->ids[n] = row->id;
  a->seqs[n] = row->seq;
  if (n % 8 == 0) {
    a->valid[n / 8] = 0;
  }
  if (has_text) {
    a->valid[n / 8] |= (uint8_t)(1u << (n % 8));
    memcpy(a->text + a->n_text, row->text, (size_t)row->n_text);
    a->n_text += row->n_text;
  } else {
    a->children[ROW_COLUMNS - 1].null_count++;
  }
  a->offsets[n + 1] = (int32_t)a->n_text;
  a->array.length = n + 1;
  for (int i = 0; i < ROW_COLUMNS; i++) {
    a->children[i].length = n + 1;
  }
  return true;
}
