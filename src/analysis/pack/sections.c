#include "analysis/pack/sections.h"

#include <stdlib.h>

/* Numbers the ticks in order: all from the first to the last if most of them are used, as in a
 * simulation; else only the used ones, by a sorted list. */
typedef struct Clock {
  int64_t first;
  const int64_t *used; /* NULL = all are numbered */
  size_t num_ticks;
} Clock;

static int by_tick(const void *pa, const void *pb) {
  int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  return (a > b) - (a < b);
}

static void list_ticks(const PackProblem *problem, Clock *clock, Arena *out) {
  size_t num_ticks = 2 * (size_t)problem->num_ranges;
  int64_t *ticks = arena_array(out, int64_t, num_ticks);
  for (uint32_t i = 0; i < problem->num_ranges; i++) {
    ticks[2 * (size_t)i] = problem->ranges[i].begin;
    ticks[2 * (size_t)i + 1] = problem->ranges[i].end;
  }
  qsort(ticks, num_ticks, sizeof *ticks, by_tick);
  clock->num_ticks = 0;
  for (size_t i = 0; i < num_ticks; i++)
    if (i == 0 || ticks[i] != ticks[i - 1]) ticks[clock->num_ticks++] = ticks[i];
  clock->used = ticks;
}

/* The problem must have ranges. */
static Clock clock_build(const PackProblem *problem, Arena *out) {
  int64_t first = problem->ranges[0].begin, last = first;
  for (uint32_t i = 0; i < problem->num_ranges; i++) {
    if (problem->ranges[i].begin < first) first = problem->ranges[i].begin;
    if (problem->ranges[i].end > last) last = problem->ranges[i].end;
  }
  uint64_t length = (uint64_t)last - (uint64_t)first;
  Clock clock = {.first = first, .num_ticks = (size_t)length + 1};
  if (length / 4 > problem->num_ranges) list_ticks(problem, &clock, out);
  return clock;
}

static size_t tick_number(const Clock *clock, int64_t tick) {
  if (!clock->used) return (size_t)(tick - clock->first);
  const int64_t *found =
      bsearch(&tick, clock->used, clock->num_ticks, sizeof *clock->used, by_tick);
  return (size_t)(found - clock->used);
}

/* For each tick the section that it is in, or the first section of a buffer that begins there.
 * Ranges are half-open: at one tick, buffers end before others begin. */
static const uint32_t *number_sections(const PackProblem *problem, const Clock *clock, Arena *out) {
  enum { BEGINS = 1, ENDS = 2 };
  uint32_t *section_at = arena_zarray(out, uint32_t, clock->num_ticks);
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    for (uint32_t k = 0; k < buffer->num_ranges && buffer->bytes; k++) {
      PackRange range = problem->ranges[buffer->first_range + k];
      section_at[tick_number(clock, range.begin)] |= BEGINS;
      section_at[tick_number(clock, range.end)] |= ENDS;
    }
  }
  uint32_t section = 0;
  bool has_ended = false;
  for (size_t tick = 0; tick < clock->num_ticks; tick++) {
    has_ended |= (section_at[tick] & ENDS) != 0;
    if (section_at[tick] & BEGINS && has_ended) {
      section++;
      has_ended = false;
    }
    section_at[tick] = section;
  }
  return section_at;
}

static int by_begin(const void *pa, const void *pb) {
  const PackSpan *a = pa, *b = pb;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->end > b->end) - (a->end < b->end);
}

/* Sorts the spans of one buffer and joins those that touch. Returns how many are left. */
static uint32_t join_spans(PackSpan *spans, uint32_t count) {
  qsort(spans, count, sizeof *spans, by_begin);
  uint32_t num_joined = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (num_joined && spans[i].begin <= spans[num_joined - 1].end) {
      PackSpan *last = &spans[num_joined - 1];
      if (spans[i].end > last->end) last->end = spans[i].end;
    } else {
      spans[num_joined++] = spans[i];
    }
  }
  return num_joined;
}

static int64_t common_granule(const PackProblem *problem) {
  int64_t granule = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    granule = common_divisor(problem->buffers[i].alignment, granule);
  return granule ? granule : 1;
}

/* By section, one entry more: the bytes that live there, each buffer rounded up. */
static int64_t *sum_live(const PackSections *sections, int64_t granule, Arena *out) {
  int64_t *change = arena_zarray(out, int64_t, (size_t)sections->num_sections + 1);
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    int64_t bytes = align_up(sections->problem->buffers[i].bytes, granule);
    for (uint32_t k = sections->first_span[i]; k < sections->first_span[i + 1]; k++) {
      change[sections->spans[k].begin] += bytes;
      change[sections->spans[k].end] -= bytes;
    }
  }
  for (uint32_t s = 1; s < sections->num_sections; s++)
    change[s] += change[s - 1];
  return change;
}

/* Fills the spans of each buffer, and their number. */
static void list_spans(PackSections *sections, Arena *scratch) {
  const PackProblem *problem = sections->problem;
  Clock clock = {0};
  const uint32_t *section_at = NULL;
  if (problem->num_ranges) {
    clock = clock_build(problem, scratch);
    section_at = number_sections(problem, &clock, scratch);
  }
  uint32_t num_spans = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    sections->first_span[i] = num_spans;
    if (buffer->bytes == 0) continue;
    PackSpan *spans = &sections->spans[num_spans];
    for (uint32_t k = 0; k < buffer->num_ranges; k++) {
      PackRange range = problem->ranges[buffer->first_range + k];
      spans[k] = (PackSpan){section_at[tick_number(&clock, range.begin)],
                            section_at[tick_number(&clock, range.end) - 1] + 1};
      if (spans[k].end > sections->num_sections) sections->num_sections = spans[k].end;
    }
    num_spans += buffer->num_ranges > 1 ? join_spans(spans, buffer->num_ranges) : 1;
  }
  sections->first_span[problem->num_buffers] = num_spans;
}

PackSections pack_sections_build(const PackProblem *problem, Arena *out, Arena *scratch) {
  PackSections sections = {.problem = problem};
  sections.spans = arena_array(out, PackSpan, problem->num_ranges);
  sections.first_span = arena_array(out, uint32_t, (size_t)problem->num_buffers + 1);
  ArenaMark mark = arena_mark(scratch);
  list_spans(&sections, scratch);
  arena_reset(scratch, mark);
  sections.granule = common_granule(problem);
  sections.live_bytes = sum_live(&sections, 1, out);
  sections.taken_bytes =
      sections.granule > 1 ? sum_live(&sections, sections.granule, out) : sections.live_bytes;
  return sections;
}

/* ---- bounds ---- */

/* The largest number of bytes that rounding adds to one of the buffers that live in a section. */
static int64_t largest_padding(const PackSections *sections, uint32_t section) {
  int64_t largest = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    int64_t bytes = sections->problem->buffers[i].bytes;
    int64_t padding = align_up(bytes, sections->granule) - bytes;
    for (uint32_t k = sections->first_span[i]; k < sections->first_span[i + 1]; k++) {
      PackSpan span = sections->spans[k];
      if (span.begin <= section && section < span.end && padding > largest) largest = padding;
    }
  }
  return largest;
}

int64_t pack_part_bound(const PackSections *sections, PackSpan part) {
  if (part.begin == part.end) return 0;
  int64_t bound = 0;
  uint32_t fullest = part.begin;
  for (uint32_t s = part.begin; s < part.end; s++) {
    if (sections->live_bytes[s] > bound) bound = sections->live_bytes[s];
    if (sections->taken_bytes[s] > sections->taken_bytes[fullest]) fullest = s;
  }
  int64_t taken = sections->taken_bytes[fullest] - largest_padding(sections, fullest);
  return taken > bound ? taken : bound;
}

int64_t pack_lower_bound(const PackSections *sections) {
  return pack_part_bound(sections, (PackSpan){0, sections->num_sections});
}

/* ---- parts ---- */

uint32_t pack_sections_split(const PackSections *sections, PackSpan *parts, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_parts = 0;
  uint32_t *reach = arena_zarray(scratch, uint32_t, sections->num_sections);
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    uint32_t first = sections->first_span[i], after = sections->first_span[i + 1];
    if (first == after) continue;
    uint32_t begin = sections->spans[first].begin, end = sections->spans[after - 1].end;
    if (end > reach[begin]) reach[begin] = end;
  }
  for (uint32_t s = 0; s < sections->num_sections;) {
    uint32_t end = s + 1;
    for (uint32_t next = s; next < end; next++) {
      if (reach[next] > end) end = reach[next];
    }
    parts[num_parts++] = (PackSpan){s, end};
    s = end;
  }
  arena_reset(scratch, mark);
  return num_parts;
}
