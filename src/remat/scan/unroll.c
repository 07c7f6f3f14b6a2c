#include "remat/scan/unroll.h"

#include "analysis/loop/misaligned.h"
#include "remat/rewrite/dce.h"
#include "remat/scan/parts.h"

bool scan_can_unroll(const ScanModule *scans, uint32_t loop, Arena *scratch) {
  return loop_may_unroll(&scans->loops, &scans->context.legality->effects, loop, scratch);
}

IdVec scan_misaligned(const ScanModule *scans, int64_t max_insts, Arena *out, Arena *scratch) {
  if (scans->loops.len == 0) return (IdVec){0};
  return loops_misaligned(&scans->stacks, &scans->context.legality->effects, max_insts, out,
                          scratch);
}

/* ---- writing out ---- */

typedef struct Unroller {
  Rewrite *rewrite;
  Module *module;
  Schedule *schedule;
  const Loop *loop;
  InstId *values; /* by element of the state: its value before the iteration */
  Arena *out, *arena;
} Unroller;

/* Copies of loops and branches get computations of their own. */
static void own_callees(Unroller *unroller, NewInsts copies) {
  Module *module = unroller->module;
  for (InstId id = copies.begin; id < copies.end; id++) {
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    if (!opcode_is_control_flow(opcode)) continue;
    for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
      CompId callee = inst_callees(module, id)[c];
      CompId own =
          rewrite_clone_sequence(unroller->rewrite, callee, unroller->schedule, unroller->arena);
      rewrite_set_callee(unroller->rewrite, id, c, own, unroller->arena);
    }
  }
}

/* What takes an element of a tuple reads the element itself. */
static void forward_elements(Unroller *unroller, InstId tuple) {
  Module *module = unroller->module;
  IdSpan users = inst_copy_users(module, tuple, unroller->arena);
  for (uint32_t i = 0; i < users.len; i++) {
    const Instruction *user = inst_get(module, users.ids[i]);
    if (user->opcode != OPCODE_GET_TUPLE_ELEMENT) continue;
    rewrite_replace_all_uses(unroller->rewrite, users.ids[i], unroller->values[user->index],
                             unroller->arena);
  }
}

static void add_iteration(Unroller *unroller, int64_t iteration) {
  const Loop *loop = unroller->loop;
  Module *module = unroller->module;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    ShapeId shape = inst_shape(module, loop->id)->elements[e];
    if (!loop->counts[e] || !shape_is_scalar(shape_get(&module->shapes, shape))) continue;
    InstSpec spec = {
        .opcode = OPCODE_CONSTANT, .shape = shape, .index = loop->counts[e][iteration]};
    unroller->values[e] = rewrite_add_helper(unroller->rewrite, loop->parent, spec);
  }
  InstSpec state = {.opcode = OPCODE_TUPLE,
                    .shape = inst_get(module, loop->init)->shape,
                    .operands = unroller->values,
                    .num_operands = loop->num_elements};
  InstId tuple = rewrite_add_helper(unroller->rewrite, loop->parent, state);
  InstSpec run = {.opcode = OPCODE_CALL,
                  .shape = inst_get(module, loop->id)->shape,
                  .operands = &tuple,
                  .num_operands = 1,
                  .callees = &loop->body,
                  .num_callees = 1};
  InstId call = rewrite_add_helper(unroller->rewrite, loop->parent, run);
  bool is_last = iteration + 1 == loop->trips; /* it takes the body's own instructions' names */
  NewInsts copies = rewrite_inline(unroller->rewrite, call, unroller->schedule,
                                   is_last ? NULL : "inlined", unroller->arena);
  InstId next = unroller->rewrite->image.data[loop->body_root];
  if (!is_last) own_callees(unroller, copies);
  forward_elements(unroller, tuple);
  for (uint32_t e = 0; e < loop->num_elements; e++)
    unroller->values[e] = inst_operand(module, next, e);
}

static void write_out(Unroller *unroller) {
  const Loop *loop = unroller->loop;
  Module *module = unroller->module;
  Schedule *schedule = unroller->schedule;
  InstId begin = module->insts.len;
  unroller->values = arena_array(unroller->arena, InstId, loop->num_elements);
  for (uint32_t e = 0; e < loop->num_elements; e++)
    unroller->values[e] = inst_operand(module, loop->init, e);
  for (int64_t t = 0; t < loop->trips; t++)
    add_iteration(unroller, t);
  InstId end = module->insts.len;
  forward_elements(unroller, loop->id);
  Sequence old = schedule->of[loop->parent];
  Sequence new = {.ids = arena_array(unroller->out, InstId, (size_t)old.len + (end - begin))};
  for (uint32_t i = 0; i < old.len; i++) {
    for (InstId id = begin; old.ids[i] == loop->id && id < end; id++) {
      const Instruction *inst = inst_get(module, id);
      if (inst->parent == loop->parent && !(inst->flags & INST_DEAD)) new.ids[new.len++] = id;
    }
    new.ids[new.len++] = old.ids[i];
  }
  if (old.len) schedule->of[loop->parent] = new;
  module_sweep_comp(module, loop->parent);
}

void scan_unroll(Rewrite *rewrite, Schedule *schedule, const Loops *all, const IdVec *loops,
                 Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  IdVec parents = {0};
  for (uint32_t i = 0; i < loops->len; i++) {
    Unroller unroller = {.rewrite = rewrite,
                         .module = rewrite->module,
                         .schedule = schedule,
                         .loop = &all->list[loops->data[i]],
                         .out = out,
                         .arena = arena};
    write_out(&unroller);
    bool is_known = false;
    for (uint32_t k = 0; k < parents.len; k++)
      is_known |= parents.data[k] == unroller.loop->parent;
    if (!is_known) *vec_push(arena, &parents) = unroller.loop->parent;
  }
  dce_run(rewrite, scratch);
  dce_update_schedule(rewrite->module, schedule, out);
  scan_forward_parts(rewrite, schedule, &parents, out, scratch);
  arena_free(arena);
}
