#include "analysis/memory/overwrites_internal.h"

#include "analysis/memory/call_memory.h"
#include "analysis/memory/live_range.h"

/* A parameter holds what the caller passes, which is the same value where there is one caller. */
static void pass_parameters(Walk *walk, InstId caller, uint32_t index, CompId comp) {
  const Module *module = walk->module;
  IdList params = comp_get(module, comp)->params;
  Opcode opcode = (Opcode)inst_get(module, caller)->opcode;
  for (uint32_t i = 0; i < params.len; i++) {
    InstId param = id_list(module, params)[i];
    uint32_t operand = opcode == OPCODE_CONDITIONAL ? index + 1 : i;
    if (opcode == OPCODE_ASYNC_UPDATE) operand = i + 1; /* after the state */
    if (!dataflow_covers(&walk->values->flow, param)) continue;
    /* A loop has read its initial value when it began. */
    if (opcode != OPCODE_WHILE && operand < inst_get(module, caller)->num_operands) {
      InstId passed = inst_operand(module, caller, operand);
      for (uint32_t part = 0; part < walk_num_parts(walk, param); part++) {
        ValueId value = walk_value(walk, passed, part);
        if (value != walk_value(walk, param, part)) walk_read_value(walk, value, caller);
      }
    }
    walk_rename_results(walk, param);
  }
}

/* Computation number `index` of those that run when `id` does; NO_ID when there is none. */
static CompId callee_at(const Walk *walk, InstId id, uint32_t index) {
  InstId runner = inst_whose_callees_run_at(walk->module, id);
  if (runner == NO_ID || !inst_runs_callees(walk->module, runner)) return NO_ID;
  if (index >= inst_get(walk->module, runner)->num_callees) return NO_ID;
  return inst_callee_to_run(walk->module, runner, index);
}

static void enter(Walk *walk, CompId comp) {
  walk->is_entered[comp] = true;
  *vec_push(walk->scratch, &walk->stack) = (Frame){.comp = comp};
}

/* Executes what comes before the callee number `frame->callee`. */
static void begin_callee(Walk *walk, InstId id) {
  const Module *module = walk->module;
  Frame *frame = &walk->stack.data[walk->stack.len - 1];
  uint32_t index = frame->callee;
  CompId comp = callee_at(walk, id, index);
  bool is_branch = inst_get(module, id)->opcode == OPCODE_CONDITIONAL;
  if (inst_get(module, id)->opcode == OPCODE_WHILE && index == 1) {
    /* The body reads what the condition has left. */
    CompId condition = inst_callee_to_run(module, id, 0);
    walk_read_parts(walk, id_list(module, comp_get(module, condition)->params)[0], id);
  }
  if (is_branch && index == 0) frame->left_mark = walk->left.len;
  frame->undo_mark = walk->undos.len;
  walk->num_branches += is_branch;
  pass_parameters(walk, id, index, comp);
  enter(walk, comp);
}

/* The caller reads what the callee returns. */
static void end_callee(Walk *walk, InstId id) {
  const Module *module = walk->module;
  Frame *frame = &walk->stack.data[walk->stack.len - 1];
  CompId comp = callee_at(walk, id, frame->callee);
  walk_read_parts(walk, comp_get(module, comp)->root, id);
  if (inst_get(module, id)->opcode == OPCODE_CONDITIONAL) {
    walk->num_branches--;
    walk_leave_branch(walk, frame);
    uint32_t num_branches = inst_get(module, id)->num_callees;
    if (frame->callee + 1 == num_branches) walk_merge_branches(walk, frame, num_branches);
  }
  frame->callee++;
}

/* Advances `frame->callee` to the next callee that has a sequence and was not entered from another
 * caller; false when there is none. */
static bool next_callee(Walk *walk, InstId id) {
  Frame *frame = &walk->stack.data[walk->stack.len - 1];
  for (CompId comp; (comp = callee_at(walk, id, frame->callee)) != NO_ID; frame->callee++) {
    bool is_new = !walk->is_entered[comp] && walk->schedule->of[comp].len > 0;
    if (is_new) return true;
  }
  return false;
}

/* An instruction that works in place writes while it reads. If it reads the same value through
 * another operand, too, the value may be gone. */
static void read_beside_writing(Walk *walk, InstId id) {
  const Module *module = walk->module;
  const Instruction *inst = inst_get(module, id);
  if (!walk->reads || inst->num_operands < 2) return;
  ArenaMark mark = arena_mark(walk->scratch);
  InPlacePairs pairs = {0};
  in_place_pairs(module, id, &pairs, walk->scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    InPlacePair pair = pairs.list.data[i];
    ValueId value = walk_value(walk, inst_operand(module, id, pair.operand), pair.operand_part);
    for (uint32_t k = 0; k < inst->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      for (uint32_t part = 0; k != pair.operand && part < walk_num_parts(walk, operand); part++) {
        if (walk_value(walk, operand, part) == value)
          walk_add_read(walk, id, value, walk_value(walk, id, pair.output_part));
      }
    }
  }
  arena_reset(walk->scratch, mark);
}

static void begin_instruction(Walk *walk, InstId id) {
  const Module *module = walk->module;
  if (inst_get(module, id)->opcode == OPCODE_CONDITIONAL) {
    /* The other operands are read in the branches. */
    walk_read_parts(walk, inst_operand(module, id, 0), id);
  } else if (inst_get(module, id)->opcode != OPCODE_CALL) {
    walk_read_operands(walk, id);
    read_beside_writing(walk, id);
  }
}

static void end_instruction(Walk *walk, InstId id) {
  Opcode opcode = (Opcode)inst_get(walk->module, id)->opcode;
  if (opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT) walk_write_results(walk, id);
  if (inst_runs_callees(walk->module, id)) walk_rename_results(walk, id);
}

static void run(Walk *walk) {
  const Module *module = walk->module;
  enter(walk, module->entry);
  bool is_back = false; /* returned from a callee of the current instruction */
  bool has_begun = false;
  while (walk->stack.len) {
    Frame *frame = &walk->stack.data[walk->stack.len - 1];
    Sequence sequence = walk->schedule->of[frame->comp];
    if (frame->pos == sequence.len) {
      walk->stack.len--;
      is_back = has_begun = true;
      continue;
    }
    InstId id = sequence.ids[frame->pos];
    if (is_back) end_callee(walk, id);
    if (!has_begun) begin_instruction(walk, id);
    is_back = false;
    has_begun = false;
    if (next_callee(walk, id)) {
      begin_callee(walk, id);
      continue;
    }
    end_instruction(walk, id);
    frame = &walk->stack.data[walk->stack.len - 1];
    frame->pos++;
    frame->callee = 0;
  }
}

/* Only XLA's copies may write into a constant or into a parameter that stays the caller's. */
static void read_what_is_kept(Walk *walk) {
  const Module *module = walk->module;
  const Dataflow *flow = &walk->values->flow;
  InstId end = comp_get(module, module->entry)->root;
  const bool *is_callers = values_of_callers(module, flow, walk->scratch);
  walk_read_parts(walk, end, end);
  for (ValueId value = 0; walk->reads && value < flow->values.len; value++) {
    if (!walk->is_shared[walk->values->buffers.of[value]]) continue;
    const HloValue *info = &flow->values.data[value];
    bool is_constant = inst_get(module, info->inst)->opcode == OPCODE_CONSTANT;
    if (is_constant || is_callers[value]) walk_read_value(walk, value, NO_ID);
  }
}

void walk_module(Walk *walk) {
  const Module *module = walk->module;
  const HloBuffers *buffers = &walk->values->buffers;
  uint32_t num_values = walk->values->flow.values.len;
  walk->is_shared = arena_array(walk->scratch, bool, buffers->num_buffers);
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++) {
    uint32_t first = buffers->first_value[buffer];
    ShapeId shape = walk->values->flow.values.data[buffers->values[first]].shape;
    walk->is_shared[buffer] = buffers->first_value[buffer + 1] - first > 1 &&
                              shape_is_array(shape_get(&module->shapes, shape));
  }
  walk->write_of = arena_array(walk->scratch, WriteId, num_values);
  memset(walk->write_of, 0xff, num_values * sizeof *walk->write_of);
  walk->current = arena_zarray(walk->scratch, WriteId, buffers->num_buffers);
  walk->merged = arena_zarray(walk->scratch, WriteId, buffers->num_buffers);
  walk->is_entered = arena_zarray(walk->scratch, bool, module->comps.len);
  (void)walk_add_write(walk, 0, 0); /* the state before the first write */
  walk_write_given(walk);
  run(walk);
  read_what_is_kept(walk);
}

OverwrittenReads overwritten_reads_find(const Module *module, const ValueAnalysis *values,
                                        const Schedule *schedule, Arena *out, Arena *scratch) {
  OverwrittenReads reads = {0};
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = {.module = module,
               .values = values,
               .schedule = schedule,
               .reads = &reads,
               .out = out,
               .scratch = arena};
  walk_module(&walk);
  arena_free(arena);
  return reads;
}
