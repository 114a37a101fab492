/* watch.h - news of a folder: told by the file system when an entry gets a name in it.
 *
 * Only where the operating system tells (inotify) and for what this machine itself does: names that
 * another machine makes on a shared file system are not told. So whoever waits looks by himself
 * from time to time.
 */
#ifndef TN_IO_WATCH_H
#define TN_IO_WATCH_H

#include "io/storage.h"

typedef struct tn_watch tn_watch;

/* Watch `folder` for entries whose names begin with `prefix` (copied; "": all). What comes after
 * this call is told by a later tn_watch_wait(). out: tn_watch_free(). Errors: NOT_FOUND (no such
 * folder), UNSUPPORTED (another storage than the local one; no more watches to be had). */
TN_CHECKED tarn_status tn_watch_create(tn_storage *storage, const char *folder, const char *prefix,
                                       tn_watch **out, tarn_error *err);
void tn_watch_free(tn_watch *watch); /* accepts NULL */

/* Wait until there is such an entry (*has_news), the folder is gone (*is_gone), or timeout_ms (0 or
 * more) have passed. A signal that sets `cancel` ends it at once. Errors:
 * CANCELLED. */
TN_CHECKED tarn_status tn_watch_wait(tn_watch *watch, int64_t timeout_ms, const tarn_cancel *cancel,
                                     bool *has_news, bool *is_gone, tarn_error *err);
/* Only let the time pass. Errors: CANCELLED. */
TN_CHECKED tarn_status tn_watch_sleep(int64_t timeout_ms, const tarn_cancel *cancel,
                                      tarn_error *err);

#endif
