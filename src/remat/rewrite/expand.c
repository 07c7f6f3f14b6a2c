#include "remat/rewrite/expand.h"

/* Nested calls can expand to an exponential number of instructions. */
enum { MAX_GROWTH = 64, MAX_GROWTH_PLUS = 4000000 };

rh_status expansion_check(const Module *module, rh_diags *diags) {
  uint64_t max = (uint64_t)module->source->insts.len * MAX_GROWTH + MAX_GROWTH_PLUS;
  if (module->insts.len <= max) return RH_OK;
  return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE,
                   "with a copy of each computation for each of its callers the module would have "
                   "more than %llu instructions; --inline-calls=never leaves it as it is",
                   (unsigned long long)max);
}

Expansions expansions_begin(const Module *module, Arena *out) {
  return (Expansions){
      .of = arena_zarray(out, NewInsts, module->insts.len), .len = module->insts.len, .arena = out};
}

void expansions_add(Expansions *expansions, InstId replaced, NewInsts copies) {
  if (replaced >= expansions->len) { /* the replaced instruction is itself a copy */
    uint32_t len = replaced + 1 > 2 * expansions->len ? replaced + 1 : 2 * expansions->len;
    NewInsts *of = arena_zarray(expansions->arena, NewInsts, len);
    if (expansions->len) memcpy(of, expansions->of, expansions->len * sizeof *of);
    expansions->of = of;
    expansions->len = len;
  }
  expansions->of[replaced] = copies;
}

/* Appends an instruction or, if it was replaced, its copies. Copies may have been replaced as well,
 * which is why there is an explicit stack. */
static void append(const Expansions *expansions, const Module *module, InstId first,
                   Sequence *sequence, Arena *scratch) {
  VEC(InstId) work = {0};
  *vec_push(scratch, &work) = first;
  while (work.len) {
    InstId id = work.data[--work.len];
    if (!(inst_get(module, id)->flags & INST_DEAD)) {
      sequence->ids[sequence->len++] = id;
      continue;
    }
    NewInsts copies = id < expansions->len ? expansions->of[id] : (NewInsts){0, 0};
    for (InstId copy = copies.end; copy-- > copies.begin;) {
      *vec_push(scratch, &work) = copy;
    }
  }
}

void expansions_apply(const Expansions *expansions, const Module *module, CompId comp,
                      Schedule *schedule, Arena *out) {
  if (!schedule || comp >= schedule->num_comps || schedule->of[comp].len == 0) return;
  Sequence old = schedule->of[comp];
  Sequence sequence = {.ids = arena_array(out, InstId, comp_num_insts(module, comp))};
  for (uint32_t i = 0; i < old.len; i++) {
    append(expansions, module, old.ids[i], &sequence, expansions->arena);
  }
  schedule->of[comp] = sequence;
}
