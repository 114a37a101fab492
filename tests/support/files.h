/* files.h - temporary directories, files and hex text for tests. Failures are cmocka's.
 */
#ifndef TN_TESTS_SUPPORT_FILES_H
#define TN_TESTS_SUPPORT_FILES_H

#include <stddef.h>
#include <stdint.h>

/* A new empty directory; free() the name after tn_test_temp_dir_remove(). */
char *tn_test_temp_dir(void);
void tn_test_temp_dir_remove(char *directory); /* with all in it; frees the name */

/* "<directory>/<name>" in a buffer from malloc. */
char *tn_test_path(const char *directory, const char *name);
void tn_test_write_file(const char *path, const void *bytes, size_t n_bytes);
/* Malloc'ed. */
uint8_t *tn_test_read_file(const char *path, size_t *n_bytes);

/* Bytes of a hex text (blanks are skipped), malloc'ed. */
uint8_t *tn_test_hex(const char *hex, size_t *n_bytes);

#endif
