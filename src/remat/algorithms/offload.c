/* Offloading, the third strategy of XLA's pass: unplaced users read a result from the host's
 * memory. The result is copied there asynchronously as soon as it is computed, and copied back so
 * that it arrives when it is read.
 *
 * As in XLA, a result is offloaded if both copies take no longer than the instructions between its
 * last placed reader and its first unplaced one. A loop counts as one iteration, and instructions
 * that the pass has added take no time. Whether several copies share the link at the same time is
 * not considered; analysis/cost/link.h models the time that they really take. XLA uses the rates
 * given to HloCostAnalysis (optimal_seconds); here the device profile models time.
 *
 * Difference: a result whose later users only read it through an instruction that forwards it is
 * kept; XLA fails in this case. */
#include "analysis/flow/call_graph.h"
#include "ir/infer/infer_shape.h"
#include "remat/algorithms/standard_pass.h"

/* ---- time ---- */

static double longest(const double *comp_seconds, const CompId *comps, uint32_t count) {
  double seconds = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (comp_seconds[comps[i]] > seconds) seconds = comp_seconds[comps[i]];
  }
  return seconds;
}

static double sum(const double *comp_seconds, const CompId *comps, uint32_t count) {
  double seconds = 0;
  for (uint32_t i = 0; i < count; i++)
    seconds += comp_seconds[comps[i]];
  return seconds;
}

static double inst_seconds(const Standard *standard, const double *comp_seconds, InstId id) {
  const Instruction *inst = inst_get(standard->module, id);
  const CompId *callees = inst_callees(standard->module, id);
  switch (inst->opcode) {
    case OPCODE_CALL:
    case OPCODE_WHILE:
    case OPCODE_ASYNC_START: return sum(comp_seconds, callees, inst->num_callees);
    case OPCODE_CONDITIONAL: return longest(comp_seconds, callees, inst->num_callees);
    default: return cost_seconds(standard->module, standard->job->costs, standard->job->device, id);
  }
}

void offload_begin(Standard *standard, Arena *out) {
  const Module *module = standard->module;
  ArenaMark mark = arena_mark(standard->scratch);
  Arena *inner = arena_new(arena_options(standard->scratch));
  standard->num_timed = module->insts.len;
  standard->seconds = arena_zarray(out, double, module->insts.len);
  double *comp_seconds = arena_zarray(standard->scratch, double, module->comps.len);
  const CompId *order = comps_post_order(module, standard->scratch, inner);
  for (uint32_t i = 0; i < module->comps.len; i++) {
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++) {
      InstId id = comp_inst(module, order[i], k);
      standard->seconds[id] = inst_seconds(standard, comp_seconds, id);
      comp_seconds[order[i]] += standard->seconds[id];
    }
  }
  arena_free(inner);
  arena_reset(standard->scratch, mark);
}

static double seconds_of(const Standard *standard, InstId id) {
  return id < standard->num_timed ? standard->seconds[id] : 0;
}

void offload_open(Pass *pass) {
  pass->num_begun = pass->standard->module->insts.len;
  pass->begin_seconds = arena_zarray(pass->arena, double, pass->num_begun);
  double seconds = 0;
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    pass->begin_seconds[id] = seconds;
    seconds += seconds_of(pass->standard, id);
  }
}

/* The time of all instructions before this one. A new instruction takes no time, so it begins when
 * the next one does. */
static double begin_of(const Pass *pass, InstId id) {
  while (id >= pass->num_begun)
    id = item_get(&pass->list, id)->next;
  return pass->begin_seconds[id];
}

/* The time from the last placed reader, or from the result itself, to the first unplaced reader. */
static double seconds_between(const Pass *pass, InstId id) {
  const RematItem *item = item_get(&pass->list, id);
  const TrackedBuffer *buffer = tracked_buffer(&pass->tracker, item->defined.data[0]);
  double first = -1, last = begin_of(pass, id);
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    InstId user = buffer->uses.data[i].user;
    if (pass_is_placed(pass, user)) continue;
    double begin = begin_of(pass, user);
    if (first < 0 || begin < first) first = begin;
  }
  /* a placed reader may come after the first unplaced one */
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    InstId user = buffer->uses.data[i].user;
    if (!pass_is_placed(pass, user)) continue;
    double begin = begin_of(pass, user);
    if (begin > last && begin <= first) last = begin;
  }
  return first - last;
}

int64_t offload_bytes_reduced(Pass *pass, InstId id) {
  const DeviceProfile *profile = pass->standard->job->device;
  Module *module = pass->standard->module;
  int64_t bytes = tracker_bytes_offloaded(&pass->tracker, id);
  if (bytes == 0) return 0;
  ShapeId shape = inst_get(module, id)->shape; /* a copy-start has this shape in its tuple */
  if (!infer_shape_is_valid(module, shape, NULL, pass->standard->scratch)) return 0;
  double between = seconds_between(pass, id);
  double copying =
      (double)bytes / profile->device_to_host + (double)bytes / profile->host_to_device;
  return between > 0 && between >= copying ? bytes : 0;
}

/* ---- copies ---- */

static void insert_before(Pass *pass, InstId id, InstId before) {
  IdVec place = {0};
  *vec_push(pass->arena, &place) = before;
  item_list_insert_before(&pass->list, id, &place);
}

/* The first item after `start` by which `seconds` have passed, or the item before `end` if that
 * comes first. */
static InstId first_after(const Pass *pass, InstId start, InstId end, double seconds) {
  double passed = 0;
  InstId id = start;
  while (passed < seconds && item_get(&pass->list, id)->next != end) {
    id = item_get(&pass->list, id)->next;
    passed += seconds_of(pass->standard, id);
  }
  return id;
}

/* The last item before `start` from which `seconds` pass until `start`, or the item after `end` if
 * that comes later. */
static InstId last_before(const Pass *pass, InstId start, InstId end, double seconds) {
  double passed = 0;
  InstId id = start;
  while (passed < seconds && item_get(&pass->list, id)->prev != end) {
    id = item_get(&pass->list, id)->prev;
    passed += seconds_of(pass->standard, id);
  }
  return id;
}

/* Starts the copy to the host as early as possible, and the copy back as late as possible.
 * `readers` are the unplaced users. */
static void insert_copies(Pass *pass, InstId id, const OffloadCopies *copies,
                          const IdVec *readers) {
  const DeviceProfile *profile = pass->standard->job->device;
  TrackedId defined = item_get(&pass->list, id)->defined.data[0];
  double bytes = (double)tracked_buffer(&pass->tracker, defined)->bytes;
  insert_before(pass, copies->leave, item_get(&pass->list, id)->next);
  item_list_insert_before(&pass->list, copies->back, readers);
  InstId out = first_after(pass, copies->leave, copies->back, bytes / profile->device_to_host);
  insert_before(pass, copies->left, item_get(&pass->list, out)->next);
  InstId in = last_before(pass, copies->back, copies->left, bytes / profile->host_to_device);
  insert_before(pass, copies->enter, in);
}

/* Marks the copies before the instruction in progress as placed. */
static void place_copies(Pass *pass, const OffloadCopies *copies) {
  for (InstId id = copies->leave; id != NO_ID && id != pass->tracker.in_progress;
       id = item_get(&pass->list, id)->next) {
    bool is_copy =
        id == copies->leave || id == copies->left || id == copies->enter || id == copies->back;
    if (is_copy) item_get(&pass->list, id)->is_placed = true;
  }
}

void standard_offload(Pass *pass, InstId id) {
  Standard *standard = pass->standard;
  Rewrite *rewrite = standard->job->rewrite;
  ShapeId shape = inst_get(standard->module, id)->shape;
  ShapeId on_host = shape_in_memory_space(&standard->module->shapes, shape, HOST_MEMORY_SPACE);
  OffloadCopies copies;
  copies.leave = rewrite_add_copy_start(rewrite, id, on_host, id);
  copies.left = rewrite_add_copy_done(rewrite, copies.leave, id);
  copies.enter = rewrite_add_copy_start(rewrite, copies.left, shape, id);
  copies.back = rewrite_add_copy_done(rewrite, copies.enter, id);
  const InstId all[] = {copies.leave, copies.left, copies.enter, copies.back};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    item_list_create(&pass->list, all[i]);
    standard_deny(standard, all[i]);
  }
  item_get(&pass->list, copies.leave)->is_placed = true;
  IdVec readers = {0};
  standard_move_users(pass, id, copies.back, &readers);
  insert_copies(pass, id, &copies, &readers);
  place_copies(pass, &copies);
  tracker_add_offload(&pass->tracker, id, &copies);
  standard->stats->num_steps++;
}
