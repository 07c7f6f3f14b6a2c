/* What has moved is as little as an order can be explained by, which a slow count finds, too. And
 * whoever schedules the module anew, as operands and control dependencies allow it, leaves what is
 * held between its neighbours. */
#include <stdlib.h>

#include "property.h"
#include "remat/protect/protect.h"
#include "remat/rewrite/moves.h"

typedef struct Setting {
  Rewrite rewrite;
  Module *module;
  Schedule before, after;
  SchedPos *place; /* by InstId: before */
  Arena *arena, *scratch;
  const Sample *sample;
  uint64_t *state;
} Setting;

static bool is_ready(const Module *module, InstId id, const bool *has_run) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (!has_run[inst_operand(module, id, i)]) return false;
  }
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++) {
    if (!has_run[id_list(module, before)[i]]) return false;
  }
  return true;
}

/* An order that operands and control dependencies allow. One in `jumps` is drawn, the others are
 * the next of the order given. */
static Sequence draw_order(Setting *setting, Sequence given, uint32_t jumps) {
  const Module *module = setting->module;
  Sequence drawn = {.ids = arena_array(setting->arena, InstId, given.len)};
  bool *has_run = arena_zarray(setting->arena, bool, module->insts.len);
  InstId *ready = arena_array(setting->arena, InstId, given.len);
  while (drawn.len < given.len) {
    uint32_t num_ready = 0;
    for (SchedPos pos = 0; pos < given.len; pos++) {
      InstId id = given.ids[pos];
      if (!has_run[id] && is_ready(module, id, has_run)) ready[num_ready++] = id;
    }
    ck_assert_msg(num_ready > 0, "there is a cycle\n%s", sample_shown(setting->sample));
    bool is_jump = random_below(setting->state, jumps) == 0;
    InstId id = ready[is_jump ? random_below(setting->state, num_ready) : 0];
    has_run[id] = true;
    drawn.ids[drawn.len++] = id;
  }
  return drawn;
}

static bool takes_time(const Module *module, InstId id) {
  return !opcode_has((Opcode)inst_get(module, id)->opcode, OPF_FREE);
}

/* The length of the longest increasing run of old places, in quadratic time. */
static uint32_t count_stayed(const Setting *setting, Sequence sequence, uint32_t *num_counted) {
  uint32_t *length = arena_zarray(setting->arena, uint32_t, sequence.len), most = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (!takes_time(setting->module, sequence.ids[pos])) continue;
    (*num_counted)++;
    length[pos] = 1;
    for (SchedPos earlier = 0; earlier < pos; earlier++) {
      bool is_before = setting->place[sequence.ids[earlier]] < setting->place[sequence.ids[pos]];
      if (length[earlier] && is_before && length[earlier] + 1 > length[pos])
        length[pos] = length[earlier] + 1;
    }
    if (length[pos] > most) most = length[pos];
  }
  return most;
}

static void check_count(Setting *setting, const Moves *moves) {
  uint32_t num_moved = 0, num_marked = 0;
  for (CompId comp = 0; comp < setting->after.num_comps; comp++) {
    Sequence sequence = setting->after.of[comp];
    uint32_t num_counted = 0, last = 0;
    uint32_t num_stayed = count_stayed(setting, sequence, &num_counted);
    num_moved += num_counted - num_stayed;
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      num_marked += moves->is_moved[id];
      if (moves->is_moved[id] || !takes_time(setting->module, id)) continue;
      ck_assert_msg(setting->place[id] + 1 > last, "what has stayed is not in order\n%s",
                    sample_shown(setting->sample));
      last = setting->place[id] + 1;
    }
  }
  ck_assert_msg(moves->num_moved == num_moved && num_marked == num_moved,
                "%u moved, %u are marked, not %u\n%s", moves->num_moved, num_marked, num_moved,
                sample_shown(setting->sample));
}

/* Whatever runs beside what has moved, in the order that is held, keeps its side. */
static void check_held(Setting *setting, const bool *is_moved, uint32_t jumps) {
  const Module *module = setting->module;
  SchedPos *now = arena_zarray(setting->arena, SchedPos, module->insts.len);
  for (CompId comp = 0; comp < setting->after.num_comps; comp++) {
    Sequence held = setting->after.of[comp], drawn = draw_order(setting, held, jumps);
    for (SchedPos pos = 0; pos < drawn.len; pos++)
      now[drawn.ids[pos]] = pos;
    InstId before = NO_ID;
    for (SchedPos pos = 0; pos < held.len; pos++) {
      InstId id = held.ids[pos];
      if (!takes_time(module, id)) continue;
      bool is_held = before != NO_ID && (!is_moved || is_moved[before] || is_moved[id]);
      ck_assert_msg(!is_held || now[before] < now[id], "%s has left its place\n%s",
                    names_of(module, &id, 1, setting->arena), sample_shown(setting->sample));
      before = id;
    }
  }
}

START_TEST(what_has_moved_is_held) {
  Sample sample = sample_make((uint64_t)_i, 120, GENERATE_ALL);
  rh_module *scheduled = schedule_sample(&sample, "default");
  uint64_t state = seed_state(sample.seed);
  Setting setting = {.rewrite = rewrite_begin(module_copy(scheduled->module)),
                     .arena = arena_new(NULL),
                     .scratch = arena_new(NULL),
                     .sample = &sample,
                     .state = &state};
  Module *module = setting.module = setting.rewrite.module;
  setting.before = schedule_copy(&scheduled->schedule, module, setting.arena);
  setting.after = schedule_copy(&scheduled->schedule, module, setting.arena);
  setting.place = arena_zarray(setting.arena, SchedPos, module->insts.len);
  uint32_t jumps = 1 + random_below(&state, 20);
  for (CompId comp = 0; comp < setting.before.num_comps; comp++) {
    Sequence before = setting.before.of[comp];
    for (SchedPos pos = 0; pos < before.len; pos++)
      setting.place[before.ids[pos]] = pos;
    setting.after.of[comp] = draw_order(&setting, before, jumps);
  }
  Moves moves =
      moves_find(&setting.rewrite, &setting.before, &setting.after, setting.arena, setting.scratch);
  check_count(&setting, &moves);
  protect_order(&setting.rewrite, &setting.after, moves.is_moved, setting.scratch);
  check_held(&setting, moves.is_moved, 1);
  check_held(&setting, moves.is_moved, 5);
  protect_order(&setting.rewrite, &setting.after, NULL, setting.scratch);
  check_held(&setting, NULL, 1);
  arena_free(setting.scratch);
  arena_free(setting.arena);
  module_free(module);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("moves", what_has_moved_is_held, 500);
}
