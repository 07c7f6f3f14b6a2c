#include "remat/rewrite/terms.h"

#include "ir/attribute.h"

uint32_t expr_text(ExprTerms *terms, Str text) {
  uint64_t hash = hash_str(text);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&terms->text_table, hash); id_probe_next(&probe, &id);) {
    if (str_equal(terms->texts.data[id], text)) return id;
  }
  id = terms->texts.len;
  id_table_add(&terms->text_table, terms->arena, hash, id);
  *vec_push(terms->arena, &terms->texts) =
      (Str){arena_strndup(terms->arena, text.data, text.len), text.len};
  return id;
}

uint32_t expr_term(ExprTerms *terms, ExprTerm term, const uint32_t *args) {
  uint64_t hash = hash_mix(hash_mix(hash_mix(HASH_SEED, term.opcode), term.shape), term.text);
  for (uint32_t i = 0; i < term.num_args; i++)
    hash = hash_mix(hash, args[i]);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&terms->table, hash); id_probe_next(&probe, &id);) {
    const ExprTerm *other = &terms->list.data[id];
    bool is_same = other->opcode == term.opcode && other->shape == term.shape &&
                   other->text == term.text && other->num_args == term.num_args;
    for (uint32_t i = 0; is_same && i < term.num_args; i++)
      is_same = terms->args.data[other->args + i] == args[i];
    if (is_same) return id;
  }
  term.args = terms->args.len;
  for (uint32_t i = 0; i < term.num_args; i++)
    *vec_push(terms->arena, &terms->args) = args[i];
  id = terms->list.len;
  id_table_add(&terms->table, terms->arena, hash, id);
  *vec_push(terms->arena, &terms->list) = term;
  return id;
}

uint32_t expr_leaf(ExprTerms *terms, InstId id) {
  ExprTerm term = {.opcode = EXPR_LEAF, .shape = inst_get(terms->module, id)->shape, .text = id};
  return expr_term(terms, term, NULL);
}

uint32_t expr_bitcast(ExprTerms *terms, ShapeId shape, uint32_t arg) {
  while (terms->list.data[arg].opcode == OPCODE_BITCAST)
    arg = terms->args.data[terms->list.data[arg].args];
  if (terms->list.data[arg].shape == shape) return arg;
  return expr_term(terms, (ExprTerm){.opcode = OPCODE_BITCAST, .shape = shape, .num_args = 1},
                   &arg);
}

uint32_t expr_details(ExprTerms *terms, InstId id) {
  const Module *module = terms->module;
  const Instruction *inst = inst_get(module, id);
  VEC(char) text = {0};
  if (inst->origin == NO_ID) {
    const char *index = arena_printf(terms->arena, "new %lld", (long long)inst->index);
    return expr_text(terms, str_make(index, strlen(index)));
  }
  for (AttrId attr_id = 0; attr_id < NUM_ATTRS; attr_id++) {
    const Attr *attr = inst_attr(module, id, attr_id);
    if (!attr || attribute_is_annotation(attr_id)) continue;
    Str value = module_span(module, attr->text);
    *vec_push(terms->arena, &text) = (char)(attr_id + 1);
    for (uint32_t i = 0; i < value.len; i++)
      *vec_push(terms->arena, &text) = value.data[i];
  }
  if (inst->opcode == OPCODE_CONSTANT) {
    const InstSource *source = &module->source->insts.data[inst->origin];
    Str value = module_span(module, (Span){source->paren + 1, source->close});
    for (uint32_t i = 0; i < value.len; i++)
      *vec_push(terms->arena, &text) = value.data[i];
  }
  return expr_text(terms, (Str){text.data ? text.data : "", text.len});
}

uint32_t expr_inner(ExprTerms *terms, const uint32_t *number, InstId id) {
  const Module *module = terms->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->num_callees || inst->flags & INST_ELIDED_LITERAL ||
      shape_is_tuple(inst_shape(module, id)))
    return NO_ID;
  uint32_t *args = arena_array(terms->arena, uint32_t, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    args[i] = number[inst_operand(module, id, i)];
    if (args[i] == NO_ID) return NO_ID;
  }
  if (inst->opcode == OPCODE_BITCAST) return expr_bitcast(terms, inst->shape, args[0]);
  ExprTerm term = {.opcode = inst->opcode,
                   .shape = inst->shape,
                   .text = expr_details(terms, id),
                   .num_args = inst->num_operands};
  return expr_term(terms, term, args);
}
