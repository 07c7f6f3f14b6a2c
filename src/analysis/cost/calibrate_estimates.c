#include "analysis/cost/calibrate_estimates.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cost/calibrate.h"
#include "analysis/cost/elementary.h"

/* ---- what there is to fit to ---- */

static int by_work(const void *pa, const void *pb) {
  return work_compare(&((const EstimatedWork *)pa)->work, &((const EstimatedWork *)pb)->work);
}

uint32_t estimated_works(const Module *module, const CostTable *table, uint32_t group,
                         EstimatedWork **works, Arena *out, Arena *scratch) {
  uint32_t num_found = 0, len = 0;
  *works = NULL;
  if (!table->estimated_cycles) return 0;
  ArenaMark mark = arena_mark(scratch);
  EstimatedWork *found = arena_array(scratch, EstimatedWork, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (table->estimated_cycles[id] <= 0) continue;
    InstWork work = cost_work(module, table, id);
    if (work.kind == WORK_KERNEL && work.cycles > 0)
      found[num_found++] = (EstimatedWork){work, group};
  }
  if (num_found) qsort(found, num_found, sizeof *found, by_work);
  *works = arena_array(out, EstimatedWork, num_found);
  for (uint32_t i = 0; i < num_found; i++) {
    if (len == 0 || by_work(&(*works)[len - 1], &found[i]) != 0) (*works)[len++] = found[i];
  }
  arena_reset(scratch, mark);
  return len;
}

/* ---- the fit ---- */

typedef struct Fit {
  const EstimatedWork *works;
  uint32_t count, held_out;
  const double *logs_of_cycles; /* by work */
  double begin[NUM_UNITS];      /* logarithms, as all of them */
  double cores;
} Fit;

static UnitPrices prices_of(const double logs[NUM_UNITS], double cores) {
  UnitPrices prices = {.cores = cores};
  for (int i = 0; i < NUM_UNITS; i++)
    prices.of[i] = steady_exp(logs[i]);
  return prices;
}

/* Squares of small errors, sizes of large ones: sqrt(1 + e^2) - 1, where an error of USUAL_ERROR
 * is 1. */
static double penalty(double error) {
  static const double USUAL_ERROR = 0.15;
  double scaled = error / USUAL_ERROR;
  return sqrt(1 + scaled * scaled) - 1;
}

/* What takes long counts more: 1 at 3,000 cycles, 1 more for each factor of 10. */
static double weight(double log_of_cycles) {
  static const double LEAST = 0.5, MOST = 3, LOG_OF_TEN = 2.302585092994046, LOG_OF_300 = 5.703782;
  return fmin(fmax((log_of_cycles - LOG_OF_300) / LOG_OF_TEN, LEAST), MOST);
}

/* What is to be as low as possible. A price that hardly anything depends on stays near to where it
 * begins. */
static double badness(const Fit *fit, const double logs[NUM_UNITS]) {
  static const double LEAST_CYCLES = 1, DISTANCE_PRICE = 0.02;
  UnitPrices prices = prices_of(logs, fit->cores);
  double sum = 0;
  UnitBound ignored;
  for (uint32_t i = 0; i < fit->count; i++) {
    if (fit->works[i].group == fit->held_out) continue;
    double cycles = fmax(units_cycles(&fit->works[i].work.units, &prices, &ignored), LEAST_CYCLES);
    sum += weight(fit->logs_of_cycles[i]) * penalty(steady_log(cycles) - fit->logs_of_cycles[i]);
  }
  for (int i = 0; i < NUM_UNITS; i++) {
    double distance = logs[i] - fit->begin[i];
    sum += DISTANCE_PRICE * distance * distance;
  }
  return sum;
}

/* Moves one price by its step, or by the same in the other direction, and adapts the step. */
static bool improve(const Fit *fit, double logs[NUM_UNITS], int index, double *step, double *best) {
  static const double GROW = 1.6, SHRINK = 0.5, LEAST_GAIN = 1e-9;
  double old = logs[index];
  for (int attempt = 0; attempt < 2; attempt++) {
    logs[index] = old + *step;
    double tried = fabs(logs[index] - fit->begin[index]) > 20 ? INFINITY : badness(fit, logs);
    if (tried < *best - LEAST_GAIN) {
      *best = tried;
      *step *= GROW;
      return true;
    }
    *step = -*step;
  }
  logs[index] = old;
  *step *= SHRINK;
  return false;
}

static void search(const Fit *fit, double logs[NUM_UNITS]) {
  enum { MAX_ROUNDS = 300 };
  static const double FIRST_STEP = 0.5, LAST_STEP = 0.005;
  double steps[NUM_UNITS], best = badness(fit, logs);
  bool is_moving = true;
  for (int i = 0; i < NUM_UNITS; i++)
    steps[i] = FIRST_STEP;
  for (int round = 0; round < MAX_ROUNDS && is_moving; round++) {
    is_moving = false;
    for (int i = 0; i < NUM_UNITS; i++) {
      if (fabs(steps[i]) < LAST_STEP) continue;
      improve(fit, logs, i, &steps[i], &best);
      is_moving = true;
    }
  }
}

/* Tries what is between an eighth and eight times each figure of windows, of which times are steps,
 * so that small ones do not tell in which direction they fall. */
static void scan_figures(const Fit *fit, double logs[NUM_UNITS]) {
  static const double LARGEST = 2.1, STEP = 0.07;
  for (int i = UNIT_FUSED_PIECES; i < NUM_UNITS; i++) {
    double best = badness(fit, logs), found = logs[i];
    for (double log = fit->begin[i] - LARGEST; log <= fit->begin[i] + LARGEST; log += STEP) {
      logs[i] = log;
      double tried = badness(fit, logs);
      if (tried < best) {
        best = tried;
        found = log;
      }
    }
    logs[i] = found;
  }
}

UnitPrices prices_fit(const EstimatedWork *works, uint32_t count, uint32_t held_out,
                      const UnitPrices *begin, Arena *scratch) {
  enum { PASSES = 3 }; /* a price whose steps have become small may have to move again */
  static const double LEAST_PRICE = 1e-3;
  ArenaMark mark = arena_mark(scratch);
  double *cycles = arena_array(scratch, double, count), logs[NUM_UNITS];
  UnitPrices prices = *begin;
  for (uint32_t i = 0; i < count; i++)
    cycles[i] = steady_log(works[i].work.cycles);
  Fit fit = {works, count, held_out, cycles, {0}, begin->cores};
  for (int i = 0; i < NUM_UNITS; i++)
    logs[i] = fit.begin[i] = steady_log(fmax(prices.of[i], LEAST_PRICE));
  for (int pass = 0; pass < PASSES; pass++) {
    if (pass > 0) scan_figures(&fit, logs);
    search(&fit, logs);
  }
  prices = prices_of(logs, fit.cores);
  for (int i = 0; i < NUM_UNITS; i++)
    prices.of[i] = figure_rounded(prices.of[i]);
  arena_reset(scratch, mark);
  return prices;
}
