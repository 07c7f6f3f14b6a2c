/* Finds where in the program a value comes from. An instruction that compilation added has no
 * metadata. In that case the instruction that it is a form of is used: the root of a fusion, the
 * operand of a copy, the call of a parameter; or else the nearest one that it is computed from, or
 * that reads it. Metadata may give a name and no source position; that is then searched alone.
 *
 * Memory that a loop fills piece by piece begins as zeros without metadata. After that it belongs
 * to the loop, whose metadata does not describe it either. So the pieces that are written into it
 * are used. */
#include "emit/report/report.h"

enum { MAX_STEPS = 32 };

static bool has_position(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  return metadata &&
         (metadata->source_file.end > metadata->source_file.begin || metadata->stack_frame_id > 0);
}

static bool has_place(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  return has_position(module, id) || (metadata && metadata->op_name.end > metadata->op_name.begin);
}

Places places_new(const Module *module, const ValueAnalysis *values, Arena *out) {
  uint32_t num_insts = module->insts.len, num_buffers = values->buffers.num_buffers;
  Places places = {.module = module,
                   .values = values,
                   .of_inst = arena_array(out, InstId, num_insts),
                   .of_buffer = arena_array(out, InstId, num_buffers),
                   .is_searched = arena_zarray(out, bool, num_buffers),
                   .is_carried = arena_zarray(out, bool, num_buffers),
                   .of_position = arena_array(out, InstId, num_insts)};
  memset(places.of_inst, 0xff, num_insts * sizeof *places.of_inst);
  memset(places.of_position, 0xff, num_insts * sizeof *places.of_position);
  for (InstId id = 0; id < num_insts && !places.has_positions; id++)
    places.has_positions = has_position(module, id);
  for (ValueId value = 0; value < values->flow.values.len; value++) {
    const Instruction *inst = inst_get(module, values->flow.values.data[value].inst);
    if (inst->opcode == OPCODE_WHILE) places.is_carried[values->buffers.of[value]] = true;
  }
  return places;
}

/* Returns the operand of the fusion that a parameter receives. For a parameter of another
 * computation it returns the call, and NO_ID in the entry computation. */
static InstId operand_of_parameter(const Places *places, InstId id) {
  const Module *module = places->module;
  const Instruction *inst = inst_get(module, id);
  IdSpan callers = callers_of(&places->values->graph, inst->parent);
  if (callers.len == 0) return NO_ID;
  InstId caller = callers.ids[0];
  bool is_fused = inst_get(module, caller)->opcode == OPCODE_FUSION &&
                  inst->index < (int64_t)inst_get(module, caller)->num_operands;
  return is_fused ? inst_operand(module, caller, (uint32_t)inst->index) : caller;
}

/* Returns the instruction of which another one is only a form. Returns NO_ID if there is none. */
static InstId origin_of_form(const Places *places, InstId id) {
  const Module *module = places->module;
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_FUSION:
    case OPCODE_CALL:
    case OPCODE_ASYNC_START: return comp_get(module, inst_callees(module, id)[0])->root;
    case OPCODE_PARAMETER: return operand_of_parameter(places, id);
    case OPCODE_COPY:
    case OPCODE_COPY_START:
    case OPCODE_COPY_DONE:
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_DONE:
    case OPCODE_BITCAST:
    case OPCODE_BITCAST_CONVERT:
    case OPCODE_BROADCAST:
    case OPCODE_CONCATENATE:
    case OPCODE_CONVERT:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_OPT_BARRIER:
    case OPCODE_RESHAPE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE:
    case OPCODE_TUPLE: return inst->num_operands ? inst_operand(module, id, 0) : NO_ID;
    default: return NO_ID;
  }
}

/* Returns the last instruction of a fusion that has a source position, or the fusion if none has
 * one. */
static InstId place_of_fused(const Places *places, InstId fusion) {
  const Module *module = places->module;
  CompId comp = inst_callees(module, fusion)[0];
  for (uint32_t i = comp_num_insts(module, comp); i-- > 0;) {
    InstId id = comp_inst(module, comp, i);
    bool is_given = inst_get(module, id)->opcode == OPCODE_PARAMETER;
    if (!is_given && has_place(module, id)) return id;
  }
  return fusion;
}

static InstId place_of_inst(Places *places, InstId id) {
  InstId *found = &places->of_inst[id];
  if (*found != NO_ID) return *found;
  *found = id;
  InstId at = id;
  for (int step = 0; step < MAX_STEPS && at != NO_ID; step++) {
    if (has_place(places->module, at)) {
      *found = at;
      return at;
    }
    at = origin_of_form(places, at);
  }
  if (inst_get(places->module, id)->opcode == OPCODE_FUSION) *found = place_of_fused(places, id);
  return *found;
}

/* ---- memory that is filled piece by piece ---- */

/* Returns what an instruction writes into its operand, or NO_ID if the instruction makes a new
 * value. */
static InstId written_by(const Places *places, InstId id) {
  const Module *module = places->module;
  for (int step = 0; step < MAX_STEPS && id != NO_ID; step++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE && inst->num_operands > 1) {
      return inst_operand(module, id, 1);
    }
    bool is_form = inst->opcode == OPCODE_FUSION || inst->opcode == OPCODE_BITCAST ||
                   inst->opcode == OPCODE_COPY || inst->opcode == OPCODE_CONVERT;
    id = is_form ? origin_of_form(places, id) : NO_ID;
  }
  return NO_ID;
}

/* A piece gets an additional dimension before it is written. The instruction that computed it
 * describes it better. */
static InstId place_of_piece(Places *places, InstId id) {
  const Module *module = places->module;
  for (int step = 0; step < MAX_STEPS; step++) {
    const Instruction *inst = inst_get(module, id);
    bool is_broadcast = inst->opcode == OPCODE_BROADCAST && inst->num_operands == 1 &&
                        inst_shape(module, inst_operand(module, id, 0))->num_elements ==
                            inst_shape(module, id)->num_elements;
    bool is_form = inst->opcode == OPCODE_BITCAST || inst->opcode == OPCODE_COPY ||
                   inst->opcode == OPCODE_RESHAPE || inst->opcode == OPCODE_TRANSPOSE ||
                   inst->opcode == OPCODE_CONVERT || inst->opcode == OPCODE_PARAMETER;
    InstId next = is_broadcast ? inst_operand(module, id, 0)
                  : is_form    ? origin_of_form(places, id)
                               : NO_ID;
    if (next == NO_ID) break;
    id = next;
  }
  return place_of_inst(places, id);
}

/* Returns true for instructions that only forward values made elsewhere. */
static bool is_carrier(const Module *module, InstId id) {
  uint16_t opcode = inst_get(module, id)->opcode;
  return opcode == OPCODE_WHILE || opcode == OPCODE_PARAMETER;
}

/* Returns an instruction with a source position that makes a value in this buffer: one that is
 * written piece by piece if there is one, or else any. Returns NO_ID if there is none. */
static InstId place_of_buffer(Places *places, BufferId buffer) {
  const HloBuffers *buffers = &places->values->buffers;
  InstId found = NO_ID;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    InstId id = places->values->flow.values.data[buffers->values[i]].inst;
    InstId piece = written_by(places, id);
    if (piece != NO_ID) {
      piece = place_of_piece(places, piece);
      if (has_place(places->module, piece)) return piece;
    }
    if (found != NO_ID || is_carrier(places->module, id)) continue;
    InstId placed = place_of_inst(places, id);
    if (has_place(places->module, placed)) found = placed;
  }
  return found;
}

/* ---- the place of a value ---- */

/* Returns what is_wanted() finds for the nearest instruction for which it finds something, among
 * those that `id` is computed from, or among its users and theirs. It is the last resort, so that
 * only the nearest ones are examined. Returns NO_ID if there is none. O(1). */
static InstId find_nearest(Places *places, InstId id, bool is_among_users,
                           InstId (*is_wanted)(Places *places, InstId id)) {
  enum { MAX_EXAMINED = 32, MAX_NEXT = 8 };
  const Module *module = places->module;
  InstId queue[MAX_EXAMINED + 1] = {id};
  uint32_t num_queued = 1;
  for (uint32_t at = 0; at < num_queued; at++) {
    const Instruction *inst = inst_get(module, queue[at]);
    const InstId *next =
        is_among_users ? inst_users(module, queue[at]) : inst_operands(module, queue[at]);
    uint32_t num_next = is_among_users ? inst->users.len : inst->num_operands;
    for (uint32_t i = 0; i < num_next && i < MAX_NEXT; i++) {
      InstId found = is_wanted(places, next[i]);
      if (found != NO_ID) return found;
      if (num_queued <= MAX_EXAMINED) queue[num_queued++] = next[i];
    }
  }
  return NO_ID;
}

/* What a loop or call receives says less about a value than an instruction that reads it. */
static bool is_call(const Module *module, InstId id) {
  return opcode_is_control_flow((Opcode)inst_get(module, id)->opcode);
}

static InstId with_place(Places *places, InstId id) {
  InstId placed = place_of_inst(places, id);
  return has_place(places->module, placed) ? placed : NO_ID;
}

static InstId with_position(Places *places, InstId id) {
  InstId placed = place_of_inst(places, id);
  return has_position(places->module, placed) ? placed : NO_ID;
}

static InstId find_around(Places *places, InstId id,
                          InstId (*is_wanted)(Places *places, InstId id)) {
  InstId above = find_nearest(places, id, false, is_wanted);
  if (above != NO_ID && !is_call(places->module, above)) return above;
  InstId below = find_nearest(places, id, true, is_wanted);
  return below != NO_ID ? below : above;
}

/* Returns the instruction with a source position for the values in a buffer, which share its memory
 * one after the other. Returns NO_ID if there is none. */
static InstId place_of_memory(Places *places, BufferId buffer) {
  if (!places->is_searched[buffer]) {
    places->is_searched[buffer] = true;
    places->of_buffer[buffer] = place_of_buffer(places, buffer);
  }
  return places->of_buffer[buffer];
}

/* Returns true if a value is memory that a loop carries, and not a new value. */
static bool is_memory_of_loop(const Places *places, InstId id, BufferId buffer) {
  const Module *module = places->module;
  bool is_given = inst_get(module, id)->parent == module->entry &&
                  inst_get(module, id)->opcode == OPCODE_PARAMETER;
  return places->is_carried[buffer] && !is_given &&
         (is_carrier(module, id) || written_by(places, id) != NO_ID);
}

InstId report_place(Places *places, InstId id, uint32_t part) {
  const ValueAnalysis *values = places->values;
  BufferId buffer = NO_ID;
  if (part != NO_ID && dataflow_covers(&values->flow, id)) {
    buffer = values->buffers.of[dataflow_value(&values->flow, id, part)];
  }
  if (buffer != NO_ID && is_memory_of_loop(places, id, buffer)) {
    InstId made = place_of_memory(places, buffer);
    if (made != NO_ID) return made;
  }
  InstId placed = place_of_inst(places, id);
  if (has_place(places->module, placed)) return placed;
  InstId made = buffer == NO_ID ? NO_ID : place_of_memory(places, buffer);
  if (made == NO_ID) made = find_around(places, id, with_place);
  return made == NO_ID ? placed : made;
}

bool report_is_argument(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry;
}

InstId report_position(Places *places, InstId placed) {
  const Module *module = places->module;
  InstId *found = &places->of_position[placed];
  if (*found != NO_ID) return *found;
  *found = placed;
  if (!places->has_positions || has_position(module, placed) ||
      report_is_argument(module, placed)) {
    return placed;
  }
  InstId nearest = find_around(places, placed, with_position);
  if (nearest != NO_ID) *found = nearest;
  return *found;
}
