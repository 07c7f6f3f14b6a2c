/* Fills in the names in a captured plan. */
#include "remat/plan/capture.h"
#include "remat/plan/fields.h"

typedef struct Naming {
  const Module *before, *after;
  const Rewrite *rewrite; /* of `after` */
  uint32_t num_old;
  const Schedule *before_schedule;
  Plan *plan;
  Rewrite *again;   /* of the module before: the clones are made in it again */
  InstId *again_of; /* by InstId of the module before: its copy that was made last */
  Arena *out, *scratch;
} Naming;

static Str copy_name(Str name, Arena *out) {
  return (Str){arena_strndup(out, name.data, name.len), name.len};
}

static bool is_compact(const Module *module, InstId id) {
  return (inst_get(module, id)->flags & INST_COMPACT_GTE) != 0;
}

/* Returns a name for the element that a step takes of a fusion with only one result left: there is
 * no such instruction in the final module. */
static Str name_of_element(const Naming *naming, const PlanStep *step) {
  Str tuple = inst_name(naming->after, step->operand.id);
  const char *name = naming->after->source->uses_compact_gte
                         ? arena_printf(naming->out, "%.*s#%lld", (int)tuple.len, tuple.data,
                                        (long long)step->index)
                         : arena_printf(naming->out, "%.*s.element", (int)tuple.len, tuple.data);
  return str_make(name, strlen(name));
}

/* Returns the name of an instruction in the plan. An element that is written `x#1` is named after
 * its operand, so two elements can have had the same name. A new element of an instruction of the
 * module before therefore gets a suffix. */
static Str name_of(const Naming *naming, uint32_t id) {
  const Module *before = naming->before, *after = naming->after;
  if (id & PLAN_OF_STEP)
    return name_of_element(naming, &naming->plan->steps.data[id & ~PLAN_OF_STEP]);
  bool is_old = id < naming->num_old;
  bool was_read_so = is_old && is_compact(before, id) && is_compact(after, id);
  Str name = copy_name(inst_name(was_read_so ? before : after, id), naming->out);
  if (is_old || !is_compact(after, id)) return name;
  if (inst_operand(after, id, 0) >= naming->num_old) return name;
  const char *distinct = arena_printf(naming->out, "%s.remat", name.data);
  return str_make(distinct, strlen(distinct));
}

static void fill(const Naming *naming, FieldKind kind, PlanRef *ref) {
  if (ref->id == NO_ID) return;
  if (kind != FIELD_COMP && kind != FIELD_NEW_COMP) {
    ref->name = name_of(naming, ref->id);
  } else if (ref->id != naming->before->entry) {
    ref->name = copy_name(comp_name(naming->after, ref->id), naming->out);
  }
}

static void fill_object(const Naming *naming, const PlanObject *object, void *place) {
  for (const PlanField *field = object->fields; field->name; field++) {
    void *value = (char *)place + field->offset;
    AnyList list;
    switch (field->kind) {
      case FIELD_COMP:
      case FIELD_NEW_COMP:
      case FIELD_INST:
      case FIELD_NEW_INST: fill(naming, field->kind, value); break;
      case FIELD_INSTS:
        for (uint32_t i = 0; i < ((PlanRefs *)value)->list.len; i++)
          fill(naming, FIELD_INST, &((PlanRefs *)value)->list.data[i]);
        break;
      case FIELD_OBJECTS:
        memcpy(&list, value, sizeof list);
        for (uint32_t i = 0; i < list.len; i++) {
          const PlanObject *element = field->of;
          fill_object(naming, element, (char *)list.data + i * element->size);
        }
        break;
      default: break;
    }
  }
}

/* ---- elements that get lines of their own ---- */

/* By CompId: whether a fusion calls the computation. In these computations, and in copies of them,
 * elements get lines of their own only at the end. */
static bool *find_fused(const Module *module, Arena *out) {
  bool *is_fused = arena_zarray(out, bool, module->comps.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode == OPCODE_FUSION) is_fused[inst_callees(module, id)[0]] = true;
  }
  return is_fused;
}

static void add_renames(Naming *naming) {
  const bool *is_fused = find_fused(naming->before, naming->scratch);
  for (InstId id = 0; id < naming->num_old; id++) {
    const Instruction *inst = inst_get(naming->after, id);
    if (!is_compact(naming->before, id) || inst->flags & (INST_COMPACT_GTE | INST_DEAD)) continue;
    CompId comp = inst->parent;
    if (naming->before_schedule->of[comp].len == 0 || is_fused[comp]) continue;
    PlanRename *rename = vec_push(naming->out, &naming->plan->renames);
    *rename = (PlanRename){.computation.id = comp, .instruction.id = id};
    fill(naming, FIELD_COMP, &rename->computation);
    rename->instruction.name = copy_name(inst_name(naming->before, id), naming->out);
    rename->name.name = copy_name(inst_name(naming->after, id), naming->out);
  }
}

/* ---- computations that are copied with clones ---- */

/* Two copies of the same instruction: the one in the result, and the one that is made again. */
typedef struct CopyPair {
  InstId is, again;
} CopyPair;

typedef VEC(CopyPair) CopyPairs;

static void add_name(const Naming *naming, PlanStep *step, bool is_computation, Str again, Str is) {
  PlanName *entry = vec_push(naming->out, &step->callees);
  *entry = (PlanName){.name.name = copy_name(is, naming->out)};
  PlanRef *of = is_computation ? &entry->computation : &entry->instruction;
  of->name = copy_name(again, naming->out);
}

/* Returns the copy of the same instruction in the computation that is made again. NO_ID: there is
 * none, because a computation was copied after clones had been put into it. */
static InstId again_of(const Naming *naming, InstId id, CompId comp_again) {
  InstId original = rewrite_inner_original(naming->rewrite, id, naming->num_old);
  if (original >= naming->num_old) return NO_ID;
  InstId again = naming->again_of[original];
  bool is_there = again != NO_ID && inst_get(naming->again->module, again)->parent == comp_again;
  return is_there ? again : NO_ID;
}

/* Pairs the instructions that are left in a copied computation with those of the computation that
 * is made again. Returns whether both are in the same order. */
static bool pair_insts(Naming *naming, CompId comp, CompId comp_again, CopyPairs *pairs) {
  const Module *after = naming->after, *again = naming->again->module;
  uint32_t num_again = comp_num_insts(again, comp_again);
  for (uint32_t i = 0; i < num_again; i++) {
    InstId id = comp_inst(again, comp_again, i);
    naming->again_of[rewrite_inner_original(naming->again, id, naming->num_old)] = id;
  }
  bool is_same_order = true;
  InstId last = 0; /* the ids of copies are in the order of their computation */
  for (uint32_t i = 0; i < comp_num_insts(after, comp); i++) {
    InstId id = comp_inst(after, comp, i), other = again_of(naming, id, comp_again);
    if (other == NO_ID) continue;
    is_same_order &= other >= last;
    last = other;
    *vec_push(naming->scratch, pairs) = (CopyPair){id, other};
  }
  return is_same_order;
}

/* Adds the names of a called computation and its instructions that differ from the names that
 * applying the plan would give. If the order differs, all instructions are added: the order of the
 * names is then their order. */
static void name_callee(Naming *naming, PlanStep *step, CompId comp, CompId comp_again,
                        CopyPairs *pairs) {
  const Module *after = naming->after, *again = naming->again->module;
  Str name = comp_name(after, comp), name_again = comp_name(again, comp_again);
  if (!str_equal(name, name_again)) add_name(naming, step, true, name_again, name);
  uint32_t first = pairs->len;
  bool is_same_order = pair_insts(naming, comp, comp_again, pairs);
  for (uint32_t i = first; i < pairs->len; i++) {
    name = inst_name(after, pairs->data[i].is);
    name_again = inst_name(again, pairs->data[i].again);
    bool is_alike = str_equal(name, name_again) || is_compact(again, pairs->data[i].again);
    if (!is_same_order || !is_alike) add_name(naming, step, false, name_again, name);
  }
}

static void name_callees(Naming *naming, PlanStep *step, InstId again_id) {
  const Module *after = naming->after;
  CopyPairs pairs = {0};
  *vec_push(naming->scratch, &pairs) = (CopyPair){step->made.id, again_id};
  for (uint32_t next = 0; next < pairs.len; next++) {
    CopyPair pair = pairs.data[next];
    if (!plan_copies_callees(after, step->made.id, pair.is)) continue;
    for (uint32_t i = 0; i < inst_get(after, pair.is)->num_callees; i++) {
      CompId comp = inst_callees(after, pair.is)[i];
      CompId comp_again = inst_callees(naming->again->module, pair.again)[i];
      name_callee(naming, step, comp, comp_again, &pairs);
    }
  }
}

/* Makes the clones in the same way as applying the plan does: the names in the plan are reserved
 * first. */
static void make_again(Naming *naming) {
  Plan *plan = naming->plan;
  PlanStep **by_number = arena_zarray(naming->scratch, PlanStep *, (size_t)plan->steps.len + 1);
  for (uint32_t i = 0; i < plan->renames.len; i++)
    (void)name_unique(&naming->again->inst_names, plan->renames.data[i].name.name);
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    PlanStep *step = &plan->steps.data[i];
    if (step->action == PLAN_READ) continue;
    (void)name_unique(&naming->again->inst_names, step->made.name);
    if (plan_is_clone(step->action)) by_number[step->number] = step;
  }
  for (uint32_t number = 0; number <= plan->steps.len; number++) {
    PlanStep *step = by_number[number];
    if (!step || !plan_copies_callees(naming->after, step->made.id, step->made.id)) continue;
    InstId again = rewrite_repeat(naming->again, step->instruction.id, naming->before_schedule,
                                  naming->scratch);
    name_callees(naming, step, again);
  }
}

void plan_fill_names(Plan *plan, const CaptureSource *source, Rewrite *before, Arena *out,
                     Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Naming naming = {.before = before->module,
                   .after = source->rewrite->module,
                   .rewrite = source->rewrite,
                   .num_old = before->module->insts.len,
                   .before_schedule = source->before_schedule,
                   .plan = plan,
                   .again = before,
                   .again_of = arena_array(arena, InstId, before->module->insts.len),
                   .out = out,
                   .scratch = arena};
  memset(naming.again_of, 0xff, naming.num_old * sizeof *naming.again_of); /* NO_ID */
  plan->module = copy_name(plan->module, out);
  fill_object(&naming, &plan_object, plan);
  add_renames(&naming);
  make_again(&naming);
  arena_free(arena);
}
