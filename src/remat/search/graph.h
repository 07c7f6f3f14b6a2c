/* One computation as the search sees it: nodes that compute parts, and what each of them reads.
 *
 * A node is an instruction, except for bitcasts and get-tuple-elements, which are views: they take
 * no memory, and their readers read the node that they come from. What is taken out of a tuple, or
 * out of a barrier around one, comes from what was put in. A part is an array or a table of
 * pointers that a node's result consists of. It either is the node's own, or it is forwarded: a
 * tuple, a barrier, or a loop's invariant holds a part of an operand. Parts that live all the time,
 * such as the entry's parameters and what shares memory with them, have no bytes here; they are in
 * `held_bytes`. A donated parameter that is copied before it is updated leaves its memory free in
 * between; it has its own bytes, and so has the result that takes its place.
 *
 * Example: p = f32[8] parameter(0), a = f32[8] negate(p), t = (f32[8], f32[8]) tuple(a, p),
 * ROOT g = f32[8] get-tuple-element(t), index=0 has the nodes p, a, t and the end. Part 0 of t is
 * its own table; parts 1 and 2 are forwarded from a and p. The end reads part 0 of a. */
#ifndef REMAT_HLO_REMAT_SEARCH_GRAPH_H
#define REMAT_HLO_REMAT_SEARCH_GRAPH_H

#include "remat/search/context.h"

typedef uint32_t NodeId; /* in the order in which the instructions run */

/* What a node reads by one operand: `num_parts` parts of a node from `first_part` on. */
typedef struct NodeOperand {
  NodeId node;
  uint32_t first_part, num_parts;
  bool is_copied; /* overwritten before it is read in the order given, so that it is copied there */
} NodeOperand;

/* An operand's part whose memory a part may take over if nobody reads it later. */
typedef struct NodeReuse {
  uint32_t operand, part;
  bool is_counted_twice; /* the model counts both parts while the memory is handed over */
} NodeReuse;

typedef struct NodePart {
  int64_t bytes;    /* 0 for a part that is forwarded, or that lives all the time */
  uint32_t operand; /* forwarded from part `of_operand` of this operand; NO_ID = its own */
  uint32_t of_operand;
  uint32_t first_reuse, num_reuses; /* in order of preference */
  NodeId overwriter; /* the node that takes the part's memory, so that it must not be read from
                        there on; NO_ID = none */
} NodePart;

enum {
  NODE_CAN_CLONE = 1 << 0,   /* may be computed a second time, or at another place */
  NODE_IS_FIXED = 1 << 1,    /* stays where it is, relative to others that stay */
  NODE_IS_GIVEN = 1 << 2,    /* a parameter or a constant */
  NODE_IS_TUPLE = 1 << 3,    /* only bundles operands; goes to its first reader */
  NODE_GOES_LATE = 1 << 13,  /* goes to its first reader, too: running early, it frees no memory */
  NODE_IS_SOURCE = 1 << 5,   /* cheap to compute from what is given, and nothing overwrites that */
  NODE_IS_BYPASSED = 1 << 6, /* a tuple of which everything is taken out again: it need not run */
  NODE_IS_LEGAL = 1 << 7,    /* legality lets it run again, even if lines may not do so */
  NODE_CAN_SHRINK = 1 << 8,  /* a fusion of several results: those that nobody reads go away */
  NODE_IS_END = 1 << 4,      /* reads what the computation returns; has no instruction */
  NODE_IN_PLACE = 1 << 10,   /* writes into the memory of what it reads */
  NODE_IS_PRIVATE = 1 << 11, /* only one node reads it, once, and overwrites it: each run of that
                                node needs a run of its own to read */
  NODE_IS_LOOP = 1 << 12,    /* all of a loop, which runs computations */
  NODE_IS_FORM = 1 << 9,     /* a copy into another form, or back: lines need not have it */
};

typedef struct SearchNode {
  InstId inst; /* NO_ID for the end */
  uint32_t first_operand, num_operands;
  uint32_t first_part, num_parts;
  uint32_t first_wait, num_waits; /* nodes that must run before, apart from operands */
  double seconds;                 /* modelled, of one run; of a loop, with all of its iterations */
  int64_t inner_bytes;            /* memory that its called computations need beside all this */
  int64_t twice_bytes;            /* of parts without bytes that the model counts twice here */
  unsigned flags;                 /* NODE_… */
} SearchNode;

/* Why an instruction must keep its order against one that it neither reads nor is read by: both use
 * memory that several values share. */
typedef enum NodeTie {
  TIE_NONE,
  TIE_LOOP,     /* a loop carries what is in the memory */
  TIE_BRANCH,   /* a conditional returns it */
  TIE_DONATED,  /* it is that of a parameter, and of a result */
  TIE_IN_PLACE, /* it is updated in place */
  NUM_TIES,
} NodeTie;

/* Another form in which a value can be kept while nobody reads it (forms.h). A copy there and one
 * back are two nodes of their own; what the second one makes is the value again. */
typedef struct NodeForm {
  NodeId value;                       /* the node that computes it */
  ShapeId shape;                      /* in the other form */
  double there_seconds, back_seconds; /* of the copies; over the link, beside other steps, if it is
                                         on the host */
  bool is_on_host;
  uint32_t next; /* of the same value; NO_ID = none */
} NodeForm;

/* An instruction of the computation. */
typedef struct NodeInst {
  NodeId node;   /* itself, or what a view comes from; NO_ID = it does not run */
  NodeId home;   /* for a view, the node after which it stands: the tuple or barrier that it takes
                    something out of, or what it comes from */
  InstId put_in; /* for a get-tuple-element of a tuple, or of a barrier around a tuple, what was put
                    in there; NO_ID for others */
} NodeInst;

typedef struct SearchGraph {
  CompId comp;
  const RematParameters *parameters; /* of the job */
  SearchNode *nodes; /* the last one is the end; copies into other forms come after it */
  uint32_t num_nodes;
  NodeId
      first_form; /* the copies of form i are the nodes first_form + 2 * i and the one after it */
  VEC(NodeForm) forms;
  uint32_t *form_of;  /* by node before first_form: its first form, NO_ID = none; NULL = no node has
                         any */
  bool has_host_form; /* some value can be kept on the host */
  bool has_overwriters; /* of some part */
  VEC(NodeOperand) operands;
  VEC(NodePart) parts;
  VEC(NodeReuse) reuses;
  VEC(NodeId) waits;
  double seconds_per_byte; /* that a clone writes, at least */
  int64_t held_bytes; /* of the entry: what lives all the time; of others, their callers count it */
  bool has_given_bytes;     /* some parameter does not live all the time */
  uint8_t *tie_of;          /* by node: NodeTie, the first that applies */
  const uint32_t *place_of; /* by InstId, of the module: see SearchContext */
  NodeInst *insts;          /* by place, of the computation's instructions */
} SearchGraph;

/* What the graph says of an instruction of its computation. */
static inline NodeInst *node_inst(const SearchGraph *graph, InstId id) {
  return &graph->insts[graph->place_of[id]];
}

static inline const NodeOperand *node_operand(const SearchGraph *graph, NodeId node, uint32_t i) {
  return &graph->operands.data[graph->nodes[node].first_operand + i];
}
static inline const NodePart *node_part(const SearchGraph *graph, NodeId node, uint32_t i) {
  return &graph->parts.data[graph->nodes[node].first_part + i];
}

/* The form that a node copies into, or back from; NULL for other nodes. */
static inline const NodeForm *node_form(const SearchGraph *graph, NodeId node) {
  bool is_form = graph->nodes[node].flags & NODE_IS_FORM;
  return is_form ? &graph->forms.data[(node - graph->first_form) / 2] : NULL;
}
static inline NodeId form_there(const SearchGraph *graph, uint32_t form) {
  return graph->first_form + 2 * form;
}
static inline NodeId form_back(const SearchGraph *graph, uint32_t form) {
  return graph->first_form + 2 * form + 1;
}
static inline bool node_is_back(const SearchGraph *graph, NodeId node) {
  return graph->nodes[node].flags & NODE_IS_FORM && (node - graph->first_form) % 2 == 1;
}

/* The node whose value a run of `node` provides: for a copy back, the one that was copied. */
static inline NodeId node_value(const SearchGraph *graph, NodeId node) {
  return node_is_back(graph, node) ? node_form(graph, node)->value : node;
}

/* The same graph, in which no loop runs again; `graph` itself if none can. A line of it becomes a
 * line of `graph` if its `graph` is set to that. */
const SearchGraph *search_graph_without_loops(const SearchGraph *graph, Arena *out);

/* Builds the graph of one computation in the order of the job's schedule. The nodes' order is
 * valid: operands and waits come before. O(parts of all operands). */
SearchGraph search_graph_build(const SearchContext *context, CompId comp, Arena *out,
                               Arena *scratch);

#endif
