/* The smaller shapes in which results can be kept on the device while nobody reads them: in a
 * layout with less padding, or in a narrower type that holds the same numbers. */
#ifndef REMAT_HLO_REMAT_JOB_COMPACT_SHAPES_H
#define REMAT_HLO_REMAT_JOB_COMPACT_SHAPES_H

#include "analysis/memory/memory_model.h"
#include "remat/job/algorithm.h"

typedef struct CompactShapes {
  const RematJob *job; /* its modes say what is allowed */
  const ShapeSizes *sizes;
  const ShapeId *narrow; /* by InstId, for the first `num_narrow`; see narrow_shapes() */
  uint32_t num_narrow;
  VEC(ShapeId) compact; /* by ShapeId: see target_compact_shape(); NO_ID = not known */
  Arena *arena;
} CompactShapes;

/* For the instructions that the module has now, and clones of them. O(instructions) if the job may
 * narrow, as narrow_shapes(). */
CompactShapes compact_shapes_build(const RematJob *job, const ShapeSizes *sizes, Arena *out,
                                   Arena *scratch);

/* The smallest of the shapes of an instruction that the modes allow: its own if there is no smaller
 * one. */
ShapeId compact_shape_of(CompactShapes *shapes, InstId id);

#endif
