/* A wrapper of cgraph's graphs with the attributes that our pictures use. It records failures, so
 * callers check for them once, at the end. */
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

/* The names of cgraph's own types. */
typedef struct Agraph_s DotCluster;
typedef struct Agnode_s DotNode;
typedef struct Agedge_s DotLine;

typedef struct DotGraph DotGraph;

/* The graph is freed with the arena. */
DotGraph *dot_graph_new(char *name, Arena *names);
bool dot_graph_has_failed(const DotGraph *graph);
bool dot_graph_write(DotGraph *graph, Writer *out);

/* Returns the whole graph as the outermost cluster, or NULL after a failure. */
DotCluster *dot_graph_root(const DotGraph *graph);

/* Returns a new cluster with this name; if the name is in use, `suffix` is appended. */
DotCluster *dot_graph_cluster(DotGraph *graph, DotCluster *parent, char *name, uint32_t suffix);
const char *dot_graph_name(DotCluster *cluster);
DotNode *dot_graph_node(DotGraph *graph, DotCluster *cluster, char *name, uint32_t suffix);
DotLine *dot_graph_edge(DotGraph *graph, DotNode *from, DotNode *to);

/* `object` may be NULL, which means that an earlier call failed. */
void dot_graph_set(DotGraph *graph, void *object, Attribute attribute, const char *value);
void dot_graph_set_html(DotGraph *graph, void *object, Attribute attribute, const char *value);

#endif
