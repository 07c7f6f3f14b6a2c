/* Simulates that arrays are smaller: computed in pieces, for fewer samples, or in a narrower type.
 * In a copy of the module these arrays have other shapes, wherever they occur, within loops and
 * tuples, too; everything else stays. Such a module cannot run, but its memory can be measured. */
#ifndef REMAT_HLO_ADVICE_SHRINK_H
#define REMAT_HLO_ADVICE_SHRINK_H

#include "advice/advisor.h"

/* The shape that an array gets; `array` itself if it stays. */
typedef ShapeId (*ShrinkFn)(Module *module, ShapeId array, const void *context);

/* A copy of the input in which all arrays have the shapes that `shrink` gives them. */
rh_module *shrink_module(const Advisor *advisor, ShrinkFn shrink, const void *context);

/* As ShrinkFn, for one part of a result. */
typedef ShapeId (*ShrinkPartFn)(Module *module, InstId id, uint32_t part, ShapeId array,
                                const void *context);

/* A copy of the input in which parts of results have the shapes that `shrink` gives them. What is
 * within fusions stays. */
rh_module *shrink_parts(const Advisor *advisor, ShrinkPartFn shrink, const void *context);

/* The same array with `factor` times fewer elements: a dimension that `factor` divides, the first
 * of them, or else the largest one, is that much smaller. */
ShapeId shrink_array(Module *module, ShapeId array, int64_t factor);

/* The same array with elements of another type. */
ShapeId shrink_type(Module *module, ShapeId array, ElementType type);

#endif
