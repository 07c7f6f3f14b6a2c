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

rh_status handle_check(const rh_module *handle, rh_diags *diags) {
  if (*handle->is_checked) return RH_OK;
  rh_status status = module_check(handle->module, diags);
  if (status == RH_OK) *handle->is_checked = true;
  return status;
}

rh_status handle_check_scheduled(const rh_module *handle, rh_diags *diags) {
  if (handle->has_schedule) return handle_check(handle, diags);
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NO_SCHEDULE, NO_OFFSET),
                   "the module has no schedule yet");
}
