/* A graph of cgraph with the attributes that our pictures have. What fails is remembered, so that
 * callers ask once, at the end. */
#ifndef REMAT_HLO_EMIT_DOT_GRAPH_H
#define REMAT_HLO_EMIT_DOT_GRAPH_H

#include "ir/arena.h"
#include "ir/writer.h"

typedef enum Attribute {
  GRAPH_LABEL,
  GRAPH_FILL,
  GRAPH_STYLE,
  GRAPH_NEW_RANK,
  NODE_LABEL,
  NODE_TOOLTIP,
  NODE_FILL,
  NODE_COLOR,
  NODE_WIDTH,
  NODE_STYLE,
  NODE_SHAPE,
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

/* Of cgraph, as it names them. */
typedef struct Agraph_s DotCluster;
typedef struct Agnode_s DotNode;
typedef struct Agedge_s DotLine;

typedef struct DotGraph DotGraph;

/* The graph goes with the arena. */
DotGraph *dot_graph_new(char *name, Arena *names);
bool dot_graph_has_failed(const DotGraph *graph);
bool dot_graph_write(DotGraph *graph, Writer *out);

/* The whole as the outermost cluster; NULL when it failed. */
DotCluster *dot_graph_root(const DotGraph *graph);

/* One with this name, or if it is taken with `suffix` behind it. */
DotCluster *dot_graph_cluster(DotGraph *graph, DotCluster *parent, char *name, uint32_t suffix);
const char *dot_graph_name(DotCluster *cluster);
DotNode *dot_graph_node(DotGraph *graph, DotCluster *cluster, char *name, uint32_t suffix);
DotLine *dot_graph_edge(DotGraph *graph, DotNode *from, DotNode *to);

/* `object` may be NULL: something failed then. */
void dot_graph_set(DotGraph *graph, void *object, Attribute attribute, const char *value);
void dot_graph_set_html(DotGraph *graph, void *object, Attribute attribute, const char *value);

#endif
