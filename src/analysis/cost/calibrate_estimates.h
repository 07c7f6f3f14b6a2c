/* Fits the prices of units (analysis/cost/units.h) to estimates that XLA:TPU made of instructions.
 *
 * Estimates go over five orders of magnitude, and some are far from what any sum of units gives. So
 * errors are those of logarithms; one that is large counts by its size and not by its square. Each
 * price is tried up and down, in turn, with steps of its own that grow as long as they help, until
 * no step of half a percent helps. */
#ifndef REMAT_HLO_ANALYSIS_COST_CALIBRATE_ESTIMATES_H
#define REMAT_HLO_ANALYSIS_COST_CALIBRATE_ESTIMATES_H

#include "analysis/cost/cost.h"

/* An instruction with an estimate. */
typedef struct EstimatedWork {
  InstWork work;  /* with the cycles */
  uint32_t group; /* the program, of which nothing is used when it is held out */
} EstimatedWork;

/* All instructions of the module that have an estimate above 0, those with equal work once. Returns
 * their number. */
uint32_t estimated_works(const Module *module, const CostTable *table, uint32_t group,
                         EstimatedWork **works, Arena *out, Arena *scratch);

/* Prices that are fitted to all work that is not of the group `held_out`; NO_ID holds nothing out.
 * The price of a unit that no work has stays as it is in `begin`. Prices are rounded to four
 * digits. */
UnitPrices prices_fit(const EstimatedWork *works, uint32_t count, uint32_t held_out,
                      const UnitPrices *begin, Arena *scratch);

#endif
