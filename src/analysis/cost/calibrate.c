#include "analysis/cost/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/cost/elementary.h"
#include "ir/vec.h"

/* ---- what a module's time consists of ---- */

typedef struct TermList {
  const Module *module;
  const CostTable *table;
  VEC(WorkTerm) terms;
  Arena *scratch;
} TermList;

static int compare_doubles(double a, double b) {
  return (a > b) - (a < b);
}

int work_compare(const InstWork *a, const InstWork *b) {
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->route != b->route) return a->route < b->route ? -1 : 1;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  if (a->is_matrix != b->is_matrix) return a->is_matrix ? 1 : -1;
  int order = compare_doubles(a->flops, b->flops);
  if (order == 0) order = compare_doubles(a->transcendentals, b->transcendentals);
  if (order == 0) order = compare_doubles(a->bytes, b->bytes);
  if (order == 0) order = compare_doubles(a->blocks, b->blocks);
  if (order == 0) order = compare_doubles(a->stall_seconds, b->stall_seconds);
  if (order == 0) order = compare_doubles(a->cycles, b->cycles);
  for (int unit = 0; unit < NUM_UNITS && order == 0; unit++)
    order = compare_doubles((double)a->units.of[unit], (double)b->units.of[unit]);
  if (order == 0) order = compare_doubles((double)a->units.row_blocks, (double)b->units.row_blocks);
  if (order == 0) order = compare_doubles((double)a->units.row_tiles, (double)b->units.row_tiles);
  return order;
}

static int compare_terms(const void *pa, const void *pb) {
  return work_compare(&((const WorkTerm *)pa)->work, &((const WorkTerm *)pb)->work);
}

static void add_term(void *context, InstId id, double runs) {
  TermList *list = context;
  InstWork work = cost_work(list->module, list->table, id);
  if (work.kind != WORK_NONE) *vec_push(list->scratch, &list->terms) = (WorkTerm){work, runs};
}

WorkTerms work_terms(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, Arena *out, Arena *scratch) {
  Arena *inner = arena_new(arena_options(scratch));
  TermList found = {.module = module, .table = table, .scratch = inner};
  cost_visit_runs(module, table, profile, default_trip_count, add_term, &found, inner);
  uint32_t len = 0;
  WorkTerm *list = arena_array(out, WorkTerm, found.terms.len);
  if (found.terms.len) {
    qsort(found.terms.data, found.terms.len, sizeof *found.terms.data, compare_terms);
  }
  for (uint32_t i = 0; i < found.terms.len; i++) {
    const WorkTerm *term = &found.terms.data[i];
    if (len && compare_terms(&list[len - 1], term) == 0) {
      list[len - 1].runs += term->runs;
    } else {
      list[len++] = *term;
    }
  }
  arena_free(inner);
  return (WorkTerms){list, len};
}

double terms_seconds(WorkTerms terms, const DeviceProfile *profile) {
  double seconds = 0;
  for (uint32_t i = 0; i < terms.len; i++)
    seconds += work_time(&terms.list[i].work, profile).seconds * terms.list[i].runs;
  return seconds;
}

/* ---- the fit ---- */

/* What is fitted; all else in a profile stays. */
typedef enum Figure {
  FIGURE_BANDWIDTH,
  FIGURE_FLOPS,
  FIGURE_VECTOR_FLOPS,
  FIGURE_TRANSCENDENTALS,
  FIGURE_KERNEL,
  NUM_FIGURES,
} Figure;

/* A figure is tried up and down by the first factor as long as that helps, then by its root, and so
 * on. A factor away from a machine that is slower by the same in everything must lower the mean
 * error by `DISTANCE_PRICE` for each e-fold, so that figures which the measurements say nothing
 * about stay there. */
static const double FIRST_FACTOR = 16, LAST_FACTOR = 1.02, DISTANCE_PRICE = 0.002;

/* Seconds of a kernel to begin with where the profile says that it costs nothing: 0 has no
 * multiples. Modelled times below the least one count as that. */
static const double KERNEL_SECONDS = 1e-7, LEAST_SECONDS = 1e-12;

typedef struct Fit {
  const Measurement *measurements;
  uint32_t count, held_out;
  const DeviceProfile *profile;
  double base[NUM_FIGURES]; /* logarithms of factors, as all of them */
} Fit;

static void scale_rates(double rates[NUM_TYPES], double factor) {
  for (int type = 0; type < NUM_TYPES; type++)
    rates[type] *= factor;
}

static DeviceProfile scaled(const DeviceProfile *profile, const double logs[NUM_FIGURES]) {
  DeviceProfile made = *profile;
  made.memory_bandwidth *= steady_exp(logs[FIGURE_BANDWIDTH]);
  made.block_bandwidth *= steady_exp(logs[FIGURE_BANDWIDTH]);
  scale_rates(made.flops, steady_exp(logs[FIGURE_FLOPS]));
  scale_rates(made.vector_flops, steady_exp(logs[FIGURE_VECTOR_FLOPS]));
  made.transcendentals *= steady_exp(logs[FIGURE_TRANSCENDENTALS]);
  if (made.kernel_seconds <= 0) made.kernel_seconds = KERNEL_SECONDS;
  made.kernel_seconds *= steady_exp(logs[FIGURE_KERNEL]);
  made.product_seconds *= steady_exp(logs[FIGURE_KERNEL]);
  return made;
}

static double log_error(const Measurement *measurement, const DeviceProfile *profile) {
  double modelled = terms_seconds(measurement->terms, profile);
  return steady_log(fmax(modelled, LEAST_SECONDS) / measurement->seconds);
}

/* What is to be as low as possible. */
static double price(const Fit *fit, const double logs[NUM_FIGURES]) {
  DeviceProfile profile = scaled(fit->profile, logs);
  double sum = 0, distance = 0;
  uint32_t num_used = 0;
  for (uint32_t i = 0; i < fit->count; i++) {
    if (fit->measurements[i].group == fit->held_out) continue;
    sum += fabs(log_error(&fit->measurements[i], &profile));
    num_used++;
  }
  for (int figure = 0; figure < NUM_FIGURES; figure++)
    distance += fabs(logs[figure] - fit->base[figure]);
  return sum / num_used + DISTANCE_PRICE * distance;
}

static int by_size(const void *pa, const void *pb) {
  return compare_doubles(*(const double *)pa, *(const double *)pb);
}

/* The median of how much faster the model is than the machine, as a logarithm. */
static double slowness(const Fit *fit, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  double *errors = arena_array(scratch, double, fit->count);
  uint32_t len = 0;
  for (uint32_t i = 0; i < fit->count; i++) {
    if (fit->measurements[i].group == fit->held_out) continue;
    errors[len++] = -log_error(&fit->measurements[i], fit->profile);
  }
  qsort(errors, len, sizeof *errors, by_size);
  double median = (errors[(len - 1) / 2] + errors[len / 2]) / 2;
  arena_reset(scratch, mark);
  return median;
}

/* Moves one figure by this much, up or down, if that helps. */
static bool improve(const Fit *fit, double logs[NUM_FIGURES], int figure, double by, double *best) {
  static const double LEAST_GAIN = 1e-9;
  double old = logs[figure];
  for (int sign = 1; sign >= -1; sign -= 2) {
    logs[figure] = old + sign * by;
    double tried = price(fit, logs);
    if (tried < *best - LEAST_GAIN) {
      *best = tried;
      return true;
    }
  }
  logs[figure] = old;
  return false;
}

/* Rounds to four digits. Powers of ten that are whole numbers make the result the double that is
 * nearest to the decimal number, which is then written with four digits. */
double figure_rounded(double value) {
  if (!(value > 0) || isinf(value)) return value;
  int digits = 3 - exponent_of_ten(value);
  double unit = power_of_ten(abs(digits));
  return digits > 0 ? round(value * unit) / unit : round(value / unit) * unit;
}

static void round_rates(double rates[NUM_TYPES]) {
  for (int type = 0; type < NUM_TYPES; type++)
    rates[type] = figure_rounded(rates[type]);
}

static void round_figures(DeviceProfile *profile) {
  profile->memory_bandwidth = figure_rounded(profile->memory_bandwidth);
  round_rates(profile->flops);
  round_rates(profile->vector_flops);
  profile->transcendentals = figure_rounded(profile->transcendentals);
  profile->kernel_seconds = figure_rounded(profile->kernel_seconds);
  if (profile->block_bandwidth > 0) {
    profile->block_bandwidth = figure_rounded(profile->block_bandwidth);
  }
  if (profile->product_seconds > 0) {
    profile->product_seconds = figure_rounded(profile->product_seconds);
  }
}

DeviceProfile profile_fit(const Measurement *measurements, uint32_t count, uint32_t held_out,
                          const DeviceProfile *profile, Arena *scratch) {
  DeviceProfile roofline = *profile; /* the rates decide, not what a compiler says */
  roofline.clock = 0;
  roofline.has_units = false;
  Fit fit = {measurements, count, held_out, &roofline, {0}};
  double slower = slowness(&fit, scratch), logs[NUM_FIGURES];
  for (int figure = 0; figure < NUM_FIGURES; figure++)
    logs[figure] = fit.base[figure] = figure == FIGURE_KERNEL ? slower : -slower;
  double best = price(&fit, logs);
  for (double by = steady_log(FIRST_FACTOR); by > steady_log(LAST_FACTOR);) {
    bool is_better = false;
    for (int figure = 0; figure < NUM_FIGURES; figure++)
      is_better |= improve(&fit, logs, figure, by, &best);
    if (!is_better) by /= 2;
  }
  DeviceProfile made = scaled(&roofline, logs);
  round_figures(&made);
  return made;
}
