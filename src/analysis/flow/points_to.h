/* Logical buffers: which memory each part of each instruction's result is
 * (xla/hlo/analysis/tuple_points_to_analysis.cc). This is the view of memory that
 * HloRematerialization has; HloValues (analysis/flow/dataflow.h) are the finer one.
 *
 * Each part points to exactly one buffer: an instruction defines it (the buffer is new) or forwards
 * it from an operand. A get-tuple-element or bitcast forwards without copying the list. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_POINTS_TO_H
#define REMAT_HLO_ANALYSIS_FLOW_POINTS_TO_H

#include "ir/schedule.h"

typedef uint32_t LogicalId;

typedef struct LogicalBuffer {
  InstId inst; /* that defines it */
  uint32_t part;
  uint32_t depth; /* of the part: 0 the whole result, 1 an element of a tuple, … */
  ShapeId shape;
  int64_t bytes;
} LogicalBuffer;

typedef struct BufferAlias {
  InstId inst;
  uint32_t part;
} BufferAlias;

typedef struct PointsTo {
  VEC(LogicalBuffer) buffers; /* grouped by instruction, parts in preorder */
  uint32_t *first_part;       /* by InstId: where its parts begin in `parts` */
  VEC(LogicalId) parts;
  uint32_t *first_alias;   /* by LogicalId, one more: range in `aliases` */
  BufferAlias *aliases;    /* every (instruction, part) that is the buffer, by instruction in the
                              order of their creation */
  LogicalId *first_buffer; /* by InstId, one more is not needed: see num_defined */
  uint32_t *num_defined;   /* by InstId */
} PointsTo;

/* Analyses all reachable computations, fusions and reducers included. The module must have passed
 * module_check. O(parts of all results). */
PointsTo points_to_build(const Module *module, Arena *out, Arena *scratch);

static inline LogicalId points_to_part(const PointsTo *points_to, InstId id, uint32_t part) {
  return points_to->parts.data[points_to->first_part[id] + part];
}

/* True when `user` reads the operand `operand` in such a way that the buffer at its part `part` is
 * not touched: a get-tuple-element looks at the table of pointers only, a loop fusion may not look
 * at a parameter at all (TuplePointsToAnalysis::DoesNotUseOperandBuffer). */
bool points_to_is_unused_by(const Module *module, const PointsTo *points_to, InstId operand,
                            uint32_t part, InstId user);

#endif
