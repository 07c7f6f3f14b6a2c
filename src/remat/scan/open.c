#include "remat/scan/open.h"

#include "analysis/flow/side_effect.h"
#include "analysis/loop/loop.h"
#include "ir/written_shape.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/expand.h"
#include "remat/rewrite/inline_calls.h"
#include "remat/scan/fused_slices.h"
#include "remat/scan/layouts.h"

/* ---- calls ---- */

/* A call that XLA compiles as a function of its own stays: what it computes would round otherwise.
 */
static bool hides_loop(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_CALL || inst->flags & INST_DEAD || inst_is_root(module, id))
    return false;
  CompId callee = inst_callees(module, id)[0];
  return comp_has_loop(module, callee) && !call_is_compiled_alone(module, id) &&
         str_equal(comp_get(module, inst->parent)->thread, comp_get(module, callee)->thread);
}

/* The same of the only call of a computation, in one that runs as a sequence. */
static bool hides_loop_alone(const Module *module, const CallGraph *graph, InstId id) {
  return hides_loop(module, id) && comp_is_sequential(graph, inst_get(module, id)->parent) &&
         only_caller_of(graph, inst_callees(module, id)[0]) == id;
}

/* ---- asynchronous fusions ---- */

/* The fusion that an instruction starts; NO_ID if it starts something else, or more. */
static InstId started_fusion(const Module *module, InstId start) {
  const Instruction *inst = inst_get(module, start);
  if (inst->opcode != OPCODE_ASYNC_START || inst->flags & INST_DEAD || inst->num_callees != 1)
    return NO_ID;
  CompId comp = inst_callees(module, start)[0];
  InstId root = comp_get(module, comp)->root;
  const Instruction *fusion = inst_get(module, root);
  bool is_alone = comp_num_insts(module, comp) == comp_get(module, comp)->params.len + 1 &&
                  comp_get(module, comp)->params.len == inst->num_operands;
  bool is_fusion = fusion->opcode == OPCODE_FUSION &&
                   inst_attr_int(module, root, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_CUSTOM;
  bool is_here = str_equal(comp_get(module, inst->parent)->thread, comp_get(module, comp)->thread);
  return is_alone && is_fusion && is_here ? root : NO_ID;
}

/* What ends the operation, if that is all that reads the start. */
static InstId done_of(const Module *module, InstId start) {
  if (inst_get(module, start)->users.len != 1 || inst_is_root(module, start)) return NO_ID;
  InstId done = inst_users(module, start)[0];
  bool is_done = inst_get(module, done)->opcode == OPCODE_ASYNC_DONE &&
                 inst_get(module, done)->parent == inst_get(module, start)->parent;
  return is_done ? done : NO_ID;
}

static bool updates_slice(const Module *module, InstId fusion) {
  CompId comp = inst_callees(module, fusion)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (inst_get(module, comp_inst(module, comp, i))->opcode == OPCODE_DYNAMIC_UPDATE_SLICE)
      return true;
  }
  return false;
}

/* Whether a loop is handed the value by a loop before it. */
static bool is_from_loop(const Loops *loops, const Loop *loop, InstId id) {
  const Instruction *inst = inst_get(loops->module, id);
  if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT ||
      inst_operand(loops->module, id, 0) != loop->body_param)
    return false;
  uint32_t element = (uint32_t)inst->index;
  if (!loop->is_invariant[element]) return false;
  InstId init = loop_init(loops, loop, element);
  return loop_origin(loops, init).loop != NO_ID ||
         loop_origin(loops, layouts_before(loops->module, init)).loop != NO_ID;
}

/* Whether asynchronous fusions in the loop's body hide what the loop stacks, or reads of a stack.
 */
static bool hides_stack(const Loops *loops, const Loop *loop) {
  const Module *module = loops->module;
  for (uint32_t i = 0; i < comp_num_insts(module, loop->body); i++) {
    InstId start = comp_inst(module, loop->body, i);
    InstId fusion = started_fusion(module, start);
    if (fusion == NO_ID || done_of(module, start) == NO_ID) continue;
    if (updates_slice(module, fusion)) return true;
    for (uint32_t k = 0; k < inst_get(module, start)->num_operands; k++) {
      if (is_from_loop(loops, loop, inst_operand(module, start, k))) return true;
    }
  }
  return false;
}

/* What is written into a stack is free from the start on; what is read takes memory until the end,
 * and up to there nothing may overwrite what it is read from. */
static void open_body(Rewrite *rewrite, CompId body, Schedule *schedule, Arena *out,
                      Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  Expansions expansions = expansions_begin(module, arena);
  uint32_t num_insts = comp_num_insts(module, body);
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId start = comp_inst(module, body, i), fusion = started_fusion(module, start);
    if (fusion == NO_ID) continue;
    InstId done = done_of(module, start);
    bool is_tied =
        !control_restates_order(module) &&
        (done == NO_ID || inst_has_control(module, start) || inst_has_control(module, done));
    if (done == NO_ID || is_tied) continue;
    InstId place = updates_slice(module, fusion) ? start : done;
    expansions_add(&expansions, place, rewrite_unwrap(rewrite, start, done, schedule, scratch));
  }
  module_sweep_comp(module, body);
  expansions_apply(&expansions, module, body, schedule, out);
  arena_free(arena);
}

/* ---- barriers ---- */

static bool is_barrier(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_OPT_BARRIER && !inst_is_root(module, id);
}

/* Whether a body has barriers, in a module whose order is fixed: XLA:GPU takes them away only after
 * that, when they have done what they are for. */
static bool has_barriers(const Loops *loops, const Loop *loop) {
  const Module *module = loops->module;
  bool found = false;
  for (uint32_t i = 0; i < comp_num_insts(module, loop->body) && !found; i++)
    found = is_barrier(module, comp_inst(module, loop->body, i));
  return found && control_restates_order(module);
}

/* Lets what reads an element of a tuple read what was put in there. */
static void skip_tuple(Rewrite *rewrite, InstId tuple, Arena *scratch) {
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(scratch);
  IdSpan users = inst_copy_users(module, tuple, scratch);
  for (uint32_t i = 0; i < users.len; i++) {
    const Instruction *user = inst_get(module, users.ids[i]);
    if (user->opcode != OPCODE_GET_TUPLE_ELEMENT || inst_is_root(module, users.ids[i])) continue;
    InstId element = inst_operand(module, tuple, (uint32_t)user->index);
    rewrite_replace_all_uses(rewrite, users.ids[i], element, scratch);
  }
  arena_reset(scratch, mark);
}

static void open_barriers(Rewrite *rewrite, CompId body, Arena *scratch) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < comp_num_insts(module, body); i++) {
    InstId id = comp_inst(module, body, i);
    if (!is_barrier(module, id)) continue;
    InstId given = inst_operand(module, id, 0);
    rewrite_replace_all_uses(rewrite, id, given, scratch);
    if (inst_get(module, given)->opcode == OPCODE_TUPLE) skip_tuple(rewrite, given, scratch);
  }
}

/* ---- all ---- */

/* The loops whose bodies are to be opened, in an array by loop. */
static bool find_closed(const Loops *loops, bool *is_closed, Arena *scratch) {
  bool found = false;
  for (uint32_t i = 0; i < loops->len; i++) {
    bool hides =
        hides_stack(loops, &loops->list[i]) || fused_slices_hide_stack(loops, &loops->list[i]) ||
        has_barriers(loops, &loops->list[i]) || layouts_hide_stack(loops, &loops->list[i], scratch);
    if (is_closed) is_closed[i] = hides;
    found |= hides;
  }
  return found;
}

bool scan_is_closed(const Module *module, Arena *scratch) {
  bool is_closed = false;
  for (InstId id = 0; id < module->insts.len && !is_closed; id++)
    is_closed = hides_loop(module, id);
  if (is_closed || module_count(module, OPCODE_WHILE) == 0) return is_closed;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  Loops loops = loops_find(module, &graph, arena, scratch);
  is_closed = find_closed(&loops, NULL, scratch);
  arena_free(arena);
  return is_closed;
}

rh_status scan_open(Rewrite *rewrite, Schedule *schedule, rh_diags *diags, Arena *out,
                    Arena *scratch) {
  Module *module = rewrite->module;
  rh_status status = inline_wanted_calls(rewrite, schedule, hides_loop_alone, diags, out, scratch);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  Loops loops = loops_find(module, &graph, arena, scratch);
  bool *is_closed = arena_array(arena, bool, loops.len + 1);
  (void)find_closed(&loops, is_closed, scratch);
  for (uint32_t i = 0; i < loops.len; i++) {
    if (!is_closed[i]) continue;
    open_body(rewrite, loops.list[i].body, schedule, out, scratch);
    if (control_restates_order(module)) open_barriers(rewrite, loops.list[i].body, scratch);
    fused_slices_open(rewrite, &graph, loops.list[i].body, schedule, arena);
  }
  dce_run(rewrite, scratch); /* the computations that were copied */
  layouts_open(rewrite, schedule, out, scratch);
  dce_update_schedule(module, schedule, out);
  arena_free(arena);
  return RH_OK;
}

const Module *scan_opened(Module *module, Arena *out, Arena *scratch) {
  if (!scan_is_closed(module, scratch)) return module;
  Arena *arena = arena_new(arena_options(scratch));
  Rewrite rewrite = rewrite_begin_copy(module, out);
  rewrite.drops_control = control_restates_order(module);
  Schedule schedule = schedule_in_text_order(module, arena);
  rh_status status = scan_open(&rewrite, &schedule, NULL, arena, scratch);
  arena_free(arena);
  return status == RH_OK ? rewrite.module : module;
}
