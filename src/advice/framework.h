/* The framework that a module comes from, so that advice is in its words. */
#ifndef REMAT_HLO_ADVICE_FRAMEWORK_H
#define REMAT_HLO_ADVICE_FRAMEWORK_H

#include "ir/module.h"

typedef enum Framework {
  FRAMEWORK_UNKNOWN,
  FRAMEWORK_JAX,
  FRAMEWORK_PYTORCH,
  FRAMEWORK_TENSORFLOW,
} Framework;

/* Recognizes the framework by the names of operations: JAX begins them with `jit(`, PyTorch/XLA has
 * types such as `aten__mm`, TensorFlow those of its graph, such as `MatMul`. O(instructions). */
Framework framework_of(const Module *module);

const char *framework_name(Framework framework);

/* How a checkpoint around a function is written: `jax.checkpoint(block)`. `function` may be empty,
 * and `policy` may be NULL. */
const char *framework_checkpoint(Framework framework, Str function, const char *policy, Arena *out);

#endif
