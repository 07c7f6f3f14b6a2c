/* Dataflow: HloValues, that is, values in SSA form over the whole module
 * (xla/hlo/analysis/hlo_dataflow_analysis.cc), and which of them each part of each instruction's
 * result holds. Unlike logical buffers, values flow through calls, loops and conditionals. Where
 * several values can arrive at the same place, the place holds a phi value.
 *
 * Only computations that run as sequences are covered: a fusion or a reducer has no buffers inside.
 *
 * Example:
 *   t = (f32[], f32[]) tuple(a, b)             part 0: a value of t, the table of pointers;
 *                                              part 1: the value of a; part 2: the value of b
 *   c = f32[] conditional(p, x, y), …          a phi value, for what either branch returns
 *   g = f32[] get-tuple-element(t), index=1    the value of b */
#ifndef REMAT_HLO_ANALYSIS_FLOW_DATAFLOW_H
#define REMAT_HLO_ANALYSIS_FLOW_DATAFLOW_H

#include "analysis/flow/call_graph.h"
#include "ir/schedule.h"

typedef uint32_t ValueId;

typedef struct HloValue {
  InstId inst; /* the instruction that defines it */
  uint32_t part;
  ShapeId shape;
  bool is_phi;
  int64_t bytes;
} HloValue;

typedef struct HloPosition {
  InstId inst;
  uint32_t part;
} HloPosition;

typedef struct Dataflow {
  VEC(HloValue) values; /* phi values come last */
  uint32_t *first_part; /* by InstId, NO_ID for an instruction that is not covered */
  VEC(ValueId) parts;
  uint32_t *first_position; /* by ValueId, one entry more: range in `positions` */
  HloPosition *positions;   /* of each value, the position that defines it comes first */
  Sequence *post_order;     /* by CompId: as inst_post_order(); empty for one that is not covered */
} Dataflow;

Dataflow dataflow_build(const Module *module, const CallGraph *graph, Arena *out, Arena *scratch);

static inline bool dataflow_covers(const Dataflow *dataflow, InstId id) {
  return dataflow->first_part[id] != NO_ID;
}
static inline ValueId dataflow_value(const Dataflow *dataflow, InstId id, uint32_t part) {
  return dataflow->parts.data[dataflow->first_part[id] + part];
}

/* The part of operand 0 with which the result begins, if an instruction (bitcast, get-tuple-element
 * and the like) forwards parts of it and defines none, regardless of the shapes; NO_ID for other
 * instructions. */
uint32_t shared_operand_part(const Module *module, InstId id);

/* Calls visit(context, user, position) for each user of a value and each position at which the user
 * reads it (HloValue::ComputeUses). */
typedef void (*UseVisitor)(void *context, InstId user, HloPosition position);
void dataflow_visit_uses(const Module *module, const Dataflow *dataflow, ValueId value,
                         UseVisitor visit, void *context);

#endif
