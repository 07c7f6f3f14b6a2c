#include "analysis/pack_sections.h"

#include <stdlib.h>

typedef struct Event {
  int64_t tick;
  uint32_t range;
  bool is_begin;
} Event;

/* Ranges are half-open: what ends goes before what begins. */
static int by_tick(const void *pa, const void *pb) {
  const Event *a = pa, *b = pb;
  if (a->tick != b->tick) return a->tick < b->tick ? -1 : 1;
  if (a->is_begin != b->is_begin) return a->is_begin ? 1 : -1;
  return (a->range > b->range) - (a->range < b->range);
}

typedef struct Clock {
  int64_t first;
  uint64_t num_ticks;
} Clock;

static Clock clock_of(const Event *events, size_t count) {
  int64_t first = events[0].tick, last = first;
  for (size_t i = 1; i < count; i++) {
    if (events[i].tick < first) first = events[i].tick;
    if (events[i].tick > last) last = events[i].tick;
  }
  return (Clock){first, (uint64_t)last - (uint64_t)first + 1};
}

/* Its place among the kinds of events at each tick: what ends goes first. */
static uint64_t slot_of(const Clock *clock, const Event *event) {
  return 2 * ((uint64_t)event->tick - (uint64_t)clock->first) + event->is_begin;
}

/* Sorts events that come by range. Where most ticks have some, as those of a simulation do, by
 * counting. */
static Event *sort_events(Event *events, size_t count, Arena *scratch) {
  Clock clock = clock_of(events, count);
  if (clock.num_ticks == 0 || clock.num_ticks / 2 > count) {
    qsort(events, count, sizeof *events, by_tick);
    return events;
  }
  Event *sorted = arena_array(scratch, Event, count);
  size_t *next = arena_zarray(scratch, size_t, 2 * clock.num_ticks + 1);
  for (size_t i = 0; i < count; i++)
    next[slot_of(&clock, &events[i]) + 1]++;
  for (uint64_t slot = 0; slot < 2 * clock.num_ticks; slot++)
    next[slot + 1] += next[slot];
  for (size_t i = 0; i < count; i++)
    sorted[next[slot_of(&clock, &events[i])]++] = events[i];
  return sorted;
}

/* Fills the span of each range, empty where it is of a buffer without bytes. Returns the number of
 * sections. */
static uint32_t number_sections(const PackProblem *problem, PackSpan *span_of, Arena *scratch) {
  Event *events = arena_array(scratch, Event, 2 * (size_t)problem->num_ranges);
  size_t num_events = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    for (uint32_t k = 0; k < buffer->num_ranges && buffer->bytes; k++) {
      uint32_t range = buffer->first_range + k;
      events[num_events++] = (Event){problem->ranges[range].begin, range, true};
      events[num_events++] = (Event){problem->ranges[range].end, range, false};
    }
  }
  if (num_events == 0) return 0;
  events = sort_events(events, num_events, scratch);
  uint32_t section = 0;
  bool has_ended = false;
  for (size_t i = 0; i < num_events; i++) {
    if (events[i].is_begin) {
      section += has_ended;
      has_ended = false;
      span_of[events[i].range].begin = section;
    } else {
      has_ended = true;
      span_of[events[i].range].end = section + 1;
    }
  }
  return section + 1;
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

/* By section, and one more: the bytes of what lives there, each rounded up. */
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

PackSections pack_sections_build(const PackProblem *problem, Arena *out, Arena *scratch) {
  PackSections sections = {.problem = problem};
  sections.spans = arena_array(out, PackSpan, problem->num_ranges);
  sections.first_span = arena_array(out, uint32_t, (size_t)problem->num_buffers + 1);
  ArenaMark mark = arena_mark(scratch);
  PackSpan *span_of = arena_zarray(scratch, PackSpan, problem->num_ranges);
  sections.num_sections = number_sections(problem, span_of, scratch);
  uint32_t num_spans = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    sections.first_span[i] = num_spans;
    if (buffer->bytes == 0) continue;
    PackSpan *spans = &sections.spans[num_spans];
    for (uint32_t k = 0; k < buffer->num_ranges; k++)
      spans[k] = span_of[buffer->first_range + k];
    num_spans += buffer->num_ranges > 1 ? join_spans(spans, buffer->num_ranges) : 1;
  }
  sections.first_span[problem->num_buffers] = num_spans;
  arena_reset(scratch, mark);

  sections.granule = common_granule(problem);
  sections.live_bytes = sum_live(&sections, 1, out);
  sections.taken_bytes =
      sections.granule > 1 ? sum_live(&sections, sections.granule, out) : sections.live_bytes;
  return sections;
}

/* ---- bounds ---- */

/* What rounding adds to one of the buffers that live in a section, at most. */
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
    uint32_t first = sections->first_span[i], behind = sections->first_span[i + 1];
    if (first == behind) continue;
    uint32_t begin = sections->spans[first].begin, end = sections->spans[behind - 1].end;
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
