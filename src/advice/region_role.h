/* What an array is in the network that makes it: of the arrays that are large only between two
 * operations, the last layer's outputs go into a loss, a hidden layer's into the next layer. */
#ifndef REMAT_HLO_ADVICE_REGION_ROLE_H
#define REMAT_HLO_ADVICE_REGION_ROLE_H

#include "advice/advisor.h"

typedef enum RegionRole {
  REGION_OTHER,      /* no product with weights makes it: scores, or what is broadcast */
  REGION_ACTIVATION, /* a product with weights makes it, and another product reads it, or what is
                        computed from it: a hidden layer */
  REGION_OUTPUTS,    /* a product with weights makes it, no product comes after it in the forward
                        part, and what does is much smaller: the last layer and its loss */
  REGION_LOGITS,     /* the same, and exponentials of it are summed up, as in a softmax */
} RegionRole;

typedef struct RegionUse {
  RegionRole role;
  bool is_read_back; /* the backward part has it, too */
  InstId maker;      /* the product that makes it, in a fusion or not; NO_ID if there is none */
  InstId exit; /* what is outside of the region and reads it in the forward part, as deep in the
                  functions that the maker is in as any; NO_ID if there is none */
} RegionUse;

/* The arrays of so many elements in one computation. O(instructions). */
RegionUse region_use(const Advisor *advisor, CompId comp, int64_t num_elements);

/* Whether some part of an instruction's result has so many elements. */
bool region_has(const Module *module, InstId id, int64_t num_elements);

/* Whether some part of a result has at least so many elements. */
bool region_is_exceeded(const Module *module, InstId id, int64_t num_elements);

/* The number of elements of an array, 0 for a tuple. */
int64_t region_elements(const Module *module, ShapeId shape);

#endif
