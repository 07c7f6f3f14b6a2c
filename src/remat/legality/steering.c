#include "remat/legality/steering.h"

#include "analysis/flow/call_graph.h"
#include "remat/legality/collection.h"
#include "analysis/memory/tracker.h"

static void set_reason(const Module *module, InstId id, KeepReason reason, uint8_t *steering) {
  if (steering[id] == KEEP_NONE) steering[id] = (uint8_t)reason;
  while (inst_is_pass_through(module, id)) {
    id = inst_operand(module, id, 0);
    if (steering[id] == KEEP_NONE) steering[id] = (uint8_t)reason;
  }
}

static bool set_pinned(const Module *module, const Collection *pinned, uint8_t *steering,
                       Arena *scratch) {
  bool has_match = false;
  for (InstId id = 0; pinned->expressions.len && id < module->insts.len; id++) {
    if (inst_get(module, id)->flags & INST_DEAD) continue;
    if (!collection_has(pinned, module, id, scratch)) continue;
    set_reason(module, id, KEEP_PINNED, steering);
    has_match = true;
  }
  return has_match;
}

/* Visits callees before callers, because a fusion matches if an instruction in it does. */
static bool set_never(const Module *module, const Collection *never, uint8_t *steering,
                      Arena *scratch) {
  if (never->expressions.len == 0) return false;
  Arena *arena = arena_new(arena_options(scratch));
  CompId *order = comps_post_order(module, arena, scratch);
  bool *comp_matches = arena_zarray(arena, bool, module->comps.len), has_match = false;
  for (uint32_t c = 0; c < module->comps.len; c++) {
    CompId comp = order[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      bool is_fusion = inst_get(module, id)->opcode == OPCODE_FUSION;
      if (!(is_fusion && comp_matches[inst_callees(module, id)[0]]) &&
          !collection_has(never, module, id, scratch)) {
        continue;
      }
      set_reason(module, id, KEEP_NEVER, steering);
      comp_matches[comp] = has_match = true;
    }
  }
  arena_free(arena);
  return has_match;
}

rh_status steering_find(const Module *module, const char *pin, const char *never,
                        const uint8_t **steering, rh_diags *diags, Arena *out, Arena *scratch) {
  *steering = NULL;
  if (!pin && !never) return RH_OK;
  Collection pinned = {0}, nevers = {0};
  rh_status status = collection_parse(pin, &pinned, diags, out);
  if (status == RH_OK) status = collection_parse(never, &nevers, diags, out);
  if (status == RH_OK) {
    uint8_t *reasons = arena_zarray(out, uint8_t, module->insts.len);
    bool has_pinned = set_pinned(module, &pinned, reasons, scratch);
    bool has_never = set_never(module, &nevers, reasons, scratch);
    if (pin && !has_pinned) {
      diag_warn(diags, DIAG_NOWHERE, "nothing in the module matches what is to be pinned");
    }
    if (never && !has_never) {
      diag_warn(diags, DIAG_NOWHERE,
                "nothing in the module matches what is never to be recomputed");
    }
    *steering = reasons;
  }
  return status;
}
