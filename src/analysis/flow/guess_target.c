#include "analysis/flow/guess_target.h"

static bool has_tiles(const Module *module) {
  for (ShapeId id = 0; id < module->shapes.shapes.len; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    if (shape->extras && shape->extras->num_tile_words) return true;
  }
  return false;
}

/* xla/service/gpu/cublas_cudnn.h, xla/service/gpu/backend_configs.proto. */
static bool has_gpu_mark(const Module *module, InstId id) {
  static const char *const targets[] = {"__cublas$", "__cudnn$", "__cub$", "__triton",
                                        "triton_kernel"};
  static const char *const notes[] = {"operation_queue_id", "fusion_backend_config",
                                      "gemm_backend_config", "collective_backend_config"};
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_CUSTOM_CALL) {
    Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
      if (str_begins_with(target, targets[i])) return true;
    }
  }
  Str config = inst_attr_text(module, id, ATTR_BACKEND_CONFIG);
  for (size_t i = 0; config.len && i < sizeof notes / sizeof *notes; i++) {
    if (str_contains(config, notes[i])) return true;
  }
  return false;
}

/* XLA:GPU writes into the header what the module was like before it was scheduled
 * (xla/service/gpu/gpu_hlo_schedule.cc), also where no instruction has a mark. */
static bool is_scheduled_for_gpu(const Module *module) {
  Str attributes = module_span(module, module->source->header.frontend_attributes);
  return str_contains(attributes, "fingerprint_before_lhs");
}

const Target *guess_target(const Module *module) {
  enum {
    MAX_NOTES = 256
  }; /* after so many notes of another target, further ones give no more information */
  if (has_tiles(module)) return target_find("tpu");
  if (is_scheduled_for_gpu(module)) return target_find("gpu");
  uint32_t num_notes = 0;
  for (InstId id = 0; id < module->insts.len && num_notes < MAX_NOTES; id++) {
    if (has_gpu_mark(module, id)) return target_find("gpu");
    num_notes += inst_attr_text(module, id, ATTR_BACKEND_CONFIG).len > 0;
  }
  return &known_targets[0];
}
