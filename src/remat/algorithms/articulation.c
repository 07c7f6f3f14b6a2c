#include "remat/algorithms/articulation.h"

#include "analysis/memory/remat_memory.h"

typedef struct Frame {
  InstId inst;
  InstId parent;
  uint32_t next;         /* index of the next neighbour to visit: operands first, then users */
  uint32_t num_children; /* in the depth-first tree */
} Frame;

typedef struct Search {
  const Module *module;
  Sequence sequence;
  uint32_t len;
  const SchedPos *positions;
  bool *is_large; /* by position: the result is large enough to count as an edge */
  /* by position: the time at which the search entered the instruction; 0 = not yet */
  uint32_t *found;
  /* by position: the earliest entry time that the subtree reaches by one more edge */
  uint32_t *low;
  bool *is_point;
  VEC(Frame) stack;
  Arena *scratch;
} Search;

static bool is_inside(const Search *search, InstId id) {
  SchedPos pos = search->positions[id];
  if (pos >= search->len || search->sequence.ids[pos] != id) return false;
  Opcode opcode = (Opcode)inst_get(search->module, id)->opcode;
  return opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT;
}

/* The next neighbour of the instruction on top of the stack; NO_ID if there is none left. */
static InstId next_neighbour(Search *search, Frame *frame) {
  const Instruction *inst = inst_get(search->module, frame->inst);
  bool carries = search->is_large[search->positions[frame->inst]];
  for (;;) {
    uint32_t index = frame->next++;
    if (index < inst->num_operands) {
      InstId operand = inst_operand(search->module, frame->inst, index);
      if (is_inside(search, operand) && search->is_large[search->positions[operand]]) {
        return operand;
      }
      continue;
    }
    index -= inst->num_operands;
    if (!carries || index >= inst->users.len) return NO_ID;
    InstId user = id_list(search->module, inst->users)[index];
    if (is_inside(search, user)) return user;
  }
}

static void enter(Search *search, InstId id, InstId parent, uint32_t *clock) {
  SchedPos pos = search->positions[id];
  search->found[pos] = search->low[pos] = ++*clock;
  *vec_push(search->scratch, &search->stack) = (Frame){.inst = id, .parent = parent};
}

/* Finishes the subtree of `frame`. If no edge of the subtree leads around the parent, the parent is
 * an articulation point. */
static void leave(Search *search, const Frame *frame) {
  if (frame->parent == NO_ID) {
    search->is_point[frame->inst] = frame->num_children > 1;
    return;
  }
  Frame *above = &search->stack.data[search->stack.len - 1];
  SchedPos pos = search->positions[frame->inst], parent_pos = search->positions[frame->parent];
  above->num_children++;
  if (search->low[pos] < search->low[parent_pos]) search->low[parent_pos] = search->low[pos];
  if (search->low[pos] >= search->found[parent_pos] && above->parent != NO_ID) {
    search->is_point[frame->parent] = true;
  }
}

static void search_from(Search *search, InstId root, uint32_t *clock) {
  enter(search, root, NO_ID, clock);
  while (search->stack.len) {
    Frame *frame = &search->stack.data[search->stack.len - 1];
    SchedPos pos = search->positions[frame->inst];
    InstId next = next_neighbour(search, frame);
    if (next == NO_ID) {
      Frame done = search->stack.data[--search->stack.len];
      leave(search, &done);
      continue;
    }
    uint32_t found = search->found[search->positions[next]];
    if (found == 0) {
      enter(search, next, frame->inst, clock);
    } else if (next != frame->parent && found < search->low[pos]) {
      search->low[pos] = found;
    }
  }
}

void mark_articulation_points(const Module *module, Sequence sequence, uint32_t len,
                              const SchedPos *positions, int64_t min_bytes, bool *is_point,
                              Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Search search = {.module = module,
                   .sequence = sequence,
                   .len = len,
                   .positions = positions,
                   .is_large = arena_array(scratch, bool, len),
                   .found = arena_zarray(scratch, uint32_t, len),
                   .low = arena_zarray(scratch, uint32_t, len),
                   .is_point = is_point,
                   .scratch = scratch};
  for (SchedPos pos = 0; pos < len; pos++) {
    search.is_large[pos] = result_device_bytes(module, sequence.ids[pos]) > min_bytes;
  }
  uint32_t clock = 0;
  for (SchedPos pos = 0; pos < len; pos++) {
    InstId id = sequence.ids[pos];
    if (search.found[pos] == 0 && is_inside(&search, id)) search_from(&search, id, &clock);
  }
  arena_reset(scratch, mark);
}
