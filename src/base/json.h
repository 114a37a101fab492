/* json.h - reading JSON files of Paimon, over jansson; and writing JSON text.
 *
 * A document is read whole. Values are borrowed from the document. Integers keep all 64 bits.
 * Getters take the name of the file for their message.
 */
#ifndef TN_BASE_JSON_H
#define TN_BASE_JSON_H

#include "base/buf.h"

typedef struct tn_json_doc tn_json_doc; /* owned */
typedef struct tn_json tn_json;         /* a value in a document, borrowed; NULL = absent */

typedef enum tn_json_kind {
  TN_JSON_NULL,
  TN_JSON_BOOL,
  TN_JSON_INT,
  TN_JSON_REAL,
  TN_JSON_STRING,
  TN_JSON_ARRAY,
  TN_JSON_OBJECT
} tn_json_kind;

/* Of members with one name the last wins. Errors: CORRUPT with path, line and column (also for
 * bytes that are not UTF-8, for integers that need more than 64 bits and for nesting deeper than
 * 512), NOMEM. Untrusted; memory is up to about 100 times the text. */
TN_CHECKED tarn_status tn_json_parse(tn_mem *mem, tn_slice text, const char *path,
                                     tn_json_doc **out, tarn_error *err);
void tn_json_free(tn_json_doc *doc);
const tn_json *tn_json_root(const tn_json_doc *doc);

tn_json_kind tn_json_kind_of(const tn_json *value); /* NULL value: TN_JSON_NULL */
/* Member of an object; NULL when absent, null, or not an object. */
const tn_json *tn_json_get(const tn_json *object, const char *key);
size_t tn_json_count(const tn_json *array_or_object);
const tn_json *tn_json_at(const tn_json *array, size_t i);
/* The members of an object in file order: start with iter = NULL; false at the end. */
typedef struct tn_json_member {
  const char *key;
  const tn_json *value;
  void *iter;
} tn_json_member;
bool tn_json_next(const tn_json *object, tn_json_member *member);

bool tn_json_text(const tn_json *value, tn_slice *out); /* of a string only */
bool tn_json_int(const tn_json *value, int64_t *out);   /* also from an integral string */
bool tn_json_bool(const tn_json *value, bool *out);
bool tn_json_real(const tn_json *value, double *out); /* from an integer, too */

/* Members that must have a type. Absent or null: *is_present false (or CORRUPT when is_present is
 * NULL). Another type: CORRUPT naming path and key. */
TN_CHECKED tarn_status tn_json_get_int(const tn_json *object, const char *key, const char *path,
                                       int64_t *out, bool *is_present, tarn_error *err);
TN_CHECKED tarn_status tn_json_get_text(const tn_json *object, const char *key, const char *path,
                                        tn_slice *out, bool *is_present, tarn_error *err);

/* Append the text of a string, or the JSON text of a number or boolean, as Jackson gives it for a
 * member that is declared to be a String. Others are CORRUPT. */
TN_CHECKED tarn_status tn_json_scalar_text(const tn_json *value, tn_buf *out, tarn_error *err);

/* Append text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD; everything
 * from U+0020 but quote and backslash is kept as is. */
TN_CHECKED tarn_status tn_json_quote(tn_buf *out, tn_slice text, tarn_error *err);
/* A list of such strings. */
TN_CHECKED tarn_status tn_json_quote_list(tn_buf *out, const char *const *texts, int32_t n,
                                          tarn_error *err);

#endif
