#include "remat/rewrite/fuse.h"

#include "analysis/flow/rounding.h"
#include "remat/rewrite/dce.h"

/* Larger fusions take long to compile. XLA:GPU makes some of 400 instructions by itself: a step of
 * a lattice has all that it computes in one kernel, and compiles in no more time if what that reads
 * is merged with it, too. */
enum { MAX_FUSED_INSTS = 1024, MAX_RANK = 16 };

/* ---- conditions ---- */

/* The kind of a fusion that the backend's generator of loops compiles, with nothing tied to it. */
static int64_t kind_of(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD) return FUSION_CUSTOM;
  if (inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING)) return FUSION_CUSTOM;
  return rewrite_fusion_kind(module, id);
}

static bool may_be_merged(const Module *module, InstId id) {
  return kind_of(module, id) == FUSION_LOOP && !inst_has_control(module, id) &&
         !shape_is_tuple(inst_shape(module, id));
}

/* A reader stays where it is, so that it may have several results, and control dependencies if
 * these only restate an order. It may be of the kind that XLA:GPU transposes in. */
static bool may_take_more(const Rewrite *rewrite, InstId id) {
  const Module *module = rewrite->module;
  int64_t kind = kind_of(module, id);
  return (kind == FUSION_LOOP || kind == FUSION_INPUT) &&
         (!inst_has_control(module, id) || rewrite->drops_control);
}

/* The physical dimensions of an array, the major one first, without those of one element before all
 * others. */
static uint32_t physical_dims(const Shape *shape, int64_t dims[MAX_RANK]) {
  uint32_t len = 0;
  for (uint32_t i = shape->rank; i-- > 0;) {
    int64_t dim =
        shape->dims[shape->minor_to_major ? shape->minor_to_major[i] : shape->rank - 1 - i];
    if (len || dim != 1) dims[len++] = dim;
  }
  return len;
}

bool fuse_has_same_dims(const Shape *a, const Shape *b) {
  int64_t dims_a[MAX_RANK], dims_b[MAX_RANK];
  if (a->rank > MAX_RANK || b->rank > MAX_RANK) return false;
  uint32_t len = physical_dims(a, dims_a);
  return physical_dims(b, dims_b) == len && memcmp(dims_a, dims_b, len * sizeof *dims_a) == 0;
}

static bool has_same_tiles(const Shape *a, const Shape *b) {
  size_t num_a = a->extras ? a->extras->num_tile_words : 0;
  size_t num_b = b->extras ? b->extras->num_tile_words : 0;
  return num_a == num_b && (num_a == 0 || memcmp(a->extras->tile_words, b->extras->tile_words,
                                                 num_a * sizeof *a->extras->tile_words) == 0);
}

/* Whether a window of one array is a window of the other one, which is a bitcast of it. */
static bool has_same_windows(const Module *module, const Shape *a, const Shape *b) {
  if (!module->backend.target->has_windows || a == b) return true;
  return has_same_tiles(a, b) && fuse_has_same_dims(a, b);
}

/* Whether an instruction reads its operand at other places than it writes, or in other tiles. */
static bool moves_elements(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_CONCATENATE:
    case OPCODE_GATHER:
    case OPCODE_PAD:
    case OPCODE_REVERSE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE: return true;
    case OPCODE_COPY:
    case OPCODE_RESHAPE:
      return !has_same_windows(module, inst_shape(module, id),
                               inst_shape(module, inst_operand(module, id, 0)));
    case OPCODE_DYNAMIC_SLICE:
      return !has_same_tiles(inst_shape(module, id),
                             inst_shape(module, inst_operand(module, id, 0)));
    default: return false;
  }
}

/* XLA:TPU computes a fusion window by window, and ends the process if it finds none that suits all
 * of it ("Cannot find a valid window for"): what shifts, pads, sums up or lays out anew does not
 * get into the fusion that reads it there. */
static bool has_own_window(const Module *module, CompId comp) {
  if (!module->backend.target->has_windows) return false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    if (opcode == OPCODE_REDUCE || opcode == OPCODE_REDUCE_WINDOW || moves_elements(module, id))
      return true;
  }
  return false;
}

/* The same of those that read a parameter of the fusion. */
static bool is_read_in_other_window(const Module *module, InstId param) {
  if (!module->backend.target->has_windows) return false;
  for (uint32_t i = 0; i < inst_get(module, param)->users.len; i++) {
    if (moves_elements(module, inst_users(module, param)[i])) return true;
  }
  return false;
}

/* Instructions whose result has each element of the operand at most once. */
static bool keeps_elements(Opcode opcode) {
  switch (opcode) {
    case OPCODE_BITCAST:
    case OPCODE_CONCATENATE:
    case OPCODE_COPY:
    case OPCODE_PAD:
    case OPCODE_REDUCE:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE: return true;
    default: return opcode_has(opcode, OPF_ELEMENTWISE);
  }
}

/* The most instructions that are looked at on the way from a value. */
enum { MAX_LOOK = MAX_FUSED_INSTS };

/* Whether the value, if it is not rounded within a function, would meet something that then rounds
 * otherwise. */
static bool meets_taker(const Module *module, InstId value) {
  InstId work[MAX_LOOK];
  uint32_t begin = 0, end = 0;
  work[end++] = value;
  while (begin < end) {
    InstId id = work[begin++];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      if (rounding_takes_unrounded(module, user)) return true;
      if (!rounding_passes_products((Opcode)inst_get(module, user)->opcode)) continue;
      if (end == MAX_LOOK) return true;
      work[end++] = user;
    }
  }
  return false;
}

/* Whether all of the producer and of the reader rounds in one function as it does in two: each is
 * settled, no product of one meets a sum of the other, and none gets another user, since both
 * compute it. What is not moved out of loops before must not be moved out of them then, so the
 * producer's value must depend on the innermost loop if the reader has products. */
static bool rounds_alike(const Module *module, InstId producer, InstId reader, InstId param,
                         Arena *arena) {
  FunctionRounding made = rounding_of_fusion(module, producer, arena);
  if (!made.is_settled) return false;
  if (made.root_may_be_product && meets_taker(module, param)) return false;
  FunctionRounding read = rounding_of_fusion(module, reader, arena);
  if (!read.is_settled || (read.has_products && !made.root_is_whole)) return false;
  return !(made.has_products || read.has_products) || !rounding_shares_products(&made, &read);
}

/* Whether all that reads an instruction of a fusion is the tuple of the results. */
static bool is_only_result(const Module *module, InstId id) {
  uint32_t num_users = inst_get(module, id)->users.len;
  if (num_users == 0) return true;
  InstId user = inst_users(module, id)[0];
  return num_users == 1 && inst_get(module, user)->opcode == OPCODE_TUPLE &&
         inst_is_root(module, user);
}

/* Whether the instruction writes the value into a larger array, where it is computed in place. */
static bool writes_once(const Module *module, InstId user, InstId value) {
  return inst_get(module, user)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE &&
         inst_operand(module, user, 1) == value && inst_count_operand(module, user, value) == 1 &&
         is_only_result(module, user);
}

/* Whether nothing that is computed from the parameter has an element more than once. */
static bool is_read_once(const Module *module, InstId param) {
  InstId work[MAX_LOOK];
  uint32_t begin = 0, end = 0;
  work[end++] = param;
  while (begin < end) {
    InstId id = work[begin++];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_result = inst_get(module, user)->opcode == OPCODE_TUPLE && inst_is_root(module, user);
      if (is_result || writes_once(module, user, id)) continue;
      if (!keeps_elements((Opcode)inst_get(module, user)->opcode) || end == MAX_LOOK) return false;
      work[end++] = user;
    }
  }
  return true;
}

static InstId param_of(const Module *module, InstId fusion, uint32_t operand) {
  IdList params = comp_get(module, inst_callees(module, fusion)[0])->params;
  return id_list(module, params)[operand];
}

static uint32_t position_of(const Module *module, InstId user, InstId operand) {
  uint32_t i = 0;
  while (inst_operand(module, user, i) != operand)
    i++;
  return i;
}

/* ---- readers ---- */

static bool is_number(const Module *module, InstId id) {
  return shape_is_effective_scalar(inst_shape(module, id));
}

/* Computing a value anew for each of at least so many elements that read it is worth a kernel if it
 * takes at most so many instructions. */
enum { LEAST_REPEATS = 16, MAX_REPEATED = 32 };

/* Each reader reads the value from the producer anew, so there should be few, unless the value is a
 * number. */
enum { MAX_ARRAY_READERS = 4, MAX_READERS = 64, MAX_VIEWS = 4 };

/* An instruction that reads a value, itself or through bitcasts. */
typedef struct FuseReader {
  InstId inst;
  InstId as[MAX_VIEWS]; /* its operands: the value or bitcasts */
  uint32_t num_views;
} FuseReader;

typedef struct FuseReaders {
  FuseReader list[MAX_READERS];
  uint32_t len;
} FuseReaders;

static FuseReader *reader_for(FuseReaders *readers, InstId inst) {
  for (uint32_t k = 0; k < readers->len; k++) {
    if (readers->list[k].inst == inst) return &readers->list[k];
  }
  if (readers->len == MAX_READERS) return NULL;
  readers->list[readers->len] = (FuseReader){.inst = inst};
  return &readers->list[readers->len++];
}

static bool add_readers(const Module *module, InstId as, bool is_bitcast, FuseReaders *readers) {
  if (inst_is_root(module, as) || inst_has_control(module, as)) return false;
  for (uint32_t i = 0; i < inst_get(module, as)->users.len; i++) {
    InstId user = inst_users(module, as)[i];
    if (!is_bitcast && inst_get(module, user)->opcode == OPCODE_BITCAST) {
      if (!add_readers(module, user, true, readers)) return false;
      continue;
    }
    FuseReader *reader = reader_for(readers, user);
    if (!reader || reader->num_views == MAX_VIEWS) return false;
    reader->as[reader->num_views++] = as;
  }
  return true;
}

/* Whether computing an element again costs hardly more than reading it. */
static bool is_cheap(const Module *module, CompId comp) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    const Instruction *inst = inst_get(module, comp_inst(module, comp, i));
    if (inst->flags & INST_DEAD) continue;
    Opcode opcode = (Opcode)inst->opcode;
    bool is_slow = opcode_has(opcode, OPF_TRANSCENDENTAL) || opcode == OPCODE_DIVIDE ||
                   opcode == OPCODE_REMAINDER || inst->num_callees > 0;
    bool is_simple = opcode_has(opcode, OPF_ELEMENTWISE | OPF_FREE) || keeps_elements(opcode) ||
                     opcode == OPCODE_BROADCAST || opcode == OPCODE_IOTA;
    if (is_slow || !is_simple) return false;
  }
  return true;
}

/* Whether a result of the fusion has elements enough for the producer's to be repeated among them.
 */
static bool is_much_larger(const Module *module, InstId reader, InstId producer) {
  const Shape *shape = inst_shape(module, reader);
  uint32_t count = shape_is_tuple(shape) ? shape->rank : 1;
  int64_t most = 0;
  for (uint32_t i = 0; i < count; i++) {
    const Shape *part =
        shape_is_tuple(shape) ? shape_get(&module->shapes, shape->elements[i]) : shape;
    if (shape_is_array(part) && part->num_elements > most) most = part->num_elements;
  }
  int64_t few = inst_shape(module, producer)->num_elements;
  return few > 0 && few <= most / LEAST_REPEATS;
}

/* Whether a kernel of its own takes longer than to compute the value wherever it is read: it is
 * small beside what the reader computes, and a few elementwise operations. */
static bool may_be_repeated(const Rewrite *rewrite, InstId producer, InstId reader) {
  const Module *module = rewrite->module;
  CompId comp = inst_callees(module, producer)[0];
  if (!rewrite->starts_kernels || comp_num_insts(module, comp) > MAX_REPEATED) return false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    const Instruction *inst = inst_get(module, comp_inst(module, comp, i));
    bool is_simple = opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE | OPF_FREE) ||
                     inst->opcode == OPCODE_BROADCAST || inst->opcode == OPCODE_IOTA;
    if (!(inst->flags & INST_DEAD) && (!is_simple || inst->num_callees > 0)) return false;
  }
  return is_number(module, producer) || is_much_larger(module, reader, producer);
}

static InstId param_of_view(const Module *module, const FuseReader *reader, uint32_t view) {
  return param_of(module, reader->inst, position_of(module, reader->inst, reader->as[view]));
}

static bool can_merge(const Rewrite *rewrite, InstId producer, const FuseReader *reader,
                      Arena *arena) {
  const Module *module = rewrite->module;
  if (!may_take_more(rewrite, reader->inst)) return false;
  CompId from = inst_callees(module, producer)[0], to = inst_callees(module, reader->inst)[0];
  if (comp_num_insts(module, from) + comp_num_insts(module, to) > MAX_FUSED_INSTS) return false;
  InstId root = comp_get(module, from)->root;
  if (inst_get(module, root)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE) return false;
  for (uint32_t i = 0; i < reader->num_views; i++) {
    if (inst_count_operand(module, reader->inst, reader->as[i]) != 1) return false;
    InstId param = param_of_view(module, reader, i);
    if (inst_is_root(module, param)) return false;
    if (!has_same_windows(module, inst_shape(module, producer),
                          inst_shape(module, reader->as[i])) ||
        is_read_in_other_window(module, param))
      return false;
    if (!is_read_once(module, param) && !may_be_repeated(rewrite, producer, reader->inst))
      return false;
    if (!rewrite->any_rounding && !rounds_alike(module, producer, reader->inst, param, arena))
      return false;
  }
  return true;
}

static bool find_readers(const Rewrite *rewrite, InstId producer, FuseReaders *readers,
                         Arena *arena) {
  const Module *module = rewrite->module;
  *readers = (FuseReaders){0};
  if (!may_be_merged(module, producer)) return false;
  if (has_own_window(module, inst_callees(module, producer)[0])) return false;
  if (!add_readers(module, producer, false, readers) || readers->len == 0) return false;
  if (readers->len > 1 && !is_cheap(module, inst_callees(module, producer)[0])) return false;
  if (readers->len > MAX_ARRAY_READERS && !is_number(module, producer)) return false;
  for (uint32_t i = 0; i < readers->len; i++) {
    if (!can_merge(rewrite, producer, &readers->list[i], arena)) return false;
  }
  return true;
}

/* ---- merging ---- */

InstId fuse_find_param(Rewrite *rewrite, InstId reader, InstId operand) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) == operand) return param_of(module, reader, i);
  }
  CompId comp = inst_callees(module, reader)[0];
  InstId param = rewrite_add_helper(rewrite, comp,
                                    (InstSpec){.opcode = OPCODE_PARAMETER,
                                               .shape = inst_get(module, operand)->shape,
                                               .index = comp_get(module, comp)->params.len});
  comp_push_param(module, comp, param);
  module_append_operand(module, reader, operand);
  return param;
}

InstId fuse_part_alone(Rewrite *rewrite, InstId fusion, InstId inner, const Schedule *schedule,
                       Arena *scratch) {
  Module *module = rewrite->module;
  uint32_t count = inst_get(module, fusion)->num_operands;
  InstId *operands = arena_array(scratch, InstId, count);
  if (count) memcpy(operands, inst_operands(module, fusion), count * sizeof *operands);
  InstId part = rewrite_clone_into(rewrite, fusion, inst_get(module, fusion)->parent, operands,
                                   schedule, scratch);
  dce_trim_fusion(rewrite, part, rewrite->image.data[inner], scratch);
  return part;
}

/* Gives what a reader computes from one of its views `result`, an instruction of the same fusion.
 */
static void replace_view(Rewrite *rewrite, const FuseReader *reader, uint32_t view, InstId result,
                         Arena *arena) {
  Module *module = rewrite->module;
  InstId param = param_of_view(module, reader, view);
  if (inst_get(module, result)->shape != inst_get(module, param)->shape) {
    InstSpec cast = {.opcode = OPCODE_BITCAST,
                     .shape = inst_get(module, param)->shape,
                     .operands = &result,
                     .num_operands = 1};
    result = rewrite_add_helper(rewrite, inst_get(module, param)->parent, cast);
  }
  rewrite_replace_all_uses(rewrite, param, result, arena);
}

static void merge(Rewrite *rewrite, InstId producer, const FuseReader *reader, Arena *arena) {
  Module *module = rewrite->module;
  CompId from = inst_callees(module, producer)[0], to = inst_callees(module, reader->inst)[0];
  InstId result = rewrite_copy_expression(rewrite, from, to, arena);
  uint32_t num_params = comp_get(module, from)->params.len;
  for (uint32_t i = 0; i < num_params; i++) {
    InstId inner = id_list(module, comp_get(module, from)->params)[i];
    InstId image = rewrite->image.data[inner];
    InstId own = fuse_find_param(rewrite, reader->inst, inst_operand(module, producer, i));
    if (result == image) result = own;
    rewrite_replace_all_uses(rewrite, image, own, arena);
    module_remove_inst(module, image);
  }
  for (uint32_t i = 0; i < reader->num_views; i++)
    replace_view(rewrite, reader, i, result, arena);
  module_sweep_comp(module, to);
  comp_get(module, to)->flags |= COMP_NEW_SIGNATURE;
  inst_get(module, reader->inst)->flags |= INST_CHANGED | INST_NEW_OPERANDS;
  rewrite_order_expression(rewrite, to, arena);
  dce_trim_fusion(rewrite, reader->inst, comp_get(module, to)->root, arena);
}

/* Removes bitcasts that nothing reads any more. They must not count as readers. */
static void remove_views(Rewrite *rewrite, const FuseReader *reader, InstId producer) {
  for (uint32_t i = 0; i < reader->num_views; i++) {
    InstId as = reader->as[i];
    const Instruction *inst = inst_get(rewrite->module, as);
    if (as != producer && inst->users.len == 0 && !(inst->flags & INST_DEAD))
      module_remove_inst(rewrite->module, as);
  }
}

bool fuse_into_readers(Rewrite *rewrite, InstId producer, IdVec *changed, Arena *out,
                       Arena *scratch) {
  FuseReaders readers;
  Arena *arena = arena_new(arena_options(scratch));
  if (!find_readers(rewrite, producer, &readers, arena)) {
    arena_free(arena);
    return false;
  }
  for (uint32_t i = 0; i < readers.len; i++) {
    merge(rewrite, producer, &readers.list[i], arena);
    *vec_push(out, changed) = inst_callees(rewrite->module, readers.list[i].inst)[0];
  }
  for (uint32_t i = 0; i < readers.len; i++)
    remove_views(rewrite, &readers.list[i], producer);
  CompId comp = inst_get(rewrite->module, producer)->parent;
  module_remove_inst(rewrite->module, producer);
  module_sweep_comp(rewrite->module, comp);
  arena_free(arena);
  return true;
}
