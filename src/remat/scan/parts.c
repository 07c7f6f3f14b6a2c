#include "remat/scan/parts.h"

#include "analysis/flow/rounding.h"
#include "analysis/loop/count.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/fuse.h"

/* A range of an array's elements, in the order of their indices. */
typedef struct Range {
  InstId array; /* in a sequence, or in the computation of a fusion there */
  int64_t offset, count;
} Range;

/* What reads a part, and the part. */
typedef struct Part {
  InstId reader;    /* in a sequence */
  uint32_t operand; /* of `reader`: the array of which this is a part */
  InstId slice;     /* that takes it: in the fusion's computation, or `reader` itself */
  InstId value;     /* that it is; may be in the computation of another fusion */
} Part;

/* An instruction that comes into the sequence behind another one. */
typedef struct Follower {
  InstId inst;
  uint32_t next; /* follower of the same instruction; NO_ID = none */
} Follower;

typedef struct Finder {
  Rewrite *rewrite;
  Module *module;
  const CallGraph *graph;
  CountLists lists;
  VEC(Part) parts;
  VEC(Follower) followers;
  uint32_t *first_follower, *last_follower; /* by InstId of old instructions */
  InstId
      *made; /* by InstId: the instruction of the sequence that has the value; NO_ID = none yet */
  uint32_t num_old;
  bool is_fused;
  Arena *arena;
} Finder;

/* ---- ranges ---- */

static bool is_in_order(const Shape *shape) {
  if (!shape_is_array(shape) || shape->has_dynamic || shape->extras || shape->bytes < 0)
    return false;
  for (uint32_t i = 0; shape->minor_to_major && i < shape->rank; i++) {
    if (shape->minor_to_major[i] != (int64_t)shape->rank - 1 - i) return false;
  }
  return true;
}

static int64_t product(const int64_t *dims, uint32_t first, uint32_t end) {
  int64_t result = 1;
  for (uint32_t i = first; i < end; i++)
    result *= dims[i];
  return result;
}

static int64_t num_elements(const Shape *shape) {
  return product(shape->dims, 0, shape->rank);
}

/* Where a box begins in an array, if its elements are a range of the array's. */
static bool find_box(const Shape *array, const Shape *box, const int64_t *starts, int64_t *offset) {
  bool must_be_whole = false;
  *offset = 0;
  if (array->rank != box->rank) return false;
  for (uint32_t i = 0; i < array->rank; i++) {
    if (must_be_whole && box->dims[i] != array->dims[i]) return false;
    must_be_whole |= box->dims[i] != 1;
    *offset += starts[i] * product(array->dims, i + 1, array->rank);
  }
  return true;
}

/* The starts of a dynamic-slice or a dynamic-update-slice, clamped as XLA does. */
static bool find_starts(Finder *finder, InstId id, uint32_t first, const Shape *array,
                        const Shape *box, int64_t *starts) {
  if (inst_get(finder->module, id)->num_operands != first + array->rank) return false;
  for (uint32_t i = 0; i < array->rank; i++) {
    int64_t last = array->dims[i] - box->dims[i];
    starts[i] = 0;
    if (last == 0) continue;
    const int64_t *known = count_list(&finder->lists, inst_operand(finder->module, id, first + i));
    if (!known) return false;
    starts[i] = known[0] < 0 ? 0 : known[0] > last ? last : known[0];
  }
  return true;
}

static bool from_slice(const Module *module, Range *range) {
  InstId array = inst_operand(module, range->array, 0);
  const Shape *whole = inst_shape(module, array), *part = inst_shape(module, range->array);
  IntSlice bounds = inst_attr_ints(module, range->array, ATTR_SLICE); /* start, limit, stride */
  int64_t starts[64], offset;
  if (whole->rank > 64 || bounds.len != 3 * whole->rank) return false;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (bounds.data[3 * i + 2] != 1) return false;
    starts[i] = bounds.data[3 * i];
  }
  if (!find_box(whole, part, starts, &offset)) return false;
  *range = (Range){array, offset + range->offset, range->count};
  return true;
}

static bool from_dynamic_slice(Finder *finder, Range *range) {
  InstId array = inst_operand(finder->module, range->array, 0);
  const Shape *whole = inst_shape(finder->module, array);
  const Shape *part = inst_shape(finder->module, range->array);
  int64_t starts[64], offset;
  if (whole->rank > 64 || whole->rank != part->rank ||
      !find_starts(finder, range->array, 1, whole, part, starts) ||
      !find_box(whole, part, starts, &offset))
    return false;
  *range = (Range){array, offset + range->offset, range->count};
  return true;
}

static bool from_update(Finder *finder, Range *range) {
  InstId array = inst_operand(finder->module, range->array, 0);
  InstId update = inst_operand(finder->module, range->array, 1);
  const Shape *whole = inst_shape(finder->module, array);
  const Shape *box = inst_shape(finder->module, update);
  int64_t starts[64], begin;
  if (whole->rank > 64 || whole->rank != box->rank ||
      !find_starts(finder, range->array, 2, whole, box, starts) ||
      !find_box(whole, box, starts, &begin))
    return false;
  int64_t end = begin + num_elements(box), range_end = range->offset + range->count;
  if (range->offset >= begin && range_end <= end) {
    *range = (Range){update, range->offset - begin, range->count};
    return true;
  }
  range->array = array;
  return range_end <= begin || range->offset >= end;
}

static bool from_concatenate(const Module *module, Range *range) {
  InstId id = range->array;
  IntSlice dims = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  if (dims.len != 1) return false;
  if (product(inst_shape(module, id)->dims, 0, (uint32_t)dims.data[0]) != 1) return false;
  int64_t begin = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    int64_t end = begin + num_elements(inst_shape(module, operand));
    if (range->offset >= begin && range->offset + range->count <= end) {
      *range = (Range){operand, range->offset - begin, range->count};
      return true;
    }
    begin = end;
  }
  return false;
}

/* Replaces a range by one of the array that its array is made of. False if it ends here. */
static bool follow(Finder *finder, Range *range) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, range->array);
  if (!is_in_order(inst_shape(module, range->array))) return false;
  switch (inst->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_COPY:
    case OPCODE_RESHAPE: {
      InstId operand = inst_operand(module, range->array, 0);
      const Shape *from = inst_shape(module, operand), *to = inst_shape(module, range->array);
      if (inst_has_control(module, range->array) || !is_in_order(from) || from->type != to->type)
        return false;
      range->array = operand;
      return true;
    }
    case OPCODE_CONCATENATE: return from_concatenate(module, range);
    case OPCODE_DYNAMIC_SLICE: return from_dynamic_slice(finder, range);
    case OPCODE_DYNAMIC_UPDATE_SLICE: return from_update(finder, range);
    case OPCODE_SLICE: return from_slice(module, range);
    case OPCODE_FUSION:
      range->array = comp_get(module, inst_callees(module, range->array)[0])->root;
      return true;
    case OPCODE_PARAMETER: {
      InstId caller = only_caller_of(finder->graph, inst->parent);
      if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_FUSION) return false;
      range->array = inst_operand(module, caller, (uint32_t)inst->index);
      return true;
    }
    case OPCODE_GET_TUPLE_ELEMENT: {
      InstId tuple = inst_operand(module, range->array, 0);
      bool is_fusion = inst_get(module, tuple)->opcode == OPCODE_FUSION;
      if (is_fusion) tuple = comp_get(module, inst_callees(module, tuple)[0])->root;
      if (inst_get(module, tuple)->opcode != OPCODE_TUPLE) return false;
      range->array = inst_operand(module, tuple, (uint32_t)inst->index);
      return true;
    }
    default: return false;
  }
}

/* ---- parts ---- */

static InstId caller_of(const Finder *finder, InstId id) {
  InstId caller = only_caller_of(finder->graph, inst_get(finder->module, id)->parent);
  bool is_fused = caller != NO_ID && inst_get(finder->module, caller)->opcode == OPCODE_FUSION;
  return is_fused ? caller : NO_ID;
}

/* The element of a fusion's results that is a value; NO_ID if none is. */
static uint32_t result_of(const Module *module, InstId root, InstId value) {
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return NO_ID;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    if (inst_operand(module, root, i) == value) return i;
  }
  return NO_ID;
}

/* Whether a fusion that ends with the value computes the same bits of it. */
static bool is_separable(const Finder *finder, InstId fusion, InstId value) {
  const Module *module = finder->module;
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  return finder->rewrite->any_rounding || result_of(module, root, value) != NO_ID ||
         rounding_is_separable(module, fusion, &value, 1, finder->arena);
}

/* Whether the sequence can have the value. In a fusion of another kind than a loop, what is
 * computed may not be computed alone. */
static bool can_be_made(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  InstId caller = caller_of(finder, id);
  if (inst_get(module, id)->opcode == OPCODE_PARAMETER && caller != NO_ID) return false;
  if (caller == NO_ID || inst_is_root(module, id)) return true;
  return inst_attr_int(module, caller, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_LOOP &&
         is_separable(finder, caller, id);
}

/* Whether an instruction of a sequence copies a value: what was copied may be overwritten later. */
static bool keeps_copy(const Finder *finder, InstId id) {
  return inst_get(finder->module, id)->opcode == OPCODE_COPY && caller_of(finder, id) == NO_ID;
}

/* The value that a slice takes out of `array`; NO_ID if it is not one value. Of several that are
 * the same, the one that is computed first. */
static InstId value_of(Finder *finder, InstId slice, InstId array) {
  const Module *module = finder->module;
  int64_t count = num_elements(inst_shape(module, slice));
  Range range = {slice, 0, count};
  CompId own = inst_get(module, slice)->parent;
  bool is_outside = inst_get(module, array)->parent == own;
  InstId found = NO_ID;
  while (follow(finder, &range)) {
    is_outside |= range.array == array;
    bool is_whole = is_outside && range.array != array && range.offset == 0 &&
                    num_elements(inst_shape(module, range.array)) == range.count;
    bool is_view = inst_get(module, range.array)->opcode == OPCODE_BITCAST ||
                   inst_get(module, range.array)->opcode == OPCODE_RESHAPE;
    if (is_whole && !is_view && can_be_made(finder, range.array)) found = range.array;
    if (is_whole && keeps_copy(finder, range.array)) break;
  }
  return found;
}

static bool is_slice(const Module *module, InstId id, InstId array) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_RESHAPE:
    case OPCODE_SLICE: return true;
    case OPCODE_DYNAMIC_SLICE: return inst_operand(module, id, 0) == array;
    default: return false;
  }
}

/* Adds the parts that are taken of a fusion's parameter. False, and adds none, if something reads
 * it otherwise, or reads a part that is not known. */
static bool add_fused_parts(Finder *finder, InstId reader, uint32_t operand) {
  const Module *module = finder->module;
  InstId array = inst_operand(module, reader, operand);
  CompId comp = inst_callees(module, reader)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[operand];
  uint32_t num_before = finder->parts.len;
  IdVec work = {0};
  *vec_push(finder->arena, &work) = param;
  while (work.len) {
    InstId id = work.data[--work.len];
    IdList users = inst_get(module, id)->users;
    bool is_read = inst_is_root(module, id);
    for (uint32_t i = 0; i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      if (is_slice(module, user, id)) *vec_push(finder->arena, &work) = user;
      is_read |= !is_slice(module, user, id);
    }
    if (!is_read) continue;
    bool is_part = num_elements(inst_shape(module, id)) < num_elements(inst_shape(module, param)) &&
                   is_in_order(inst_shape(module, id));
    InstId value = is_part ? value_of(finder, id, array) : NO_ID;
    if (value == NO_ID) {
      finder->parts.len = num_before;
      return false;
    }
    *vec_push(finder->arena, &finder->parts) = (Part){reader, operand, id, value};
  }
  return true;
}

static void find_parts(Finder *finder, InstId reader) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, reader);
  if (inst->opcode == OPCODE_SLICE || inst->opcode == OPCODE_DYNAMIC_SLICE) {
    InstId array = inst_operand(module, reader, 0);
    bool is_part =
        num_elements(inst_shape(module, reader)) < num_elements(inst_shape(module, array));
    InstId value =
        is_part && !inst_has_control(module, reader) ? value_of(finder, reader, array) : NO_ID;
    if (value != NO_ID) *vec_push(finder->arena, &finder->parts) = (Part){reader, 0, reader, value};
    return;
  }
  if (inst->opcode != OPCODE_FUSION) return;
  /* It would round otherwise with the parts instead of their slices. */
  if (!finder->rewrite->any_rounding && !rounding_is_settled(module, reader, finder->arena)) return;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId array = inst_operand(module, reader, i);
    const Shape *shape = inst_shape(module, array);
    if (!is_in_order(shape) || shape_is_effective_scalar(shape)) continue;
    (void)add_fused_parts(finder, reader, i);
  }
}

/* ---- values ---- */

/* The instruction of the sequence that a value is computed by. */
static InstId holder_of(const Finder *finder, InstId id) {
  InstId caller = caller_of(finder, id);
  return caller == NO_ID ? id : caller;
}

static void insert_behind(Finder *finder, InstId place, InstId inst) {
  uint32_t index = finder->followers.len;
  *vec_push(finder->arena, &finder->followers) = (Follower){inst, NO_ID};
  if (finder->first_follower[place] == NO_ID) {
    finder->first_follower[place] = index;
  } else {
    finder->followers.data[finder->last_follower[place]].next = index;
  }
  finder->last_follower[place] = index;
}

/* The instruction of the sequence that has the value, perhaps under another shape. */
static InstId make(Finder *finder, InstId value) {
  Module *module = finder->module;
  if (finder->made[value] != NO_ID) return finder->made[value];
  InstId holder = holder_of(finder, value), made = holder;
  if (holder != value) {
    InstId root = comp_get(module, inst_callees(module, holder)[0])->root;
    InstId plain = inst_without_bitcasts(module, root);
    uint32_t element = result_of(module, root, value);
    if (element != NO_ID) {
      made = rewrite_add_get_tuple_element(finder->rewrite, holder, element);
      insert_behind(finder, holder, made);
    } else if (root != value && plain != value) {
      made = fuse_part_alone(finder->rewrite, holder, value, NULL, finder->arena);
      finder->rewrite->cloned_from.data[made] = NO_ID; /* it is computed once, as before */
      insert_behind(finder, holder, made);
    }
  }
  finder->made[value] = made;
  return made;
}

/* ---- readers ---- */

static InstId as_shape(Finder *finder, CompId comp, InstId id, ShapeId shape) {
  if (inst_get(finder->module, id)->shape == shape) return id;
  return rewrite_add_helper(finder->rewrite, comp,
                            (InstSpec){.opcode = finder->is_fused ? OPCODE_BITCAST : OPCODE_RESHAPE,
                                       .shape = shape,
                                       .operands = &id,
                                       .num_operands = 1});
}

static void replace_part(Finder *finder, const Part *part) {
  Module *module = finder->module;
  InstId value = make(finder, part->value);
  bool is_fused = part->slice != part->reader;
  InstId source = is_fused ? fuse_find_param(finder->rewrite, part->reader, value) : value;
  CompId comp = inst_get(module, part->slice)->parent;
  InstId shaped = as_shape(finder, comp, source, inst_get(module, part->slice)->shape);
  if (!is_fused && shaped != source) insert_behind(finder, part->reader, shaped);
  rewrite_replace_all_uses(finder->rewrite, part->slice, shaped, finder->arena);
}

/* ---- all ---- */

static void add_followers(const Finder *finder, Schedule *schedule, CompId comp, Arena *out) {
  Sequence old = schedule->of[comp];
  Sequence new = {.ids = arena_array(out, InstId, (size_t)old.len + finder->followers.len)};
  for (uint32_t i = 0; i < old.len; i++) {
    InstId id = old.ids[i];
    new.ids[new.len++] = id;
    uint32_t next = id < finder->num_old ? finder->first_follower[id] : NO_ID;
    for (; next != NO_ID; next = finder->followers.data[next].next)
      new.ids[new.len++] = finder->followers.data[next].inst;
  }
  schedule->of[comp] = new;
}

/* A fusion's parameters that nothing reads any more go, and its text gets a valid order. */
static void tidy_reader(Finder *finder, InstId reader, Schedule *schedule) {
  if (inst_get(finder->module, reader)->opcode != OPCODE_FUSION) return;
  CompId comp = inst_callees(finder->module, reader)[0];
  dce_trim_fusion(finder->rewrite, reader, comp_get(finder->module, comp)->root, finder->arena);
  rewrite_order_expression(finder->rewrite, comp, finder->arena);
  schedule->of[comp].len = 0; /* the order is that of the list now */
}

static uint32_t *no_ids(Arena *arena, uint32_t count) {
  uint32_t *ids = arena_array(arena, uint32_t, count);
  if (count) memset(ids, 0xff, count * sizeof *ids);
  return ids;
}

void scan_forward_parts(Rewrite *rewrite, Schedule *schedule, const IdVec *comps, Arena *out,
                        Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  Loops loops = loops_find(module, &graph, arena, scratch);
  /* Numbers are computed as those of a loop of one iteration, of which there is no state. */
  Loop once = {.id = NO_ID, .body_param = NO_ID, .trips = 1};
  Finder finder = {.rewrite = rewrite,
                   .module = module,
                   .graph = &graph,
                   .lists = count_lists_begin(&loops, arena),
                   .first_follower = no_ids(arena, module->insts.len),
                   .last_follower = no_ids(arena, module->insts.len),
                   .made = no_ids(arena, module->insts.len),
                   .num_old = module->insts.len,
                   .is_fused = module_has_fusions(module),
                   .arena = arena};
  count_lists_enter(&finder.lists, &once, arena);
  for (uint32_t c = 0; c < comps->len; c++) {
    for (uint32_t i = 0; i < schedule->of[comps->data[c]].len; i++)
      find_parts(&finder, schedule->of[comps->data[c]].ids[i]);
  }
  for (uint32_t i = 0; i < finder.parts.len; i++) /* before anything changes in the fusions */
    (void)make(&finder, finder.parts.data[i].value);
  for (uint32_t i = 0; i < finder.parts.len; i++)
    replace_part(&finder, &finder.parts.data[i]);
  for (uint32_t i = 0; i < finder.parts.len; i++) {
    InstId reader = finder.parts.data[i].reader;
    if (i == 0 || finder.parts.data[i - 1].reader != reader) tidy_reader(&finder, reader, schedule);
  }
  for (uint32_t c = 0; c < comps->len; c++)
    add_followers(&finder, schedule, comps->data[c], out);
  dce_run(rewrite, scratch);
  dce_update_schedule(module, schedule, out);
  arena_free(arena);
}
