/* The parameters of the search for low packings, each a row of parameters.def. The defaults were
 * the best ones in measurements; other values are for experiments. */
#ifndef REMAT_HLO_ANALYSIS_PACK_PARAMETERS_H
#define REMAT_HLO_ANALYSIS_PACK_PARAMETERS_H

#include "analysis/pack/packing.h"

struct PackParameters {
#define PARAMETER(id, value, what) uint32_t id;
#include "analysis/pack/parameters.def"
};

extern const PackParameters pack_defaults;

/* The parameters of a budget. */
static inline const PackParameters *pack_parameters(const PackBudget *budget) {
  return budget->parameters ? budget->parameters : &pack_defaults;
}

#endif
