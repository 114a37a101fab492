/* changes.c - the rows of a stream as records of Debezium or Canal. */
#include "changes.h"

#include <stdlib.h>
#include <time.h>

#include "errors.h"
#include "json.h"

#define FIRST_COLUMN 2 /* behind the row kind and the snapshot */
#define NO_SNAPSHOT INT64_MIN

enum { INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE };

struct cli_changes {
  cli_cells *cells;
  cli_changes_kind kind;
  cli_text table; /* members that tell the table */
  int32_t *keys;  /* owned: columns of the primary key; none when one of them is not printed */
  int32_t n_keys;
  int64_t count;
  int64_t now_ms, made_ms;
  int64_t snapshot; /* of `tail`; NO_SNAPSHOT: null */
  bool has_tail;
  cli_text tail, end; /* in front of the operation, and behind it */
  bool waits;
  int64_t waiting_snapshot;
  cli_text before; /* the row that waits, as an object */
  size_t *spans;   /* owned: where each of its values begins and ends, in pairs */
  size_t *after_spans;
  cli_text key, other_key;
};

/* ------------------------------------------------------------------ values of a feed */

static const uint8_t *get_bytes(const cli_cell *cell, int64_t at, size_t *n) {
  int32_t pair[2];
  memcpy(pair, (const int32_t *)cell->values + at, sizeof(pair));
  *n = (size_t)(pair[1] - pair[0]);
  return cell->data + pair[0];
}

static void feed_quoted(cli_cell *cell, int64_t at, cli_text *out) {
  cli_text_char(out, '"');
  cell->plain(cell, at, out);
  cli_text_char(out, '"');
}

static void feed_base64(cli_cell *cell, int64_t at, cli_text *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t n;
  const uint8_t *bytes = get_bytes(cell, at, &n);
  char *to = cli_text_room(out, (n + 2) / 3 * 4 + 2), *begin = to;
  if (to == NULL) {
    return;
  }
  *to++ = '"';
  for (size_t i = 0; i < n; i += 3) {
    size_t left = n - i;
    uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                    (left > 2 ? bytes[i + 2] : 0);
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[bits & 63] : '=';
  }
  *to++ = '"';
  out->len += (size_t)(to - begin);
}

static void feed_latin1(cli_cell *cell, int64_t at, cli_text *out) {
  cli_text *scratch = &cell->scratch;
  size_t n;
  const uint8_t *bytes = get_bytes(cell, at, &n);
  scratch->len = 0;
  for (size_t i = 0; i < n; i++) {
    if (bytes[i] >= 0x80) {
      cli_text_char(scratch, (char)(0xC0 | bytes[i] >> 6));
      cli_text_char(scratch, (char)(0x80 | (bytes[i] & 0x3F)));
    } else {
      cli_text_char(scratch, (char)bytes[i]);
    }
  }
  out->is_broken |= scratch->is_broken;
  cli_text_json(out, scratch->data, scratch->len);
}

static void feed_object(cli_cell *cell, int64_t at, cli_text *out) {
  cli_cell *pairs = &cell->children[0];
  int32_t pair[2];
  memcpy(pair, (const int32_t *)cell->values + at, sizeof(pair));
  cli_text_char(out, '{');
  for (int64_t i = pair[0]; i < pair[1]; i++) {
    if (i > pair[0]) {
      cli_text_char(out, ',');
    }
    cli_cell_json(&pairs->children[0], pairs->offset + i, out);
    cli_text_char(out, ':');
    cli_cell_json(&pairs->children[1], pairs->offset + i, out);
  }
  cli_text_char(out, '}');
}

static void feed_variant(cli_cell *cell, int64_t at, cli_text *out) {
  cell->scratch.len = 0;
  cell->plain(cell, at, &cell->scratch);
  out->is_broken |= cell->scratch.is_broken;
  cli_text_json(out, cell->scratch.data, cell->scratch.len);
}

static void adapt(cli_cell *cell, const struct ArrowSchema *schema, cli_changes_kind kind) {
  const char *format = schema->format;
  if (strncmp(format, "ts", 2) == 0 || cell->is_wide) {
    cell->json = feed_quoted;
  } else if (strcmp(format, "z") == 0) {
    cell->json = kind == CLI_CHANGES_DEBEZIUM ? feed_base64 : feed_latin1;
  } else if (strcmp(format, "+s") == 0 && cell->json != cell->plain) {
    cell->json = feed_variant; /* a ROW looks the same in both forms */
    return;
  } else if (strcmp(format, "+m") == 0 &&
             strcmp(schema->children[0]->children[0]->format, "u") == 0) {
    cell->json = feed_object;
  }
  for (int32_t i = 0; i < cell->n_children; i++) {
    adapt(&cell->children[i], schema->children[i], kind);
  }
}

/* ------------------------------------------------------------------ from a table */

/* "db.t" as two members. */
static void put_names(cli_changes *c, const cli_json *json) {
  size_t at = cli_json_find(json, 0, "name");
  cli_text name = {0};
  const char *dot;
  size_t n = 0;
  if (at != SIZE_MAX) {
    cli_json_text(json, at, &name);
  }
  dot = name.len > 0 ? memchr(name.data, '.', name.len) : NULL;
  n = dot != NULL ? (size_t)(dot - name.data) : 0;
  cli_text_puts(&c->table, c->kind == CLI_CHANGES_DEBEZIUM ? "\"db\":" : "\"database\":");
  cli_text_json(&c->table, name.data, n);
  cli_text_puts(&c->table, ",\"table\":");
  n += dot != NULL;
  cli_text_json(&c->table, name.len > 0 ? name.data + n : "", name.len - n);
  c->table.is_broken |= name.is_broken;
  cli_text_reset(&name);
}

static int32_t find_column(const cli_changes *c, const cli_text *name) {
  const cli_cell *root = &c->cells->root;
  for (int32_t i = FIRST_COLUMN; i < root->n_children; i++) {
    if (strlen(root->children[i].name) == name->len &&
        memcmp(root->children[i].name, name->data, name->len) == 0) {
      return i;
    }
  }
  return -1;
}

/* The key's columns; as a member, too, for Canal. */
static bool take_keys(cli_changes *c, const cli_json *json) {
  size_t list = cli_json_find(json, 0, "primary_keys");
  size_t n = list != SIZE_MAX ? cli_json_count(json, list) : 0;
  bool has_all = true, is_canal = c->kind == CLI_CHANGES_CANAL;
  cli_text name = {0};
  c->keys = calloc(n + 1, sizeof(*c->keys));
  if (c->keys == NULL) {
    return false;
  }
  cli_text_puts(&c->table, is_canal ? ",\"pkNames\":[" : "");
  for (size_t i = n > 0 ? cli_json_first(json, list) : 0; n > 0 && i < json->nodes[list].after;
       i = json->nodes[i].after) {
    int32_t column;
    name.len = 0;
    cli_json_text(json, i, &name);
    column = name.len > 0 ? find_column(c, &name) : -1;
    has_all = has_all && column >= 0;
    if (is_canal) {
      cli_text_puts(&c->table, c->n_keys > 0 ? "," : "");
      cli_text_json(&c->table, name.data, name.len);
    }
    c->keys[c->n_keys++] = column;
  }
  cli_text_puts(&c->table, is_canal ? "]" : "");
  c->n_keys = has_all ? c->n_keys : 0;
  c->table.is_broken |= name.is_broken;
  cli_text_reset(&name);
  return !c->table.is_broken;
}

tarn_status cli_changes_create(cli_cells *cells, cli_changes_kind kind, const char *facts, size_t n,
                               cli_changes **out, tarn_error *err) {
  cli_changes *c = calloc(1, sizeof(*c));
  size_t n_spans = 2 * (size_t)cells->root.n_children + 2;
  cli_json json;
  bool is_good = false;
  *out = NULL;
  if (c != NULL) {
    c->cells = cells;
    c->kind = kind;
    c->made_ms = -1;
    c->spans = calloc(n_spans, sizeof(*c->spans));
    c->after_spans = calloc(n_spans, sizeof(*c->after_spans));
  }
  if (c != NULL && c->spans != NULL && c->after_spans != NULL && cli_json_parse(facts, n, &json)) {
    put_names(c, &json);
    is_good = take_keys(c, &json);
    cli_json_reset(&json);
  }
  if (!is_good) {
    cli_changes_free(c);
    return cli_no_memory(err);
  }
  for (int32_t i = FIRST_COLUMN; i < cells->root.n_children; i++) {
    adapt(&cells->root.children[i], cells->schema.children[i], kind);
  }
  *out = c;
  return TARN_OK;
}

void cli_changes_free(cli_changes *c) {
  if (c != NULL) {
    cli_text_reset(&c->table);
    cli_text_reset(&c->tail);
    cli_text_reset(&c->end);
    cli_text_reset(&c->before);
    cli_text_reset(&c->key);
    cli_text_reset(&c->other_key);
    free(c->keys);
    free(c->spans);
    free(c->after_spans);
    free(c);
  }
}

bool cli_changes_waits(const cli_changes *c) {
  return c->waits;
}

int64_t cli_changes_count(const cli_changes *c) {
  return c->count;
}

/* ------------------------------------------------------------------ records */

void cli_changes_begin(cli_changes *c, int64_t made_ms) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  c->now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  c->made_ms = made_ms;
  c->has_tail = false;
}

static void put_number(cli_text *out, const char *name, int64_t value, int64_t none) {
  cli_text_puts(out, name);
  if (value == none) {
    cli_text_puts(out, "null");
  } else {
    cli_text_int(out, value);
  }
}

/* What stands around the operation of records of a snapshot. */
static void make_tail(cli_changes *c, int64_t snapshot) {
  int64_t made = c->made_ms >= 0 ? c->made_ms : -1;
  if (c->has_tail && c->snapshot == snapshot) {
    return;
  }
  c->has_tail = true;
  c->snapshot = snapshot;
  c->tail.len = c->end.len = 0;
  if (c->kind == CLI_CHANGES_DEBEZIUM) {
    cli_text_puts(&c->tail, ",\"source\":{\"connector\":\"tarn\",");
    cli_text_add(&c->tail, c->table.data, c->table.len);
    put_number(&c->tail, ",\"ts_ms\":", made, -1);
    put_number(&c->tail, ",\"snapshot_id\":", snapshot, NO_SNAPSHOT);
    cli_text_puts(&c->tail, "},\"op\":\"");
    put_number(&c->end, "\",\"ts_ms\":", c->now_ms, -1);
  } else {
    cli_text_char(&c->tail, ',');
    cli_text_add(&c->tail, c->table.data, c->table.len);
    cli_text_puts(&c->tail, ",\"isDdl\":false,\"type\":\"");
    put_number(&c->end, "\",\"es\":", made, -1);
    put_number(&c->end, ",\"ts\":", c->now_ms, -1);
    put_number(&c->end, ",\"snapshot_id\":", snapshot, NO_SNAPSHOT);
  }
  cli_text_puts(&c->end, "}\n");
}

static void put_row(cli_changes *c, int64_t row, size_t *spans, cli_text *out) {
  cli_cell *root = &c->cells->root;
  char open = '{';
  if (root->n_children <= FIRST_COLUMN) {
    cli_text_char(out, open);
  }
  for (int32_t i = FIRST_COLUMN; i < root->n_children; i++) {
    cli_cell *cell = &root->children[i];
    cli_text_char(out, open);
    open = ',';
    cli_text_add(out, cell->key.data, cell->key.len);
    spans[2 * i] = out->len;
    cli_cell_json(cell, row, out);
    spans[2 * i + 1] = out->len;
  }
  cli_text_char(out, '}');
}

/* Of the row that waits what differs in the row that was just put. */
static void put_difference(cli_changes *c, cli_text *out) {
  const cli_cell *root = &c->cells->root;
  char open = '{';
  if (out->is_broken || c->before.is_broken) {
    return;
  }
  for (int32_t i = FIRST_COLUMN; i < root->n_children; i++) {
    const size_t *b = &c->spans[2 * i], *a = &c->after_spans[2 * i];
    size_t n = b[1] - b[0];
    if (n != a[1] - a[0] || memcmp(c->before.data + b[0], out->data + a[0], n) != 0) {
      cli_text_char(out, open);
      open = ',';
      cli_text_add(out, root->children[i].key.data, root->children[i].key.len);
      cli_text_add(out, c->before.data + b[0], n);
    }
  }
  cli_text_puts(out, open == '{' ? "{}" : "}");
}

static void put_key(cli_changes *c, int64_t row, cli_text *out) {
  out->len = 0;
  for (int32_t i = 0; i < c->n_keys; i++) {
    cli_cell_json(&c->cells->root.children[c->keys[i]], row, out);
    cli_text_char(out, ',');
  }
}

static void finish(cli_changes *c, int64_t snapshot, const char *op, cli_text *out) {
  make_tail(c, snapshot);
  cli_text_add(out, c->tail.data, c->tail.len);
  cli_text_puts(out, op);
  cli_text_add(out, c->end.data, c->end.len);
  out->is_broken |= c->tail.is_broken || c->end.is_broken;
  c->count++;
}

void cli_changes_end(cli_changes *c, cli_text *out) {
  if (!c->waits) {
    return;
  }
  c->waits = false;
  out->is_broken |= c->before.is_broken;
  cli_text_puts(out, c->kind == CLI_CHANGES_DEBEZIUM ? "{\"before\":" : "{\"data\":[");
  cli_text_add(out, c->before.data, c->before.len);
  if (c->kind == CLI_CHANGES_DEBEZIUM) {
    cli_text_puts(out, ",\"after\":null");
    finish(c, c->waiting_snapshot, "d", out);
  } else {
    cli_text_puts(out, "],\"old\":null");
    finish(c, c->waiting_snapshot, "DELETE", out);
  }
}

/* The row that waits belongs to the one that came. */
static bool is_pair(cli_changes *c, int64_t row) {
  put_key(c, row, &c->other_key);
  return c->key.len == c->other_key.len && !c->key.is_broken && !c->other_key.is_broken &&
         (c->key.len == 0 || memcmp(c->key.data, c->other_key.data, c->key.len) == 0);
}

static void put_after(cli_changes *c, int64_t row, int64_t snapshot, bool has_before,
                      bool is_insert, cli_text *out) {
  if (c->kind == CLI_CHANGES_DEBEZIUM) {
    cli_text_puts(out, "{\"before\":");
    if (has_before) {
      cli_text_add(out, c->before.data, c->before.len);
    } else {
      cli_text_puts(out, "null");
    }
    cli_text_puts(out, ",\"after\":");
    put_row(c, row, c->after_spans, out);
    finish(c, snapshot, is_insert ? "c" : "u", out);
    return;
  }
  cli_text_puts(out, "{\"data\":[");
  put_row(c, row, c->after_spans, out);
  cli_text_puts(out, has_before ? "],\"old\":[" : "],\"old\":null");
  if (has_before) {
    put_difference(c, out);
    cli_text_char(out, ']');
  }
  finish(c, snapshot, is_insert ? "INSERT" : "UPDATE", out);
}

void cli_changes_add(cli_changes *c, int64_t row, cli_text *out) {
  const cli_cell *kinds = &c->cells->root.children[0], *snapshots = &c->cells->root.children[1];
  int64_t snapshot = NO_SNAPSHOT;
  int8_t kind = ((const int8_t *)kinds->values)[kinds->offset + row];
  if (!cli_cell_is_null(snapshots, row)) {
    memcpy(&snapshot, (const int64_t *)snapshots->values + snapshots->offset + row,
           sizeof(snapshot));
  }
  if (c->waits && kind == UPDATE_AFTER && is_pair(c, row)) {
    c->waits = false;
    out->is_broken |= c->before.is_broken;
    put_after(c, row, snapshot, true, false, out);
    return;
  }
  cli_changes_end(c, out);
  if (kind == INSERT || kind == UPDATE_AFTER) {
    put_after(c, row, snapshot, false, kind == INSERT, out);
    return;
  }
  c->before.len = 0;
  put_row(c, row, c->spans, &c->before);
  c->waits = true;
  c->waiting_snapshot = snapshot;
  if (kind == UPDATE_BEFORE) {
    put_key(c, row, &c->key);
  } else {
    cli_changes_end(c, out);
  }
}
