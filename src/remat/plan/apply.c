/* Applies a plan: makes its instructions, redirects users to them, and inserts them into the
 * sequences.
 *
 * Everything in a plan is checked. It must be legal to recompute the instruction of a step
 * (remat/legality/legality.h); a user must read, in the module itself, the value to which it is
 * redirected; and the resulting order must be valid. The fingerprints of the module are compared as
 * well, but a difference causes only a warning: what matters is that the names are found. */
#include "remat/rewrite/dce.h"
#include "remat/plan/apply.h"
#include "analysis/memory/tracker.h"

const RematAlgorithm plan_algorithm = {"plan", "what a plan says", remat_plan, 0, 0};

uint64_t plan_fingerprint(const Module *module) {
  return hash_bytes(HASH_SEED, module->source->text, module->source->length);
}

uint64_t plan_order_fingerprint(const Module *module, const Schedule *schedule) {
  uint64_t hash = HASH_SEED;
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (uint32_t i = 0; i < schedule->of[comp].len; i++)
      hash = hash_mix(hash, hash_str(inst_name(module, schedule->of[comp].ids[i])));
  }
  return hash;
}

uint32_t plan_fail(Apply *apply, uint32_t offset, const char *format, ...) {
  if (apply->status != RH_OK) return NO_ID;
  va_list args;
  va_start(args, format);
  diag_add(apply->job->diags, RH_SEVERITY_ERROR, DIAG_AT(offset), format, args);
  va_end(args);
  apply->status = RH_ERR_INPUT;
  return NO_ID;
}

/* ---- names ---- */

/* Returns NO_ID when there is none. */
static uint32_t find_name(const ScopedNames *names, CompId comp, Str name) {
  uint32_t i;
  for (IdProbe probe = id_table_probe(&names->table, hash_str(name)); id_probe_next(&probe, &i);) {
    const ScopedName *found = &names->list.data[i];
    if (found->comp == comp && str_equal(found->name, name)) return found->id;
  }
  return NO_ID;
}

static void add_name(Apply *apply, ScopedNames *names, CompId comp, Str name, uint32_t id) {
  id_table_add(&names->table, apply->arena, hash_str(name), names->list.len);
  *vec_push(apply->arena, &names->list) = (ScopedName){name, comp, id};
}

void plan_collect_names(Apply *apply, CompId comp) {
  id_table_add(&apply->comps_by_name, apply->arena, hash_str(comp_name(apply->module, comp)), comp);
  for (uint32_t i = 0; i < comp_num_insts(apply->module, comp); i++) {
    InstId id = comp_inst(apply->module, comp, i);
    add_name(apply, &apply->old_names, comp, inst_name(apply->module, id), id);
  }
}

CompId plan_find_computation(Apply *apply, PlanRef ref) {
  if (apply->status != RH_OK) return NO_ID;
  if (ref.name.len == 0) return apply->module->entry;
  CompId comp;
  uint64_t hash = hash_str(ref.name);
  for (IdProbe probe = id_table_probe(&apply->comps_by_name, hash); id_probe_next(&probe, &comp);) {
    if (str_equal(comp_name(apply->module, comp), ref.name)) return comp;
  }
  return plan_fail(apply, ref.offset, "no computation '%.*s' runs in the module", SHOWN(ref.name));
}

InstId plan_find_old(Apply *apply, CompId comp, PlanRef ref) {
  if (apply->status != RH_OK) return NO_ID;
  InstId id = find_name(&apply->old_names, comp, ref.name);
  if (id != NO_ID) return id;
  Str within = comp_name(apply->module, comp);
  return plan_fail(apply, ref.offset, "there is no instruction '%.*s' in '%.*s'", SHOWN(ref.name),
                   SHOWN(within));
}

uint32_t plan_find_step(const Apply *apply, CompId comp, Str name) {
  return find_name(&apply->made_names, comp, name);
}

InstId plan_find_any(Apply *apply, CompId comp, PlanRef ref) {
  uint32_t step = plan_find_step(apply, comp, ref.name);
  return step == NO_ID ? plan_find_old(apply, comp, ref) : apply->made[step];
}

/* Gives elements lines of their own. They are then known by their new names, too. */
static void rename_elements(Apply *apply) {
  for (uint32_t i = 0; apply->status == RH_OK && i < apply->plan->renames.len; i++) {
    const PlanRename *rename = &apply->plan->renames.data[i];
    CompId comp = plan_find_computation(apply, rename->computation);
    InstId id = plan_find_old(apply, comp, rename->instruction);
    if (id == NO_ID) return;
    if (inst_get(apply->module, id)->flags & INST_COMPACT_GTE) {
      Str name = name_unique(&apply->rewrite->inst_names, rename->name.name);
      rewrite_write_out(apply->rewrite, id, name);
      add_name(apply, &apply->old_names, comp, name, id);
    } else {
      plan_fail(apply, rename->instruction.offset, "'%.*s' has a line of its own",
                SHOWN(rename->instruction.name));
    }
  }
}

/* Reserves the names that the steps give, before any other name is generated. */
static void take_names(Apply *apply) {
  const Plan *plan = apply->plan;
  for (uint32_t i = 0; apply->status == RH_OK && i < plan->steps.len; i++) {
    PlanRef made = plan->steps.data[i].made;
    CompId comp = apply->comps[i] = plan_find_computation(apply, plan->steps.data[i].computation);
    if (comp == NO_ID || made.name.len == 0) continue;
    bool is_free = is_written_compact(made.name) ||
                   str_equal(name_unique(&apply->rewrite->inst_names, made.name), made.name);
    if (is_free && plan_find_step(apply, comp, made.name) == NO_ID) {
      add_name(apply, &apply->made_names, comp, made.name, i);
    } else {
      plan_fail(apply, made.offset, "there is a '%.*s' already", SHOWN(made.name));
    }
  }
}

/* ---- moved instructions ---- */

/* Removes an instruction without real users. Instructions that only forward its value do not count,
 * unless there are control dependencies on them; they are removed with it. */
static void remove_unread(Module *module, InstId id, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  VEC(InstId) readers = {0};
  *vec_push(scratch, &readers) = id;
  bool is_unread = !inst_is_root(module, id);
  for (uint32_t i = 0; is_unread && i < readers.len; i++) {
    InstId reader = readers.data[i];
    if (i > 0) is_unread = inst_is_pass_through(module, reader) && !inst_is_root(module, reader);
    for (uint32_t k = 0; is_unread && k < inst_get(module, reader)->users.len; k++)
      *vec_push(scratch, &readers) = inst_users(module, reader)[k];
  }
  for (uint32_t i = readers.len; is_unread && i-- > 0;) {
    if (!(inst_get(module, readers.data[i])->flags & INST_DEAD))
      module_remove_inst(module, readers.data[i]);
  }
  arena_reset(scratch, mark);
}

/* Removes the moved instructions that have no users any more. Users are visited before their
 * operands. Dead code is removed first, because it would count as users. */
static void remove_moved(Apply *apply) {
  Module *module = apply->module;
  bool *is_moved = arena_zarray(apply->arena, bool, apply->num_old), has_moved = false;
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    if (apply->plan->steps.data[i].action != PLAN_MOVE || apply->made[i] == NO_ID) continue;
    is_moved[rewrite_original(apply->rewrite, apply->made[i])] = has_moved = true;
  }
  if (!has_moved) return;
  dce_run(apply->rewrite, apply->scratch);
  for (CompId comp = 0; comp < apply->job->schedule->num_comps; comp++) {
    Sequence sequence = apply->job->schedule->of[comp];
    for (uint32_t i = sequence.len; i-- > 0;) {
      InstId id = sequence.ids[i];
      bool is_here = id < apply->num_old && !(inst_get(module, id)->flags & INST_DEAD);
      if (is_here && is_moved[id]) remove_unread(module, id, apply->scratch);
    }
    if (sequence.len) module_sweep_comp(module, comp);
  }
}

/* ---- the algorithm ---- */

Apply plan_begin(RematJob *job, Arena *arena, Arena *scratch) {
  const Plan *plan = job->plan;
  Apply apply = {.job = job,
                 .module = job->rewrite->module,
                 .rewrite = job->rewrite,
                 .plan = plan,
                 .num_old = job->rewrite->module->insts.len,
                 .comps = arena_array(arena, CompId, plan->steps.len),
                 .made = arena_array(arena, InstId, plan->steps.len),
                 .arena = arena,
                 .scratch = scratch};
  if (plan->steps.len) memset(apply.made, 0xff, plan->steps.len * sizeof *apply.made);
  for (CompId comp = 0; comp < job->schedule->num_comps; comp++) {
    if (job->schedule->of[comp].len) plan_collect_names(&apply, comp);
  }
  return apply;
}

void remat_plan(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  const Plan *plan = job->plan;
  Arena *arena = arena_new(arena_options(scratch));
  Apply apply = plan_begin(job, arena, scratch);
  rename_elements(&apply);
  take_names(&apply);
  plan_make(&apply);
  plan_place(&apply, out);
  if (apply.status == RH_OK) remove_moved(&apply);
  if (apply.status == RH_OK && (apply.named_comps.len || plan->drops_dead_code))
    dce_run(job->rewrite, scratch);
  if (apply.status == RH_OK) plan_check_order(&apply);
  if (apply.status == RH_OK) plan_check_callees(&apply);
  stats->status = apply.status;
  stats->num_steps = plan->drops_dead_code;
  for (uint32_t i = 0; i < plan->steps.len; i++)
    stats->num_steps += apply.made[i] != NO_ID;
  stats->num_steps += plan->orders.len + plan->control.len + plan->clones.len;
  arena_free(arena);
}

/* ---- plans that do not fit the module ---- */

void plan_warn_of_module(const Plan *plan, const Module *module, const Schedule *schedule,
                         rh_diags *diags) {
  Str name = module->source->header.name;
  if (plan->fingerprint && plan->fingerprint != plan_fingerprint(module)) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_OTHER_MODULE, NO_OFFSET),
              "the plan was made for another text of '%.*s': this one is '%.*s'",
              SHOWN(plan->module), SHOWN(name));
  } else if (plan->order_fingerprint &&
             plan->order_fingerprint != plan_order_fingerprint(module, schedule)) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_OTHER_MODULE, NO_OFFSET),
              "the plan was made for another order of the module");
  }
}

rh_status plan_fail_reads(const Plan *plan, const Module *module, const bool *is_kept,
                          uint32_t num_insts, rh_diags *diags) {
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    const PlanStep *step = &plan->steps.data[i];
    if (step->is_skipped) continue;
    for (InstId id = 0; id < num_insts; id++) {
      if (!is_kept[id] || !str_equal(inst_name(module, id), step->instruction.name)) continue;
      return diag_fail(diags, RH_ERR_INPUT, DIAG_AT(step->instruction.offset),
                       "'%.*s' is left alone: %s", SHOWN(step->instruction.name),
                       keep_reason_sentence(KEEP_OVERWRITTEN));
    }
  }
  return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE,
                   "the order of the plan reads memory that is overwritten before");
}
