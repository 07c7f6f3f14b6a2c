/* Instructions that forward the state of an asynchronous operation. */
#ifndef REMAT_HLO_ANALYSIS_LINT_ASYNC_H
#define REMAT_HLO_ANALYSIS_LINT_ASYNC_H

#include "ir/module.h"

/* Whether the instruction may be between a start and its done. */
bool lint_passes_on(const Module *module, InstId id);

#endif
