/* writer.c - which formats can be written. */
#include "format/writer.h"

#include "base/ascii.h"
#include "format/avro/avro_write.h"
#include "format/parquet/write.h"

static const tn_format_writer_ops *const writers[] = {&tn_parquet_writer_ops, &tn_avro_writer};

tarn_status tn_format_writer_by_name(tn_slice name, const tn_format_writer_ops **out,
                                     tarn_error *err) {
  *out = NULL;
  for (size_t i = 0; i < TN_COUNT(writers); i++) {
    if (tn_slice_is_nocase(name, writers[i]->name)) {
      *out = writers[i];
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_UNSUPPORTED, "files of format \"%.*s\" cannot be written",
                 TN_SLICE_ARG(name));
}
