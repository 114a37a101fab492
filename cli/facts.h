/* facts.h - what files of a table hold, as facts. */
#ifndef CLI_FACTS_H
#define CLI_FACTS_H

#include "session.h"

/* Print the content of the table's (or its branch's) file FOLDER/FOLDER-NAME: of a snapshot or a
 * tag. */
int cli_print_table_file(cli_session *session, const char *folder, const char *name);

/* What snapshot `id` of a table or branch says of records: how many it added (negative: fewer), and
 * how many there are. Records are rows as they lie in data files. false: it is not known. */
bool cli_snapshot_records(cli_session *session, tarn_table *table, int64_t id, int64_t *added,
                          int64_t *total);

#endif
