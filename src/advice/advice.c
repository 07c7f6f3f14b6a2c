#include "advice/advice.h"

#include <stdlib.h>

#include "advice/open_calls.h"
#include "advice/order_anew.h"
#include "advice/summary.h"

#include "emit/human.h"

static void (*const functions[])(Advisor *advisor) = {
#define KIND(id, name, needs, summary) advise_##id,
#include "advice/kinds.def"
};

enum { DEFAULT_STEPS = 4 };

static rh_status run_kinds(Advisor *advisor) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions && advisor->status == RH_OK; i++)
    functions[i](advisor);
  return advisor->status;
}

/* ---- ranks ---- */

static int rank_of(const char *confidence) {
  return confidence[0] == 'h' ? 0 : confidence[0] == 'm' ? 1 : 2;
}

/* The bytes that remain, dearer by twice what the change adds to the time: a tenth more of time is
 * worth a fifth of the memory. A figure that is not sure may be wrong by a tenth. */
static double price_of(const rh_remedy *remedy) {
  double added = remedy->added_fraction > 0 ? remedy->added_fraction : 0;
  double doubt = rank_of(remedy->confidence) == 0 ? 1 : 1.1;
  return (double)remedy->counted_bytes * (1 + 2 * added) * doubt;
}

/* Of two remedies that meet the limit, the one that costs less time is better; of two others the
 * one that goes lower. A figure that is uncertain comes behind one that is not. */
static int by_worth(const void *pa, const void *pb) {
  const rh_remedy *a = &((const Remedy *)pa)->shown, *b = &((const Remedy *)pb)->shown;
  int rank_a = rank_of(a->confidence), rank_b = rank_of(b->confidence);
  bool is_vague_a = rank_a == 2, is_vague_b = rank_b == 2;
  if (is_vague_a != is_vague_b) return is_vague_a ? 1 : -1;
  if (a->is_met != b->is_met) return a->is_met ? -1 : 1;
  if (a->is_met && a->added_seconds != b->added_seconds)
    return a->added_seconds < b->added_seconds ? -1 : 1;
  double price_a = price_of(a), price_b = price_of(b);
  if (!a->is_met && price_a != price_b) return price_a < price_b ? -1 : 1;
  if (a->counted_bytes != b->counted_bytes) return a->counted_bytes < b->counted_bytes ? -1 : 1;
  if (rank_a != rank_b) return rank_a - rank_b;
  if (a->added_seconds != b->added_seconds) return a->added_seconds < b->added_seconds ? -1 : 1;
  int order = strcmp(a->kind, b->kind);
  if (order != 0) return order;
  return (a->source_line > b->source_line) - (a->source_line < b->source_line);
}

static void rank(Advisor *advisor) {
  if (advisor->remedies.len)
    qsort(advisor->remedies.data, advisor->remedies.len, sizeof *advisor->remedies.data, by_worth);
}

/* ---- the plan ---- */

/* The module that a step leads to. */
typedef struct Next {
  rh_module *module; /* owned; NULL = there is none */
  bool is_sketch;
} Next;

typedef struct PlanSteps {
  VEC(rh_remedy) list;
} PlanSteps;

/* The figures of a step are relative to the module at the beginning. The time is a sum: the
 * modelled time of a module with smaller arrays says nothing. */
static rh_remedy total_of(const rh_remedy *step, const Measured *first, const PlanSteps *steps) {
  rh_remedy total = *step;
  uint32_t len = steps->list.len;
  total.saved_bytes = first->counted_bytes - step->counted_bytes;
  if (len) total.added_seconds += steps->list.data[len - 1].added_seconds;
  total.added_fraction = first->seconds > 0 ? total.added_seconds / first->seconds : 0;
  return total;
}

/* A text that is absent has no data, which memcmp must not be given. */
static bool is_text(rh_text a, rh_text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* A scan has one checkpoint, or is nested. */
static bool is_kind(const char *a, const char *b) {
  return strcmp(a, b) == 0 || (strstr(a, "-scan") && strstr(b, "-scan"));
}

/* Whether a step of the plan is of the same kind, at the same place. A loop without a place is one
 * that a step before has made: its inner loop is not nested again. */
static bool is_done(const PlanSteps *steps, const rh_remedy *remedy) {
  for (uint32_t i = 0; i < steps->list.len; i++) {
    const rh_remedy *step = &steps->list.data[i];
    bool is_made = strstr(remedy->kind, "-scan") && remedy->source_line == 0;
    if (is_made && is_kind(step->kind, remedy->kind)) return true;
    if (is_kind(step->kind, remedy->kind) && step->source_line == remedy->source_line &&
        is_text(step->source_file, remedy->source_file) &&
        is_text(step->argument, remedy->argument) && is_text(step->scope, remedy->scope))
      return true;
  }
  return false;
}

enum { LEAST_SHARE = 50 }; /* of the module at the beginning: what a step gains without a limit */

static bool is_worth(const Advisor *advisor, const rh_remedy *remedy, const Measured *first) {
  return advisor->before.counted_bytes - remedy->counted_bytes >=
         first->counted_bytes / LEAST_SHARE;
}

/* Takes the best remedy that is new, and the module that it leads to. What is
 * uncertain is a last resort, for a limit that is not met otherwise, and so is what gains little of
 * the whole. Returns false if there is none. */
static bool take_best(Advisor *advisor, const Measured *first, PlanSteps *steps, Next *next) {
  bool has_limit = advisor->request->limit_bytes != INT64_MAX;
  for (uint32_t i = 0; i < advisor->remedies.len; i++) {
    Remedy *remedy = &advisor->remedies.data[i];
    bool is_vague = rank_of(remedy->shown.confidence) == 2;
    if (is_done(steps, &remedy->shown)) continue;
    if (!has_limit && (is_vague || !is_worth(advisor, &remedy->shown, first))) continue;
    rh_remedy total = total_of(&remedy->shown, first, steps);
    *vec_push(advisor->out, &steps->list) = total;
    *next = (Next){remedy->after, remedy->is_sketch};
    remedy->after = NULL;
    return true;
  }
  return false;
}

static bool is_enough(const AdviceRequest *request, const PlanSteps *steps) {
  uint32_t len = steps->list.len;
  uint32_t max_steps = request->max_steps ? request->max_steps : DEFAULT_STEPS;
  return len >= max_steps || (len && steps->list.data[len - 1].is_met);
}

/* Goes on from the module that the first step led to, which is freed. */
static rh_status extend_plan(const AdviceRequest *request, const Measured *first, Next from,
                             PlanSteps *steps, Arena *out, rh_diags *diags) {
  rh_status status = RH_OK;
  while (from.module && !is_enough(request, steps) && status == RH_OK) {
    Advisor advisor;
    advisor_open(&advisor, request, from.module, from.is_sketch, out, diags);
    advisor.is_later = true;
    status = run_kinds(&advisor);
    rank(&advisor);
    Next next = {0};
    if (status == RH_OK) (void)take_best(&advisor, first, steps, &next);
    advisor_free(&advisor);
    rh_module_free(from.module);
    from = next;
  }
  rh_module_free(from.module);
  return status;
}

/* ---- the result ---- */

static const rh_remedy **pointers(const rh_remedy *list, size_t count, Arena *out) {
  const rh_remedy **result = arena_array(out, const rh_remedy *, count);
  for (size_t i = 0; i < count; i++)
    result[i] = &list[i];
  return result;
}

static void show_remedies(const Advisor *advisor, rh_advice *advice) {
  uint32_t count = advisor->remedies.len;
  rh_remedy *list = arena_array(advisor->out, rh_remedy, count);
  for (uint32_t i = 0; i < count; i++)
    list[i] = advisor->remedies.data[i].shown;
  advice->remedies = pointers(list, count, advisor->out);
  advice->num_remedies = count;
}

static void show_module(const Advisor *advisor, rh_advice *advice) {
  const Measured *before = &advisor->before;
  rh_memory *memory = arena_alloc(advisor->out, sizeof *memory);
  *memory = before->memory;
  advice->module = text_of_str(human_utf8(advisor->module->source->header.name, advisor->out));
  advice->framework = framework_name(advisor->framework);
  advice->target = advisor->module->backend.target->name;
  advice->memory = memory;
  advice->limit_bytes = advisor->request->limit_bytes;
  advice->limit_counts = advisor->request->limit_counts;
  advice->counted_bytes = before->counted_bytes;
  advice->peak_instruction = before->peak_instruction;
  advice->peak_op_name = before->peak_op_name;
  advice->peak_source_file = before->peak_source_file;
  advice->peak_source_line = before->peak_source_line;
}

static rh_status advise(const AdviceRequest *asked, const rh_module *input, rh_advice *advice,
                        Arena *out, rh_diags *diags) {
  AdviceRequest own = *asked, *request = &own;
  Advisor advisor;
  *advice = (rh_advice){0};
  advisor_open(&advisor, request, input, false, out, diags);
  order_find_scheduler(&own, advisor.before.memory.temp_bytes, advisor.scratch);
  const Measured first = advisor.before;
  bool is_within = first.counted_bytes <= request->limit_bytes && request->limit_bytes != INT64_MAX;
  PlanSteps steps = {0};
  Next next = {0};
  rh_status status = run_kinds(&advisor);
  rank(&advisor);
  show_module(&advisor, advice);
  show_remedies(&advisor, advice);
  if (status == RH_OK && !is_within) (void)take_best(&advisor, &first, &steps, &next);
  advisor_free(&advisor);
  if (status == RH_OK) {
    status = extend_plan(request, &first, next, &steps, out, diags);
  } else {
    rh_module_free(next.module);
  }
  advice->plan = pointers(steps.list.data, steps.list.len, out);
  advice->num_plan = steps.list.len;
  bool is_last_met = steps.list.len && steps.list.data[steps.list.len - 1].is_met;
  advice->is_met = request->limit_bytes == INT64_MAX || is_within || is_last_met;
  advice->summary = advice_summary(advice, out);
  return status;
}

rh_status advice_make(const AdviceRequest *request, rh_advice *advice, Arena *out,
                      rh_diags *diags) {
  rh_module *opened = advice_open_calls(request->module);
  rh_status status = advise(request, opened ? opened : request->module, advice, out, diags);
  rh_module_free(opened);
  return status;
}
