#include "analysis/cost/link.h"

#include "analysis/flow/call_graph.h"
#include "analysis/cost/cost_internal.h"

enum { NUM_DIRECTIONS = 2 }; /* LinkDirection without LINK_NONE */

/* One execution of a computation. */
typedef struct CompRun {
  double seconds;              /* including stalls */
  double busy[NUM_DIRECTIONS]; /* seconds for which it uses the link */
} CompRun;

typedef struct Simulation {
  const Module *module;
  const CostTable *table;
  const DeviceProfile *profile;
  double default_trips;
  CompRun *comps; /* by CompId */
  double *stall;  /* by InstId, the result */
  double *end;    /* by InstId of a copy-start: when its copy ends */
  Arena *scratch;
} Simulation;

typedef struct Clock {
  double now;
  double free[NUM_DIRECTIONS]; /* when the link becomes free */
  double busy[NUM_DIRECTIONS];
  VEC(InstId) under_way; /* copy-starts, some of whose copies may have ended */
} Clock;

/* ---- copies ---- */

/* Transfers a copy when the link is free. Returns when it ends. */
static double transfer(const Simulation *sim, Clock *clock, InstId id) {
  int way = (int)host_link_direction(sim->module, id) - 1;
  double seconds = cost_seconds(sim->module, sim->table, sim->profile, id);
  double begin = clock->free[way] > clock->now ? clock->free[way] : clock->now;
  clock->busy[way] += seconds;
  clock->free[way] = begin + seconds;
  return clock->free[way];
}

/* The start of the copy that `id` is the done of; NO_ID when `id` is not such a copy-done, or the
 * copy does not cross the link. */
static InstId start_of(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_COPY_DONE) return NO_ID;
  InstId start = inst_operand(module, id, 0);
  bool crosses = inst_get(module, start)->opcode == OPCODE_COPY_START &&
                 host_link_direction(module, start) != LINK_NONE;
  return crosses ? start : NO_ID;
}

static void wait_until(Simulation *sim, Clock *clock, InstId id, double time) {
  sim->stall[id] = time > clock->now ? time - clock->now : 0;
  clock->now += sim->stall[id];
}

/* ---- callees ---- */

static void add_run(CompRun *sum, const CompRun *run, double times) {
  sum->seconds += run->seconds * times;
  for (int way = 0; way < NUM_DIRECTIONS; way++)
    sum->busy[way] += run->busy[way] * times;
}

static double trips_of(const Simulation *sim, InstId id) {
  int64_t trips = sim->table->trip_counts[id];
  return trips < 0 ? sim->default_trips : (double)trips;
}

/* The execution of an instruction's callees, as in cost_total_weighted(). False when the
 * instruction runs no computation as a sequence. */
static bool run_of_callees(const Simulation *sim, InstId id, CompRun *run) {
  const Instruction *inst = inst_get(sim->module, id);
  const CompId *callees = inst_callees(sim->module, id);
  const CompRun *costliest = NULL;
  *run = (CompRun){0};
  if (inst->num_callees == 0) return false;
  switch (inst->opcode) {
    case OPCODE_CALL:
    case OPCODE_ASYNC_START: add_run(run, &sim->comps[callees[0]], 1); return true;
    case OPCODE_WHILE:
      for (uint32_t i = 0; i < inst->num_callees; i++)
        add_run(run, &sim->comps[callees[i]], trips_of(sim, id));
      return true;
    case OPCODE_CONDITIONAL:
      for (uint32_t i = 0; i < inst->num_callees; i++) {
        const CompRun *branch = &sim->comps[callees[i]];
        if (!costliest || branch->seconds > costliest->seconds) costliest = branch;
      }
      *run = *costliest;
      return true;
    default: return false;
  }
}

/* A callee uses the link first; copies that are under way take longer by the time of its copies. */
static void call(Simulation *sim, Clock *clock, const CompRun *run) {
  for (int way = 0; way < NUM_DIRECTIONS; way++) {
    if (run->busy[way] == 0) continue;
    uint32_t num_left = 0;
    for (uint32_t i = 0; i < clock->under_way.len; i++) {
      InstId start = clock->under_way.data[i];
      if (sim->end[start] <= clock->now) continue;
      clock->under_way.data[num_left++] = start;
      if ((int)host_link_direction(sim->module, start) - 1 == way) {
        sim->end[start] += run->busy[way];
      }
    }
    clock->under_way.len = num_left;
    if (clock->free[way] > clock->now) clock->free[way] += run->busy[way];
    clock->busy[way] += run->busy[way];
  }
  clock->now += run->seconds;
}

/* ---- one computation after the other ---- */

static void step(Simulation *sim, Clock *clock, InstId id) {
  CompRun called;
  InstId start = start_of(sim->module, id);
  if (start != NO_ID) {
    wait_until(sim, clock, id, sim->end[start]);
  } else if (host_link_direction(sim->module, id) == LINK_NONE) {
    if (run_of_callees(sim, id, &called)) {
      call(sim, clock, &called);
    } else {
      clock->now += cost_seconds(sim->module, sim->table, sim->profile, id);
    }
  } else if (inst_get(sim->module, id)->opcode == OPCODE_COPY_START) {
    sim->end[id] = transfer(sim, clock, id);
    sim->stall[id] = 0;
    *vec_push(sim->scratch, &clock->under_way) = id;
  } else {
    wait_until(sim, clock, id, transfer(sim, clock, id));
  }
}

static void simulate(Simulation *sim, CompId comp, Sequence sequence) {
  Clock clock = {0};
  ArenaMark mark = arena_mark(sim->scratch);
  for (uint32_t i = 0; i < sequence.len; i++)
    step(sim, &clock, sequence.ids[i]);
  sim->comps[comp].seconds = clock.now;
  memcpy(sim->comps[comp].busy, clock.busy, sizeof clock.busy);
  arena_reset(sim->scratch, mark);
}

double *link_seconds(const Module *module, const Schedule *schedule, const CostTable *table,
                     const DeviceProfile *profile, int64_t default_trip_count, Arena *out,
                     Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  Arena *arena = arena_new(arena_options(scratch));
  Simulation sim = {.module = module,
                    .table = table,
                    .profile = profile,
                    .default_trips = (double)default_trip_count,
                    .comps = arena_zarray(arena, CompRun, module->comps.len),
                    .stall = arena_array(out, double, num_insts),
                    .end = arena_zarray(arena, double, num_insts),
                    .scratch = scratch};
  for (InstId id = 0; id < num_insts; id++)
    sim.stall[id] = -1;
  const CompId *order = comps_post_order(module, arena, scratch);
  for (uint32_t i = 0; i < module->comps.len; i++) {
    CompId comp = order[i];
    if (comp < schedule->num_comps) simulate(&sim, comp, schedule->of[comp]);
  }
  arena_free(arena);
  return sim.stall;
}

/* ---- sums over all instructions that run ---- */

double link_total_seconds(const Module *module, const Schedule *schedule,
                          const DeviceProfile *profile, Arena *arena, Arena *scratch) {
  CostTable table = cost_analyze(module, arena, scratch);
  if (schedule)
    table.link_seconds = link_seconds(module, schedule, &table, profile, 1, arena, scratch);
  return cost_total_weighted(module, &table, profile, 1, scratch).seconds;
}

LinkUse link_use(const Module *module, const CostTable *table, const double *runs) {
  LinkUse use = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (runs[comp] == 0) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      if (host_link_direction(module, id) == LINK_TO_HOST) {
        use.to_host_bytes += (double)cost_operand_bytes(module, id, 0) * runs[comp];
      }
      bool has_stall = table->link_seconds && table->link_seconds[id] > 0;
      if (has_stall) use.stall_seconds += table->link_seconds[id] * runs[comp];
    }
  }
  return use;
}
