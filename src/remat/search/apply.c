#include "remat/search/apply.h"

#include "ir/hash.h"

/* A view that was made again, of something else. */
typedef struct View {
  InstId view, of, image;
} View;

typedef struct Applier {
  const Line *line;
  const SearchGraph *graph;
  RematJob *job;
  Module *module;
  InstId *operands; /* as SearchGraph.operands: the operands before any change */
  InstId *insts;    /* by step */
  StepId *first;    /* by node: its first run; NO_ID = it does not run */
  bool *is_first;   /* by step: the first run of its node */
  IdVec *views_of;  /* by step: new views of it, in an order in which they can run */
  VEC(View) views;
  IdTable table; /* of `views` */
  Arena *arena, *scratch;
} Applier;

static uint64_t view_key(InstId view, InstId of) {
  return hash_mix(HASH_SEED, (uint64_t)view << 32 | of);
}

static InstId find_view(const Applier *applier, InstId view, InstId of) {
  uint32_t found;
  for (IdProbe probe = id_table_probe(&applier->table, view_key(view, of));
       id_probe_next(&probe, &found);) {
    const View *known = &applier->views.data[found];
    if (known->view == view && known->of == of) return known->image;
  }
  return NO_ID;
}

/* The same view of something else, which a run provides. */
static InstId view_again(Applier *applier, InstId view, InstId of, StepId step) {
  InstId image = find_view(applier, view, of);
  if (image != NO_ID) return image;
  const Instruction *inst = inst_get(applier->module, view);
  Rewrite *rewrite = applier->job->rewrite;
  image = inst->opcode == OPCODE_BITCAST ? rewrite_add_bitcast(rewrite, of, inst->shape)
                                         : rewrite_add_get_tuple_element(rewrite, of, inst->index);
  *vec_push(applier->arena, &applier->views_of[step]) = image;
  id_table_add(&applier->table, applier->arena, view_key(view, of), applier->views.len);
  *vec_push(applier->arena, &applier->views) = (View){view, of, image};
  return image;
}

/* Whether a get-tuple-element of a bundle gives what a run provides, and stands before the
 * reader. */
static bool holds(const Applier *applier, InstId view, StepId provider, StepId reader) {
  const SearchGraph *graph = applier->graph;
  NodeId bundle = graph->home_of[view];
  StepId step = applier->first[bundle];
  if (step == NO_ID || step >= reader) return false;
  if (!(graph->nodes[bundle].flags & NODE_IS_TUPLE)) { /* a barrier, around a tuple */
    step = applier->line->sources[applier->line->first_source[step]];
    if (!applier->is_first[step]) return false;
  }
  uint32_t index = (uint32_t)inst_get(applier->module, view)->index;
  return applier->line->sources[applier->line->first_source[step] + index] == provider;
}

/* What a reader of `operand` reads if a certain run of its node provides it. */
static InstId image_of(Applier *applier, InstId operand, StepId provider, StepId reader) {
  const Module *module = applier->module;
  ArenaMark mark = arena_mark(applier->scratch);
  IdVec chain = {0};
  InstId node = applier->graph->nodes[applier->line->nodes[provider]].inst, image = NO_ID;
  while (image == NO_ID) {
    InstId put_in = applier->graph->put_in[operand];
    if (operand == node) {
      image = applier->insts[provider];
    } else if (put_in == NO_ID) {
      *vec_push(applier->scratch, &chain) = operand;
      operand = inst_operand(module, operand, 0);
    } else if (holds(applier, operand, provider, reader)) {
      image = operand;
    } else {
      operand = put_in;
    }
  }
  while (chain.len) {
    InstId view = chain.data[--chain.len];
    bool is_same = inst_operand(module, view, 0) == image;
    image = is_same ? view : view_again(applier, view, image, provider);
  }
  arena_reset(applier->scratch, mark);
  return image;
}

static void run_step(Applier *applier, StepId step) {
  const Line *line = applier->line;
  const SearchNode *node = &applier->graph->nodes[line->nodes[step]];
  if (node->flags & NODE_IS_END) {
    applier->insts[step] = NO_ID;
    return;
  }
  Rewrite *rewrite = applier->job->rewrite;
  InstId id =
      applier->is_first[step] ? node->inst : rewrite_clone(rewrite, node->inst, applier->scratch);
  applier->insts[step] = id;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    InstId operand = image_of(applier, applier->operands[node->first_operand + i],
                              line->sources[line->first_source[step] + i], step);
    if (inst_operand(applier->module, id, i) != operand)
      rewrite_set_operand(rewrite, id, i, operand);
  }
}

/* The order of the line, with bitcasts and get-tuple-elements after what they come from. */
static Sequence build_sequence(Applier *applier, Sequence before, Arena *out) {
  const Line *line = applier->line;
  const SearchGraph *graph = applier->graph;
  uint32_t *first_view = arena_zarray(applier->arena, uint32_t, (size_t)graph->num_nodes + 2);
  InstId *views = arena_array(applier->arena, InstId, before.len);
  for (SchedPos pos = 0; pos < before.len; pos++) {
    NodeId node = graph->home_of[before.ids[pos]];
    if (graph->nodes[node].inst != before.ids[pos]) first_view[node + 2]++;
  }
  for (NodeId node = 0; node < graph->num_nodes; node++)
    first_view[node + 2] += first_view[node + 1];
  for (SchedPos pos = 0; pos < before.len; pos++) {
    NodeId node = graph->home_of[before.ids[pos]];
    if (graph->nodes[node].inst != before.ids[pos]) views[first_view[node + 1]++] = before.ids[pos];
  }
  Sequence sequence = {
      .ids = arena_array(out, InstId, (size_t)before.len + line->len + applier->views.len)};
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    if (applier->insts[step] == NO_ID) continue;
    sequence.ids[sequence.len++] = applier->insts[step];
    for (uint32_t i = first_view[node]; applier->is_first[step] && i < first_view[node + 1]; i++)
      sequence.ids[sequence.len++] = views[i];
    for (uint32_t i = 0; i < applier->views_of[step].len; i++)
      sequence.ids[sequence.len++] = applier->views_of[step].data[i];
  }
  return sequence;
}

/* Instructions that run at another place: those that a longest increasing run of old places does
 * not have is what one would count by hand; the number of descents is close, and linear. */
static uint32_t count_moved(const Applier *applier) {
  uint32_t num_moved = 0;
  NodeId latest = 0;
  for (StepId step = 0; step < applier->line->len; step++) {
    NodeId node = applier->line->nodes[step];
    if (!applier->is_first[step]) continue;
    if (applier->graph->nodes[node].flags & NODE_IS_GIVEN) continue;
    if (node < latest) {
      num_moved++;
    } else {
      latest = node;
    }
  }
  return num_moved;
}

Applied line_apply(const Line *line, RematJob *job, Arena *out, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  Arena *arena = arena_new(arena_options(scratch));
  Module *module = job->rewrite->module;
  Applier applier = {.line = line,
                     .graph = graph,
                     .job = job,
                     .module = module,
                     .operands = arena_array(arena, InstId, graph->operands.len),
                     .insts = arena_array(arena, InstId, line->len),
                     .first = arena_array(arena, StepId, graph->num_nodes),
                     .is_first = arena_zarray(arena, bool, line->len),
                     .views_of = arena_zarray(arena, IdVec, line->len),
                     .arena = arena,
                     .scratch = scratch};
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    const SearchNode *of = &graph->nodes[node];
    if (of->flags & NODE_IS_END) continue;
    for (uint32_t i = 0; i < of->num_operands; i++)
      applier.operands[of->first_operand + i] = inst_operand(module, of->inst, i);
  }
  applier.operands[graph->operands.len - 1] = comp_get(module, graph->comp)->root;
  Applied applied = {0};
  memset(applier.first, 0xff, graph->num_nodes * sizeof *applier.first);
  for (StepId step = 0; step < line->len; step++) {
    StepId *first = &applier.first[line->nodes[step]];
    applier.is_first[step] = *first == NO_ID;
    applied.num_clones += *first != NO_ID;
    if (*first == NO_ID) *first = step;
  }
  applied.num_moved = count_moved(&applier);
  if (applied.num_clones + applied.num_moved == 0) {
    arena_free(arena);
    return applied;
  }
  for (StepId step = 0; step < line->len; step++)
    run_step(&applier, step);
  job->schedule->of[graph->comp] = build_sequence(&applier, job->schedule->of[graph->comp], out);
  arena_free(arena);
  return applied;
}
