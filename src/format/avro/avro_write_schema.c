/* avro_write_schema.c - the Avro schema that Java derives from Paimon's types, as JSON.
 *
 *   nullable T            ["null", T]; as a field with the default null
 *   nested records        named <record>_<field>; key and value of a map <record>_key, _value
 *   MAP, MULTISET         a map when the key is a string, else an array of {key, value}
 *   TIMESTAMP, _LTZ       the names of the one are those that Avro gives the other
 *
 * Rule: org.apache.paimon.format.avro.AvroSchemaConverter; spec: datafiles, 5.
 */
#include "base/map.h"
#include "format/avro/avro_write.h"

typedef struct printer {
  tn_buf *out;
  tn_arena names_arena;
  tn_map names; /* of records */
  tarn_error *err;
} printer;

static tarn_status print_type(printer *p, const tn_type *type, const char *record, int depth);

static tarn_status text(printer *p, const char *t) {
  return tn_buf_text(p->out, t, p->err);
}

static bool is_name(const char *name) {
  const unsigned char *c = (const unsigned char *)name;
  if (*c == '\0' || (*c >= '0' && *c <= '9')) {
    return false;
  }
  for (; *c != '\0'; c++) {
    bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c >= 0x80;
    if (!is_letter && !(*c >= '0' && *c <= '9') && *c != '_') {
      return false;
    }
  }
  return true;
}

static tarn_status check_name(printer *p, const char *name) {
  return is_name(name) ? TARN_OK
                       : tn_fail(p->err, TARN_E_INVALID,
                                 "column \"%s\": Avro files allow letters, digits and \"_\" in "
                                 "names, and no digit in front",
                                 name);
}

/* A record of a name that is taken would be another record's second meaning. */
static tarn_status use_record_name(printer *p, const char *name) {
  bool is_new = false;
  tn_map_entry *entry;
  TN_TRY(tn_map_put(&p->names, tn_slice_text(name), &entry, &is_new, p->err));
  return is_new ? TARN_OK
                : tn_fail(p->err, TARN_E_INVALID,
                          "columns whose names make two records \"%s\" of an Avro file", name);
}

/* "<record>_<part>" */
static tarn_status join(printer *p, const char *record, const char *part, const char **out) {
  *out = tn_arena_printf(&p->names_arena, "%s_%s", record, part);
  return *out != NULL ? TARN_OK : tn_oom(p->err);
}

static tarn_status print_field(printer *p, const char *name, const tn_type *type,
                               const char *record, bool has_default, int depth) {
  TN_TRY(text(p, "{\"name\":"));
  TN_TRY(tn_json_quote(p->out, tn_slice_text(name), p->err));
  TN_TRY(text(p, ",\"type\":"));
  TN_TRY(print_type(p, type, record, depth));
  return text(p, has_default && type->is_nullable ? ",\"default\":null}" : "}");
}

static tarn_status print_fields(printer *p, const tn_field *fields, int32_t n_fields,
                                const char *record, int depth) {
  for (int32_t i = 0; i < n_fields; i++) {
    const char *inner;
    TN_TRY(check_name(p, fields[i].name));
    TN_TRY(join(p, record, fields[i].name, &inner));
    TN_TRY(text(p, i > 0 ? "," : ""));
    TN_TRY(print_field(p, fields[i].name, &fields[i].type, inner, true, depth));
  }
  return TARN_OK;
}

static tarn_status open_record(printer *p, const char *record) {
  TN_TRY(use_record_name(p, record));
  TN_TRY(text(p, "{\"type\":\"record\",\"name\":"));
  TN_TRY(tn_json_quote(p->out, tn_slice_text(record), p->err));
  return text(p, ",\"fields\":[");
}

static tarn_status print_map(printer *p, const tn_type *type, const char *record, int depth) {
  static const tn_type COUNT = {.root = TN_INT, .is_nullable = true};
  const tn_type *key = &type->fields[0].type;
  const tn_type *value = type->root == TN_MULTISET ? &COUNT : &type->fields[1].type;
  const char *inner;
  if (tn_type_is_string(key)) {
    TN_TRY(text(p, "{\"type\":\"map\",\"values\":"));
    TN_TRY(print_type(p, value, record, depth));
    return text(p, "}");
  }
  TN_TRY(text(p, "{\"type\":\"array\",\"items\":"));
  TN_TRY(open_record(p, record));
  TN_TRY(join(p, record, "key", &inner));
  TN_TRY(print_field(p, "key", key, inner, false, depth));
  TN_TRY(text(p, ","));
  TN_TRY(join(p, record, "value", &inner));
  TN_TRY(print_field(p, "value", value, inner, true, depth));
  return text(p, "]},\"logicalType\":\"map\"}");
}

static tarn_status lacks(printer *p, const tn_type *type) {
  return tn_fail(p->err, TARN_E_UNSUPPORTED, "type %s in Avro files", tn_type_text_of(type).text);
}

static tarn_status print_timestamp(printer *p, const tn_type *type) {
  if (type->precision > 6) {
    return lacks(p, type);
  }
  return tn_buf_printf(p->out, p->err, "{\"type\":\"long\",\"logicalType\":\"%stimestamp-%s\"}",
                       type->root == TN_TIMESTAMP ? "" : "local-",
                       type->precision <= 3 ? "millis" : "micros");
}

static tarn_status print_value_type(printer *p, const tn_type *type, const char *record,
                                    int depth) {
  switch (type->root) {
    case TN_BOOLEAN:
      return text(p, "\"boolean\"");
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
      return text(p, "\"int\"");
    case TN_BIGINT:
      return text(p, "\"long\"");
    case TN_FLOAT:
      return text(p, "\"float\"");
    case TN_DOUBLE:
      return text(p, "\"double\"");
    case TN_CHAR:
    case TN_VARCHAR:
      return text(p, "\"string\"");
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      return text(p, "\"bytes\"");
    case TN_DECIMAL:
      return tn_buf_printf(
          p->out, p->err,
          "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d}",
          (int)type->precision, (int)type->scale);
    case TN_DATE:
      return text(p, "{\"type\":\"int\",\"logicalType\":\"date\"}");
    case TN_TIME:
      return type->precision > 3 ? lacks(p, type)
                                 : text(p, "{\"type\":\"int\",\"logicalType\":\"time-millis\"}");
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return print_timestamp(p, type);
    case TN_ARRAY:
    case TN_VECTOR:
      TN_TRY(text(p, "{\"type\":\"array\",\"items\":"));
      TN_TRY(print_type(p, &type->fields[0].type, record, depth));
      return text(p, "}");
    case TN_MAP:
    case TN_MULTISET:
      return print_map(p, type, record, depth);
    case TN_ROW:
      TN_TRY(open_record(p, record));
      TN_TRY(print_fields(p, type->fields, type->n_fields, record, depth));
      return text(p, "]}");
    default:
      return lacks(p, type);
  }
}

static tarn_status print_type(printer *p, const tn_type *type, const char *record, int depth) {
  if (depth >= TN_MAX_TYPE_DEPTH) {
    return tn_fail(p->err, TARN_E_LIMIT, "a type nested deeper than %d", TN_MAX_TYPE_DEPTH);
  }
  if (!type->is_nullable) {
    return print_value_type(p, type, record, depth + 1);
  }
  TN_TRY(text(p, "[\"null\","));
  TN_TRY(print_value_type(p, type, record, depth + 1));
  return text(p, "]");
}

tarn_status tn_avro_schema_of_fields(const tn_field *fields, int32_t n_fields, tn_buf *out,
                                     tarn_error *err) {
  tarn_status st = TARN_OK;
  printer p = {.out = out, .err = err};
  tn_arena_init(&p.names_arena, out->mem, SIZE_MAX);
  tn_map_init(&p.names, out->mem);
  TN_TRY_TO(done, use_record_name(&p, "record"));
  TN_TRY_TO(done, text(&p,
                       "{\"type\":\"record\",\"name\":\"record\",\"namespace\":"
                       "\"org.apache.paimon.avro.generated\",\"fields\":["));
  TN_TRY_TO(done, print_fields(&p, fields, n_fields, "record", 0));
  TN_TRY_TO(done, text(&p, "]}"));
done:
  tn_map_reset(&p.names);
  tn_arena_reset(&p.names_arena);
  return st;
}
