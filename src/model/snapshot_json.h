/* snapshot_json.h - what snapshot.c and tag.c share. Internal to model/. */
#ifndef TN_MODEL_SNAPSHOT_JSON_H
#define TN_MODEL_SNAPSHOT_JSON_H

#include "model/snapshot.h"

/* Read a snapshot, tag or changelog by its path; torn files are read again (json_file.h). */
TN_CHECKED tarn_status tn_snapshot_file_read(tarn_env *env, tn_storage *storage, const char *path,
                                             tn_arena *arena, tn_snapshot *out, tarn_error *err);

/* The two members that only tags have. Errors: CORRUPT. */
TN_CHECKED tarn_status tn_tag_members_decode(const tn_json *root, const char *path,
                                             tn_snapshot *out, tarn_error *err);

#endif
