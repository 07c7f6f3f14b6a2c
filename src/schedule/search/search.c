#include "schedule/search/search.h"

#include "analysis/memory/memory_model.h"
#include "remat/legality/safe_order.h"
#include "remat/legality/safe_reads.h"
#include "remat/search/order.h"

enum {
  MAX_STARTS = 4,
  EFFORT = 2,
  LARGE = 10000, /* instructions beyond which there are no more steps: a scheduler is to be fast */
};

/* An order to begin with. */
typedef struct Start {
  Schedule schedule;
  int64_t bytes;
} Start;

typedef struct Searching {
  Module *module;
  const Schedule *own;
  Start starts[MAX_STARTS]; /* the least memory first */
  uint32_t num_starts;
  Start best;
  Arena *arena, *scratch;
} Searching;

bool scheduler_searches(const Scheduler *scheduler) {
  return strcmp(scheduler->name, "search") == 0;
}

static int64_t measure(const Searching *searching, const Schedule *schedule) {
  Arena *arena = arena_new(arena_options(searching->scratch));
  const MemoryModel *model = memory_model_find("heap");
  MemoryProfile profile =
      model->measure(searching->module, schedule, NULL, arena, searching->scratch);
  rh_memory memory = memory_of_profile(&profile);
  arena_free(arena);
  return memory.peak_bytes;
}

/* Of equal ones the first that is added stays first. */
static void add_start(Searching *searching, const Schedule *schedule) {
  Start start = {*schedule, measure(searching, schedule)};
  uint32_t place = searching->num_starts++;
  for (; place > 0 && start.bytes < searching->starts[place - 1].bytes; place--)
    searching->starts[place] = searching->starts[place - 1];
  searching->starts[place] = start;
}

/* Whether an order is right: nothing reads memory that has been overwritten, except what does so in
 * the module's own order. */
static bool is_safe(const Searching *searching, const Schedule *schedule) {
  InstId bad;
  if (!schedule_is_valid(searching->module, schedule, &bad, searching->scratch)) return false;
  if (!searching->own) return true;
  OrderedModule before = {searching->module, searching->own, false};
  OrderedModule after = {searching->module, schedule, false};
  return safe_reads_verify(&before, &after, NULL, searching->scratch) == RH_OK;
}

void schedule_by_search(Module *module, const Schedule *own, const Schedule *kept,
                        Schedule *schedule, Arena *out, Arena *scratch) {
  static const char *const names[] = {"list", "dfs", "postorder"};
  Arena *arena = arena_new(arena_options(scratch));
  Searching searching = {.module = module, .own = own, .arena = arena, .scratch = scratch};
  if (kept) add_start(&searching, kept); /* comes first: nothing moves without a gain */
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Schedule start;
    schedule_safely(scheduler_find(names[i]), module, own, &start, arena, scratch);
    add_start(&searching, &start);
  }
  searching.best = searching.starts[0];
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.effort = EFFORT;
  RematParameters parameters = parameters_default();
  Patience patience;
  patience_begin(&patience, &options, 0);
  uint32_t num_insts = module->insts.len < LARGE ? module->insts.len : LARGE;
  patience.num_steps = patience_steps_by_size(EFFORT, num_insts, &parameters);
  for (uint32_t i = 0; i < searching.num_starts && !patience_is_over(&patience); i++) {
    bool is_new;
    Schedule found =
        search_order(module, &searching.starts[i].schedule, &patience, &is_new, arena, scratch);
    if (!is_new) continue;
    int64_t bytes = measure(&searching, &found);
    if (bytes < searching.best.bytes && is_safe(&searching, &found))
      searching.best = (Start){found, bytes};
  }
  *schedule = schedule_copy(&searching.best.schedule, module, out);
  arena_free(arena);
}
