#include "module_proto.h"

#include <stdlib.h>

#include "emit/proto/line.h"

static int64_t id_of(const Module *module, InstId id) {
  return (int64_t)(inst_get(module, id)->parent + 7) << 32 | (id + 5);
}

static void set_bytes(protobuf_c_boolean *is_there, Bytes *field, Str text) {
  *is_there = true;
  *field = bytes_of(text);
}

static void set_unknown(ProtobufCMessage *message, Str text, Arena *out) {
  ProtobufCMessageUnknownField *field = arena_alloc(out, sizeof *field);
  uint8_t *data = arena_alloc(out, text.len + 1);
  if (text.len >= 1 << 14) abort();
  size_t begin = 0;
  if (text.len >= 128)
    data = arena_alloc(out, text.len + 2), data[begin++] = (uint8_t)(text.len | 128);
  data[begin++] = (uint8_t)(text.len >= 128 ? text.len >> 7 : text.len);
  if (text.len) memcpy(data + begin, text.data, text.len);
  *field = (ProtobufCMessageUnknownField){.tag = UNKNOWN_FIELD,
                                          .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                          .len = begin + text.len,
                                          .data = data};
  message->n_unknown_fields = 1;
  message->unknown_fields = field;
}

/* Whether a loop carries an asynchronous operation to this end of it. */
static bool is_carried_end(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_ASYNC_DONE && inst->num_operands == 1 &&
         inst_get(module, inst_operand(module, id, 0))->opcode == OPCODE_GET_TUPLE_ELEMENT;
}

/* XLA's message of such an end has the computation that the start wraps, which the text leaves
 * out; the first start is taken for it. */
static void set_carried_callee(const Module *module, InstMessage *message, Arena *out) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode != OPCODE_ASYNC_START) continue;
    message->n_called_computation_ids = 1;
    message->called_computation_ids = arena_array(out, int64_t, 1);
    message->called_computation_ids[0] = inst_callees(module, id)[0] + 7;
    return;
  }
}

static InstMessage *inst_proto(const Module *module, InstId id, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  InstMessage *message = arena_alloc(out, sizeof *message);
  *message = (InstMessage)REMAT_HLO__INSTRUCTION__INIT;
  Line line;
  if (!line_read(module, id, &line, out)) abort(); /* fuzz targets have no Check */
  const char *opcode = opcode_text((Opcode)inst->opcode);
  set_bytes(&message->has_name, &message->name, inst_name(module, id));
  set_bytes(&message->has_opcode, &message->opcode, str_make(opcode, strlen(opcode)));
  set_bytes(&message->has_shape, &message->shape, line.shape);
  set_unknown(&message->base, line.rest, out);
  message->has_id = true;
  message->id = id_of(module, id);
  message->has_parameter_number = inst->opcode == OPCODE_PARAMETER;
  message->has_tuple_index = inst->opcode == OPCODE_GET_TUPLE_ELEMENT;
  message->parameter_number = message->tuple_index = inst->index;
  if (inst_attr(module, id, ATTR_BACKEND_CONFIG))
    set_bytes(&message->has_backend_config, &message->backend_config,
              inst_attr_text(module, id, ATTR_BACKEND_CONFIG));
  message->n_operand_ids = inst->num_operands;
  message->operand_ids = arena_array(out, int64_t, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++)
    message->operand_ids[i] = id_of(module, inst_operand(module, id, i));
  message->n_called_computation_ids = inst->num_callees;
  message->called_computation_ids = arena_array(out, int64_t, inst->num_callees);
  for (uint32_t i = 0; i < inst->num_callees; i++)
    message->called_computation_ids[i] = inst_callees(module, id)[i] + 7;
  if (is_carried_end(module, id)) set_carried_callee(module, message, out);
  return message;
}

static Bytes comp_proto(const Module *module, CompId comp, Arena *out) {
  CompMessage message = REMAT_HLO__COMPUTATION__INIT;
  set_bytes(&message.has_name, &message.name, comp_name(module, comp));
  message.has_id = message.has_root_id = true;
  message.id = comp + 7;
  message.root_id = id_of(module, comp_get(module, comp)->root);
  message.n_instructions = comp_num_insts(module, comp);
  message.instructions = arena_array(out, InstMessage *, message.n_instructions);
  for (uint32_t i = 0; i < message.n_instructions; i++)
    message.instructions[i] = inst_proto(module, comp_inst(module, comp, i), out);
  return message_write(&message.base, out);
}

static bool is_fused(const Module *module, CompId comp) {
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_FUSION && inst_callees(module, id)[0] == comp) return true;
  }
  return false;
}

static RematHlo__Order *order_proto(const Module *module, Arena *out) {
  RematHlo__Order *order = arena_alloc(out, sizeof *order);
  *order = (RematHlo__Order)REMAT_HLO__ORDER__INIT;
  order->sequences = arena_array(out, RematHlo__Sequences *, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (is_fused(module, comp)) continue;
    RematHlo__Sequences *made = arena_alloc(out, sizeof *made);
    RematHlo__Sequence *sequence = arena_alloc(out, sizeof *sequence);
    *made = (RematHlo__Sequences)REMAT_HLO__SEQUENCES__INIT;
    *sequence = (RematHlo__Sequence)REMAT_HLO__SEQUENCE__INIT;
    made->has_computation_id = true;
    made->computation_id = comp + 7;
    made->sequence = sequence;
    sequence->n_instruction_ids = comp_num_insts(module, comp);
    sequence->instruction_ids = arena_array(out, int64_t, sequence->n_instruction_ids);
    for (uint32_t i = 0; i < sequence->n_instruction_ids; i++)
      sequence->instruction_ids[i] = id_of(module, comp_inst(module, comp, i));
    order->sequences[order->n_sequences++] = made;
  }
  return order;
}

Bytes module_proto(const Module *module, Arena *out) {
  ModuleMessage message = REMAT_HLO__MODULE__INIT;
  message.n_computations = module->comps.len;
  message.computations = arena_array(out, Bytes, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++)
    message.computations[comp] = comp_proto(module, comp, out);
  message.has_entry_computation_id = true;
  message.entry_computation_id = module->entry + 7;
  if (module->source->header.is_scheduled) message.schedule = order_proto(module, out);
  set_unknown(&message.base, STR("what later versions add"), out);
  return message_write(&message.base, out);
}
