/* Facts about a file that can be found by reading only its beginning. */
#ifndef REMAT_HLO_CLI_PEEK_H
#define REMAT_HLO_CLI_PEEK_H

#include "input.h"

typedef enum Content {
  CONTENT_OTHER,
  CONTENT_SCHEDULED,
  CONTENT_UNSCHEDULED,
  CONTENT_UNKNOWN, /* too little was read */
} Content;

/* Determines whether the file is the text of a module and, if so, the name of the module, which the
 * caller frees; it is NULL if the name is not where a dump has it. On failure it returns
 * RH_ERR_WRITE or RH_ERR_INPUT and reports the reason on stderr. */
rh_status peek_content(const char *path, MessageForm form, Content *content, char **name);

/* Returns the name of the module, which the caller frees. Returns NULL if the name is not where a
 * dump has it, or if the file cannot be read; errors are reported when the whole text is read. */
char *peek_module_name(const char *path);

#endif
