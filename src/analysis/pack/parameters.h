/* Parameters that steer the search for low packings, each a row of parameters.def. The defaults are
 * what was measured to be best; other values are for experiments. */
#ifndef REMAT_HLO_ANALYSIS_PACK_PARAMETERS_H
#define REMAT_HLO_ANALYSIS_PACK_PARAMETERS_H

#include "analysis/pack/packing.h"

struct PackParameters {
#define PARAMETER(id, value, what) uint32_t id;
#include "analysis/pack/parameters.def"
};

extern const PackParameters pack_defaults;

/* Those that a budget is spent by. */
static inline const PackParameters *pack_parameters(const PackBudget *budget) {
  return budget->parameters ? budget->parameters : &pack_defaults;
}

#endif
