/* Names of the computations that are copied with a clone, and of what is in them. */
#include "remat/plan_apply.h"

typedef struct Naming {
  Apply *apply;
  const PlanStep *step;
  CompId comp;   /* the copy */
  InstId *named; /* in the order of the names */
  const Str *names;
  uint32_t num_named;
  bool *is_named; /* by InstId */
} Naming;

static InstId find_in(const Module *module, CompId comp, Str name) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (str_equal(inst_name(module, comp_inst(module, comp, i)), name))
      return comp_inst(module, comp, i);
  }
  return NO_ID;
}

/* Instructions that are named take each other's places, so that they come in the order of the
 * names. False when one would stand before something that it reads. */
static bool put_in_order(const Naming *naming, Arena *scratch) {
  Module *module = naming->apply->module;
  const Computation *comp = comp_get(module, naming->comp);
  uint32_t *places = arena_array(scratch, uint32_t, module->insts.len);
  uint32_t next = 0;
  for (uint32_t i = 0; i < comp->insts.len; i++) {
    InstId *place = &module->ids.data[comp->insts.begin + i];
    if (naming->is_named[*place]) *place = naming->named[next++];
    places[*place] = i;
  }
  for (uint32_t i = 0; i < comp->insts.len; i++) {
    InstId id = comp_inst(module, naming->comp, i);
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      if (places[inst_operand(module, id, k)] >= i) return false;
    }
  }
  return true;
}

/* What is written `x#1` is named by what it is read from. False when something else would be. */
static bool rename_all(const Naming *naming) {
  Module *module = naming->apply->module;
  for (uint32_t i = 0; i < naming->num_named; i++) {
    if (inst_get(module, naming->named[i])->flags & INST_COMPACT_GTE) continue;
    Str name = naming->names[i];
    if (is_written_compact(name)) return false;
    name.data = arena_strndup(module->arena, name.data, name.len);
    rewrite_rename(naming->apply->rewrite, naming->named[i], name);
  }
  return true;
}

/* NO_ID when no two instructions of the computation have one name. */
static InstId find_double(const Naming *naming, Arena *scratch) {
  const Module *module = naming->apply->module;
  IdTable table = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, naming->comp); i++) {
    InstId id = comp_inst(module, naming->comp, i), other;
    uint64_t hash = hash_str(inst_name(module, id));
    for (IdProbe probe = id_table_probe(&table, hash); id_probe_next(&probe, &other);) {
      if (str_equal(inst_name(module, other), inst_name(module, id))) return id;
    }
    id_table_add(&table, scratch, hash, id);
  }
  return NO_ID;
}

static rh_status name_insts(Naming *naming, Arena *scratch) {
  Apply *apply = naming->apply;
  const PlanStep *step = naming->step;
  Str *names = arena_array(scratch, Str, step->callees.len);
  naming->names = names;
  naming->named = arena_array(scratch, InstId, step->callees.len);
  naming->is_named = arena_zarray(scratch, bool, apply->module->insts.len);
  for (uint32_t i = 0; i < step->callees.len; i++) {
    const PlanName *name = &step->callees.data[i];
    InstId id = name->is_computation ? NO_ID : find_in(apply->module, naming->comp, name->of);
    if (id == NO_ID || naming->is_named[id]) continue;
    naming->is_named[id] = true;
    names[naming->num_named] = name->name;
    naming->named[naming->num_named++] = id;
  }
  if (naming->num_named == 0) return RH_OK;
  if (!put_in_order(naming, scratch)) {
    return plan_fail(apply, step->offset,
                     "in the order of 'callees' something comes before what it needs");
  }
  if (!rename_all(naming)) {
    return plan_fail(apply, step->offset, "only elements of tuples have a # in their names");
  }
  InstId twice = find_double(naming, scratch);
  if (twice == NO_ID) return RH_OK;
  Str name = inst_name(apply->module, twice);
  return plan_fail(apply, step->offset, "with these 'callees' there are two '%.*s'", SHOWN(name));
}

static rh_status name_comp(const Naming *naming) {
  Module *module = naming->apply->module;
  Computation *comp = comp_get(module, naming->comp);
  const PlanName *own = NULL;
  for (uint32_t i = 0; i < naming->step->callees.len; i++) {
    const PlanName *name = &naming->step->callees.data[i];
    if (name->is_computation && str_equal(name->of, comp_name(module, naming->comp))) own = name;
  }
  if (!own) return RH_OK;
  if (is_written_compact(own->name)) {
    return plan_fail(naming->apply, naming->step->offset, "no computation has a # in its name");
  }
  comp->name = arena_strndup(module->arena, own->name.data, own->name.len);
  comp->name_len = own->name.len;
  return RH_OK;
}

rh_status plan_name_callees(Apply *apply, InstId made, const PlanStep *step) {
  const Module *module = apply->module;
  rh_status status = RH_OK;
  VEC(InstId) work = {0};
  if (step->callees.len) *vec_push(apply->arena, &work) = made;
  while (status == RH_OK && work.len) {
    InstId caller = work.data[--work.len];
    if (inst_get(module, caller)->opcode != OPCODE_FUSION) continue;
    ArenaMark mark = arena_mark(apply->scratch);
    Naming naming = {.apply = apply, .step = step, .comp = inst_callees(module, caller)[0]};
    for (uint32_t i = 0; i < comp_num_insts(module, naming.comp); i++)
      *vec_push(apply->arena, &work) = comp_inst(module, naming.comp, i);
    status = name_insts(&naming, apply->scratch);
    if (status == RH_OK) status = name_comp(&naming);
    arena_reset(apply->scratch, mark);
  }
  return status;
}

rh_status plan_check_callees(Apply *apply) {
  const Module *module = apply->module;
  const Plan *plan = apply->plan;
  IdTable table = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!(comp_get(module, comp)->flags & COMP_DEAD))
      id_table_add(&table, apply->arena, hash_str(comp_name(module, comp)), comp);
  }
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    for (uint32_t k = 0; k < plan->steps.data[i].callees.len; k++) {
      const PlanName *name = &plan->steps.data[i].callees.data[k];
      uint32_t comp, num_comps = 0;
      for (IdProbe probe = id_table_probe(&table, hash_str(name->name));
           name->is_computation && id_probe_next(&probe, &comp);)
        num_comps += str_equal(comp_name(module, comp), name->name);
      if (num_comps < 2) continue;
      return plan_fail(apply, plan->steps.data[i].offset,
                       "with these 'callees' there are two computations '%.*s'", SHOWN(name->name));
    }
  }
  return RH_OK;
}
