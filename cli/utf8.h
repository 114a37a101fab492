/* utf8.h - characters and how many columns of a terminal they take. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that starts here; 0: not well-formed UTF-8 (or n is 0). */
size_t cli_utf8_length(const uint8_t *bytes, size_t n);
/* Columns of well-formed text: 2 for East Asian wide characters and emoji, 0 for combining marks
 * (Unicode 15, Standard Annex 11). What is malformed counts 1 a byte. */
size_t cli_utf8_width(const void *bytes, size_t n);
/* Bytes of the longest beginning that takes at most `width` columns; *taken: the columns it takes.
 */
size_t cli_utf8_cut(const void *bytes, size_t n, size_t width, size_t *taken);

#endif
