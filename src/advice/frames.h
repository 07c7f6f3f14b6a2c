/* The functions of the program around an instruction, by the stack in which it was traced. */
#ifndef REMAT_HLO_ADVICE_FRAMES_H
#define REMAT_HLO_ADVICE_FRAMES_H

#include "ir/source_place.h"

/* The innermost function on the stack of `id` that was called, through libraries or not, from this
 * place; empty if there is none. */
Str function_called_at(const Module *module, InstId id, SourcePlace place);

#endif
