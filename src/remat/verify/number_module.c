/* Evaluates a module symbolically. The values of the entry's parameters are unknown, and every
 * instruction becomes the number of its expression. Fusions are evaluated inside, calls too if
 * requested, and so is the branch of a conditional that is always taken. Loops, other conditionals
 * and reducers become applications of functions, which are their computations. If requested, a loop
 * without side effects whose trip count is known is evaluated inside, too, as a recurrence
 * (remat/verify/loop.h).
 *
 * The evaluation does not recurse: a stack of frames enters computations and returns from them. */
#include <assert.h>

#include "analysis/flow/backend_config.h"
#include "analysis/flow/call_graph.h"
#include "analysis/flow/side_effect.h"
#include "analysis/flow/traverse.h"
#include "ir/hash.h"
#include "ir/sort.h"
#include "ir/text_buffer.h"
#include "remat/verify/loop.h"
#include "remat/verify/verify_internal.h"

/* The number of evaluated instructions may be this factor times the module's, plus a million. */
enum { MAX_GROWTH = 32, MAX_GROWTH_PLUS = 1000000 };

typedef struct Frame {
  CompId comp;
  uint32_t next;         /* the next instruction to evaluate, in the computation's order */
  ValueNumber *values;   /* by position in that order */
  ValueNumber *args;     /* the values of the parameters; NULL = they are unknown */
  uint32_t first_effect; /* for a function: where its effects begin in Evaluator.effects */
  uint32_t serial;       /* for a function: its serial number */
  bool is_function;      /* the frame evaluates a function, and no caller waits for its result */
  bool keeps_loop;       /* the next instruction is a loop that is no recurrence */
  LoopRun *loop;         /* the frame evaluates the condition or the body of this loop; or NULL */
  uint32_t first_note;   /* for a loop: where its instructions begin in Evaluator.notes */
  uint32_t first_edge;   /* for a loop: where its control dependencies begin in Numbered.edges */
} Frame;

/* An instruction in a loop that was evaluated, and what was known of it before. */
typedef struct Note {
  InstId inst;
  ValueNumber value, value_before;
  bool was_met;
} Note;

/* The number of times that a side effect has occurred in a function. */
typedef struct Occurrence {
  ValueNumber effect; /* without the number of the occurrence */
  uint32_t serial;    /* of the function: others with the same effect may be evaluated in between */
  uint32_t times;
} Occurrence;

typedef struct Evaluator {
  Numbered *numbered;
  Numbering *numbering;
  const Module *module;
  const ShapeId *shapes;  /* imported, by ShapeId */
  uint32_t *texts;        /* by InstId: opcode and attributes; NO_ID = not made yet */
  uint32_t *place;        /* by InstId: position in its computation's order */
  Sequence *orders;       /* by CompId; ids NULL = not made yet */
  ValueNumber *functions; /* by CompId; NO_ID = not known yet */
  VEC(Frame) stack;
  VEC(ValueNumber) effects; /* of the functions that are being evaluated */
  VEC(Occurrence) occurrences;
  IdTable occurrence_table; /* by effect and serial */
  uint32_t num_frames;
  uint64_t num_evaluated, max_evaluated;
  uint32_t *visited;
  bool *is_met;           /* by InstId: has been evaluated before */
  RangeFacts range_facts; /* set if ranges are requested */
  bool *has_effect;       /* by CompId: something in it happens exactly once */
  uint32_t loop_depth;    /* of the frames on the stack */
  VEC(Note) notes;        /* of the instructions in loops */
  Arena *out, *scratch;
} Evaluator;

static uint32_t text_of(Evaluator *evaluator, InstId id) {
  if (evaluator->texts[id] != NO_ID) return evaluator->texts[id];
  ArenaMark mark = arena_mark(evaluator->scratch);
  TextBuffer text = {.arena = evaluator->scratch};
  put_operation(&text, evaluator->module, id, evaluator->numbered->identities);
  if (evaluator->numbered->tags)
    put_rounding(&text, evaluator->module, evaluator->numbered->tags, id);
  evaluator->texts[id] = number_text(evaluator->numbering, text_str(&text));
  arena_reset(evaluator->scratch, mark);
  return evaluator->texts[id];
}

/* ---- side effects ---- */

/* The number of earlier occurrences of the effect in this function. */
static uint32_t times_met(Evaluator *evaluator, ValueNumber effect, uint32_t serial) {
  uint64_t hash = hash_mix(hash_mix(HASH_SEED, effect), serial);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&evaluator->occurrence_table, hash);
       id_probe_next(&probe, &id);) {
    Occurrence *met = &evaluator->occurrences.data[id];
    if (met->effect == effect && met->serial == serial) return met->times++;
  }
  id_table_add(&evaluator->occurrence_table, evaluator->out, hash, evaluator->occurrences.len);
  *vec_push(evaluator->out, &evaluator->occurrences) = (Occurrence){effect, serial, 1};
  return 0;
}

/* Numbers an instruction with a side effect. Its value consists of its identity, of what it reads,
 * and of the number of the occurrence in this function. */
static ValueNumber number_effect(Evaluator *evaluator, const Frame *function, InstId id,
                                 ValueNumber value) {
  const Identities *identities = evaluator->numbered->identities;
  Str name = inst_name(evaluator->module, id);
  if (identities) name = identity_of(identities, name);
  Numbering *numbering = evaluator->numbering;
  ValueNumber args[] = {value, number_text(numbering, name), 0};
  uint32_t kind = number_text(numbering, STR("side effect"));
  ShapeId shape = evaluator->shapes[inst_get(evaluator->module, id)->shape];
  ValueNumber same = number_tagged(numbering, shape, kind, args, 2);
  args[2] = times_met(evaluator, same, function->serial);
  ValueNumber effect = number_tagged(numbering, shape, kind, args, 3);
  *vec_push(evaluator->scratch, &evaluator->effects) = effect;
  return effect;
}

static void sort_effects(const Evaluator *evaluator, ValueNumber *effects, uint32_t count) {
  if (count && !evaluator->numbered->orders_effects) {
    sort_numbers(effects, count);
  }
}

/* ---- instructions ---- */

/* The frame of the function that is being evaluated, where effects are counted. */
static Frame *function_frame(Evaluator *evaluator) {
  uint32_t i = evaluator->stack.len - 1;
  while (!evaluator->stack.data[i].is_function)
    i--;
  return &evaluator->stack.data[i];
}

/* Whether the instruction starts a fusion asynchronously. What it computes is what the fusion
 * computes, so that either may take the place of the other. */
static bool starts_fusion(const Evaluator *evaluator, InstId id) {
  const Module *module = evaluator->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_ASYNC_START || inst->num_callees != 1) return false;
  CompId comp = inst_callees(module, id)[0];
  const Computation *wrapper = comp_get(module, comp);
  return inst_get(module, wrapper->root)->opcode == OPCODE_FUSION &&
         wrapper->params.len == inst->num_operands && !evaluator->has_effect[comp] &&
         str_equal(wrapper->thread, comp_get(module, inst->parent)->thread);
}

static bool is_expanded(const Evaluator *evaluator, InstId id) {
  Opcode opcode = (Opcode)inst_get(evaluator->module, id)->opcode;
  return opcode == OPCODE_FUSION || starts_fusion(evaluator, id) ||
         (opcode == OPCODE_CALL && evaluator->numbered->expands_calls);
}

/* A distinct number for the start of a fusion with this value. */
static ValueNumber number_started(Evaluator *evaluator, InstId id, ValueNumber value) {
  ShapeId shape = evaluator->shapes[inst_get(evaluator->module, id)->shape];
  return number_tagged(evaluator->numbering, shape,
                       number_text(evaluator->numbering, STR("started")), &value, 1);
}

/* The value of the fusion that such a start has begun; NO_ID if it is no such start. */
static ValueNumber started_value(Evaluator *evaluator, ValueNumber start) {
  const Node *node = numbered_node(evaluator->numbering, start);
  bool is_start = node->kind == NODE_TAGGED && node->num_args == 1 &&
                  node->detail == number_text(evaluator->numbering, STR("started"));
  return is_start ? node_args(evaluator->numbering, start)[0] : NO_ID;
}

static const Node *operation_of(const Evaluator *evaluator, ValueNumber value, const char *text) {
  const Node *node = numbered_node(evaluator->numbering, value);
  if (node->kind != NODE_OPERATION) return NULL;
  return str_is(evaluator->numbering->texts.data[node->detail], text) ? node : NULL;
}

/* Whether a scalar of type pred is `(x | 1) != 0`, which is true for every integer x. Protection
 * writes this predicate for a branch that is always taken; XLA does not know that it is. */
static bool is_always_true(const Evaluator *evaluator, ValueNumber value) {
  const Numbering *numbering = evaluator->numbering;
  if (!operation_of(evaluator, value, "compare(, direction=NE")) return false;
  const ValueNumber *sides = node_args(numbering, value);
  if (!operation_of(evaluator, sides[1], "constant(0")) return false;
  if (!operation_of(evaluator, sides[0], "or(")) return false;
  ValueNumber bit = node_args(numbering, sides[0])[1];
  return operation_of(evaluator, bit, "constant(1");
}

/* Whether the instruction is a conditional with two branches whose first one is always taken. */
static bool takes_first_branch(const Evaluator *evaluator, const Frame *frame, InstId id) {
  const Module *module = evaluator->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_CONDITIONAL || inst->num_callees != 2) return false;
  InstId predicate = inst_operand(module, id, 0);
  if (inst_shape(module, predicate)->type != TYPE_PRED) return false;
  return is_always_true(evaluator, frame->values[evaluator->place[predicate]]);
}

static Frame *push_frame(Evaluator *evaluator, CompId comp, ValueNumber *args, bool is_function) {
  if (!evaluator->orders[comp].ids) {
    Sequence order = {.ids = arena_array(evaluator->out, InstId, 1)};
    if (evaluator->numbered->is_in_order) {
      order =
          (Sequence){evaluator->module->ids.data + comp_get(evaluator->module, comp)->insts.begin,
                     comp_num_insts(evaluator->module, comp)};
    } else {
      order = inst_post_order(evaluator->module, comp, evaluator->visited, evaluator->out,
                              evaluator->scratch);
    }
    for (uint32_t i = 0; i < order.len; i++)
      evaluator->place[order.ids[i]] = i;
    evaluator->orders[comp] = order;
  }
  uint32_t len = evaluator->orders[comp].len;
  Frame *frame = vec_push(evaluator->scratch, &evaluator->stack);
  *frame = (Frame){.comp = comp,
                   .values = arena_array(evaluator->scratch, ValueNumber, len),
                   .args = args,
                   .first_effect = evaluator->effects.len,
                   .serial = ++evaluator->num_frames,
                   .is_function = is_function};
  evaluator->num_evaluated += len;
  return frame;
}

/* The operands' numbers, in the scratch arena, with space for `more` numbers after them. */
static ValueNumber *operand_numbers(Evaluator *evaluator, const Frame *frame, InstId id,
                                    uint32_t more) {
  uint32_t count = inst_get(evaluator->module, id)->num_operands;
  ValueNumber *args = arena_array(evaluator->scratch, ValueNumber, (size_t)count + more);
  for (uint32_t i = 0; i < count; i++) {
    args[i] = frame->values[evaluator->place[inst_operand(evaluator->module, id, i)]];
  }
  return args;
}

static ValueNumber number_parameter_of(Evaluator *evaluator, const Frame *frame, InstId id) {
  const Instruction *inst = inst_get(evaluator->module, id);
  if (frame->args) return frame->args[inst->index];
  return number_parameter(evaluator->numbering, evaluator->shapes[inst->shape],
                          (uint32_t)inst->index);
}

static ValueNumber number_convert(Evaluator *evaluator, ShapeId shape, ValueNumber value) {
  Numbering *numbering = evaluator->numbering;
  Terms *terms = evaluator->numbered->terms;
  uint32_t text = number_text(numbering, STR("convert("));
  return terms ? fold_operation(terms, shape, text, &value, 1)
               : number_operation(numbering, shape, text, &value, 1);
}

/* A dynamic-update-slice may convert what it writes, as XLA:TPU lets it; it then writes the value
 * that a convert in front of it would have. */
static void convert_update(Evaluator *evaluator, InstId id, ValueNumber *args) {
  const Module *module = evaluator->module;
  ShapeId shape = converted_part_shape(evaluator->numbering, inst_shape(module, id),
                                       inst_shape(module, inst_operand(module, id, 1)));
  if (shape != NO_ID) args[1] = number_convert(evaluator, shape, args[1]);
}

/* The shape of what a dynamic-slice takes, if it then converts it; NO_ID otherwise. */
static ShapeId shape_before_convert(Evaluator *evaluator, InstId id) {
  const Module *module = evaluator->module;
  if (inst_get(module, id)->opcode != OPCODE_DYNAMIC_SLICE) return NO_ID;
  return converted_part_shape(evaluator->numbering, inst_shape(module, inst_operand(module, id, 0)),
                              inst_shape(module, id));
}

/* ---- what is noted of slices ---- */

/* The number of the iteration that a loop's body is evaluated for. False in the condition. */
static bool iteration_of(const Evaluator *evaluator, const LoopRun *loop, Linear *iteration) {
  if (loop->stage != LOOP_BODY) return false;
  *iteration = loop->is_unrolled
                   ? linear_constant(loop->time)
                   : linear_symbol(number_time(evaluator->numbering, loop->depth, loop->trips));
  return true;
}

/* The iterations of the loops around what is evaluated, the innermost first, as far as they are
 * known: a function is not evaluated for a certain place. `are_all` = there are no others. */
static uint32_t iterations_around(const Evaluator *evaluator, Linear *list, uint32_t max,
                                  bool *are_all) {
  uint32_t count = 0, i = evaluator->stack.len - 1;
  *are_all = false;
  for (; !evaluator->stack.data[i].is_function; i--) {
    const LoopRun *loop = evaluator->stack.data[i].loop;
    if (!loop) continue;
    if (count == max || !iteration_of(evaluator, loop, &list[count])) return count;
    count++;
  }
  *are_all = i == 0;
  return count;
}

enum { MAX_LOOPS_AROUND = 64 };

/* The value with a note that may say something else in another iteration. */
static ValueNumber number_noted(Evaluator *evaluator, ShapeId shape, Str note, ValueNumber value) {
  Linear around[MAX_LOOPS_AROUND];
  bool are_all;
  uint32_t count = iterations_around(evaluator, around, MAX_LOOPS_AROUND, &are_all);
  ValueNumber args[1 + MAX_LOOPS_AROUND] = {value};
  for (uint32_t i = 0; i < count; i++)
    args[1 + i] = number_count(evaluator->numbering, &around[i]);
  TextBuffer text = {.arena = evaluator->scratch};
  text_put(&text, NOTED_BEGIN);
  text_put_str(&text, note);
  uint32_t number = number_text(evaluator->numbering, text_str(&text));
  return number_operation(evaluator->numbering, shape, number, args, 1 + count);
}

/* The iteration that a note counts by; false if it is not known. XLA takes that of a loop that is
 * not there to be 0. */
static bool counted_iteration(const Evaluator *evaluator, const SliceNote *note,
                              Linear *iteration) {
  Linear around[MAX_LOOPS_AROUND];
  bool are_all;
  uint32_t count = iterations_around(evaluator, around, MAX_LOOPS_AROUND, &are_all);
  if (note->loop >= count && !are_all) return false;
  *iteration = note->loop < count ? around[note->loop] : linear_constant(0);
  return true;
}

/* The value of a slice with a note: the value itself if the note holds. The module that was given
 * is as its compiler has noted it, so that there it holds wherever the loop is known. */
static ValueNumber number_slice(Evaluator *evaluator, InstId id, const ValueNumber *args,
                                ValueNumber value) {
  const Module *module = evaluator->module;
  const SliceNote *note = noted_slice(evaluator->numbered->noted, id);
  if (!note) return value;
  bool is_update = inst_get(module, id)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE;
  const Shape *array = inst_shape(module, inst_operand(module, id, 0));
  const Shape *part =
      is_update ? inst_shape(module, inst_operand(module, id, 1)) : inst_shape(module, id);
  Linear iteration;
  bool is_placed = counted_iteration(evaluator, note, &iteration);
  if (noted_slice_holds(note, evaluator->numbering, array, part, args + 1 + is_update,
                        is_placed ? &iteration : NULL))
    return value;
  if (is_placed && evaluator->numbered->trusts_notes) return value;
  if (is_placed && evaluator->numbered->is_stale) evaluator->numbered->is_stale[id] = true;
  ShapeId shape = evaluator->shapes[inst_get(module, id)->shape];
  return number_noted(evaluator, shape, inst_attr_text(module, id, ATTR_BACKEND_CONFIG), value);
}

/* Whether a computation that the instruction calls has notes. */
static bool calls_noted(const Evaluator *evaluator, InstId id) {
  const bool *are_in = evaluator->numbered->noted->are_in;
  if (!are_in) return false;
  for (uint32_t i = 0; i < inst_get(evaluator->module, id)->num_callees; i++) {
    if (are_in[inst_callees(evaluator->module, id)[i]]) return true;
  }
  return false;
}

/* ---- instructions ---- */

/* The number of an instruction that is evaluated without entering a computation. */
static ValueNumber number_inst(Evaluator *evaluator, const Frame *frame, InstId id) {
  const Module *module = evaluator->module;
  const Instruction *inst = inst_get(module, id);
  ShapeId shape = evaluator->shapes[inst->shape];
  Terms *terms = evaluator->numbered->terms;
  if (inst->opcode == OPCODE_PARAMETER) return number_parameter_of(evaluator, frame, id);
  ValueNumber *args = operand_numbers(evaluator, frame, id, inst->num_callees);
  switch (inst->opcode) {
    case OPCODE_TUPLE: return number_tuple(evaluator->numbering, shape, args, inst->num_operands);
    case OPCODE_GET_TUPLE_ELEMENT:
      return number_element(evaluator->numbering, shape, args[0], (uint32_t)inst->index);
    case OPCODE_BITCAST:
    case OPCODE_RESHAPE: {
      bool is_bitcast = inst->opcode == OPCODE_BITCAST;
      ShapeId from = evaluator->shapes[inst_get(module, inst_operand(module, id, 0))->shape];
      if (terms) {
        return fold_reshape(terms, is_bitcast, shape, from, text_of(evaluator, id), args[0]);
      }
      if (is_bitcast) return number_bitcast(evaluator->numbering, shape, from, args[0]);
      break;
    }
    case OPCODE_COPY:
      if (inst_is_converting_copy(module, id)) break;
      return args[0];
    case OPCODE_OPT_BARRIER: return args[0];
    case OPCODE_ASYNC_DONE: {
      ValueNumber value = started_value(evaluator, args[0]);
      if (value != NO_ID) return value;
      break;
    }
    case OPCODE_COPY_DONE: {
      InstId start = inst_operand(module, id, 0);
      if (inst_get(module, start)->opcode != OPCODE_COPY_START) break;
      return frame->values[evaluator->place[inst_operand(module, start, 0)]];
    }
    case OPCODE_DYNAMIC_UPDATE_SLICE: convert_update(evaluator, id, args); break;
    default: break;
  }
  bool has_effect = inst_has_own_counted_effect(module, id);
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    ValueNumber function = evaluator->functions[inst_callees(module, id)[i]];
    args[inst->num_operands + i] = function;
    has_effect |= numbered_node(evaluator->numbering, function)->num_args > 1;
  }
  uint32_t count = inst->num_operands + inst->num_callees, text = text_of(evaluator, id);
  ShapeId cut = shape_before_convert(evaluator, id), made = cut;
  if (cut == NO_ID && inst->opcode == OPCODE_DYNAMIC_SLICE)
    made = copied_part_shape(evaluator->numbering, module, inst_operand(module, id, 0),
                             inst_shape(module, id));
  if (made == NO_ID) made = shape;
  ValueNumber value = terms ? fold_operation(terms, made, text, args, count)
                            : number_operation(evaluator->numbering, made, text, args, count);
  if (cut != NO_ID) value = number_convert(evaluator, shape, value);
  value = number_slice(evaluator, id, args, value);
  if (calls_noted(evaluator, id)) value = number_noted(evaluator, shape, STR("called"), value);
  if (has_effect) {
    value = number_effect(evaluator, function_frame(evaluator), id, value);
  }
  return value;
}

bool forwards_value(Opcode opcode) {
  return opcode_has(opcode, OPF_FREE) || opcode == OPCODE_CONDITIONAL ||
         opcode == OPCODE_OPT_BARRIER;
}

/* If the instruction is a conversion that undoes the one before it, the value before both; NO_ID
 * otherwise. */
static ValueNumber number_undone(const Evaluator *evaluator, const Frame *frame, InstId id) {
  const Module *module = evaluator->module;
  const NumberRanges *ranges = evaluator->numbered->ranges;
  if (!ranges || inst_get(module, id)->opcode != OPCODE_CONVERT) return NO_ID;
  ValueNumber arg = frame->values[evaluator->place[inst_operand(module, id, 0)]];
  return number_ranges_undo(ranges, evaluator->numbering, (ElementType)inst_shape(module, id)->type,
                            arg);
}

static void note_range(Evaluator *evaluator, const Frame *frame, InstId id, ValueNumber value) {
  if (!evaluator->numbered->ranges) return;
  ArenaMark mark = arena_mark(evaluator->scratch);
  const ValueNumber *args = operand_numbers(evaluator, frame, id, 0);
  number_ranges_note(evaluator->numbered->ranges, &evaluator->range_facts, id, value, args);
  arena_reset(evaluator->scratch, mark);
}

/* Records that an instruction has a value. */
static void note_instance(Evaluator *evaluator, InstId id, ValueNumber value) {
  Numbered *numbered = evaluator->numbered;
  while (numbered->example.len <= value) {
    *vec_push(evaluator->out, &numbered->example) = NO_ID;
    *vec_push(evaluator->out, &numbered->num_instances) = 0;
    *vec_push(evaluator->out, &numbered->num_computed) = 0;
  }
  if (numbered->example.data[value] == NO_ID) numbered->example.data[value] = id;
  if (evaluator->loop_depth) {
    *vec_push(evaluator->scratch, &evaluator->notes) =
        (Note){id, value, numbered->value_of[id], evaluator->is_met[id]};
  }
  numbered->value_of[id] = evaluator->is_met[id] ? NO_ID : value;
  evaluator->is_met[id] = true;
  numbered->num_instances.data[value]++;
  Opcode opcode = (Opcode)inst_get(evaluator->module, id)->opcode;
  numbered->num_computed.data[value] += !forwards_value(opcode);
}

/* Records control dependencies. Predecessors with the same value count as one, because inlining
 * merges them. */
static void note_edges(Evaluator *evaluator, const Frame *frame, InstId id, ValueNumber value) {
  Numbered *numbered = evaluator->numbered;
  IdList predecessors = inst_control(evaluator->module, id)->predecessors;
  uint32_t first = numbered->edges.len;
  for (uint32_t i = 0; i < predecessors.len; i++) {
    InstId before = id_list(evaluator->module, predecessors)[i];
    ValueNumber predecessor = frame->values[evaluator->place[before]];
    uint32_t k = first;
    while (k < numbered->edges.len && numbered->edges.data[k].predecessor != predecessor)
      k++;
    if (k < numbered->edges.len) continue;
    *vec_push(evaluator->out, &numbered->edges) = (NumberedEdge){predecessor, value, id};
  }
}

/* A distinct number for a copy, or for a conversion that undoes another one. Such an instruction
 * forwards a value and does not compute it, so its control dependencies must not count for the
 * instructions that compute the value. */
static ValueNumber number_copying(Evaluator *evaluator, InstId id, ValueNumber value) {
  const Module *module = evaluator->module;
  ShapeId from = evaluator->shapes[inst_get(module, inst_operand(module, id, 0))->shape];
  ValueNumber args[] = {value, from};
  return number_tagged(evaluator->numbering, evaluator->shapes[inst_get(module, id)->shape],
                       number_text(evaluator->numbering, STR("copying")), args, 2);
}

/* A distinct number for a fusion with several results. Without it, the fusion would be equal to a
 * tuple of the same values. A rewrite that removes results makes such a tuple more likely. */
static ValueNumber number_returning(Evaluator *evaluator, InstId id, ValueNumber value) {
  ShapeId shape = evaluator->shapes[inst_get(evaluator->module, id)->shape];
  return number_operation(evaluator->numbering, shape,
                          number_text(evaluator->numbering, STR("returning")), &value, 1);
}

/* Sets the value of the instruction that the top frame waits for, and goes on to the next one. */
static void set_value(Evaluator *evaluator, ValueNumber value) {
  Frame *frame = &evaluator->stack.data[evaluator->stack.len - 1];
  InstId id = evaluator->orders[frame->comp].ids[frame->next];
  frame->values[frame->next++] = value;
  frame->keeps_loop = false;
  Opcode opcode = (Opcode)inst_get(evaluator->module, id)->opcode;
  if (opcode == OPCODE_ASYNC_START && starts_fusion(evaluator, id)) {
    value = number_started(evaluator, id, value);
    frame->values[frame->next - 1] = value;
  }
  bool is_copy = opcode == OPCODE_COPY || opcode == OPCODE_COPY_DONE;
  if (is_copy || number_undone(evaluator, frame, id) == value) {
    value = number_copying(evaluator, id, value);
  }
  if (inst_get(evaluator->module, id)->opcode == OPCODE_FUSION &&
      numbered_node(evaluator->numbering, value)->kind == NODE_TUPLE) {
    value = number_returning(evaluator, id, value);
  }
  note_instance(evaluator, id, value);
  if (inst_has_control(evaluator->module, id)) note_edges(evaluator, frame, id, value);
}

/* ---- loops ---- */

static bool is_recurrence(const Evaluator *evaluator, const Frame *frame, InstId id) {
  const Instruction *inst = inst_get(evaluator->module, id);
  if (!evaluator->numbered->terms || frame->keeps_loop) return false;
  if (inst->opcode != OPCODE_WHILE || inst->num_callees != 2 || inst->num_operands != 1) {
    return false;
  }
  const CompId *callees = inst_callees(evaluator->module, id);
  return !evaluator->has_effect[callees[0]] && !evaluator->has_effect[callees[1]];
}

/* Evaluates the loop's condition or body, whichever it needs next. */
static void push_loop(Evaluator *evaluator, LoopRun *loop, InstId id, uint32_t first_note,
                      uint32_t first_edge) {
  ValueNumber *args = arena_array(evaluator->scratch, ValueNumber, 1);
  args[0] = loop_argument(loop);
  const CompId *callees = inst_callees(evaluator->module, id); /* ORDER body, condition */
  CompId comp = callees[loop->stage == LOOP_BODY ? 0 : 1];
  Frame *frame = push_frame(evaluator, comp, args, false);
  frame->loop = loop;
  frame->first_note = first_note;
  frame->first_edge = first_edge;
  evaluator->loop_depth++;
}

/* Begins to evaluate a loop. False if it is none that can be evaluated. */
static bool begin_loop(Evaluator *evaluator, const Frame *frame, InstId id) {
  Numbered *numbered = evaluator->numbered;
  const Module *module = evaluator->module;
  CompId body = inst_callees(module, id)[0];
  ValueNumber first = frame->values[evaluator->place[inst_operand(module, id, 0)]];
  LoopRun *loop =
      loop_begin(numbered->terms, evaluator->shapes[inst_get(module, id)->shape], first,
                 numbered->guessed_functions[body], evaluator->loop_depth + 1, evaluator->scratch);
  if (loop->stage == LOOP_OPAQUE) return false;
  push_loop(evaluator, loop, id, evaluator->notes.len, numbered->edges.len);
  return true;
}

/* Forgets the instructions in a loop, which will be evaluated in another way. */
static void take_back(Evaluator *evaluator, uint32_t first_note, uint32_t first_edge) {
  Numbered *numbered = evaluator->numbered;
  while (evaluator->notes.len > first_note) {
    Note note = evaluator->notes.data[--evaluator->notes.len];
    Opcode opcode = (Opcode)inst_get(evaluator->module, note.inst)->opcode;
    numbered->value_of[note.inst] = note.value_before;
    evaluator->is_met[note.inst] = note.was_met;
    numbered->num_instances.data[note.value]--;
    numbered->num_computed.data[note.value] -= !forwards_value(opcode);
  }
  numbered->edges.len = first_edge;
}

/* Gives the instructions in a loop the values that they have by the number of the iteration alone,
 * so that these can be compared with the values in another module. */
static void restate(Evaluator *evaluator, LoopRun *loop, uint32_t first_note, uint32_t first_edge) {
  Numbered *numbered = evaluator->numbered;
  ArenaMark mark = arena_mark(evaluator->scratch);
  Substitution substitution = loop_values_at_time(loop);
  uint32_t num_notes = evaluator->notes.len;
  Note *notes = arena_array(evaluator->scratch, Note, num_notes - first_note);
  if (num_notes > first_note) {
    memcpy(notes, evaluator->notes.data + first_note, (num_notes - first_note) * sizeof *notes);
  }
  uint32_t num_edges = numbered->edges.len;
  take_back(evaluator, first_note, first_edge);
  for (uint32_t i = 0; i < num_notes - first_note; i++) {
    ValueNumber value = substitute(&substitution, notes[i].value);
    note_instance(evaluator, notes[i].inst, value);
  }
  for (uint32_t i = first_edge; i < num_edges; i++) {
    NumberedEdge *edge = &numbered->edges.data[i];
    edge->predecessor = substitute(&substitution, edge->predecessor);
    edge->successor = substitute(&substitution, edge->successor);
  }
  numbered->edges.len = num_edges;
  arena_reset(evaluator->scratch, mark);
}

/* The value of a loop that is done. Of a loop whose number of iterations is noted, XLA does not
 * compute the condition. */
static ValueNumber number_loop(Evaluator *evaluator, const LoopRun *loop, InstId id) {
  int64_t noted = backend_config_trips(evaluator->module, id);
  if (noted < 0 || noted == loop->trips || evaluator->numbered->trusts_notes) return loop->result;
  ShapeId shape = evaluator->shapes[inst_get(evaluator->module, id)->shape];
  return number_noted(evaluator, shape, STR("trips"), loop->result);
}

/* Goes on with a loop whose condition or body has the value `root`. */
static void continue_loop(Evaluator *evaluator, const Frame *frame, ValueNumber root) {
  LoopRun *loop = frame->loop;
  Frame *caller = &evaluator->stack.data[evaluator->stack.len - 1];
  InstId id = evaluator->orders[caller->comp].ids[caller->next];
  uint32_t first_note = frame->first_note, first_edge = frame->first_edge;
  bool was_condition = loop->stage == LOOP_CONDITION;
  loop_take(loop, root);
  evaluator->loop_depth--;
  if (loop->stage == LOOP_DONE && !was_condition && evaluator->numbered->restates &&
      !loop->is_unrolled) {
    restate(evaluator, loop, first_note, first_edge);
  }
  if (evaluator->loop_depth == 0 && loop->stage == LOOP_DONE) evaluator->notes.len = first_note;
  switch (loop->stage) {
    case LOOP_DONE: set_value(evaluator, number_loop(evaluator, loop, id)); return;
    case LOOP_OPAQUE:
      take_back(evaluator, first_note, first_edge);
      caller->keeps_loop = true;
      return;
    case LOOP_CONDITION: take_back(evaluator, first_note, first_edge); break;
    case LOOP_BODY: break;
  }
  push_loop(evaluator, loop, id, first_note, first_edge);
}

/* ---- frames ---- */

/* Removes the top frame, whose computation has been evaluated: it is a function, or it gives the
 * value of a call. */
static void finish_frame(Evaluator *evaluator) {
  Frame frame = evaluator->stack.data[--evaluator->stack.len];
  ValueNumber root = frame.values[evaluator->place[comp_get(evaluator->module, frame.comp)->root]];
  if (frame.loop) {
    continue_loop(evaluator, &frame, root);
    return;
  }
  if (!frame.is_function) {
    set_value(evaluator, root);
    return;
  }
  uint32_t count = evaluator->effects.len - frame.first_effect;
  ValueNumber *args = arena_array(evaluator->scratch, ValueNumber, (size_t)count + 1);
  args[0] = root;
  if (count) memcpy(args + 1, evaluator->effects.data + frame.first_effect, count * sizeof *args);
  sort_effects(evaluator, args + 1, count);
  evaluator->functions[frame.comp] = number_function(
      evaluator->numbering, comp_get(evaluator->module, frame.comp)->params.len, args, count + 1);
  if (evaluator->stack.len == 0) { /* the entry computation */
    evaluator->numbered->root = root;
    ValueNumber *room = vec_extend(evaluator->out, &evaluator->numbered->effects, count);
    if (count) memcpy(room, args + 1, count * sizeof *room);
  }
  evaluator->effects.len = frame.first_effect;
}

/* A called computation whose function is not known yet; NO_ID if all are known. */
static CompId unknown_callee(const Evaluator *evaluator, InstId id) {
  for (uint32_t i = 0; i < inst_get(evaluator->module, id)->num_callees; i++) {
    CompId callee = inst_callees(evaluator->module, id)[i];
    if (evaluator->functions[callee] == NO_ID) return callee;
  }
  return NO_ID;
}

static void step(Evaluator *evaluator) {
  Frame *frame = &evaluator->stack.data[evaluator->stack.len - 1];
  if (frame->next == evaluator->orders[frame->comp].len) {
    finish_frame(evaluator);
    return;
  }
  InstId id = evaluator->orders[frame->comp].ids[frame->next];
  if (is_expanded(evaluator, id)) {
    ValueNumber *args = operand_numbers(evaluator, frame, id, 0);
    push_frame(evaluator, inst_callees(evaluator->module, id)[0], args, false);
    return;
  }
  if (takes_first_branch(evaluator, frame, id)) {
    ValueNumber *args = operand_numbers(evaluator, frame, id, 0);
    push_frame(evaluator, inst_callees(evaluator->module, id)[0], args + 1, false);
    return;
  }
  if (is_recurrence(evaluator, frame, id)) {
    if (begin_loop(evaluator, frame, id)) return;
    evaluator->stack.data[evaluator->stack.len - 1].keeps_loop = true;
  }
  CompId callee = unknown_callee(evaluator, id);
  if (callee != NO_ID) {
    push_frame(evaluator, callee, NULL, true);
    return;
  }
  ValueNumber value = number_undone(evaluator, frame, id);
  if (value == NO_ID) {
    value = number_inst(evaluator, frame, id);
    note_range(evaluator, frame, id, value);
  }
  set_value(evaluator, value);
}

/* Finds what is counted, in computations and in all that they call. */
static void find_effects(Evaluator *evaluator) {
  const Module *module = evaluator->module;
  evaluator->has_effect = arena_zarray(evaluator->scratch, bool, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      evaluator->has_effect[comp] |=
          inst_has_own_counted_effect(module, comp_inst(module, comp, k));
    }
  }
  comps_mark_callers(module, evaluator->has_effect, evaluator->scratch);
}

static void fill(uint32_t *array, size_t count) {
  if (count) memset(array, 0xff, count * sizeof *array);
}

void number_module(Numbered *numbered, Numbering *numbering, Arena *out, Arena *scratch) {
  const Module *module = numbered->module;
  uint32_t num_insts = module->insts.len, num_comps = module->comps.len;
  ArenaMark mark = arena_mark(scratch);
  Evaluator evaluator = {
      .numbered = numbered,
      .numbering = numbering,
      .module = module,
      .shapes = numbering_import_shapes(numbering, module, out),
      .texts = arena_array(scratch, uint32_t, num_insts),
      .place = arena_array(scratch, uint32_t, num_insts),
      .orders = arena_zarray(scratch, Sequence, num_comps),
      .functions = arena_array(out, ValueNumber, num_comps),
      .visited = arena_array(scratch, uint32_t, num_insts),
      .is_met = arena_zarray(scratch, bool, num_insts),
      .max_evaluated = (uint64_t)num_insts * MAX_GROWTH + MAX_GROWTH_PLUS,
      .out = out,
      .scratch = scratch,
  };
  if (numbered->ranges) evaluator.range_facts = range_facts_begin(module, out, scratch);
  numbered->value_of = arena_array(out, ValueNumber, num_insts);
  fill(numbered->value_of, num_insts);
  fill(evaluator.texts, num_insts);
  fill(evaluator.functions, num_comps);
  find_effects(&evaluator);
  push_frame(&evaluator, module->entry, NULL, true);
  while (evaluator.stack.len && !numbered->is_too_large) {
    step(&evaluator);
    numbered->is_too_large = evaluator.num_evaluated > evaluator.max_evaluated;
  }
  numbered->functions = evaluator.functions;
  arena_reset(scratch, mark);
}
