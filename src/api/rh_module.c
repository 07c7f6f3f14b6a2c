/* The public functions that return information about a module. */
#include <string.h>

#include "analysis/flow/copy_stage.h"
#include "api/call.h"
#include "api/module.h"

static bool is_sharding_call(const Module *module, InstId id) {
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  return str_is(target, "Sharding") || str_is(target, "SPMDFullToShardShape") ||
         str_is(target, "SPMDShardToFullShape");
}

rh_module *module_finish(rh_module *handle) {
  const Module *module = handle->module;
  const ModuleHeader *header = &module->source->header;
  CopyFinding copies = copies_find(module);
  rh_module_info info = {.name = text_of_str(header->name),
                         .is_scheduled = header->is_scheduled || handle->has_schedule,
                         .scheduler = handle->scheduler,
                         .num_instructions = module_num_instructions(module),
                         .num_elided_literals = module->source->num_elided_literals,
                         .num_partitions = header->num_partitions,
                         .is_optimized = header->is_scheduled || module_has_fusions(module),
                         .num_rematerialized = handle->num_rematerialized,
                         .copies = copies.is_inserted ? RH_COPIES_INSERTED : RH_COPIES_PENDING,
                         .copies_are_sure = copies.is_sure,
                         .copies_reason = copies.reason};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    info.num_computations += !(comp_get(module, comp)->flags & COMP_DEAD);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    info.has_sharding_calls |= inst->opcode == OPCODE_CUSTOM_CALL && is_sharding_call(module, id);
  }
  handle->info = info;
  return handle;
}

const rh_module_info *rh_get_info(const rh_module *module) {
  return &module->info;
}

rh_copies rh_guess_copies(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  size_t length = strlen(name);
  return length > UINT32_MAX ? RH_COPIES_AUTO
                             : (rh_copies)copies_by_file_name(str_make(name, (uint32_t)length));
}

rh_status rh_check(const rh_module *module, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_CONTRADICTION);
  const rh_module *taken;
  rh_status status = call_take(call, module, NULL, &taken);
  if (status == RH_OK) status = handle_check(taken, diags);
  return call_close(call, status);
}
