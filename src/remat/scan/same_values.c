#include "remat/scan/same_values.h"

#include "analysis/flow/alias.h"
#include "analysis/loop/count.h"
#include "remat/rewrite/terms.h"

/* A term of the starts of a slice in all iterations. */
enum { TERM_STARTS = EXPR_OTHER };

typedef struct Numberer {
  const Module *module;
  const Loops *loops;
  const Loop *loop;
  bool only_slices;
  CountLists lists;
  ExprTerms terms;
  uint32_t *number; /* by InstId, with room for merged ones; NO_ID = not numbered */
  Arena *arena;
} Numberer;

/* ---- instructions of a fusion ---- */

/* The places at which a slice begins, in all iterations; NO_ID if they are unknown. */
static uint32_t starts_number(Numberer *numberer, InstId cut) {
  uint32_t count = inst_get(numberer->module, cut)->num_operands - 1;
  uint32_t *args = arena_array(numberer->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    const int64_t *list = count_list(&numberer->lists, inst_operand(numberer->module, cut, 1 + i));
    if (!list) return NO_ID;
    size_t bytes = (size_t)numberer->loop->trips * sizeof *list;
    args[i] = expr_text(&numberer->terms, (Str){(const char *)list, (uint32_t)bytes});
  }
  return expr_term(&numberer->terms,
                   (ExprTerm){.opcode = TERM_STARTS, .shape = NO_ID, .num_args = count}, args);
}

/* NO_ID if an expression contains what is not compared. */
static uint32_t inner_number(Numberer *numberer, InstId fusion, InstId id) {
  const Module *module = numberer->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_PARAMETER)
    return numberer->number[inst_operand(module, fusion, (uint32_t)inst->index)];
  if (inst->opcode == OPCODE_DYNAMIC_SLICE) {
    uint32_t parts[] = {numberer->number[inst_operand(module, id, 0)], starts_number(numberer, id)};
    if (parts[0] != NO_ID && parts[1] != NO_ID) {
      ExprTerm term = {.opcode = OPCODE_DYNAMIC_SLICE, .shape = inst->shape, .num_args = 2};
      return expr_term(&numberer->terms, term, parts);
    }
  }
  return expr_inner(&numberer->terms, numberer->number, id);
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
  if (rewrite_fusion_kind(module, fusion) != FUSION_LOOP ||
      shape_is_tuple(inst_shape(module, fusion)) || inst_has_control(module, fusion) ||
      comp_num_insts(module, comp) > 256)
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
  while (numberer->terms.list.data[number].opcode == OPCODE_BITCAST)
    number = expr_args(&numberer->terms, number)[0];
  return number;
}

/* What becomes of the memory of a value. */
typedef enum MemoryUse {
  MEMORY_READ,        /* it is only read */
  MEMORY_HANDED_ON,   /* it has an element of the state in the next iteration */
  MEMORY_OVERWRITTEN, /* a user computes in place on it */
} MemoryUse;

static MemoryUse use_by(const Numberer *numberer, InstId user, InstId value) {
  const Module *module = numberer->module;
  const Instruction *inst = inst_get(module, user);
  if (user == numberer->loop->body_root) return MEMORY_HANDED_ON;
  if (opcode_is_control_flow((Opcode)inst->opcode)) return MEMORY_OVERWRITTEN;
  bool is_overwritten = false;
  if (inst->opcode == OPCODE_TUPLE) {
    for (uint32_t i = 0; i < inst->num_operands; i++)
      is_overwritten |=
          inst_operand(module, user, i) == value && loops_change_element(numberer->loops, user, i);
    return is_overwritten ? MEMORY_OVERWRITTEN : MEMORY_READ;
  }
  InPlacePairs pairs = {0};
  in_place_pairs(module, user, &pairs, numberer->arena);
  for (uint32_t i = 0; i < pairs.list.len; i++)
    is_overwritten |= inst_operand(module, user, pairs.list.data[i].operand) == value;
  return is_overwritten ? MEMORY_OVERWRITTEN : MEMORY_READ;
}

/* The use that is most against another reader. */
static MemoryUse use_of(const Numberer *numberer, InstId value) {
  const Module *module = numberer->module;
  MemoryUse worst = MEMORY_READ;
  IdVec views = {0};
  *vec_push(numberer->arena, &views) = value;
  for (uint32_t v = 0; v < views.len; v++) {
    IdList users = inst_get(module, views.data[v])->users;
    for (uint32_t i = 0; i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      if (inst_get(module, user)->opcode == OPCODE_BITCAST) {
        *vec_push(numberer->arena, &views) = user;
        continue;
      }
      MemoryUse use = use_by(numberer, user, views.data[v]);
      if (use > worst) worst = use;
    }
  }
  return worst;
}

/* Whether the readers of two values can have one memory. Copies were inserted for the values as
 * they were: nobody makes one for what is overwritten, or becomes two elements of a loop's state.
 */
static bool can_share_memory(const Numberer *numberer, InstId a, InstId b) {
  MemoryUse first = use_of(numberer, a), second = use_of(numberer, b);
  if (first == MEMORY_OVERWRITTEN || second == MEMORY_OVERWRITTEN) return false;
  return first == MEMORY_READ || second == MEMORY_READ;
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
      set_number(numberer, id, expr_bitcast(&numberer->terms, inst->shape, arg));
      continue;
    }
    uint32_t number = NO_ID;
    if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT &&
        inst_operand(module, id, 0) == numberer->loop->body_param) {
      ExprTerm term = {.opcode = inst->opcode, .shape = inst->shape, .text = (uint32_t)inst->index};
      number = expr_term(&numberer->terms, term, NULL);
    } else if (inst->opcode == OPCODE_CONSTANT && !(inst->flags & INST_ELIDED_LITERAL)) {
      ExprTerm term = {
          .opcode = inst->opcode, .shape = inst->shape, .text = expr_details(&numberer->terms, id)};
      number = expr_term(&numberer->terms, term, NULL);
    }
    bool is_fusion = inst->opcode == OPCODE_FUSION;
    if (is_fusion) number = fusion_number(numberer, id);
    bool is_compared = is_fusion && number != NO_ID && !inst_is_root(module, id) &&
                       !shape_is_effective_scalar(inst_shape(module, id));
    set_number(numberer, id, number == NO_ID ? expr_leaf(&numberer->terms, id) : number);
    if (!is_compared) continue;
    uint32_t bare = without_view(numberer, number), found = NO_ID, k;
    if (numberer->only_slices && numberer->terms.list.data[bare].opcode != OPCODE_DYNAMIC_SLICE)
      continue;
    for (IdProbe probe = id_table_probe(&table, bare); id_probe_next(&probe, &k);) {
      if (list.data[k].number == bare) found = list.data[k].inst;
    }
    bool is_alike =
        found != NO_ID && (inst_get(module, found)->shape == inst_get(module, id)->shape ||
                           !has_function(module, inst_callees(module, id)[0]));
    if (is_alike && can_share_memory(numberer, found, id)) {
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
                       .loops = loops,
                       .lists = count_lists_begin(loops, arena),
                       .only_slices = only_slices,
                       .terms = {.module = module, .arena = arena},
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
    set_number(&numberer, loop->body_param, expr_leaf(&numberer.terms, loop->body_param));
    merge_in(rewrite, &numberer, schedule->of[loop->body], num_insts);
    module_sweep_comp(module, loop->body);
  }
  arena_free(arena);
}
