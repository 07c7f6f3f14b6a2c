/* Guesses the target that a module was compiled for from its text. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_GUESS_TARGET_H
#define REMAT_HLO_ANALYSIS_FLOW_GUESS_TARGET_H

#include "ir/module.h"

/* The TPU if layouts have tiles; the GPU if there are library calls or notes of XLA:GPU; else the
 * CPU, which is also assumed for a module that is not compiled yet. O(instructions). */
const Target *guess_target(const Module *module);

#endif
