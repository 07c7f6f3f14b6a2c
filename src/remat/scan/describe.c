#include "remat/scan/describe.h"

#include <stdlib.h>

#include "ir/source_place.h"
#include "remat/scan/segment.h"

int64_t scan_stack_bytes(const ScanModule *scans, uint32_t stack) {
  const Module *module = scans->context.module;
  const Shape *shape = shape_get(&module->shapes, scans->stacks.list.data[stack].shape);
  int64_t bytes = target_device_bytes(module->backend.target, shape);
  return bytes > 0 ? bytes : 0;
}

/* The value that a stack stores; NO_ID if the stack is left alone. */
static uint32_t value_of_stack(const ScanValues *values, uint32_t stack) {
  return values->of_stack[stack - values->stacks->first_of[values->loop]];
}

static bool is_stored(const ScanValues *values, const ScanChoice *choice, uint32_t stack) {
  uint32_t value = value_of_stack(values, stack);
  if (value == NO_ID || values->stacks->list.data[stack].is_read_whole) return true;
  return choice->fate[value] == SCAN_STORED && values->list.data[value].stack == stack;
}

/* ---- reasons ---- */

/* Whether the loop's result for this stack is one of its computation's results. */
static bool is_result(const ScanModule *scans, const Stack *stack) {
  const Module *module = scans->context.module;
  const Loop *loop = &scans->loops.list[stack->loop];
  InstId root = comp_get(module, loop->parent)->root;
  uint32_t count =
      inst_get(module, root)->opcode == OPCODE_TUPLE ? inst_get(module, root)->num_operands : 0;
  for (uint32_t i = 0; i < count; i++) {
    Origin origin = loop_origin(&scans->loops, inst_operand(module, root, i));
    if (origin.inst == loop->id && origin.element == stack->element) return true;
  }
  return false;
}

/* Why no reading loop could compute the value for itself. */
static ScanReason reason_of_unused(const ScanModule *scans, const Stack *stack) {
  const Loops *loops = &scans->loops;
  if (stack->reads.len == 0) return (ScanReason){"no-later-use", "no loop reads it"};
  if (stack->writes.len != 1)
    return (ScanReason){"several-writes", "several instructions of the loop write it"};
  for (uint32_t i = 0; i < stack->reads.len; i++) {
    const StackRead *read = &scans->stacks.reads.data[stack->reads.data[i]];
    if (loops->list[read->loop].parent != loops->list[stack->loop].parent)
      return (ScanReason){"other-computation", "a loop in another computation reads it"};
  }
  return (ScanReason){"order", "a loop reads it in an order that does not follow from its counter"};
}

/* Why what is stored is not computed again: for an element of what a loop or a call gives, why that
 * does not run again. */
static KeepReason reason_of_stored(const Module *module, const ScanValues *values,
                                   uint32_t number) {
  const ScanValue *value = &values->list.data[number];
  while (value->verdict == KEEP_NONE && value->operands.len && value->inner == NO_ID &&
         value->operands.data[0] != NO_ID &&
         opcode_has((Opcode)inst_get(module, value->inst)->opcode, OPF_PASS_THROUGH))
    value = &values->list.data[value->operands.data[0]];
  return value->verdict == KEEP_NONE ? KEEP_OPERANDS_LARGER : value->verdict;
}

ScanReason scan_reason(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                       uint32_t index) {
  const Stack *stack = &scans->stacks.list.data[index];
  if (stack->is_read_whole) {
    return is_result(scans, stack)
               ? (ScanReason){"live-out", "a result of its computation"}
               : (ScanReason){"read-whole",
                              "read as a whole, too, not only slice by slice by loops"};
  }
  if (!is_stored(values, choice, index)) return (ScanReason){"none", "can be recomputed"};
  uint32_t value = value_of_stack(values, index);
  if (value == NO_ID) return reason_of_unused(scans, stack);
  KeepReason verdict = reason_of_stored(scans->context.module, values, value);
  return (ScanReason){keep_reason_name(verdict), keep_reason_sentence(verdict)};
}

ScanReason scan_reason_of_while(const Module *module, InstId id) {
  int64_t trips = while_trip_count(module, id);
  if (trips < 0) return (ScanReason){"unknown-trips", "the number of its iterations is unknown"};
  if (trips > MAX_LISTED_TRIPS)
    return (ScanReason){"many-trips", "it has too many iterations to follow each of them"};
  return (ScanReason){"form", "its state is not taken apart element by element"};
}

/* ---- places ---- */

IdVec scan_readers(const ScanModule *scans, uint32_t loop, Arena *out) {
  IdVec readers = {0};
  const Stacks *stacks = &scans->stacks;
  for (uint32_t i = stacks->first_of[loop]; i < stacks->first_of[loop + 1]; i++) {
    for (uint32_t k = 0; k < stacks->list.data[i].reads.len; k++) {
      uint32_t reader = stacks->reads.data[stacks->list.data[i].reads.data[k]].loop;
      InstId id = scans->loops.list[reader].id;
      bool is_known = false;
      for (uint32_t r = 0; r < readers.len; r++)
        is_known |= readers.data[r] == id;
      if (!is_known) *vec_push(out, &readers) = id;
    }
  }
  return readers;
}

static bool has_place(const Module *module, InstId id) {
  SourcePlace place = source_place_of(module, id);
  return place.file.len > 0 || place.op_name.len > 0;
}

/* The dynamic-update-slice itself. */
static InstId writer_of(const Module *module, const StackWrite *write) {
  for (uint32_t i = 0; i < inst_get(module, write->update)->users.len; i++) {
    InstId user = inst_users(module, write->update)[i];
    if (inst_get(module, user)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE) return user;
  }
  return write->inst;
}

InstId scan_place_of_stack(const ScanModule *scans, const ScanValues *values, uint32_t index) {
  const Module *module = scans->context.module;
  const StackWrite *write = &scans->stacks.list.data[index].writes.data[0];
  uint32_t value = value_of_stack(values, index);
  const ScanValue *stored = value == NO_ID ? NULL : &values->list.data[value];
  InstId next = write->inst; /* what computes an element of the state, for the next iteration */
  if (stored && stored->kind == SCAN_STATE) {
    next = loop_next(&scans->loops, &scans->loops.list[values->loop], stored->element);
    for (InstId from; (from = copied_operand(module, next)) != NO_ID;)
      next = from;
  }
  InstId places[] = {stored && stored->inner != NO_ID ? stored->inner : write->update,
                     stored ? stored->inst : write->update,
                     write->update,
                     writer_of(module, write),
                     next,
                     write->inst};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    if (has_place(module, places[i])) return places[i];
  }
  return write->inst;
}

InstId scan_place_of_loop(const ScanModule *scans, const ScanValues *values) {
  const Module *module = scans->context.module;
  const Stacks *stacks = &scans->stacks;
  InstId id = scans->loops.list[values->loop].id;
  for (uint32_t i = stacks->first_of[values->loop]; i < stacks->first_of[values->loop + 1]; i++) {
    if (has_place(module, id)) break;
    id = scan_place_of_stack(scans, values, i);
  }
  return id;
}

/* ---- the record of a choice ---- */

void scan_describe(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                   ScanStep *step, Arena *out) {
  const Module *module = scans->context.module;
  const Stacks *stacks = &scans->stacks;
  int64_t before = 0;
  step->stored_bytes = 0;
  step->num_freed = 0;
  for (uint32_t i = stacks->first_of[values->loop]; i < stacks->first_of[values->loop + 1]; i++) {
    bool stays = is_stored(values, choice, i);
    before += scan_stack_bytes(scans, i);
    step->num_freed += !stays;
    if (stays) step->stored_bytes += scan_stack_bytes(scans, i);
  }
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    if (choice->fate[i] == SCAN_STORED && value->stack == NO_ID) step->stored_bytes += value->bytes;
  }
  step->freed_bytes = before - step->stored_bytes;
  IdVec readers = scan_readers(scans, values->loop, out);
  for (uint32_t i = 0; i < readers.len; i++)
    *vec_push(out, &step->readers.list) = plan_ref_to(inst_name(module, readers.data[i]), out);
  SourcePlace place = source_place_of(module, scan_place_of_loop(scans, values));
  step->source_file = plan_ref_to(place.file, out).name;
  step->source_line = place.line;
}

ScanStep scan_record_unrolled(const ScanModule *scans, const IdVec *loops, uint32_t index,
                              Arena *out) {
  const Module *module = scans->context.module;
  const Loop *loop = &scans->loops.list[index];
  const Stacks *stacks = &scans->stacks;
  ScanStep step = {.loop = plan_ref_to(inst_name(module, loop->id), out),
                   .is_unrolled = true,
                   .num_iterations = loop->trips};
  for (uint32_t i = stacks->first_of[index]; i < stacks->first_of[index + 1]; i++) {
    step.num_freed++;
    step.freed_bytes += scan_stack_bytes(scans, i);
  }
  for (uint32_t i = 0; i < loops->len; i++) {
    InstId other = scans->loops.list[loops->data[i]].id;
    if (other != loop->id && inst_get(module, other)->parent == loop->parent)
      *vec_push(out, &step.readers.list) = plan_ref_to(inst_name(module, other), out);
  }
  SourcePlace place = source_place_of(module, loop->id);
  step.source_file = plan_ref_to(place.file, out).name;
  step.source_line = place.line;
  return step;
}

/* The elements that each segment begins with are stacked; the stacks that are cut keep the slices
 * of a segment. */
void scan_describe_segments(const ScanModule *scans, const ScanValues *values, int64_t length,
                            ScanStep *step, Arena *out) {
  const Module *module = scans->context.module;
  const Stacks *stacks = &scans->stacks;
  const Loop *loop = &scans->loops.list[values->loop];
  const Shape *state = inst_shape(module, loop->id);
  int64_t num_segments = loop->trips / length, state_bytes = 0, before = 0, kept = 0;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    const Shape *element = shape_get(&module->shapes, state->elements[e]);
    int64_t bytes = target_device_bytes(module->backend.target, element);
    if (stacks_is_state(stacks, values->loop, e) && bytes > 0) state_bytes += bytes;
  }
  step->num_freed = 0;
  ScanCut cut = scan_cut_find(values);
  for (uint32_t i = stacks->first_of[values->loop]; i < stacks->first_of[values->loop + 1]; i++) {
    bool is_cut = scan_is_cut(values, &cut, i);
    int64_t bytes = scan_stack_bytes(scans, i);
    before += bytes;
    kept += is_cut ? bytes / loop->trips * length : bytes;
    step->num_freed += is_cut;
  }
  InstId reader = scans->loops.list[cut.read->loop].id;
  step->readers = (PlanRefs){0};
  *vec_push(out, &step->readers.list) = plan_ref_to(inst_name(module, reader), out);
  step->segment = length;
  step->num_segments = num_segments;
  step->stored_bytes = kept + state_bytes * num_segments;
  step->freed_bytes = before - step->stored_bytes;
}
