/* wide_time.c - timestamps that come as decimals. */
#include "wide_time.h"

#include <string.h>

#include "nanoarrow/nanoarrow.h"

cli_wide_time cli_wide_time_of(const struct ArrowSchema *schema) {
  static const char local[] = "TIMESTAMP(n)", zone[] = " WITH LOCAL TIME ZONE";
  const int64_t n_local = sizeof(local) - 1, n_zone = sizeof(zone) - 1;
  struct ArrowStringView type = {NULL, 0};
  if (strcmp(schema->format, "d:38,9") != 0 ||
      ArrowMetadataGetValue(schema->metadata, ArrowCharView("paimon.type"), &type) !=
          NANOARROW_OK ||
      type.size_bytes < n_local || memcmp(type.data, local, sizeof("TIMESTAMP") - 1) != 0) {
    return CLI_WIDE_NONE;
  }
  return type.size_bytes >= n_local + n_zone &&
                 memcmp(type.data + n_local, zone, (size_t)n_zone) == 0
             ? CLI_WIDE_INSTANT
             : CLI_WIDE_LOCAL;
}
