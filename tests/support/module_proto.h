/* Messages of the form of XLA's HloModuleProto, as far as this program looks into them. A shape's
 * message is the text of the shape, and a field that the program does not know has the attributes,
 * so that a test can see what was copied. */
#ifndef REMAT_HLO_TESTS_MODULE_PROTO_H
#define REMAT_HLO_TESTS_MODULE_PROTO_H

#include "emit/proto/message.h"
#include "ir/module.h"

enum { UNKNOWN_FIELD = 99 };

/* Returns the message from which the text of a module, as it was parsed, could have been printed.
 * Ids are unlike the places in the text. */
Bytes module_proto(const Module *module, Arena *out);

#endif
