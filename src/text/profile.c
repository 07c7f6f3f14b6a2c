#include "text/profile.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

Str profile_module_name(Str text) {
  const char *open = text.len ? memchr(text.data, '(', text.len) : NULL;
  return open ? (Str){text.data, (uint32_t)(open - text.data)} : text;
}

Str profile_inst_name(Str text) {
  uint32_t begin = text.len > 0 && text.data[0] == '%', end = begin;
  while (end < text.len && text.data[end] != ' ')
    end++;
  return (Str){text.data + begin, end - begin};
}

bool profile_is_allocation(Str name) {
  return str_is(name, "MemoryAllocation") || str_is(name, "MemoryDeallocation");
}

rh_status profile_read(const char *data, size_t length, ProfileEvents *events, rh_diags *diags,
                       Arena *out, Arena *scratch) {
  *events = (ProfileEvents){0};
  bool is_json = length > 0 && data[0] == '{';
  bool is_read = is_json ? trace_json_read(data, length, events, out, scratch)
                         : xplane_read(data, length, events, scratch);
  if (!is_read) {
    return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE,
                     "this is neither an XSpace (xplane.pb) nor a trace (trace.json)");
  }
  if (events->events.len > 0) return RH_OK;
  return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE,
                   "no event of the profile names an instruction");
}

/* ---- modules of events that do not name theirs ---- */

static int by_begin_of_run(const void *pa, const void *pb) {
  const ProfileRun *a = pa, *b = pb;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Events of a TPU's line are of the module that runs when they begin. */
static void find_modules(ProfileEvents *all) {
  if (all->runs.len == 0) return;
  qsort(all->runs.data, all->runs.len, sizeof *all->runs.data, by_begin_of_run);
  for (uint32_t i = 0; i < all->events.len; i++) {
    ProfileEvent *event = &all->events.data[i];
    if (event->module.len && event->run) continue;
    uint32_t low = 0, high = all->runs.len;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (all->runs.data[middle].begin <= event->begin) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0 || all->runs.data[low - 1].end < event->begin) continue;
    if (event->module.len == 0) event->module = all->runs.data[low - 1].module;
    if (event->run == 0) event->run = low;
  }
}

/* ---- events that contain others ---- */

static int by_line_then_begin(const void *pa, const void *pb) {
  const ProfileEvent *a = pa, *b = pb;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->seconds < b->seconds) - (a->seconds > b->seconds);
}

/* Drops loops, calls and the like, whose parts are events of their own on the same line. */
static void drop_containers(ProfileEvents *all) {
  static const double ROUNDING = 1e-9;
  uint32_t len = 0;
  if (all->events.len) {
    qsort(all->events.data, all->events.len, sizeof *all->events.data, by_line_then_begin);
  }
  for (uint32_t i = 0; i < all->events.len; i++) {
    ProfileEvent event = all->events.data[i];
    const ProfileEvent *next = i + 1 < all->events.len ? &all->events.data[i + 1] : NULL;
    double end = event.begin + event.seconds;
    bool contains = next && next->line == event.line && next->seconds > 0 &&
                    next->begin + next->seconds <= end + ROUNDING;
    if (!contains) all->events.data[len++] = event;
  }
  all->events.len = len;
}

/* ---- sums ---- */

static int by_names_then_run(const void *pa, const void *pb) {
  const ProfileEvent *a = pa, *b = pb;
  int order = str_compare(a->module, b->module);
  if (order == 0) order = str_compare(a->inst, b->inst);
  return order;
}

static int by_run_then_begin(const void *pa, const void *pb) {
  const ProfileEvent *a = pa, *b = pb;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

static Str copied(Str text, Arena *out) {
  return (Str){arena_strndup(out, text.data, text.len), text.len};
}

/* Fills the instructions of a module, whose events are sorted by instruction. */
static void sum_insts(const ProfileEvent *events, uint32_t count, TimedModule *module, Arena *out) {
  TimedInst *insts = arena_array(out, TimedInst, count);
  uint32_t len = 0;
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    double sum = 0;
    for (end = begin; end < count && str_equal(events[end].inst, events[begin].inst); end++)
      sum += events[end].seconds;
    insts[len++] = (TimedInst){copied(events[begin].inst, out), sum / (end - begin), end - begin};
  }
  module->insts = insts;
  module->num_insts = len;
}

/* Fills what a module's runs have in the mean. Sorts the events anew. */
static void sum_runs(ProfileEvent *events, uint32_t count, TimedModule *module) {
  qsort(events, count, sizeof *events, by_run_then_begin);
  double all = 0, busy = 0, steps = 0;
  uint64_t num_runs = 0;
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    double until = events[begin].begin;
    for (end = begin; end < count && events[end].run == events[begin].run; end++) {
      double from = events[end].begin, to = from + events[end].seconds;
      all += events[end].seconds;
      if (to > until) busy += to - (from > until ? from : until);
      if (to > until) until = to;
    }
    steps += until - events[begin].begin;
    num_runs++;
  }
  module->num_steps = num_runs;
  module->step_seconds = steps / (double)num_runs;
  module->busy_seconds = busy / (double)num_runs;
  module->overlap_seconds = (all - busy) / (double)num_runs;
}

static int by_time(const void *pa, const void *pb) {
  const TimedModule *a = pa, *b = pb;
  double time_a = a->busy_seconds * (double)a->num_steps;
  double time_b = b->busy_seconds * (double)b->num_steps;
  if (time_a != time_b) return time_a > time_b ? -1 : 1;
  return str_compare(a->name, b->name);
}

/* ---- allocators ---- */

static int by_allocator(const void *pa, const void *pb) {
  const ProfileAllocation *a = pa, *b = pb;
  return str_compare(a->allocator, b->allocator);
}

static void sum_allocations(ProfileEvents *all, Times *times, Arena *out, Arena *scratch) {
  VEC(TimedAllocator) found = {0};
  ProfileAllocation *list = all->allocations.data;
  uint32_t count = all->allocations.len;
  if (count) qsort(list, count, sizeof *list, by_allocator);
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    TimedAllocator made = {.name = copied(list[begin].allocator, out),
                           .least_bytes = list[begin].bytes,
                           .most_bytes = list[begin].bytes};
    for (end = begin; end < count && str_equal(list[end].allocator, list[begin].allocator); end++) {
      if (list[end].bytes < made.least_bytes) made.least_bytes = list[end].bytes;
      if (list[end].bytes > made.most_bytes) made.most_bytes = list[end].bytes;
    }
    made.num_events = end - begin;
    *vec_push(scratch, &found) = made;
  }
  TimedAllocator *copy = arena_array(out, TimedAllocator, found.len);
  if (found.len) memcpy(copy, found.data, found.len * sizeof *copy);
  times->allocators = copy;
  times->num_allocators = found.len;
}

Times profile_times(ProfileEvents *all, Arena *out, Arena *scratch) {
  VEC(TimedModule) modules = {0};
  find_modules(all);
  drop_containers(all);
  uint32_t count = all->events.len;
  ProfileEvent *events = all->events.data;
  if (count) qsort(events, count, sizeof *events, by_names_then_run);
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    for (end = begin; end < count && str_equal(events[end].module, events[begin].module);)
      end++;
    TimedModule module = {.name = copied(events[begin].module, out)};
    sum_insts(events + begin, end - begin, &module, out);
    sum_runs(events + begin, end - begin, &module);
    *vec_push(scratch, &modules) = module;
  }
  if (modules.len) qsort(modules.data, modules.len, sizeof *modules.data, by_time);
  TimedModule *list = arena_array(out, TimedModule, modules.len);
  if (modules.len) memcpy(list, modules.data, modules.len * sizeof *list);
  Times times = {.modules = list, .num_modules = modules.len};
  sum_allocations(all, &times, out, scratch);
  return times;
}
