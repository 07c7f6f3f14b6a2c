/* Small groups of new instructions in a computation that runs as a sequence. Past XLA's fusion
 * passes they become one fusion, because backends have no code there for some instructions alone;
 * before, they stand in the computation themselves.
 *
 *   Kernel kernel = kernel_begin(rewrite, body);
 *   InstId stack = kernel_operand(&kernel, element), index = kernel_operand(&kernel, counter);
 *   … kernel_op(&kernel, …) …
 *   InstId slice = kernel_end(&kernel, result, placed, arena); */
#ifndef REMAT_HLO_REMAT_SCAN_KERNEL_H
#define REMAT_HLO_REMAT_SCAN_KERNEL_H

#include "remat/rewrite/rewrite.h"

typedef struct Kernel {
  Rewrite *rewrite;
  CompId comp;   /* of the instructions */
  CompId caller; /* the computation that runs as a sequence */
  bool is_fused;
  IdVec operands; /* of the fusion */
  IdVec made;     /* instructions in the caller, in their order */
  Arena *arena;
} Kernel;

Kernel kernel_begin(Rewrite *rewrite, CompId caller, bool is_fused, Arena *arena);

/* The value of an instruction of the caller, within the kernel. */
InstId kernel_operand(Kernel *kernel, InstId id);

InstId kernel_op(Kernel *kernel, Opcode opcode, ShapeId shape, const InstId *operands,
                 uint32_t count);
InstId kernel_constant(Kernel *kernel, ElementType type, int64_t value);

/* Returns the instruction in the caller that has the value of `root`. `made` has all new
 * instructions of the caller. */
InstId kernel_end(Kernel *kernel, InstId root);

#endif
