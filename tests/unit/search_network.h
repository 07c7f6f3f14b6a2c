/* Shared by the tests of the search's outer files: a network whose entry is searched. */
#ifndef REMAT_HLO_TESTS_SEARCH_NETWORK_H
#define REMAT_HLO_TESTS_SEARCH_NETWORK_H

#include "remat/search/job.h"
#include "search_fixture.h"

enum { NUM_LAYERS = 6 };

#define SUM                                                          \
  "sum { first = f32[] parameter(0)\n second = f32[] parameter(1)\n" \
  "ROOT total = f32[] add(first, second) }\n"

/* A network whose layers keep arrays of different sizes for the way back. */
static inline Fixture make_network(void) {
  Arena *arena = arena_new(NULL);
  const char *body = "z = f32[] constant(0)\nx0 = f32[64] parameter(0)\n";
  for (int i = 0; i < NUM_LAYERS; i++) {
    text_add(arena, &body,
             "e%d = f32[64] sine(x%d)\n w%d = f32[%d,64] broadcast(e%d), dimensions={1}\n", i, i, i,
             2 + i % 3, i);
    text_add(arena, &body,
             "l%d = f32[%d,64] exponential(w%d)\n"
             "x%d = f32[64] reduce(l%d, z), dimensions={0}, to_apply=sum\n",
             i, 2 + i % 3, i, i + 1, i);
  }
  text_add(arena, &body, "g%d = f32[64] negate(x%d)\n", NUM_LAYERS, NUM_LAYERS);
  for (int i = NUM_LAYERS; i-- > 0;)
    text_add(arena, &body,
             "t%d = f32[64] reduce(l%d, z), dimensions={0}, to_apply=sum\n"
             "q%d = f32[64] multiply(t%d, e%d)\n %sg%d = f32[64] multiply(g%d, q%d)\n",
             i, i, i, i, i, i ? "" : "ROOT ", i, i + 1, i);
  Fixture fixture = fixture_parse_body(SUM, body);
  arena_free(arena);
  return fixture;
}

static inline SearchJob job_of(SearchFixture *search) {
  SearchJob job = {.job = &search->job,
                   .unmet_comp = NO_ID,
                   .rules = {.num_threads = 1},
                   .out = search->fixture.out,
                   .scratch = search->fixture.scratch};
  search_job_analyze(&job);
  job.difference_bytes = search_job_difference(&job);
  return job;
}

#endif
