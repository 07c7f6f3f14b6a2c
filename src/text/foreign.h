/* What people hand in that is no HLO text. */
#ifndef REMAT_HLO_TEXT_FOREIGN_H
#define REMAT_HLO_TEXT_FOREIGN_H

#include <stdint.h>

/* What a text is that did not parse because of the byte at `offset`, and how to get HLO text
 * instead; NULL when it may well have been meant as HLO text. */
const char *foreign_format(const char *text, uint32_t length, uint32_t offset);

#endif
