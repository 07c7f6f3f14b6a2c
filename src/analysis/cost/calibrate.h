/* Fits the rates of a device profile to measured times.
 *
 * The time of an instruction is the longest of several quotients (cost_time()), so a module's time
 * is not linear in the rates, and their least squares are no linear problem. Besides, the mean of
 * the absolute errors of the logarithms lets single programs be far off, which the mean of squares
 * does not. With five figures to find, trying each one up and down is enough, and needs no
 * library. */
#ifndef REMAT_HLO_ANALYSIS_COST_CALIBRATE_H
#define REMAT_HLO_ANALYSIS_COST_CALIBRATE_H

#include "analysis/cost/cost.h"

/* InstWork that a module does so many times. */
typedef struct WorkTerm {
  InstWork work;
  double runs;
} WorkTerm;

typedef struct WorkTerms {
  const WorkTerm *list;
  uint32_t len;
} WorkTerms;

/* Compares all figures of two kinds of work; 0 = they are equal. */
int work_compare(const InstWork *a, const InstWork *b);

/* Rounds a figure of a profile to four digits. */
double figure_rounded(double value);

/* What a module's time consists of, equal work in one term. Two things are held as they are with
 * this profile: which branch of a conditional takes longest, and how long copies to and from the
 * host stall. */
WorkTerms work_terms(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, Arena *out, Arena *scratch);

double terms_seconds(WorkTerms terms, const DeviceProfile *profile);

/* The modules of one group are those of one program, say: what is known of one of them says much
 * about the others. */
typedef struct Measurement {
  WorkTerms terms;
  double seconds; /* measured, above 0 */
  uint32_t group;
} Measurement;

/* Returns the profile with its bandwidth, its rates of matrix products, of other operations and of
 * transcendentals, and the fixed cost of a kernel fitted to all measurements that are not of the
 * group `held_out`; NO_ID holds nothing out. The rates of all element types keep their proportions.
 * What the measurements say nothing about keeps its proportion to the rest. Figures are rounded to
 * four digits. At least one measurement must remain. */
DeviceProfile profile_fit(const Measurement *measurements, uint32_t count, uint32_t held_out,
                          const DeviceProfile *profile, Arena *scratch);

#endif
