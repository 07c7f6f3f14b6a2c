/* Shared by the tests of the path algorithms: a module with a peak of 12 KiB at concat1 and a value
 * that is read before and after it, and rows that pair modules with expected results. */
#ifndef REMAT_HLO_TESTS_PATH_FIXTURE_H
#define REMAT_HLO_TESTS_PATH_FIXTURE_H

#include "support.h"

#define P "p = f32[] parameter(0)\n"
#define AFTER(value)                                                  \
  "negate = f32[1024] negate(" value                                  \
  ")\n"                                                               \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(" value                            \
  ", slice1), dimensions={0}\n"                                       \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define BCAST "bcast = f32[1024] broadcast(p), dimensions={}\n"

typedef struct Row {
  const char *name, *comps, *body;
  RematSetup setup;
  int64_t before_bytes, after_bytes;
  const char *comp, *order;
} Row;

static inline void check_row(const Row *row, const char *algorithm) {
  Fixture fixture = fixture_parse_body(row->comps, row->body);
  RematSetup setup = row->setup;
  setup.algorithm = algorithm;
  RematResult result = fixture_remat(&fixture, &setup);
  check_text(scheduled_names(&fixture, &result.schedule, row->comp), row->order, row->name);
  check_remat_bytes(&result, row->before_bytes, -1, row->after_bytes, row->name);
  fixture_free(&fixture);
}

#endif
