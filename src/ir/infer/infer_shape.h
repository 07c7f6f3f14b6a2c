/* The shape of an instruction's result, from its opcode, operands and attributes
 * (xla/service/shape_inference.cc, and what HloParserImpl does around it). */
#ifndef REMAT_HLO_IR_INFER_INFER_SHAPE_H
#define REMAT_HLO_IR_INFER_INFER_SHAPE_H

#include "ir/module.h"

typedef struct InferSpec {
  Opcode opcode;
  const InstId *operands;
  uint32_t num_operands;
  const Attr *attrs; /* decoded values in ModuleSource.ints */
  uint32_t num_attrs;
  const CompId *callees; /* in XLA's order: body before condition, select before scatter */
  uint32_t num_callees;
} InferSpec;

/* False when the operands do not fit together; `*why` then says so, in `scratch`. Only for opcodes
 * with OPF_INFER. May add shapes to the module's table. */
bool infer_shape(Module *module, const InferSpec *spec, ShapeId *shape, const char **why,
                 Arena *scratch);

/* ShapeUtil::ValidateShapeWithOptionalLayout: layouts that fit, sizes that 64 bits can count.
 * `*why`, if it is asked for, is in `scratch` when not. XLA reads such shapes, but not in tuples.
 */
bool infer_shape_is_valid(Module *module, ShapeId shape, const char **why, Arena *scratch);

/* A shape as messages show it, without layout; long ones are told of in a few words. */
const char *infer_shape_shown(const ShapeTable *shapes, ShapeId shape, Arena *out);

#endif
