/* What the iterations of a loop compute for the stacks that other loops read: a graph of values, of
 * which each is either stored in a stack or computed again in the reading loop.
 *
 * Example: a forward loop computes a = dot(x, w[i]); b = tanh(a), and stacks a and b. Its values
 * are x (an element of the state that changes), w (invariant), i (counts), the slice w[i], a and b.
 * b may be stored, or computed from a; a may be stored, or computed from x and w[i]. x itself can
 * only be stored, unless the next x is (neighbours.h). */
#ifndef REMAT_HLO_REMAT_SCAN_VALUES_H
#define REMAT_HLO_REMAT_SCAN_VALUES_H

#include "analysis/cost/cost.h"
#include "analysis/loop/stack.h"
#include "remat/legality/legality.h"

typedef enum ScanValueKind {
  SCAN_COMPUTED,  /* an instruction of the body, or one result of a fusion */
  SCAN_STATE,     /* an element of the state that changes */
  SCAN_INVARIANT, /* an element of the state that the body hands on */
  SCAN_COUNT,     /* an element of the state that counts */
} ScanValueKind;

typedef struct ScanValue {
  ScanValueKind kind;
  InstId inst;   /* in the body: the instruction; for an element of the state a get-tuple-element */
  InstId inner;  /* of a fusion: the instruction in its computation whose value it is; else NO_ID */
  InstId holder; /* in the body: whose result it is; NO_ID if it only exists within a fusion */
  uint32_t element; /* of the state */
  ShapeId shape;
  IdVec operands; /* the values that it is computed from, by operand; NO_ID = not needed */
  /* by operand: it may be overwritten, so the clone needs it for itself; NULL = none */
  const bool *is_overwritten;
  uint32_t stack;      /* in Stacks: that stores it now; NO_ID = none */
  bool is_inseparable; /* a part of a fusion that rounds otherwise without the rest of it */
  bool stays_whole;    /* such a fusion is cloned with all its results (remat/scan/whole.h) */
  uint32_t whole; /* of one that stays whole: the first value of the same fusion, with which it is
                     computed; NO_ID = it is computed alone */
  uint32_t neighbour; /* the value that is this one an iteration apart, and from whose stack it may
                         be read (neighbours.h); NO_ID = none */
  int shift; /* of the neighbour: in iteration t it is this value of iteration t - shift; 1 or -1 */
  int64_t edge_bytes;   /* of the value that takes the slice's place where there is none */
  double shift_seconds; /* modelled, to read the value from there */
  bool is_read;         /* a reading loop reads the stack slice by slice */
  bool must_store;      /* it is stored anyway, because something reads the stack as a whole */
  bool may_store;
  KeepReason verdict;   /* why it must not be computed again; KEEP_NONE = it may */
  int64_t bytes;        /* of a stack of it */
  double seconds;       /* modelled, to compute it in all iterations of all runs of the loop; of a
                           part of a fusion, which is joined with others, its share */
  double store_seconds; /* modelled, to write a stack of it and its initial value */
} ScanValue;

typedef struct ScanValues {
  const Stacks *stacks;
  uint32_t loop;
  VEC(ScanValue) list;
  bool may_run_again; /* all of the body may be computed again */
  uint32_t *of_stack; /* by stack of this loop, from stacks->first_of[loop] on: its value; NO_ID =
                         the stack is left alone */
  bool *is_fixed;     /* likewise: what writes or reads its slices is a fusion that would round
                         otherwise without that (remat/scan/slots.h) */
} ScanValues;

typedef struct ScanContext {
  const Module *module;
  const Stacks *stacks;
  const Legality *legality;
  const CostTable *costs;
  const DeviceProfile *device;
  const double *runs;  /* by CompId: how often the computation runs */
  uint8_t *is_reached; /* by InstId: zeros between uses */
  bool has_one_slot;   /* see slots_are_single() */
} ScanContext;

/* Whether a new stack may hold arrays of this shape. It has their tiles, and XLA:TPU refuses an
 * array of two dimensions in tiles of one, such as a vector has, unless that is stacked as rows. */
bool scan_may_stack(const Shape *shape);

/* The values that the stacks of a loop hold, and all that these are computed from. An empty list if
 * no stack of the loop is read slice by slice in loops that count. O(instructions of the body). */
ScanValues scan_values_find(const ScanContext *context, uint32_t loop, Arena *out, Arena *scratch);

#endif
