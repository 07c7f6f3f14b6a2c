/* Declarations shared by the files that find the lower bound. */
#ifndef REMAT_HLO_REMAT_BOUND_LOWER_BOUND_INTERNAL_H
#define REMAT_HLO_REMAT_BOUND_LOWER_BOUND_INTERNAL_H

#include "analysis/flow/points_to.h"
#include "remat/legality/bundles.h"
#include "remat/legality/given_memory.h"
#include "remat/bound/lower_bound.h"
#include "remat/legality/needed.h"

/* The instructions that need most memory by themselves are examined more closely, all at once: each
 * has one bit of a LookBits. */
enum { NUM_CLOSE_LOOKS = 16 };

typedef uint16_t LookBits;

typedef struct Need {
  InstId inst;
  int64_t bytes;
} Need;

/* The instructions that need most, sorted by bytes; of equal ones, the first comes first. */
typedef struct Needs {
  Need list[NUM_CLOSE_LOOKS];
  Sizes held[NUM_CLOSE_LOOKS]; /* what lives beside an instruction's own arrays */
  uint32_t len;
} Needs;

/* A donated parameter and the output that takes over its memory. */
typedef struct Donation {
  LogicalId param;
  int64_t bytes; /* of the smaller one of the two */
  /* range in Donations.paths: buffers of which one is live at any time; empty = none are known */
  uint32_t first, end;
} Donation;

typedef struct Donations {
  VEC(Donation) list;
  VEC(LogicalId) paths;
} Donations;

typedef struct Bound {
  const Module *module;
  const Legality *legality;
  PointsTo points_to;
  Bundles bundles;
  /* a result may reuse an operand's memory: only the larger of the two counts */
  bool shares_operands;
  bool keeps_apart; /* as in LowerBoundRules, if the parameters are counted */
  ConstantCount constants;
  bool *is_needed;              /* by InstId: a result or a side effect depends on it */
  bool *is_dead;                /* by InstId: none of its own computation does */
  ElementBits *needed_elements; /* by InstId: the elements of a tuple that are needed */
  Needed needed;          /* in modules whose loops can compute again what they stack for others */
  bool *is_live_out;      /* by LogicalId: is live out of its computation */
  uint32_t *num_returned; /* by LogicalId: how many parts of its computation's result it is */
  bool *is_opaque;      /* by LogicalId: may be the memory of another value that a callee returns */
  int64_t *entry_bytes; /* by LogicalId: of donated parameters and of what the entry returns */
  LogicalId *same_as;   /* by LogicalId: the buffer whose memory it reuses; itself = none */
  Donations donations;
  uint32_t *seen;       /* by LogicalId: the last count that included the buffer */
  uint32_t num_counts;  /* counts begun so far */
  uint32_t *visited;    /* by InstId, for inst_post_order() */
  LookBits *above;      /* by LogicalId: the looks that depend on the buffer's instruction */
  LookBits *below;      /* by LogicalId: the looks that the buffer's value depends on */
  LookBits *inst_look;  /* by InstId: the look that it is */
  LookBits *inst_below; /* by InstId: the looks that the instruction depends on */
  LookBits *counted;    /* by LogicalId: the looks whose own bytes include the buffer */
  int64_t *comp_bytes;  /* by CompId: the least memory that the computation needs while it runs */
  Sizes *comp_sizes;    /* by CompId: arrays that are live together then */
  LowerBound best;
  /* where the model keeps what the entry is given and returns all the time: what it needs beside
   * that, and the instruction that needs it; NO_ID = none */
  GivenMemory given;
  int64_t heap_bytes;
  InstId heap_inst;
  Arena *arena, *scratch;
} Bound;

/* The buffer that stands for all that share its memory. */
LogicalId bound_buffer(const Bound *bound, InstId inst, uint32_t part);

/* Bytes of a buffer; 0 if its computation does not pay for it. */
int64_t bound_bytes(const Bound *bound, LogicalId id);

/* Whether the peak does not include the buffer's memory, or counts it separately. */
bool bound_is_given(const Bound *bound, const LogicalBuffer *buffer);

/* Whether an instruction that is needed uses the memory of this part of its operand. */
bool bound_is_used_by(const Bound *bound, InstId operand, uint32_t part, InstId user);

/* Whether an instruction still waits for its operands after loops have been rewritten. */
bool bound_waits(const Bound *bound, InstId id);

/* Whether an instruction can only run once and has memory of its own. */
bool bound_runs_once(const Bound *bound, InstId id);

/* The results of `id` that depend on its operand number `operand`: all, unless it bundles them. */
ElementBits bound_readers(const Bound *bound, InstId id, uint32_t operand);

/* Those of them that need it in memory, whichever of the others are still there: when these have
 * gone, a fusion may only hand the operand on. */
ElementBits bound_holders(const Bound *bound, InstId id, uint32_t operand);

/* Whether a buffer that an instruction defines is among the results. */
bool bound_is_among(const Bound *bound, LogicalId id, ElementBits elements);

static inline bool bound_is_table(const Bound *bound, LogicalId id) {
  ShapeId shape = bound->points_to.buffers.data[id].shape;
  return shape_is_tuple(shape_get(&bound->module->shapes, shape));
}

/* Finds the donated parameters, and joins each with its output. O(instructions + edges). */
void bound_find_donations(Bound *bound);

/* Adds what every order holds at each look, beside its own arrays: see held.c. The bits of
 * `counted` must be set. */
void bound_add_held(Bound *bound, CompId comp, Sequence order, Needs *needs);

#endif
