#include "advice/present_barriers.h"

#include "advice/present_checkpoint.h"

typedef struct Finder {
  Module *module;
  SchedPos *positions;               /* by InstId; NO_ID = not in the sequence */
  bool *is_recomputed, *is_gradient; /* by InstId */
  uint32_t *seen;                    /* by InstId: the last search that came by */
  uint32_t search;
  IdVec work;
  Arena *arena;
} Finder;

bool present_has_recomputed(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (str_contains(inst_op_name(module, id), "/rematted_computation")) return true;
  }
  return false;
}

static InstId source_of(const Module *module, InstId id) {
  while (inst_is_pass_through(module, id))
    id = inst_operand(module, id, 0);
  return id;
}

static void visit(Finder *finder, InstId id) {
  if (finder->positions[id] == NO_ID || finder->seen[id] == finder->search) return;
  finder->seen[id] = finder->search;
  *vec_push(finder->arena, &finder->work) = id;
}

/* Of the gradients that are computed before `begin`, the last one that what is in `work` is
 * computed from; NO_ID if there is none. */
static SchedPos last_gradient(Finder *finder, SchedPos begin) {
  const Module *module = finder->module;
  SchedPos last = NO_ID;
  while (finder->work.len) {
    InstId id = finder->work.data[--finder->work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = source_of(module, inst_operand(module, id, i));
      SchedPos pos = finder->positions[operand];
      if (pos == NO_ID || !finder->is_gradient[operand]) continue;
      if (pos >= begin) {
        visit(finder, operand);
      } else if (last == NO_ID || pos > last) {
        last = pos;
      }
    }
  }
  return last;
}

/* The gradient that something waits for which is computed again: what reads it, or something that
 * is computed again from it, is computed from that gradient. */
static SchedPos gradient_of(Finder *finder, InstId first) {
  const Module *module = finder->module;
  IdVec readers = {0};
  finder->work.len = 0;
  finder->search++;
  visit(finder, first);
  while (finder->work.len) {
    InstId id = finder->work.data[--finder->work.len];
    for (uint32_t u = 0; u < inst_get(module, id)->users.len; u++) {
      InstId user = inst_users(module, id)[u];
      bool is_inside = finder->is_recomputed[user] || inst_is_pass_through(module, user);
      if (is_inside) {
        visit(finder, user);
      } else {
        *vec_push(finder->arena, &readers) = user;
      }
    }
  }
  finder->search++;
  for (uint32_t i = 0; i < readers.len; i++)
    visit(finder, readers.data[i]);
  return last_gradient(finder, finder->positions[first]);
}

/* Whether nothing that is computed again, or new, is read. */
static bool is_first(const Finder *finder, InstId id, InstId first_new) {
  const Module *module = finder->module;
  if (!finder->is_recomputed[id] || inst_is_pass_through(module, id)) return false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = source_of(module, inst_operand(module, id, i));
    if (operand >= first_new || finder->is_recomputed[operand]) return false;
  }
  return true;
}

void present_barriers_add(Module *module, Sequence sequence, InstId first_new, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  uint32_t count = module->insts.len;
  Finder finder = {.module = module,
                   .positions = arena_array(arena, SchedPos, count),
                   .is_recomputed = arena_zarray(arena, bool, count),
                   .is_gradient = arena_zarray(arena, bool, count),
                   .seen = arena_zarray(arena, uint32_t, count),
                   .arena = arena};
  memset(finder.positions, 0xff, count * sizeof *finder.positions);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    finder.positions[id] = pos;
    finder.is_recomputed[id] = id < first_new && present_is_recomputed(module, id);
    finder.is_gradient[id] = id < first_new && !finder.is_recomputed[id] &&
                             str_contains(inst_op_name(module, id), "transpose(");
  }
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (!is_first(&finder, id, first_new)) continue;
    SchedPos gradient = gradient_of(&finder, id);
    if (gradient != NO_ID) module_add_control(module, sequence.ids[gradient], id);
  }
  arena_free(arena);
}
