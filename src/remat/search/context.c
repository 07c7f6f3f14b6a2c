#include "remat/search/context.h"

const ShapeSizes *search_sizes(const RematJob *job) {
  return job->memory_model->traits & RH_TRAIT_PACKS ? &target_sizes : &plain_sizes;
}

double search_context_seconds(const SearchContext *context, InstId id) {
  const RematJob *job = context->job;
  const Module *module = job->rewrite->module;
  double seconds = cost_seconds(module, job->costs, &context->device, id);
  if (!inst_runs_callees(module, id)) return seconds;
  double inner = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    double of_callee = context->seconds_of[inst_callees(module, id)[i]];
    bool is_branch = inst_get(module, id)->opcode == OPCODE_CONDITIONAL;
    if (!is_branch) {
      inner += of_callee;
    } else if (of_callee > inner) {
      inner = of_callee;
    }
  }
  int64_t trips = inst_get(module, id)->opcode == OPCODE_WHILE ? while_trip_count(module, id) : 1;
  return seconds + inner * (trips < 0 ? 1 : (double)trips);
}

/* Callees come first. */
static void measure_seconds(SearchContext *context, Arena *out) {
  const Module *module = context->job->rewrite->module;
  const CallGraph *calls = &context->values.graph;
  double *seconds_of = arena_zarray(out, double, module->comps.len);
  context->seconds_of = seconds_of;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (comp == module->entry || !comp_is_sequential(calls, comp)) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++)
      seconds_of[comp] += search_context_seconds(context, comp_inst(module, comp, k));
  }
}

static const uint32_t *find_places(const Module *module, Arena *out) {
  uint32_t *place_of = arena_zarray(out, uint32_t, module->insts.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
      place_of[comp_inst(module, comp, i)] = i;
  }
  return place_of;
}

typedef struct BufferWalk {
  const Module *module;
  const CallGraph *calls;
  uint32_t *visited_for; /* by CompId: 1 + the last buffer */
  IdVec work;
  RowItems items;
} BufferWalk;

/* Adds a buffer to the rows of a computation and of all that call it. */
static void walk_up(BufferWalk *walk, CompId comp, BufferId buffer, Arena *scratch) {
  walk->work.len = 0;
  *vec_push(scratch, &walk->work) = comp;
  while (walk->work.len) {
    comp = walk->work.data[--walk->work.len];
    if (walk->visited_for[comp] == buffer + 1) continue;
    walk->visited_for[comp] = buffer + 1;
    *vec_push(scratch, &walk->items) = (RowItem){comp, buffer};
    IdSpan callers = callers_of(walk->calls, comp);
    for (uint32_t i = 0; i < callers.len; i++)
      *vec_push(scratch, &walk->work) = inst_get(walk->module, callers.ids[i])->parent;
  }
}

static Rows find_shared_buffers(const Module *module, const ValueAnalysis *values, Arena *out,
                                Arena *scratch) {
  const HloBuffers *buffers = &values->buffers;
  Arena *arena = arena_new(arena_options(scratch));
  BufferWalk walk = {.module = module,
                     .calls = &values->graph,
                     .visited_for = arena_zarray(arena, uint32_t, module->comps.len)};
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++) {
    if (hlo_buffer_is_alone(buffers, buffer)) continue;
    for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
      InstId id = values->flow.values.data[buffers->values[i]].inst;
      walk_up(&walk, inst_get(module, id)->parent, buffer, arena);
    }
  }
  Rows shared = rows_build(&walk.items, module->comps.len, out);
  arena_free(arena);
  return shared;
}

static GraphSpace *new_space(const Module *module, const ValueAnalysis *values, Arena *out) {
  GraphSpace *space = arena_alloc(out, sizeof *space);
  *space = (GraphSpace){.seen_at = arena_zarray(out, uint32_t, values->flow.values.len),
                        .is_held = arena_zarray(out, bool, values->buffers.num_buffers),
                        .is_lent = arena_zarray(out, bool, values->buffers.num_buffers),
                        .is_detached = arena_zarray(out, bool, values->buffers.num_buffers),
                        .is_visited = arena_zarray(out, bool, module->comps.len)};
  return space;
}

SearchContext search_context_build(const RematJob *job, Arena *out, Arena *scratch) {
  const Module *module = job->rewrite->module;
  SearchContext context = {.job = job,
                           .values = value_analysis_build(module, out, scratch),
                           .sizes = search_sizes(job),
                           .counts_twice = job->memory_model->measure == measure_liveness};
  context.device = job->device ? *job->device : device_profile_default();
  measure_seconds(&context, out);
  context.place_of = find_places(module, out);
  context.shared_buffers = find_shared_buffers(module, &context.values, out, scratch);
  context.space = new_space(module, &context.values, out);
  return context;
}
