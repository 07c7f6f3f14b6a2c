/* Names the computations that are copied with a clone, and their instructions. The names hold for
 * the final module: until dead code is removed, a dead instruction may have the same name, so
 * duplicates are checked last. */
#include "remat/plan/apply.h"

typedef struct Naming {
  Apply *apply;
  const PlanStep *step;
  CompId comp;   /* the copied computation */
  InstId *named; /* the instructions that get names, in the order of the names */
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

static void find_named(Naming *naming, Arena *scratch) {
  const Module *module = naming->apply->module;
  const PlanStep *step = naming->step;
  Str *names = arena_array(scratch, Str, step->callees.len);
  naming->names = names;
  naming->named = arena_array(scratch, InstId, step->callees.len);
  naming->is_named = arena_zarray(scratch, bool, module->insts.len);
  for (uint32_t i = 0; i < step->callees.len; i++) {
    const PlanName *name = &step->callees.data[i];
    InstId id =
        name->computation.name.len ? NO_ID : find_in(module, naming->comp, name->instruction.name);
    if (id == NO_ID || naming->is_named[id]) continue;
    naming->is_named[id] = true;
    names[naming->num_named] = name->name.name;
    naming->named[naming->num_named++] = id;
  }
}

/* Permutes the named instructions among their places in the computation, so that they come in the
 * order of the names. */
static void put_in_order(const Naming *naming) {
  Module *module = naming->apply->module;
  const Computation *comp = comp_get(module, naming->comp);
  uint32_t next = 0;
  for (uint32_t i = 0; i < comp->insts.len; i++) {
    InstId *place = &module->ids.data[comp->insts.begin + i];
    if (naming->is_named[*place]) *place = naming->named[next++];
  }
}

/* Renames the instructions. A compact get-tuple-element, written `x#1`, is skipped, because it is
 * named after its operand. */
static void rename_insts(const Naming *naming) {
  Module *module = naming->apply->module;
  for (uint32_t i = 0; i < naming->num_named; i++) {
    if (inst_get(module, naming->named[i])->flags & INST_COMPACT_GTE) continue;
    Str name = naming->names[i];
    if (is_written_compact(name)) {
      plan_fail(naming->apply, naming->step->offset,
                "only elements of tuples have a # in their names");
    }
    name.data = arena_strndup(module->arena, name.data, name.len);
    rewrite_rename(naming->apply->rewrite, naming->named[i], name);
  }
}

static void rename_comp(const Naming *naming) {
  Module *module = naming->apply->module;
  Computation *comp = comp_get(module, naming->comp);
  Str own = {0};
  for (uint32_t i = 0; i < naming->step->callees.len; i++) {
    const PlanName *name = &naming->step->callees.data[i];
    if (str_equal(name->computation.name, comp_name(module, naming->comp))) own = name->name.name;
  }
  if (own.len == 0) return;
  if (is_written_compact(own))
    plan_fail(naming->apply, naming->step->offset, "no computation has a # in its name");
  comp->name = arena_strndup(module->arena, own.data, own.len);
  comp->name_len = own.len;
}

static void name_callee(Apply *apply, const PlanStep *step, CompId comp) {
  ArenaMark mark = arena_mark(apply->scratch);
  Naming naming = {.apply = apply, .step = step, .comp = comp};
  find_named(&naming, apply->scratch);
  put_in_order(&naming);
  rename_insts(&naming);
  rename_comp(&naming);
  *vec_push(apply->arena, &apply->named_comps) = (NamedComp){comp, step->offset};
  arena_reset(apply->scratch, mark);
}

void plan_name_callees(Apply *apply, InstId made, const PlanStep *step) {
  const Module *module = apply->module;
  VEC(InstId) work = {0};
  if (step->callees.len) *vec_push(apply->arena, &work) = made;
  while (apply->status == RH_OK && work.len) {
    InstId caller = work.data[--work.len];
    if (!plan_copies_callees(module, made, caller)) continue;
    for (uint32_t k = 0; k < inst_get(module, caller)->num_callees; k++) {
      CompId comp = inst_callees(module, caller)[k];
      for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
        *vec_push(apply->arena, &work) = comp_inst(module, comp, i);
      name_callee(apply, step, comp);
    }
  }
}

/* ---- checks of the final module ---- */

/* Checks in one computation that operands come before users, and that each name is unique. */
static void check_insts(Apply *apply, NamedComp named) {
  const Module *module = apply->module;
  ArenaMark mark = arena_mark(apply->scratch);
  bool *has_come = arena_zarray(apply->scratch, bool, module->insts.len);
  IdTable table = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, named.comp); i++) {
    InstId id = comp_inst(module, named.comp, i), other;
    Str name = inst_name(module, id);
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      if (has_come[inst_operand(module, id, k)]) continue;
      plan_fail(apply, named.offset, "in the order of 'callees' '%.*s' comes before what it needs",
                SHOWN(name));
    }
    for (IdProbe probe = id_table_probe(&table, hash_str(name)); id_probe_next(&probe, &other);) {
      if (!str_equal(inst_name(module, other), name)) continue;
      plan_fail(apply, named.offset, "with these 'callees' there are two '%.*s'", SHOWN(name));
    }
    has_come[id] = true;
    id_table_add(&table, apply->scratch, hash_str(name), id);
  }
  arena_reset(apply->scratch, mark);
}

void plan_check_callees(Apply *apply) {
  const Module *module = apply->module;
  IdTable table = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!(comp_get(module, comp)->flags & COMP_DEAD))
      id_table_add(&table, apply->arena, hash_str(comp_name(module, comp)), comp);
  }
  for (uint32_t i = 0; apply->status == RH_OK && i < apply->named_comps.len; i++) {
    NamedComp named = apply->named_comps.data[i];
    if (comp_get(module, named.comp)->flags & COMP_DEAD) continue;
    Str name = comp_name(module, named.comp);
    uint32_t comp;
    for (IdProbe probe = id_table_probe(&table, hash_str(name)); id_probe_next(&probe, &comp);) {
      if (comp == named.comp || !str_equal(comp_name(module, comp), name)) continue;
      plan_fail(apply, named.offset, "with these 'callees' there are two computations '%.*s'",
                SHOWN(name));
    }
    check_insts(apply, named);
  }
}
