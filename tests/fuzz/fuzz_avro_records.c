/* room: model */
/* Manifest lists, manifests and index manifests in Avro: the same bytes as each of the three. */
#include "format/avro/avro.h"
#include "fuzz/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const tn_record_readers readers = {.avro = tn_avro_read_records};
  return read_as_each(&readers, data, size);
}
