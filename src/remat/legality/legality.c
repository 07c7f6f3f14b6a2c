#include "remat/legality/legality.h"

#include "ir/hash.h"

const char *keep_reason_name(KeepReason reason) {
  static const char *const names[] = {
#define KEEP(id, name, sentence) name,
#include "remat/legality/legality.def"
  };
  return names[reason];
}

const char *keep_reason_sentence(KeepReason reason) {
  static const char *const sentences[] = {
#define KEEP(id, name, sentence) sentence,
#include "remat/legality/legality.def"
  };
  return sentences[reason];
}

Legality legality_new(const Module *module, Arena *out, Arena *scratch) {
  return (Legality){.module = module,
                    .effects = side_effects_build(module, out, scratch),
                    .placed = placed_build(module, out, scratch),
                    .is_kept = arena_zarray(out, bool, module->insts.len),
                    .num_kept = module->insts.len};
}

/* Whether the copy changes neither type nor layout. XLA's copy-insertion adds such copies so that
 * two values do not share memory. */
static bool is_identity_copy(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_COPY && !inst_is_converting_copy(module, id) &&
         shape_same_layout(inst_shape(module, id), inst_shape(module, inst_operand(module, id, 0)));
}

void legality_refuse(const Legality *legality, InstId id) {
  if (legality->is_refused && id < legality->num_kept) legality->is_refused[id] = true;
}

/* What --pin and --never ask for. */
static KeepReason requested_reason(const Legality *legality, InstId id) {
  return legality->steering && id < legality->num_kept ? (KeepReason)legality->steering[id]
                                                       : KEEP_NONE;
}

/* What the options say against it: it is small, pinned or never to be recomputed. */
static KeepReason option_reason(const Legality *legality, InstId id) {
  const Module *module = legality->module;
  bool is_small =
      legality->small_node_bytes > 0 && inst_shape(module, id)->bytes <= legality->small_node_bytes;
  return is_small ? KEEP_SMALL : requested_reason(legality, id);
}

/* The reasons that hold whatever the opcode is. */
static KeepReason common_reason(const Legality *legality, InstId id) {
  const Module *module = legality->module;
  const Instruction *inst = inst_get(module, id);
  bool is_collective = opcode_info((Opcode)inst->opcode)->flags & OPF_COLLECTIVE;
  if (!is_collective && inst_has_side_effect(module, &legality->effects, id)) {
    return KEEP_SIDE_EFFECT;
  }
  return option_reason(legality, id);
}

KeepReason recompute_verdict(const Legality *legality, InstId id) {
  const Module *module = legality->module;
  const Instruction *inst = inst_get(module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (id < legality->num_kept && legality->is_kept[id]) return KEEP_OVERWRITTEN;
  if (requested_reason(legality, id) == KEEP_PINNED) return KEEP_PINNED;
  if (inst_is_compiled_alone(module, &legality->effects, id)) return KEEP_COMPILED_ALONE;
  if (opcode_is_split(opcode)) return KEEP_ASYNC;
  if (is_identity_copy(module, id)) return KEEP_COPY;
  if (opcode_info(opcode)->flags & OPF_COLLECTIVE || opcode == OPCODE_COLLECTIVE_PERMUTE) {
    if (inst->flags & INST_CONSTRAINS_LAYOUT) return KEEP_CONSTRAINED_LAYOUT;
    if (!legality->allow_collectives) return KEEP_COLLECTIVE;
  }
  switch (opcode) {
    case OPCODE_PARAMETER: return KEEP_PARAMETER;
    case OPCODE_CONSTANT: return KEEP_CONSTANT;
    case OPCODE_CUSTOM_CALL:
      if (!legality->allow_custom_calls) return KEEP_CUSTOM_CALL;
      break;
    case OPCODE_CALL:
    case OPCODE_CONDITIONAL:
    case OPCODE_WHILE: return KEEP_CONTROL_FLOW;
    default: break;
  }
  /* VMEM and the like are full: a clone would put more into them, or hold what it reads there for
   * longer. */
  if (inst_reaches_other_memory(module, id)) return KEEP_MEMORY_SPACE;
  return common_reason(legality, id);
}

/* What a repetition of the instruction repeats of collectives. */
typedef enum InnerCollectives { INNER_NONE, INNER_FREE, INNER_BOUND } InnerCollectives;

static InnerCollectives kind_of_collective(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (!opcode_has((Opcode)inst->opcode, OPF_COLLECTIVE | OPF_CHANNEL)) return INNER_NONE;
  return inst->flags & INST_CONSTRAINS_LAYOUT ? INNER_BOUND : INNER_FREE;
}

static InnerCollectives inner_collectives(const Module *module, InstId id, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  IdTable visited = {0};
  InnerCollectives found = INNER_NONE;
  IdVec work = {0};
  *vec_push(scratch, &work) = id;
  while (work.len && found != INNER_BOUND) {
    id = work.data[--work.len];
    InnerCollectives kind = kind_of_collective(module, id);
    if (kind > found) found = kind;
    for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
      CompId comp = inst_callees(module, id)[c];
      if (!id_set_add(&visited, scratch, comp)) continue;
      for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
        *vec_push(scratch, &work) = comp_inst(module, comp, i);
    }
  }
  arena_reset(scratch, mark);
  return found;
}

/* NVIDIA says of cuDNN that it computes the same bits in every run on one architecture, with the
 * exception of some gradients ("Reproducibility" in its documentation). Which algorithm that is
 * stands in the backend_config, which clones have, too. Of cuBLAS that holds on one stream only.
 *
 * The others are operations of XLA:TPU itself: what it expands a Cholesky or QR decomposition and a
 * triangular solve into, and what it notes of indices. Its compiler writes their code like that of
 * fusions, from the operands' shapes alone. */
bool legality_is_known_call(const Module *module, InstId id) {
  static const struct {
    const char *name;
    bool is_of_tpu;
  } targets[] = {
      {"__cudnn$convForward", false},
      {"__cudnn$convBiasActivationForward", false},
      {"AssumeGatherIndicesInBound", true},
      {"Cholesky", true},
      {"CompactWyHelper", true},
      {"GatherScatterIndicesBitpacked", true},
      {"InvertDiagBlocksLowerTriangular", true},
      {"InvertDiagBlocksUpperTriangular", true},
      {"QrDecompositionBlock", true},
  };
  if (inst_get(module, id)->opcode != OPCODE_CUSTOM_CALL) return false;
  bool is_tpu = module->backend.target->has_windows;
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  bool is_known = false;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    is_known |= str_is(target, targets[i].name) && (is_tpu || !targets[i].is_of_tpu);
  return is_known;
}

KeepReason repeat_verdict(const Legality *legality, InstId id, Arena *scratch) {
  KeepReason reason = recompute_verdict(legality, id);
  bool may_repeat = reason == KEEP_CONTROL_FLOW ||
                    (reason == KEEP_CUSTOM_CALL && (inst_allocates(legality->module, id) ||
                                                    legality_is_known_call(legality->module, id)));
  if (!may_repeat) return reason;
  if (inst_is_placed(legality->module, &legality->placed, id)) return KEEP_MEMORY_SPACE;
  if (inst_has_counted_effect(legality->module, &legality->effects, id)) return KEEP_SIDE_EFFECT;
  InnerCollectives inner = inner_collectives(legality->module, id, scratch);
  if (inner == INNER_BOUND) return KEEP_CONSTRAINED_LAYOUT;
  if (inner == INNER_FREE && !legality->allow_collectives) return KEEP_INNER_COLLECTIVE;
  return option_reason(legality, id);
}

KeepReason clone_verdict(const Legality *legality, InstId id) {
  const Module *module = legality->module;
  KeepReason reason = recompute_verdict(legality, id);
  if (reason != KEEP_NONE) return reason;
  if (inst_has_control(module, id)) return KEEP_CONTROL_DEPENDENCY;
  bool is_pass_through = opcode_has((Opcode)inst_get(module, id)->opcode, OPF_PASS_THROUGH);
  return is_pass_through || inst_keeps_operand_memory(module, id) ? KEEP_INDIRECT_USE : KEEP_NONE;
}

KeepReason place_verdict(const Legality *legality, InstId id, const ClonePlace *place) {
  if (!legality->overwriters) return KEEP_NONE;
  const Module *module = legality->module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    InstId overwriter = legality_overwriter(legality, operand);
    if (overwriter == NO_ID || place->is_cloned(place->context, operand)) continue;
    if (!place->has_run(place->context, overwriter)) continue;
    legality_refuse(legality, id);
    return KEEP_OVERWRITTEN;
  }
  return KEEP_NONE;
}

KeepReason uses_verdict(const ValueUses *uses) {
  if (uses->is_result) return KEEP_LIVE_OUT;
  if (uses->is_nested) return KEEP_NESTED_TUPLE;
  if (uses->is_in_use) return KEEP_IN_USE;
  return uses->is_read_later ? uses->by_alias : KEEP_NO_LATER_USE;
}
