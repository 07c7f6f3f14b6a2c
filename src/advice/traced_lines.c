/* What was traced at each line of a function, and how often it is executed. */
#include "advice/frames.h"
#include "advice/layer_finder.h"
#include "advice/value_keys.h"

/* ---- operations ---- */

static Traced *traced_of(TracedList *traced, uint64_t key, int32_t frame, Arena *arena) {
  uint32_t index;
  for (IdProbe probe = id_table_probe(&traced->table, key); id_probe_next(&probe, &index);) {
    if (traced->list.data[index].key == key) return &traced->list.data[index];
  }
  id_table_add(&traced->table, arena, key, traced->list.len);
  Traced *made = vec_push(arena, &traced->list);
  *made = (Traced){.key = key, .frame = frame};
  return made;
}

static void add_position(IdVec *positions, SchedPos pos, Arena *arena) {
  bool is_known = positions->len && positions->data[positions->len - 1] == pos;
  if (!is_known) *vec_push(arena, positions) = pos;
}

/* What is being read: a value counts once, however often XLA repeats it within fusions. */
typedef struct Reading {
  const Finder *finder;
  TracedList traced;
  ValueKeys values;
  VEC(uint64_t) seen; /* values, each with what was traced */
  IdTable table;
  Arena *arena;
} Reading;

static bool is_new(Reading *reading, uint64_t key, uint64_t value) {
  uint64_t both = hash_mix(key, value);
  uint32_t index;
  for (IdProbe probe = id_table_probe(&reading->table, both); id_probe_next(&probe, &index);) {
    if (reading->seen.data[index] == both) return false;
  }
  id_table_add(&reading->table, reading->arena, both, reading->seen.len);
  *vec_push(reading->arena, &reading->seen) = both;
  return true;
}

/* Adds an operation that is executed at a position, perhaps within a fusion there. What is derived
 * from no argument is in no call: XLA merges it. */
static void add_operation(Reading *reading, InstId id, SchedPos pos) {
  const Finder *finder = reading->finder;
  const ForwardPart *forward = finder->forward;
  InstId outer = forward->sequence.ids[pos];
  int32_t frame = frame_of(forward->module, id);
  bool is_derivative =
      pos > forward->end && str_contains(inst_op_name(forward->module, id), "transpose(");
  bool is_early = pos <= forward->turn && !is_derivative;
  if (frame <= 0 || frame_is_of_first_call(forward->module, id)) return;
  if (is_early && !finder->is_derived[outer]) return;
  uint64_t key = role_key_of(forward->module, id);
  if (!is_new(reading, key, reading->values.of[id])) return;
  Traced *one = traced_of(&reading->traced, key, frame, finder->scratch);
  one->num_early += is_early;
  one->num_late += !is_early;
  if (!is_early) {
    add_position(&one->late, pos, finder->scratch);
  } else if (role_tells_calls(finder, outer)) {
    add_position(&one->early, pos, finder->scratch);
  }
}

TracedList traced_find(const Finder *finder) {
  const Module *module = finder->forward->module;
  Sequence sequence = finder->forward->sequence;
  Arena *arena = arena_new(arena_options(finder->scratch));
  Reading reading = {.finder = finder, .values = value_keys_new(module, arena), .arena = arena};
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    value_keys_read(&reading.values, id);
    if (inst_get(module, id)->opcode != OPCODE_FUSION) {
      bool is_counted = layer_is_work(module, id) && layer_is_float(module, id);
      if (is_counted) add_operation(&reading, id, pos);
      continue;
    }
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId inner = comp_inst(module, comp, i);
      if (layer_is_inner_work(module, inner)) add_operation(&reading, inner, pos);
    }
  }
  arena_free(arena);
  return reading.traced;
}

/* ---- lines ---- */

uint32_t counts_mode(const IdVec *counts) {
  uint32_t best = 0, most = 0;
  for (uint32_t i = 0; i < counts->len; i++) {
    uint32_t alike = 0;
    for (uint32_t k = 0; k < counts->len; k++)
      alike += counts->data[k] == counts->data[i];
    if (alike < most || (alike == most && counts->data[i] <= best)) continue;
    most = alike;
    best = counts->data[i];
  }
  return best;
}

TracedLine *traced_line(TracedLines *lines, int32_t number, Arena *arena) {
  for (uint32_t i = 0; i < lines->list.len; i++) {
    if (lines->list.data[i].line == number) return &lines->list.data[i];
  }
  TracedLine *line = vec_push(arena, &lines->list);
  *line = (TracedLine){.line = number, .end_line = number, .first = NO_ID, .last = NO_ID};
  return line;
}

/* What is in the forward part says how often a line is executed. Of a line of which nothing is
 * there, such as the mean of a loss whose gradient alone is computed, its derivative says it. */
void traced_line_add(TracedLine *line, const TracedList *traced, uint32_t index, uint32_t count,
                     Arena *arena) {
  const Traced *one = &traced->list.data[index];
  bool is_early = one->num_early > 0;
  if (is_early && !line->is_early) line->counts.len = line->traced.len = 0;
  if (!is_early && line->is_early) return;
  line->is_early = is_early;
  *vec_push(arena, &line->traced) = index;
  *vec_push(arena, &line->counts) = count;
  if (one->early.len == 0) return;
  SchedPos first = one->early.data[0], last = one->early.data[one->early.len - 1];
  if (line->first == NO_ID || first < line->first) line->first = first;
  if (line->last == NO_ID || last > line->last) line->last = last;
}
