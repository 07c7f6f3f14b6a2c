/* What memory holds while a module runs: reads, writes, and what branches leave. */
#include "analysis/memory/overwrites_internal.h"

/* ---- reading ---- */

void walk_add_read(Walk *walk, InstId reader, ValueId value, ValueId holder) {
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

void walk_read_value(Walk *walk, ValueId value, InstId reader) {
  if (!walk->reads || !is_overwritten(walk, value)) return;
  WriteId write = walk->current[walk->values->buffers.of[value]];
  for (; write != 0; write = walk->writes.data[write].other)
    walk_add_read(walk, reader, value, walk->writes.data[write].holder);
}

void walk_read_parts(Walk *walk, InstId id, InstId reader) {
  for (uint32_t part = 0; part < walk_num_parts(walk, id); part++)
    walk_read_value(walk, walk_value(walk, id, part), reader);
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
  for (uint32_t part = 0; part < walk_num_parts(walk, state); part++) {
    ValueId value = walk_value(walk, state, part);
    if (!is_overwritten(walk, value)) continue;
    WriteId write = walk->current[walk->values->buffers.of[value]];
    InstId holder = walk->values->flow.values.data[walk->writes.data[write].holder].inst;
    if (inst_get(module, holder)->parent != callee) walk_read_value(walk, value, id);
  }
}

void walk_read_operands(Walk *walk, InstId id) {
  const Instruction *inst = inst_get(walk->module, id);
  if (opcode_only_passes_on((Opcode)inst->opcode)) return;
  if (opcode_takes_async_state((Opcode)inst->opcode)) {
    read_state(walk, id);
    return;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++)
    walk_read_parts(walk, inst_operand(walk->module, id, i), id);
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

WriteId walk_add_write(Walk *walk, ValueId holder, WriteId other) {
  *vec_push(walk->scratch, &walk->writes) = (Write){holder, other};
  return walk->writes.len - 1;
}

static void write_value(Walk *walk, ValueId value) {
  BufferId buffer = walk->values->buffers.of[value];
  if (!walk->is_shared[buffer]) return;
  walk->write_of[value] = walk_add_write(walk, value, 0);
  set_current(walk, buffer, walk->write_of[value]);
  note_place(walk, buffer);
}

/* A copy into the memory of its operand changes nothing: the operand's value is still there. */
static bool is_copy_in_place(const Walk *walk, InstId id, ValueId value) {
  const Module *module = walk->module;
  if (inst_get(module, id)->opcode != OPCODE_COPY || walk_num_parts(walk, id) != 1 ||
      inst_is_converting_copy(module, id))
    return false;
  InstId operand = inst_operand(module, id, 0);
  ValueId copied = walk_value(walk, operand, 0);
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

void walk_write_results(Walk *walk, InstId id) {
  for (uint32_t part = 0; part < walk_num_parts(walk, id); part++) {
    ValueId value = walk_value(walk, id, part);
    const HloValue *info = &walk->values->flow.values.data[value];
    if (info->inst != id || info->part != part || info->is_phi) continue;
    if (is_copy_in_place(walk, id, value) || is_result_written(walk, id, value)) {
      walk->write_of[value] = walk->current[walk->values->buffers.of[value]];
    } else {
      write_value(walk, value);
    }
  }
}

void walk_rename_results(Walk *walk, InstId id) {
  for (uint32_t part = 0; part < walk_num_parts(walk, id); part++) {
    ValueId value = walk_value(walk, id, part);
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
  walk->write_of[value] = walk_add_write(walk, value, 0);
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
void walk_write_given(Walk *walk) {
  const Dataflow *flow = &walk->values->flow;
  for (ValueId value = 0; value < flow->values.len; value++) {
    if (is_given(walk, value)) write_given_value(walk, value);
  }
  for (ValueId value = 0; value < flow->values.len; value++) {
    if (is_given(walk, value)) walk_read_value(walk, value, NO_ID);
  }
}

/* ---- branches ---- */

void walk_leave_branch(Walk *walk, const Frame *frame) {
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

void walk_merge_branches(Walk *walk, const Frame *frame, uint32_t num_branches) {
  uint32_t begin = frame->left_mark, end = walk->left.len;
  for (uint32_t i = begin; i < end; i++) {
    Left left = walk->left.data[i];
    if (num_branches == 1) walk->merged[left.buffer] = left.write;
    for (WriteId write = left.write; write != 0; write = walk->writes.data[write].other) {
      ValueId holder = walk->writes.data[write].holder;
      if (!holds(walk, walk->merged[left.buffer], holder))
        walk->merged[left.buffer] = walk_add_write(walk, holder, walk->merged[left.buffer]);
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
