/* options_doc.c - writes docs/options.md from the library's own table of options.
 *
 *   options_doc > docs/options.md        (tests compare the committed page with what this prints)
 */
#include <stdio.h>

#include "tarn/tarn.h"

/* In a table cell a bar must be escaped and a line break is a blank. */
static void print_cell(const char *text) {
  for (const char *c = text != NULL ? text : ""; *c != '\0'; c++) {
    if (*c == '|') {
      fputs("\\|", stdout);
    } else {
      putchar(*c == '\n' ? ' ' : *c);
    }
  }
}

int main(void) {
  printf(
      "# Table options\n\n"
      "The options of Paimon tables that this version of Tarn knows, from its own table (made by "
      "`tools/options_doc.c`).\nA stored key that is not here is kept, with one warning; one that "
      "changes what a reader must do and that Tarn lacks\nis refused by name.\n\n"
      "| key | type | default | what |\n|---|---|---|---|\n");
  size_t n = tarn_option_info_count();
  for (size_t i = 0; i < n; i++) {
    tarn_option_info info;
    if (tarn_option_info_get(i, &info) != TARN_OK) {
      return 1;
    }
    printf("| `%s` | %s | %s%s%s | ", info.key, info.type, info.default_value != NULL ? "`" : "",
           info.default_value != NULL ? info.default_value : "",
           info.default_value != NULL ? "`" : "");
    print_cell(info.doc);
    printf(" |\n");
  }
  return n > 0 && fflush(stdout) == 0 ? 0 : 1;
}
