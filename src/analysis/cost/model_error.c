#include "analysis/cost/model_error.h"

#include <math.h>
#include <stdlib.h>

#include "ir/arena.h"

typedef struct Ranked {
  double value;
  uint32_t index;
} Ranked;

static int by_value(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static Ranked *sorted(const double *values, uint32_t count, Arena *out) {
  Ranked *list = arena_array(out, Ranked, count);
  for (uint32_t i = 0; i < count; i++)
    list[i] = (Ranked){values[i], i};
  qsort(list, count, sizeof *list, by_value);
  return list;
}

/* Ranks from 1. */
static double *ranks_of(const double *values, uint32_t count, Arena *out) {
  const Ranked *list = sorted(values, count, out);
  double *ranks = arena_array(out, double, count);
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    for (end = begin; end < count && list[end].value == list[begin].value;)
      end++;
    for (uint32_t i = begin; i < end; i++)
      ranks[list[i].index] = (begin + 1.0 + end) / 2;
  }
  return ranks;
}

static double rank_correlation(const double *a, const double *b, uint32_t count, Arena *scratch) {
  const double *of_a = ranks_of(a, count, scratch), *of_b = ranks_of(b, count, scratch);
  double mean = (count + 1.0) / 2, both = 0, only_a = 0, only_b = 0;
  for (uint32_t i = 0; i < count; i++) {
    both += (of_a[i] - mean) * (of_b[i] - mean);
    only_a += (of_a[i] - mean) * (of_a[i] - mean);
    only_b += (of_b[i] - mean) * (of_b[i] - mean);
  }
  return only_a > 0 && only_b > 0 ? both / sqrt(only_a * only_b) : NAN;
}

static double sum_of(const double *values, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++)
    sum += values[i];
  return sum;
}

ModelError model_error(const double *modelled, const double *measured, uint32_t count,
                       Arena *scratch) {
  if (count == 0) return (ModelError){NAN, NAN, NAN, NAN};
  Arena *inner = arena_new(arena_options(scratch));
  double *errors = arena_array(inner, double, count);
  for (uint32_t i = 0; i < count; i++)
    errors[i] = fabs(modelled[i] / measured[i] - 1);
  const Ranked *list = sorted(errors, count, inner);
  ModelError error = {.rank_correlation = rank_correlation(modelled, measured, count, inner),
                      .median_error = (list[(count - 1) / 2].value + list[count / 2].value) / 2,
                      .worst_error = list[count - 1].value,
                      .sum_ratio = sum_of(modelled, count) / sum_of(measured, count)};
  arena_free(inner);
  return error;
}
