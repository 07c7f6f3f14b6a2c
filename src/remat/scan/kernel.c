#include "remat/scan/kernel.h"

Kernel kernel_begin(Rewrite *rewrite, CompId caller, bool is_fused, Arena *arena) {
  Kernel kernel = {
      .rewrite = rewrite, .comp = caller, .caller = caller, .is_fused = is_fused, .arena = arena};
  if (!is_fused) return kernel;
  Module *module = rewrite->module;
  kernel.comp =
      module_add_comp(module, name_unique(&rewrite->comp_names, STR("scan_computation")), NO_ID);
  comp_get(module, kernel.comp)->thread = comp_get(module, caller)->thread;
  return kernel;
}

static InstId add(Kernel *kernel, InstSpec spec) {
  InstId id = rewrite_add_helper(kernel->rewrite, kernel->comp, spec);
  if (!kernel->is_fused) *vec_push(kernel->arena, &kernel->made) = id;
  return id;
}

InstId kernel_operand(Kernel *kernel, InstId id) {
  if (!kernel->is_fused) return id;
  Module *module = kernel->rewrite->module;
  InstId param = add(kernel, (InstSpec){.opcode = OPCODE_PARAMETER,
                                        .shape = inst_get(module, id)->shape,
                                        .index = kernel->operands.len});
  comp_push_param(module, kernel->comp, param);
  *vec_push(kernel->arena, &kernel->operands) = id;
  return param;
}

InstId kernel_op(Kernel *kernel, Opcode opcode, ShapeId shape, const InstId *operands,
                 uint32_t count) {
  return add(
      kernel,
      (InstSpec){.opcode = opcode, .shape = shape, .operands = operands, .num_operands = count});
}

InstId kernel_constant(Kernel *kernel, ElementType type, int64_t value) {
  ShapeId shape = rewrite_scalar(kernel->rewrite, type);
  return add(kernel, (InstSpec){.opcode = OPCODE_CONSTANT, .shape = shape, .index = value});
}

InstId kernel_end(Kernel *kernel, InstId root) {
  if (!kernel->is_fused) return root;
  Module *module = kernel->rewrite->module;
  comp_get(module, kernel->comp)->root = root;
  InstId fusion = rewrite_add_helper(kernel->rewrite, kernel->caller,
                                     (InstSpec){.opcode = OPCODE_FUSION,
                                                .shape = inst_get(module, root)->shape,
                                                .operands = kernel->operands.data,
                                                .num_operands = kernel->operands.len,
                                                .callees = &kernel->comp,
                                                .num_callees = 1});
  *vec_push(kernel->arena, &kernel->made) = fusion;
  return fusion;
}
