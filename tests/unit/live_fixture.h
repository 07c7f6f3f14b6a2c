/* What tests share of what depends on where values live: modules in short, and their live ranges in
 * the order of the text. */
#ifndef REMAT_HLO_TESTS_LIVE_FIXTURE_H
#define REMAT_HLO_TESTS_LIVE_FIXTURE_H

#include "analysis/memory/live_range.h"
#include "analysis/memory/liveness.h"
#include "support.h"

#define P "p = f32[4] parameter(0)\n"
#define PAIR "(f32[4], f32[4])"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"
#define REVERSE(name, operand) name " = f32[4] reverse(" operand "), dimensions={0}\n"
#define DUS_OPERANDS "w = f32[1] constant({1})\n i = s32[] constant(0)\n"
#define COND "cond { cp = f32[4] parameter(0)\n ROOT ct = pred[] constant(true) }\n"
#define G "g { gq = f32[4] parameter(0)\n ROOT ga = f32[4] reverse(gq), dimensions={0} }\n"

typedef struct LiveFixture {
  Fixture base;
  const Module *module;
  Schedule schedule;
  ValueAnalysis values;
  LiveRanges ranges;
} LiveFixture;

static inline LiveFixture live_fixture(Fixture base) {
  LiveFixture fixture = {.base = base, .module = base.module};
  fixture.schedule = schedule_in_text_order(base.module, base.out);
  fixture.values = value_analysis_build(base.module, base.out, base.scratch);
  fixture.ranges =
      live_ranges_build(base.module, &fixture.values.graph, &fixture.values.flow,
                        &fixture.values.buffers, &fixture.schedule, base.out, base.scratch);
  return fixture;
}

/* What stands behind the name of the module, its computations, and the body of its entry. */
static inline LiveFixture live_fixture_of(const char *header, const char *comps, const char *body) {
  return live_fixture(
      fixture_parse_format("HloModule m%s\n%s\nENTRY e {\n%s}\n", header, comps, body));
}

#endif
