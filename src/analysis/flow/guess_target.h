/* What a module was compiled for, as its text lets it be seen. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_GUESS_TARGET_H
#define REMAT_HLO_ANALYSIS_FLOW_GUESS_TARGET_H

#include "ir/module.h"

/* Layouts with tiles are a TPU's; libraries and notes of XLA:GPU are a GPU's; else the CPU, which
 * is also what is taken for a module that nothing was compiled of yet. O(instructions). */
const Target *guess_target(const Module *module);

#endif
