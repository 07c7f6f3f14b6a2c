#include "analysis/memory/remat_memory.h"

#include "analysis/memory/memory_model.h"
#include "ir/bytes.h"

int64_t result_device_bytes(const Module *module, InstId id) {
  return target_sizes.of_all(module, inst_get(module, id)->shape);
}

const ShapeSizes *remat_sizes(const Module *module) {
  return module->backend.target->pads_tiles ? &target_sizes : &plain_sizes;
}

static int64_t at_most(int64_t bytes, int64_t limit) {
  return bytes < limit ? bytes : limit;
}

int64_t remat_callee_bytes(const Module *module, const CompMemory *of, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->num_callees == 0 || !opcode_is_control_flow((Opcode)inst->opcode)) return 0;
  int64_t total = 0;
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    total = at_most(total + of[inst_callees(module, id)[i]].peak_bytes, MAX_CALLEE_BYTES);
  }
  return total;
}

typedef struct Builder {
  const Module *module;
  const PointsTo *points_to;
  const SchedPos *positions;
  uint32_t *interval_of; /* by LogicalId */
  VEC(RematInterval) list;
  Arena *out;
} Builder;

/* Adds the users of a logical buffer to an interval. */
static void add_users(Builder *builder, LogicalId buffer, RematInterval *interval) {
  const PointsTo *points_to = builder->points_to;
  const Module *module = builder->module;
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    const Instruction *inst = inst_get(module, alias.inst);
    for (uint32_t k = 0; k < inst->users.len; k++) {
      InstId user = id_list(module, inst->users)[k];
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      if (builder->positions[user] > interval->last) interval->last = builder->positions[user];
    }
  }
}

/* The state of a loop has the memory of its initial value. */
static void merge_while(Builder *builder, InstId id) {
  const PointsTo *points_to = builder->points_to;
  InstId init = inst_operand(builder->module, id, 0);
  for (uint32_t i = 0; i < points_to->num_defined[id]; i++) {
    LogicalId buffer = points_to->first_buffer[id] + i;
    uint32_t part = points_to->buffers.data[buffer].part;
    uint32_t interval = builder->interval_of[points_to_part(points_to, init, part)];
    builder->interval_of[buffer] = interval;
    add_users(builder, buffer, &builder->list.data[interval]);
  }
}

RematIntervals remat_intervals(const Module *module, const PointsTo *points_to, Sequence sequence,
                               CompId comp, SchedPos *positions, Arena *out, Arena *scratch) {
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    positions[sequence.ids[pos]] = pos;
  Builder builder = {.module = module, .points_to = points_to, .positions = positions, .out = out};
  ArenaMark mark = arena_mark(scratch);
  builder.interval_of = arena_array(scratch, uint32_t, points_to->buffers.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (inst_get(module, id)->opcode == OPCODE_WHILE) {
      merge_while(&builder, id);
      continue;
    }
    for (uint32_t i = 0; i < points_to->num_defined[id]; i++) {
      LogicalId buffer = points_to->first_buffer[id] + i;
      builder.interval_of[buffer] = builder.list.len;
      RematInterval *interval = vec_push(out, &builder.list);
      ShapeId shape = points_to->buffers.data[buffer].shape;
      *interval = (RematInterval){.buffer = buffer,
                                  .bytes = remat_sizes(module)->of_part(module, shape),
                                  .begin = pos,
                                  .last = pos};
      add_users(&builder, buffer, interval);
    }
  }
  InstId root = comp_get(module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    builder.list.data[builder.interval_of[points_to_part(points_to, root, part)]].is_live_out =
        true;
  }
  for (uint32_t i = 0; i < builder.list.len; i++) {
    RematInterval *interval = &builder.list.data[i];
    InstId definer = points_to->buffers.data[interval->buffer].inst;
    if (interval->is_live_out || inst_get(module, definer)->opcode == OPCODE_PARAMETER) {
      interval->bytes = 0;
    }
  }
  arena_reset(scratch, mark);
  return (RematIntervals){.list = builder.list.data, .len = builder.list.len};
}

static CompMemory comp_memory(const Module *module, const RematIntervals *intervals,
                              Sequence sequence, const CompMemory *callees, Arena *out) {
  CompMemory memory = {.bytes_at = arena_zarray(out, int64_t, sequence.len + 1)};
  for (uint32_t i = 0; i < intervals->len; i++) {
    const RematInterval *interval = &intervals->list[i];
    memory.bytes_at[interval->begin] += interval->bytes;
    memory.bytes_at[interval->last + 1] -= interval->bytes;
  }
  int64_t live_bytes = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    live_bytes += memory.bytes_at[pos];
    memory.bytes_at[pos] = live_bytes + remat_callee_bytes(module, callees, sequence.ids[pos]);
    if (memory.bytes_at[pos] > memory.peak_bytes) {
      memory.peak_bytes = memory.bytes_at[pos];
      memory.peak_pos = pos;
    }
  }
  return memory;
}

static RematMemory count(const Module *module, const Schedule *schedule, const PointsTo *points_to,
                         Arena *out, Arena *scratch) {
  RematMemory memory = {.of = arena_zarray(out, CompMemory, module->comps.len)};
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, scratch, inner);
  SchedPos *positions = arena_zarray(scratch, SchedPos, module->insts.len);
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (!comp_is_sequential(&graph, comp)) continue;
    ArenaMark comp_mark = arena_mark(scratch);
    RematIntervals intervals =
        remat_intervals(module, points_to, schedule->of[comp], comp, positions, scratch, inner);
    memory.of[comp] = comp_memory(module, &intervals, schedule->of[comp], memory.of, out);
    arena_reset(scratch, comp_mark);
  }
  InstId root = comp_get(module, module->entry)->root;
  memory.output_bytes = remat_sizes(module)->of_all(module, inst_get(module, root)->shape);
  memory.peak_bytes = memory.of[module->entry].peak_bytes + memory.output_bytes;
  arena_free(inner);
  arena_reset(scratch, mark);
  return memory;
}

RematMemory remat_memory(const Module *module, const Schedule *schedule, Arena *out,
                         Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  PointsTo points_to = points_to_build(module, arena, scratch);
  RematMemory memory = count(module, schedule, &points_to, out, scratch);
  arena_free(arena);
  return memory;
}

/* ---- as a memory model ---- */

/* The callee with the largest peak; NO_ID when no callee needs memory. */
static CompId largest_callee(const Module *module, const CompMemory *of, InstId id) {
  if (remat_callee_bytes(module, of, id) == 0) return NO_ID;
  CompId largest = NO_ID;
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    if (largest == NO_ID || of[callee].peak_bytes > of[largest].peak_bytes) largest = callee;
  }
  return largest;
}

/* The callee that contributes most to the instruction at the peak of `comp`; NO_ID when the
 * instruction, which is stored in `*id`, has no callee that needs memory. */
static CompId next_at_peak(const Module *module, const Schedule *schedule,
                           const RematMemory *memory, CompId comp, InstId *id) {
  *id = schedule->of[comp].ids[memory->of[comp].peak_pos];
  CompId callee = largest_callee(module, memory->of, *id);
  return callee != NO_ID && memory->of[callee].peak_bytes > 0 ? callee : NO_ID;
}

typedef struct LiveBuilder {
  const Module *module;
  const Schedule *schedule;
  const PointsTo *points_to;
  const RematMemory *memory;
  SchedPos *positions; /* by InstId */
  VEC(LiveBuffer) list;
  int64_t bytes; /* sum over the list */
  Arena *out;
  Arena *scratch;
} LiveBuilder;

/* Adds the buffers of one computation that are live while the instruction at its peak runs. They
 * count `times` times, once for each caller that needs the computation at its own peak. */
static void add_live(LiveBuilder *builder, CompId comp, int64_t times) {
  Arena *arena = arena_new(arena_options(builder->scratch));
  Sequence sequence = builder->schedule->of[comp];
  SchedPos pos = builder->memory->of[comp].peak_pos;
  int64_t peak_bytes = builder->memory->of[builder->module->entry].peak_bytes;
  RematIntervals intervals = remat_intervals(builder->module, builder->points_to, sequence, comp,
                                             builder->positions, arena, builder->scratch);
  for (uint32_t i = 0; i < intervals.len; i++) {
    const RematInterval *interval = &intervals.list[i];
    if (interval->begin > pos || interval->last < pos || interval->bytes == 0) continue;
    const LogicalBuffer *buffer = &builder->points_to->buffers.data[interval->buffer];
    int64_t bytes, room = peak_bytes - builder->bytes;
    bytes = mul_bytes(interval->bytes, times, &bytes) ? at_most(bytes, room) : room;
    if (bytes == 0) continue;
    builder->bytes += bytes;
    *vec_push(builder->out, &builder->list) =
        (LiveBuffer){buffer->inst, buffer->part, bytes, sequence.ids[interval->begin],
                     sequence.ids[interval->last]};
  }
  arena_free(arena);
}

/* A control-flow instruction at the peak needs the peaks of all computations that it calls. */
static void add_live_at_peaks(LiveBuilder *builder, Arena *arena) {
  const Module *module = builder->module;
  CallGraph graph = call_graph_build(module, arena, builder->scratch);
  int64_t *times = arena_zarray(arena, int64_t, module->comps.len);
  times[module->entry] = 1;
  for (uint32_t i = graph.num_reachable; i-- > 0;) {
    CompId comp = graph.post_order[i];
    const CompMemory *memory = &builder->memory->of[comp];
    if (times[comp] == 0 || memory->peak_bytes == 0) continue;
    add_live(builder, comp, times[comp]);
    InstId id = builder->schedule->of[comp].ids[memory->peak_pos];
    if (!opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) continue;
    for (uint32_t k = 0; k < inst_get(module, id)->num_callees; k++) {
      int64_t *of_callee = &times[inst_callees(module, id)[k]];
      *of_callee = at_most(*of_callee + times[comp], MAX_CALLEE_BYTES);
    }
  }
}

static LiveSet live_at_peak(const Module *module, const Schedule *schedule,
                            const PointsTo *points_to, const RematMemory *memory, Arena *out,
                            Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  LiveBuilder builder = {.module = module,
                         .schedule = schedule,
                         .points_to = points_to,
                         .memory = memory,
                         .positions = arena_array(arena, SchedPos, module->insts.len),
                         .out = out,
                         .scratch = scratch};
  add_live_at_peaks(&builder, arena);
  LiveSet live = {.list = builder.list.data, .len = builder.list.len};
  live_set_sort(&live);
  arena_free(arena);
  return live;
}

MemoryProfile measure_xla_remat(const Module *module, const Schedule *schedule, LiveSet *live,
                                Arena *out, Arena *scratch) {
  MemoryProfile profile;
  memory_profile_init(&profile, module, remat_sizes(module), out, scratch);
  Arena *arena = arena_new(arena_options(scratch));
  PointsTo points_to = points_to_build(module, arena, scratch);
  RematMemory memory = count(module, schedule, &points_to, arena, scratch);
  profile.constants = CONSTANTS_LIVE;
  profile.peak_bytes = memory.peak_bytes;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!memory.of[comp].bytes_at) continue;
    Sequence sequence = schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      profile.bytes_at[sequence.ids[pos]] = memory.of[comp].bytes_at[pos];
    }
  }
  CompId comp = memory.of[module->entry].peak_bytes > 0 ? module->entry : NO_ID;
  while (comp != NO_ID) {
    comp = next_at_peak(module, schedule, &memory, comp, &profile.peak_inst);
  }
  if (live) *live = live_at_peak(module, schedule, &points_to, &memory, out, scratch);
  arena_free(arena);
  return profile;
}
