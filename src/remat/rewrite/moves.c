#include "remat/rewrite/moves.h"

typedef struct Finder {
  const Rewrite *rewrite;
  uint32_t num_old;      /* instructions that have a place before */
  SchedPos *place;       /* by InstId of the module before: its place; NO_ID = it does not run */
  InstId *stands_for;    /* by InstId: see note_replacements() */
  VEC(InstId) kept;      /* of one sequence: what is compared, in the new order */
  VEC(SchedPos) places;  /* of `kept`, before */
  VEC(uint32_t) ends;    /* by length - 1: the end of the increasing run with the lowest place */
  VEC(uint32_t) earlier; /* by index into `kept`: the one before in the longest run that it ends */
  Arena *scratch;
} Finder;

/* The first clone that runs stands for an original that is gone, and every other instruction for
 * itself; other clones, and what was added for them, for none: NO_ID. */
static void note_replacements(Finder *finder, const Schedule *after) {
  const Module *module = finder->rewrite->module;
  bool *is_replaced = arena_zarray(finder->scratch, bool, module->insts.len);
  finder->stands_for = arena_array(finder->scratch, InstId, module->insts.len);
  for (CompId comp = 0; comp < after->num_comps; comp++) {
    for (SchedPos pos = 0; pos < after->of[comp].len; pos++) {
      InstId id = after->of[comp].ids[pos];
      InstId original = rewrite_first_original(finder->rewrite, id);
      finder->stands_for[id] = inst_get(module, id)->flags & INST_REMAT ? NO_ID : id;
      if (original == id || is_replaced[original]) continue;
      if (!(inst_get(module, original)->flags & INST_DEAD)) continue;
      is_replaced[original] = true;
      finder->stands_for[id] = original;
    }
  }
}

/* The place that an instruction had before; NO_ID if it is not compared. */
static SchedPos place_of(const Finder *finder, CompId comp, InstId id) {
  const Module *module = finder->rewrite->module;
  InstId original = finder->stands_for[id];
  if (original == NO_ID || opcode_has((Opcode)inst_get(module, id)->opcode, OPF_FREE)) return NO_ID;
  /* A conditional can hold what stands for an original elsewhere. */
  if (inst_get(module, original)->parent != comp) return NO_ID;
  InstId old = rewrite_callee_original(finder->rewrite, original);
  return old < finder->num_old ? finder->place[old] : NO_ID;
}

/* The length of the longest increasing run that a place can be appended to: binary search. */
static uint32_t length_before(const Finder *finder, SchedPos place) {
  uint32_t low = 0, high = finder->ends.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (finder->places.data[finder->ends.data[middle]] < place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Patience sorting: what is not in a longest increasing run of the old places has moved. */
static void compare_sequence(Finder *finder, Sequence sequence, CompId comp, Moves *moves) {
  finder->kept.len = finder->places.len = finder->ends.len = finder->earlier.len = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    SchedPos place = place_of(finder, comp, sequence.ids[pos]);
    if (place == NO_ID) continue;
    uint32_t length = length_before(finder, place), index = finder->kept.len;
    *vec_push(finder->scratch, &finder->kept) = sequence.ids[pos];
    *vec_push(finder->scratch, &finder->places) = place;
    *vec_push(finder->scratch, &finder->earlier) = length ? finder->ends.data[length - 1] : NO_ID;
    if (length == finder->ends.len) (void)vec_push(finder->scratch, &finder->ends);
    finder->ends.data[length] = index;
  }
  for (uint32_t i = 0; i < finder->kept.len; i++)
    moves->is_moved[finder->kept.data[i]] = true;
  moves->num_moved += finder->kept.len - finder->ends.len;
  uint32_t stayed = finder->ends.len ? finder->ends.data[finder->ends.len - 1] : NO_ID;
  for (; stayed != NO_ID; stayed = finder->earlier.data[stayed])
    moves->is_moved[finder->kept.data[stayed]] = false;
}

Moves moves_find(const Rewrite *rewrite, const Schedule *before, const Schedule *after, Arena *out,
                 Arena *scratch) {
  Moves moves = {.is_moved = arena_zarray(out, bool, rewrite->module->insts.len)};
  Arena *arena = arena_new(arena_options(scratch));
  Finder finder = {.rewrite = rewrite, .scratch = arena};
  for (CompId comp = 0; comp < before->num_comps; comp++) {
    for (SchedPos pos = 0; pos < before->of[comp].len; pos++) {
      if (before->of[comp].ids[pos] >= finder.num_old)
        finder.num_old = before->of[comp].ids[pos] + 1;
    }
  }
  finder.place = arena_array(arena, SchedPos, finder.num_old);
  if (finder.num_old) memset(finder.place, 0xff, finder.num_old * sizeof *finder.place);
  for (CompId comp = 0; comp < before->num_comps; comp++) {
    for (SchedPos pos = 0; pos < before->of[comp].len; pos++)
      finder.place[before->of[comp].ids[pos]] = pos;
  }
  note_replacements(&finder, after);
  for (CompId comp = 0; comp < after->num_comps; comp++)
    compare_sequence(&finder, after->of[comp], comp, &moves);
  arena_free(arena);
  return moves;
}
