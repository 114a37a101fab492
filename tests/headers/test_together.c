/* test_together.c - our public headers and nanoarrow's in one file: the Arrow structs are declared
 * once, whoever comes first, and mean the same to both. */
#include <stdio.h>
#include <string.h>

#include "tarn/tarn.h"

#include "nanoarrow/nanoarrow.h"

int main(void) {
  struct ArrowSchema schema;
  if (ArrowSchemaInitFromType(&schema, NANOARROW_TYPE_INT32) != NANOARROW_OK) {
    return 1;
  }
  const struct ArrowSchema *seen_by_tarn = &schema;
  int ok = strcmp(seen_by_tarn->format, "i") == 0;
  ArrowSchemaRelease(&schema);
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  ok = ok && options.struct_size == sizeof options;
  printf("%s\n", ok ? "together" : "apart");
  return ok ? 0 : 1;
}
