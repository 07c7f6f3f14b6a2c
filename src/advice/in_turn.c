/* Advice on parts of the program that do not need each other, such as microbatches or heads in a
 * loop of Python: nothing says in which order they run, and XLA may begin all of them before it
 * ends the first. A barrier in the program has them run one after the other. Simulated by that
 * order.
 *
 * The parts are told by an operation that each of them has: the one whose results take most of the
 * peak. What depends on one of its instructions alone is of that part, on a lane; what depends on
 * several joins them, and behind it lanes begin anew, as the heads of the next layer do. An
 * instruction has a key that is no less than those of what it depends on, and the order is that of
 * the keys. O(instructions * log instructions). */
#include "advice/in_turn.h"

#include <stdlib.h>

#include "advice/cloning.h"
#include "advice/frames.h"
#include "advice/sample_gradients.h"
#include "emit/human.h"
#include "remat/algorithms/forward_end.h"
#include "remat/rewrite/rewrite.h"

enum {
  MAX_CLASSES = 2,  /* operations that are tried */
  LEAST_SHARE = 10, /* of the peak: less is no reason to change the program */
};

/* An operation of the program, of which there are several instructions. */
typedef struct OpClass {
  InstId first;
  int64_t live_bytes;
  uint32_t num_live;
} OpClass;

typedef struct Lanes {
  const Module *module;
  CompId comp;
  Sequence sequence;
  const OpClass *op_class;
  uint32_t *epoch;        /* by InstId: how many times lanes have been joined before */
  uint32_t *lane;         /* by InstId: NO_ID = it depends on no lane, or on joined ones */
  bool *is_end;           /* by InstId: it joins lanes, or adds one to what was joined */
  int64_t *key;           /* by InstId */
  const bool *is_product; /* by InstId */
  uint32_t *depth;        /* by InstId: the most products in turn that lead to it */
  uint32_t *first_depth;  /* by epoch: that of its first lane */
  uint32_t *num_lanes;    /* by epoch */
  InstId join;            /* the first instruction that joins lanes; NO_ID = none */
  bool is_one_gradient;   /* a derivative joins them */
  bool is_uneven;         /* the lanes are layers, of which some begin behind more products */
} Lanes;

static bool is_same_op(const Module *module, InstId a, InstId b) {
  const Metadata *of_a = inst_metadata(module, a), *of_b = inst_metadata(module, b);
  return of_a && of_b && inst_get(module, a)->shape == inst_get(module, b)->shape &&
         of_a->stack_frame_id == of_b->stack_frame_id && inst_op_name(module, a).len > 0 &&
         str_equal(inst_op_name(module, a), inst_op_name(module, b));
}

/* ---- classes ---- */

static int by_bytes(const void *pa, const void *pb) {
  const OpClass *a = pa, *b = pb;
  if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

typedef VEC(OpClass) OpClassVec;

/* The operations of which several results live at the peak, the largest first. */
static OpClassVec find_classes(const Advisor *advisor, CompId comp, Arena *out) {
  enum { MAX_KNOWN = 256 };
  const Module *module = advisor->module;
  OpClassVec classes = {0};
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    if (inst_get(module, live->inst)->parent != comp || live->bytes == 0) continue;
    uint32_t c = 0;
    while (c < classes.len && !is_same_op(module, classes.data[c].first, live->inst))
      c++;
    if (c == MAX_KNOWN) continue;
    if (c == classes.len) *vec_push(out, &classes) = (OpClass){.first = live->inst};
    classes.data[c].live_bytes += live->bytes;
    classes.data[c].num_live++;
  }
  if (classes.len) qsort(classes.data, classes.len, sizeof *classes.data, by_bytes);
  return classes;
}

/* ---- lanes ---- */

/* Takes the lane of what an instruction depends on. Returns whether that joins two. */
static bool take(Lanes *lanes, InstId id, InstId from) {
  if (inst_get(lanes->module, from)->parent != lanes->comp) return false;
  uint32_t *epoch = &lanes->epoch[id], *lane = &lanes->lane[id];
  uint32_t depth = lanes->depth[from] + lanes->is_product[from];
  if (depth > lanes->depth[id]) lanes->depth[id] = depth;
  uint32_t other_epoch = lanes->epoch[from], other = lanes->lane[from];
  if (lanes->key[from] > lanes->key[id]) lanes->key[id] = lanes->key[from];
  bool is_later = other_epoch > *epoch;
  lanes->is_end[id] |= is_later ? *lane != NO_ID : other_epoch < *epoch && other != NO_ID;
  if (is_later) {
    *epoch = other_epoch;
    *lane = other;
  } else if (other_epoch == *epoch && other != NO_ID) {
    if (*lane != NO_ID && *lane != other) return true;
    *lane = other;
  }
  return false;
}

/* Contributions of parts to one gradient. The parts are in one differentiated function then, whose
 * forward part comes before all of its backward part, and a barrier between them changes nothing.
 */
static bool is_transposed_sum(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_ADD &&
         str_contains(inst_op_name(module, id), "transpose(");
}

static void add_inst(Lanes *lanes, InstId id) {
  const Module *module = lanes->module;
  const Instruction *inst = inst_get(module, id);
  IdList control = inst_control(module, id)->predecessors;
  bool is_join = false;
  for (uint32_t i = 0; i < inst->num_operands; i++)
    is_join |= take(lanes, id, inst_operand(module, id, i));
  for (uint32_t i = 0; i < control.len; i++)
    is_join |= take(lanes, id, id_list(module, control)[i]);
  if (is_join) {
    lanes->epoch[id]++;
    lanes->lane[id] = NO_ID;
    lanes->is_end[id] = true;
    lanes->is_one_gradient |= inst_any_fused(module, id, is_transposed_sum);
    return;
  }
  if (lanes->lane[id] != NO_ID || !is_same_op(module, id, lanes->op_class->first)) return;
  uint32_t epoch = lanes->epoch[id], depth = lanes->depth[id];
  if (lanes->num_lanes[epoch] == 0) lanes->first_depth[epoch] = depth;
  lanes->is_uneven |= depth != lanes->first_depth[epoch];
  lanes->lane[id] = lanes->num_lanes[epoch]++;
  int64_t key = (int64_t)epoch * lanes->sequence.len + lanes->lane[id] + 1;
  if (key > lanes->key[id]) lanes->key[id] = key;
}

/* What lanes need and is none of them comes as late as they need it. */
static void postpone(Lanes *lanes) {
  const Module *module = lanes->module;
  for (SchedPos pos = lanes->sequence.len; pos-- > 0;) {
    InstId id = lanes->sequence.ids[pos];
    const Instruction *inst = inst_get(module, id);
    IdList control = inst_control(module, id)->successors;
    if (lanes->lane[id] != NO_ID || lanes->is_end[id]) continue;
    if (inst_is_root(module, id) || inst->users.len + control.len == 0) continue;
    int64_t key = INT64_MAX;
    for (uint32_t i = 0; i < inst->users.len; i++) {
      int64_t other = lanes->key[inst_users(module, id)[i]];
      if (other < key) key = other;
    }
    for (uint32_t i = 0; i < control.len; i++) {
      int64_t other = lanes->key[id_list(module, control)[i]];
      if (other < key) key = other;
    }
    lanes->key[id] = key;
  }
}

/* The most lanes that there are at once. */
static uint32_t find_lanes(Lanes *lanes, Arena *arena, Arena *scratch) {
  uint32_t count = lanes->module->insts.len, most = 0;
  lanes->epoch = arena_zarray(arena, uint32_t, count);
  lanes->lane = arena_array(arena, uint32_t, count);
  lanes->is_end = arena_zarray(arena, bool, count);
  lanes->key = arena_zarray(arena, int64_t, count);
  lanes->is_product = find_heavy(lanes->module, arena, scratch);
  lanes->depth = arena_zarray(arena, uint32_t, count);
  lanes->first_depth = arena_zarray(arena, uint32_t, (size_t)lanes->sequence.len + 1);
  lanes->num_lanes = arena_zarray(arena, uint32_t, (size_t)lanes->sequence.len + 1);
  memset(lanes->lane, 0xff, count * sizeof *lanes->lane);
  for (SchedPos pos = 0; pos < lanes->sequence.len; pos++)
    add_inst(lanes, lanes->sequence.ids[pos]);
  lanes->key[comp_get(lanes->module, lanes->comp)->root] = INT64_MAX;
  for (uint32_t epoch = 0; epoch <= lanes->sequence.len; epoch++) {
    if (lanes->num_lanes[epoch] > most) most = lanes->num_lanes[epoch];
  }
  if (most > 1) postpone(lanes);
  return most;
}

/* The number of parts that this operation tells; 0 if they are something else. */
static uint32_t find_parts(const Advisor *advisor, CompId comp, const OpClass *op_class,
                           Lanes *lanes, Arena *arena) {
  *lanes = (Lanes){.module = advisor->module,
                   .comp = comp,
                   .sequence = advisor->schedule->of[comp],
                   .op_class = op_class};
  uint32_t count = find_lanes(lanes, arena, advisor->scratch);
  return lanes->is_one_gradient || lanes->is_uneven ? 0 : count;
}

/* ---- order ---- */

typedef struct Placed {
  int64_t key;
  SchedPos pos;
} Placed;

static int by_key(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

static Sequence order_by_keys(const Lanes *lanes, Arena *out, Arena *arena) {
  Sequence old = lanes->sequence, sequence = {.ids = arena_array(out, InstId, old.len)};
  Placed *placed = arena_array(arena, Placed, old.len);
  for (SchedPos pos = 0; pos < old.len; pos++)
    placed[pos] = (Placed){lanes->key[old.ids[pos]], pos};
  qsort(placed, old.len, sizeof *placed, by_key);
  for (SchedPos pos = 0; pos < old.len; pos++)
    sequence.ids[sequence.len++] = old.ids[placed[pos].pos];
  return sequence;
}

/* ---- sums ---- */

/* What a fusion adds up besides the result of one part, and what holds it until it is added. */
typedef struct Added {
  InstId value, helper;
} Added;

typedef VEC(Added) AddedVec;

/* Whether an operand of a sum is a result of a part, as large as the sum. */
static bool is_result(const Lanes *lanes, InstId operand, const Shape *sum) {
  const Module *module = lanes->module;
  const Shape *shape = inst_shape(module, operand);
  return inst_get(module, operand)->parent == lanes->comp && lanes->lane[operand] != NO_ID &&
         shape_is_array(sum) && shape_is_array(shape) && shape->num_elements == sum->num_elements;
}

static bool is_held(const AddedVec *added, InstId value) {
  for (uint32_t i = 0; i < added->len; i++) {
    if (added->data[i].value == value) return true;
  }
  return false;
}

/* Makes a sum read the first of the parts' results only. */
static void add_to_first(const Lanes *lanes, Rewrite *rewrite, InstId sum, InstId first,
                         AddedVec *added, Arena *arena) {
  const Module *before = lanes->module;
  for (uint32_t i = 0; i < inst_get(before, sum)->num_operands; i++) {
    InstId operand = inst_operand(before, sum, i);
    bool is_other = operand != first && inst_get(before, operand)->parent == lanes->comp &&
                    lanes->lane[operand] != NO_ID &&
                    inst_get(before, operand)->shape == inst_get(before, first)->shape &&
                    lanes->lane[operand] != lanes->lane[first];
    if (!is_other) continue;
    rewrite_set_operand(rewrite, sum, i, first);
    if (!is_held(added, operand))
      *vec_push(arena, added) = (Added){operand, cloning_hold(rewrite, operand, operand)};
  }
}

/* The sequence with helpers behind what they hold. */
static Sequence with_helpers(Sequence old, const AddedVec *added, const Module *module, Arena *out,
                             Arena *arena) {
  InstId *helper_of = arena_array(arena, InstId, module->insts.len);
  memset(helper_of, 0xff, module->insts.len * sizeof *helper_of);
  for (uint32_t i = 0; i < added->len; i++)
    helper_of[added->data[i].value] = added->data[i].helper;
  Sequence sequence = {.ids = arena_array(out, InstId, old.len + added->len)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    sequence.ids[sequence.len++] = old.ids[pos];
    InstId helper = helper_of[old.ids[pos]];
    if (helper != NO_ID) sequence.ids[sequence.len++] = helper;
  }
  return sequence;
}

/* A fusion that adds up a result of each part, such as the gradients of microbatches, would keep
 * all of them. Behind a barrier each is added when it is there, in the memory of the first one: so
 * it reads the first one only, and the others live until they are made. Returns whether a fusion
 * was changed. */
static bool add_up_in_turn(const Lanes *lanes, rh_module *made, Arena *arena) {
  const Module *before = lanes->module;
  Rewrite rewrite = rewrite_begin(made->module);
  AddedVec added = {0};
  for (SchedPos pos = 0; pos < lanes->sequence.len; pos++) {
    InstId id = lanes->sequence.ids[pos], first = NO_ID;
    if (inst_get(before, id)->opcode != OPCODE_FUSION || !lanes->is_end[id]) continue;
    const Shape *sum = inst_shape(before, id);
    for (uint32_t i = 0; i < inst_get(before, id)->num_operands; i++) {
      InstId operand = inst_operand(before, id, i);
      if (!is_result(lanes, operand, sum)) continue;
      if (first == NO_ID || lanes->key[operand] < lanes->key[first]) first = operand;
    }
    if (first != NO_ID) add_to_first(lanes, &rewrite, id, first, &added, arena);
  }
  Sequence *sequence = &made->schedule.of[lanes->comp];
  if (added.len) *sequence = with_helpers(*sequence, &added, made->module, made->arena, arena);
  return added.len > 0;
}

/* ---- advice ---- */

/* The frame of the loop: the innermost one of a part's operation whose function also has operations
 * of the parts, or of what joins them, that are in no function called from there; 0 = unknown. */
static int32_t frame_of_loop(const Lanes *lanes, Arena *scratch) {
  enum { MAX_LOOKED_AT = 4096 };
  int32_t found = 0;
  uint32_t least = UINT32_MAX;
  for (SchedPos pos = 0, count = 0; pos < lanes->sequence.len && count < MAX_LOOKED_AT; pos++) {
    InstId id = lanes->sequence.ids[pos];
    if (lanes->lane[id] == NO_ID && !lanes->is_end[id]) continue;
    uint32_t depth;
    int32_t number = frame_in_common(lanes->module, lanes->op_class->first, id, &depth, scratch);
    count++;
    if (number == 0 || depth >= least) continue;
    least = depth;
    found = number;
  }
  return found;
}

static SourcePlace place_of(Advisor *advisor, const Lanes *lanes) {
  SourcePlace place = advisor_place(advisor, lanes->op_class->first);
  SourceFrame frame;
  int32_t number = frame_of_loop(lanes, advisor->scratch);
  if (number != 0) number = frame_outside_libraries(advisor->module, number, &frame);
  if (number == 0 || frame.is_library || !frame.file.len || frame.line <= 0) return place;
  Str file = human_unescape(frame.file, advisor->out);
  place.file = (Str){arena_strndup(advisor->out, file.data, file.len), file.len};
  place.line = frame.line;
  return place;
}

static void write_remedy(Advisor *advisor, const Lanes *lanes, uint32_t count, rh_remedy *remedy) {
  SourcePlace place = place_of(advisor, lanes);
  advisor_set_place(remedy, place);
  remedy->title = advice_text(advisor->out,
                              "%s: let these %u run one after the other, of which none needs "
                              "another: parts of several are in memory at once",
                              advisor_where(advisor, place), count);
  remedy->code = advice_text(
      advisor->out,
      "x, before = jax.lax.optimization_barrier((x, before))  # x: what each begins with; before: "
      "the result of the one before\n# or jax.lax.scan, or jax.lax.map, in place of the loop");
  remedy->explanation = advice_text(
      advisor->out,
      "At the peak, %u results of this operation take %s. Nothing in the program says which of the "
      "%u comes first, and the compiler begins the next before it has ended the one before.",
      lanes->op_class->num_live, human_bytes(lanes->op_class->live_bytes).text, count);
}

static bool propose(Advisor *advisor, CompId comp, const OpClass *op_class) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Lanes lanes;
  uint32_t count = find_parts(advisor, comp, op_class, &lanes, arena);
  bool stays = false;
  if (count > 1) {
    rh_module *made = advisor_copy(advisor);
    made->schedule.of[comp] = order_by_keys(&lanes, made->arena, arena);
    bool is_sketch = add_up_in_turn(&lanes, made, arena);
    rh_remedy remedy = {.kind = "in-turn",
                        .confidence = "medium",
                        .num_instances = count,
                        .bytes_at_peak = op_class->live_bytes};
    write_remedy(advisor, &lanes, count, &remedy);
    stays = advisor_add_timed(advisor, &remedy, made, 0);
    int64_t before = advisor->before.counted_bytes;
    bool is_much =
        stays && LEAST_SHARE * (before - advisor_last(advisor)->shown.counted_bytes) >= before;
    if (stays && !is_much) advisor_drop(advisor, advisor->remedies.len - 1);
    stays &= is_much;
    if (stays) advisor_last(advisor)->is_sketch |= is_sketch;
  }
  arena_free(arena);
  return stays;
}

/* Gradients of each sample are divided by samples (microbatches.c). */
static bool is_of_samples(Advisor *advisor, const OpClass *op_class) {
  Batch batch = batch_find(advisor);
  const Shape *shape = inst_shape(advisor->module, op_class->first);
  return batch.argument && batch.has_gradients && sample_gradients_are_much(advisor, &batch) &&
         sample_gradients_has_shape(advisor, &batch, shape);
}

static bool is_worth(const Advisor *advisor, const OpClass *op_class) {
  return op_class->num_live > 1 &&
         LEAST_SHARE * op_class->live_bytes >= advisor->before.counted_bytes;
}

uint32_t *in_turn_parts(const Advisor *advisor, CompId comp, Arena *out) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  OpClassVec classes = find_classes(advisor, comp, arena);
  Sequence sequence = advisor->schedule->of[comp];
  uint32_t *parts = NULL;
  for (uint32_t c = 0; c < classes.len && c < MAX_CLASSES && !parts; c++) {
    Lanes lanes;
    bool is_meant = is_worth(advisor, &classes.data[c]) &&
                    find_parts(advisor, comp, &classes.data[c], &lanes, arena) > 1;
    if (!is_meant) continue;
    uint32_t *first = arena_zarray(arena, uint32_t, (size_t)sequence.len + 2); /* by epoch */
    for (uint32_t epoch = 0; epoch <= sequence.len; epoch++)
      first[epoch + 1] = first[epoch] + lanes.num_lanes[epoch];
    parts = arena_array(out, uint32_t, sequence.len);
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      parts[pos] = lanes.lane[id] == NO_ID ? NO_ID : first[lanes.epoch[id]] + lanes.lane[id];
    }
  }
  arena_free(arena);
  return parts;
}

/* Whether something that is numbered in one way has two different numbers in the other. */
static bool is_several(const uint32_t *numbers, const uint32_t *others, uint32_t num_others,
                       SchedPos end, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t *first = arena_array(scratch, uint32_t, num_others); /* by the other number */
  bool found = false;
  memset(first, 0xff, num_others * sizeof *first);
  for (SchedPos pos = 0; pos <= end && !found; pos++) {
    if (numbers[pos] == NO_ID || others[pos] >= num_others) continue;
    found = first[others[pos]] != NO_ID && first[others[pos]] != numbers[pos];
    first[others[pos]] = numbers[pos];
  }
  arena_reset(scratch, mark);
  return found;
}

bool in_turn_is_mixed(const uint32_t *parts, const Layers *layers, SchedPos end, Arena *scratch) {
  if (!parts) return false;
  uint32_t num_parts = 0;
  for (SchedPos pos = 0; pos <= end; pos++) {
    if (parts[pos] != NO_ID && parts[pos] >= num_parts) num_parts = parts[pos] + 1;
  }
  return is_several(parts, layers->instance_of, layers->num_instances, end, scratch) &&
         is_several(layers->instance_of, parts, num_parts, end, scratch);
}

/* Of the entry, or of what runs at the peak, such as the body of a loop. Other frameworks than JAX
 * do not say what is a derivative. */
void advise_in_turn(Advisor *advisor) {
  if (advisor->framework == FRAMEWORK_PYTORCH || advisor->framework == FRAMEWORK_TENSORFLOW) return;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  const Module *module = advisor->module;
  CompId comp = module->entry;
  for (uint32_t i = 0; i < advisor->live.len && comp == module->entry; i++) {
    CompId parent = inst_get(module, advisor->live.list[i].inst)->parent;
    if (comp_is_sequential(&advisor->values.graph, parent)) comp = parent;
  }
  OpClassVec classes = find_classes(advisor, comp, arena);
  bool is_done = false;
  for (uint32_t i = 0; i < classes.len && i < MAX_CLASSES && !is_done; i++) {
    is_done = is_worth(advisor, &classes.data[i]) && !is_of_samples(advisor, &classes.data[i]) &&
              propose(advisor, comp, &classes.data[i]);
  }
  arena_free(arena);
}
