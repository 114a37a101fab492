/* thrift.c - values by type, and stepping over what is not wanted without recursion. */
#include "format/parquet/thrift.h"

#define MAX_SKIP_DEPTH 32 /* nesting of unknown values that is stepped over */

void tn_thrift_init(tn_thrift *t, tn_slice bytes) {
  t->start = t->at = bytes.data;
  t->end = bytes.len > 0 ? bytes.data + bytes.len : bytes.data;
  t->fault = TN_THRIFT_OK;
}

static void fail(tn_thrift *t, tn_thrift_fault fault) {
  if (t->fault == TN_THRIFT_OK) {
    t->fault = fault;
  }
  t->at = t->end;  // whoever reads on finds nothing
}

static size_t bytes_left(const tn_thrift *t) {
  return (size_t)(t->end - t->at);
}

static uint8_t read_byte(tn_thrift *t) {
  if (t->at == t->end) {
    fail(t, TN_THRIFT_SHORT);
    return 0;
  }
  return *t->at++;
}

static uint64_t read_varint(tn_thrift *t) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte = read_byte(t);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  fail(t, TN_THRIFT_BAD);
  return 0;
}

static int64_t read_zigzag(tn_thrift *t) {
  uint64_t v = read_varint(t);
  return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static tn_slice read_binary(tn_thrift *t) {
  uint64_t len = read_varint(t);
  tn_slice s = {t->at, 0};
  if (len > bytes_left(t)) {
    fail(t, TN_THRIFT_SHORT);
    return s;
  }
  s.len = (size_t)len;
  t->at += len;
  return s;
}

static void advance(tn_thrift *t, size_t n) {
  if (n > bytes_left(t)) {
    fail(t, TN_THRIFT_SHORT);
  } else {
    t->at += n;
  }
}

bool tn_thrift_next(tn_thrift *t, tn_thrift_field *field) {
  uint8_t head = read_byte(t);
  if (!tn_thrift_is_ok(t) || head == TN_THRIFT_STOP) {
    return false;
  }
  field->type = head & 0x0f;
  if (field->type == TN_THRIFT_STOP || field->type > TN_THRIFT_UUID) {
    fail(t, TN_THRIFT_BAD);
    return false;
  }
  if (head >> 4 != 0) {
    field->id += head >> 4;
  } else {
    field->id = (int16_t)read_zigzag(t);
  }
  if (field->id > INT16_MAX) {
    fail(t, TN_THRIFT_BAD);
  }
  return tn_thrift_is_ok(t);
}

static void read_list_head(tn_thrift *t, uint8_t *element_type, int64_t *count) {
  uint8_t head = read_byte(t);
  uint64_t n = head >> 4;
  *element_type = head & 0x0f;
  *count = 0;
  if (n == 15) {
    n = read_varint(t);
  }
  if (n > bytes_left(t)) {
    fail(t, TN_THRIFT_SHORT);
    return;
  }
  *count = (int64_t)n;
}

/* What is still to be stepped over on one level of nesting. */
typedef struct skip_level {
  uint8_t type;       /* of elements; STRUCT: fields until the stop byte */
  uint8_t value_type; /* MAP: of values, `type` is that of keys */
  int64_t count;      /* elements left (keys and values count each); -1: a struct's fields */
  int32_t field_id;
} skip_level;

/* One value without nested parts is stepped over at once; others become a new level. */
static bool skip_value(tn_thrift *t, uint8_t type, bool is_element, skip_level *nested) {
  switch (type) {
    case TN_THRIFT_TRUE:
    case TN_THRIFT_FALSE:
      advance(t, is_element ? 1 : 0);  // a field's boolean is in its header
      return false;
    case TN_THRIFT_BYTE:
      advance(t, 1);
      return false;
    case TN_THRIFT_I16:
    case TN_THRIFT_I32:
    case TN_THRIFT_I64:
      read_varint(t);
      return false;
    case TN_THRIFT_DOUBLE:
      advance(t, 8);
      return false;
    case TN_THRIFT_UUID:
      advance(t, 16);
      return false;
    case TN_THRIFT_BINARY:
      read_binary(t);
      return false;
    case TN_THRIFT_LIST:
    case TN_THRIFT_SET:
      read_list_head(t, &nested->type, &nested->count);
      nested->value_type = nested->type;
      return true;
    case TN_THRIFT_MAP: {
      uint64_t n = read_varint(t);
      uint8_t types = n > 0 ? read_byte(t) : 0;
      if (n > bytes_left(t)) {
        fail(t, TN_THRIFT_SHORT);
        return false;
      }
      nested->type = types >> 4;
      nested->value_type = types & 0x0f;
      nested->count = (int64_t)n * 2;
      return true;
    }
    case TN_THRIFT_STRUCT:
      nested->type = TN_THRIFT_STRUCT;
      nested->count = -1;
      nested->field_id = 0;
      return true;
    default:
      fail(t, TN_THRIFT_BAD);
      return false;
  }
}

static void skip_levels(tn_thrift *t, skip_level *levels, int depth) {
  while (depth >= 0 && tn_thrift_is_ok(t)) {
    skip_level *level = &levels[depth];
    skip_level nested = {0, 0, 0, 0};
    bool is_nested;
    if (level->count < 0) {
      tn_thrift_field field = {level->field_id, 0};
      if (!tn_thrift_next(t, &field)) {
        depth--;
        continue;
      }
      level->field_id = field.id;
      is_nested = skip_value(t, field.type, false, &nested);
    } else if (level->count == 0) {
      depth--;
      continue;
    } else {
      // keys are met at even counts
      uint8_t type = level->count % 2 == 0 ? level->type : level->value_type;
      level->count--;
      is_nested = skip_value(t, type, true, &nested);
    }
    if (is_nested) {
      if (depth + 1 >= MAX_SKIP_DEPTH) {
        fail(t, TN_THRIFT_BAD);
        return;
      }
      levels[++depth] = nested;
    }
  }
}

void tn_thrift_skip(tn_thrift *t, const tn_thrift_field *field) {
  skip_level levels[MAX_SKIP_DEPTH];
  if (skip_value(t, field->type, false, &levels[0])) {
    skip_levels(t, levels, 0);
  }
}

void tn_thrift_skip_elements(tn_thrift *t, uint8_t element_type, int64_t count) {
  skip_level levels[MAX_SKIP_DEPTH];
  levels[0] = (skip_level){element_type, element_type, count, 0};
  skip_levels(t, levels, 0);
}

static bool is_integer(uint8_t type) {
  return type == TN_THRIFT_I16 || type == TN_THRIFT_I32 || type == TN_THRIFT_I64;
}

bool tn_thrift_i64(tn_thrift *t, const tn_thrift_field *field, int64_t *out) {
  int64_t value;
  if (field->type == TN_THRIFT_BYTE) {
    value = (int8_t)read_byte(t);
  } else if (is_integer(field->type)) {
    value = read_zigzag(t);
  } else {
    tn_thrift_skip(t, field);
    return false;
  }
  if (!tn_thrift_is_ok(t)) {
    return false;
  }
  *out = value;
  return true;
}

bool tn_thrift_i32(tn_thrift *t, const tn_thrift_field *field, int32_t *out) {
  int64_t value;
  if (!tn_thrift_i64(t, field, &value)) {
    return false;
  }
  if (value < INT32_MIN || value > INT32_MAX) {
    fail(t, TN_THRIFT_BAD);
    return false;
  }
  *out = (int32_t)value;
  return true;
}

bool tn_thrift_bool(tn_thrift *t, const tn_thrift_field *field, bool *out) {
  if (field->type != TN_THRIFT_TRUE && field->type != TN_THRIFT_FALSE) {
    tn_thrift_skip(t, field);
    return false;
  }
  *out = field->type == TN_THRIFT_TRUE;
  return true;
}

bool tn_thrift_binary(tn_thrift *t, const tn_thrift_field *field, tn_slice *out) {
  tn_slice s;
  if (field->type != TN_THRIFT_BINARY) {
    tn_thrift_skip(t, field);
    return false;
  }
  s = read_binary(t);
  if (!tn_thrift_is_ok(t)) {
    return false;
  }
  *out = s;
  return true;
}

bool tn_thrift_open(tn_thrift *t, const tn_thrift_field *field) {
  if (field->type != TN_THRIFT_STRUCT) {
    tn_thrift_skip(t, field);
    return false;
  }
  return true;
}

bool tn_thrift_list(tn_thrift *t, const tn_thrift_field *field, uint8_t *element_type,
                    int64_t *count) {
  if (field->type != TN_THRIFT_LIST && field->type != TN_THRIFT_SET) {
    tn_thrift_skip(t, field);
    return false;
  }
  read_list_head(t, element_type, count);
  return tn_thrift_is_ok(t);
}

bool tn_thrift_list_of(tn_thrift *t, const tn_thrift_field *field, uint8_t element_type,
                       int64_t *count) {
  uint8_t found;
  if (!tn_thrift_list(t, field, &found, count)) {
    return false;
  }
  if (found != element_type) {
    tn_thrift_skip_elements(t, found, *count);
    return false;
  }
  return true;
}

int64_t tn_thrift_element_int(tn_thrift *t) {
  return read_zigzag(t);
}

bool tn_thrift_element_bool(tn_thrift *t) {
  return read_byte(t) == TN_THRIFT_TRUE;
}

tn_slice tn_thrift_element_binary(tn_thrift *t) {
  return read_binary(t);
}
