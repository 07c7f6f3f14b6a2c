/* What graphs have in common, beside the definitions of the header in the simplest form, on random
 * modules with calls, loops and branches. */
#include <math.h>
#include <stdlib.h>

#include "generate.h"
#include "search_fixture.h"

enum { NUM_MODULES = 60, MAX_INSTS = 120 };

/* Whether a run of `comp` runs `other`, or is one. */
static bool runs(const Module *module, CompId comp, CompId other) {
  if (comp == other) return true;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    for (uint32_t k = 0; k < inst_get(module, id)->num_callees; k++) {
      if (runs(module, inst_callees(module, id)[k], other)) return true;
    }
  }
  return false;
}

static bool row_has(const Rows *rows, uint32_t row, uint32_t wanted) {
  for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
    if (rows->ids[i] == wanted) return true;
  }
  return false;
}

/* Whether one of several values in a buffer is of the computation, or of what it calls. */
static bool shares(const SearchContext *context, CompId comp, BufferId buffer) {
  const Module *module = context->job->rewrite->module;
  const HloBuffers *buffers = &context->values.buffers;
  uint32_t first = buffers->first_value[buffer], end = buffers->first_value[buffer + 1];
  if (end - first < 2) return false;
  for (uint32_t i = first; i < end; i++) {
    InstId id = context->values.flow.values.data[buffers->values[i]].inst;
    if (runs(module, comp, inst_get(module, id)->parent)) return true;
  }
  return false;
}

/* The time of a run of a computation with all that it runs. */
static double seconds_of_run(const SearchContext *context, CompId comp) {
  const Module *module = context->job->rewrite->module;
  double seconds = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    double of_callees = 0;
    seconds += cost_seconds(module, context->job->costs, &context->device, id);
    if (!inst_runs_callees(module, id)) continue;
    bool is_branch = inst_get(module, id)->opcode == OPCODE_CONDITIONAL;
    for (uint32_t k = 0; k < inst_get(module, id)->num_callees; k++) {
      double of_one = seconds_of_run(context, inst_callees(module, id)[k]);
      of_callees = is_branch ? fmax(of_callees, of_one) : of_callees + of_one;
    }
    int64_t trips = inst_get(module, id)->opcode == OPCODE_WHILE ? while_trip_count(module, id) : 1;
    seconds += of_callees * (double)(trips < 0 ? 1 : trips);
  }
  return seconds;
}

static void check_context(const SearchContext *context, uint32_t *num_shared, uint32_t *num_timed) {
  const Module *module = context->job->rewrite->module;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
      ck_assert_uint_eq(context->place_of[comp_inst(module, comp, i)], i);
    for (BufferId buffer = 0; buffer < context->values.buffers.num_buffers; buffer++) {
      bool is_shared = shares(context, comp, buffer);
      ck_assert_int_eq(row_has(&context->shared_buffers, comp, buffer), is_shared);
      *num_shared += is_shared;
    }
    bool is_timed = comp != module->entry && comp_is_sequential(&context->values.graph, comp);
    double seconds = is_timed ? seconds_of_run(context, comp) : 0;
    ck_assert_double_le(fabs(context->seconds_of[comp] - seconds), 1e-12 * seconds);
    *num_timed += seconds > 0;
  }
}

static void check_space_is_clean(const SearchContext *context) {
  const GraphSpace *space = context->space;
  for (ValueId value = 0; value < context->values.flow.values.len; value++)
    ck_assert_uint_eq(space->seen_at[value], 0);
  for (BufferId buffer = 0; buffer < context->values.buffers.num_buffers; buffer++) {
    ck_assert(!space->is_held[buffer]);
    ck_assert(!space->is_lent[buffer]);
    ck_assert(!space->is_detached[buffer]);
  }
  for (CompId comp = 0; comp < context->job->rewrite->module->comps.len; comp++)
    ck_assert(!space->is_visited[comp]);
}

START_TEST(random_modules) {
  uint32_t num_shared = 0, num_timed = 0;
  for (uint64_t seed = 1; seed <= NUM_MODULES; seed++) {
    GenerateOptions options = {.seed = seed,
                               .num_insts = MAX_INSTS,
                               .features = GENERATE_ALL & ~(unsigned)GENERATE_ODD_TEXT,
                               .is_scheduled = 1};
    size_t length;
    char *text = generate_module(&options, &length);
    SearchFixture search;
    /* The fixture builds the graphs of all computations. */
    search_begin(&search, fixture_parse(text), "heap", NULL, false);
    check_context(&search.context, &num_shared, &num_timed);
    check_space_is_clean(&search.context);
    fixture_free(&search.fixture);
    free(text);
  }
  ck_assert_uint_gt(num_shared, NUM_MODULES);
  ck_assert_uint_gt(num_timed, NUM_MODULES);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("search_context");
  TCase *tests = tcase_create("context");
  tcase_add_test(tests, random_modules);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
