/* What overwrites each value: the first instruction after it that writes into its memory. */
#include <stdlib.h>

#include "analysis/memory/overwrites_internal.h"

static int by_place(const void *pa, const void *pb) {
  const PlacedWrite *a = pa, *b = pb;
  if (a->comp != b->comp) return a->comp < b->comp ? -1 : 1;
  if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

/* The first position after `from.pos` at which its buffer is written; NO_ID when there is none. */
static SchedPos next_write(const Walk *walk, PlacedWrite from) {
  uint32_t low = 0, high = walk->placed.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_place(&walk->placed.data[middle], &from) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == walk->placed.len) return NO_ID;
  const PlacedWrite *found = &walk->placed.data[low];
  return found->comp == from.comp && found->buffer == from.buffer ? found->pos : NO_ID;
}

/* The first position after an instruction at which the memory of a part of its result is written;
 * NO_ID when there is none. */
static SchedPos next_write_of_part(const Walk *walk, CompId comp, SchedPos pos, uint32_t part) {
  InstId id = walk->schedule->of[comp].ids[pos];
  BufferId buffer = walk->values->buffers.of[walk_value(walk, id, part)];
  if (!walk->is_shared[buffer]) return NO_ID;
  return next_write(walk, (PlacedWrite){comp, buffer, pos});
}

static InstId find_overwriter(const Walk *walk, CompId comp, SchedPos pos) {
  Sequence sequence = walk->schedule->of[comp];
  SchedPos first = NO_ID;
  for (uint32_t part = 0; part < walk_num_parts(walk, sequence.ids[pos]); part++) {
    SchedPos next = next_write_of_part(walk, comp, pos, part);
    if (next < first) first = next;
  }
  return first == NO_ID ? NO_ID : sequence.ids[first];
}

static Walk walk_for_writes(const Module *module, const ValueAnalysis *values,
                            const Schedule *schedule, Arena *scratch) {
  Walk walk = {.module = module,
               .values = values,
               .schedule = schedule,
               .keeps_places = true,
               .scratch = scratch};
  walk_module(&walk);
  if (walk.placed.len) qsort(walk.placed.data, walk.placed.len, sizeof *walk.placed.data, by_place);
  return walk;
}

Overwriters overwriters_find(const Module *module, const ValueAnalysis *values,
                             const Schedule *schedule, Arena *out, Arena *scratch) {
  Overwriters overwriters = {.of = arena_array(out, InstId, module->insts.len),
                             .num_insts = module->insts.len};
  memset(overwriters.of, 0xff, module->insts.len * sizeof *overwriters.of);
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = walk_for_writes(module, values, schedule, arena);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (SchedPos pos = 0; walk.is_entered[comp] && pos < schedule->of[comp].len; pos++)
      overwriters.of[schedule->of[comp].ids[pos]] = find_overwriter(&walk, comp, pos);
  }
  arena_free(arena);
  return overwriters;
}

AllOverwriters all_overwriters_find(const Module *module, const ValueAnalysis *values,
                                    const Schedule *schedule, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = walk_for_writes(module, values, schedule, arena);
  IdVec ids = {0};
  uint32_t *first = arena_zarray(out, uint32_t, num_insts + 1);
  InstId *last_noted_for = arena_array(arena, InstId, num_insts); /* by InstId of the overwriter */
  memset(last_noted_for, 0xff, num_insts * sizeof *last_noted_for);
  SchedPos *positions = arena_array(arena, SchedPos, num_insts);
  memset(positions, 0xff, num_insts * sizeof *positions);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (SchedPos pos = 0; walk.is_entered[comp] && pos < schedule->of[comp].len; pos++)
      positions[schedule->of[comp].ids[pos]] = pos;
  }
  for (InstId id = 0; id < num_insts; id++) {
    first[id] = ids.len;
    if (positions[id] == NO_ID) continue;
    CompId comp = inst_get(module, id)->parent;
    for (uint32_t part = 0; part < walk_num_parts(&walk, id); part++) {
      SchedPos next = next_write_of_part(&walk, comp, positions[id], part);
      if (next == NO_ID) continue;
      InstId overwriter = schedule->of[comp].ids[next];
      if (last_noted_for[overwriter] == id) continue;
      last_noted_for[overwriter] = id;
      *vec_push(out, &ids) = overwriter;
    }
  }
  first[num_insts] = ids.len;
  arena_free(arena);
  return (AllOverwriters){ids.data, first};
}
