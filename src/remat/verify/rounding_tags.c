#include "remat/verify/rounding_tags.h"

#include "analysis/flow/call_graph.h"
#include "remat/verify/verify_internal.h"

typedef struct Tagger {
  const Module *module;
  Numbering *numbering;
  const ShapeId *shapes; /* imported, by ShapeId */
  RoundingTags tags;
  const Target *target;
  InstId *caller_of;    /* by CompId: the fusion or call whose function it is; NO_ID = none */
  bool *is_rigid;       /* by CompId: sizes of sliced arrays matter, too */
  bool *is_wanted;      /* by CompId: its number is needed */
  ValueNumber *numbers; /* by InstId: of an operation in the computation that is being numbered */
  Arena *out, *scratch;
} Tagger;

/* ---- functions ---- */

/* Whether the computations that an instruction calls are compiled into the function that it is in,
 * instead of being applied to numbers. */
static bool runs_inside(Opcode opcode) {
  return opcode == OPCODE_FUSION || opcode == OPCODE_CALL || opcode_is_control_flow(opcode);
}

/* Finds the functions, from callers to callees. */
static void find_functions(Tagger *tagger, const CompId *post_order) {
  const Module *module = tagger->module;
  CompId *function_of = tagger->tags.function_of;
  for (uint32_t i = module->comps.len; i-- > 0;) {
    CompId comp = post_order[i];
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      const Instruction *inst = inst_get(module, id);
      if (!runs_inside((Opcode)inst->opcode)) continue;
      bool begins = inst->opcode == OPCODE_FUSION || call_is_compiled_alone(module, id);
      for (uint32_t c = 0; c < inst->num_callees; c++) {
        CompId callee = inst_callees(module, id)[c];
        if (function_of[comp] != NO_ID) {
          function_of[callee] = function_of[comp];
        } else if (begins && function_of[callee] == NO_ID) {
          function_of[callee] = callee;
          tagger->caller_of[callee] = id;
        }
      }
    }
  }
}

/* ---- roundings ---- */

/* Whether all of the function decides how the instruction rounds, whatever it is: in a kernel of
 * another code generator, or in a call that XLA:CPU compiles alone. The instructions of such a call
 * hand values on in memory, where LLVM may find them again or not. */
static bool is_open_there(const Tagger *tagger, CompId function, InstId id) {
  InstId caller = tagger->caller_of[function];
  if (inst_get(tagger->module, caller)->opcode == OPCODE_CALL)
    return rounding_takes_products(tagger->module, id);
  return rounding_is_opaque(tagger->module, caller) && rounding_may_round(tagger->module, id);
}

static void find_roundings(Tagger *tagger) {
  const Module *module = tagger->module;
  uint32_t *place = arena_array(tagger->scratch, uint32_t, module->insts.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    CompId function = tagger->tags.function_of[comp];
    if (function == NO_ID || comp_get(module, comp)->flags & COMP_DEAD) continue;
    ArenaMark mark = arena_mark(tagger->scratch);
    FunctionRounding rounding =
        rounding_of(module, comp, tagger->caller_of[comp], function != comp, tagger->target->excess,
                    place, tagger->scratch, tagger->scratch);
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      bool is_open = is_open_there(tagger, function, id);
      tagger->tags.of[id] = is_open ? (Rounding){ROUND_BY_FUNCTION, 0} : rounding.of[place[id]];
      tagger->is_wanted[function] |= is_open;
    }
    tagger->is_rigid[comp] = rounding.is_rigid;
    tagger->is_wanted[function] |= !rounding.is_settled;
    arena_reset(tagger->scratch, mark);
  }
}

/* What the function of a wanted computation calls is wanted, too. */
static void want_callees(Tagger *tagger, const CompId *post_order) {
  const Module *module = tagger->module;
  for (uint32_t i = module->comps.len; i-- > 0;) {
    CompId comp = post_order[i];
    if (!tagger->is_wanted[comp]) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++)
        tagger->is_wanted[inst_callees(module, id)[c]] = true;
    }
  }
}

/* ---- what a function computes ---- */

/* A value without the bitcasts after it, which change no memory, and copies into other layouts.
 * Beside a slice these are no work: the slice is copied on its way to or from a register. */
static InstId without_views(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BITCAST || inst_copies_layout(module, id))
    id = inst_operand(module, id, 0);
  return id;
}

enum { MAX_NESTED_SLICES = 8 };

static InstId only_slice_of(const Module *module, InstId array, int depth);

/* The instruction that slices an operand, or writes a slice of it: `user` itself, or one in the
 * fusion that it is. NO_ID if it does something else with the operand. */
static InstId slicer_in(const Module *module, InstId user, uint32_t operand, int depth) {
  const Instruction *inst = inst_get(module, user);
  switch (inst->opcode) {
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE: return operand == 0 ? user : NO_ID;
    case OPCODE_FUSION: {
      IdList params = comp_get(module, inst_callees(module, user)[0])->params;
      return depth ? only_slice_of(module, id_list(module, params)[operand], depth - 1) : NO_ID;
    }
    default: return NO_ID;
  }
}

/* If everything that reads an array slices it, the first instruction that does. Bitcasts change no
 * memory. The depth of fusions in fusions is bounded. */
static InstId only_slice_of(const Module *module, InstId array, int depth) {
  IdList users = inst_get(module, array)->users;
  InstId found = NO_ID;
  for (uint32_t i = 0; i < users.len; i++) {
    InstId user = id_list(module, users)[i], slicer = NO_ID;
    bool is_view =
        inst_get(module, user)->opcode == OPCODE_BITCAST || inst_copies_layout(module, user);
    if (is_view && depth) {
      slicer = only_slice_of(module, user, depth - 1);
    } else {
      for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
        if (inst_operand(module, user, k) == array) slicer = slicer_in(module, user, k, depth);
      }
    }
    if (slicer == NO_ID) return NO_ID;
    if (found == NO_ID) found = slicer;
  }
  return inst_is_root(module, array) ? NO_ID : found;
}

/* The instruction that slices an operand that is a parameter, under whatever shape; NO_ID if
 * something else is done with it. */
static InstId slicer_of(const Module *module, InstId user, uint32_t operand) {
  InstId array = without_views(module, inst_operand(module, user, operand));
  if (inst_get(module, array)->opcode != OPCODE_PARAMETER) return NO_ID;
  return slicer_in(module, user, operand, MAX_NESTED_SLICES);
}

/* Whether the instruction itself reads or writes a slice of a parameter. */
static bool is_sliced(const Module *module, InstId user) {
  return inst_get(module, user)->num_operands && slicer_of(module, user, 0) == user;
}

/* The slice that such an instruction reads or writes: it has the shape that the array has for the
 * function. */
static InstId slice_of(const Module *module, InstId user) {
  bool is_read = inst_get(module, user)->opcode == OPCODE_DYNAMIC_SLICE;
  return is_read ? user : inst_operand(module, user, 1);
}

/* The shape of the part that an instruction takes of an array, or writes into it, as the array has
 * it, if the instruction converts it; NO_ID otherwise. */
static ShapeId shape_in_array(const Tagger *tagger, InstId id) {
  const Module *module = tagger->module;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (opcode != OPCODE_DYNAMIC_SLICE && opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return NO_ID;
  return converted_part_shape(tagger->numbering, inst_shape(module, inst_operand(module, id, 0)),
                              inst_shape(module, slice_of(module, id)));
}

static ShapeId shape_in_function(const Tagger *tagger, InstId id) {
  const Module *module = tagger->module;
  if (!is_sliced(module, id)) return tagger->shapes[inst_get(module, id)->shape];
  ShapeId slice = inst_get(module, slice_of(module, id))->shape;
  ShapeId in_array = shape_in_array(tagger, id);
  if (in_array == NO_ID)
    in_array = copied_part_shape(tagger->numbering, module, inst_operand(module, id, 0),
                                 shape_get(&module->shapes, slice));
  return in_array == NO_ID ? tagger->shapes[slice] : in_array;
}

/* A number of an instruction in the function to which a start of a slice is clamped. */
typedef struct Clamp {
  ValueNumber start;
  int64_t last;
} Clamp;

/* What was met of the function that is being numbered, in this order. */
typedef struct Met {
  VEC(uint64_t) params; /* their memory */
  VEC(Clamp) clamps;
  Arena *arena;
} Met;

/* How many other numbers the start was clamped to before. */
static int64_t place_of_clamp(Met *met, Clamp clamp) {
  int64_t place = 0;
  for (uint32_t i = 0; i < met->clamps.len; i++) {
    const Clamp *known = &met->clamps.data[i];
    if (known->start != clamp.start) continue;
    if (known->last == clamp.last) return place;
    place++;
  }
  *vec_push(met->arena, &met->clamps) = clamp;
  return place;
}

/* Appends to which numbers the starts of a slice are clamped. LLVM writes a clamp to 0 or 1 in
 * another way than others. Of those it does not matter which they are, but for which slices they
 * are the same: these share an address, after which LLVM sorts what a loop adds up. `starts` has
 * the numbers of the starts. */
static void put_clamps(TextBuffer *text, const Tagger *tagger, Met *met, InstId id,
                       const ValueNumber *starts) {
  const Module *module = tagger->module;
  bool is_rigid = tagger->is_rigid[inst_get(module, id)->parent];
  /* XLA:TPU does not compile by LLVM. XLA:GPU has every product and every sum rounded by itself,
   * and LLVM takes such instructions as they are: an address only decides where numbers come from.
   */
  bool decides = tagger->target->excess == EXCESS_PRODUCTS;
  if (!decides && !is_rigid) return;
  const Shape *whole = inst_shape(module, inst_operand(module, id, 0));
  const Shape *part = inst_shape(module, slice_of(module, id));
  for (uint32_t i = 0; i < whole->rank && i < part->rank; i++) {
    int64_t last = whole->dims[i] - part->dims[i];
    text_put(text, " ");
    text_put_int(text,
                 is_rigid || last < 2 ? last : 2 + place_of_clamp(met, (Clamp){starts[i], last}));
  }
}

static ValueNumber number_convert(Tagger *tagger, ShapeId shape, ValueNumber value) {
  uint32_t text = number_text(tagger->numbering, STR("convert("));
  return number_operation(tagger->numbering, shape, text, &value, 1);
}

/* Numbers an instruction whose operands have numbers. Parameters are numbered in the order in which
 * they are met; `numbers` has that of a parameter, and its value depends on the shape. */
static ValueNumber number_in_function(Tagger *tagger, Met *met, InstId id) {
  const Module *module = tagger->module;
  const Instruction *inst = inst_get(module, id);
  if (inst_copies_layout(module, id) &&
      inst_get(module, inst_operand(module, id, 0))->opcode != OPCODE_PARAMETER)
    return tagger->numbers[inst_operand(module, id, 0)];
  ArenaMark mark = arena_mark(tagger->scratch);
  uint32_t count = inst->num_operands + inst->num_callees;
  ValueNumber *args = arena_array(tagger->scratch, ValueNumber, count);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    InstId slicer = slicer_of(module, id, i);
    if (slicer != NO_ID) operand = without_views(module, operand);
    args[i] = tagger->numbers[operand];
    if (inst_get(module, operand)->opcode != OPCODE_PARAMETER) continue;
    ShapeId shape = shape_in_function(tagger, slicer != NO_ID ? slicer : operand);
    args[i] = number_parameter(tagger->numbering, shape, args[i]);
  }
  /* What is converted beside a slice counts as converted by an instruction of its own. */
  ShapeId in_array = shape_in_array(tagger, id);
  bool is_write = inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE;
  if (in_array != NO_ID && is_write) args[1] = number_convert(tagger, in_array, args[1]);
  for (uint32_t i = 0; i < inst->num_callees; i++)
    args[inst->num_operands + i] = tagger->tags.number_of[inst_callees(module, id)[i]];
  TextBuffer text = {.arena = tagger->scratch};
  put_operation(&text, module, id, NULL);
  if (is_sliced(module, id))
    put_clamps(&text, tagger, met, id, args + (slice_of(module, id) == id ? 1 : 2));
  ShapeId shape =
      inst->opcode == OPCODE_TUPLE ? tagger->numbering->integer : shape_in_function(tagger, id);
  bool converts_read = in_array != NO_ID && !is_write;
  if (converts_read) shape = in_array;
  ValueNumber number = number_operation(
      tagger->numbering, shape, number_text(tagger->numbering, text_str(&text)), args, count);
  if (converts_read) number = number_convert(tagger, tagger->shapes[inst->shape], number);
  arena_reset(tagger->scratch, mark);
  return number;
}

/* Parameters that are read from one array have one number. */
static uint32_t number_of_param(const Tagger *tagger, Met *met, InstId param) {
  const Module *module = tagger->module;
  InstId caller = tagger->caller_of[inst_get(module, param)->parent];
  uint64_t index = (uint64_t)inst_get(module, param)->index;
  bool is_known = caller != NO_ID && index < inst_get(module, caller)->num_operands;
  uint64_t memory =
      is_known ? rounding_memory_of(module, inst_operand(module, caller, (uint32_t)index)) : index;
  uint32_t number = 0;
  while (number < met->params.len && met->params.data[number] != memory)
    number++;
  if (number == met->params.len) *vec_push(met->arena, &met->params) = memory;
  return number;
}

/* Numbers what the root needs, operands first. */
static ValueNumber number_function_of(Tagger *tagger, CompId comp) {
  typedef struct Step {
    InstId inst;
    uint32_t next; /* operand */
  } Step;
  const Module *module = tagger->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
    tagger->numbers[comp_inst(module, comp, i)] = NO_ID;
  ArenaMark mark = arena_mark(tagger->scratch);
  Arena *arena = arena_new(arena_options(tagger->scratch));
  VEC(Step) steps = {0};
  Met met = {.arena = arena};
  *vec_push(arena, &steps) = (Step){comp_get(module, comp)->root, 0};
  while (steps.len) {
    Step *step = &steps.data[steps.len - 1];
    InstId id = step->inst;
    const Instruction *inst = inst_get(module, id);
    if (tagger->numbers[id] != NO_ID) {
      steps.len--;
    } else if (inst->opcode == OPCODE_PARAMETER) {
      tagger->numbers[id] = number_of_param(tagger, &met, id);
      steps.len--;
    } else if (step->next < inst->num_operands) {
      InstId operand = inst_operand(module, id, step->next++);
      *vec_push(arena, &steps) = (Step){operand, 0};
    } else {
      tagger->numbers[id] = number_in_function(tagger, &met, id);
      steps.len--;
    }
  }
  InstId root = comp_get(module, comp)->root;
  ValueNumber number = tagger->numbers[root];
  if (inst_get(module, root)->opcode == OPCODE_PARAMETER)
    number = number_parameter(tagger->numbering, tagger->shapes[inst_get(module, root)->shape], 0);
  arena_free(arena);
  arena_reset(tagger->scratch, mark);
  return number;
}

/* ---- tags ---- */

RoundingTags rounding_tags_make(const Module *module, const Target *target, Numbering *numbering,
                                Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len, num_comps = module->comps.len;
  Arena *arena = arena_new(arena_options(scratch));
  Tagger tagger = {.module = module,
                   .target = target,
                   .numbering = numbering,
                   .shapes = numbering_import_shapes(numbering, module, arena),
                   .tags = {.of = arena_zarray(out, Rounding, num_insts),
                            .function_of = arena_array(out, CompId, num_comps),
                            .number_of = arena_array(out, ValueNumber, num_comps)},
                   .caller_of = arena_array(arena, InstId, num_comps),
                   .is_rigid = arena_zarray(arena, bool, num_comps),
                   .is_wanted = arena_zarray(arena, bool, num_comps),
                   .numbers = arena_array(arena, ValueNumber, num_insts),
                   .out = out,
                   .scratch = arena};
  for (CompId comp = 0; comp < num_comps; comp++)
    tagger.tags.function_of[comp] = tagger.tags.number_of[comp] = tagger.caller_of[comp] = NO_ID;
  const CompId *post_order = comps_post_order(module, arena, arena);
  find_functions(&tagger, post_order);
  find_roundings(&tagger);
  want_callees(&tagger, post_order);
  for (uint32_t i = 0; i < num_comps; i++) {
    CompId comp = post_order[i];
    if (tagger.is_wanted[comp]) tagger.tags.number_of[comp] = number_function_of(&tagger, comp);
  }
  arena_free(arena);
  return tagger.tags;
}

void put_rounding(TextBuffer *text, const Module *module, const RoundingTags *tags, InstId id) {
  switch (tags->of[id].kind) {
    case ROUND_WITH_PRODUCT:
    case ROUND_WITH_SHARED:
      text_put(text,
               tags->of[id].kind == ROUND_WITH_SHARED ? ", rounds beside " : ", rounds with ");
      text_put_int(text, tags->of[id].operand);
      break;
    case ROUND_BY_FUNCTION:
      text_put(text, ", rounds in ");
      text_put_int(text, tags->number_of[tags->function_of[inst_get(module, id)->parent]]);
      break;
    default: break;
  }
}
