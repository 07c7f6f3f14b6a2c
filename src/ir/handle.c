#include "ir/handle.h"

#include "ir/diag.h"
#include "ir/module_check.h"

rh_module *handle_new(Module *module) {
  Arena *arena = arena_new(arena_options(module->arena));
  rh_module *handle = arena_zalloc(arena, sizeof *handle);
  handle->module = module;
  handle->is_checked = arena_zalloc(arena, sizeof *handle->is_checked);
  handle->arena = arena;
  return handle;
}

void rh_module_free(rh_module *handle) {
  if (!handle) return;
  module_free(handle->module);
  if (handle->plan_arena) arena_free(handle->plan_arena);
  arena_free(handle->arena);
}

Arena *handle_scratch(const rh_module *handle) {
  enum { BYTES_FOR_INST = 192 }; /* what packing takes, and what is there at that time */
  Arena *scratch = arena_new(arena_options(handle->arena));
  arena_reserve(scratch, (size_t)handle->module->insts.len * BYTES_FOR_INST);
  return scratch;
}

rh_status handle_check(const rh_module *handle, rh_diags *diags) {
  if (*handle->is_checked) return RH_OK;
  rh_status status = module_check(handle->module, diags);
  if (status == RH_OK) *handle->is_checked = true;
  return status;
}

rh_status handle_check_scheduled(const rh_module *handle, rh_diags *diags) {
  if (handle->has_schedule) return handle_check(handle, diags);
  return diag_fail(diags, RH_ERR_USAGE, DIAG_NOWHERE, "the module has no schedule yet");
}

rh_status rh_check(const rh_module *handle, rh_diags *diags) {
  return handle_check(handle, diags);
}

static bool is_sharding_call(const Module *module, InstId id) {
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  return str_is(target, "Sharding") || str_is(target, "SPMDFullToShardShape") ||
         str_is(target, "SPMDShardToFullShape");
}

rh_module_info rh_get_info(const rh_module *handle) {
  const Module *module = handle->module;
  const ModuleHeader *header = &module->source->header;
  rh_module_info info = {.name = text_of_str(header->name),
                         .is_scheduled = header->is_scheduled || handle->has_schedule,
                         .scheduler = handle->scheduler,
                         .num_instructions = module_num_instructions(module),
                         .num_elided_literals = module->source->num_elided_literals,
                         .num_partitions = header->num_partitions,
                         .is_optimized = header->is_scheduled || module_has_fusions(module),
                         .num_rematerialized = handle->num_rematerialized,
                         .target = module->backend.target->name};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    info.num_computations += !(comp_get(module, comp)->flags & COMP_DEAD);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    info.has_sharding_calls |= inst->opcode == OPCODE_CUSTOM_CALL && is_sharding_call(module, id);
  }
  return info;
}
