#include "remat/scan/scan.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/flow/guess_target.h"
#include "remat/scan/describe.h"
#include "remat/scan/slots.h"

/* ---- analysis ---- */

/* By CompId, what the borders that were chosen do with it. */
enum { SCAN_COPIED_FROM = 1 << 0, SCAN_REWRITTEN = 1 << 1 };

/* Adds a flag to a computation and to all that it calls. */
static void flag_nested(const Module *module, CompId comp, uint8_t *flags, uint8_t flag,
                        Arena *scratch) {
  IdVec work = {0};
  *vec_push(scratch, &work) = comp;
  while (work.len) {
    comp = work.data[--work.len];
    if (flags[comp] & flag) continue;
    flags[comp] |= flag;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      const Instruction *inst = inst_get(module, comp_inst(module, comp, i));
      if (!opcode_is_control_flow((Opcode)inst->opcode)) continue;
      for (uint32_t c = 0; c < inst->num_callees; c++)
        *vec_push(scratch, &work) = inst_callees(module, comp_inst(module, comp, i))[c];
    }
  }
}

/* Sets by_comp to what a border does. */
static void flag_border(const ScanModule *scans, const ScanValues *values, uint8_t *flags,
                        Arena *scratch) {
  const Stacks *stacks = &scans->stacks;
  const Module *module = scans->context.module;
  const Loop *writer = &scans->loops.list[values->loop];
  flag_nested(module, writer->body, flags, SCAN_COPIED_FROM, scratch);
  uint32_t first = stacks->first_of[values->loop], end = stacks->first_of[values->loop + 1];
  for (uint32_t i = first; i < end; i++) {
    if (values->of_stack[i - first] == NO_ID) continue;
    for (uint32_t k = 0; k < stacks->list.data[i].reads.len; k++) {
      const StackRead *read = &stacks->reads.data[stacks->list.data[i].reads.data[k]];
      flags[scans->loops.list[read->loop].body] |= SCAN_REWRITTEN;
    }
  }
}

/* Computations are copied from as they were, so none may be rewritten in the same round, nor be in
 * two borders. */
static bool fits_others(const Module *module, const uint8_t *all, const uint8_t *own) {
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (own[comp] & SCAN_COPIED_FROM && all[comp]) return false;
    if (own[comp] & SCAN_REWRITTEN && all[comp] & SCAN_COPIED_FROM) return false;
  }
  return true;
}

static bool is_read(const ScanValues *values) {
  for (uint32_t i = 0; i < values->list.len; i++) {
    if (values->list.data[i].is_read && !values->list.data[i].must_store) return true;
  }
  return false;
}

void scan_analyze(ScanModule *scans, const Module *module, const Legality *legality,
                  const CostTable *costs, const DeviceProfile *device, int64_t default_trip_count,
                  Arena *out, Arena *scratch) {
  *scans = (ScanModule){.graph = call_graph_build(module, out, scratch)};
  scans->loops = loops_find(module, &scans->graph, out, scratch);
  if (scans->loops.len == 0) return;
  scans->stacks = stacks_find(&scans->loops, out, scratch);
  scans->context = (ScanContext){.module = module,
                                 .stacks = &scans->stacks,
                                 .legality = legality,
                                 .costs = costs,
                                 .device = device,
                                 .has_one_slot = slots_are_single(guess_target(module)),
                                 .is_reached = arena_zarray(out, uint8_t, module->insts.len)};
  scans->context.runs = cost_runs(module, costs, device, default_trip_count, out, scratch);
  uint32_t num_comps = module->comps.len;
  uint8_t *all = arena_zarray(out, uint8_t, num_comps),
          *own = arena_zarray(out, uint8_t, num_comps);
  for (uint32_t i = 0; i < scans->loops.len; i++) {
    if (scans->stacks.first_of[i] == scans->stacks.first_of[i + 1]) continue;
    ScanValues values = scan_values_find(&scans->context, i, out, scratch);
    if (!is_read(&values)) continue;
    memset(own, 0, num_comps);
    ArenaMark mark = arena_mark(scratch);
    flag_border(scans, &values, own, scratch);
    arena_reset(scratch, mark);
    if (!fits_others(module, all, own)) continue;
    for (CompId comp = 0; comp < num_comps; comp++)
      all[comp] |= own[comp];
    *vec_push(out, &scans->borders) = values;
  }
}

/* ---- records ---- */

Str scan_value_name(const ScanModule *scans, const ScanValues *values, uint32_t index, Arena *out) {
  const ScanValue *value = &values->list.data[index];
  const Module *module = scans->context.module;
  if (value->holder != NO_ID) return inst_name(module, value->holder);
  Str loop = inst_name(module, scans->loops.list[values->loop].id);
  uint32_t element = scans->stacks.list.data[value->stack].element;
  const char *name = arena_printf(out, "%.*s#%u", (int)loop.len, loop.data, element);
  return str_make(name, strlen(name));
}

ScanStep scan_record(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                     Arena *out, Arena *scratch) {
  Str loop = inst_name(scans->context.module, scans->loops.list[values->loop].id);
  Arena *arena = arena_new(arena_options(scratch));
  ScanStep step = {.loop = plan_ref_to(loop, out)};
  scan_describe(scans, values, choice, &step, out);
  for (uint32_t i = 0; i < values->list.len; i++) {
    PlanRefs *names = choice->fate[i] == SCAN_STORED    ? &step.stored
                      : choice->fate[i] == SCAN_SHIFTED ? &step.shifted
                                                        : NULL;
    if (names)
      *vec_push(out, &names->list) = plan_ref_to(scan_value_name(scans, values, i, arena), out);
  }
  arena_free(arena);
  return step;
}

void scan_copy_steps(const ScanSteps *from, ScanSteps *to, Arena *out) {
  *to = (ScanSteps){0};
  for (uint32_t s = 0; s < from->list.len; s++) {
    const ScanStep *step = &from->list.data[s];
    ScanStep copy = *step;
    copy.loop = plan_ref_to(step->loop.name, out);
    copy.stored = (PlanRefs){0};
    for (uint32_t i = 0; i < step->stored.list.len; i++)
      *vec_push(out, &copy.stored.list) = plan_ref_to(step->stored.list.data[i].name, out);
    copy.shifted = (PlanRefs){0};
    for (uint32_t i = 0; i < step->shifted.list.len; i++)
      *vec_push(out, &copy.shifted.list) = plan_ref_to(step->shifted.list.data[i].name, out);
    copy.readers = (PlanRefs){0};
    for (uint32_t i = 0; i < step->readers.list.len; i++)
      *vec_push(out, &copy.readers.list) = plan_ref_to(step->readers.list.data[i].name, out);
    copy.source_file = plan_ref_to(step->source_file, out).name;
    *vec_push(out, &to->list) = copy;
  }
}

/* Marks the values of these names. False, with the name in `*unknown`, if one is not there. */
static bool mark_named(const ScanModule *scans, const ScanValues *values, const PlanRefs *names,
                       bool *is_named, PlanRef *unknown, Arena *scratch) {
  bool is_known = true;
  for (uint32_t s = 0; s < names->list.len && is_known; s++) {
    is_known = false;
    for (uint32_t i = 0; i < values->list.len; i++) {
      const ScanValue *value = &values->list.data[i];
      if (!value->may_store && !value->must_store) continue;
      Str name = scan_value_name(scans, values, i, scratch);
      if (!str_equal(name, names->list.data[s].name)) continue;
      is_named[i] = is_known = true;
    }
    if (!is_known) *unknown = names->list.data[s];
  }
  return is_known;
}

bool scan_repeat(const ScanModule *scans, const ScanValues *values, const ScanStep *step,
                 ScanChoice *choice, PlanRef *unknown, Arena *out, Arena *scratch) {
  uint32_t num_values = values->list.len;
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_kept = arena_zarray(arena, bool, num_values);
  bool *is_shifted = arena_zarray(arena, bool, num_values);
  *unknown = (PlanRef){.offset = step->loop.offset};
  bool is_known = mark_named(scans, values, &step->stored, is_kept, unknown, arena) &&
                  mark_named(scans, values, &step->shifted, is_shifted, unknown, arena);
  for (uint32_t i = 0; i < num_values; i++)
    is_known &= !is_shifted[i] || values->list.data[i].neighbour != NO_ID;
  if (is_known) {
    *choice = scan_choose_known(values, INFINITY, is_kept, is_shifted, out, scratch);
    for (uint32_t i = 0; i < num_values; i++) {
      bool is_given = is_kept[i] || values->list.data[i].must_store;
      is_known &= choice->fate[i] != SCAN_STORED || is_given;
    }
  }
  arena_free(arena);
  return is_known;
}

bool scan_changes(const ScanValues *values, const ScanChoice *choice) {
  const Stacks *stacks = values->stacks;
  uint32_t first = stacks->first_of[values->loop], end = stacks->first_of[values->loop + 1];
  for (uint32_t i = first; i < end; i++) {
    uint32_t value = values->of_stack[i - first];
    if (value == NO_ID || stacks->list.data[i].is_read_whole) continue;
    if (choice->fate[value] != SCAN_STORED || values->list.data[value].stack != i) return true;
  }
  return false;
}

/* ---- prices ---- */

typedef struct Point {
  double price;
  double bytes, seconds;
} Point;

static Point choose_at(const ScanModule *scans, double price, Arena *scratch) {
  Point point = {.price = price};
  Arena *arena = arena_new(arena_options(scratch));
  for (uint32_t i = 0; i < scans->borders.len; i++) {
    ScanChoice choice = scan_choose(&scans->borders.data[i], price, NULL, arena, arena);
    point.bytes += (double)choice.bytes;
    point.seconds += choice.seconds;
  }
  arena_free(arena);
  return point;
}

static int by_price(const void *pa, const void *pb) {
  const double *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

/* Between two choices, the price at which both cost the same either gives a third one, or is where
 * one follows the other (Eisner and Severance, 1976). */
ScanPrices scan_prices(const ScanModule *scans, uint32_t max, Arena *out, Arena *scratch) {
  typedef struct Range {
    Point low, high;
  } Range;
  ScanPrices prices = {0};
  VEC(Range) ranges = {0};
  *vec_push(out, &prices) = 0;
  *vec_push(out, &prices) = INFINITY;
  *vec_push(out, &ranges) =
      (Range){choose_at(scans, 0, scratch), choose_at(scans, INFINITY, scratch)};
  while (ranges.len && prices.len < max) {
    Range range = ranges.data[--ranges.len];
    double bytes = range.low.bytes - range.high.bytes;
    if (bytes <= 0) continue;
    double price = (range.high.seconds - range.low.seconds) / bytes;
    Point point = choose_at(scans, price, scratch);
    bool is_new = point.bytes < range.low.bytes && point.bytes > range.high.bytes;
    if (!is_new) continue;
    *vec_push(out, &prices) = price;
    *vec_push(out, &ranges) = (Range){range.low, point};
    *vec_push(out, &ranges) = (Range){point, range.high};
  }
  qsort(prices.data, prices.len, sizeof *prices.data, by_price);
  return prices;
}
