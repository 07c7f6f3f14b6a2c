#include "remat/search/apply.h"

#include "ir/hash.h"

/* A bitcast or get-tuple-element of a clone. */
typedef struct View {
  InstId view; /* of the original */
  StepId step;
  InstId image;
} View;

typedef struct Applier {
  const Line *line;
  const SearchGraph *graph;
  RematJob *job;
  Module *module;
  InstId *operands; /* as SearchGraph.operands: the operands before any change */
  InstId *insts;    /* by step */
  bool *is_first;   /* by step: the first run of its node */
  IdVec *views_of;  /* by step: new views of it, in an order in which they can run */
  VEC(View) views;
  IdTable table; /* of `views` */
  Arena *arena, *scratch;
} Applier;

static uint64_t view_key(InstId view, StepId step) {
  return hash_mix(HASH_SEED, (uint64_t)view << 32 | step);
}

static InstId find_view(const Applier *applier, InstId view, StepId step) {
  uint32_t found;
  for (IdProbe probe = id_table_probe(&applier->table, view_key(view, step));
       id_probe_next(&probe, &found);) {
    const View *known = &applier->views.data[found];
    if (known->view == view && known->step == step) return known->image;
  }
  return NO_ID;
}

/* What a reader of `operand` reads if a certain run of its node provides it. */
static InstId image_of(Applier *applier, InstId operand, StepId step) {
  Module *module = applier->module;
  if (applier->is_first[step]) return operand;
  ArenaMark mark = arena_mark(applier->scratch);
  IdVec chain = {0};
  InstId node = applier->graph->nodes[applier->line->nodes[step]].inst, image = NO_ID;
  for (; operand != node; operand = inst_operand(module, operand, 0)) {
    image = find_view(applier, operand, step);
    if (image != NO_ID) break;
    *vec_push(applier->scratch, &chain) = operand;
  }
  if (image == NO_ID) image = applier->insts[step];
  while (chain.len) {
    InstId view = chain.data[--chain.len];
    const Instruction *inst = inst_get(module, view);
    Rewrite *rewrite = applier->job->rewrite;
    image = inst->opcode == OPCODE_BITCAST
                ? rewrite_add_bitcast(rewrite, image, inst->shape)
                : rewrite_add_get_tuple_element(rewrite, image, inst->index);
    *vec_push(applier->arena, &applier->views_of[step]) = image;
    id_table_add(&applier->table, applier->arena, view_key(view, step), applier->views.len);
    *vec_push(applier->arena, &applier->views) = (View){view, step, image};
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
  InstId id = applier->is_first[step] ? node->inst
                                      : rewrite_clone(rewrite, node->inst, applier->scratch);
  applier->insts[step] = id;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    InstId operand = image_of(applier, applier->operands[node->first_operand + i],
                              line->sources[line->first_source[step] + i]);
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
    NodeId node = graph->node_of[before.ids[pos]];
    if (graph->nodes[node].inst != before.ids[pos]) first_view[node + 2]++;
  }
  for (NodeId node = 0; node < graph->num_nodes; node++)
    first_view[node + 2] += first_view[node + 1];
  for (SchedPos pos = 0; pos < before.len; pos++) {
    NodeId node = graph->node_of[before.ids[pos]];
    if (graph->nodes[node].inst != before.ids[pos])
      views[first_view[node + 1]++] = before.ids[pos];
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
  bool *has_run = arena_zarray(arena, bool, graph->num_nodes);
  Applied applied = {0};
  for (StepId step = 0; step < line->len; step++) {
    applier.is_first[step] = !has_run[line->nodes[step]];
    applied.num_clones += has_run[line->nodes[step]];
    has_run[line->nodes[step]] = true;
  }
  for (StepId step = 0; step < line->len; step++)
    run_step(&applier, step);
  job->schedule->of[graph->comp] =
      build_sequence(&applier, job->schedule->of[graph->comp], out);
  applied.num_moved = count_moved(&applier);
  arena_free(arena);
  return applied;
}
