/* parquet.h - Arrow batches as a Parquet file, written front to back to wherever the caller wants.
 *
 *   tarn_parquet_writer *writer;
 *   tarn_parquet_writer_create(env, &schema, options, n_options, write, ctx, &writer, &err);
 *   tarn_parquet_writer_write(writer, &array, &err);               // as often as there are rows
 *   tarn_parquet_writer_finish(writer, &err);                      // the footer
 *   tarn_parquet_writer_free(writer);
 *
 * The file is as the data files of tables are: types, names and ids of columns (the metadata
 * "paimon.id" and "paimon.type" where the schema has them), page checksums, statistics.
 */
#ifndef TARN_PARQUET_H
#define TARN_PARQUET_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_parquet_writer tarn_parquet_writer; /* one thread at a time */

/* Take all bytes: 0. Otherwise the number of a system error (errno), which the call that wrote
 * fails with: TARN_E_IO. Called from within the calls below, by their thread. */
typedef int32_t (*tarn_write_fn)(void *ctx, const void *bytes, size_t n_bytes);

/* Begin a file.
 *
 * schema     a struct of columns; borrowed for the call. NULL: no columns
 * options    as tables have them: file.compression (zstd; snappy, lz4, gzip, brotli, none),
 *            file.compression.zstd-level, file.block-size (bytes of a row group, which is held in
 *            memory), parquet.page.size, parquet.page.row.count.limit,
 *            parquet.dictionary.page.size, parquet.enable.dictionary; borrowed for the call
 * write      called with ctx until the writer is finished or freed
 * out        owned by the caller: tarn_parquet_writer_free()
 * Errors: TARN_E_INVALID (a column's type or an option's value), TARN_E_NOT_FOUND (an unknown
 * option), TARN_E_UNSUPPORTED (a compression, a layout, by name), TARN_E_NOMEM.
 *
 * VECTOR columns become lists and BLOB columns bytes. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_parquet_writer_create(
    tarn_env *env, const struct ArrowSchema *schema, const tarn_option *options, size_t n_options,
    tarn_write_fn write, void *ctx, tarn_parquet_writer **out, tarn_error *err);
/* Append the rows of a struct array of that schema; it is only read, and not released.
 * Errors: TARN_E_INVALID naming the column (a null where the type is NOT NULL, text that is not
 * UTF-8), TARN_E_IO, TARN_E_LIMIT, TARN_E_NOMEM; TARN_E_STATE behind the end or a failure. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_parquet_writer_write(tarn_parquet_writer *writer,
                                                               const struct ArrowArray *array,
                                                               tarn_error *err);
/* Write what is left, and the footer: then the file is whole. Without rows it is one, too. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_parquet_writer_finish(tarn_parquet_writer *writer,
                                                                tarn_error *err);
/* Accepts NULL. Unless it was finished, what was written is no file. */
TARN_EXPORT void tarn_parquet_writer_free(tarn_parquet_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
