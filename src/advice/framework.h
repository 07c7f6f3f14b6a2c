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

/* Whether the program uses Flax, by the files of the call stacks. Its modules are classes that
 * nn.remat and nnx.remat wrap. O(files). */
bool framework_has_flax(const Module *module);

/* How a checkpoint around a class of Flax modules is written, or around what has a scope named
 * after it: `Block` of `Block.__call__` and of `Transformer/Block_*`. Empty if the name is of no
 * class. */
const char *framework_flax_remat(Str function, Str scope, const char *policy, Arena *out);

/* How a checkpoint around a function is written: `jax.checkpoint(block)`. `function` may be empty,
 * and `policy` may be NULL. */
const char *framework_checkpoint(Framework framework, Str function, const char *policy, Arena *out);

#endif
