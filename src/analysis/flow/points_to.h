/* Logical buffers: the memory that each part of each instruction's result is in
 * (xla/hlo/analysis/tuple_points_to_analysis.cc). HloRematerialization uses this view of memory;
 * HloValues (analysis/flow/dataflow.h) are the finer one.
 *
 * Each part points to exactly one buffer, which the instruction either defines (the buffer is new)
 * or forwards from an operand.
 *
 * Example: t = tuple(a, b) defines one buffer, its table of pointers, as part 0, and forwards the
 * buffers of a and b as parts 1 and 2. g = get-tuple-element(t), index=1 forwards the buffer of b
 * and defines none; its parts are a slice of t's list and are not copied. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_POINTS_TO_H
#define REMAT_HLO_ANALYSIS_FLOW_POINTS_TO_H

#include "ir/schedule.h"

typedef uint32_t LogicalId;

typedef struct LogicalBuffer {
  InstId inst; /* the instruction that defines it */
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
  uint32_t *first_part;       /* by InstId: index of its first part in `parts` */
  VEC(LogicalId) parts;
  uint32_t *first_alias;   /* by LogicalId, one entry more: range in `aliases` */
  BufferAlias *aliases;    /* every (instruction, part) that points to the buffer, in the order in
                              which instructions were created */
  LogicalId *first_buffer; /* by InstId: its first buffer; num_defined of them */
  uint32_t *num_defined;   /* by InstId */
} PointsTo;

/* Analyses all reachable computations, including fusions and reducers. The module must have passed
 * module_check. O(parts of all results). */
PointsTo points_to_build(const Module *module, Arena *out, Arena *scratch);

static inline LogicalId points_to_part(const PointsTo *points_to, InstId id, uint32_t part) {
  return points_to->parts.data[points_to->first_part[id] + part];
}

/* True when `user` does not access the buffer at part `part` of its operand `operand`: a
 * get-tuple-element reads only the table of pointers, and a loop fusion may ignore a parameter
 * (TuplePointsToAnalysis::DoesNotUseOperandBuffer). */
bool points_to_is_unused_by(const Module *module, const PointsTo *points_to, InstId operand,
                            uint32_t part, InstId user);

#endif
