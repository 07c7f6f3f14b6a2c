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

/* The words of the framework; those of JAX if it is unknown. */
const char *framework_words(Framework framework, const char *jax, const char *pytorch,
                            const char *tensorflow);

/* The library whose modules, classes with methods, a JAX program is made of. */
typedef enum Library {
  LIBRARY_NONE,
  LIBRARY_LINEN,
  LIBRARY_NNX,
  LIBRARY_EQUINOX,
  LIBRARY_HAIKU,
} Library;

/* By the files of the call stacks. O(files). */
Library framework_library(const Module *module);

/* How a checkpoint around a function is written: `jax.checkpoint(block)`, in the words of the
 * framework and of the library. Around a method of a module it is the library's own, as
 * `nn.remat(Block)` of `Block.__call__`, and with Linen that of the class that a scope is named
 * after, `Transformer/Block_*`. `function` and `scope` may be empty, and `policy` may be NULL. */
const char *framework_checkpoint(const Module *module, Framework framework, Str function, Str scope,
                                 const char *policy, Arena *out);

/* The scan of the library that takes what framework_checkpoint() returned: `jax.lax.scan`. */
const char *framework_scan(const char *checkpoint);

#endif
