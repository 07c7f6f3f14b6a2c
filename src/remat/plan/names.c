/* What is called how in a plan. */
#include "remat/plan/capture.h"

static PlanRef ref_to(uint32_t id) {
  return (PlanRef){.offset = NO_OFFSET, .id = id};
}

/* ---- names ---- */

static Str copy_name(Str name, Arena *out) {
  return (Str){arena_strndup(out, name.data, name.len), name.len};
}

static bool is_compact(const Module *module, InstId id) {
  return (inst_get(module, id)->flags & INST_COMPACT_GTE) != 0;
}

/* What is written `x#1` is named by what it is read from, so two can have had one name; a new one
 * on an old tuple is told apart. */
static void fill(PlanRef *ref, const CaptureSource *source, Arena *out) {
  const Module *before = source->before, *after = source->rewrite->module;
  if (ref->id == NO_ID) return;
  bool is_old = ref->id < before->insts.len;
  bool was_read_so = is_old && is_compact(before, ref->id) && is_compact(after, ref->id);
  ref->name = copy_name(inst_name(was_read_so ? before : after, ref->id), out);
  if (is_old || !is_compact(after, ref->id)) return;
  if (inst_operand(after, ref->id, 0) >= before->insts.len) return;
  const char *name = arena_printf(out, "%s.remat", ref->name.data);
  ref->name = str_make(name, strlen(name));
}

static void fill_all(PlanRefs *refs, const CaptureSource *source, Arena *out) {
  for (uint32_t i = 0; i < refs->list.len; i++)
    fill(&refs->list.data[i], source, out);
}

static void fill_computation(PlanRef *ref, const CaptureSource *source, Arena *out) {
  if (ref->id != source->before->entry)
    ref->name = copy_name(comp_name(source->before, ref->id), out);
}

/* A step that takes the one element that is left has no instruction in the end. */
static Str element_name(const Module *module, const PlanStep *step, Arena *out) {
  Str tuple = inst_name(module, step->operand.id);
  const char *name =
      module->source->uses_compact_gte
          ? arena_printf(out, "%.*s#%lld", (int)tuple.len, tuple.data, (long long)step->index)
          : arena_printf(out, "%.*s.element", (int)tuple.len, tuple.data);
  return str_make(name, strlen(name));
}

/* A fusion that has become an element had no control dependencies as a tuple (remat/rewrite/dce.h):
 * those that it has are its element's. */
static void fill_control(PlanRefs *refs, const CaptureSource *source, const uint32_t *element_of,
                         const Plan *plan, Arena *out) {
  for (uint32_t i = 0; i < refs->list.len; i++) {
    PlanRef *ref = &refs->list.data[i];
    fill(ref, source, out);
    if (ref->id == NO_ID || element_of[ref->id] == NO_ID) continue;
    const PlanStep *element = &plan->steps.data[element_of[ref->id]];
    ref->name = element_name(source->rewrite->module, element, out);
  }
}

static void fill_step(PlanStep *step, const CaptureSource *source, const uint32_t *element_of,
                      Plan *plan, Arena *out) {
  const Module *after = source->rewrite->module;
  fill_computation(&step->computation, source, out);
  fill(&step->instruction, source, out);
  fill(&step->made, source, out);
  fill(&step->operand, source, out);
  fill(&step->before, source, out);
  if (step->made.id == NO_ID) step->made.name = element_name(after, step, out);
  for (uint32_t i = 0; i < step->users.len; i++)
    fill(&step->users.data[i].ref, source, out);
  fill_control(&step->control, source, element_of, plan, out);
  /* Behind what has become an element, it is that which is read. */
  if (step->operand.id != NO_ID && step->made.id != NO_ID &&
      element_of[step->operand.id] != NO_ID) {
    const PlanStep *element = &plan->steps.data[element_of[step->operand.id]];
    step->operand.name = element_name(after, element, out);
  }
}

/* By CompId: those of fusions, where elements get their lines when all is done, in copies of them,
 * too. */
static bool *find_fused(const Module *module, Arena *out) {
  bool *is_fused = arena_zarray(out, bool, module->comps.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode == OPCODE_FUSION) is_fused[inst_callees(module, id)[0]] = true;
  }
  return is_fused;
}

static void add_renames(Plan *plan, const CaptureSource *source, Arena *out) {
  const Module *before = source->before, *after = source->rewrite->module;
  const bool *is_fused = find_fused(before, out);
  for (InstId id = 0; id < before->insts.len; id++) {
    bool was_compact = inst_get(before, id)->flags & INST_COMPACT_GTE;
    const Instruction *inst = inst_get(after, id);
    if (!was_compact || inst->flags & (INST_COMPACT_GTE | INST_DEAD)) continue;
    CompId comp = inst->parent;
    if (source->before_schedule->of[comp].len == 0 || is_fused[comp]) continue;
    PlanRename *rename = vec_push(out, &plan->renames);
    rename->computation = ref_to(comp);
    fill_computation(&rename->computation, source, out);
    rename->instruction = ref_to(id);
    rename->instruction.name = copy_name(inst_name(before, id), out);
    rename->name.name = copy_name(inst_name(after, id), out);
  }
}

void plan_fill_names(Plan *plan, const CaptureSource *source, Arena *out) {
  const Module *after = source->rewrite->module;
  plan->module = copy_name(plan->module, out);
  uint32_t *element_of = arena_array(out, uint32_t, after->insts.len);
  memset(element_of, 0xff, after->insts.len * sizeof *element_of);
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    if (plan->steps.data[i].made.id == NO_ID) element_of[plan->steps.data[i].operand.id] = i;
  }
  for (uint32_t i = 0; i < plan->steps.len; i++)
    fill_step(&plan->steps.data[i], source, element_of, plan, out);
  for (uint32_t i = 0; i < plan->control.len; i++) {
    PlanControl *control = &plan->control.data[i];
    fill_computation(&control->computation, source, out);
    fill(&control->instruction, source, out);
    fill_control(&control->predecessors, source, element_of, plan, out);
  }
  for (uint32_t i = 0; i < plan->orders.len; i++) {
    PlanOrder *order = &plan->orders.data[i];
    fill_computation(&order->computation, source, out);
    fill_all(&order->instructions, source, out);
  }
  add_renames(plan, source, out);
}

/* ---- copies of called computations ---- */

typedef struct Callees {
  PlanStep *step;
  const Module *rewritten, *again;
  InstId
      *again_of; /* by origin: the copy of it in the computation that is compared, NO_ID = none */
  VEC(InstId) work; /* to be compared with the one in `others` */
  VEC(InstId) others;
  Arena *out, *scratch;
} Callees;

static void name_copy(Callees *callees, bool is_computation, Str name, Str again) {
  PlanName *told = vec_push(callees->out, &callees->step->callees);
  *told = (PlanName){.name.name = copy_name(name, callees->out)};
  PlanRef *of = is_computation ? &told->computation : &told->instruction;
  of->name = copy_name(again, callees->out);
}

/* All are named when they come in another order: that is then the order of the names. */
static void compare_insts(Callees *callees, CompId comp, CompId comp_again) {
  const Module *rewritten = callees->rewritten, *again = callees->again;
  uint32_t len = comp_num_insts(rewritten, comp);
  if (len != comp_num_insts(again, comp_again)) return;
  for (uint32_t i = 0; i < len; i++) {
    InstId id = comp_inst(again, comp_again, i), origin = inst_get(again, id)->origin;
    if (origin != NO_ID) callees->again_of[origin] = id;
  }
  bool is_same_order = true;
  uint32_t first = callees->others.len;
  for (uint32_t i = 0; i < len; i++) {
    InstId id = comp_inst(rewritten, comp, i), origin = inst_get(rewritten, id)->origin;
    InstId other = origin == NO_ID ? NO_ID : callees->again_of[origin];
    if (other == NO_ID) other = comp_inst(again, comp_again, i);
    is_same_order &= other == comp_inst(again, comp_again, i);
    *vec_push(callees->scratch, &callees->work) = id;
    *vec_push(callees->scratch, &callees->others) = other;
  }
  for (uint32_t i = first; i < first + len; i++) {
    Str name = inst_name(rewritten, callees->work.data[i]);
    Str name_again = inst_name(again, callees->others.data[i]);
    if (!is_same_order || !str_equal(name, name_again)) name_copy(callees, false, name, name_again);
  }
  for (uint32_t i = 0; i < len; i++) {
    InstId origin = inst_get(again, comp_inst(again, comp_again, i))->origin;
    if (origin != NO_ID) callees->again_of[origin] = NO_ID;
  }
}

/* What clones of one instruction call are copies of the same computations. */
static void compare_callees(Callees *callees, InstId id, InstId other) {
  const Module *rewritten = callees->rewritten, *again = callees->again;
  ArenaMark mark = arena_mark(callees->scratch);
  *vec_push(callees->scratch, &callees->work) = id;
  *vec_push(callees->scratch, &callees->others) = other;
  while (callees->work.len) {
    id = callees->work.data[--callees->work.len];
    other = callees->others.data[--callees->others.len];
    bool is_fusion = inst_get(rewritten, id)->opcode == OPCODE_FUSION &&
                     inst_get(again, other)->opcode == OPCODE_FUSION;
    if (!is_fusion) continue;
    CompId comp = inst_callees(rewritten, id)[0], comp_again = inst_callees(again, other)[0];
    Str name = comp_name(rewritten, comp), name_again = comp_name(again, comp_again);
    if (!str_equal(name, name_again)) name_copy(callees, true, name, name_again);
    compare_insts(callees, comp, comp_again);
  }
  callees->work.data = callees->others.data = NULL;
  callees->work.cap = callees->others.cap = 0;
  arena_reset(callees->scratch, mark);
}

void plan_fill_callees(Plan *plan, const Module *rewritten, const Module *again, Arena *out,
                       Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Callees callees = {.rewritten = rewritten,
                     .again = again,
                     .again_of = arena_array(arena, InstId, again->insts.len),
                     .out = out,
                     .scratch = scratch};
  memset(callees.again_of, 0xff, again->insts.len * sizeof *callees.again_of);
  IdTable table = {0};
  for (InstId id = 0; id < again->insts.len; id++) {
    const Instruction *inst = inst_get(again, id);
    if (inst->opcode == OPCODE_FUSION && !(inst->flags & INST_DEAD))
      id_table_add(&table, arena, hash_str(inst_name(again, id)), id);
  }
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    PlanStep *step = &plan->steps.data[i];
    bool is_clone = step->action == PLAN_RECOMPUTE || step->action == PLAN_MOVE;
    if (!is_clone || inst_get(rewritten, step->made.id)->opcode != OPCODE_FUSION) continue;
    callees.step = step;
    uint32_t other;
    for (IdProbe probe = id_table_probe(&table, hash_str(step->made.name));
         id_probe_next(&probe, &other);) {
      if (!str_equal(inst_name(again, other), step->made.name)) continue;
      compare_callees(&callees, step->made.id, other);
      break;
    }
  }
  arena_free(arena);
}
