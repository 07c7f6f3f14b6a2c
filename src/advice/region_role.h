/* What an array is in the network that makes it: of the arrays that are large only between two
 * operations, the last layer's outputs go into a loss, a hidden layer's into the next layer. */
#ifndef REMAT_HLO_ADVICE_REGION_ROLE_H
#define REMAT_HLO_ADVICE_REGION_ROLE_H

#include "advice/advisor.h"

typedef enum RegionRole {
  REGION_OTHER,      /* no product with weights makes it: scores, or what is broadcast */
  REGION_ONE_HOT,    /* the same, and it is made by comparing indices with a range, for a product */
  REGION_ACTIVATION, /* a product with weights makes it, and another product reads it, or what is
                        computed from it: a hidden layer */
  REGION_OUTPUTS,    /* a product with weights makes it, no product comes after it in the forward
                        part, and what does is much smaller: the last layer and its loss */
  REGION_LOGITS,     /* the same, and exponentials of it are summed up, as in a softmax */
} RegionRole;

/* How many elements the arrays of a region have. */
typedef struct RegionSize {
  int64_t elements;
  int64_t padded; /* of a padded form that a product reads, 0 = there is none: XLA:GPU pads a
                     vocabulary of 50,257 to 50,272 */
} RegionSize;

typedef struct RegionUse {
  RegionRole role;
  bool is_read_back; /* the backward part has it, too */
  bool is_summed;    /* what leaves it is a sum or the like, as a loss is */
  InstId maker;      /* the product that makes it, in a fusion or not; NO_ID if there is none */
  InstId exit; /* what is outside of the region and reads it in the forward part, as deep in the
                  functions that the maker is in as any; NO_ID if there is none */
} RegionUse;

/* The size of a region that has arrays of so many elements. */
RegionSize region_size(const Advisor *advisor, int64_t elements);

/* The number of elements of an array before it was padded, if it was; 0 = it was not. */
int64_t region_unpadded(const Module *module, InstId id);

static inline bool region_is_size(RegionSize size, int64_t elements) {
  return elements == size.elements || (size.padded > 0 && elements == size.padded);
}

/* By InstId: what of the computation belongs to the backward part. O(instructions). */
const bool *region_backward(const Advisor *advisor, CompId comp, Arena *out);

/* The arrays of this size in one computation. O(instructions). */
RegionUse region_use(const Advisor *advisor, CompId comp, RegionSize size);

/* Whether some part of an instruction's result has this size. */
bool region_has(const Module *module, InstId id, RegionSize size);

/* Whether an operand of the instruction is such an array, or has one. */
bool region_is_read(const Module *module, InstId id, RegionSize size);

/* Whether the result has as many elements as an argument, as the gradient of weights has. */
bool region_has_size_of_argument(const Module *module, InstId id);

/* Whether some part of a result has at least so many elements. */
bool region_is_exceeded(const Module *module, InstId id, int64_t num_elements);

/* Whether an instruction, or all in a fusion, only gives its operands another form: layout, type or
 * the whole of what devices have parts of. */
bool region_only_forms(const Module *module, InstId id);

/* The number of elements of an array, 0 for a tuple. */
int64_t region_elements(const Module *module, ShapeId shape);

#endif
