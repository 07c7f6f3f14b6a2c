/* Infers the shape of an instruction's result from its opcode, operands and attributes
 * (xla/service/shape_inference.cc, and the code of HloParserImpl around it). For example, `add` of
 * two operands of shape f32[8] has the shape f32[8]. */
#ifndef REMAT_HLO_IR_INFER_INFER_SHAPE_H
#define REMAT_HLO_IR_INFER_INFER_SHAPE_H

#include "ir/module.h"

typedef struct InferSpec {
  Opcode opcode;
  const InstId *operands;
  uint32_t num_operands;
  const Attr *attrs; /* their decoded values are in ModuleSource.ints */
  uint32_t num_attrs;
  const CompId *callees; /* in XLA's order: body before condition, select before scatter */
  uint32_t num_callees;
} InferSpec;

/* Infers a shape. Returns false if the operands do not fit together; `*why` is then a message in
 * `scratch`. The opcode must have OPF_INFER. The function may add shapes to the module's table. */
bool infer_shape(Module *module, const InferSpec *spec, ShapeId *shape, const char **why,
                 Arena *scratch);

/* Checks a shape as ShapeUtil::ValidateShapeWithOptionalLayout does: layouts must fit, and 64 bits
 * must be able to hold the sizes. If the shape is invalid and `why` is not NULL, `*why` is a
 * message in `scratch`. XLA's parser accepts invalid shapes, but not inside tuples. */
bool infer_shape_is_valid(Module *module, ShapeId shape, const char **why, Arena *scratch);

/* Returns a shape in the form for messages: without layout, and a long one is described in a few
 * words. */
const char *infer_shape_shown(const ShapeTable *shapes, ShapeId shape, Arena *out);

#endif
