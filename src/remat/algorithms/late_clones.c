#include "remat/algorithms/late_clones.h"

#include <stdlib.h>

#include "analysis/memory/tracker.h"

LateClones late_clones_begin(RematJob *job, CompId comp, SchedPos early_end, Arena *arena,
                             Arena *scratch) {
  Module *module = job->rewrite->module;
  uint32_t num_insts = module->insts.len;
  LateClones clones = {.job = job,
                       .module = module,
                       .comp = comp,
                       .sequence = job->schedule->of[comp],
                       .early_end = early_end,
                       .positions = arena_array(arena, SchedPos, num_insts),
                       .images = arena_array(arena, InstId, num_insts),
                       .first_new = num_insts,
                       .arena = arena,
                       .scratch = scratch};
  /* for removed instructions */
  memset(clones.positions, 0xff, num_insts * sizeof *clones.positions);
  uint32_t len = clones.sequence.len;
  clones.early_values = arena_array(arena, EarlyValue, (size_t)len + 1);
  for (SchedPos pos = 0; pos < len; pos++) {
    clones.positions[clones.sequence.ids[pos]] = pos;
    clones.early_values[pos] = (EarlyValue){.place = NO_ID, .first_use = NO_ID};
  }
  memset(clones.images, 0xff, num_insts * sizeof *clones.images);
  return clones;
}

/* ---- readers ---- */

InstId late_clones_source(const LateClones *clones, InstId operand) {
  if (operand >= clones->first_new) return NO_ID;
  while (inst_is_pass_through(clones->module, operand)) {
    operand = inst_operand(clones->module, operand, 0);
  }
  return clones->positions[operand] > clones->early_end ? NO_ID : operand;
}

/* Whether an instruction of the late part counts as a reader. A bitcast or get-tuple-element does
 * not, because its users do. */
static bool is_late_reader(const LateClones *clones, InstId user) {
  const Module *module = clones->module;
  return !inst_is_pass_through(module, user) || inst_get(module, user)->users.len == 0 ||
         inst_is_root(module, user);
}

void late_clones_find_first_uses(LateClones *clones) {
  for (SchedPos pos = clones->early_end + 1; pos < clones->sequence.len; pos++) {
    InstId user = clones->sequence.ids[pos];
    if (!is_late_reader(clones, user)) continue;
    for (uint32_t i = 0; i < inst_get(clones->module, user)->num_operands; i++) {
      InstId source = late_clones_source(clones, inst_operand(clones->module, user, i));
      if (source == NO_ID) continue;
      SchedPos *first = &clones->early_values[clones->positions[source]].first_use;
      if (*first == NO_ID) *first = pos;
    }
  }
}

/* Places clones before their first reader, which may be another clone. */
static void place_clones(LateClones *clones) {
  for (SchedPos pos = clones->early_end + 1; pos-- > 0;) {
    EarlyValue *value = &clones->early_values[pos];
    if (!value->is_cloned) continue;
    if (value->first_use < value->place) value->place = value->first_use;
    InstId id = clones->sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(clones->module, id)->num_operands; i++) {
      InstId source = late_clones_source(clones, inst_operand(clones->module, id, i));
      SchedPos *place = &clones->early_values[clones->positions[source]].place;
      if (*place > value->place) *place = value->place;
    }
  }
}

/* A clone and its place, for place_verdict(). */
typedef struct LatePlace {
  const LateClones *clones;
  SchedPos place;
} LatePlace;

static bool has_run(const void *context, InstId id) {
  const LatePlace *late = context;
  return late->clones->positions[id] < late->place;
}

/* A clone of the operand has its own memory. */
static bool is_cloned(const void *context, InstId operand) {
  const LateClones *clones = ((const LatePlace *)context)->clones;
  InstId source = late_clones_source(clones, operand);
  return source != NO_ID && clones->early_values[clones->positions[source]].is_cloned;
}

static bool reads_overwritten(const LateClones *clones, SchedPos pos) {
  LatePlace late = {clones, clones->early_values[pos].place};
  ClonePlace place = {has_run, is_cloned, &late};
  return place_verdict(clones->job->legality, clones->sequence.ids[pos], &place) != KEEP_NONE;
}

/* Drops clones that would read overwritten memory. Their readers then read the original, which can
 * make other clones impossible, so this is repeated until all remaining clones are possible. Few
 * rounds are needed, because operands come before their readers. */
static void drop_impossible_clones(LateClones *clones) {
  if (!clones->job->legality->overwriters) return;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
      clones->early_values[pos].place = NO_ID;
    }
    place_clones(clones);
    for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
      if (!clones->early_values[pos].is_cloned || !reads_overwritten(clones, pos)) continue;
      clones->early_values[pos].is_cloned = false;
      has_changed = true;
    }
  }
}

/* ---- new instructions ---- */

/* A new instruction, to be inserted before the one at `place`. Of several at one place, those with
 * the earlier original come first, and helpers come directly after their clone. */
typedef struct Insertion {
  SchedPos place;
  SchedPos original;
  uint32_t number;
  InstId inst;
} Insertion;

typedef struct Insertions {
  VEC(Insertion) list;
} Insertions;

static int by_place(const void *pa, const void *pb) {
  const Insertion *a = pa, *b = pb;
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  if (a->original != b->original) return a->original < b->original ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static void insert(LateClones *clones, Insertions *insertions, InstId inst, SchedPos original) {
  *vec_push(clones->arena, &insertions->list) =
      (Insertion){clones->early_values[original].place, original, insertions->list.len, inst};
}

/* The replacement of `id` in the late part: its clone; for a bitcast or get-tuple-element of a
 * cloned instruction, a helper that does the same to the clone; otherwise `id` itself. */
static InstId image_of(LateClones *clones, Insertions *insertions, InstId id) {
  Module *module = clones->module;
  ArenaMark mark = arena_mark(clones->scratch);
  IdVec chain = {0};
  InstId source = id;
  while (clones->images[source] == NO_ID && inst_is_pass_through(module, source)) {
    *vec_push(clones->scratch, &chain) = source;
    source = inst_operand(module, source, 0);
  }
  InstId image = clones->images[source];
  if (image == NO_ID) { /* the source was not cloned */
    arena_reset(clones->scratch, mark);
    return id;
  }
  while (chain.len) {
    InstId through = chain.data[--chain.len];
    const Instruction *inst = inst_get(module, through);
    Rewrite *rewrite = clones->job->rewrite;
    image = inst->opcode == OPCODE_BITCAST
                ? rewrite_add_bitcast(rewrite, image, inst->shape)
                : rewrite_add_get_tuple_element(rewrite, image, inst->index);
    clones->images[through] = image;
    InstId original = late_clones_source(clones, through);
    insert(clones, insertions, image, clones->positions[original]);
  }
  arena_reset(clones->scratch, mark);
  return image;
}

static void redirect(LateClones *clones, Insertions *insertions, InstId user) {
  for (uint32_t i = 0; i < inst_get(clones->module, user)->num_operands; i++) {
    InstId operand = inst_operand(clones->module, user, i);
    if (late_clones_source(clones, operand) == NO_ID) continue;
    InstId image = image_of(clones, insertions, operand);
    if (image != operand) rewrite_set_operand(clones->job->rewrite, user, i, image);
  }
}

/* Makes the clones in the order of their originals, so that the clones of operands exist first. */
static uint32_t make_clones(LateClones *clones, Insertions *insertions) {
  uint32_t num_clones = 0;
  for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
    if (!clones->early_values[pos].is_cloned) continue;
    InstId original = clones->sequence.ids[pos];
    InstId clone = rewrite_clone(clones->job->rewrite, original, clones->scratch);
    clones->images[original] = clone;
    redirect(clones, insertions, clone);
    insert(clones, insertions, clone, pos);
    num_clones++;
  }
  return num_clones;
}

static void merge_insertions(LateClones *clones, Insertions *insertions, Arena *out) {
  Sequence sequence = clones->sequence;
  uint32_t num_new = insertions->list.len, next = 0;
  if (num_new) qsort(insertions->list.data, num_new, sizeof *insertions->list.data, by_place);
  Sequence merged = {.ids = arena_array(out, InstId, (size_t)sequence.len + num_new)};
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    for (; next < num_new && insertions->list.data[next].place == pos; next++) {
      merged.ids[merged.len++] = insertions->list.data[next].inst;
    }
    merged.ids[merged.len++] = sequence.ids[pos];
  }
  clones->job->schedule->of[clones->comp] = merged;
}

uint32_t late_clones_apply(LateClones *clones, Arena *out) {
  Insertions insertions = {0};
  place_clones(clones);
  drop_impossible_clones(clones);
  uint32_t num_clones = make_clones(clones, &insertions);
  for (SchedPos pos = clones->early_end + 1; pos < clones->sequence.len; pos++) {
    InstId user = clones->sequence.ids[pos];
    if (is_late_reader(clones, user)) redirect(clones, &insertions, user);
  }
  merge_insertions(clones, &insertions, out);
  return num_clones;
}
