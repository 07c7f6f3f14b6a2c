/* What the tests of the path algorithms read: a peak of 12 KiB at concat1, a value that is read in
 * front of it and behind. */
#ifndef REMAT_HLO_TESTS_PATH_FIXTURE_H
#define REMAT_HLO_TESTS_PATH_FIXTURE_H

#define P "p = f32[] parameter(0)\n"
#define BEHIND(value)                                                 \
  "negate = f32[1024] negate(" value                                  \
  ")\n"                                                               \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(" value                            \
  ", slice1), dimensions={0}\n"                                       \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define BCAST "bcast = f32[1024] broadcast(p), dimensions={}\n"

#endif
