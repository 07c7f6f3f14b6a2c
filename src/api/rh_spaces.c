/* The public function that visits memory spaces. */
#include "analysis/memory/space_use.h"
#include "api/call.h"
#include "api/measure.h"
#include "ir/pointers.h"

static rh_space describe(const Module *module, const HeapAnalysis *heap, const SpaceUse *use) {
  const char *name = target_space_name(module->backend.target, use->space);
  rh_space space = {.number = use->space,
                    .name = {name, name ? strlen(name) : 0},
                    .bytes = use->bytes,
                    .peak_bytes = use->peak_bytes,
                    .num_values = use->num_values};
  if (use->peak_time != NO_TIME) {
    space.peak_instruction = text_of_str(inst_name(module, heap->ranges.flat[use->peak_time]));
  }
  return space;
}

SpaceList spaces_of(const rh_module *handle, Arena *out, Arena *scratch) {
  const Module *module = handle->module;
  SpaceList list = {0};
  if (!module_has_spaces(module)) return list;
  Arena *arena = arena_new(arena_options(handle->arena));
  HeapAnalysis heap = heap_analysis_run(module, &handle->schedule, HEAP_SIZES, arena, scratch);
  SpaceUses uses = space_uses(heap.module, &heap, arena, scratch);
  rh_space *spaces = arena_array(out, rh_space, uses.list.len);
  for (uint32_t i = 0; i < uses.list.len; i++)
    spaces[i] = describe(module, &heap, &uses.list.data[i]);
  list = (SpaceList){pointers_to(spaces, uses.list.len, sizeof *spaces, out), uses.list.len};
  arena_free(arena);
  return list;
}

static rh_status visit_spaces(const rh_module *module, rh_space_fn visit, void *context,
                              rh_diags *diags) {
  const MemoryModel *heap;
  rh_status status = find_model(module, "heap", &heap, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  SpaceList spaces = spaces_of(module, arena, scratch);
  for (size_t i = 0; i < spaces.len; i++)
    visit(context, spaces.list[i]);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

rh_status rh_visit_spaces(const rh_module *module, const rh_settings *settings, rh_space_fn visit,
                          void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = visit_spaces(taken, visit, context, diags);
  return call_close(call, status);
}
