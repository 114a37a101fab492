/* facts.h - what files of a table hold, as facts. */
#ifndef CLI_FACTS_H
#define CLI_FACTS_H

#include "session.h"

/* Print the content of the table's (or its branch's) file FOLDER/FOLDER-NAME: of a snapshot or a
 * tag. */
int cli_print_table_file(cli_session *session, const char *folder, const char *name);

#endif
