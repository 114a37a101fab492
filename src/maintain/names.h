/* names.h - names that users give: of tags, branches and consumers. Internal. */
#ifndef TN_MAINTAIN_NAMES_H
#define TN_MAINTAIN_NAMES_H

#include <stdio.h>

#include "base/error.h"

/* Is there nothing but white space in it? */
static inline bool tn_name_is_blank(const char *name) {
  return name[strspn(name, " \t\n\v\f\r")] == '\0';
}

/* Can a file have this name? what: "tag" ... Java would make folders of slashes, and not find them
 * again. */
TN_CHECKED static inline tarn_status tn_name_check(const char *what, const char *name,
                                                   tarn_error *err) {
  if (strchr(name, '/') != NULL) {
    return tn_fail(err, TARN_E_INVALID, "the name of a %s must not have a '/': '%s'", what, name);
  }
  return strlen(name) <= 200
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "the name of a %s is too long: '%s'", what, name);
}

#endif
