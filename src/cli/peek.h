/* What the beginning of a file tells, without the rest of it. */
#ifndef REMAT_HLO_CLI_PEEK_H
#define REMAT_HLO_CLI_PEEK_H

#include "input.h"

typedef enum Content {
  CONTENT_OTHER,
  CONTENT_SCHEDULED,
  CONTENT_UNSCHEDULED,
  CONTENT_UNKNOWN, /* too little was read */
} Content;

/* Whether it is a module's text. RH_ERR_WRITE or RH_ERR_INPUT, the reason on stderr. */
rh_status peek_content(const char *path, MessageForm form, Content *content);

/* The module's name, to be freed. NULL when it does not stand where it stands in a dump, or cannot
 * be read: whoever reads the whole text will tell. */
char *peek_module_name(const char *path);

#endif
