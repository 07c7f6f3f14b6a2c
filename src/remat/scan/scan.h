/* Rematerialization across the border between loops: what a scan's forward loop stacks for its
 * backward loop is computed again in the backward loop.
 *
 * Analysis (analysis/loop, values.h), decision (choice.h) and rewrite (recompute.h) are separate.
 * This joins them for one module: a round. Loops that depend on each other are not rewritten in the
 * same round, and a rewrite can bring inner loops beside each other, so a caller repeats rounds, on
 * the printed and parsed result, until nothing is left to do. */
#ifndef REMAT_HLO_REMAT_SCAN_SCAN_H
#define REMAT_HLO_REMAT_SCAN_SCAN_H

#include "remat/scan/recompute.h"
#include "remat/scan/scan_step.h"

/* What is known of a module. */
typedef struct ScanModule {
  CallGraph graph;
  Loops loops;
  Stacks stacks;
  ScanContext context;
  VEC(ScanValues) borders; /* loops with stacks that others read, none that depends on another */
} ScanModule;

/* `*scans` must stay where it is, because its parts refer to each other. */
void scan_analyze(ScanModule *scans, const Module *module, const Legality *legality,
                  const CostTable *costs, const DeviceProfile *device, int64_t default_trip_count,
                  Arena *out, Arena *scratch);

/* The name of a value in ScanStep.stored: that of the instruction that has it or, if it only exists
 * within a fusion, `loop#element`, the element of the loop's state that stacks it. */
Str scan_value_name(const ScanModule *scans, const ScanValues *values, uint32_t value, Arena *out);

/* The record of a choice; the names are copied to `out`. */
ScanStep scan_record(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                     Arena *out, Arena *scratch);

/* Repeats a recorded choice. False, with the name in `*unknown`, if a value is not there, and with
 * an empty name if what is stored does not suffice to compute the rest. */
bool scan_repeat(const ScanModule *scans, const ScanValues *values, const ScanStep *step,
                 ScanChoice *choice, PlanRef *unknown, Arena *out, Arena *scratch);

/* Whether a choice changes anything. */
bool scan_changes(const ScanValues *values, const ScanChoice *choice);

/* All prices, ascending, at which the optimal choices for a module change, as far as `max` of them
 * are found. At a price between two of them the choices are the same. The last one is infinite. */
typedef VEC(double) ScanPrices;
ScanPrices scan_prices(const ScanModule *scans, uint32_t max, Arena *out, Arena *scratch);

#endif
