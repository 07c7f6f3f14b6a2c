/* Advice on what the backward part reads of the forward part: a checkpoint around a function or a
 * scope, at each of its repetitions, or at every so-manieth, with or without a policy.
 *
 * Simulated by clones: what a repetition computes from its inputs is computed again before the
 * backward part first reads it, all of it once, and its inputs stay (remat/algorithms). */
#include <stdlib.h>

#include "advice/advisor.h"
#include "advice/cloning.h"
#include "advice/cut_sums.h"
#include "advice/layers.h"
#include "advice/order_anew.h"
#include "advice/policy.h"
#include "advice/present_checkpoint.h"
#include "emit/human.h"

enum { MAX_TRIED = 16 };

/* Whether the forward part is what an existing checkpoint computes again all at once. */
typedef enum Inside {
  INSIDE_NOTHING,
  INSIDE_THE_ONLY, /* a checkpoint around everything, which others then replace */
  INSIDE_ONE,      /* one of several, which stays */
} Inside;

typedef struct Study {
  Advisor *advisor;
  CompId comp;
  ForwardPart forward;
  Inside inside;
  double spared_seconds; /* if what is there computes nothing again any more */
  Products products;
  Arena *arena;
} Study;

static Study study_open(Advisor *advisor, CompId comp, Arena *arena) {
  Study study = {.advisor = advisor, .comp = comp, .arena = arena};
  study.products = products_find(advisor->module, arena, advisor->scratch);
  return study;
}

/* ---- simulation ---- */

/* What a proposal changes. */
typedef struct Proposal {
  const Layers *layers;
  uint32_t every; /* repetitions 0, every, 2 * every, … get a checkpoint */
  Policy policy;
  const ProductLines *lines; /* of POLICY_NAMES */
} Proposal;

static bool is_wrapped(const Proposal *proposal, SchedPos pos) {
  uint32_t instance = proposal->layers->instance_of[pos];
  if (instance == OF_SOME_LAYER) return proposal->every == 1;
  return instance != NO_ID && instance % proposal->every == 0;
}

static bool is_saved(const Study *study, const Proposal *proposal, InstId id) {
  return policy_saves(&study->products, proposal->policy, proposal->lines, id);
}

/* By position: whether another repetition, or what is outside of them, reads the value in the
 * forward part. */
static bool *find_read_outside(const Proposal *proposal, const CheckpointChoice *choice,
                               Arena *out) {
  const uint32_t *instance_of = proposal->layers->instance_of;
  const LateClones *clones = &choice->clones;
  const Module *module = clones->module;
  bool *is_read = arena_zarray(out, bool, (size_t)clones->early_end + 1);
  for (SchedPos reader = 0; reader <= clones->early_end; reader++) {
    if (choice->origins[reader] != reader) continue; /* its readers count */
    if (proposal->layers->is_end[reader]) continue;
    InstId id = clones->sequence.ids[reader];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      SchedPos origin = choice->origins[clones->positions[inst_operand(module, id, i)]];
      is_read[origin] |= instance_of[origin] != instance_of[reader];
    }
  }
  return is_read;
}

static void choose(const Study *study, const Proposal *proposal, CheckpointChoice *choice) {
  bool *is_read_outside = find_read_outside(proposal, choice, choice->clones.arena);
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    choice->values[pos].is_checkpoint =
        !is_wrapped(proposal, pos) || is_read_outside[pos] || is_saved(study, proposal, id);
  }
  checkpoint_choice_keep_only(choice);
}

/* A checkpoint begins with what it computes again, all of it, when the backward part first reads
 * something of the repetition. */
static void begin_together(const Proposal *proposal, CheckpointChoice *choice, Arena *scratch) {
  const Layers *layers = proposal->layers;
  ArenaMark mark = arena_mark(scratch);
  SchedPos *first = arena_array(scratch, SchedPos, layers->num_instances);
  memset(first, 0xff, layers->num_instances * sizeof *first);
  for (int pass = 0; pass < 2; pass++) {
    for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
      uint32_t instance = layers->instance_of[pos];
      SchedPos *use = &choice->clones.early_values[pos].first_use;
      if (instance >= layers->num_instances || choice->values[pos].is_kept) continue;
      if (pass == 0 && *use < first[instance]) first[instance] = *use;
      if (pass == 1 && first[instance] != NO_ID) *use = first[instance];
    }
  }
  arena_reset(scratch, mark);
}

/* Bytes that the proposal is about: what is computed again, as far as it lives at the peak. */
static int64_t freed_at_peak(const Study *study, const CheckpointChoice *choice) {
  const Advisor *advisor = study->advisor;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    SchedPos pos = choice->clones.positions[advisor->live.list[i].inst];
    if (pos > choice->clones.early_end) continue;
    const CheckpointValue *value = &choice->values[choice->origins[pos]];
    if (!value->is_kept && value->last_late != NO_ID) bytes += advisor->live.list[i].bytes;
  }
  return bytes;
}

/* ---- what a repetition hands on ---- */

/* Whether an instruction was traced at the same place as a frame. A derivative has stacks of its
 * own. */
static bool is_at(const Module *module, InstId id, const SourceFrame *place) {
  SourceFrame frame;
  const Metadata *metadata = inst_metadata(module, id);
  return metadata && source_frame_get(module, metadata->stack_frame_id, &frame) &&
         frame.line == place->line && str_equal(frame.file, place->file) &&
         str_equal(frame.function, place->function);
}

/* Whether an instruction reads a value where the value was made in the program, as the derivative
 * of tanh reads tanh: then it is of the repetition that made the value, and not of the next one. */
static bool is_own_reader(const Module *module, InstId reader, InstId value) {
  InstId maker = value;
  if (inst_get(module, value)->opcode == OPCODE_FUSION)
    maker = comp_get(module, inst_callees(module, value)[0])->root;
  const Metadata *metadata = inst_metadata(module, maker);
  if (!metadata) metadata = inst_metadata(module, value);
  SourceFrame place;
  if (!metadata || !source_frame_get(module, metadata->stack_frame_id, &place)) return false;
  if (inst_get(module, reader)->opcode != OPCODE_FUSION) return is_at(module, reader, &place);
  const Computation *comp = comp_get(module, inst_callees(module, reader)[0]);
  bool is_own = false;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) != value) continue;
    InstId param = id_list(module, comp->params)[i];
    for (uint32_t u = 0; u < inst_get(module, param)->users.len; u++) {
      if (!is_at(module, inst_users(module, param)[u], &place)) return false;
      is_own = true;
    }
  }
  return is_own;
}

/* Of a value that a repetition hands on, the first reader in its own backward part; NO_ID if there
 * is none. */
static InstId own_reader_of(const Study *study, const Proposal *proposal,
                            const CheckpointChoice *choice, SchedPos pos) {
  const LateClones *clones = &choice->clones;
  const CheckpointValue *value = &choice->values[pos];
  InstId id = clones->sequence.ids[pos], first = NO_ID;
  bool is_handed_on = is_wrapped(proposal, pos) && value->is_kept && !value->is_fixed &&
                      !is_saved(study, proposal, id);
  for (uint32_t i = 0; is_handed_on && i < inst_get(clones->module, id)->users.len; i++) {
    InstId user = inst_users(clones->module, id)[i];
    bool is_late = user < clones->first_new && clones->positions[user] > clones->early_end;
    if (!is_late || !is_own_reader(clones->module, user, id)) continue;
    if (first == NO_ID || clones->positions[user] < clones->positions[first]) first = user;
  }
  return first;
}

/* Makes what a handed-on value is computed from be computed again for its own backward part. */
static void want_outputs(const Study *study, const Proposal *proposal, CheckpointChoice *choice) {
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId reader = own_reader_of(study, proposal, choice, pos);
    if (reader == NO_ID) continue;
    SchedPos at = choice->clones.positions[reader];
    InstId id = choice->clones.sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(choice->clones.module, id)->num_operands; i++) {
      InstId operand = inst_operand(choice->clones.module, id, i);
      SchedPos origin = choice->origins[choice->clones.positions[operand]];
      CheckpointValue *value = &choice->values[origin];
      if (value->is_kept) continue;
      if (value->last_late == NO_ID || value->last_late < at) value->last_late = at;
      SchedPos *use = &choice->clones.early_values[origin].first_use;
      if (*use == NO_ID || *use > at) *use = at;
    }
  }
}

/* Computes handed-on values again for their own backward part: under a checkpoint it does not read
 * what was kept as the input of the next repetition. It matters on a TPU, which then keeps the
 * input in bf16, see narrow_inputs(). */
static void repeat_outputs(const Study *study, const Proposal *proposal, Cloning *cloning) {
  const CheckpointChoice *choice = &cloning->choice;
  Module *module = cloning->made->module;
  Arena *scratch = study->advisor->scratch;
  Sequence old = cloning->made->schedule.of[study->comp];
  InstId *before = arena_array(cloning->arena, InstId, module->insts.len); /* by InstId */
  memset(before, 0xff, module->insts.len * sizeof *before);
  uint32_t num_old = module->insts.len, num_made = 0;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    InstId first = own_reader_of(study, proposal, choice, pos);
    if (first == NO_ID || before[first] != NO_ID) continue;
    InstId clone = rewrite_clone(&cloning->rewrite, id, scratch);
    for (uint32_t i = 0; i < inst_get(module, clone)->num_operands; i++) {
      InstId operand = inst_operand(module, clone, i);
      InstId image = operand < num_old ? choice->clones.images[operand] : NO_ID;
      if (image != NO_ID) rewrite_set_operand(&cloning->rewrite, clone, i, image);
    }
    IdVec readers = {0};
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_late = user < choice->clones.first_new &&
                     choice->clones.positions[user] > choice->clones.early_end;
      if (is_late && is_own_reader(module, user, id)) *vec_push(cloning->arena, &readers) = user;
    }
    for (uint32_t r = 0; r < readers.len; r++) {
      for (uint32_t i = 0; i < inst_get(module, readers.data[r])->num_operands; i++) {
        if (inst_operand(module, readers.data[r], i) == id)
          rewrite_set_operand(&cloning->rewrite, readers.data[r], i, clone);
      }
    }
    before[first] = clone;
    num_made++;
  }
  Sequence sequence = {.ids = arena_array(cloning->made->arena, InstId, old.len + num_made)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    if (old.ids[pos] < num_old && before[old.ids[pos]] != NO_ID)
      sequence.ids[sequence.len++] = before[old.ids[pos]];
    sequence.ids[sequence.len++] = old.ids[pos];
  }
  cloning->made->schedule.of[study->comp] = sequence;
}

/* Whether a fusion within a fusion only changes the form of its operand. */
static bool is_form(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_BITCAST) return true;
  if (inst->opcode != OPCODE_FUSION || inst->num_operands != 1) return false;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_get(module, root)->opcode == OPCODE_BITCAST;
}

/* Whether an operation takes an f32 array as bf16, as a product does on a TPU, whose default
 * precision is one pass of bf16. */
static bool takes_bf16(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_DOT || inst->opcode == OPCODE_CONVOLUTION) return true;
  return inst->opcode == OPCODE_CONVERT && inst_shape(module, id)->type == TYPE_BF16;
}

static bool is_taken_as_bf16(const Module *module, InstId param) {
  for (uint32_t u = 0; u < inst_get(module, param)->users.len; u++) {
    InstId user = inst_users(module, param)[u];
    if (takes_bf16(module, user)) continue;
    if (!is_form(module, user)) return false;
    for (uint32_t i = 0; i < inst_get(module, user)->users.len; i++) {
      if (!takes_bf16(module, inst_users(module, user)[i])) return false;
    }
  }
  return true;
}

static bool reads_as_bf16(const Module *module, InstId user, InstId value) {
  if (inst_get(module, user)->opcode != OPCODE_FUSION) return takes_bf16(module, user);
  const Computation *comp = comp_get(module, inst_callees(module, user)[0]);
  for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
    if (inst_operand(module, user, i) != value) continue;
    if (!is_taken_as_bf16(module, id_list(module, comp->params)[i])) return false;
  }
  return true;
}

/* XLA:TPU keeps what the backward part reads in products alone as bf16. Returns whether arrays have
 * changed. */
static bool narrow_inputs(Cloning *cloning) {
  const CheckpointChoice *choice = &cloning->choice;
  const LateClones *clones = &choice->clones;
  Module *module = cloning->made->module;
  bool has_narrowed = false;
  if (strcmp(module->backend.target->name, "tpu") != 0) return false;
  for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
    InstId id = clones->sequence.ids[pos];
    const Shape *shape = inst_shape(module, id);
    bool is_kept = choice->values[pos].is_kept && !choice->values[pos].is_fixed &&
                   shape_is_array(shape) && shape->type == TYPE_F32;
    uint32_t num_late = 0;
    for (uint32_t i = 0; is_kept && i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_late = user >= clones->first_new || clones->positions[user] > clones->early_end;
      num_late += is_late;
      is_kept = !is_late || reads_as_bf16(module, user, id);
    }
    if (!is_kept || num_late == 0) continue;
    ArraySpec spec = shape_spec(shape);
    spec.type = TYPE_BF16;
    inst_get(module, id)->shape = shape_array(&module->shapes, &spec);
    has_narrowed = true;
  }
  return has_narrowed;
}

/* Whether a value is computed from a saved product of its own repetition, without another product
 * in between; the position of that product, or NO_ID. Looks back by a few operations. */
static SchedPos product_behind(const Study *study, const Proposal *proposal,
                               const CheckpointChoice *choice, SchedPos pos) {
  enum { MAX_VISITED = 16 };
  const uint32_t *instance_of = proposal->layers->instance_of;
  SchedPos queue[MAX_VISITED] = {pos};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    InstId id = choice->clones.sequence.ids[queue[at]];
    if (is_saved(study, proposal, id)) return queue[at];
    for (uint32_t i = 0; i < inst_get(study->advisor->module, id)->num_operands; i++) {
      InstId operand = inst_operand(study->advisor->module, id, i);
      SchedPos origin = choice->origins[choice->clones.positions[operand]];
      if (instance_of[origin] == instance_of[pos] && len < MAX_VISITED) queue[len++] = origin;
    }
  }
  return NO_ID;
}

/* The last reader of a value in the backward part; NO_ID if there is none. */
static InstId late_reader_of(const CheckpointChoice *choice, InstId id) {
  const LateClones *clones = &choice->clones;
  InstId last = NO_ID;
  SchedPos last_pos = 0;
  for (uint32_t i = 0; i < inst_get(clones->module, id)->users.len; i++) {
    InstId user = inst_users(clones->module, id)[i];
    if (user >= clones->first_new || inst_is_root(clones->module, user)) continue;
    SchedPos pos = clones->positions[user];
    if (pos <= clones->early_end || pos < last_pos) continue;
    last_pos = pos;
    last = user;
  }
  return last;
}

/* Under a policy the backward part computes what a repetition hands on again, too, from the product
 * that the policy has saved, though the next repetition has kept it as its input: both wait. A
 * helper behind the last reader stands for that, and reads the product. Returns the number of
 * products that are held. */
static uint32_t hold_products(const Study *study, const Proposal *proposal, Cloning *cloning) {
  if (proposal->policy == POLICY_NOTHING) return 0;
  const CheckpointChoice *choice = &cloning->choice;
  Module *module = cloning->made->module;
  Sequence old = cloning->made->schedule.of[study->comp];
  InstId *helper_behind = arena_array(cloning->arena, InstId, module->insts.len);
  memset(helper_behind, 0xff, module->insts.len * sizeof *helper_behind);
  uint32_t num_held = 0;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    const CheckpointValue *value = &choice->values[pos];
    bool is_handed_on = is_wrapped(proposal, pos) && value->is_kept && !value->is_fixed &&
                        !is_saved(study, proposal, id) &&
                        !(inst_get(module, id)->flags & INST_DEAD);
    InstId reader = is_handed_on ? late_reader_of(choice, id) : NO_ID;
    SchedPos product = reader == NO_ID ? NO_ID : product_behind(study, proposal, choice, pos);
    if (product == NO_ID || helper_behind[reader] != NO_ID) continue;
    InstId made_by = choice->clones.sequence.ids[product];
    if (!shape_is_array(inst_shape(module, made_by))) continue;
    InstId helper = rewrite_add_helper(&cloning->rewrite, study->comp,
                                       (InstSpec){.opcode = OPCODE_SLICE,
                                                  .shape = inst_get(module, made_by)->shape,
                                                  .operands = &made_by,
                                                  .num_operands = 1});
    inst_get(module, helper)->shape =
        rewrite_scalar(&cloning->rewrite, (ElementType)inst_shape(module, made_by)->type);
    module_add_control(module, reader, helper);
    helper_behind[reader] = helper;
    num_held++;
  }
  Sequence sequence = {.ids = arena_array(cloning->made->arena, InstId, old.len + num_held)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    sequence.ids[sequence.len++] = old.ids[pos];
    if (old.ids[pos] < choice->clones.first_new && helper_behind[old.ids[pos]] != NO_ID)
      sequence.ids[sequence.len++] = helper_behind[old.ids[pos]];
  }
  cloning->made->schedule.of[study->comp] = sequence;
  return num_held;
}

/* The module with clones; NULL if none was made. */
static rh_module *simulate(const Study *study, const Proposal *proposal, int64_t *bytes_at_peak,
                           bool *is_sketch) {
  Arena *scratch = study->advisor->scratch;
  Cloning cloning;
  cloning_begin(&cloning, study->advisor, study->comp, study->forward.turn);
  choose(study, proposal, &cloning.choice);
  *bytes_at_peak = freed_at_peak(study, &cloning.choice);
  bool is_tpu = strcmp(study->advisor->module->backend.target->name, "tpu") == 0;
  if (is_tpu) want_outputs(study, proposal, &cloning.choice);
  begin_together(proposal, &cloning.choice, scratch);
  rh_module *made = cloning.made;
  bool has_clones = checkpoint_choice_apply(&cloning.choice, made->arena) > 0;
  if (has_clones && is_tpu) repeat_outputs(study, proposal, &cloning);
  bool is_repeated = proposal->layers->num_instances > 1 && proposal->every == 1;
  if (has_clones && is_repeated) {
    Sequence sequence = made->schedule.of[study->comp];
    *is_sketch = cut_sums(&cloning.rewrite, sequence, study->forward.turn + 1, scratch) > 0;
  }
  if (has_clones) {
    cloning_drop_dead(&cloning, scratch);
    *is_sketch |= hold_products(study, proposal, &cloning) > 0;
    *is_sketch |= narrow_inputs(&cloning);
    order_anew(study->advisor, &cloning, proposal->layers, scratch);
  }
  return cloning_end(&cloning, has_clones);
}

/* ---- the remedy ---- */

static Str kept(const Study *study, Str raw) {
  Str text = human_unescape(raw, study->advisor->out);
  return (Str){arena_strndup(study->advisor->out, text.data, text.len), text.len};
}

static const char *times_text(const Study *study, const Proposal *proposal) {
  uint32_t count = proposal->layers->num_instances;
  if (count == 1) return "";
  if (proposal->every == 1) return arena_printf(study->advisor->out, ", all %u of them", count);
  return arena_printf(study->advisor->out, ", every %u-%s of %u", proposal->every,
                      proposal->every == 2   ? "nd"
                      : proposal->every == 3 ? "rd"
                                             : "th",
                      count);
}

/* Where the function is called or, of a scope, the first line in it. */
static SourcePlace place_of(const Study *study, const Layers *layers) {
  if (layers->place.file.len) {
    SourcePlace place = present_place(study->advisor->module, layers->function, layers->place);
    return (SourcePlace){.file = kept(study, place.file), .line = place.line};
  }
  for (SchedPos pos = 0; pos <= study->forward.end; pos++) {
    if (layers->instance_of[pos] == NO_ID) continue;
    SourcePlace place = advisor_place(study->advisor, study->forward.sequence.ids[pos]);
    if (place.file.len) return place;
  }
  return (SourcePlace){0};
}

/* Why what is there does not help; empty if nothing is. */
static const char *explain_present(const Study *study, PresentCheckpoint present) {
  static const char at_once[] =
      " The checkpoint that is there computes all that is inside it again at once, before its "
      "backward part begins, so that all of it lives together.";
  switch (study->inside) {
    case INSIDE_THE_ONLY: return at_once;
    case INSIDE_ONE:
      return arena_printf(study->advisor->out, "%s These come inside it, or it is cut.", at_once);
    default: return present_explanation(present);
  }
}

static const char *policy_title(const Study *study, const Proposal *proposal) {
  switch (proposal->policy) {
    case POLICY_DOTS: return ", which keeps matrix products";
    case POLICY_WEIGHT_DOTS: return ", which keeps products with weights";
    case POLICY_NAMES: return policy_names_title(proposal->lines, study->advisor->out);
    default: return "";
  }
}

static void write_remedy(const Study *study, const Proposal *proposal, rh_remedy *remedy) {
  static const char *const where[] = {"", ", in place of the one around everything",
                                      ", inside the one that is there"};
  Advisor *advisor = study->advisor;
  const Layers *layers = proposal->layers;
  SourcePlace place = place_of(study, layers);
  PresentCheckpoint present =
      study->inside ? PRESENT_NONE : present_checkpoint(advisor, study->forward.sequence, layers);
  Str function = kept(study, layers->function), scope = kept(study, layers->scope);
  const char *policy = policy_name(proposal->policy), *names = "";
  const char *what =
      function.len
          ? arena_printf(advisor->out, "the function `%.*s`", (int)function.len, function.data)
          : arena_printf(advisor->out, "what is in the scope `%.*s`", (int)scope.len, scope.data);
  advisor_set_place(remedy, place);
  /* What the checkpoint that is there keeps and computes again is known by names only. */
  if (present == PRESENT_SAVES || study->inside) remedy->confidence = "medium";
  remedy->function = text_of_str(function);
  remedy->scope = text_of_str(scope);
  if (policy) remedy->policy = advice_text(advisor->out, "%s", policy);
  remedy->title =
      advice_text(advisor->out, "%s: put %s under a checkpoint%s%s%s%s",
                  advisor_where(advisor, place), what, times_text(study, proposal),
                  policy_title(study, proposal), where[study->inside], present_title(present));
  if (proposal->policy == POLICY_NAMES) {
    names = policy_names_code(proposal->lines, function, advisor->out);
    policy = policy_names_call(proposal->lines, function, advisor->out);
  }
  remedy->code =
      advice_text(advisor->out, "%s%s%s", names,
                  framework_checkpoint(advisor->module, advisor->framework, function, scope, policy,
                                       advisor->out),
                  study->inside == INSIDE_THE_ONLY ? "  # in place of the one around everything"
                                                   : present_note(present));
  remedy->explanation = advice_text(
      advisor->out,
      "The backward part reads %s that %s made, and that waits for it%s. Under a checkpoint the "
      "inputs wait instead, and the backward part computes the rest again, one repetition at a "
      "time.%s",
      human_bytes(remedy->bytes_at_peak).text, function.len ? "it" : "the scope",
      study->inside ? "" : " since the forward part", explain_present(study, present));
}

static bool propose(Study *study, const Proposal *proposal) {
  rh_remedy remedy = {
      .kind = "checkpoint-scope",
      .confidence = proposal->policy == POLICY_NOTHING && proposal->layers->num_instances > 1
                        ? "high"
                        : "medium",
      .num_instances = proposal->layers->num_instances,
      .every = proposal->every};
  bool is_sketch = false;
  rh_module *made = simulate(study, proposal, &remedy.bytes_at_peak, &is_sketch);
  if (!made) return false;
  write_remedy(study, proposal, &remedy);
  if (!advisor_add_sparing(study->advisor, &remedy, made, study->spared_seconds)) return false;
  advisor_last(study->advisor)->is_sketch |= is_sketch;
  return true;
}

/* Every so-manieth layer is only of interest where a budget asks for less than all. */
static void propose_some(Study *study, Proposal proposal) {
  static const uint32_t every[] = {4, 3, 2};
  if (study->advisor->request->limit_bytes == INT64_MAX) return;
  for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
    proposal.every = every[i];
    if (proposal.layers->num_instances >= 2 * every[i]) (void)propose(study, &proposal);
  }
}

/* By InstId: what a checkpoint that keeps nothing computes again, as the backward part reads it, or
 * something that is computed from it. */
static bool *find_recomputed(const Study *study, const Layers *layers) {
  Proposal proposal = {.layers = layers, .every = 1};
  const Module *module = study->advisor->module;
  bool *is_recomputed = arena_zarray(study->arena, bool, module->insts.len);
  Cloning cloning;
  cloning_begin(&cloning, study->advisor, study->comp, study->forward.turn);
  const CheckpointChoice *choice = &cloning.choice;
  choose(study, &proposal, &cloning.choice);
  for (SchedPos pos = choice->clones.early_end + 1; pos-- > 0;) {
    InstId id = choice->clones.sequence.ids[pos];
    const CheckpointValue *value = &choice->values[choice->origins[pos]];
    bool is_read = is_recomputed[id] || value->last_late != NO_ID;
    is_recomputed[id] = is_read && !value->is_kept && layers->instance_of[pos] != NO_ID;
    for (uint32_t i = 0; is_recomputed[id] && i < inst_get(module, id)->num_operands; i++)
      is_recomputed[inst_operand(module, id, i)] = true;
  }
  (void)cloning_end(&cloning, false);
  return is_recomputed;
}

/* A limit between what a checkpoint needs and what it needs when it keeps all products leaves room
 * for some of them. Those that take the most time for their bytes stay, as many lines of them as
 * there is room for, if that takes less time than a checkpoint that keeps none. */
static void propose_names(Study *study, const Layers *layers, double whole_seconds) {
  enum { MAX_LINES = 8 };
  Advisor *advisor = study->advisor;
  ProductLines lines = product_lines_find(advisor, &study->products, find_recomputed(study, layers),
                                          layers->function, study->arena);
  Proposal proposal = {.layers = layers, .every = 1, .policy = POLICY_NAMES, .lines = &lines};
  uint32_t num_lines = lines.list.len <= MAX_LINES ? lines.list.len : MAX_LINES + 1;
  if (num_lines > 0) num_lines--; /* all of them together have no room */
  for (uint32_t i = 0; i < num_lines; i++)
    lines.list.data[i].is_saved = true;
  for (uint32_t count = num_lines; count > 0; count--) {
    bool stays = propose(study, &proposal);
    const rh_remedy *shown = stays ? &advisor_last(advisor)->shown : NULL;
    bool is_better = stays && shown->is_met && shown->added_seconds < whole_seconds;
    if (is_better) return;
    if (stays) advisor_drop(advisor, advisor->remedies.len - 1);
    lines.list.data[count - 1].is_saved = false;
  }
}

static void propose_all(Study *study, const Layers *layers) {
  Framework framework = study->advisor->framework;
  Proposal proposal = {.layers = layers, .every = 1};
  if (!propose(study, &proposal)) return;
  const rh_remedy whole = advisor_last(study->advisor)->shown;
  propose_some(study, proposal);
  if (framework == FRAMEWORK_PYTORCH || framework == FRAMEWORK_TENSORFLOW) return;
  proposal.policy = POLICY_DOTS;
  bool has_room = propose(study, &proposal) && advisor_last(study->advisor)->shown.is_met;
  if (whole.is_met && !has_room) propose_names(study, layers, whole.added_seconds);
  proposal.policy = POLICY_WEIGHT_DOTS;
  (void)propose(study, &proposal);
}

static void propose_each(Study *study) {
  LayersList layers = layers_find(&study->forward, study->arena, study->advisor->scratch);
  for (uint32_t i = 0; i < layers.list.len && i < MAX_TRIED; i++)
    propose_all(study, &layers.list.data[i]);
}

static void advise_computation(Advisor *advisor, CompId comp) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Sequence sequence = advisor->schedule->of[comp];
  Study study = study_open(advisor, comp, arena);
  study.forward = forward_part_of(advisor->module, sequence, advisor->scratch);
  propose_each(&study);
  bool is_only = false;
  study.forward = recomputed_part_of(advisor, sequence, &is_only);
  study.inside = is_only ? INSIDE_THE_ONLY : INSIDE_ONE;
  if (is_only) study.spared_seconds = recomputed_seconds(advisor, &study.forward);
  if (study.forward.end != NO_ID) propose_each(&study);
  arena_free(arena);
}

/* Advises on the entry, and on what runs at the peak, where a loop over microbatches has both parts
 * in its body. */
void advise_scope_checkpoint(Advisor *advisor) {
  const Module *module = advisor->module;
  CompId at_peak = NO_ID;
  for (uint32_t i = 0; i < advisor->live.len && at_peak == NO_ID; i++) {
    CompId comp = inst_get(module, advisor->live.list[i].inst)->parent;
    if (comp != module->entry && comp_is_sequential(&advisor->values.graph, comp)) at_peak = comp;
  }
  advise_computation(advisor, module->entry);
  if (at_peak != NO_ID) advise_computation(advisor, at_peak);
}
