#include "analysis/memory/overwrites.h"

#include <stdlib.h>

#include "analysis/memory/call_memory.h"
#include "analysis/memory/live_range.h"

typedef uint32_t WriteId; /* 0 = the state before the first write */

/* A write into a buffer; the branches of one conditional may leave several values. */
typedef struct Write {
  ValueId holder;
  WriteId other; /* another write that the memory may come from instead, 0 = none */
} Write;

/* A write at a position of a computation's sequence, by the instruction there or by its callees. */
typedef struct PlacedWrite {
  CompId comp;
  BufferId buffer;
  SchedPos pos;
} PlacedWrite;

typedef struct Undo {
  BufferId buffer;
  WriteId before;
} Undo;

/* The write that a branch left in a buffer. */
typedef struct Left {
  BufferId buffer;
  WriteId write;
} Left;

typedef struct Frame {
  CompId comp;
  SchedPos pos;       /* the instruction that is being executed */
  uint32_t callee;    /* index of its next callee */
  uint32_t undo_mark; /* where the undos of the current branch begin */
  uint32_t left_mark; /* where the entries of the current conditional begin in Walk.left */
} Frame;

typedef struct Walk {
  const Module *module;
  const ValueAnalysis *values;
  const Schedule *schedule;
  bool *is_shared; /* by BufferId: holds arrays of more than one value; XLA never copies tokens, and
                      tables of pointers are known when the program is built */
  WriteId *write_of;     /* by ValueId: the write that stored it; NO_ID = none yet */
  WriteId *current;      /* by BufferId: what the memory holds now */
  WriteId *merged;       /* by BufferId: of the conditional that is being left, 0 = none */
  bool *is_entered;      /* by CompId */
  uint32_t num_branches; /* nested branches that are being executed */
  VEC(Write) writes;
  VEC(Frame) stack;
  VEC(Undo) undos;
  VEC(Left) left;
  VEC(PlacedWrite) placed;
  bool keeps_places;
  OverwrittenReads *reads; /* NULL = not requested */
  Arena *out, *scratch;
} Walk;

static ValueId value_at(const Walk *walk, InstId id, uint32_t part) {
  return dataflow_value(&walk->values->flow, id, part);
}

static uint32_t num_parts(const Walk *walk, InstId id) {
  return inst_shape(walk->module, id)->num_parts;
}

/* ---- reading ---- */

static void add_read(Walk *walk, InstId reader, ValueId value, ValueId holder) {
  uint32_t len = walk->reads->list.len;
  OverwrittenRead read = {reader, value, holder};
  if (len && memcmp(&walk->reads->list.data[len - 1], &read, sizeof read) == 0) return;
  *vec_push(walk->out, &walk->reads->list) = read;
}

/* Whether the memory of a value holds another value. */
static bool is_overwritten(const Walk *walk, ValueId value) {
  BufferId buffer = walk->values->buffers.of[value];
  return walk->is_shared[buffer] && walk->write_of[value] != NO_ID &&
         walk->write_of[value] != walk->current[buffer];
}

static void read_value(Walk *walk, ValueId value, InstId reader) {
  if (!walk->reads || !is_overwritten(walk, value)) return;
  WriteId write = walk->current[walk->values->buffers.of[value]];
  for (; write != 0; write = walk->writes.data[write].other)
    add_read(walk, reader, value, walk->writes.data[write].holder);
}

static void read_parts(Walk *walk, InstId id, InstId reader) {
  for (uint32_t part = 0; part < num_parts(walk, id); part++)
    read_value(walk, value_at(walk, id, part), reader);
}

/* An asynchronous operation reads its operands, which its state carries, for the last time at its
 * end. Its own computation is allowed to overwrite them. */
static void read_state(Walk *walk, InstId id) {
  const Module *module = walk->module;
  InstId state = inst_operand(module, id, 0);
  InstId start = state;
  while (inst_get(module, start)->opcode == OPCODE_ASYNC_UPDATE)
    start = inst_operand(module, start, 0);
  CompId callee = inst_get(module, start)->num_callees ? inst_callees(module, start)[0] : NO_ID;
  for (uint32_t part = 0; part < num_parts(walk, state); part++) {
    ValueId value = value_at(walk, state, part);
    if (!is_overwritten(walk, value)) continue;
    WriteId write = walk->current[walk->values->buffers.of[value]];
    InstId holder = walk->values->flow.values.data[walk->writes.data[write].holder].inst;
    if (inst_get(module, holder)->parent != callee) read_value(walk, value, id);
  }
}

static void read_operands(Walk *walk, InstId id) {
  const Instruction *inst = inst_get(walk->module, id);
  if (opcode_only_passes_on((Opcode)inst->opcode)) return;
  if (opcode_takes_async_state((Opcode)inst->opcode)) {
    read_state(walk, id);
    return;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++)
    read_parts(walk, inst_operand(walk->module, id, i), id);
}

/* ---- writing ---- */

static void note_place(Walk *walk, BufferId buffer) {
  if (!walk->keeps_places) return;
  for (uint32_t i = 0; i < walk->stack.len; i++) {
    const Frame *frame = &walk->stack.data[i];
    PlacedWrite placed = {frame->comp, buffer, frame->pos};
    *vec_push(walk->scratch, &walk->placed) = placed;
  }
}

static void set_current(Walk *walk, BufferId buffer, WriteId write) {
  if (walk->num_branches)
    *vec_push(walk->scratch, &walk->undos) = (Undo){buffer, walk->current[buffer]};
  walk->current[buffer] = write;
}

static WriteId add_write(Walk *walk, ValueId holder, WriteId other) {
  *vec_push(walk->scratch, &walk->writes) = (Write){holder, other};
  return walk->writes.len - 1;
}

static void write_value(Walk *walk, ValueId value) {
  BufferId buffer = walk->values->buffers.of[value];
  if (!walk->is_shared[buffer]) return;
  walk->write_of[value] = add_write(walk, value, 0);
  set_current(walk, buffer, walk->write_of[value]);
  note_place(walk, buffer);
}

/* A copy into the memory of its operand changes nothing: the operand's value is still there. */
static bool is_copy_in_place(const Walk *walk, InstId id, ValueId value) {
  const Module *module = walk->module;
  if (inst_get(module, id)->opcode != OPCODE_COPY || num_parts(walk, id) != 1 ||
      inst_is_converting_copy(module, id))
    return false;
  InstId operand = inst_operand(module, id, 0);
  ValueId copied = value_at(walk, operand, 0);
  const HloBuffers *buffers = &walk->values->buffers;
  return buffers->of[copied] == buffers->of[value] && !is_overwritten(walk, copied) &&
         shape_same_layout(inst_shape(module, operand), inst_shape(module, id));
}

/* The operand, and its part, whose memory a part of a result shares as `output_to_operand_aliasing`
 * says; an operand of NO_ID if it says nothing of that part. */
static InPlacePair annotated_source(Walk *walk, InstId id, uint32_t part) {
  InPlacePairs pairs = {0};
  annotated_alias_pairs(walk->module, id, &pairs, walk->scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    if (pairs.list.data[i].output_part == part) return pairs.list.data[i];
  }
  return (InPlacePair){NO_ID, 0, part};
}

/* XLA:TPU annotates a collective that it has fused into other work with one operand for two parts
 * of the result, what goes in and what has come out: they are one memory with one content. */
static bool is_result_written(Walk *walk, InstId id, ValueId value) {
  WriteId current = walk->current[walk->values->buffers.of[value]];
  const HloValue *values = walk->values->flow.values.data, *info = &values[value];
  if (current == 0) return false;
  const HloValue *holder = &values[walk->writes.data[current].holder];
  if (holder->inst != id || holder->part == info->part) return false;
  ArenaMark mark = arena_mark(walk->scratch);
  InPlacePair one = annotated_source(walk, id, holder->part);
  InPlacePair other = annotated_source(walk, id, info->part);
  arena_reset(walk->scratch, mark);
  return one.operand != NO_ID && one.operand == other.operand &&
         one.operand_part == other.operand_part;
}

/* Writes the values that an instruction computes. The values that it passes on have been written by
 * other instructions. */
static void write_results(Walk *walk, InstId id) {
  for (uint32_t part = 0; part < num_parts(walk, id); part++) {
    ValueId value = value_at(walk, id, part);
    const HloValue *info = &walk->values->flow.values.data[value];
    if (info->inst != id || info->part != part || info->is_phi) continue;
    if (is_copy_in_place(walk, id, value) || is_result_written(walk, id, value)) {
      walk->write_of[value] = walk->current[walk->values->buffers.of[value]];
    } else {
      write_value(walk, value);
    }
  }
}

/* The phis that the instruction defines become names of what the memory holds. */
static void rename_results(Walk *walk, InstId id) {
  for (uint32_t part = 0; part < num_parts(walk, id); part++) {
    ValueId value = value_at(walk, id, part);
    const HloValue *info = &walk->values->flow.values.data[value];
    if (info->inst == id && info->part == part && info->is_phi)
      walk->write_of[value] = walk->current[walk->values->buffers.of[value]];
  }
}

/* Two values that exist before the module runs cannot both have the memory. Whether the first one
 * has it: parameters come first, by their numbers, then constants by their names. */
static bool has_precedence(const Walk *walk, ValueId first, ValueId second) {
  const HloValue *values = walk->values->flow.values.data;
  InstId a = values[first].inst, b = values[second].inst;
  const Instruction *x = inst_get(walk->module, a), *y = inst_get(walk->module, b);
  if (x->opcode != y->opcode) return x->opcode == OPCODE_PARAMETER;
  if (x->opcode == OPCODE_CONSTANT)
    return str_compare(inst_name(walk->module, a), inst_name(walk->module, b)) < 0;
  return x->index != y->index ? x->index < y->index : values[first].part < values[second].part;
}

static void write_given_value(Walk *walk, ValueId value) {
  BufferId buffer = walk->values->buffers.of[value];
  if (!walk->is_shared[buffer]) return;
  WriteId before = walk->current[buffer];
  walk->write_of[value] = add_write(walk, value, 0);
  bool is_first = before == 0 || has_precedence(walk, value, walk->writes.data[before].holder);
  if (is_first) set_current(walk, buffer, walk->write_of[value]);
}

static bool is_given(const Walk *walk, ValueId value) {
  const Instruction *inst = inst_get(walk->module, walk->values->flow.values.data[value].inst);
  return inst->opcode == OPCODE_CONSTANT ||
         (inst->opcode == OPCODE_PARAMETER && inst->parent == walk->module->entry);
}

/* Constants and the entry's parameters exist before anything runs. Two of them cannot share memory,
 * even if they are not read. */
static void write_given(Walk *walk) {
  const Dataflow *flow = &walk->values->flow;
  for (ValueId value = 0; value < flow->values.len; value++) {
    if (is_given(walk, value)) write_given_value(walk, value);
  }
  for (ValueId value = 0; value < flow->values.len; value++) {
    if (is_given(walk, value)) read_value(walk, value, NO_ID);
  }
}

/* ---- branches ---- */

/* Undoes a branch's writes and records what it left in memory. */
static void leave_branch(Walk *walk, const Frame *frame) {
  while (walk->undos.len > frame->undo_mark) {
    Undo undo = walk->undos.data[--walk->undos.len];
    WriteId write = walk->current[undo.buffer];
    /* Undoing begins with the last write, so the first write found here is what the branch left. */
    if (walk->merged[undo.buffer] == 0) {
      *vec_push(walk->scratch, &walk->left) = (Left){undo.buffer, write};
      walk->merged[undo.buffer] = 1;
    }
    walk->current[undo.buffer] = undo.before;
  }
  for (uint32_t i = walk->left.len; i-- > frame->left_mark;) {
    BufferId buffer = walk->left.data[i].buffer;
    if (walk->merged[buffer] == 0) break; /* belongs to another branch */
    walk->merged[buffer] = 0;
  }
}

static bool holds(const Walk *walk, WriteId write, ValueId value) {
  for (; write != 0; write = walk->writes.data[write].other) {
    if (walk->writes.data[write].holder == value) return true;
  }
  return false;
}

/* After the conditional, a buffer that some branch has written holds what one of the branches
 * left. */
static void merge_branches(Walk *walk, const Frame *frame, uint32_t num_branches) {
  uint32_t begin = frame->left_mark, end = walk->left.len;
  for (uint32_t i = begin; i < end; i++) {
    Left left = walk->left.data[i];
    if (num_branches == 1) walk->merged[left.buffer] = left.write;
    for (WriteId write = left.write; write != 0; write = walk->writes.data[write].other) {
      ValueId holder = walk->writes.data[write].holder;
      if (!holds(walk, walk->merged[left.buffer], holder))
        walk->merged[left.buffer] = add_write(walk, holder, walk->merged[left.buffer]);
    }
  }
  for (uint32_t i = begin; i < end; i++) {
    BufferId buffer = walk->left.data[i].buffer;
    if (walk->merged[buffer] == 0) continue;
    set_current(walk, buffer, walk->merged[buffer]);
    walk->merged[buffer] = 0;
  }
  walk->left.len = begin;
}

/* ---- running ---- */

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
      for (uint32_t part = 0; part < num_parts(walk, param); part++) {
        ValueId value = value_at(walk, passed, part);
        if (value != value_at(walk, param, part)) read_value(walk, value, caller);
      }
    }
    rename_results(walk, param);
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
    read_parts(walk, id_list(module, comp_get(module, condition)->params)[0], id);
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
  read_parts(walk, comp_get(module, comp)->root, id);
  if (inst_get(module, id)->opcode == OPCODE_CONDITIONAL) {
    walk->num_branches--;
    leave_branch(walk, frame);
    uint32_t num_branches = inst_get(module, id)->num_callees;
    if (frame->callee + 1 == num_branches) merge_branches(walk, frame, num_branches);
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
    ValueId value = value_at(walk, inst_operand(module, id, pair.operand), pair.operand_part);
    for (uint32_t k = 0; k < inst->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      for (uint32_t part = 0; k != pair.operand && part < num_parts(walk, operand); part++) {
        if (value_at(walk, operand, part) == value)
          add_read(walk, id, value, value_at(walk, id, pair.output_part));
      }
    }
  }
  arena_reset(walk->scratch, mark);
}

static void begin_instruction(Walk *walk, InstId id) {
  const Module *module = walk->module;
  if (inst_get(module, id)->opcode == OPCODE_CONDITIONAL) {
    /* The other operands are read in the branches. */
    read_parts(walk, inst_operand(module, id, 0), id);
  } else if (inst_get(module, id)->opcode != OPCODE_CALL) {
    read_operands(walk, id);
    read_beside_writing(walk, id);
  }
}

static void end_instruction(Walk *walk, InstId id) {
  Opcode opcode = (Opcode)inst_get(walk->module, id)->opcode;
  if (opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT) write_results(walk, id);
  if (inst_runs_callees(walk->module, id)) rename_results(walk, id);
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
  read_parts(walk, end, end);
  for (ValueId value = 0; walk->reads && value < flow->values.len; value++) {
    if (!walk->is_shared[walk->values->buffers.of[value]]) continue;
    const HloValue *info = &flow->values.data[value];
    bool is_constant = inst_get(module, info->inst)->opcode == OPCODE_CONSTANT;
    if (is_constant || is_callers[value]) read_value(walk, value, NO_ID);
  }
}

static void walk_module(Walk *walk) {
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
  (void)add_write(walk, 0, 0); /* the state before the first write */
  write_given(walk);
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

/* ---- overwriters ---- */

static int by_place(const void *pa, const void *pb) {
  const PlacedWrite *a = pa, *b = pb;
  if (a->comp != b->comp) return a->comp < b->comp ? -1 : 1;
  if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

/* The first position after `from.pos` at which its buffer is written; NO_ID when there is none. */
static SchedPos next_write(const Walk *walk, PlacedWrite from) {
  uint32_t low = 0, high = walk->placed.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_place(&walk->placed.data[middle], &from) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == walk->placed.len) return NO_ID;
  const PlacedWrite *found = &walk->placed.data[low];
  return found->comp == from.comp && found->buffer == from.buffer ? found->pos : NO_ID;
}

/* The first position after an instruction at which the memory of a part of its result is written;
 * NO_ID when there is none. */
static SchedPos next_write_of_part(const Walk *walk, CompId comp, SchedPos pos, uint32_t part) {
  InstId id = walk->schedule->of[comp].ids[pos];
  BufferId buffer = walk->values->buffers.of[value_at(walk, id, part)];
  if (!walk->is_shared[buffer]) return NO_ID;
  return next_write(walk, (PlacedWrite){comp, buffer, pos});
}

static InstId find_overwriter(const Walk *walk, CompId comp, SchedPos pos) {
  Sequence sequence = walk->schedule->of[comp];
  SchedPos first = NO_ID;
  for (uint32_t part = 0; part < num_parts(walk, sequence.ids[pos]); part++) {
    SchedPos next = next_write_of_part(walk, comp, pos, part);
    if (next < first) first = next;
  }
  return first == NO_ID ? NO_ID : sequence.ids[first];
}

static Walk walk_for_writes(const Module *module, const ValueAnalysis *values,
                            const Schedule *schedule, Arena *scratch) {
  Walk walk = {.module = module,
               .values = values,
               .schedule = schedule,
               .keeps_places = true,
               .scratch = scratch};
  walk_module(&walk);
  if (walk.placed.len) qsort(walk.placed.data, walk.placed.len, sizeof *walk.placed.data, by_place);
  return walk;
}

Overwriters overwriters_find(const Module *module, const ValueAnalysis *values,
                             const Schedule *schedule, Arena *out, Arena *scratch) {
  Overwriters overwriters = {.of = arena_array(out, InstId, module->insts.len),
                             .num_insts = module->insts.len};
  memset(overwriters.of, 0xff, module->insts.len * sizeof *overwriters.of);
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = walk_for_writes(module, values, schedule, arena);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (SchedPos pos = 0; walk.is_entered[comp] && pos < schedule->of[comp].len; pos++)
      overwriters.of[schedule->of[comp].ids[pos]] = find_overwriter(&walk, comp, pos);
  }
  arena_free(arena);
  return overwriters;
}

AllOverwriters all_overwriters_find(const Module *module, const ValueAnalysis *values,
                                    const Schedule *schedule, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = walk_for_writes(module, values, schedule, arena);
  IdVec ids = {0};
  uint32_t *first = arena_zarray(out, uint32_t, num_insts + 1);
  InstId *last_noted_for = arena_array(arena, InstId, num_insts); /* by InstId of the overwriter */
  memset(last_noted_for, 0xff, num_insts * sizeof *last_noted_for);
  SchedPos *positions = arena_array(arena, SchedPos, num_insts);
  memset(positions, 0xff, num_insts * sizeof *positions);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (SchedPos pos = 0; walk.is_entered[comp] && pos < schedule->of[comp].len; pos++)
      positions[schedule->of[comp].ids[pos]] = pos;
  }
  for (InstId id = 0; id < num_insts; id++) {
    first[id] = ids.len;
    if (positions[id] == NO_ID) continue;
    CompId comp = inst_get(module, id)->parent;
    for (uint32_t part = 0; part < num_parts(&walk, id); part++) {
      SchedPos next = next_write_of_part(&walk, comp, positions[id], part);
      if (next == NO_ID) continue;
      InstId overwriter = schedule->of[comp].ids[next];
      if (last_noted_for[overwriter] == id) continue;
      last_noted_for[overwriter] = id;
      *vec_push(out, &ids) = overwriter;
    }
  }
  first[num_insts] = ids.len;
  arena_free(arena);
  return (AllOverwriters){ids.data, first};
}
