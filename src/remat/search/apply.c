#include "remat/search/apply.h"

#include <assert.h>

#include "ir/hash.h"
#include "ir/rows.h"
#include "remat/search/forms.h"

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
  InstId *starts;   /* by step: of an asynchronous copy into another form or back; else NO_ID */
  IdVec *around;    /* by step: asynchronous copies of it that start after it, and those back that
                       end before it */
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

/* The same view of something else, which is there after `step`. */
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
  NodeId bundle = node_inst(graph, view)->home;
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
  StepId after = provider;
  while (image == NO_ID) {
    InstId put_in = node_inst(applier->graph, operand)->put_in;
    if (operand == node) {
      image = applier->insts[provider];
    } else if (put_in == NO_ID) {
      *vec_push(applier->scratch, &chain) = operand;
      operand = inst_operand(module, operand, 0);
    } else if (holds(applier, operand, provider, reader)) {
      image = operand;
      after = applier->first[node_inst(applier->graph, operand)->home];
    } else {
      operand = put_in;
    }
  }
  while (chain.len) {
    InstId view = chain.data[--chain.len];
    bool is_same = inst_operand(module, view, 0) == image;
    image = is_same ? view : view_again(applier, view, image, after);
  }
  arena_reset(applier->scratch, mark);
  return image;
}

/* Copies what a step reads into another form, or back. */
static void copy_form(Applier *applier, StepId step) {
  const Line *line = applier->line;
  NodeId node = line->nodes[step];
  const NodeForm *form = node_form(applier->graph, node);
  Rewrite *rewrite = applier->job->rewrite;
  StepId source = line->sources[line->first_source[step]];
  InstId of = applier->insts[source];
  FormCopy made;
  if (node_is_back(applier->graph, node)) {
    InstId original = applier->insts[line->sources[line->first_source[source]]];
    made = form_copy_back(rewrite, form, of, original, applier->scratch);
  } else {
    made = form_copy_there(rewrite, form, of, applier->scratch);
    if (made.start != NO_ID) *vec_push(applier->arena, &applier->around[source]) = step;
  }
  applier->starts[step] = made.start;
  applier->insts[step] = made.copy;
}

static void run_step(Applier *applier, StepId step) {
  const Line *line = applier->line;
  const SearchNode *node = &applier->graph->nodes[line->nodes[step]];
  if (node->flags & NODE_IS_END) {
    applier->insts[step] = NO_ID;
    return;
  }
  if (node->flags & NODE_IS_FORM) {
    copy_form(applier, step);
    return;
  }
  Rewrite *rewrite = applier->job->rewrite;
  InstId id = applier->is_first[step]
                  ? node->inst
                  : rewrite_repeat(rewrite, node->inst, applier->job->schedule, applier->scratch);
  applier->insts[step] = id;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    InstId operand = image_of(applier, applier->operands[node->first_operand + i],
                              line->sources[line->first_source[step] + i], step);
    if (inst_operand(applier->module, id, i) != operand)
      rewrite_set_operand(rewrite, id, i, operand);
  }
}

static bool is_async_back(const Applier *applier, StepId step) {
  return applier->starts[step] != NO_ID && node_is_back(applier->graph, applier->line->nodes[step]);
}

/* Asynchronous copies back end before their first readers. */
static void place_ends(Applier *applier) {
  const Line *line = applier->line;
  bool *is_placed = arena_zarray(applier->arena, bool, line->len);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      if (is_placed[source] || !is_async_back(applier, source)) continue;
      is_placed[source] = true;
      *vec_push(applier->arena, &applier->around[step]) = source;
    }
  }
  for (StepId step = 0; step < line->len; step++)
    assert((is_placed[step] || !is_async_back(applier, step)) && "a copy back is read");
}

static void append(Sequence *sequence, InstId id) {
  sequence->ids[sequence->len++] = id;
}

/* Appends what follows a step as soon as its value is there: new views of it, and the beginnings of
 * asynchronous copies to the host. */
static void append_followers(const Applier *applier, StepId step, Sequence *sequence) {
  for (uint32_t i = 0; i < applier->views_of[step].len; i++)
    append(sequence, applier->views_of[step].data[i]);
  for (uint32_t i = 0; i < applier->around[step].len; i++) {
    StepId copy = applier->around[step].data[i];
    if (!is_async_back(applier, copy)) append(sequence, applier->starts[copy]);
  }
}

/* The order of the line, with bitcasts and get-tuple-elements after what they come from. */
static Sequence build_sequence(Applier *applier, Sequence before, Arena *out) {
  const Line *line = applier->line;
  const SearchGraph *graph = applier->graph;
  RowItems items = {0};
  for (SchedPos pos = 0; pos < before.len; pos++) {
    NodeId node = node_inst(graph, before.ids[pos])->home;
    if (graph->nodes[node].inst != before.ids[pos])
      *vec_push(applier->arena, &items) = (RowItem){node, before.ids[pos]};
  }
  Rows views = rows_build(&items, graph->num_nodes, applier->arena);
  place_ends(applier);
  Sequence sequence = {
      .ids = arena_array(out, InstId, (size_t)before.len + 2 * line->len + applier->views.len)};
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    const IdVec *around = &applier->around[step];
    for (uint32_t i = 0; i < around->len; i++) {
      if (!is_async_back(applier, around->data[i])) continue;
      append(&sequence, applier->insts[around->data[i]]);
      append_followers(applier, around->data[i], &sequence);
    }
    if (applier->insts[step] == NO_ID) continue;
    if (is_async_back(applier, step)) {
      append(&sequence, applier->starts[step]);
      continue;
    }
    append(&sequence, applier->insts[step]);
    for (uint32_t i = views.first[node]; applier->is_first[step] && i < views.first[node + 1]; i++)
      append(&sequence, views.ids[i]);
    append_followers(applier, step, &sequence);
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
    if (applier->graph->nodes[node].flags & (NODE_IS_GIVEN | NODE_IS_FORM)) continue;
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
                     .starts = arena_array(arena, InstId, line->len),
                     .around = arena_zarray(arena, IdVec, line->len),
                     .first = arena_array(arena, StepId, graph->num_nodes),
                     .is_first = arena_zarray(arena, bool, line->len),
                     .views_of = arena_zarray(arena, IdVec, line->len),
                     .arena = arena,
                     .scratch = scratch};
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    const SearchNode *of = &graph->nodes[node];
    if (of->flags & NODE_IS_FORM) continue;
    bool is_end = of->flags & NODE_IS_END;
    for (uint32_t i = 0; i < of->num_operands; i++)
      applier.operands[of->first_operand + i] =
          is_end ? comp_get(module, graph->comp)->root : inst_operand(module, of->inst, i);
  }
  Applied applied = {0};
  memset(applier.first, 0xff, graph->num_nodes * sizeof *applier.first);
  for (StepId step = 0; step < line->len; step++) {
    StepId *first = &applier.first[line->nodes[step]];
    applier.is_first[step] = *first == NO_ID;
    applier.starts[step] = NO_ID;
    bool is_form = graph->nodes[line->nodes[step]].flags & NODE_IS_FORM;
    applied.num_forms += is_form && !node_is_back(graph, line->nodes[step]);
    applied.num_clones += !is_form && *first != NO_ID;
    if (*first == NO_ID) *first = step;
  }
  applied.num_moved = count_moved(&applier);
  if (applied.num_clones + applied.num_forms + applied.num_moved == 0) {
    arena_free(arena);
    return applied;
  }
  for (StepId step = 0; step < line->len; step++)
    run_step(&applier, step);
  job->schedule->of[graph->comp] = build_sequence(&applier, job->schedule->of[graph->comp], out);
  arena_free(arena);
  return applied;
}
