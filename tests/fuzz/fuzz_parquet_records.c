/* room: model */
/* Manifest lists, manifests and index manifests in Parquet: the same bytes as each of the three. */
#include "format/parquet/parquet.h"
#include "fuzz/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const tn_record_readers readers = {.parquet = tn_pq_read_records};
  return read_as_each(&readers, data, size);
}
