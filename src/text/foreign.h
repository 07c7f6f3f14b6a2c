/* Recognizes input that is not HLO text, such as a binary proto or StableHLO, so that the error
 * message can say how to get HLO text instead. */
#ifndef REMAT_HLO_TEXT_FOREIGN_H
#define REMAT_HLO_TEXT_FOREIGN_H

#include <stdint.h>

/* Describes the format of a text that failed to parse at `offset`, and says how to get HLO text
 * instead. Returns NULL if the text may have been meant as HLO text. */
const char *foreign_format(const char *text, uint32_t length, uint32_t offset);

#endif
