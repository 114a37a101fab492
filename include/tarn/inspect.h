/* inspect.h - looking into a single file of a table; and small helpers for tools.
 */
#ifndef TARN_INSPECT_H
#define TARN_INSPECT_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file is and holds, as one JSON object: Parquet (footer, schema, row groups, encodings,
 * statistics), Avro (schema, codec, blocks), manifest list, manifest, index manifest (told by the
 * records' fields), files of BLOBs, deletion vectors (container files), hash indexes, file indexes,
 * snapshots, tags, changelogs, schemas, consumers, statistics and other JSON, hints. A file of
 * metadata that is not as it should be has a member "fault".
 * out: tarn_string_free(). Errors: TARN_E_NOT_FOUND, TARN_E_CORRUPT, TARN_E_UNSUPPORTED (what it
 * is, or that it is none of these), TARN_E_IO. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_inspect(tarn_env *env, const char *path, tarn_string *out,
                                                  tarn_error *err);
/* Its rows with the columns the file itself names: Parquet, Avro (manifests, too), BLOBs; deletion
 * vectors ("vector": its offset in the file, "position") and hash indexes ("hash").
 * limit               the most rows; negative: all
 * timestamp_ns_as_us  as of scans (tarn_scan_options) */
TARN_EXPORT TARN_CHECKED tarn_status tarn_inspect_rows(tarn_env *env, const char *path,
                                                       int64_t limit, int32_t timestamp_ns_as_us,
                                                       struct ArrowArrayStream *out,
                                                       tarn_error *err);

/* The JSON text of a VARIANT value (spec: Parquet Variant encoding 1). out: tarn_string_free().
 * Errors: TARN_E_CORRUPT. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_variant_to_json(tarn_env *env, const void *metadata,
                                                          size_t n_metadata, const void *value,
                                                          size_t n_value, tarn_string *out,
                                                          tarn_error *err);
/* A VARIANT value from JSON text, byte for byte as Java makes it (plain numbers of up to 38 digits
 * are exact). metadata, value: tarn_string_free() (data may hold NULs).
 * Errors: TARN_E_INVALID (no JSON, with the byte where it went wrong; a name twice in an object),
 * TARN_E_LIMIT (nesting). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_variant_from_json(tarn_env *env, const char *text,
                                                            size_t n_text, tarn_string *metadata,
                                                            tarn_string *value, tarn_error *err);
/* Java's text of a FLOAT or DOUBLE; out has room for 32 bytes; returns the length. */
TARN_EXPORT size_t tarn_float_text(float value, char *out);
TARN_EXPORT size_t tarn_double_text(double value, char *out);

#ifdef __cplusplus
}
#endif
#endif
