#include "analysis/memory/call_memory.h"

typedef struct Builder {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *profile;
  CallGraph graph;
  InstId *first_caller; /* by CompId: the caller before which a flat model lays it out */
  int64_t
      *added_bytes; /* by CompId: bytes that its callers hold and the model does not count for it */
  InstId *caller;   /* by CompId: the tightest caller */
} Builder;

static bool is_run(const Builder *builder, CompId comp) {
  return comp_is_sequential(&builder->graph, comp) && builder->schedule->of[comp].len > 0;
}

/* ---- where a flat model lays computations out ---- */

typedef struct Frame {
  CompId comp;
  SchedPos pos;
  uint32_t callee;
} Frame;

static void find_first_callers(Builder *builder, Arena *scratch) {
  const Module *module = builder->module;
  ArenaMark mark = arena_mark(scratch);
  VEC(Frame) frames = {0};
  *vec_push(scratch, &frames) = (Frame){.comp = module->entry};
  while (frames.len) {
    Frame *frame = &frames.data[frames.len - 1];
    if (frame->pos == builder->schedule->of[frame->comp].len) {
      frames.len--;
      continue;
    }
    InstId id = builder->schedule->of[frame->comp].ids[frame->pos];
    if (!inst_runs_callees(module, id) || frame->callee == inst_get(module, id)->num_callees) {
      frame->pos++;
      frame->callee = 0;
      continue;
    }
    CompId callee = inst_callee_to_run(module, id, frame->callee++);
    if (builder->first_caller[callee] != NO_ID) continue;
    builder->first_caller[callee] = id;
    *vec_push(scratch, &frames) = (Frame){.comp = callee};
  }
  arena_reset(scratch, mark);
}

/* ---- the tightest callers ---- */

/* Bytes of the module while a caller runs, without its callees if the model is flat. */
static int64_t bytes_at_caller(const Builder *builder, InstId caller) {
  return builder->profile->bytes_at[caller] +
         builder->added_bytes[inst_get(builder->module, caller)->parent];
}

static void find_tightest_caller(const Builder *builder, CompId comp) {
  IdSpan callers = callers_of(&builder->graph, comp);
  int64_t most = 0;
  for (uint32_t i = 0; i < callers.len; i++) {
    InstId caller = callers.ids[i];
    if (!inst_runs_callees(builder->module, caller)) continue;
    if (!is_run(builder, inst_get(builder->module, caller)->parent)) continue;
    int64_t bytes = bytes_at_caller(builder, caller);
    if (builder->caller[comp] != NO_ID && bytes <= most) continue;
    builder->caller[comp] = caller;
    most = bytes;
  }
}

static int64_t largest_at(const Builder *builder, CompId comp) {
  int64_t largest = 0;
  Sequence sequence = builder->schedule->of[comp];
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    int64_t bytes = builder->profile->bytes_at[sequence.ids[pos]];
    if (bytes > largest) largest = bytes;
  }
  return largest;
}

/* Visits callers before callees. A model that is not flat counts a computation's peak at its
 * caller. */
static void find_added_bytes(Builder *builder) {
  const MemoryProfile *profile = builder->profile;
  for (uint32_t i = builder->graph.num_reachable; i-- > 0;) {
    CompId comp = builder->graph.post_order[i];
    if (!is_run(builder, comp)) continue;
    if (comp == builder->module->entry) {
      if (!profile->is_flat) {
        builder->added_bytes[comp] = profile->peak_bytes - largest_at(builder, comp);
      }
      continue;
    }
    find_tightest_caller(builder, comp);
    if (builder->caller[comp] == NO_ID) continue;
    int64_t counted = profile->is_flat ? profile->bytes_at[builder->first_caller[comp]]
                                       : largest_at(builder, comp);
    builder->added_bytes[comp] = bytes_at_caller(builder, builder->caller[comp]) - counted;
  }
}

/* ---- all together ---- */

static void add_callers(const Builder *builder, CallMemory *memory) {
  for (uint32_t i = builder->graph.num_reachable; i-- > 0;) {
    CompId comp = builder->graph.post_order[i];
    if (!is_run(builder, comp)) continue;
    Sequence sequence = builder->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      int64_t *bytes = &memory->bytes_at[sequence.ids[pos]];
      *bytes += builder->added_bytes[comp];
      if (!builder->profile->is_flat || *bytes <= memory->peak_bytes) continue;
      memory->peak_bytes = *bytes;
      memory->peak_inst = sequence.ids[pos];
    }
  }
}

static void add_callees(const Builder *builder, CallMemory *memory, Arena *scratch) {
  const Module *module = builder->module;
  ArenaMark mark = arena_mark(scratch);
  int64_t *largest = arena_zarray(scratch, int64_t, module->comps.len);
  for (uint32_t i = 0; i < builder->graph.num_reachable; i++) { /* callees first */
    CompId comp = builder->graph.post_order[i];
    if (!is_run(builder, comp)) continue;
    Sequence sequence = builder->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      int64_t *bytes = &memory->bytes_at[id];
      for (uint32_t k = 0; inst_runs_callees(module, id) && k < inst_get(module, id)->num_callees;
           k++) {
        CompId callee = inst_callees(module, id)[k];
        bool is_here =
            builder->caller[callee] == id; /* what another caller holds is not held here */
        if (is_here && largest[callee] > *bytes) *bytes = largest[callee];
      }
      if (*bytes > largest[comp]) largest[comp] = *bytes;
    }
  }
  arena_reset(scratch, mark);
}

/* Takes the profile's figures over and changes them. */
static CallMemory add_calls(const MemoryProfile *profile, const Module *module,
                            const Schedule *schedule, Arena *out, Arena *scratch) {
  CallMemory memory = {.peak_bytes = profile->peak_bytes,
                       .peak_inst = profile->peak_inst,
                       .bytes_at = profile->bytes_at,
                       .around = arena_array(out, int64_t, module->insts.len),
                       .caller = arena_array(out, InstId, module->comps.len)};
  Arena *arena = arena_new(arena_options(scratch));
  Builder builder = {.module = module,
                     .schedule = schedule,
                     .profile = profile,
                     .graph = call_graph_build(module, arena, scratch),
                     .first_caller = arena_array(arena, InstId, module->comps.len),
                     .added_bytes = arena_zarray(arena, int64_t, module->comps.len),
                     .caller = memory.caller};
  memset(builder.first_caller, 0xff, module->comps.len * sizeof *builder.first_caller);
  memset(builder.caller, 0xff, module->comps.len * sizeof *builder.caller);
  find_first_callers(&builder, scratch);
  find_added_bytes(&builder);
  add_callers(&builder, &memory);
  if (module->insts.len)
    memcpy(memory.around, memory.bytes_at, module->insts.len * sizeof *memory.around);
  if (profile->is_flat) add_callees(&builder, &memory, scratch);
  arena_free(arena);
  return memory;
}

CallMemory call_memory_measure(const MemoryModel *model, const Module *module,
                               const Schedule *schedule, Arena *out, Arena *scratch) {
  MemoryProfile profile = model->measure(module, schedule, NULL, out, scratch);
  return add_calls(&profile, module, schedule, out, scratch);
}

CallMemory call_memory_of(const MemoryProfile *profile, const Module *module,
                          const Schedule *schedule, Arena *out, Arena *scratch) {
  MemoryProfile copy = *profile;
  copy.bytes_at = arena_array(out, int64_t, module->insts.len);
  if (module->insts.len)
    memcpy(copy.bytes_at, profile->bytes_at, module->insts.len * sizeof *copy.bytes_at);
  return add_calls(&copy, module, schedule, out, scratch);
}

static InstId caller_of(const CallMemory *memory, const Module *module, InstId id) {
  return memory->caller[inst_get(module, id)->parent];
}

CallChain call_memory_chain(const CallMemory *memory, const Module *module, InstId inner,
                            Arena *out) {
  CallChain chain = {0};
  for (InstId id = inner; id != NO_ID; id = caller_of(memory, module, id))
    chain.len++;
  chain.ids = arena_array(out, InstId, chain.len);
  InstId id = inner;
  for (uint32_t i = chain.len; i-- > 0; id = caller_of(memory, module, id))
    chain.ids[i] = id;
  return chain;
}
