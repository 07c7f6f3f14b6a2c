#include "remat/search/start.h"

#include <string.h>

#include "analysis/flow/call_graph.h"
#include "analysis/flow/copy_stage.h"
#include "remat/legality/safe_order.h"

static bool is_equal(const Module *module, const Schedule *a, const Schedule *b) {
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    const Sequence *one = &a->of[comp], *other = &b->of[comp];
    if (one->len != other->len) return false;
    if (one->len && memcmp(one->ids, other->ids, one->len * sizeof *one->ids) != 0) return false;
  }
  return true;
}

static bool is_fixed(const RematJob *job, InstId id) {
  const Module *module = job->rewrite->module;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode_is_split(opcode) || opcode_is_async(opcode) ||
         inst_is_placed(module, &job->legality->placed, id) ||
         inst_keeps_sequence(module, &job->legality->effects, id);
}

static InstId next_fixed(const RematJob *job, Sequence order, SchedPos *pos) {
  while (*pos < order.len) {
    InstId id = order.ids[(*pos)++];
    if (is_fixed(job, id)) return id;
  }
  return NO_ID;
}

/* Whether all that must keep its sequence does so. */
static bool keeps_fixed(const RematJob *job, const Schedule *schedule) {
  for (CompId comp = 0; comp < job->rewrite->module->comps.len; comp++) {
    SchedPos now = 0, then = 0;
    InstId id;
    do {
      id = next_fixed(job, job->schedule->of[comp], &now);
      if (next_fixed(job, schedule->of[comp], &then) != id) return false;
    } while (id != NO_ID);
  }
  return true;
}

/* Computations that do not run as sequences, such as reducers, keep their order. */
static void keep_others(const RematJob *job, const CallGraph *graph, Schedule *schedule) {
  for (CompId comp = 0; comp < job->rewrite->module->comps.len; comp++) {
    if (!comp_is_sequential(graph, comp)) schedule->of[comp] = job->schedule->of[comp];
  }
}

bool start_find(const RematJob *job, Schedule *start, Arena *out, Arena *scratch) {
  static const char *const names[] = {"list", "postorder"};
  Module *module = job->rewrite->module;
  const Schedule *own = copies_are_inserted(module) ? job->schedule : NULL;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  bool is_found = false;
  for (size_t i = 0; i < sizeof names / sizeof *names && !is_found; i++) {
    schedule_safely(scheduler_find(names[i]), module, own, start, out, scratch);
    keep_others(job, &graph, start);
    is_found = !is_equal(module, start, job->schedule) && keeps_fixed(job, start);
  }
  arena_free(arena);
  return is_found;
}
