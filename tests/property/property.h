/* What property tests share: each property is a test that runs once a seed. */
#ifndef REMAT_HLO_TESTS_PROPERTY_H
#define REMAT_HLO_TESTS_PROPERTY_H

#include <check.h>

#include "generate.h"
#include "ir/handle.h"
#include "remat_hlo.h"
#include "support.h"

/* A text that rh_print wrote, or a generated one; free() its data. */
typedef struct Text {
  char *data;
  size_t length;
} Text;

/* A module made from a seed, parsed and checked. A failure says the seed and shows the start of the
 * text; all of it is written to the file that REMAT_HLO_SAVE names, if it names one. */
typedef struct Sample {
  uint64_t seed;
  GenerateOptions options;
  Text text;
  rh_module *module;
  rh_settings settings; /* for what measures it and what is made of it */
  bool has_known_reads; /* remat/legality/safe_reads.h: in the order of its text */
} Sample;

/* Most such modules are not as XLA leaves them behind copy-insertion: one with known reads is taken
 * as if copies were still to be inserted, any other one as what it looks like. */

Sample sample_make(uint64_t seed, uint32_t max_insts, unsigned allowed);
Sample sample_make_with(uint64_t seed, const GenerateOptions *options);
void sample_free(Sample *sample);

/* The module is taken as what it looks like, whether it has known reads or not. */
void sample_take_as_it_is(Sample *sample);

/* A message for a failed check: the seed, the options and the text, cut off when it is long. */
const char *sample_shown(const Sample *sample);

Text print_text(const rh_module *module);

/* Parses and checks; a failure shows `what`. */
rh_module *parse_text(Text text, const char *what);

/* The same of what was printed of `printed`, which has its copies or not: a text does not say. */
rh_module *parse_printed(Text text, const rh_module *printed, const char *what);

/* The module under its own order if it is scheduled, else under `scheduler`; fails when it cannot
 * be scheduled. */
rh_module *schedule_sample(const Sample *sample, const char *scheduler);

/* Fails when rh_verify does not say that the two are equivalent. */
void check_equivalent(const rh_module *before, const rh_module *after, rh_copies copies,
                      bool any_rounding, const char *what, const Sample *sample);

/* A device whose link to the host is fast enough for some of the results. */
rh_profile *make_profile_with_link(uint64_t *state);

/* Something random that belongs to a seed, apart from the module. */
uint64_t seed_state(uint64_t seed);

/* Whether the properties of algorithms are to be checked for this one: REMAT_HLO_ALGORITHM names
 * the only one, if it names one; without it, all but those that need a solver, which takes long.
 * What is drawn for a seed does not depend on it. */
bool is_wanted_algorithm(const char *name);

/* Runs a suite of one property over seeds: as many as REMAT_HLO_SEEDS says, else `num_seeds` (a
 * tenth of it in a sanitized build), from REMAT_HLO_SEED on, else from 1. main's result. */
int run_property(const char *name, const TTest *test, int num_seeds);

#endif
