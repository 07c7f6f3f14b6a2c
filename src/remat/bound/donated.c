/* Donated parameters and the outputs that take over their memory; the paths between them. */
#include <string.h>

#include "remat/bound/lower_bound_internal.h"

/* Buffers that the search for one path visits at most. An optimizer computes a parameter's new
 * value from it in a few steps. */
enum { MAX_VISITED = 64 };

typedef struct PathSearch {
  Bound *bound;
  const Donation *donation;
  bool *is_claimed; /* by LogicalId: it is on the path of a donation, or a donated parameter */
  LogicalId visited[MAX_VISITED];
  uint32_t from[MAX_VISITED]; /* index of the buffer that is computed from it */
  uint32_t len;
} PathSearch;

/* What runs only once is held for its own sake. Whether what defines a buffer can be on a path.
 * What a loop or a call hands through, rewrites can go around. */
static bool is_step(const Bound *bound, InstId id) {
  const Instruction *inst = inst_get(bound->module, id);
  bool has_known_users =
      !fusion_bundles_results(bound->module, id) || bundles_has(&bound->bundles, id);
  return bound->is_needed[id] && bound_waits(bound, id) && has_known_users &&
         !opcode_is_control_flow((Opcode)inst->opcode);
}

/* Adds the buffers that a visited one is computed from. Returns whether the parameter is one. */
static bool expand(PathSearch *search, uint32_t at) {
  const Bound *bound = search->bound;
  const Module *module = bound->module;
  LogicalId id = search->visited[at];
  InstId inst = bound->points_to.buffers.data[id].inst;
  if (!is_step(bound, inst)) return false;
  for (uint32_t i = 0; i < inst_get(module, inst)->num_operands; i++) {
    InstId operand = inst_operand(module, inst, i);
    if (!bound_is_among(bound, id, bound_holders(bound, inst, i))) continue;
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      LogicalId next = points_to_part(&bound->points_to, operand, part);
      const LogicalBuffer *buffer = &bound->points_to.buffers.data[next];
      bool is_end = next == search->donation->param;
      bool is_open = buffer->bytes >= search->donation->bytes && !bound_is_table(bound, next) &&
                     !bound_is_given(bound, buffer) && !bound_runs_once(bound, buffer->inst) &&
                     !search->is_claimed[bound_buffer(bound, operand, part)];
      if ((!is_end && !is_open) || !bound_is_used_by(bound, operand, part, inst)) continue;
      if (is_end) return true;
      bool is_new = search->len < MAX_VISITED;
      for (uint32_t k = 0; k < search->len && is_new; k++)
        is_new = search->visited[k] != next;
      if (!is_new) continue;
      search->visited[search->len] = next;
      search->from[search->len++] = at;
    }
  }
  return false;
}

static LogicalId representative(const Bound *bound, LogicalId id) {
  const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
  return bound_buffer(bound, buffer->inst, buffer->part);
}

/* Breadth first, so that paths are short and leave much to others. */
static void find_path(Bound *bound, Donation *donation, LogicalId output, bool *is_claimed) {
  PathSearch search = {.bound = bound, .donation = donation, .is_claimed = is_claimed};
  Donations *donations = &bound->donations;
  donation->first = donation->end = donations->paths.len;
  bool is_same = output == donation->param, is_found = is_same;
  uint32_t at = 0;
  search.visited[search.len++] = output;
  for (; !is_found && at < search.len; at++)
    is_found = expand(&search, at);
  if (!is_found) return;
  *vec_push(bound->arena, &donations->paths) = donation->param;
  for (at = is_same ? 0 : at - 1; at > 0; at = search.from[at]) {
    LogicalId id = representative(bound, search.visited[at]);
    *vec_push(bound->arena, &donations->paths) = id;
    is_claimed[id] = true;
  }
  donation->end = donations->paths.len;
}

void bound_find_donations(Bound *bound) {
  const Module *module = bound->module;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  const Shape *result = inst_shape(module, entry->root);
  Donations *donations = &bound->donations;
  bool *is_claimed = arena_zarray(bound->arena, bool, bound->points_to.buffers.len);
  VEC(LogicalId) outputs = {0};
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID || alias->output_part >= result->num_parts) continue;
    InstId inst = id_list(module, entry->params)[alias->param];
    LogicalId param = points_to_part(&bound->points_to, inst, alias->param_part);
    LogicalId output = points_to_part(&bound->points_to, entry->root, alias->output_part);
    if (is_claimed[param] || bound_is_table(bound, param)) continue;
    ShapeId shape =
        shape_part(&module->shapes, inst_get(module, entry->root)->shape, alias->output_part);
    int64_t given = bound->points_to.buffers.data[param].bytes;
    int64_t taken = plain_sizes.of_part(module, shape);
    is_claimed[param] = true;
    bound->entry_bytes[param] = given < taken ? given : taken;
    *vec_push(bound->arena, &donations->list) =
        (Donation){.param = param, .bytes = bound->entry_bytes[param]};
    *vec_push(bound->arena, &outputs) = output;
  }
  for (uint32_t i = 0; i < donations->list.len; i++) {
    LogicalId param = donations->list.data[i].param;
    LogicalId root = representative(bound, outputs.data[i]);
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[root];
    bool has_own = !bound_is_given(bound, buffer) && !bound->is_opaque[root];
    if (root != param && has_own) bound->same_as[root] = param;
  }
  for (uint32_t i = 0; i < donations->list.len; i++) {
    Donation *donation = &donations->list.data[i];
    LogicalId output = outputs.data[i];
    if (representative(bound, output) == donation->param)
      find_path(bound, donation, output, is_claimed);
  }
}
