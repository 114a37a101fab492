/* stream_sink.h - a sink whose bytes go to a function: a file that is a pipe, or the caller's.
 *
 * Bytes come in order and are never taken back: tn_sink_abort() drops what is still gathered.
 */
#ifndef TN_IO_STREAM_SINK_H
#define TN_IO_STREAM_SINK_H

#include "io/storage.h"

/* Take all bytes, or fail. */
typedef tarn_status (*tn_stream_write_fn)(void *ctx, const void *data, size_t n_bytes,
                                          tarn_error *err);

/* name: for messages; copied. write, ctx: used until the sink is finished or aborted. */
TN_CHECKED tarn_status tn_stream_sink(tarn_env *env, const char *name, tn_stream_write_fn write,
                                      void *ctx, tn_sink **out, tarn_error *err);

#endif
