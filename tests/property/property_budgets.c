/* What the search comes to under several budgets of one module: a budget that is missed does not
 * end above what a looser one comes to, and as low as possible does not end above any. */
#include <inttypes.h>
#include <stdlib.h>

#include "property.h"

typedef struct Reached {
  int percent; /* of the module's own peak; 0 = as low as possible */
  bool is_met;
  int64_t bytes;
} Reached;

static const int percents[] = {0, 30, 40, 50, 60, 70, 80, 90};
enum { NUM_BUDGETS = sizeof percents / sizeof *percents };

static Reached search_for(const rh_module *module, const Sample *sample, int64_t before_bytes,
                          int percent, int effort) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = "search";
  options.effort = effort;
  options.small_node_bytes = 0;
  options.limit_bytes = before_bytes / 100 * percent + before_bytes % 100 * percent / 100;
  rh_module *result = NULL;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_status status = rh_remat(module, &sample->settings, &options, &result, &info, NULL);
  ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%d %%: status %d\n%s", percent,
                (int)status, sample_shown(sample));
  rh_module_free(result);
  return (Reached){percent, info.is_met, info.counted_bytes};
}

static int64_t own_bytes(const rh_module *module, const Sample *sample) {
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(module, &sample->settings, "heap", &memory, NULL), RH_OK);
  return rh_counted_bytes(&memory, RH_COUNT_TOTAL);
}

/* Budgets that ask for more than there is to gain from go to the lowest result, and that is the
 * same for all of them. */
static void check_budgets(const rh_module *module, const Sample *sample, int effort) {
  int64_t before_bytes = own_bytes(module, sample);
  Reached reached[NUM_BUDGETS];
  for (int i = 0; i < NUM_BUDGETS; i++)
    reached[i] = search_for(module, sample, before_bytes, percents[i], effort);
  for (int i = 0; i < NUM_BUDGETS; i++) {
    for (int k = i + 1; k < NUM_BUDGETS && !reached[i].is_met; k++) {
      ck_assert_msg(reached[i].bytes <= reached[k].bytes,
                    "%d %% of %" PRId64 " is missed with %" PRId64 ", and %d %% gives %" PRId64
                    " (effort %d)\n%s",
                    reached[i].percent, before_bytes, reached[i].bytes, reached[k].percent,
                    reached[k].bytes, effort, sample_shown(sample));
    }
  }
}

START_TEST(missed_budgets_end_below_looser_ones) {
  uint64_t seed = (uint64_t)_i;
  Sample sample = sample_make(seed, 120, GENERATE_ALL);
  rh_module *module = schedule_sample(&sample, "default");
  check_budgets(module, &sample, seed % 2 ? 1 : RH_EFFORT_BY_SIZE);
  rh_module_free(module);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("budgets", missed_budgets_end_below_looser_ones, 40);
}
