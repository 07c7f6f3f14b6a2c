/* Advice on arrays that are large only between two operations: logits between a product and a loss,
 * scores between a product and a softmax, what is broadcast and then summed up. What they are
 * computed from is small, and so is what is computed from them, so they can be computed in pieces.
 *
 * All arrays of so many elements are a region. It is simulated by arrays that are as many times
 * smaller as there are pieces. */
#include <stdlib.h>

#include "advice/frames.h"
#include "advice/layers.h"
#include "advice/piece_loops.h"
#include "advice/region_role.h"
#include "advice/sample_gradients.h"
#include "advice/shrink.h"
#include "emit/human.h"
#include "ir/attribute.h"
#include "remat/algorithms/forward_end.h"

enum {
  LEAST_SHARE = 12, /* of the peak, that a region must have at it: one part of so many */
  MAX_REGIONS = 4,
  USUAL_CHUNKS = 8,
};

/* The arrays of one number of elements. */
typedef struct Region {
  RegionSize size;
  int64_t live_bytes; /* at the peak */
  InstId largest;     /* one of them that lives at the peak, and its shape */
  ShapeId shape;
  uint32_t num_parts; /* such as layers */
  CompId comp;        /* that has them */
  RegionUse use;
} Region;

typedef struct Study {
  Advisor *advisor;
  VEC(Region) regions;
} Study;

/* Whether an array is what a library's call works in, which the program does not know. */
static bool is_workspace(const Module *module, InstId id, const Shape *shape) {
  if (inst_get(module, id)->opcode == OPCODE_FUSION)
    id = comp_get(module, inst_callees(module, id)[0])->root;
  bool is_bytes = shape_is_array(shape) && shape->rank == 1 &&
                  (shape->type == TYPE_S8 || shape->type == TYPE_U8);
  return is_bytes && inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
         shape_is_tuple(inst_shape(module, id));
}

static bool is_sum_of_product(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_REDUCE &&
         str_contains(inst_op_name(module, id), "dot_general");
}

static bool is_product(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode == OPCODE_DOT || opcode == OPCODE_CONVOLUTION;
}

/* Whether an array has the parts of a product that XLA:GPU divides along what is summed up, and
 * adds up behind it: the program does not know them. The sum has the name of the product. */
static bool is_divided_product(const Module *module, InstId id, const Shape *shape) {
  if (!shape_is_array(shape) || shape->rank < 2 || !inst_any_fused(module, id, is_product))
    return false;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len;
       i++) { /* each adds them up for itself */
    if (!inst_any_fused(module, inst_users(module, id)[i], is_sum_of_product)) return false;
  }
  return inst_get(module, id)->users.len > 0;
}

static void find_regions(Study *study) {
  const Advisor *advisor = study->advisor;
  const Module *module = advisor->module;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    ShapeId shape = live_buffer_shape(module, live);
    const Shape *array = shape_get(&module->shapes, shape);
    if (is_workspace(module, live->inst, array)) continue;
    if (is_divided_product(module, live->inst, array)) continue;
    int64_t unpadded = region_unpadded(module, live->inst);
    int64_t count = unpadded ? unpadded : region_elements(module, shape);
    Region *found = NULL;
    for (uint32_t k = 0; k < study->regions.len && !found; k++) {
      if (study->regions.data[k].size.elements == count) found = &study->regions.data[k];
    }
    if (!found) {
      found = vec_push(advisor->arena, &study->regions);
      *found = (Region){.size = {.elements = count},
                        .largest = live->inst,
                        .shape = shape,
                        .comp = inst_get(module, live->inst)->parent};
    }
    if (unpadded == 0) found->shape = shape; /* rather than that of a padded form */
    found->live_bytes += live->bytes;
  }
}

/* ---- whether it can be computed in pieces ---- */

/* An operation for whose pieces others would have to wait, or that is not the region's alone. */
static bool is_boundary(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_WHILE:
    case OPCODE_CONDITIONAL:
    case OPCODE_CALL:
    case OPCODE_RNG:
    case OPCODE_SORT:
    case OPCODE_CHOLESKY:
    case OPCODE_TRIANGULAR_SOLVE: return true;
    case OPCODE_CUSTOM_CALL: return is_unknown_call(module, id);
    default: /* what one collective sends at once, the compiler may have put together */
      return inst_is_root(module, id) ||
             opcode_has((Opcode)inst_get(module, id)->opcode, OPF_COLLECTIVE);
  }
}

/* Whether `outside`, which enters or leaves the region at `user`, is weights, a table that is
 * looked up, or their gradients. Pieces use these as a whole, and add up what their gradients are;
 * an array of which the region has each element is divided with it. */
static bool is_used_whole(const Module *module, const bool *is_whole_user, InstId outside,
                          InstId user) {
  return is_whole_user[user] && region_has_size_of_argument(module, outside);
}

/* Whether all that enters and leaves the region is smaller than half of it. */
static bool is_hourglass(const Advisor *advisor, RegionSize size, const bool *is_whole_user) {
  const Module *module = advisor->module;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD || !comp_is_sequential(&advisor->values.graph, inst->parent))
      continue;
    bool is_inside = region_has(module, id, size);
    if (is_inside && is_boundary(module, id)) return false;
    for (uint32_t i = 0; i < inst->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      bool reads = region_has(module, operand, size);
      if (reads == is_inside) continue;
      InstId other = is_inside ? operand : id; /* outside of the region */
      if (inst_get(module, other)->opcode == OPCODE_TUPLE) return false;
      if (region_is_exceeded(module, other, size.elements / 2 + 1) &&
          !is_used_whole(module, is_whole_user, other, id))
        return false;
    }
  }
  return true;
}

/* The arrays of a region that are computed from each other. Those of different layers are apart. */
typedef struct Parts {
  uint32_t *of; /* by InstId: a number of the part, NO_ID = outside; find() gives the final one */
  uint32_t *num_products; /* by number */
  uint32_t len;           /* of the numbers that were given */
  uint32_t count;         /* of the parts that are left */
} Parts;

static uint32_t find(uint32_t *root, uint32_t number) {
  while (root[number] != number)
    number = root[number] = root[root[number]];
  return number;
}

/* Finds the parts of the forward part, and counts their products. */
static Parts find_parts(const Advisor *advisor, const ForwardPart *forward, RegionSize size,
                        Arena *arena) {
  const Module *module = advisor->module;
  Sequence sequence = forward->sequence;
  uint32_t num_insts = module->insts.len;
  Parts parts = {.of = arena_array(arena, uint32_t, num_insts),
                 .num_products = arena_zarray(arena, uint32_t, (size_t)sequence.len + 1)};
  uint32_t *root = arena_array(arena, uint32_t, (size_t)sequence.len + 1);
  memset(parts.of, 0xff, num_insts * sizeof *parts.of);
  bool *is_heavy = find_heavy(module, arena, advisor->scratch);
  for (SchedPos pos = 0; pos < sequence.len && (forward->end == NO_ID || pos <= forward->end);
       pos++) {
    InstId id = sequence.ids[pos];
    if (!region_has(module, id, size)) continue;
    root[parts.len] = parts.len;
    parts.of[id] = parts.len++;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      uint32_t other = parts.of[inst_operand(module, id, i)];
      if (other != NO_ID) root[find(root, other)] = find(root, parts.of[id]);
    }
  }
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (parts.of[id] == NO_ID) continue;
    parts.of[id] = find(root, parts.of[id]);
    parts.num_products[parts.of[id]] += is_heavy[id];
  }
  for (uint32_t i = 0; i < parts.len; i++)
    parts.count += root[i] == i;
  return parts;
}

/* Whether a value that is computed from the region, and that the region reads again, is one for
 * each row, as the sum of a softmax is. The mean over a batch is not: then no row is done alone. */
static bool is_of_rows(const Module *module, InstId id, InstId of_region) {
  ShapeId shape = inst_get(module, id)->shape;
  const Shape *region = inst_shape(module, of_region);
  int64_t own = region_elements(module, shape), largest = 1;
  if (!shape_is_array(region) || own <= 1) return true;
  for (uint32_t i = 0; i < region->rank; i++) {
    if (region->dims[i] > largest) largest = region->dims[i];
  }
  return own * largest >= region->num_elements;
}

static bool reads_all_rows(const Advisor *advisor, const ForwardPart *forward, const Parts *parts) {
  const Module *module = advisor->module;
  Sequence sequence = forward->sequence;
  for (SchedPos pos = 0; pos < sequence.len && (forward->end == NO_ID || pos <= forward->end);
       pos++) {
    InstId id = sequence.ids[pos];
    if (parts->of[id] != NO_ID) continue;
    InstId from = NO_ID;
    bool returns = false;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      if (parts->of[inst_operand(module, id, i)] != NO_ID) from = inst_operand(module, id, i);
    }
    for (uint32_t i = 0; from != NO_ID && i < inst_get(module, id)->users.len; i++)
      returns |= parts->of[inst_users(module, id)[i]] != NO_ID;
    if (returns && !is_of_rows(module, id, from)) return true;
  }
  return false;
}

/* Whether each part is made by one product at most, and row by row. Sets the number of parts. */
static bool is_row_by_row(const Advisor *advisor, Region *region) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  ForwardPart forward =
      forward_part_of(module, advisor->schedule->of[region->comp], advisor->scratch);
  Parts parts = find_parts(advisor, &forward, region->size, arena);
  bool is_simple = true;
  for (uint32_t i = 0; i < parts.len; i++)
    is_simple &= parts.num_products[i] <= 1;
  is_simple = is_simple && !reads_all_rows(advisor, &forward, &parts);
  region->num_parts = parts.count;
  arena_free(arena);
  return is_simple;
}

/* Whether an instruction gives another form to one argument, padded or transposed, as XLA does with
 * weights. What is much larger is computed from it, as a one-hot array is from indices. */
static bool is_form_of_argument(const Module *module, InstId id, int64_t elements) {
  enum { MAX_FORMS = 16 };
  for (int i = 0; i < MAX_FORMS; i++) {
    if (inst_get(module, id)->opcode == OPCODE_PARAMETER)
      return 2 * region_elements(module, inst_get(module, id)->shape) >= elements;
    InstId given = NO_ID;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (inst_get(module, operand)->opcode == OPCODE_CONSTANT || operand == given) continue;
      if (given != NO_ID) return false;
      given = operand;
    }
    if (given == NO_ID) return false;
    id = given;
  }
  return false;
}

/* Whether what lives at the peak of a region is arguments in another form, which the program does
 * not compute. */
static bool is_given(const Advisor *advisor, RegionSize size) {
  const Module *module = advisor->module;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    ShapeId shape = live_buffer_shape(module, live);
    bool is_meant = region_is_size(size, region_elements(module, shape));
    if (is_meant && !is_form_of_argument(module, live->inst, size.elements)) return false;
  }
  return true;
}

/* ---- what it takes ---- */

/* The modelled time of the forward part's share of the region, which is computed a second time if
 * the backward part reads it; 0 if there is no backward part. */
static double repeated_seconds(const Advisor *advisor, const Region *region) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  CostTable costs = cost_analyze(module, arena, advisor->scratch);
  Sequence sequence = advisor->schedule->of[region->comp];
  ForwardPart forward = forward_part_of(module, sequence, advisor->scratch);
  double seconds = 0;
  bool is_read_later = false;
  const double *runs = cost_runs(module, &costs, advisor->request->device,
                                 advisor->request->default_trip_count, arena, advisor->scratch);
  for (SchedPos pos = 0; pos < sequence.len && forward.end != NO_ID; pos++) {
    bool is_inside = region_has(module, sequence.ids[pos], region->size);
    if (is_inside && pos <= forward.end)
      seconds += cost_seconds(module, &costs, advisor->request->device, sequence.ids[pos]);
    is_read_later |= is_inside && pos > forward.end;
  }
  seconds *= runs[region->comp];
  arena_free(arena);
  return is_read_later ? seconds : 0;
}

/* ---- proposals ---- */

typedef struct Pieces {
  RegionSize size;
  int64_t num_chunks;
} Pieces;

static ShapeId shrink_region(Module *module, ShapeId array, const void *context) {
  const Pieces *pieces = context;
  bool is_meant = region_is_size(pieces->size, region_elements(module, array));
  return is_meant ? shrink_array(module, array, pieces->num_chunks) : array;
}

/* Whether a checkpoint was proposed, at an activation the first remedy. */
static bool has_checkpoint(const Advisor *advisor) {
  for (uint32_t i = 0; i < advisor->remedies.len; i++) {
    if (strncmp(advisor->remedies.data[i].shown.kind, "checkpoint", 10) == 0) return true;
  }
  return false;
}

/* The line of the function in which the array is made as well as read: a piece goes through both.
 */
static SourcePlace place_of(Advisor *advisor, const Region *region) {
  const Module *module = advisor->module;
  InstId maker = region->use.maker == NO_ID ? region->largest : region->use.maker;
  SourcePlace place = advisor_place(advisor, maker);
  SourceFrame frame;
  uint32_t depth = 0;
  if (region->use.exit == NO_ID) return place;
  int32_t number = frame_in_common(module, maker, region->use.exit, &depth, advisor->scratch);
  if (depth == 0) return place;
  (void)frame_outside_libraries(module, number, &frame);
  if (frame.is_library || !frame.file.len || frame.line <= 0) return place;
  Str file = human_unescape(frame.file, advisor->out);
  return (SourcePlace){
      place.op_name, {arena_strndup(advisor->out, file.data, file.len), file.len}, frame.line};
}

/* What is done with one row, by its lines. */
static const char *row_text(Advisor *advisor, const Region *region, SourcePlace place) {
  const char *where = advisor_where(advisor, place);
  if (region->use.exit == NO_ID) return arena_printf(advisor->out, "what %s does", where);
  SourcePlace end = advisor_place(advisor, region->use.exit);
  bool is_same = end.line == place.line && str_equal(end.file, place.file);
  if (end.line <= 0 || is_same) return arena_printf(advisor->out, "what %s does", where);
  return arena_printf(advisor->out, "what %s does, and what is made of it up to %s", where,
                      advisor_where(advisor, end));
}

static rh_text code_of(const Advisor *advisor, RegionRole role, bool is_repeated, long long pieces,
                       const char *row) {
  bool is_of_loss = role == REGION_LOGITS || role == REGION_OUTPUTS;
  if (role == REGION_ONE_HOT)
    return advice_text(
        advisor->out, "%s  # in place of a product with a one-hot array",
        framework_words(advisor->framework, "table[ids]",
                        "torch.nn.functional.embedding(ids, table)", "tf.gather(table, ids)"));
  const char *function = is_of_loss ? "loss" : "f";
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      if (is_of_loss)
        return advice_text(advisor->out,
                           "loss = sum(torch_xla.utils.checkpoint.checkpoint(loss, h, y) for h, y "
                           "in zip(hidden.chunk(%lld), labels.chunk(%lld)))",
                           pieces, pieces);
      return advice_text(advisor->out, "torch.cat([%s for part in x.chunk(%lld)])",
                         is_repeated ? "torch_xla.utils.checkpoint.checkpoint(f, part)" : "f(part)",
                         pieces);
    case FRAMEWORK_TENSORFLOW:
      return advice_text(advisor->out,
                         is_repeated ? "tf.map_fn(tf.recompute_grad(%s), tf.reshape(x, [%lld, -1, "
                                       "*x.shape[1:]]))"
                                     : "tf.map_fn(%s, tf.reshape(x, [%lld, -1, *x.shape[1:]]))",
                         function, pieces);
    default: break;
  }
  if (!is_of_loss)
    return advice_text(advisor->out,
                       "def f(x): …  # for one row: %s\n"
                       "rows = jax.lax.map(%s, xs, batch_size=len(xs) // %lld)",
                       row, is_repeated ? "jax.checkpoint(f)" : "f", pieces);
  return advice_text(advisor->out,
                     "pieces = jax.tree.map(lambda x: x.reshape(%lld, -1, *x.shape[1:]), (hidden, "
                     "labels))\n"
                     "losses = jax.lax.map(jax.checkpoint(lambda p: loss(weights, *p)), pieces)  # "
                     "and their mean, or sum",
                     pieces);
}

static const char *what_is(RegionRole role) {
  switch (role) {
    case REGION_LOGITS: return "the logits and their loss";
    case REGION_OUTPUTS: return "the last layer and its loss";
    case REGION_ACTIVATION: return "this activation and the next layer";
    default: return "this";
  }
}

static const char *how_to(RegionRole role) {
  switch (role) {
    case REGION_LOGITS:
    case REGION_OUTPUTS:
      return "With a checkpoint around a piece, it is computed again in the backward part, one "
             "piece at a time.";
    case REGION_ONE_HOT:
      return "A product with a one-hot array only looks rows up, which indexing does without it.";
    case REGION_ACTIVATION:
      return "A piece is some rows, from the product that makes the array to the one that reads "
             "it. A checkpoint around both, without pieces, is simpler, and leaves the array of "
             "one layer.";
    default:
      return "A piece is some rows of the array; if XLA fused the operations that read it with "
             "the one that makes it, that would do, too.";
  }
}

static bool propose(Advisor *advisor, const Region *region, const bool *is_whole_user,
                    int64_t num_chunks) {
  RegionRole role = region->use.role;
  const Shape *largest = shape_get(&advisor->module->shapes, region->shape);
  bool goes = role == REGION_ONE_HOT && largest->rank > 0; /* all of it */
  Pieces pieces = {region->size, goes ? largest->dims[0] : num_chunks};
  rh_module *made = shrink_module(advisor, shrink_region, &pieces);
  if (region->use.is_read_back && role != REGION_ONE_HOT)
    piece_loops_separate(advisor, made, region->comp, region->size, is_whole_user);
  bool is_of_loss = role == REGION_LOGITS || role == REGION_OUTPUTS;
  double seconds = repeated_seconds(advisor, region);
  bool is_second = role == REGION_ACTIVATION && region->use.is_read_back && has_checkpoint(advisor);
  SourcePlace place = place_of(advisor, region);
  Str shape = shape_text(&advisor->module->shapes, region->shape, false, advisor->out);
  rh_remedy remedy = {.kind = is_of_loss ? "chunk-loss" : "chunk",
                      .confidence = is_second ? "low" : "medium",
                      .num_chunks = goes ? 0 : num_chunks,
                      .num_instances = region->num_parts,
                      .bytes_at_peak = region->live_bytes};
  advisor_set_place(&remedy, place);
  remedy.title =
      role == REGION_ONE_HOT
          ? advice_text(advisor->out, "%s: look rows up by their index, %.*s is not needed",
                        advisor_where(advisor, place), (int)shape.len, shape.data)
          : advice_text(advisor->out,
                        "%s: compute %s in %lld pieces, %.*s is never needed as a whole",
                        advisor_where(advisor, place), what_is(role), (long long)num_chunks,
                        (int)shape.len, shape.data);
  remedy.code = code_of(advisor, role, region->use.is_read_back, num_chunks,
                        row_text(advisor, region, place));
  remedy.explanation = advice_text(
      advisor->out,
      "Arrays of %s elements take %s at the peak, and all that they are computed from and all that "
      "is computed from them is smaller. %s",
      human_count((uint64_t)region->size.elements).text, human_bytes(region->live_bytes).text,
      how_to(role));
  return advisor_add_timed(advisor, &remedy, made, seconds);
}

/* The least number of pieces that meets the limit, or the usual number. */
static void propose_pieces(Advisor *advisor, const Region *region, const bool *is_whole_user) {
  if (advisor->request->limit_bytes == INT64_MAX) {
    (void)propose(advisor, region, is_whole_user, USUAL_CHUNKS);
    return;
  }
  for (int64_t num_chunks = 2; num_chunks <= 64; num_chunks *= 2) {
    bool stays = propose(advisor, region, is_whole_user, num_chunks);
    if (!stays) return;
    if (advisor->remedies.data[advisor->remedies.len - 1].shown.is_met) return;
  }
}

static int by_live_bytes(const void *pa, const void *pb) {
  const Region *a = pa, *b = pb;
  if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes ? -1 : 1;
  return (a->size.elements > b->size.elements) - (a->size.elements < b->size.elements);
}

void advise_chunk(Advisor *advisor) {
  Study study = {.advisor = advisor};
  uint32_t num_proposed = 0;
  const bool *is_whole_user = find_whole_users(advisor->module, advisor->arena, advisor->scratch);
  find_regions(&study);
  Batch batch = batch_find(advisor);
  bool is_each =
      batch.argument && batch.has_gradients && sample_gradients_are_much(advisor, &batch);
  if (study.regions.len)
    qsort(study.regions.data, study.regions.len, sizeof *study.regions.data, by_live_bytes);
  for (uint32_t i = 0; i < study.regions.len && num_proposed < MAX_REGIONS; i++) {
    Region *region = &study.regions.data[i];
    if (region->live_bytes < advisor->before.counted_bytes / LEAST_SHARE) break;
    /* What a simulation holds has no place in the program. */
    if (advisor->is_sketch && !advisor_place(advisor, region->largest).file.len) continue;
    if (region->size.elements < 64) continue;
    const Shape *shape = shape_get(&advisor->module->shapes, region->shape);
    bool is_of_sample = is_each && sample_gradients_has_shape(advisor, &batch, shape);
    if (is_of_sample) continue; /* their batch is divided (microbatches.c) */
    region->size = region_size(advisor, region->size.elements);
    if (!is_hourglass(advisor, region->size, is_whole_user)) continue;
    if (is_given(advisor, region->size) || !is_row_by_row(advisor, region)) continue;
    region->use = region_use(advisor, region->comp, region->size);
    if (region->use.role == REGION_OUTPUTS && !region->use.is_summed &&
        !advisor_has_gradients(advisor))
      region->use.role = REGION_OTHER;
    propose_pieces(advisor, region, is_whole_user);
    num_proposed++;
  }
}
