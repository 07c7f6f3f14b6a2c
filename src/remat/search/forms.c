#include "remat/search/forms.h"

#include "ir/infer/infer_shape.h"
#include "remat/search/line.h"

/* ---- which forms a value has ---- */

typedef struct Former {
  SearchGraph *graph;
  const SearchContext *context;
  CompactShapes *shapes;
  const RematJob *job;
  Module *module;
  bool *is_live_out; /* by node: the end reads it */
  Arena *out, *scratch;
} Former;

/* What is a copy into another form, or has one already, stays as it is. */
static bool is_formed(const Former *former, InstId id) {
  const InstMap *copied_from = &former->job->rewrite->copied_from;
  if (id < copied_from->len && copied_from->data[id] != NO_ID) return true;
  for (uint32_t i = 0; i < inst_get(former->module, id)->users.len; i++) {
    InstId user = inst_users(former->module, id)[i];
    if (user < copied_from->len && copied_from->data[user] == id) return true;
  }
  return false;
}

static bool may_form(const Former *former, NodeId number) {
  const SearchGraph *graph = former->graph;
  const SearchNode *node = &graph->nodes[number];
  if (node->flags & (NODE_IS_GIVEN | NODE_IS_END | NODE_IS_BYPASSED)) return false;
  if (node->num_parts != 1 || former->is_live_out[number]) return false;
  const NodePart *part = node_part(graph, number, 0);
  int64_t least_bytes = former->job->options->min_remat_bytes;
  if (part->bytes == 0 || part->bytes < least_bytes) return false;
  if (part->operand != NO_ID || part->overwriter != NO_ID) return false;
  const ValueAnalysis *values = &former->context->values;
  BufferId buffer = values->buffers.of[dataflow_value(&values->flow, node->inst, 0)];
  if (!hlo_buffer_is_alone(&values->buffers, buffer)) return false;
  if (!shape_is_array(inst_shape(former->module, node->inst))) return false;
  return compress_is_legal(recompute_verdict(former->job->legality, node->inst)) &&
         !is_formed(former, node->inst);
}

/* ---- nodes ---- */

/* A copy: a node that reads one part, and makes one of `bytes`. */
static SearchNode new_node(Former *former, InstId inst, NodeId read, double seconds, int64_t bytes,
                           bool is_on_host) {
  SearchGraph *graph = former->graph;
  unsigned flags = NODE_IS_FORM | NODE_IS_LEGAL | (is_on_host ? NODE_IS_FIXED : NODE_CAN_CLONE);
  SearchNode node = {.inst = inst,
                     .first_operand = graph->operands.len,
                     .num_operands = 1,
                     .first_part = graph->parts.len,
                     .num_parts = 1,
                     .first_wait = graph->waits.len,
                     .seconds = is_on_host ? 0 : seconds,
                     .flags = flags};
  *vec_push(former->out, &graph->operands) = (NodeOperand){.node = read, .num_parts = 1};
  *vec_push(former->out, &graph->parts) =
      (NodePart){.bytes = bytes, .operand = NO_ID, .overwriter = NO_ID};
  return node;
}

static void add_form(Former *former, NodeId value, NodeForm form) {
  SearchGraph *graph = former->graph;
  form.value = value;
  form.next = graph->form_of[value];
  graph->form_of[value] = graph->forms.len;
  *vec_push(former->out, &graph->forms) = form;
}

static void add_compact(Former *former, NodeId number) {
  const DeviceProfile *device = &former->context->device;
  const SearchNode *node = &former->graph->nodes[number];
  ShapeId shape = inst_get(former->module, node->inst)->shape;
  ShapeId compact = compact_shape_of(former->shapes, node->inst);
  int64_t bytes = node_part(former->graph, number, 0)->bytes;
  int64_t compact_bytes = former->shapes->sizes->of_part(former->module, compact);
  if (compact == shape || compact_bytes >= bytes) return;
  double seconds =
      device->kernel_seconds + (double)(bytes + compact_bytes) / device->memory_bandwidth;
  add_form(former, number,
           (NodeForm){.shape = compact, .there_seconds = seconds, .back_seconds = seconds});
}

static void add_on_host(Former *former, NodeId number) {
  const DeviceProfile *device = &former->context->device;
  Module *module = former->module;
  ShapeId shape = inst_get(module, former->graph->nodes[number].inst)->shape;
  double bytes = (double)node_part(former->graph, number, 0)->bytes;
  /* a copy-start has this shape in its tuple */
  if (!infer_shape_is_valid(module, shape, NULL, former->scratch)) return;
  add_form(former, number,
           (NodeForm){.shape = shape_in_memory_space(&module->shapes, shape, HOST_MEMORY_SPACE),
                      .there_seconds = device->kernel_seconds + bytes / device->device_to_host,
                      .back_seconds = device->kernel_seconds + bytes / device->host_to_device,
                      .is_on_host = true});
  former->graph->has_host_form = true;
}

static void add_nodes(Former *former) {
  SearchGraph *graph = former->graph;
  uint32_t num_nodes = graph->num_nodes + 2 * graph->forms.len;
  SearchNode *nodes = arena_array(former->out, SearchNode, num_nodes);
  memcpy(nodes, graph->nodes, graph->num_nodes * sizeof *nodes);
  for (uint32_t i = 0; i < graph->forms.len; i++) {
    const NodeForm *form = &graph->forms.data[i];
    InstId inst = nodes[form->value].inst;
    int64_t bytes =
        form->is_on_host ? 0 : former->shapes->sizes->of_part(former->module, form->shape);
    nodes[form_there(graph, i)] =
        new_node(former, inst, form->value, form->there_seconds, bytes, form->is_on_host);
    bytes = node_part(graph, form->value, 0)->bytes;
    nodes[form_back(graph, i)] =
        new_node(former, inst, form_there(graph, i), form->back_seconds, bytes, form->is_on_host);
  }
  graph->nodes = nodes;
  graph->num_nodes = num_nodes;
}

/* What the computation returns: it lives until the end. */
static bool *find_live_out(const SearchGraph *graph, Arena *out, Arena *scratch) {
  bool *is_live_out = arena_zarray(out, bool, graph->num_nodes);
  Line line = line_of_graph(graph, scratch);
  LineMemory memory = line_measure(&line, scratch);
  for (StepId step = 0; step < line.len; step++) {
    for (uint32_t part = line.first_part[step]; part < line.first_part[step + 1]; part++)
      is_live_out[line.nodes[step]] |= memory.last_of[part] + 1 == line.len;
  }
  return is_live_out;
}

void search_graph_add_forms(SearchGraph *graph, const SearchContext *context, CompactShapes *shapes,
                            Arena *out, Arena *scratch) {
  const RematJob *job = context->job;
  Module *module = job->rewrite->module;
  Arena *inner = arena_new(arena_options(scratch));
  Former former = {.graph = graph,
                   .context = context,
                   .shapes = shapes,
                   .job = job,
                   .module = module,
                   .is_live_out = find_live_out(graph, inner, inner),
                   .out = out,
                   .scratch = inner};
  unsigned modes = job->modes;
  bool is_on_main = str_is(comp_get(module, graph->comp)->thread, "main");
  graph->form_of = arena_array(out, uint32_t, graph->num_nodes);
  memset(graph->form_of, 0xff, graph->num_nodes * sizeof *graph->form_of);
  for (NodeId node = 0; is_on_main && node < graph->num_nodes; node++) {
    if (!may_form(&former, node)) continue;
    if (modes & RH_REMAT_OFFLOAD && job->device) add_on_host(&former, node);
    if (modes & (RH_REMAT_COMPRESS | RH_REMAT_NARROW)) add_compact(&former, node);
  }
  if (graph->forms.len) {
    add_nodes(&former);
  } else {
    graph->form_of = NULL;
  }
  arena_free(inner);
}

/* ---- instructions ---- */

FormCopy form_copy_there(Rewrite *rewrite, const NodeForm *form, InstId of, Arena *scratch) {
  if (!form->is_on_host)
    return (FormCopy){NO_ID,
                      rewrite_add_copy(rewrite, of, form->shape, of, "remat_compressed", scratch)};
  InstId start = rewrite_add_copy_start(rewrite, of, form->shape, of);
  return (FormCopy){start, rewrite_add_copy_done(rewrite, start, of)};
}

FormCopy form_copy_back(Rewrite *rewrite, const NodeForm *form, InstId of, InstId original,
                        Arena *scratch) {
  ShapeId shape = inst_get(rewrite->module, original)->shape;
  if (!form->is_on_host)
    return (FormCopy){
        NO_ID, rewrite_add_copy(rewrite, of, shape, original, "remat_uncompressed", scratch)};
  InstId start = rewrite_add_copy_start(rewrite, of, shape, original);
  return (FormCopy){start, rewrite_add_copy_done(rewrite, start, original)};
}
