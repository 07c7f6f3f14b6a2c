/* Whether a module has been through XLA's copy-insertion (analysis/memory/overwrites.h). If a
 * module with copies is analysed as one without, the numbers are silently wrong; the other way
 * round, more is forbidden than necessary. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H
#define REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H

#include "ir/module.h"

/* The answer of module->backend.copies if that is given. Otherwise true for any module that may
 * have been through copy-insertion: it is scheduled or has fusions; or a donated parameter, a
 * loop's initial value, or the result of a loop's body or of a branch is a copy; or a backend has
 * left its notes. O(instructions). */
bool copies_are_inserted(const Module *module);

#endif
