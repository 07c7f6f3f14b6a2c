#include "remat/rewrite/split.h"

#include <stdlib.h>

#include "analysis/flow/call_graph.h"
#include "analysis/flow/rounding.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/fuse.h"
#include "remat/rewrite/terms.h"

/* Smaller arrays are not worth a kernel, and larger computations are left alone. */
enum { LEAST_BYTES = 4096, MAX_INSTS = 512 };

/* An instruction of a fused computation. */
typedef struct Occurrence {
  uint32_t number; /* its term */
  uint32_t fusion; /* by index */
  InstId inst;
} Occurrence;

/* What is known of a term. */
typedef struct TermUse {
  uint32_t num_fusions, last_fusion;
  uint32_t user; /* the first one that was met; NO_ID = none */
  bool has_others;
  bool is_cut;
} TermUse;

/* A loop fusion of the sequence. */
typedef struct SplitFusion {
  InstId id;
  uint32_t position;
  bool is_moved;
} SplitFusion;

typedef struct Placed {
  uint32_t position, index; /* before this position, in the order of the indices */
  InstId id;
} Placed;

typedef struct Splitter {
  Rewrite *rewrite;
  Module *module;
  const CallGraph *graph;
  ExprTerms terms;
  uint32_t *number; /* by InstId; NO_ID = not compared */
  uint32_t num_old;
  VEC(SplitFusion) fusions;
  VEC(Occurrence) occurrences;
  VEC(TermUse) uses; /* by term */
  VEC(Placed) placed;
  uint32_t num_cuts;
  Arena *arena;
} Splitter;

/* ---- which fusions ---- */

static bool is_splittable(const Splitter *splitter, InstId id) {
  const Module *module = splitter->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD || inst_has_control(module, id))
    return false;
  CompId comp = inst_callees(module, id)[0];
  bool is_loop = inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_LOOP &&
                 !shape_is_tuple(inst_shape(module, id)) &&
                 !inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
  return is_loop && comp_num_insts(module, comp) <= MAX_INSTS &&
         only_caller_of(splitter->graph, comp) == id &&
         (splitter->rewrite->any_rounding || rounding_is_settled(module, id, splitter->arena));
}

/* ---- terms ---- */

static uint32_t number_inner(Splitter *splitter, InstId fusion, InstId id) {
  const Module *module = splitter->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_PARAMETER)
    return expr_leaf(&splitter->terms, inst_operand(module, fusion, (uint32_t)inst->index));
  return expr_inner(&splitter->terms, splitter->number, id);
}

static TermUse *use_of(Splitter *splitter, uint32_t number) {
  while (splitter->uses.len <= number)
    *vec_push(splitter->arena, &splitter->uses) = (TermUse){.last_fusion = NO_ID, .user = NO_ID};
  return &splitter->uses.data[number];
}

static void note_user(TermUse *use, uint32_t user) {
  if (use->user == NO_ID) use->user = user;
  use->has_others |= use->user != user;
}

static void note_occurrence(Splitter *splitter, uint32_t fusion, InstId id) {
  const Module *module = splitter->module;
  uint32_t number = splitter->number[id];
  if (number == NO_ID || inst_get(module, id)->opcode == OPCODE_PARAMETER) return;
  TermUse *use = use_of(splitter, number);
  if (use->last_fusion != fusion) {
    use->num_fusions++;
    use->last_fusion = fusion;
    *vec_push(splitter->arena, &splitter->occurrences) = (Occurrence){number, fusion, id};
  }
  /* What is not compared, and what reads a result, are users of their own. */
  if (inst_is_root(module, id)) note_user(use, splitter->num_old + fusion);
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    uint32_t user = splitter->number[inst_users(module, id)[i]];
    note_user(use, user == NO_ID ? splitter->num_old + fusion : user);
  }
}

static void note_fusion(Splitter *splitter, InstId id, uint32_t position) {
  const Module *module = splitter->module;
  uint32_t index = splitter->fusions.len;
  *vec_push(splitter->arena, &splitter->fusions) = (SplitFusion){id, position, false};
  CompId comp = inst_callees(module, id)[0];
  for (int pass = 0; pass < 2; pass++) { /* parameters may be anywhere */
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId inner = comp_inst(module, comp, i);
      bool is_param = inst_get(module, inner)->opcode == OPCODE_PARAMETER;
      if (is_param == (pass == 0)) splitter->number[inner] = number_inner(splitter, id, inner);
    }
  }
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
    note_occurrence(splitter, index, comp_inst(module, comp, i));
}

/* ---- cuts ---- */

/* Whether the term is computed from two arrays or more, other cuts included. */
static bool has_two_arrays(Splitter *splitter, uint32_t number) {
  IdVec work = {0}, met = {0};
  ArenaMark mark = arena_mark(splitter->arena);
  uint32_t num_arrays = 0;
  *vec_push(splitter->arena, &work) = number;
  while (work.len && num_arrays < 2) {
    uint32_t term = work.data[--work.len];
    bool is_known = false;
    for (uint32_t i = 0; i < met.len; i++)
      is_known |= met.data[i] == term;
    if (is_known) continue;
    *vec_push(splitter->arena, &met) = term;
    const ExprTerm *one = &splitter->terms.list.data[term];
    bool is_cut = term != number && term < splitter->uses.len && splitter->uses.data[term].is_cut;
    if (one->opcode == EXPR_LEAF || is_cut) {
      const Shape *shape = shape_get(&splitter->module->shapes, one->shape);
      num_arrays += shape_is_array(shape) && shape->bytes >= LEAST_BYTES;
      continue;
    }
    for (uint32_t i = 0; i < one->num_args; i++)
      *vec_push(splitter->arena, &work) = expr_args(&splitter->terms, term)[i];
  }
  arena_reset(splitter->arena, mark);
  return num_arrays >= 2;
}

/* Whether what reads the value could see it unrounded if both were in one function. */
static bool may_be_unrounded(const Module *module, InstId id) {
  if (module->backend.excess == EXCESS_NONE) return false;
  if (module->backend.excess == EXCESS_NARROWED) return rounding_is_narrow(inst_shape(module, id));
  switch (inst_get(module, id)->opcode) {
    case OPCODE_ADD:
    case OPCODE_DIVIDE:
    case OPCODE_MAXIMUM:
    case OPCODE_MINIMUM:
    case OPCODE_SUBTRACT: return false;
    default: return true;
  }
}

/* Whether a fusion may read the value of one of its instructions from memory. A backend may compute
 * elementary functions otherwise in a loop of another shape. */
static bool may_cut_in(const Splitter *splitter, const Occurrence *occurrence) {
  const Module *module = splitter->module;
  InstId fusion = splitter->fusions.data[occurrence->fusion].id;
  if (inst_get(module, occurrence->inst)->shape != inst_get(module, fusion)->shape) return false;
  return splitter->rewrite->any_rounding ||
         (!may_be_unrounded(module, occurrence->inst) &&
          rounding_is_separable(module, fusion, &occurrence->inst, 1, splitter->arena));
}

/* `of` has `count` occurrences of the term in fusions. */
static bool is_wanted(Splitter *splitter, const Occurrence *of, uint32_t count) {
  const TermUse *use = &splitter->uses.data[of->number];
  const Shape *shape = inst_shape(splitter->module, of->inst);
  Opcode opcode = (Opcode)inst_get(splitter->module, of->inst)->opcode;
  if (use->num_fusions < 2 || !use->has_others || opcode_has(opcode, OPF_FREE)) return false;
  if (!shape_is_array(shape) || shape->bytes < LEAST_BYTES) return false;
  if (!has_two_arrays(splitter, of->number)) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!may_cut_in(splitter, &of[i])) return false;
  }
  return true;
}

/* ---- rewriting ---- */

static void place(Splitter *splitter, InstId id, uint32_t position) {
  *vec_push(splitter->arena, &splitter->placed) = (Placed){position, splitter->placed.len, id};
}

/* Lets a fusion read `value` instead of computing it. */
static void read_part(Splitter *splitter, const Occurrence *of, InstId value, Schedule *schedule) {
  Module *module = splitter->module;
  InstId fusion = splitter->fusions.data[of->fusion].id;
  CompId comp = inst_callees(module, fusion)[0];
  InstId param = fuse_find_param(splitter->rewrite, fusion, value);
  rewrite_replace_all_uses(splitter->rewrite, of->inst, param, splitter->arena);
  inst_get(module, fusion)->flags |= INST_CHANGED | INST_NEW_OPERANDS;
  rewrite_order_expression(splitter->rewrite, comp, splitter->arena);
  dce_trim_fusion(splitter->rewrite, fusion, comp_get(module, comp)->root, splitter->arena);
  if (comp < schedule->num_comps) schedule->of[comp].len = 0; /* the text is in the list's order */
}

/* Cuts one term. A fusion of which it is the result has it already, and runs before the others. */
static void cut(Splitter *splitter, const Occurrence *of, uint32_t count, Schedule *schedule) {
  const Module *module = splitter->module;
  uint32_t first = UINT32_MAX, owner = NO_ID;
  for (uint32_t i = 0; i < count; i++) {
    SplitFusion *fusion = &splitter->fusions.data[of[i].fusion];
    if (fusion->position < first) first = fusion->position;
    if (owner == NO_ID && inst_is_root(module, of[i].inst)) owner = of[i].fusion;
  }
  InstId value;
  if (owner == NO_ID) {
    InstId fusion = splitter->fusions.data[of->fusion].id;
    value = fuse_part_alone(splitter->rewrite, fusion, of->inst, schedule, splitter->arena);
    place(splitter, value, first);
  } else {
    SplitFusion *fusion = &splitter->fusions.data[owner];
    value = fusion->id;
    if (fusion->position > first) {
      fusion->is_moved = true;
      fusion->position = first;
      place(splitter, value, first);
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!inst_is_root(module, of[i].inst)) read_part(splitter, &of[i], value, schedule);
  }
  splitter->uses.data[of->number].is_cut = true;
  splitter->num_cuts++;
}

static int by_number(const void *pa, const void *pb) {
  const Occurrence *a = pa, *b = pb;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->fusion > b->fusion) - (a->fusion < b->fusion);
}

static int by_place(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  if (a->position != b->position) return a->position < b->position ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

/* Puts what was placed into the sequence, and takes what was moved out of its old place. */
static void update_sequence(Splitter *splitter, Sequence *sequence, Arena *out) {
  bool *is_moved = arena_zarray(splitter->arena, bool, splitter->num_old);
  for (uint32_t i = 0; i < splitter->fusions.len; i++)
    is_moved[splitter->fusions.data[i].id] = splitter->fusions.data[i].is_moved;
  Placed *placed = splitter->placed.data;
  qsort(placed, splitter->placed.len, sizeof *placed, by_place);
  Sequence made = {.ids = arena_array(out, InstId, sequence->len + splitter->placed.len)};
  uint32_t next = 0;
  for (uint32_t i = 0; i < sequence->len; i++) {
    for (; next < splitter->placed.len && placed[next].position == i; next++)
      made.ids[made.len++] = placed[next].id;
    if (!is_moved[sequence->ids[i]]) made.ids[made.len++] = sequence->ids[i];
  }
  *sequence = made;
}

static void split_sequence(Splitter *splitter, CompId comp, Schedule *schedule, Arena *out) {
  Sequence *sequence = &schedule->of[comp];
  for (uint32_t i = 0; i < sequence->len; i++) {
    if (is_splittable(splitter, sequence->ids[i])) note_fusion(splitter, sequence->ids[i], i);
  }
  Occurrence *list = splitter->occurrences.data;
  uint32_t len = splitter->occurrences.len;
  if (len) qsort(list, len, sizeof *list, by_number); /* what a term is computed from comes first */
  for (uint32_t i = 0, end; i < len; i = end) {
    for (end = i + 1; end < len && list[end].number == list[i].number; end++) {}
    if (is_wanted(splitter, &list[i], end - i)) cut(splitter, &list[i], end - i, schedule);
  }
  if (splitter->placed.len) update_sequence(splitter, sequence, out);
}

uint32_t split_shared(Rewrite *rewrite, Schedule *schedule, Arena *out, Arena *scratch) {
  Module *module = rewrite->module;
  uint32_t num_cuts = 0, num_comps = module->comps.len, num_insts = module->insts.len;
  if (!schedule || !module_has_fusions(module)) return 0;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  uint32_t *number = arena_array(arena, uint32_t, num_insts);
  memset(number, 0xff, num_insts * sizeof *number);
  for (CompId comp = 0; comp < num_comps && comp < schedule->num_comps; comp++) {
    if (!schedule->of[comp].len || !comp_is_sequential(&graph, comp)) continue;
    Arena *inner = arena_new(arena_options(scratch));
    Splitter splitter = {.rewrite = rewrite,
                         .module = module,
                         .graph = &graph,
                         .terms = {.module = module, .arena = inner},
                         .number = number,
                         .num_old = num_insts,
                         .arena = inner};
    split_sequence(&splitter, comp, schedule, out);
    if (splitter.num_cuts) module_sweep_comp(module, comp);
    num_cuts += splitter.num_cuts;
    arena_free(inner);
  }
  arena_free(arena);
  return num_cuts;
}

const Module *split_copy(Module *module, const Schedule *schedule, Arena *out, Arena *scratch) {
  if (!module_has_fusions(module)) return module;
  Arena *arena = arena_new(arena_options(scratch));
  Rewrite rewrite = rewrite_begin_copy(module, out);
  Schedule copied = schedule_copy(schedule, rewrite.module, arena);
  uint32_t num_cuts = split_shared(&rewrite, &copied, arena, scratch);
  arena_free(arena);
  return num_cuts ? rewrite.module : module;
}
