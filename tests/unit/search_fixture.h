/* Shared by the tests of the search: the graph of a computation, and lines and graphs as text. */
#ifndef REMAT_HLO_TESTS_SEARCH_FIXTURE_H
#define REMAT_HLO_TESTS_SEARCH_FIXTURE_H

#include "remat/search/line.h"
#include "support.h"

typedef struct SearchFixture {
  Fixture fixture;
  Schedule schedule;
  Rewrite rewrite;
  Legality legality;
  Overwriters overwriters;
  CostTable costs;
  rh_remat_options options;
  RematParameters parameters;
  RematJob job;
  int64_t *inner_bytes; /* by CompId */
  SearchContext context;
  SearchGraph graph; /* of the computation asked for */
} SearchFixture;

/* What called computations need is measured, in the order of the text. `has_copies`: the module is
 * past copy-insertion. */
static inline void search_begin(SearchFixture *search, Fixture fixture, const char *model,
                                const char *comp, bool has_copies) {
  Arena *out = fixture.out, *scratch = fixture.scratch;
  *search = (SearchFixture){.fixture = fixture,
                            .schedule = fixture_schedule(&fixture, "input"),
                            .rewrite = rewrite_begin(fixture.module),
                            .options = RH_REMAT_OPTIONS_INIT,
                            .parameters = parameters_default(),
                            .costs = cost_analyze(fixture.module, out, scratch),
                            .inner_bytes = arena_zarray(out, int64_t, fixture.module->comps.len)};
  search->legality = (Legality){.module = fixture.module,
                                .effects = side_effects_build(fixture.module, out, scratch)};
  search->job = (RematJob){.rewrite = &search->rewrite,
                           .schedule = &search->schedule,
                           .options = &search->options,
                           .parameters = &search->parameters,
                           .memory_model = memory_model_find(model),
                           .modes = RH_REMAT_RECOMPUTE,
                           .legality = &search->legality,
                           .costs = &search->costs};
  search->context = search_context_build(&search->job, out, scratch);
  if (has_copies) {
    search->overwriters =
        overwriters_find(fixture.module, &search->context.values, &search->schedule, out, scratch);
    search->legality.overwriters = &search->overwriters;
  }
  search->context.inner_bytes = search->inner_bytes;
  const CallGraph *calls = &search->context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId id = calls->post_order[i];
    if (!comp_is_sequential(calls, id) || search->schedule.of[id].len == 0) continue;
    SearchGraph graph = search_graph_build(&search->context, id, out, scratch);
    Line line = line_of_graph(&graph, out);
    search->inner_bytes[id] = line_measure(&line, out).peak_bytes;
  }
  CompId id = comp ? find_comp(fixture.module, comp) : fixture.module->entry;
  search->graph = search_graph_build(&search->context, id, out, scratch);
  line_find_copied_reads(&search->graph, scratch);
}

static inline const char *node_name(const SearchFixture *search, NodeId node) {
  InstId id = search->graph.nodes[node].inst;
  if (id == NO_ID) return "end";
  Str name = inst_name(search->fixture.module, id);
  return arena_strndup(search->fixture.out, name.data, name.len);
}

static inline NodeId find_node(const SearchFixture *search, const char *name) {
  return node_inst(&search->graph, find_inst(search->fixture.module, name))->node;
}

/* The steps' names; what a step reads of a node that runs more than once follows as `<2`: the
 * number of the run. */
static inline const char *line_text(const SearchFixture *search, const Line *line) {
  Arena *out = search->fixture.out;
  const char *text = "";
  for (StepId step = 0; step < line->len; step++) {
    text_add(out, &text, "%s", node_name(search, line->nodes[step]));
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      uint32_t run = 0, num_runs = 0;
      for (StepId other = 0; other < line->len; other++) {
        num_runs += line->nodes[other] == line->nodes[source];
        if (other == source) run = num_runs;
      }
      if (num_runs > 1) text = arena_printf(out, "%s<%u", text, run);
    }
  }
  return text;
}

#endif
