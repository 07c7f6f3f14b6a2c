#include "remat/late_clones.h"

#include <stdlib.h>

#include "remat/tracker.h"

Recompute recompute_begin(RematJob *job, CompId comp, SchedPos turn, Arena *arena, Arena *scratch) {
  Module *module = job->rewrite->module;
  uint32_t num_insts = module->insts.len;
  Recompute recompute = {.job = job,
                         .module = module,
                         .comp = comp,
                         .sequence = job->schedule->of[comp],
                         .turn = turn,
                         .positions = arena_array(arena, SchedPos, num_insts),
                         .images = arena_array(arena, InstId, num_insts),
                         .first_new = num_insts,
                         .arena = arena,
                         .scratch = scratch};
  uint32_t len = recompute.sequence.len;
  recompute.fates = arena_array(arena, Fate, (size_t)len + 1);
  for (SchedPos pos = 0; pos < len; pos++) {
    recompute.positions[recompute.sequence.ids[pos]] = pos;
    recompute.fates[pos] = (Fate){.place = NO_ID, .first_use = NO_ID};
  }
  memset(recompute.images, 0xff, num_insts * sizeof *recompute.images);
  return recompute;
}

bool hands_on_memory(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_TUPLE:
    case OPCODE_OPT_BARRIER:
    case OPCODE_WHILE:
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_DOMAIN:
    case OPCODE_ASYNC_START:
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_DONE:
    case OPCODE_COPY_START:
    case OPCODE_COPY_DONE:
    case OPCODE_SEND:
    case OPCODE_RECV_DONE: return true;
    case OPCODE_COPY: return shape_is_tuple(inst_shape(module, id));
    case OPCODE_FUSION: return inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING) != NULL;
    default: return false;
  }
}

bool recompute_is_possible(const RematJob *job, InstId id) {
  const Module *module = job->rewrite->module;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return !inst_has_control(module, id) && !opcode_is_pass_through(opcode) &&
         !hands_on_memory(module, id) && recompute_verdict(job->legality, id) == KEEP_NONE;
}

/* ---- who reads what ---- */

InstId recompute_source(const Recompute *recompute, InstId operand) {
  if (operand >= recompute->first_new) return NO_ID;
  while (inst_is_pass_through(recompute->module, operand)) {
    operand = inst_operand(recompute->module, operand, 0);
  }
  return recompute->positions[operand] > recompute->turn ? NO_ID : operand;
}

/* A bitcast or get-tuple-element in the late part reads nothing by itself: its users do. */
static bool is_late_reader(const Recompute *recompute, InstId user) {
  const Module *module = recompute->module;
  return !inst_is_pass_through(module, user) || inst_get(module, user)->users.len == 0 ||
         inst_is_root(module, user);
}

void recompute_find_first_uses(Recompute *recompute) {
  for (SchedPos pos = recompute->turn + 1; pos < recompute->sequence.len; pos++) {
    InstId user = recompute->sequence.ids[pos];
    if (!is_late_reader(recompute, user)) continue;
    for (uint32_t i = 0; i < inst_get(recompute->module, user)->num_operands; i++) {
      InstId source = recompute_source(recompute, inst_operand(recompute->module, user, i));
      if (source == NO_ID) continue;
      SchedPos *first = &recompute->fates[recompute->positions[source]].first_use;
      if (*first == NO_ID) *first = pos;
    }
  }
}

/* Clones are computed before the first of those who read them, clones included. */
static void place_clones(Recompute *recompute) {
  for (SchedPos pos = recompute->turn + 1; pos-- > 0;) {
    Fate *fate = &recompute->fates[pos];
    if (!fate->is_cloned) continue;
    if (fate->first_use < fate->place) fate->place = fate->first_use;
    InstId id = recompute->sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(recompute->module, id)->num_operands; i++) {
      InstId source = recompute_source(recompute, inst_operand(recompute->module, id, i));
      SchedPos *place = &recompute->fates[recompute->positions[source]].place;
      if (*place > fate->place) *place = fate->place;
    }
  }
}

/* ---- new instructions ---- */

/* A new instruction and where it goes: before the one at `place`; what was computed earlier once
 * comes first there, helpers right behind their clone. */
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

static void insert(Recompute *recompute, Insertions *insertions, InstId inst, SchedPos original) {
  *vec_push(recompute->arena, &insertions->list) =
      (Insertion){recompute->fates[original].place, original, insertions->list.len, inst};
}

/* What is read in the late part instead of `id`: its clone; for a bitcast or get-tuple-element of
 * something that was cloned, a helper like it on the clone; else itself. */
static InstId image_of(Recompute *recompute, Insertions *insertions, InstId id) {
  Module *module = recompute->module;
  ArenaMark mark = arena_mark(recompute->scratch);
  IdVec chain = {0};
  InstId source = id;
  while (recompute->images[source] == NO_ID && inst_is_pass_through(module, source)) {
    *vec_push(recompute->scratch, &chain) = source;
    source = inst_operand(module, source, 0);
  }
  InstId image = recompute->images[source];
  if (image == NO_ID) { /* nothing below was cloned */
    arena_reset(recompute->scratch, mark);
    return id;
  }
  while (chain.len) {
    InstId through = chain.data[--chain.len];
    const Instruction *inst = inst_get(module, through);
    Rewrite *rewrite = recompute->job->rewrite;
    image = inst->opcode == OPCODE_BITCAST
                ? rewrite_add_bitcast(rewrite, image, inst->shape)
                : rewrite_add_get_tuple_element(rewrite, image, inst->index);
    recompute->images[through] = image;
    InstId original = recompute_source(recompute, through);
    insert(recompute, insertions, image, recompute->positions[original]);
  }
  arena_reset(recompute->scratch, mark);
  return image;
}

static void redirect(Recompute *recompute, Insertions *insertions, InstId user) {
  for (uint32_t i = 0; i < inst_get(recompute->module, user)->num_operands; i++) {
    InstId operand = inst_operand(recompute->module, user, i);
    if (recompute_source(recompute, operand) == NO_ID) continue;
    InstId image = image_of(recompute, insertions, operand);
    if (image != operand) rewrite_set_operand(recompute->job->rewrite, user, i, image);
  }
}

/* Clones in the order of their originals, so that operands have theirs. */
static uint32_t make_clones(Recompute *recompute, Insertions *insertions) {
  uint32_t num_clones = 0;
  for (SchedPos pos = 0; pos <= recompute->turn; pos++) {
    if (!recompute->fates[pos].is_cloned) continue;
    InstId original = recompute->sequence.ids[pos];
    InstId clone = rewrite_clone(recompute->job->rewrite, original, recompute->scratch);
    recompute->images[original] = clone;
    redirect(recompute, insertions, clone);
    insert(recompute, insertions, clone, pos);
    num_clones++;
  }
  return num_clones;
}

static void merge_insertions(Recompute *recompute, Insertions *insertions, Arena *out) {
  Sequence sequence = recompute->sequence;
  uint32_t num_new = insertions->list.len, next = 0;
  if (num_new) qsort(insertions->list.data, num_new, sizeof *insertions->list.data, by_place);
  Sequence merged = {.ids = arena_array(out, InstId, (size_t)sequence.len + num_new)};
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    for (; next < num_new && insertions->list.data[next].place == pos; next++) {
      merged.ids[merged.len++] = insertions->list.data[next].inst;
    }
    merged.ids[merged.len++] = sequence.ids[pos];
  }
  recompute->job->schedule->of[recompute->comp] = merged;
}

uint32_t recompute_apply(Recompute *recompute, Arena *out) {
  Insertions insertions = {0};
  place_clones(recompute);
  uint32_t num_clones = make_clones(recompute, &insertions);
  for (SchedPos pos = recompute->turn + 1; pos < recompute->sequence.len; pos++) {
    InstId user = recompute->sequence.ids[pos];
    if (is_late_reader(recompute, user)) redirect(recompute, &insertions, user);
  }
  merge_insertions(recompute, &insertions, out);
  return num_clones;
}
