/* Which results of a fusion that bundles several depend on which of its operands. Dead code
 * elimination can take results out of such a fusion, and a clone of it can then do without the
 * operands that only these read.
 *
 * Example: of a fusion (a, b) whose computation ends in tuple(abs(a), add(a, b), b), the first two
 * results depend on operand 0, and the last two on operand 1, which the third one hands on. */
#ifndef REMAT_HLO_REMAT_LEGALITY_BUNDLES_H
#define REMAT_HLO_REMAT_LEGALITY_BUNDLES_H

#include "ir/module.h"

/* Results of a fusion, one bit for each element of the tuple. */
typedef uint64_t ElementBits;
enum { MAX_BUNDLED = 64 };

typedef struct Bundled {
  ElementBits readers; /* the results that depend on an operand */
  ElementBits handed;  /* of these, those that are the operand itself, or a part of it */
} Bundled;

typedef struct Bundles {
  uint32_t *first; /* by InstId: its range in `list`, one entry an operand; NO_ID = none */
  VEC(Bundled) list;
} Bundles;

/* O(instructions + edges) of the fused computations. */
Bundles bundles_find(const Module *module, Arena *out, Arena *scratch);

/* Whether it is known what depends on what: the instruction is a fusion that bundles at most
 * MAX_BUNDLED results. */
static inline bool bundles_has(const Bundles *bundles, InstId id) {
  return bundles->first[id] != NO_ID;
}

/* The results of a known bundle that depend on operand number `operand`. */
static inline ElementBits bundles_readers(const Bundles *bundles, InstId id, uint32_t operand) {
  return bundles->list.data[bundles->first[id] + operand].readers;
}

/* Those of them that compute nothing from it. */
static inline ElementBits bundles_handed(const Bundles *bundles, InstId id, uint32_t operand) {
  return bundles->list.data[bundles->first[id] + operand].handed;
}

/* Whether a result of a fusion's computation is one of its parameters, or a part of it. */
bool fused_is_handed_on(const Module *module, InstId result, InstId param);

#endif
