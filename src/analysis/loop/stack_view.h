/* How fusions see a stack: under other shapes with the same bytes, and in fusions within fusions.
 * XLA:GPU writes and reads stacks through bitcasts to the layout that a kernel likes, XLA:TPU
 * slices them in the innermost of several fusions.
 *
 * Example, of a fusion that is given a stack of 12 slices:
 *   p = bf16[12,8,64,32]{2,3,1,0} parameter(0)
 *   v = bf16[12,8,32,64]{3,2,1,0} bitcast(p)
 *   x = bf16[1,8,32,64]{3,2,1,0} dynamic-slice(v, i, 0, 0, 0)
 * Dimension 0 is the outermost one in the memory of both, so that slice i of v has the bytes of
 * slice i of p (shape_dim_in_view). */
#ifndef REMAT_HLO_ANALYSIS_LOOP_STACK_VIEW_H
#define REMAT_HLO_ANALYSIS_LOOP_STACK_VIEW_H

#include "analysis/flow/call_graph.h"

/* An instruction within a fusion that is the stack, or takes a slice of it. */
typedef struct StackView {
  InstId inst;
  uint32_t dim; /* along which the slices are */
  bool is_cut;  /* it is a dynamic-slice of what is before it */
  bool is_view; /* a bitcast gives the stack another shape, or gave it to what is cut */
} StackView;

typedef VEC(StackView) StackViews;

/* Lists what a fusion makes of an operand that is a stack with slices along `dim`, each instruction
 * after the one that it reads: parameters of this fusion and of those in it, bitcasts, and
 * dynamic-slices. False if something else reads it. With a call graph, computations of fusions that
 * several instructions call count as something else. */
bool stack_views_find(const Module *module, const CallGraph *graph, InstId fusion, uint32_t operand,
                      uint32_t dim, StackViews *views, Arena *out);

/* Whether a dynamic-slice takes only a part of a slice along a dimension: the rest of its starts
 * then say which. */
bool stack_cut_is_part(const Module *module, InstId id, uint32_t dim);

/* The dimension along which an instruction outside of fusions that is the stack has its slices,
 * given the shape and the dimension of the stack itself. */
uint32_t stack_dim_of(const Module *module, ShapeId stack, uint32_t dim, InstId id);

/* The operand of an instruction that is this value, and no other operand is; NO_ID otherwise. */
uint32_t stack_only_operand(const Module *module, InstId id, InstId value);

#endif
