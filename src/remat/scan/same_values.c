#include "remat/scan/same_values.h"

#include "analysis/loop/count.h"

/* Numbers of expressions: two have the same number if and only if they are the same operation on
 * the same numbers. */
typedef struct Term {
  uint32_t opcode; /* Opcode, or one of the kinds below */
  ShapeId shape;
  uint32_t text; /* of the attributes or the literal; or of starts; or the InstId of a leaf */
  uint32_t args, num_args;
} Term;

enum { TERM_LEAF = NUM_OPCODES, TERM_STARTS };

typedef struct Numberer {
  const Module *module;
  const Loop *loop;
  bool only_slices;
  CountLists lists;
  VEC(Term) terms;
  IdVec args;
  IdTable table;
  VEC(Str) texts;
  IdTable text_table;
  uint32_t *number; /* by InstId, with room for merged ones; NO_ID = not numbered */
  Arena *arena;
} Numberer;

/* ---- terms ---- */

static uint32_t text_number(Numberer *numberer, Str text) {
  uint64_t hash = hash_str(text);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&numberer->text_table, hash); id_probe_next(&probe, &id);) {
    if (str_equal(numberer->texts.data[id], text)) return id;
  }
  id = numberer->texts.len;
  id_table_add(&numberer->text_table, numberer->arena, hash, id);
  *vec_push(numberer->arena, &numberer->texts) =
      (Str){arena_strndup(numberer->arena, text.data, text.len), text.len};
  return id;
}

static uint32_t term_number(Numberer *numberer, Term term, const uint32_t *args) {
  uint64_t hash = hash_mix(hash_mix(hash_mix(HASH_SEED, term.opcode), term.shape), term.text);
  for (uint32_t i = 0; i < term.num_args; i++)
    hash = hash_mix(hash, args[i]);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&numberer->table, hash); id_probe_next(&probe, &id);) {
    const Term *other = &numberer->terms.data[id];
    bool is_same = other->opcode == term.opcode && other->shape == term.shape &&
                   other->text == term.text && other->num_args == term.num_args;
    for (uint32_t i = 0; is_same && i < term.num_args; i++)
      is_same = numberer->args.data[other->args + i] == args[i];
    if (is_same) return id;
  }
  term.args = numberer->args.len;
  for (uint32_t i = 0; i < term.num_args; i++)
    *vec_push(numberer->arena, &numberer->args) = args[i];
  id = numberer->terms.len;
  id_table_add(&numberer->table, numberer->arena, hash, id);
  *vec_push(numberer->arena, &numberer->terms) = term;
  return id;
}

static uint32_t leaf(Numberer *numberer, InstId id) {
  Term term = {.opcode = TERM_LEAF, .shape = inst_get(numberer->module, id)->shape, .text = id};
  return term_number(numberer, term, NULL);
}

/* A bitcast of a bitcast is one, and one to the same shape is none. */
static uint32_t bitcast_number(Numberer *numberer, ShapeId shape, uint32_t arg) {
  while (numberer->terms.data[arg].opcode == OPCODE_BITCAST)
    arg = numberer->args.data[numberer->terms.data[arg].args];
  if (numberer->terms.data[arg].shape == shape) return arg;
  return term_number(numberer, (Term){.opcode = OPCODE_BITCAST, .shape = shape, .num_args = 1},
                     &arg);
}

/* The attributes and the literal of an instruction, as text. */
static uint32_t details(Numberer *numberer, InstId id) {
  const Module *module = numberer->module;
  const Instruction *inst = inst_get(module, id);
  VEC(char) text = {0};
  if (inst->origin == NO_ID) {
    const char *index = arena_printf(numberer->arena, "new %lld", (long long)inst->index);
    return text_number(numberer, str_make(index, strlen(index)));
  }
  for (AttrId attr_id = 0; attr_id < NUM_ATTRS; attr_id++) {
    const Attr *attr = inst_attr(module, id, attr_id);
    if (!attr || attribute_is_annotation(attr_id)) continue;
    Str value = module_span(module, attr->text);
    *vec_push(numberer->arena, &text) = (char)(attr_id + 1);
    for (uint32_t i = 0; i < value.len; i++)
      *vec_push(numberer->arena, &text) = value.data[i];
  }
  if (inst->opcode == OPCODE_CONSTANT) {
    const InstSource *source = &module->source->insts.data[inst->origin];
    Str value = module_span(module, (Span){source->paren + 1, source->close});
    for (uint32_t i = 0; i < value.len; i++)
      *vec_push(numberer->arena, &text) = value.data[i];
  }
  return text_number(numberer, (Str){text.data ? text.data : "", text.len});
}

/* ---- instructions of a fusion ---- */

/* The places at which a slice begins, in all iterations; NO_ID if they are unknown. */
static uint32_t starts_number(Numberer *numberer, InstId cut) {
  uint32_t count = inst_get(numberer->module, cut)->num_operands - 1;
  uint32_t *args = arena_array(numberer->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    const int64_t *list = count_list(&numberer->lists, inst_operand(numberer->module, cut, 1 + i));
    if (!list) return NO_ID;
    size_t bytes = (size_t)numberer->loop->trips * sizeof *list;
    args[i] = text_number(numberer, (Str){(const char *)list, (uint32_t)bytes});
  }
  return term_number(numberer, (Term){.opcode = TERM_STARTS, .shape = NO_ID, .num_args = count},
                     args);
}

/* NO_ID if an expression contains what is not compared. */
static uint32_t inner_number(Numberer *numberer, InstId fusion, InstId id) {
  const Module *module = numberer->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_PARAMETER)
    return numberer->number[inst_operand(module, fusion, (uint32_t)inst->index)];
  if (inst->num_callees || inst->flags & INST_ELIDED_LITERAL ||
      shape_is_tuple(inst_shape(module, id)))
    return NO_ID;
  uint32_t *args = arena_array(numberer->arena, uint32_t, inst->num_operands);
  if (inst->opcode == OPCODE_DYNAMIC_SLICE) {
    uint32_t parts[] = {numberer->number[inst_operand(module, id, 0)], starts_number(numberer, id)};
    if (parts[0] != NO_ID && parts[1] != NO_ID) {
      Term term = {.opcode = OPCODE_DYNAMIC_SLICE, .shape = inst->shape, .num_args = 2};
      return term_number(numberer, term, parts);
    }
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    args[i] = numberer->number[inst_operand(module, id, i)];
    if (args[i] == NO_ID) return NO_ID;
  }
  if (inst->opcode == OPCODE_BITCAST) return bitcast_number(numberer, inst->shape, args[0]);
  Term term = {.opcode = inst->opcode,
               .shape = inst->shape,
               .text = details(numberer, id),
               .num_args = inst->num_operands};
  return term_number(numberer, term, args);
}

static void set_number(Numberer *numberer, InstId id, uint32_t number) {
  numberer->number[id] = number;
}

/* A backend may compute functions like the exponential in another way if the loop around them has
 * another shape. */
static bool has_function(const Module *module, CompId comp) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (opcode_has((Opcode)inst_get(module, id)->opcode, OPF_TRANSCENDENTAL)) return true;
  }
  return false;
}

static uint32_t fusion_number(Numberer *numberer, InstId fusion) {
  const Module *module = numberer->module;
  CompId comp = inst_callees(module, fusion)[0];
  int64_t kind = inst_get(module, fusion)->origin == NO_ID
                     ? FUSION_LOOP
                     : inst_attr_int(module, fusion, ATTR_FUSION_KIND, FUSION_CUSTOM);
  if (kind != FUSION_LOOP || shape_is_tuple(inst_shape(module, fusion)) ||
      inst_has_control(module, fusion) || comp_num_insts(module, comp) > 256)
    return NO_ID;
  /* The list is in an order in which operands come first, except for parameters. */
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      bool is_param = inst_get(module, id)->opcode == OPCODE_PARAMETER;
      if (is_param == (pass == 0)) set_number(numberer, id, inner_number(numberer, fusion, id));
    }
  }
  return numberer->number[comp_get(module, comp)->root];
}

/* ---- bodies ---- */

/* Replaces a value by an earlier one; a bitcast takes its place in the sequence if the shapes
 * differ. */
static InstId replace(Rewrite *rewrite, InstId later, InstId earlier, Arena *scratch) {
  Module *module = rewrite->module;
  InstId result = earlier;
  bool differs = inst_get(module, later)->shape != inst_get(module, earlier)->shape;
  if (differs) result = rewrite_add_bitcast(rewrite, earlier, inst_get(module, later)->shape);
  rewrite_replace_all_uses(rewrite, later, result, scratch);
  if (differs) module_remove_inst(module, later);
  return differs ? result : later;
}

/* A value without the last bitcast, which is only a view. */
static uint32_t without_view(const Numberer *numberer, uint32_t number) {
  while (numberer->terms.data[number].opcode == OPCODE_BITCAST)
    number = numberer->args.data[numberer->terms.data[number].args];
  return number;
}

/* An earlier value, by its number. */
typedef struct Earlier {
  uint32_t number;
  InstId inst;
} Earlier;

static void merge_in(Rewrite *rewrite, Numberer *numberer, Sequence sequence, uint32_t num_old) {
  const Module *module = rewrite->module;
  VEC(Earlier) list = {0};
  IdTable table = {0};
  for (uint32_t i = 0; i < sequence.len; i++) {
    InstId id = sequence.ids[i];
    if (id >= num_old || inst_get(module, id)->flags & INST_DEAD) continue;
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_BITCAST) {
      uint32_t arg = numberer->number[inst_operand(module, id, 0)];
      set_number(numberer, id, bitcast_number(numberer, inst->shape, arg));
      continue;
    }
    uint32_t number = NO_ID;
    if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT &&
        inst_operand(module, id, 0) == numberer->loop->body_param) {
      Term term = {.opcode = inst->opcode, .shape = inst->shape, .text = (uint32_t)inst->index};
      number = term_number(numberer, term, NULL);
    } else if (inst->opcode == OPCODE_CONSTANT && !(inst->flags & INST_ELIDED_LITERAL)) {
      Term term = {.opcode = inst->opcode, .shape = inst->shape, .text = details(numberer, id)};
      number = term_number(numberer, term, NULL);
    }
    bool is_fusion = inst->opcode == OPCODE_FUSION;
    if (is_fusion) number = fusion_number(numberer, id);
    bool is_compared = is_fusion && number != NO_ID && !inst_is_root(module, id) &&
                       !shape_is_effective_scalar(inst_shape(module, id));
    set_number(numberer, id, number == NO_ID ? leaf(numberer, id) : number);
    if (!is_compared) continue;
    uint32_t bare = without_view(numberer, number), found = NO_ID, k;
    if (numberer->only_slices && numberer->terms.data[bare].opcode != OPCODE_DYNAMIC_SLICE)
      continue;
    for (IdProbe probe = id_table_probe(&table, bare); id_probe_next(&probe, &k);) {
      if (list.data[k].number == bare) found = list.data[k].inst;
    }
    bool is_alike =
        found != NO_ID && (inst_get(module, found)->shape == inst_get(module, id)->shape ||
                           !has_function(module, inst_callees(module, id)[0]));
    if (is_alike) {
      sequence.ids[i] = replace(rewrite, id, found, numberer->arena);
      if (sequence.ids[i] != id) set_number(numberer, sequence.ids[i], number);
    } else if (found == NO_ID) {
      id_table_add(&table, numberer->arena, bare, list.len);
      *vec_push(numberer->arena, &list) = (Earlier){bare, id};
    }
  }
}

void same_values_merge(Rewrite *rewrite, const Loops *loops, Schedule *schedule, bool only_slices,
                       Arena *scratch) {
  Module *module = rewrite->module;
  if (loops->len == 0 || !module_has_fusions(module)) return;
  Arena *arena = arena_new(arena_options(scratch));
  uint32_t num_insts = module->insts.len;
  Numberer numberer = {.module = module,
                       .lists = count_lists_begin(loops, arena),
                       .only_slices = only_slices,
                       .number = arena_array(arena, uint32_t, 2 * (size_t)num_insts),
                       .arena = arena};
  /* A merged value adds at most one bitcast. */
  memset(numberer.number, 0xff, 2 * (size_t)num_insts * sizeof *numberer.number);
  for (uint32_t l = 0; l < loops->len; l++) {
    const Loop *loop = &loops->list[l];
    if (loop->body >= schedule->num_comps) continue;
    numberer.loop = loop;
    count_lists_enter(&numberer.lists, loop, arena);
    /* Values outside of the body must not be taken for values in it. */
    set_number(&numberer, loop->body_param, leaf(&numberer, loop->body_param));
    merge_in(rewrite, &numberer, schedule->of[loop->body], num_insts);
    module_sweep_comp(module, loop->body);
  }
  arena_free(arena);
}
