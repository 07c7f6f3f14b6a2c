/* Writes a rewritten module as the HloModuleProto of the original one, with what differs replaced.
 * A message is copied from an instruction whose text is the same but for names; what the text does
 * not show, and fields that this program does not know, come with it. */
#ifndef REMAT_HLO_EMIT_PROTO_PATCH_H
#define REMAT_HLO_EMIT_PROTO_PATCH_H

#include "ir/diag.h"
#include "ir/module.h"
#include "ir/writer.h"

/* A frontend attribute that the first parameter of the entry gets. */
typedef struct ProtoMark {
  const char *name, *value; /* NULL = none */
} ProtoMark;

typedef struct ProtoInput {
  const Module *module; /* as it was parsed from the text of the message */
  const void *data;
  size_t length;
} ProtoInput;

/* Writes the message of `after`, which must be as it was parsed from the text that is to be
 * written.
 *
 * Unchanged computations are copied byte for byte. In the others, instructions are in XLA's post
 * order, as in the messages that XLA writes; their ids are their places in the text, as XLA's
 * parser numbers them. So the message is that which XLA makes of the text of `after`, but for the
 * numbers of computations and of stack frames, which stay.
 *
 * Returns RH_ERR_INPUT, with RH_CODE_PROTO, if the message is not that of the module, or with
 * RH_CODE_NO_PATCH if there is an instruction in `after` whose message cannot be made. O(n) in text
 * and message. */
rh_status proto_patch(const ProtoInput *before, const Module *after, const ProtoMark *mark,
                      Writer *out, rh_diags *diags, Arena *scratch);

#endif
