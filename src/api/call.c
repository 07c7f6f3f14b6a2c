#include "api/call.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/flow/guess_target.h"
#include "analysis/pack/packing.h"
#include "api/arguments.h"
#include "api/sized.h"
#include "api/times.h"
#include "ir/expression.h"
#include "ir/library_files.h"
#include "ir/target.h"

/* ---- calls ---- */

Call *call_new(rh_diags *diags, rh_code code) {
  Call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  call->diags = diags;
  call->diags_owner = diags_swap_owner(diags, (DiagsOwner){.guard = &call->guard, .code = code});
  return call;
}

void call_warn_about(Call *call, rh_code code) {
  DiagsOwner owner = diags_swap_owner(call->diags, (DiagsOwner){0});
  owner.warning_code = code;
  diags_swap_owner(call->diags, owner);
}

static void end(Call *call) {
  diags_swap_owner(call->diags, call->diags_owner);
  free(call);
}

/* The arenas of the views are freed by then, with all copies that held them. What remains to be
 * done is to release the modules that the views held. */
rh_status call_out_of_memory(Call *call, rh_diags *diags) {
  size_t wanted_bytes = call ? call->guard.wanted_bytes : sizeof *call;
  size_t limit_bytes = call ? call->guard.limit_bytes : 0;
  if (call) {
    Module *held[MAX_TAKEN];
    for (int i = 0; i < call->num_taken; i++)
      held[i] = call->taken[i]->parent;
    arena_guard_free_all(&call->guard);
    for (int i = 0; i < call->num_taken; i++)
      module_free(held[i]);
    end(call);
  }
  diags_note_out_of_memory(diags, wanted_bytes, limit_bytes);
  return RH_ERR_MEMORY;
}

void call_give_back(Call *call) {
  module_free(call->taken[--call->num_taken]);
}

rh_status call_close(Call *call, rh_status status) {
  while (call->num_taken)
    call_give_back(call);
  arena_guard_release_all(&call->guard);
  end(call);
  return status;
}

ArenaOptions call_memory(Call *call, size_t max_bytes) {
  return (ArenaOptions){.max_bytes = max_bytes, .guard = &call->guard};
}

/* ---- settings ---- */

rh_status settings_read(const rh_settings *given, rh_settings *settings, rh_diags *diags) {
  *settings = (rh_settings)RH_SETTINGS_INIT;
  rh_status status = sized_read(settings, sizeof *settings, given, "rh_settings", diags);
  if (status == RH_OK) {
    status = check_choice((int)settings->copies, RH_COPIES_PENDING + 1, "copies", diags);
  }
  if (status == RH_OK) {
    status = check_choice((int)settings->frames, RH_FRAMES_OUTERMOST + 1, "frames", diags);
  }
  if (status != RH_OK || settings->num_costs == 0) return status;
  bool is_sized = settings->cost_size >= sizeof(rh_known_cost) && settings->costs;
  if (is_sized && settings->num_costs <= UINT32_MAX) return RH_OK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_STRUCT_SIZE, NO_OFFSET),
                   "the costs of rh_settings, or their cost_size, are not set");
}

/* Reads the known costs into the module's arena, which outlives the caller's arrays. */
static rh_status read_costs(const rh_settings *settings, Backend *backend, rh_diags *diags,
                            Arena *out) {
  if (settings->num_costs == 0) return RH_OK;
  KnownCost *costs = arena_array(out, KnownCost, settings->num_costs);
  for (size_t i = 0; i < settings->num_costs; i++) {
    rh_known_cost given;
    memcpy(&given, (const char *)settings->costs + i * settings->cost_size, sizeof given);
    ArenaMark mark = arena_mark(out);
    const regex_t *expression;
    rh_status status = expression_new(given.expression, &expression, diags, out);
    arena_reset(out, mark);
    if (status != RH_OK) return status;
    costs[i] = (KnownCost){arena_strndup(out, given.expression, strlen(given.expression)),
                           given.flops, given.transcendentals, given.bytes_accessed};
  }
  backend->costs = costs;
  backend->num_costs = (uint32_t)settings->num_costs;
  return RH_OK;
}

/* `module` may be NULL: "auto" is then not resolved. `backend` may be the module's own. */
static rh_status read_backend(const rh_settings *settings, const Module *module, Backend *backend,
                              rh_diags *diags, Arena *out) {
  Backend known = {.copies = (CopyStage)settings->copies};
  const Target *guessed = module ? guess_target(module) : &known_targets[0];
  if (settings->copies == RH_COPIES_AUTO && module) known = module->backend;
  *backend = (Backend){
      .copies = known.copies,
      .copies_are_guessed = known.copies_are_guessed,
      .copies_reason = known.copies_reason,
      .target = &known_targets[0],
      .excess = guessed->excess,
      .max_pack_steps = settings->max_pack_steps,
      .heap_limit_bytes = settings->heap_limit_bytes < 0 ? -1 : settings->heap_limit_bytes};
  if (settings->target && strcmp(settings->target, "auto") != 0) {
    backend->target = target_find(settings->target);
    if (!backend->target) return fail_unknown_name(RH_TARGETS, settings->target, diags);
  } else if (settings->target && module) {
    backend->target = guessed;
  }
  backend->tpu = target_tpu_memory(backend->target, settings->device);
  rh_status status = read_costs(settings, backend, diags, out);
  backend->times = settings->times ? times_of(settings->times) : NULL;
  backend->frames = (FrameChoice)settings->frames;
  if (status == RH_OK) {
    status = library_files_find(module ? module->source : NULL, settings->library,
                                &backend->is_library, diags, out);
  }
  if (status != RH_OK || !settings->packing) return status;
  backend->packer = packer_find(settings->packing);
  return backend->packer ? RH_OK : fail_unknown_name(RH_PACKINGS, settings->packing, diags);
}

rh_status rh_check_settings(const rh_settings *given, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_BAD_OPTION);
  ArenaOptions memory = call_memory(call, 0);
  Arena *arena = arena_new(&memory);
  rh_settings settings;
  Backend backend;
  rh_status status = settings_read(given, &settings, diags);
  if (status == RH_OK) status = read_backend(&settings, NULL, &backend, diags, arena);
  arena_free(arena);
  return call_close(call, status);
}

const char *rh_guess_target(const rh_module *module) {
  return guess_target(module->module)->name;
}

/* ---- modules ---- */

rh_status call_take(Call *call, const rh_module *module, const rh_settings *given,
                    const rh_module **taken) {
  rh_settings settings;
  rh_status status = settings_read(given, &settings, call->diags);
  if (status != RH_OK) return status;
  ArenaOptions memory = call_memory(call, arena_options(module->arena)->max_bytes);
  Module *view = module_view(module->module, &memory);
  call->taken[call->num_taken++] = view;
  status = read_backend(&settings, view, &view->backend, call->diags, view->arena);
  rh_module *handle = arena_alloc(view->arena, sizeof *handle);
  *handle = *module;
  handle->module = view;
  handle->arena = view->arena;
  handle->requested_copies = settings.copies;
  *taken = handle;
  return status;
}
