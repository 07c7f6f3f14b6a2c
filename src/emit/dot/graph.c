/* Uses cgraph with reproducible ids, output to a writer, and attributes by number. */
#include "emit/dot/graph.h"

#include <cgraph.h>
#include <inttypes.h>

#include "emit/dot/labels.h"
#include "ir/hash.h"
#include "ir/vec.h"

/* ---- cgraph's disciplines ---- */

/* Ids are consecutive numbers, and we store the names. cgraph's own ids are addresses of names. It
 * writes subgraphs in the order of their ids, so the output would differ between runs. It also
 * never frees its map from names to other ids. */
typedef struct Disciplines {
  Agdisc_t all; /* cgraph passes this struct back */
  Agiddisc_t ids;
  Agiodisc_t io;
  Agraph_t *graph;
  /* By id; NULL for edges. The strings are in cgraph's pool, because it checks the bytes before a
   * string for whether it is HTML-like. */
  VEC(char *) names;
  IdTable table; /* names that are in use */
  Arena *arena;
} Disciplines;

/* It is never moved, because cgraph holds pointers into it. */
struct DotGraph {
  Disciplines disciplines;
  Agraph_t *graph;
  Agsym_t *attributes[NUM_ATTRIBUTES];
  bool has_failed;
};

static bool is_taken(const Disciplines *disciplines, Str name) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&disciplines->table, hash_str(name));
       id_probe_next(&probe, &id);) {
    if (str_is(name, disciplines->names.data[id])) return true;
  }
  return false;
}

/* Returns an id for an object with this name; if the name is in use, `suffix` is appended. */
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

/* cgraph calls this only for edges, which have no names, and once for the graph itself. */
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

/* Opens the graph. Its id is 0, and a node may have its name. */
static Agraph_t *disciplines_open_graph(Disciplines *disciplines) {
  disciplines->graph = agopen(NULL, Agdirected, &disciplines->all);
  return disciplines->graph;
}

static void disciplines_name_graph(Disciplines *disciplines, char *name) {
  *vec_push(disciplines->arena, &disciplines->names) = agstrdup(disciplines->graph, name);
}

/* ---- attributes ---- */

typedef struct AttributeInfo {
  int kind; /* kind of object */
  const char *name;
  const char *value; /* default value */
} AttributeInfo;

static const AttributeInfo attributes[NUM_ATTRIBUTES] = {
    [GRAPH_LABEL] = {AGRAPH, "label", ""},
    [GRAPH_FILL] = {AGRAPH, "fillcolor", "#ffffff"},
    [GRAPH_STYLE] = {AGRAPH, "style", "rounded"},
    [GRAPH_NEW_RANK] = {AGRAPH, "newrank", "false"},
    [NODE_LABEL] = {AGNODE, "label", "\\N"},
    [NODE_TOOLTIP] = {AGNODE, "tooltip", ""},
    [NODE_FILL] = {AGNODE, "fillcolor", "#ffffff"},
    [NODE_COLOR] = {AGNODE, "color", DOT_COLOR_QUIET},
    [NODE_WIDTH] = {AGNODE, "penwidth", "1"},
    [NODE_STYLE] = {AGNODE, "style", "filled"},
    [NODE_SHAPE] = {AGNODE, "shape", "box"},
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

/* The attributes that are the same in every picture. Texts can be read in what `dot -Tpng` draws
 * without options: 13 points are 17 pixels there. Lines are not broken (linelength), for the sake
 * of grep and diff. */
static const AttributeInfo constants[] = {
    {AGRAPH, "linelength", "0"},       {AGRAPH, "charset", "UTF-8"},
    {AGRAPH, "compound", "true"},      {AGRAPH, "fontname", "Helvetica"},
    {AGRAPH, "fontsize", "15"},        {AGRAPH, "labelloc", "t"},
    {AGRAPH, "labeljust", "l"},        {AGRAPH, "nodesep", "0.2"},
    {AGRAPH, "ranksep", "0.35"},       {AGRAPH, "color", DOT_COLOR_FRAME},
    {AGNODE, "fontname", "Helvetica"}, {AGNODE, "fontsize", "13"},
    {AGNODE, "margin", "0.12,0.07"},   {AGNODE, "height", "0.3"},
    {AGEDGE, "arrowsize", "0.8"},
};

/* ---- objects ---- */

static void close_graph(void *graph) {
  agclose(graph);
}

DotGraph *dot_graph_new(char *name, Arena *names) {
  DotGraph *graph = arena_zalloc(names, sizeof *graph);
  void **owned = arena_own(names, close_graph);
  disciplines_init(&graph->disciplines, names);
  *owned = graph->graph = disciplines_open_graph(&graph->disciplines);
  if (graph->graph) disciplines_name_graph(&graph->disciplines, name);
  graph->has_failed = !graph->graph;
  for (size_t i = 0; !graph->has_failed && i < sizeof constants / sizeof *constants; i++) {
    graph->has_failed = !agattr(graph->graph, constants[i].kind, (char *)constants[i].name,
                                (char *)constants[i].value);
  }
  for (int i = 0; !graph->has_failed && i < NUM_ATTRIBUTES; i++) {
    graph->attributes[i] = agattr(graph->graph, attributes[i].kind, (char *)attributes[i].name,
                                  (char *)attributes[i].value);
    graph->has_failed = !graph->attributes[i];
  }
  return graph;
}

bool dot_graph_has_failed(const DotGraph *graph) {
  return graph->has_failed;
}

DotCluster *dot_graph_root(const DotGraph *graph) {
  return graph->graph;
}

const char *dot_graph_name(DotCluster *cluster) {
  return agnameof(cluster);
}

bool dot_graph_write(DotGraph *graph, Writer *out) {
  if (!graph->has_failed) graph->has_failed = agwrite(graph->graph, out) != 0;
  return !graph->has_failed;
}

DotCluster *dot_graph_cluster(DotGraph *graph, DotCluster *parent, char *name, uint32_t suffix) {
  DotCluster *cluster =
      parent ? agidsubg(parent, add_name(&graph->disciplines, name, suffix), 1) : NULL;
  graph->has_failed |= !cluster;
  return cluster;
}

DotNode *dot_graph_node(DotGraph *graph, DotCluster *cluster, char *name, uint32_t suffix) {
  DotNode *node =
      cluster ? agidnode(cluster, add_name(&graph->disciplines, name, suffix), 1) : NULL;
  graph->has_failed |= !node;
  return node;
}

DotLine *dot_graph_edge(DotGraph *graph, DotNode *from, DotNode *to) {
  DotLine *edge = from && to ? agedge(graph->graph, from, to, NULL, 1) : NULL;
  graph->has_failed |= !edge;
  return edge;
}

/* cgraph does not change the strings that it receives; older versions only lack the const. */
void dot_graph_set(DotGraph *graph, void *object, Attribute attribute, const char *value) {
  if (!object || agxset(object, graph->attributes[attribute], (char *)value) != 0) {
    graph->has_failed = true;
  }
}

void dot_graph_set_html(DotGraph *graph, void *object, Attribute attribute, const char *value) {
  char *html = agstrdup_html(graph->graph, (char *)value);
  if (html) dot_graph_set(graph, object, attribute, html);
  if (!html) graph->has_failed = true;
}
