/* What the tests of the cost analysis share. */
#ifndef REMAT_HLO_TESTS_COST_FIXTURE_H
#define REMAT_HLO_TESTS_COST_FIXTURE_H

#include "analysis/cost/cost.h"
#include "support.h"

/* A row: computations, the entry's instructions, of which `x` is the root and the only one that
 * costs anything, and HloCostAnalysis's figures for it. The figures were compared with those of
 * jaxlib 0.12.0.1 for the same text (where a tuple of n elements is 4 n bytes, here 8 n). */
typedef struct CostCase {
  const char *comps;
  const char *body;
  Cost cost;
} CostCase;

typedef struct Analysed {
  Module *module;
  CostTable table;
  Arena *scratch;
} Analysed;

/* A module whose text outlives it. */
static inline Analysed analyse(Module *module) {
  Analysed result = {.module = module, .scratch = arena_new(NULL)};
  result.table = cost_analyze(module, module->arena, result.scratch);
  return result;
}

static inline Analysed analyse_body(const char *comps, const char *body) {
  Arena *scratch = arena_new(NULL);
  char *text = arena_printf(scratch, "HloModule m\n%s\nENTRY e {\n%s}\n", comps, body);
  Analysed result = {.module = parse_or_fail(text), .scratch = scratch};
  result.table = cost_analyze(result.module, result.module->arena, scratch);
  return result;
}

static inline void finish(Analysed analysed) {
  module_free(analysed.module);
  arena_free(analysed.scratch);
}

static inline Cost cost_in(const Analysed *analysed, const char *name) {
  return cost_of_inst(analysed->module, &analysed->table, find_inst(analysed->module, name),
                      analysed->scratch);
}

static inline void check_cost(Cost got, Cost wanted, const char *what) {
  ck_assert_msg(got.flops == wanted.flops && got.transcendentals == wanted.transcendentals &&
                    got.bytes == wanted.bytes,
                "%s: %lld flops, %lld transcendentals, %lld bytes; not %lld, %lld, %lld", what,
                (long long)got.flops, (long long)got.transcendentals, (long long)got.bytes,
                (long long)wanted.flops, (long long)wanted.transcendentals,
                (long long)wanted.bytes);
}

static inline void check_case(const CostCase *row) {
  Analysed analysed = analyse_body(row->comps, row->body);
  const Module *module = analysed.module;
  Cost sum = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    Cost cost = analysed.table.of[comp_inst(module, module->entry, i)];
    sum.flops += cost.flops;
    sum.transcendentals += cost.transcendentals;
    sum.bytes += cost.bytes;
  }
  check_cost(sum, row->cost, row->body);
  check_cost(cost_total(module, &analysed.table), row->cost, row->body);
  finish(analysed);
}

#endif
