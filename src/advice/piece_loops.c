#include "advice/piece_loops.h"

#include "advice/cloning.h"
#include "advice/layers.h"

typedef struct PieceLoops {
  const Module *module; /* as it was */
  RegionSize size;
  Sequence sequence; /* of the computation, as it was */
  const bool *is_backward;
  const bool *is_whole_user;
  bool *leads_back;        /* by InstId: the backward part reads it, or what is computed from it */
  Rewrite rewrite;         /* of the copy */
  InstId *before, *behind; /* by InstId: a helper that goes before or behind it, NO_ID = none */
  SchedPos *begins;        /* by InstId: where a layer's backward part of the region begins */
  bool is_read_back;       /* there is such a part */
} PieceLoops;

static void find_what_leads_back(PieceLoops *loops) {
  const Module *module = loops->module;
  for (SchedPos pos = loops->sequence.len; pos-- > 0;) {
    InstId id = loops->sequence.ids[pos];
    if (inst_is_root(module, id)) continue; /* it only returns what both parts make */
    bool leads = loops->is_backward[id];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++)
      leads |= loops->leads_back[inst_users(module, id)[i]];
    loops->leads_back[id] = leads;
  }
}

/* Of what reads the region in the backward part, and of what it has there, the first of what that
 * is computed from: arrays of other layers are not computed from each other within the region. */
static void find_begins(PieceLoops *loops) {
  const Module *module = loops->module;
  for (SchedPos pos = 0; pos < loops->sequence.len; pos++) {
    InstId id = loops->sequence.ids[pos];
    if (!loops->is_backward[id]) continue;
    loops->begins[id] = pos;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      bool is_inside = loops->is_backward[operand] && region_has(module, operand, loops->size);
      if (is_inside && loops->begins[operand] < loops->begins[id])
        loops->begins[id] = loops->begins[operand];
    }
    loops->is_read_back |= region_has(module, id, loops->size);
  }
}

/* Makes what leads to the loss alone read a helper directly behind the array of the region, not the
 * array, which the second loop makes for itself. */
static void release(PieceLoops *loops, InstId reader) {
  const Module *module = loops->module;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    InstId operand = inst_without_bitcasts(module, inst_operand(module, reader, i));
    bool is_meant = region_has(module, operand, loops->size) && loops->leads_back[operand] &&
                    !loops->is_backward[operand] && shape_is_array(inst_shape(module, operand));
    if (!is_meant) continue;
    InstId *helper = &loops->behind[operand];
    if (*helper == NO_ID) *helper = cloning_hold(&loops->rewrite, operand, operand);
    rewrite_set_operand(&loops->rewrite, reader, i, *helper);
  }
}

/* Whether an instruction is the gradient of weights, which has as many elements as these, to which
 * each piece adds its own. */
static bool is_gradient(const PieceLoops *loops, InstId id) {
  const Module *module = loops->module;
  const Shape *shape = inst_shape(module, id);
  return loops->is_backward[id] && loops->is_whole_user[id] &&
         !region_has(module, id, loops->size) && shape_is_array(shape) &&
         region_is_read(module, id, loops->size) && shape->num_elements > 1 &&
         region_has_size_of_argument(module, id);
}

/* The gradient of weights is an array that the loop carries from its first piece on. XLA:CPU makes
 * that of a piece beside it, a product of a GPU or TPU adds to it. */
static void carry(PieceLoops *loops, InstId gradient) {
  const Module *module = loops->module;
  bool is_cpu = strcmp(module->backend.target->name, "cpu") == 0;
  InstSpec spec = {.opcode = OPCODE_IOTA, .shape = inst_get(module, gradient)->shape};
  InstId value = rewrite_add_helper(&loops->rewrite, inst_get(module, gradient)->parent, spec);
  InstId first = loops->sequence.ids[loops->begins[gradient]];
  InstId last = is_cpu ? gradient : NO_ID;
  for (uint32_t i = 0; last == NO_ID && i < inst_get(module, gradient)->num_operands; i++) {
    InstId operand = inst_operand(module, gradient, i);
    if (region_has(loops->module, operand, loops->size)) last = operand;
  }
  if (loops->before[first] != NO_ID || loops->behind[last] != NO_ID) return; /* one for each */
  loops->before[first] = value;
  loops->behind[last] = cloning_hold(&loops->rewrite, value, last);
}

static void write_sequence(const PieceLoops *loops, rh_module *made, CompId comp) {
  Sequence old = loops->sequence;
  Sequence sequence = {.ids = arena_array(made->arena, InstId, 3 * (size_t)old.len)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    InstId id = old.ids[pos];
    if (loops->before[id] != NO_ID) sequence.ids[sequence.len++] = loops->before[id];
    sequence.ids[sequence.len++] = id;
    if (loops->behind[id] != NO_ID) sequence.ids[sequence.len++] = loops->behind[id];
  }
  made->schedule.of[comp] = sequence;
}

static InstId *no_helpers(const Module *module, Arena *out) {
  InstId *helpers = arena_array(out, InstId, module->insts.len);
  memset(helpers, 0xff, module->insts.len * sizeof *helpers);
  return helpers;
}

void piece_loops_separate(const Advisor *advisor, rh_module *made, CompId comp, RegionSize size,
                          const bool *is_whole_user) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Sequence sequence = advisor->schedule->of[comp];
  PieceLoops loops = {.module = module,
                      .size = size,
                      .sequence = sequence,
                      .is_backward = region_backward(advisor, comp, arena),
                      .is_whole_user = is_whole_user,
                      .leads_back = arena_zarray(arena, bool, module->insts.len),
                      .rewrite = rewrite_begin(made->module),
                      .before = no_helpers(module, arena),
                      .behind = no_helpers(module, arena),
                      .begins = arena_zarray(arena, SchedPos, module->insts.len)};
  find_what_leads_back(&loops);
  find_begins(&loops);
  for (SchedPos pos = 0; pos < sequence.len && loops.is_read_back; pos++) {
    InstId id = sequence.ids[pos];
    if (!loops.leads_back[id]) release(&loops, id);
    if (is_gradient(&loops, id)) carry(&loops, id);
  }
  if (loops.is_read_back) write_sequence(&loops, made, comp);
  arena_free(arena);
}
