#include "emit/proto/original.h"

#define NOT_A_MODULE DIAG_ABOUT(RH_CODE_PROTO, NO_OFFSET)

static rh_status fail(rh_diags *diags, const char *what) {
  return diag_fail(diags, RH_ERR_INPUT, NOT_A_MODULE, "%s", what);
}

static rh_status fail_about(rh_diags *diags, Str name, const char *what) {
  return diag_fail(diags, RH_ERR_INPUT, NOT_A_MODULE,
                   "the HloModuleProto is not that of the module: '%.*s' %s", (int)name.len,
                   name.data, what);
}

CompId original_comp(const Original *original, Str name) {
  CompId id;
  for (IdProbe p = id_table_probe(&original->comp_names, hash_str(name)); id_probe_next(&p, &id);) {
    if (str_equal(comp_name(original->module, id), name)) return id;
  }
  return NO_ID;
}

InstId original_inst(const Original *original, Str name) {
  InstId id;
  for (IdProbe p = id_table_probe(&original->inst_names, hash_str(name)); id_probe_next(&p, &id);) {
    if (str_equal(inst_name(original->module, id), name)) return id;
  }
  return NO_ID;
}

/* Since XLA names computations, and instructions, uniquely within a module, a second one of a name
 * shows that the text was not printed by XLA. */
static rh_status read_names(Original *original, rh_diags *diags, Arena *out) {
  const Module *module = original->module;
  id_table_reserve(&original->comp_names, out, module->comps.len);
  id_table_reserve(&original->inst_names, out, module->insts.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    Str name = comp_name(module, comp);
    if (comp_get(module, comp)->flags & (COMP_NESTED | COMP_IMPLIED | COMP_DEAD))
      return fail_about(diags, name, "has no text of its own");
    if (original_comp(original, name) != NO_ID) return fail_about(diags, name, "is there twice");
    id_table_add(&original->comp_names, out, hash_str(name), comp);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    Str name = inst_name(module, id);
    if (inst_get(module, id)->flags & (INST_COMPACT_GTE | INST_NESTED | INST_IMPLIED | INST_DEAD))
      return fail_about(diags, name, "has no line of its own");
    if (original_inst(original, name) != NO_ID) return fail_about(diags, name, "is there twice");
    id_table_add(&original->inst_names, out, hash_str(name), id);
  }
  return RH_OK;
}

/* Since 2025, an instruction's id has the id of its computation in the upper 32 bits, so that ids
 * need only be unique within a computation. */
static bool has_local_ids(const CompMessage *comp) {
  for (size_t i = 0; i < comp->n_instructions; i++) {
    if (comp->instructions[i]->id >> 32 != comp->id) return false;
  }
  return comp->id >= 0 && comp->id <= INT32_MAX;
}

static rh_status match_insts(Original *original, CompId comp, const CompMessage *message,
                             rh_diags *diags) {
  const Module *module = original->module;
  Str name = comp_name(module, comp);
  if (message->n_instructions != comp_num_insts(module, comp))
    return fail_about(diags, name, "has another number of instructions");
  if (!has_local_ids(message)) return fail_about(diags, name, "has ids of an older version of XLA");
  for (size_t i = 0; i < message->n_instructions; i++) {
    const InstMessage *inst = message->instructions[i];
    InstId id = original_inst(original, bytes_str(inst->name));
    if (id == NO_ID || inst_get(module, id)->parent != comp || original->insts[id])
      return fail_about(diags, bytes_str(inst->name), "is not in the module");
    original->insts[id] = inst;
  }
  const InstMessage *root = original->insts[comp_get(module, comp)->root];
  return message->root_id == root->id ? RH_OK : fail_about(diags, name, "has another root");
}

static rh_status match_comps(Original *original, rh_diags *diags) {
  const Module *module = original->module;
  size_t num_comps = original->message->n_computations;
  if (num_comps != module->comps.len)
    return fail(diags, "the HloModuleProto has another number of computations than the module");
  for (CompId comp = 0; comp < num_comps; comp++)
    original->comp_numbers[comp] = NO_ID;
  for (uint32_t i = 0; i < num_comps; i++) {
    const CompMessage *message = original->comps[i];
    CompId comp = original_comp(original, bytes_str(message->name));
    if (comp == NO_ID || original->comp_numbers[comp] != NO_ID)
      return fail_about(diags, bytes_str(message->name), "is not in the module");
    original->comp_numbers[comp] = i;
    rh_status status = match_insts(original, comp, message, diags);
    if (status != RH_OK) return status;
  }
  const CompMessage *entry = original_comp_message(original, module->entry);
  if (original->message->entry_computation_id != entry->id)
    return fail_about(diags, bytes_str(entry->name), "is not the entry");
  return RH_OK;
}

static bool inst_matches(const Original *original, InstId id) {
  const Module *module = original->module;
  const Instruction *inst = inst_get(module, id);
  const InstMessage *message = original->insts[id];
  if (!str_is(bytes_str(message->opcode), opcode_text((Opcode)inst->opcode))) return false;
  if (message->n_operand_ids != inst->num_operands) return false;
  if (message->n_called_computation_ids != inst->num_callees && !original_may_hide_callee(inst))
    return false;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (message->operand_ids[i] != original->insts[inst_operand(module, id, i)]->id) return false;
  }
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    const CompMessage *callee = original_comp_message(original, inst_callees(module, id)[i]);
    if (message->called_computation_ids[i] != callee->id) return false;
  }
  return true;
}

rh_status original_read(Original *original, const Module *module, Bytes data, rh_diags *diags,
                        Arena *out) {
  *original = (Original){.module = module, .message = message_read_module(data, out)};
  if (!original->message) return fail(diags, "the bytes are not an HloModuleProto");
  size_t num_comps = original->message->n_computations;
  original->comps = arena_array(out, CompMessage *, num_comps);
  for (size_t i = 0; i < num_comps; i++) {
    original->comps[i] = message_read_comp(original->message->computations[i], out);
    if (!original->comps[i]) return fail(diags, "the bytes are not an HloModuleProto");
  }
  original->comp_numbers = arena_array(out, uint32_t, module->comps.len);
  original->insts = arena_zarray(out, const InstMessage *, module->insts.len);
  rh_status status = read_names(original, diags, out);
  if (status == RH_OK) status = match_comps(original, diags);
  for (InstId id = 0; status == RH_OK && id < module->insts.len; id++) {
    if (!inst_matches(original, id))
      status = fail_about(diags, inst_name(module, id), "is another instruction there");
  }
  return status;
}
