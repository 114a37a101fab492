/* inspect.c - a Parquet file's footer as one JSON object.
 *
 *   {"format": "parquet", "created_by": "...", "version": 1, "num_rows": 3, "schema": [...],
 *    "row_groups": [{"rows", "bytes", "columns": [{...}]}], "key_value_metadata": ["..."]}
 *
 * schema is a tree of the file's own elements. Bounds are given as the value of the Paimon type
 * that the column is read as; where that cannot be told they are left out.
 */
#include <stdio.h>

#include "format/parquet/convert.h"
#include "format/parquet/file.h"

/* All calls stop at the first failure, which is told at the end. */
typedef struct writer {
  tn_buf *out;
  const tn_pq_file *file;
  tn_arena arena;
  const tn_field *fields; /* the columns as they are read */
  tarn_status status;
  tarn_error *err;
} writer;

static void text(writer *w, const char *s) {
  if (w->status == TARN_OK) {
    w->status = tn_buf_text(w->out, s, w->err);
  }
}

static void quoted(writer *w, tn_slice s) {
  if (w->status == TARN_OK) {
    w->status = tn_json_quote(w->out, s, w->err);
  }
}

static void number(writer *w, const char *name, int64_t value) {
  if (w->status == TARN_OK) {
    w->status = tn_buf_printf(w->out, w->err, "\"%s\": %lld", name, (long long)value);
  }
}

static void label(writer *w, const char *name, const char *value) {
  if (w->status == TARN_OK) {
    w->status = tn_buf_printf(w->out, w->err, "\"%s\": \"%s\"", name, value);
  }
}

/* ------------------------------------------------------------------ schema */

/* Elements that are still to be written on one level of the tree. */
typedef struct open_level {
  int32_t left;
} open_level;

static void element(writer *w, const tn_pq_element *e) {
  static const char *const repetitions[] = {"required", "optional", "repeated"};
  char shape[160];
  text(w, "{\"name\": ");
  quoted(w, tn_slice_text(e->name));
  text(w, ", ");
  label(w, "repetition", repetitions[e->repetition]);
  if (e->field_id >= 0) {
    text(w, ", ");
    number(w, "id", e->field_id);
  }
  if (!e->is_group) {
    text(w, ", ");
    label(w, "physical", tn_pq_physical_name((int32_t)e->physical));
  }
  if (!e->is_group && e->physical == TN_PQ_FIXED) {
    text(w, ", ");
    number(w, "length", e->type_length);
  }
  if (e->logical.kind != TN_PQ_NONE) {
    // "INT32 (DATE)": what is in the outer parentheses
    const char *from;
    size_t n;
    tn_pq_element_text(e, shape, sizeof(shape));
    from = strstr(shape, " (");
    n = from != NULL ? strlen(from) : 0;
    if (n > 3) {
      shape[(size_t)(from - shape) + n - 1] = '\0';
      text(w, ", ");
      label(w, "logical", from + 2);
    }
  }
}

/* The depth-first list as a tree; its depth was bounded when the schema was built. */
static void schema(writer *w) {
  const tn_pq_footer *footer = &w->file->meta->footer;
  open_level levels[TN_PQ_MAX_DEPTH + 2];
  int depth = 0;
  levels[0].left = footer->elements[0].n_children;
  text(w, "\"schema\": [");
  for (int32_t i = 1; i < footer->n_elements && w->status == TARN_OK; i++) {
    const tn_pq_element *e = &footer->elements[i];
    if (levels[depth].left-- < 0) {
      break;
    }
    element(w, e);
    if (e->n_children > 0 && depth + 1 < (int)TN_COUNT(levels)) {
      text(w, ", \"fields\": [");
      levels[++depth].left = e->n_children;
      continue;
    }
    text(w, "}");
    while (depth > 0 && levels[depth].left == 0) {
      text(w, "]}");
      depth--;
    }
    if (levels[depth].left > 0) {
      text(w, ", ");
    }
  }
  text(w, "]");
}

/* ------------------------------------------------------------------ row groups */

static void encodings(writer *w, const tn_pq_chunk *chunk) {
  bool is_first = true;
  text(w, "\"encodings\": [");
  for (int32_t i = 0; i < TN_PQ_N_ENCODINGS; i++) {
    if ((chunk->encodings >> i & 1) != 0) {
      text(w, is_first ? "\"" : ", \"");
      text(w, tn_pq_encoding_name(i));
      text(w, "\"");
      is_first = false;
    }
  }
  text(w, "]");
}

static void bound(writer *w, const char *name, const tn_type *type, const tn_datum *value) {
  text(w, name);
  if (w->status == TARN_OK) {
    w->status = tn_datum_to_json(type, value, w->out, w->err);
  }
}

/* Bounds of a top-level column as they are in the file; what they are worth is told in stats.h. */
static void bounds(writer *w, int32_t leaf, const tn_pq_stats *stats) {
  const tn_pq_node *root = &w->file->meta->schema.root;
  tn_pq_convert convert;
  tn_datum min, max;
  for (int32_t i = 0; i < root->n_children && w->status == TARN_OK; i++) {
    const tn_pq_node *node = &root->children[i];
    const tn_type *type = &w->fields[i].type;
    if (node->kind != TN_PQ_NODE_LEAF || node->leaf != leaf) {
      continue;
    }
    if ((stats->has_bounds || stats->has_old_bounds) &&
        tn_pq_convert_bind(node, type, "", "", &convert, NULL) == TARN_OK &&
        tn_pq_convert_datum(&convert, stats->has_bounds ? stats->min : stats->old_min, &min) &&
        tn_pq_convert_datum(&convert, stats->has_bounds ? stats->max : stats->old_max, &max)) {
      bound(w, ", \"min\": ", type, &min);
      bound(w, ", \"max\": ", type, &max);
    }
    return;
  }
}

static void page_count(writer *w, const tn_pq_row_group *group, int32_t leaf) {
  tn_pq_index_bytes none = {0, {NULL, 0}};
  tn_pq_offset_index index;
  if (w->status != TARN_OK || !tn_pq_chunk_has_index(&group->chunks[leaf], TN_PQ_OFFSET_INDEX)) {
    return;
  }
  w->status = tn_pq_offset_index_load(w->file, group, leaf, &w->arena, &none, &index, w->err);
  if (w->status == TARN_OK) {
    text(w, ", ");
    number(w, "pages", index.n_pages);
  }
  tn_arena_reset(&w->arena);
}

static void chunk_object(writer *w, const tn_pq_row_group *group, int32_t leaf) {
  const tn_pq_chunk *c = &group->chunks[leaf];
  text(w, "{\"path\": ");
  quoted(w, tn_slice_text(tn_pq_leaf_path(w->file, leaf)));
  text(w, ", ");
  encodings(w, c);
  text(w, ", ");
  label(w, "codec", tn_pq_codec_label(c->codec));
  text(w, ", ");
  number(w, "values", c->n_values);
  text(w, ", ");
  number(w, "compressed_bytes", c->compressed_bytes);
  text(w, ", ");
  number(w, "uncompressed_bytes", c->uncompressed_bytes);
  text(w, ", ");
  number(w, "data_page_offset", c->data_page_offset);
  if (c->dictionary_page_offset > 0) {
    text(w, ", ");
    number(w, "dictionary_page_offset", c->dictionary_page_offset);
  }
  if (c->bloom_filter_offset > 0) {
    text(w, ", ");
    number(w, "bloom_filter_offset", c->bloom_filter_offset);
  }
  if (c->stats.null_count >= 0) {
    text(w, ", ");
    number(w, "null_count", c->stats.null_count);
  }
  bounds(w, leaf, &c->stats);
  page_count(w, group, leaf);
  text(w, tn_pq_chunk_has_index(c, TN_PQ_COLUMN_INDEX) ? ", \"has_column_index\": true}"
                                                       : ", \"has_column_index\": false}");
}

static void row_groups(writer *w) {
  const tn_pq_footer *footer = &w->file->meta->footer;
  text(w, "\"row_groups\": [");
  for (int32_t i = 0; i < footer->n_row_groups && w->status == TARN_OK; i++) {
    const tn_pq_row_group *group = &footer->row_groups[i];
    text(w, i > 0 ? ", {" : "{");
    number(w, "rows", group->n_rows);
    text(w, ", ");
    number(w, "bytes", group->total_bytes);
    text(w, ", \"columns\": [");
    for (int32_t leaf = 0; leaf < footer->n_leaves && w->status == TARN_OK; leaf++) {
      text(w, leaf > 0 ? ", " : "");
      chunk_object(w, group, leaf);
    }
    text(w, "]}");
  }
  text(w, "]");
}

/* ------------------------------------------------------------------ the file */

static void file_object(writer *w) {
  const tn_pq_footer *footer = &w->file->meta->footer;
  text(w, "{\"format\": \"parquet\", \"created_by\": ");
  quoted(w, footer->created_by);
  text(w, ", ");
  number(w, "version", footer->version);
  text(w, ", ");
  number(w, "num_rows", footer->n_rows);
  text(w, ", ");
  schema(w);
  text(w, ", ");
  row_groups(w);
  text(w, ", \"key_value_metadata\": [");
  for (int32_t i = 0; i < footer->n_key_values; i++) {
    text(w, i > 0 ? ", " : "");
    quoted(w, footer->key_values[i].key);
  }
  text(w, "]}");
}

tarn_status tn_pq_inspect(tn_format_file *file, tn_buf *out, tarn_error *err) {
  tarn_env *env = file->env;
  tn_arena fields_arena;
  tn_field *fields = NULL;
  int32_t n_fields = 0;
  writer w;
  memset(&w, 0, sizeof(w));
  w.out = out;
  w.file = tn_pq_file_of(file);
  w.err = err;
  tn_arena_init(&w.arena, &env->mem, env->mem.budget_bytes);
  tn_arena_init(&fields_arena, &env->mem, env->mem.budget_bytes);
  w.status = tn_pq_schema_fields(&fields_arena, &w.file->meta->schema, file->file->path, &fields,
                                 &n_fields, err);
  w.fields = fields;
  file_object(&w);
  tn_arena_reset(&w.arena);
  tn_arena_reset(&fields_arena);
  return w.status;
}
