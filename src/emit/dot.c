/* The picture as a graph of cgraph. Labels are HTML-like, so that names stand out and the legend
 * can be a table in the title. */
#include "emit/dot.h"

#include <cgraph.h>
#include <inttypes.h>

#include "emit/dot_label.h"

/* ---- cgraph's disciplines ---- */

/* Ids count up, and we keep the names. cgraph's own ids are addresses of names, and it writes
 * subgraphs in the order of their ids: other bytes each time; its map from names to other ids is
 * never freed. */
typedef struct Disciplines {
  Agdisc_t all; /* cgraph hands this one back */
  Agiddisc_t ids;
  Agiodisc_t io;
  Agraph_t *graph;
  /* By id, NULL for edges. Strings of cgraph's pool: it looks before their first byte whether they
   * are HTML-like. */
  VEC(char *) names;
  IdTable table; /* of names */
  Arena *arena;
} Disciplines;

static bool is_taken(const Disciplines *disciplines, Str name) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&disciplines->table, hash_str(name));
       id_probe_next(&probe, &id);) {
    if (str_is(name, disciplines->names.data[id])) return true;
  }
  return false;
}

/* An id for an object with this name, or if it is taken with `suffix` behind it. */
static IDTYPE add_name(Disciplines *disciplines, char *wanted, uint32_t suffix) {
  Str name = str_make(wanted, strlen(wanted));
  while (name.len == 0 || is_taken(disciplines, name)) {
    wanted = arena_printf(disciplines->arena, "%s #%" PRIu32, wanted, suffix);
    name = str_make(wanted, strlen(wanted));
  }
  uint32_t id = disciplines->names.len;
  *vec_push(disciplines->arena, &disciplines->names) = agstrdup(disciplines->graph, wanted);
  id_table_add(&disciplines->table, disciplines->arena, hash_str(name), id);
  return id;
}

static void *ids_open(Agraph_t *graph, Agdisc_t *disciplines) {
  (void)graph;
  return disciplines;
}

/* Asked only for edges, which have no names, and once for the graph itself. */
static long ids_map(void *state, int kind, char *name, IDTYPE *id, int create) {
  Disciplines *disciplines = state;
  if (name || !create) return 0;
  *id = 0;
  if (kind == AGRAPH) return 1;
  *id = disciplines->names.len;
  *vec_push(disciplines->arena, &disciplines->names) = NULL;
  return 1;
}

static long ids_alloc(void *state, int kind, IDTYPE id) {
  (void)state, (void)kind, (void)id;
  return 1;
}

static void ids_free(void *state, int kind, IDTYPE id) {
  (void)state, (void)kind, (void)id;
}

static char *ids_print(void *state, int kind, IDTYPE id) {
  (void)kind;
  const Disciplines *disciplines = state;
  return disciplines->names.data[id];
}

static void ids_close(void *state) {
  (void)state;
}

static void ids_register(void *state, int kind, void *object) {
  (void)state, (void)kind, (void)object;
}

static int io_read(void *channel, char *buffer, int size) {
  (void)channel, (void)buffer, (void)size;
  return 0;
}

static int io_put(void *channel, const char *text) {
  write_text(channel, text);
  return 0;
}

static int io_flush(void *channel) {
  (void)channel;
  return 0;
}

static void disciplines_init(Disciplines *disciplines, Arena *arena) {
  *disciplines = (Disciplines){.arena = arena};
  disciplines->ids = (Agiddisc_t){.open = ids_open,
                                  .map = ids_map,
                                  .alloc = ids_alloc,
                                  .free = ids_free,
                                  .print = ids_print,
                                  .close = ids_close,
                                  .idregister = ids_register};
  disciplines->io = (Agiodisc_t){.afread = io_read, .putstr = io_put, .flush = io_flush};
  disciplines->all = (Agdisc_t){.id = &disciplines->ids, .io = &disciplines->io};
}

/* Opens the graph, whose id is 0 and whose name nodes may have too. */
static Agraph_t *disciplines_open_graph(Disciplines *disciplines, char *name) {
  disciplines->graph = agopen(NULL, Agdirected, &disciplines->all);
  if (disciplines->graph) {
    *vec_push(disciplines->arena, &disciplines->names) = agstrdup(disciplines->graph, name);
  }
  return disciplines->graph;
}

/* ---- attributes ---- */

typedef enum Attribute {
  GRAPH_LABEL,
  NODE_LABEL,
  NODE_TOOLTIP,
  NODE_FILL,
  NODE_COLOR,
  NODE_WIDTH,
  NODE_STYLE,
  NODE_PERIPHERIES,
  EDGE_COLOR,
  EDGE_WIDTH,
  EDGE_STYLE,
  EDGE_TOOLTIP,
  EDGE_ARROW,
  EDGE_HEAD_CLUSTER,
  EDGE_WEIGHT,
  EDGE_CONSTRAINT,
  NUM_ATTRIBUTES
} Attribute;

typedef struct AttributeInfo {
  int kind; /* of object */
  const char *name;
  const char *value; /* by default */
} AttributeInfo;

static const AttributeInfo attributes[NUM_ATTRIBUTES] = {
    [GRAPH_LABEL] = {AGRAPH, "label", ""},
    [NODE_LABEL] = {AGNODE, "label", "\\N"},
    [NODE_TOOLTIP] = {AGNODE, "tooltip", ""},
    [NODE_FILL] = {AGNODE, "fillcolor", "#ffffff"},
    [NODE_COLOR] = {AGNODE, "color", DOT_COLOR_QUIET},
    [NODE_WIDTH] = {AGNODE, "penwidth", "1"},
    [NODE_STYLE] = {AGNODE, "style", "filled"},
    [NODE_PERIPHERIES] = {AGNODE, "peripheries", "1"},
    [EDGE_COLOR] = {AGEDGE, "color", DOT_COLOR_QUIET},
    [EDGE_WIDTH] = {AGEDGE, "penwidth", "1"},
    [EDGE_STYLE] = {AGEDGE, "style", "solid"},
    [EDGE_TOOLTIP] = {AGEDGE, "tooltip", ""},
    [EDGE_ARROW] = {AGEDGE, "arrowhead", "normal"},
    [EDGE_HEAD_CLUSTER] = {AGEDGE, "lhead", ""},
    [EDGE_WEIGHT] = {AGEDGE, "weight", "1"},
    [EDGE_CONSTRAINT] = {AGEDGE, "constraint", "true"},
};

/* What is the same on every picture. Lines are not broken (linelength): grep and diff like them so.
 */
static const AttributeInfo constants[] = {
    {AGRAPH, "linelength", "0"},        {AGRAPH, "charset", "UTF-8"},
    {AGRAPH, "compound", "true"},       {AGRAPH, "fontname", "Helvetica"},
    {AGRAPH, "fontsize", "11"},         {AGRAPH, "labelloc", "t"},
    {AGRAPH, "labeljust", "l"},         {AGRAPH, "nodesep", "0.2"},
    {AGRAPH, "ranksep", "0.35"},        {AGRAPH, "style", "rounded"},
    {AGRAPH, "color", DOT_COLOR_FRAME}, {AGNODE, "shape", "box"},
    {AGNODE, "fontname", "Helvetica"},  {AGNODE, "fontsize", "9"},
    {AGNODE, "margin", "0.1,0.055"},    {AGNODE, "height", "0.3"},
    {AGEDGE, "arrowsize", "0.6"},
};

typedef struct Drawing {
  const DotPicture *picture;
  const DotOptions *options;
  RematMarks marks;
  Disciplines disciplines;
  Agraph_t *graph;
  Agsym_t *attributes[NUM_ATTRIBUTES];
  Agnode_t **nodes; /* by InstId, NULL = not shown */
  DotLegend legend;
  Arena *names; /* what lives as long as the graph */
  Arena *scratch;
  bool has_failed;
} Drawing;

/* cgraph does not change the strings that it is given; older versions only do not say so. */
static void set(Drawing *drawing, void *object, Attribute attribute, const char *value) {
  if (!object || agxset(object, drawing->attributes[attribute], (char *)value) != 0) {
    drawing->has_failed = true;
  }
}

static void set_html(Drawing *drawing, void *object, Attribute attribute, const char *value) {
  char *html = agstrdup_html(drawing->graph, (char *)value);
  if (html) set(drawing, object, attribute, html);
  if (!html) drawing->has_failed = true;
}

static void open_graph(Drawing *drawing) {
  Str name = drawing->picture->module->source->header.name;
  disciplines_init(&drawing->disciplines, drawing->names);
  drawing->graph =
      disciplines_open_graph(&drawing->disciplines, dot_name("", name, drawing->names));
  drawing->has_failed = !drawing->graph;
  for (size_t i = 0; !drawing->has_failed && i < sizeof constants / sizeof *constants; i++) {
    drawing->has_failed = !agattr(drawing->graph, constants[i].kind, (char *)constants[i].name,
                                  (char *)constants[i].value);
  }
  for (int i = 0; !drawing->has_failed && i < NUM_ATTRIBUTES; i++) {
    drawing->attributes[i] = agattr(drawing->graph, attributes[i].kind, (char *)attributes[i].name,
                                    (char *)attributes[i].value);
    drawing->has_failed = !drawing->attributes[i];
  }
}

/* ---- nodes ---- */

static void set_border(Drawing *drawing, Agnode_t *node, InstId id) {
  static const char *const styles[] = {[REMAT_KIND_NONE] = "filled",
                                       [REMAT_KIND_CLONE] = "filled",
                                       [REMAT_KIND_MOVED] = "filled,dashed",
                                       [REMAT_KIND_HELPER] = "filled,dotted"};
  unsigned kind = drawing->marks ? drawing->marks[id].kind : REMAT_KIND_NONE;
  bool is_live = drawing->picture->is_live_at_peak[id];
  drawing->legend.has_kind[kind] = true;
  set(drawing, node, NODE_STYLE, styles[kind]);
  if (kind != REMAT_KIND_NONE) {
    set(drawing, node, NODE_COLOR, DOT_COLOR_REMAT);
  } else if (is_live) {
    set(drawing, node, NODE_COLOR, DOT_COLOR_LIVE);
  }
  if (is_live || kind != REMAT_KIND_NONE) set(drawing, node, NODE_WIDTH, "3");
  if (id == drawing->picture->memory->peak_inst) set(drawing, node, NODE_PERIPHERIES, "2");
}

static void add_node(Drawing *drawing, Agraph_t *cluster, InstId id) {
  const DotPicture *picture = drawing->picture;
  char *name = dot_name("", inst_name(picture->module, id), drawing->names);
  Agnode_t *node = agidnode(cluster, add_name(&drawing->disciplines, name, id), 1);
  drawing->nodes[id] = node;
  ArenaMark mark = arena_mark(drawing->scratch);
  set_html(drawing, node, NODE_LABEL,
           dot_node_label(picture, drawing->marks, id, drawing->scratch));
  set(drawing, node, NODE_TOOLTIP, dot_node_tooltip(picture, id, drawing->scratch));
  int heat = dot_permille(picture->memory_at[id] - picture->least_memory,
                          picture->memory->peak_bytes - picture->least_memory);
  set(drawing, node, NODE_FILL, dot_heat_color(heat).text);
  set_border(drawing, node, id);
  arena_reset(drawing->scratch, mark);
}

/* ---- edges ---- */

static Agedge_t *new_edge(Drawing *drawing, InstId from, InstId to) {
  Agedge_t *edge = agedge(drawing->graph, drawing->nodes[from], drawing->nodes[to], NULL, 1);
  drawing->has_failed |= !edge;
  return edge;
}

/* By the buffer's share of the peak: 0.6 points for nothing, 5 from a tenth on. */
static void set_edge_width(Drawing *drawing, Agedge_t *edge, const DotEdge *info) {
  int tenths = 6 + dot_permille(info->bytes, drawing->picture->memory->peak_bytes) * 44 / 100;
  if (tenths > 50) tenths = 50;
  set(drawing, edge, EDGE_WIDTH, arena_printf(drawing->scratch, "%d.%d", tenths / 10, tenths % 10));
}

static void add_read_edge(Drawing *drawing, const DotEdge *info) {
  ArenaMark mark = arena_mark(drawing->scratch);
  Agedge_t *edge = new_edge(drawing, info->from, info->to);
  set_edge_width(drawing, edge, info);
  if (info->crosses_peak) set(drawing, edge, EDGE_COLOR, DOT_COLOR_LIVE);
  set(drawing, edge, EDGE_TOOLTIP, dot_edge_tooltip(drawing->picture, info, drawing->scratch));
  arena_reset(drawing->scratch, mark);
}

static void add_control_edges(Drawing *drawing, InstId id) {
  const Module *module = drawing->picture->module;
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++) {
    InstId predecessor = id_list(module, before)[i];
    if (!drawing->nodes[predecessor]) continue;
    Agedge_t *edge = new_edge(drawing, predecessor, id);
    set(drawing, edge, EDGE_STYLE, "dotted");
    set(drawing, edge, EDGE_TOOLTIP, "control dependency");
    drawing->legend.has_control = true;
  }
}

/* From originals to their clones, found by name. */
static void add_recompute_edges(Drawing *drawing) {
  const Module *module = drawing->picture->module;
  IdTable names = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!drawing->nodes[id]) continue;
    id_table_add(&names, drawing->scratch, hash_str(inst_name(module, id)), id);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!drawing->nodes[id] || drawing->marks[id].kind != REMAT_KIND_CLONE) continue;
    Str original = drawing->marks[id].original;
    InstId found;
    for (IdProbe probe = id_table_probe(&names, hash_str(original));
         id_probe_next(&probe, &found);) {
      if (!str_equal(inst_name(module, found), original)) continue;
      if (inst_get(module, found)->parent != inst_get(module, id)->parent) continue;
      Agedge_t *edge = new_edge(drawing, found, id);
      set(drawing, edge, EDGE_STYLE, "dashed");
      set(drawing, edge, EDGE_COLOR, DOT_COLOR_REMAT);
      set(drawing, edge, EDGE_TOOLTIP, "recomputes");
      set(drawing, edge, EDGE_WEIGHT, "0");
      drawing->legend.has_recompute_edges = true;
    }
  }
}

/* ---- clusters ---- */

typedef struct Cluster {
  Agraph_t *graph;
  InstId first; /* node */
} Cluster;

/* From the calls of a computation to its cluster. */
static void add_call_edges(Drawing *drawing, CompId comp, const Cluster *cluster) {
  const CallGraph *graph = &drawing->picture->graph;
  for (uint32_t i = graph->first_caller[comp]; i < graph->first_caller[comp + 1]; i++) {
    if (!drawing->nodes[graph->callers[i]]) continue;
    Agedge_t *edge = new_edge(drawing, graph->callers[i], cluster->first);
    set(drawing, edge, EDGE_HEAD_CLUSTER, agnameof(cluster->graph));
    set(drawing, edge, EDGE_STYLE, "dashed");
    set(drawing, edge, EDGE_ARROW, "empty");
    set(drawing, edge, EDGE_TOOLTIP, "calls");
    set(drawing, edge, EDGE_CONSTRAINT, "false");
    drawing->legend.has_calls = true;
  }
}

/* Reading from top to bottom shall follow the schedule: each node stands above the one that is
 * `step` places behind it, so that rows are about as wide as the cluster is high. */
static void add_order_edges(Drawing *drawing, const InstId *shown, uint32_t num_shown) {
  uint32_t step = 1;
  while (5 * step * step < 2 * num_shown)
    step++;
  for (uint32_t i = 0; i + step < num_shown; i++) {
    Agedge_t *edge = new_edge(drawing, shown[i], shown[i + step]);
    set(drawing, edge, EDGE_STYLE, "invis");
    set(drawing, edge, EDGE_WEIGHT, "0");
  }
}

static Cluster add_cluster(Drawing *drawing, CompId comp) {
  const DotPicture *picture = drawing->picture;
  Sequence sequence = picture->schedule->of[comp];
  Cluster cluster = {.first = NO_ID};
  uint32_t num_shown = 0;
  InstId *shown = arena_array(drawing->scratch, InstId, sequence.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (picture->is_shown[sequence.ids[pos]]) shown[num_shown++] = sequence.ids[pos];
  }
  if (num_shown == 0) return cluster;
  cluster.first = shown[0];
  char *name = dot_name("cluster_", comp_name(picture->module, comp), drawing->names);
  cluster.graph = agidsubg(drawing->graph, add_name(&drawing->disciplines, name, comp), 1);
  set_html(drawing, cluster.graph, GRAPH_LABEL, dot_cluster_label(picture, comp, drawing->scratch));
  for (uint32_t i = 0; i < num_shown && !drawing->has_failed; i++) {
    add_node(drawing, cluster.graph, shown[i]);
  }
  if (!drawing->has_failed) add_order_edges(drawing, shown, num_shown);
  return cluster;
}

static void draw(Drawing *drawing) {
  const DotPicture *picture = drawing->picture;
  for (uint32_t i = picture->graph.num_reachable; i-- > 0 && !drawing->has_failed;) {
    CompId comp = picture->graph.post_order[i]; /* callers before callees */
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    ArenaMark mark = arena_mark(drawing->scratch);
    Cluster cluster = add_cluster(drawing, comp);
    if (cluster.graph && !drawing->has_failed) add_call_edges(drawing, comp, &cluster);
    arena_reset(drawing->scratch, mark);
  }
  for (uint32_t i = 0; i < picture->edges.len && !drawing->has_failed; i++) {
    add_read_edge(drawing, &picture->edges.data[i]);
  }
  for (InstId id = 0; id < picture->module->insts.len && !drawing->has_failed; id++) {
    if (drawing->nodes[id]) add_control_edges(drawing, id);
  }
  if (drawing->marks && !drawing->has_failed) add_recompute_edges(drawing);
  if (drawing->has_failed) return;
  set_html(drawing, drawing->graph, GRAPH_LABEL,
           dot_title(picture, drawing->options, &drawing->legend, drawing->scratch));
}

rh_status emit_dot(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
                   RematMarks marks, const DotOptions *options, Writer *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  DotPicture picture = dot_picture_build(module, schedule, memory, marks, options, scratch, inner);
  Drawing drawing = {.picture = &picture,
                     .options = options,
                     .marks = marks,
                     .nodes = arena_zarray(scratch, Agnode_t *, module->insts.len),
                     .names = scratch,
                     .scratch = inner};
  open_graph(&drawing);
  if (!drawing.has_failed) draw(&drawing);
  if (!drawing.has_failed) drawing.has_failed = agwrite(drawing.graph, out) != 0;
  if (drawing.graph) agclose(drawing.graph);
  arena_free(inner);
  arena_reset(scratch, mark);
  return drawing.has_failed ? RH_ERR_SYSTEM : RH_OK;
}
