/* cell.c - cells from a schema, bound to a batch; nested values and VARIANT. */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>

#include "errors.h"
#include "nanoarrow/nanoarrow.h"
#include "wide_time.h"

#define MAX_DEPTH 200 /* above what the library accepts: 64, a map taking two levels */

/* ------------------------------------------------------------------ nested values */

static void get_range(const cli_cell *cell, int64_t at, int64_t *begin, int64_t *end) {
  int32_t pair[2];
  memcpy(pair, (const int32_t *)cell->values + at, sizeof(pair));
  *begin = pair[0];
  *end = pair[1];
}

static void add_items(cli_cell *item, int64_t begin, int64_t end, cli_text *out) {
  cli_text_char(out, '[');
  for (int64_t i = begin; i < end; i++) {
    if (i > begin) {
      cli_text_char(out, ',');
    }
    cli_cell_json(item, i, out);
  }
  cli_text_char(out, ']');
}

static void put_list(cli_cell *cell, int64_t at, cli_text *out) {
  int64_t begin, end;
  get_range(cell, at, &begin, &end);
  add_items(&cell->children[0], begin, end, out);
}

static void put_vector(cli_cell *cell, int64_t at, cli_text *out) {
  add_items(&cell->children[0], at * cell->length, (at + 1) * cell->length, out);
}

static void put_row(cli_cell *cell, int64_t at, cli_text *out) {
  cli_text_char(out, '{');
  for (int32_t i = 0; i < cell->n_children; i++) {
    cli_cell *child = &cell->children[i];
    if (i > 0) {
      cli_text_char(out, ',');
    }
    cli_text_add(out, child->key.data, child->key.len);
    cli_cell_json(child, at, out);
  }
  cli_text_char(out, '}');
}

/* An entry of a map, printed into the scratch as "key,value". */
typedef struct cli_map_entry {
  const char *text; /* set when all are printed */
  size_t begin, key_length, length;
} cli_map_entry;

/* Bytes of UTF-8 in the order of UTF-16: characters beyond the basic plane (F0 and more) are made
 * of surrogates there, and come before U+E000 (EE and EF). */
static int utf16_rank(uint8_t c) {
  return c >= 0xF0 ? c - 0xF0 + 0xEE : c >= 0xEE ? c + 16 : c;
}

static int compare_entries(const void *a, const void *b) {
  const cli_map_entry *x = a, *y = b;
  size_t n = x->key_length < y->key_length ? x->key_length : y->key_length;
  for (size_t i = 0; i < n; i++) {
    uint8_t cx = (uint8_t)x->text[i], cy = (uint8_t)y->text[i];
    if (cx != cy) {
      return utf16_rank(cx) - utf16_rank(cy);
    }
  }
  if (x->key_length != y->key_length) {
    return x->key_length < y->key_length ? -1 : 1;
  }
  return x->begin < y->begin ? -1 : 1; /* as they came */
}

static bool grow_entries(cli_cell *cell, size_t n) {
  cli_map_entry *grown;
  if (n <= cell->entry_capacity) {
    return true;
  }
  grown = n > SIZE_MAX / sizeof(*grown) ? NULL : realloc(cell->entries, n * sizeof(*grown));
  if (grown == NULL) {
    return false;
  }
  cell->entries = grown;
  cell->entry_capacity = n;
  return true;
}

static void put_map(cli_cell *cell, int64_t at, cli_text *out) {
  cli_cell *pairs = &cell->children[0];
  cli_text *scratch = &cell->scratch;
  int64_t begin, end;
  size_t n;
  get_range(cell, at, &begin, &end);
  n = (size_t)(end - begin);
  if (!grow_entries(cell, n)) {
    out->is_broken = true;
    return;
  }
  scratch->len = 0;
  for (size_t i = 0; i < n; i++) {
    cli_map_entry *e = &cell->entries[i];
    int64_t row = pairs->offset + begin + (int64_t)i;
    e->begin = scratch->len;
    cli_cell_json(&pairs->children[0], row, scratch);
    e->key_length = scratch->len - e->begin;
    cli_text_char(scratch, ',');
    cli_cell_json(&pairs->children[1], row, scratch);
    e->length = scratch->len - e->begin;
  }
  if (scratch->is_broken) {
    out->is_broken = true;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    cell->entries[i].text = scratch->data + cell->entries[i].begin;
  }
  if (n > 1) {
    qsort(cell->entries, n, sizeof(*cell->entries), compare_entries);
  }
  cli_text_char(out, '[');
  for (size_t i = 0; i < n; i++) {
    cli_text_puts(out, i > 0 ? ",[" : "[");
    cli_text_add(out, cell->entries[i].text, cell->entries[i].length);
    cli_text_char(out, ']');
  }
  cli_text_char(out, ']');
}

/* Value of a binary child. */
static const uint8_t *get_bytes(const cli_cell *cell, int64_t row, size_t *n) {
  int64_t begin, end;
  if (cli_cell_is_null(cell, row)) {
    *n = 0;
    return NULL;
  }
  get_range(cell, cell->offset + row, &begin, &end);
  *n = (size_t)(end - begin);
  return cell->data + begin;
}

static bool variant_json(cli_cell *cell, int64_t at, tarn_string *out) {
  tarn_error *err = &cell->cells->error;
  tarn_error unused;
  size_t n_metadata, n_value;
  const uint8_t *metadata = get_bytes(&cell->children[0], at, &n_metadata);
  const uint8_t *value = get_bytes(&cell->children[1], at, &n_value);
  return tarn_variant_to_json(cell->cells->env, metadata, n_metadata, value, n_value, out,
                              err->status == TARN_OK ? err : &unused) == TARN_OK;
}

static void put_variant(cli_cell *cell, int64_t at, cli_text *out) {
  tarn_string text;
  if (variant_json(cell, at, &text)) {
    cli_text_add(out, text.data, text.length);
    tarn_string_free(&text);
  }
}

static void json_variant(cli_cell *cell, int64_t at, cli_text *out) {
  tarn_string text;
  if (variant_json(cell, at, &text)) {
    cli_text_puts(out, "{\"json\":");
    cli_text_json(out, text.data, text.length);
    cli_text_char(out, '}');
    tarn_string_free(&text);
  }
}

/* ------------------------------------------------------------------ from a schema */

static tarn_status make_cell(cli_cells *cells, const struct ArrowSchema *schema, int depth,
                             cli_cell *out, tarn_error *err);

static tarn_status make_children(cli_cell *cell, const struct ArrowSchema *schema, int depth,
                                 tarn_error *err) {
  cell->children = calloc((size_t)schema->n_children + 1, sizeof(*cell->children));
  if (cell->children == NULL) {
    return cli_no_memory(err);
  }
  for (; cell->n_children < schema->n_children; cell->n_children++) {
    tarn_status st = make_cell(cell->cells, schema->children[cell->n_children], depth + 1,
                               &cell->children[cell->n_children], err);
    if (st != TARN_OK) {
      cell->n_children++; /* what there is of it is freed, too */
      return st;
    }
  }
  return TARN_OK;
}

static bool is_variant(const struct ArrowSchema *schema) {
  static const char name[] = "arrow.parquet.variant";
  struct ArrowSchemaView view;
  return ArrowSchemaViewInit(&view, schema, NULL) == NANOARROW_OK &&
         view.extension_name.size_bytes == (int64_t)sizeof(name) - 1 &&
         memcmp(view.extension_name.data, name, sizeof(name) - 1) == 0;
}

static bool set_wide_time(cli_cell *cell, const struct ArrowSchema *schema) {
  cli_wide_time time = cli_wide_time_of(schema);
  if (time != CLI_WIDE_NONE) {
    cli_cell_set_time(cell, time == CLI_WIDE_INSTANT);
  }
  return time != CLI_WIDE_NONE;
}

/* The functions of a type with children; false: it is none that is known. */
static bool set_nested(cli_cell *cell, const struct ArrowSchema *schema) {
  const char *format = schema->format;
  if (strcmp(format, "+s") == 0) {
    bool is_one = is_variant(schema);
    cell->json = is_one ? json_variant : put_row;
    cell->plain = is_one ? put_variant : put_row;
    return !is_one || schema->n_children == 2;
  }
  if (strcmp(format, "+l") == 0 && schema->n_children == 1) {
    cell->json = cell->plain = put_list;
    return true;
  }
  if (strcmp(format, "+m") == 0 && schema->n_children == 1) {
    cell->json = cell->plain = put_map;
    return schema->children[0]->n_children == 2;
  }
  if (strncmp(format, "+w:", 3) == 0 && schema->n_children == 1) {
    cell->length = (int32_t)strtol(format + 3, NULL, 10);
    cell->json = cell->plain = put_vector;
    return cell->length >= 0;
  }
  return false;
}

static tarn_status make_cell(cli_cells *cells, const struct ArrowSchema *schema, int depth,
                             cli_cell *out, tarn_error *err) {
  out->cells = cells;
  out->name = schema->name != NULL ? schema->name : "";
  cli_text_json(&out->key, out->name, strlen(out->name));
  cli_text_char(&out->key, ':');
  if (out->key.is_broken) {
    return cli_no_memory(err);
  }
  if (schema->dictionary == NULL &&
      (set_wide_time(out, schema) || cli_cell_set_scalar(out, schema->format))) {
    return TARN_OK;
  }
  if (schema->dictionary != NULL || depth > MAX_DEPTH || !set_nested(out, schema)) {
    return cli_error(err, TARN_E_UNSUPPORTED, "a column cannot be printed: its Arrow format is %s",
                     schema->format);
  }
  return make_children(out, schema, depth, err);
}

tarn_status cli_cells_create(tarn_env *env, struct ArrowSchema *schema, bool has_kind,
                             cli_cells **out, tarn_error *err) {
  cli_cells *cells = calloc(1, sizeof(*cells));
  tarn_status st;
  *out = NULL;
  if (cells == NULL) {
    schema->release(schema);
    return cli_no_memory(err);
  }
  cells->env = env;
  cells->schema = *schema;
  schema->release = NULL;
  st = make_cell(cells, &cells->schema, 0, &cells->root, err);
  if (st != TARN_OK) {
    cli_cells_free(cells);
    return st;
  }
  if (has_kind && cells->root.n_children > 0) {
    (void)cli_cell_set_scalar(&cells->root.children[0], "kind");
  }
  *out = cells;
  return TARN_OK;
}

static void free_cell(cli_cell *cell) {
  for (int32_t i = 0; i < cell->n_children; i++) {
    free_cell(&cell->children[i]);
  }
  free(cell->children);
  free(cell->entries);
  cli_text_reset(&cell->key);
  cli_text_reset(&cell->scratch);
}

void cli_cells_free(cli_cells *cells) {
  if (cells != NULL) {
    free_cell(&cells->root);
    if (cells->schema.release != NULL) {
      cells->schema.release(&cells->schema);
    }
    free(cells);
  }
}

/* ------------------------------------------------------------------ to a batch */

static bool bind_cell(cli_cell *cell, const struct ArrowArray *array) {
  if (array->n_children != cell->n_children || array->dictionary != NULL || array->n_buffers < 1) {
    return false;
  }
  cell->valid = array->null_count != 0 ? array->buffers[0] : NULL;
  cell->values = array->n_buffers > 1 ? array->buffers[1] : NULL;
  cell->data =
      array->n_buffers > 2 && array->buffers[2] != NULL ? array->buffers[2] : (const uint8_t *)"";
  cell->offset = array->offset;
  for (int32_t i = 0; i < cell->n_children; i++) {
    if (!bind_cell(&cell->children[i], array->children[i])) {
      return false;
    }
  }
  return true;
}

tarn_status cli_cells_bind(cli_cells *cells, const struct ArrowArray *batch, tarn_error *err) {
  return bind_cell(&cells->root, batch)
             ? TARN_OK
             : cli_error(err, TARN_E_INTERNAL, "a batch does not have the layout of its schema");
}
