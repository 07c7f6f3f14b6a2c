/* Whether a module has been through XLA's copy-insertion (analysis/memory/overwrites.h). Taking one
 * that has for one that has not gives wrong numbers without a word; the other way round only
 * forbids more than is necessary. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H
#define REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H

#include "ir/module.h"

/* What module->backend.copies says; where that is open, true for whatever may have been through
 * copy-insertion: a module that is scheduled or has fusions, or in which a donated parameter, an
 * initial value or a result of a loop's body or of a branch is a copy, or in which a backend has
 * left its notes. O(instructions). */
bool copies_are_inserted(const Module *module);

#endif
