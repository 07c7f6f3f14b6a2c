/* Values in SSA form over the whole module (xla/hlo/analysis/hlo_dataflow_analysis.cc): which value
 * each part of each instruction's result holds. Unlike logical buffers, values flow through calls,
 * loops and conditionals; where several meet, a phi value stands for whichever came.
 *
 * Only computations that run as sequences are covered: what happens inside a fusion or a reducer
 * has no buffers of its own. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_DATAFLOW_H
#define REMAT_HLO_ANALYSIS_FLOW_DATAFLOW_H

#include "analysis/flow/call_graph.h"

typedef uint32_t ValueId;

typedef struct HloValue {
  InstId inst; /* that defines it */
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
  VEC(HloValue) values; /* phis behind all others */
  uint32_t *first_part; /* by InstId, NO_ID for an instruction that is not covered */
  VEC(ValueId) parts;
  uint32_t *first_position; /* by ValueId, one more: range in `positions` */
  HloPosition *positions;   /* the defining one first */
} Dataflow;

Dataflow dataflow_build(const Module *module, const CallGraph *graph, Arena *out, Arena *scratch);

static inline bool dataflow_covers(const Dataflow *dataflow, InstId id) {
  return dataflow->first_part[id] != NO_ID;
}
static inline ValueId dataflow_value(const Dataflow *dataflow, InstId id, uint32_t part) {
  return dataflow->parts.data[dataflow->first_part[id] + part];
}

/* Where in operand 0 the parts begin that an instruction passes on without any of its own, whatever
 * the shapes: bitcast, get-tuple-element and the like; NO_ID for others. */
uint32_t shared_operand_part(const Module *module, InstId id);

/* Calls visit(context, user, position) for each instruction that uses a value and each position at
 * which it does (HloValue::ComputeUses). */
typedef void (*UseVisitor)(void *context, InstId user, HloPosition position);
void dataflow_visit_uses(const Module *module, const Dataflow *dataflow, ValueId value,
                         UseVisitor visit, void *context);

#endif
