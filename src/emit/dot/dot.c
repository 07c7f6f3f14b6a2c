/* Draws the picture as a graph of cgraph. The labels are HTML-like, so that names can be emphasized
 * and the legend can be a table in the title. */
#include "emit/dot/dot.h"

#include <stdlib.h>

#include "emit/dot/graph.h"
#include "emit/dot/labels.h"

typedef struct Drawing {
  const DotPicture *picture;
  const DotOptions *options;
  RematMarks marks;
  DotGraph *graph;
  DotNode **nodes;       /* by InstId, NULL = not shown */
  DotCluster **clusters; /* by index in picture->scopes */
  DotLegend legend;
  Arena *names; /* memory that lives as long as the graph */
  Arena *scratch;
} Drawing;

/* ---- nodes ---- */

static void set_border(Drawing *drawing, DotNode *node, InstId id) {
  static const char *const styles[] = {[REMAT_KIND_NONE] = "filled",
                                       [REMAT_KIND_CLONE] = "filled",
                                       [REMAT_KIND_MOVED] = "filled,dashed",
                                       [REMAT_KIND_HELPER] = "filled,dotted"};
  unsigned kind = drawing->marks ? drawing->marks[id].kind : REMAT_KIND_NONE;
  bool is_live = drawing->picture->is_live_at_peak[id];
  drawing->legend.has_kind[kind] = true;
  dot_graph_set(drawing->graph, node, NODE_STYLE, styles[kind]);
  if (kind != REMAT_KIND_NONE) {
    dot_graph_set(drawing->graph, node, NODE_COLOR, DOT_COLOR_REMAT);
  } else if (is_live) {
    dot_graph_set(drawing->graph, node, NODE_COLOR, DOT_COLOR_LIVE);
  }
  if (is_live || kind != REMAT_KIND_NONE) dot_graph_set(drawing->graph, node, NODE_WIDTH, "3");
  if (id == drawing->picture->memory->peak_inst)
    dot_graph_set(drawing->graph, node, NODE_PERIPHERIES, "2");
}

static void add_node(Drawing *drawing, DotCluster *cluster, InstId id) {
  const DotPicture *picture = drawing->picture;
  char *name = dot_name("", inst_name(picture->module, id), drawing->names);
  DotNode *node = dot_graph_node(drawing->graph, cluster, name, id);
  drawing->nodes[id] = node;
  ArenaMark mark = arena_mark(drawing->scratch);
  dot_graph_set_html(drawing->graph, node, NODE_LABEL,
                     dot_node_label(picture, drawing->marks, id, drawing->scratch));
  dot_graph_set(drawing->graph, node, NODE_TOOLTIP,
                dot_node_tooltip(picture, id, drawing->scratch));
  int heat = dot_permille(picture->memory_at[id] - picture->least_memory,
                          picture->memory->peak_bytes - picture->least_memory);
  dot_graph_set(drawing->graph, node, NODE_FILL, dot_heat_color(heat).text);
  set_border(drawing, node, id);
  arena_reset(drawing->scratch, mark);
}

/* ---- edges ---- */

static DotLine *new_edge(Drawing *drawing, InstId from, InstId to) {
  return dot_graph_edge(drawing->graph, drawing->nodes[from], drawing->nodes[to]);
}

/* The width depends on the buffer's share of the peak: from 0.6 points for nothing to 5 points for
 * a tenth or more. */
static void set_edge_width(Drawing *drawing, DotLine *edge, const DotEdge *info) {
  int tenths = 6 + dot_permille(info->bytes, drawing->picture->memory->peak_bytes) * 44 / 100;
  if (tenths > 50) tenths = 50;
  dot_graph_set(drawing->graph, edge, EDGE_WIDTH,
                arena_printf(drawing->scratch, "%d.%d", tenths / 10, tenths % 10));
}

static void add_read_edge(Drawing *drawing, const DotEdge *info) {
  ArenaMark mark = arena_mark(drawing->scratch);
  DotLine *edge = new_edge(drawing, info->from, info->to);
  if (info->is_path) {
    dot_graph_set(drawing->graph, edge, EDGE_STYLE, "dashed");
    drawing->legend.has_paths = true;
  } else {
    set_edge_width(drawing, edge, info);
  }
  if (info->crosses_peak) dot_graph_set(drawing->graph, edge, EDGE_COLOR, DOT_COLOR_LIVE);
  dot_graph_set(drawing->graph, edge, EDGE_TOOLTIP,
                dot_edge_tooltip(drawing->picture, info, drawing->scratch));
  arena_reset(drawing->scratch, mark);
}

static void add_control_edges(Drawing *drawing, InstId id) {
  const Module *module = drawing->picture->module;
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++) {
    InstId predecessor = id_list(module, before)[i];
    if (!drawing->nodes[predecessor]) continue;
    DotLine *edge = new_edge(drawing, predecessor, id);
    dot_graph_set(drawing->graph, edge, EDGE_STYLE, "dotted");
    dot_graph_set(drawing->graph, edge, EDGE_TOOLTIP, "control dependency");
    drawing->legend.has_control = true;
  }
}

/* Adds edges from originals to their clones. */
static void add_recompute_edges(Drawing *drawing) {
  const DotPicture *picture = drawing->picture;
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    InstId original = picture->original_of[id];
    if (original == NO_ID || !drawing->nodes[id] || !drawing->nodes[original]) continue;
    DotLine *edge = new_edge(drawing, original, id);
    dot_graph_set(drawing->graph, edge, EDGE_STYLE, "dashed");
    dot_graph_set(drawing->graph, edge, EDGE_COLOR, DOT_COLOR_REMAT);
    dot_graph_set(drawing->graph, edge, EDGE_TOOLTIP, "recomputes");
    dot_graph_set(drawing->graph, edge, EDGE_WEIGHT, "0");
    drawing->legend.has_recompute_edges = true;
  }
}

/* ---- boxes ---- */

static DotNode *add_box(Drawing *drawing, DotCluster *cluster, const DotBox *box) {
  char *name = dot_name("", STR("(left out)"), drawing->names);
  uint32_t index = (uint32_t)(box - drawing->picture->boxes.data);
  DotNode *node = dot_graph_node(drawing->graph, cluster, name, index);
  ArenaMark mark = arena_mark(drawing->scratch);
  dot_graph_set_html(drawing->graph, node, NODE_LABEL, dot_box_label(box, drawing->scratch));
  dot_graph_set(drawing->graph, node, NODE_SHAPE, "folder");
  dot_graph_set(drawing->graph, node, NODE_FILL, DOT_COLOR_BOX);
  dot_graph_set(drawing->graph, node, NODE_TOOLTIP, dot_box_tooltip(box, drawing->scratch));
  if (box->live_bytes > 0) {
    dot_graph_set(drawing->graph, node, NODE_COLOR, DOT_COLOR_LIVE);
    dot_graph_set(drawing->graph, node, NODE_WIDTH, "3");
  }
  drawing->legend.has_boxes = true;
  arena_reset(drawing->scratch, mark);
  return node;
}

/* ---- clusters ---- */

typedef struct Placed {
  SchedPos pos; /* for a box: the middle of the range in which it runs */
  uint32_t tie;
  DotNode *node;
} Placed;

typedef struct Cluster {
  CompId comp;
  DotCluster *graph;
  DotNode *first;
  VEC(Placed) nodes; /* in the order of the schedule */
} Cluster;

/* Adds edges from the calls of a computation to its cluster. */
static void add_call_edges(Drawing *drawing, const Cluster *cluster) {
  IdSpan callers = callers_of(&drawing->picture->graph, cluster->comp);
  for (uint32_t i = 0; i < callers.len; i++) {
    DotNode *caller = drawing->nodes[callers.ids[i]];
    if (!caller) continue;
    DotLine *edge = dot_graph_edge(drawing->graph, caller, cluster->first);
    dot_graph_set(drawing->graph, edge, EDGE_HEAD_CLUSTER, dot_graph_name(cluster->graph));
    dot_graph_set(drawing->graph, edge, EDGE_STYLE, "dashed");
    dot_graph_set(drawing->graph, edge, EDGE_ARROW, "empty");
    dot_graph_set(drawing->graph, edge, EDGE_TOOLTIP, "calls");
    dot_graph_set(drawing->graph, edge, EDGE_CONSTRAINT, "false");
    drawing->legend.has_calls = true;
  }
}

static int by_position(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  if (a->pos != b->pos) return a->pos < b->pos ? -1 : 1;
  return (a->tie > b->tie) - (a->tie < b->tie);
}

/* The picture is to follow the schedule from top to bottom. So each node is above the one that
 * comes `step` nodes later, and rows are about as wide as the cluster is high. */
static void add_order_edges(Drawing *drawing, Cluster *cluster) {
  uint32_t step = 1, num_nodes = cluster->nodes.len;
  while (5 * step * step < 2 * num_nodes)
    step++;
  qsort(cluster->nodes.data, num_nodes, sizeof(Placed), by_position);
  for (uint32_t i = 0; i + step < num_nodes; i++) {
    DotLine *edge = dot_graph_edge(drawing->graph, cluster->nodes.data[i].node,
                                   cluster->nodes.data[i + step].node);
    dot_graph_set(drawing->graph, edge, EDGE_STYLE, "invis");
    dot_graph_set(drawing->graph, edge, EDGE_WEIGHT, "0");
  }
}

/* Adds the frames of a computation's scopes. */
static void add_scopes(Drawing *drawing, const Cluster *cluster) {
  const DotPicture *picture = drawing->picture;
  for (uint32_t i = 0; i < picture->scopes.len; i++) {
    const DotScope *scope = &picture->scopes.data[i];
    if (scope->comp != cluster->comp) continue;
    DotCluster *parent = scope->parent == NO_ID ? cluster->graph : drawing->clusters[scope->parent];
    char *name = dot_name("cluster_", scope->path, drawing->names);
    drawing->clusters[i] = dot_graph_cluster(drawing->graph, parent, name, i);
    dot_graph_set_html(drawing->graph, drawing->clusters[i], GRAPH_LABEL,
                       dot_scope_label(scope, drawing->scratch));
    dot_graph_set(drawing->graph, drawing->clusters[i], GRAPH_STYLE, "rounded,filled");
    dot_graph_set(drawing->graph, drawing->clusters[i], GRAPH_FILL, DOT_COLOR_SCOPE);
  }
}

static DotCluster *cluster_of(const Drawing *drawing, const Cluster *cluster, uint32_t scope) {
  return scope == NO_ID ? cluster->graph : drawing->clusters[scope];
}

static void add_nodes(Drawing *drawing, Cluster *cluster) {
  const DotPicture *picture = drawing->picture;
  Sequence sequence = picture->schedule->of[cluster->comp];
  for (SchedPos pos = 0; pos < sequence.len && !dot_graph_has_failed(drawing->graph); pos++) {
    InstId id = sequence.ids[pos];
    if (!picture->is_shown[id]) continue;
    uint32_t scope = picture->scope_of ? picture->scope_of[id] : NO_ID;
    add_node(drawing, cluster_of(drawing, cluster, scope), id);
    *vec_push(drawing->scratch, &cluster->nodes) = (Placed){pos, 0, drawing->nodes[id]};
    if (!cluster->first) cluster->first = drawing->nodes[id];
  }
  for (uint32_t i = 0; i < picture->boxes.len && !dot_graph_has_failed(drawing->graph); i++) {
    const DotBox *box = &picture->boxes.data[i];
    if (box->comp != cluster->comp) continue;
    DotNode *node = add_box(drawing, cluster_of(drawing, cluster, box->scope), box);
    *vec_push(drawing->scratch, &cluster->nodes) =
        (Placed){box->first + (box->last - box->first) / 2, i + 1, node};
  }
}

static void add_cluster(Drawing *drawing, CompId comp) {
  const DotPicture *picture = drawing->picture;
  Sequence sequence = picture->schedule->of[comp];
  Cluster cluster = {.comp = comp};
  SchedPos pos = 0;
  while (pos < sequence.len && !picture->is_shown[sequence.ids[pos]])
    pos++;
  if (pos == sequence.len) return;
  char *name = dot_name("cluster_", comp_name(picture->module, comp), drawing->names);
  cluster.graph = dot_graph_cluster(drawing->graph, dot_graph_root(drawing->graph), name, comp);
  dot_graph_set_html(drawing->graph, cluster.graph, GRAPH_LABEL,
                     dot_cluster_label(picture, comp, drawing->scratch));
  add_scopes(drawing, &cluster);
  add_nodes(drawing, &cluster);
  if (dot_graph_has_failed(drawing->graph)) return;
  add_order_edges(drawing, &cluster);
  add_call_edges(drawing, &cluster);
}

static void draw(Drawing *drawing) {
  const DotPicture *picture = drawing->picture;
  for (uint32_t i = picture->graph.num_reachable;
       i-- > 0 && !dot_graph_has_failed(drawing->graph);) {
    CompId comp = picture->graph.post_order[i]; /* callers before callees */
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    ArenaMark mark = arena_mark(drawing->scratch);
    add_cluster(drawing, comp);
    arena_reset(drawing->scratch, mark);
  }
  for (uint32_t i = 0; i < picture->edges.len && !dot_graph_has_failed(drawing->graph); i++) {
    add_read_edge(drawing, &picture->edges.data[i]);
  }
  for (InstId id = 0; id < picture->module->insts.len && !dot_graph_has_failed(drawing->graph);
       id++) {
    if (drawing->nodes[id]) add_control_edges(drawing, id);
  }
  if (!dot_graph_has_failed(drawing->graph)) add_recompute_edges(drawing);
  if (dot_graph_has_failed(drawing->graph)) return;
  dot_graph_set_html(drawing->graph, dot_graph_root(drawing->graph), GRAPH_LABEL,
                     dot_title(picture, drawing->options, &drawing->legend, drawing->scratch));
}

void emit_dot(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
              RematMarks marks, const DotOptions *options, Writer *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  DotPicture picture = dot_picture_build(module, schedule, memory, marks, options, scratch, inner);
  char *name = dot_name("", module->source->header.name, scratch);
  if (options->num_wanted) *options->num_wanted = picture.num_wanted;
  Drawing drawing = {.picture = &picture,
                     .options = options,
                     .marks = marks,
                     .graph = dot_graph_new(name, scratch),
                     .nodes = arena_zarray(scratch, DotNode *, module->insts.len),
                     .clusters = arena_zarray(scratch, DotCluster *, picture.scopes.len),
                     .names = scratch,
                     .scratch = inner};
  /* The frames of scopes contain parts of both passes, so rows must not end at them. */
  if (!dot_graph_has_failed(drawing.graph) && picture.scopes.len) {
    dot_graph_set(drawing.graph, dot_graph_root(drawing.graph), GRAPH_NEW_RANK, "true");
  }
  if (!dot_graph_has_failed(drawing.graph)) draw(&drawing);
  /* Errors of writing are kept in the writer, so cgraph can only fail for lack of memory. */
  if (!dot_graph_write(drawing.graph, out)) arena_fail(scratch, 0);
  arena_free(inner);
  arena_reset(scratch, mark);
}
