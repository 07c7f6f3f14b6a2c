/* Random HLO modules, the same for the same seed on every machine. */
#ifndef REMAT_HLO_TESTS_GENERATE_H
#define REMAT_HLO_TESTS_GENERATE_H

#include <stddef.h>
#include <stdint.h>

/* What a module may have besides elementwise operations, broadcasts, reductions and products. */
enum {
  GENERATE_TUPLES = 1 << 0,  /* tuple, get-tuple-element, opt-barrier */
  GENERATE_COMPACT = 1 << 1, /* elements are written `x#1` */
  GENERATE_FUSIONS = 1 << 2,
  GENERATE_CALLS = 1 << 3,
  GENERATE_LOOPS = 1 << 4,
  GENERATE_CONDITIONALS = 1 << 5,
  GENERATE_EFFECTS = 1 << 6,  /* infeed, outfeed, rng, custom calls that say so */
  GENERATE_CONTROL = 1 << 7,  /* control-predecessors */
  GENERATE_IN_PLACE = 1 << 8, /* dynamic-update-slice, input_output_alias */
  GENERATE_ODD_TEXT = 1 << 9, /* nested operands, comments, metadata, names like those of clones */
  GENERATE_ALL = (1 << 10) - 1,
  /* Only where they are asked for: */
  GENERATE_TILES = 1 << 10, /* layouts with tiles */
  GENERATE_ASYNC = 1 << 11, /* async-start, async-update, async-done */
};

typedef struct GenerateOptions {
  uint64_t seed;
  uint32_t num_insts; /* of all computations, roughly; at least */
  unsigned features;
  int is_scheduled;
} GenerateOptions;

/* A text that parses and passes rh_check, ended by NUL; free() it. */
char *generate_module(const GenerateOptions *options, size_t *length);

/* The same choice that every test makes for a seed: sizes from a few to `max_insts` instructions,
 * small ones more often; any features out of `allowed`, of those that are to be asked for
 * GENERATE_ASYNC only; scheduled or not. */
GenerateOptions generate_options(uint64_t seed, uint32_t max_insts, unsigned allowed);

/* A generator of numbers (splitmix64), for tests that need more of them. */
uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t bound);

#endif
