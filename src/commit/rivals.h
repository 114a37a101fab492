/* rivals.h - others who are about to give a file of theirs the name of a snapshot. Internal. */
#ifndef TN_COMMIT_RIVALS_H
#define TN_COMMIT_RIVALS_H

#include "io/storage.h"

/* Others who want to make snapshot `id` have it as ".snapshot-<id>.<UUID>.tmp" in the folder of
 * snapshots. Wait until nobody has such a file any more: a Java process looks whether the name is
 * free and renames then, over whatever has come in between; one that writes its file from now on
 * sees that the name is taken. So what has the name afterwards keeps it. Who was killed leaves his
 * file behind: no longer than five seconds, and not at all for one that was written more than a
 * minute before ours, at `path`. Tarn's own files replace nothing, and are not waited for.
 * cancel: may be NULL. True: there were some. Rule: FileIO#tryToWriteAtomic, LocalFileIO#rename. */
bool tn_rivals_wait(tn_storage *storage, const char *folder, int64_t id, const char *path,
                    const tarn_cancel *cancel);

#endif
