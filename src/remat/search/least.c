#include "remat/search/least.h"

typedef struct Least {
  const Line *line;
  const SearchGraph *graph;
  LineMemory memory;
  const StepId *owner_of; /* by part of the line */
  StepId *seen_at;        /* by part of the line: the last step that counted it */
} Least;

/* By step: whether every line runs its node, because it must, or because such a node reads it. */
static bool *find_needed(const Line *line, Arena *out) {
  enum { CAN_BE_MISSING = NODE_CAN_CLONE | NODE_IS_BYPASSED | NODE_IS_FORM };
  bool *is_needed = arena_zarray(out, bool, line->len);
  for (StepId step = line->len; step-- > 0;) {
    is_needed[step] |= !(line->graph->nodes[line->nodes[step]].flags & CAN_BE_MISSING);
    for (uint32_t i = line->first_source[step]; is_needed[step] && i < line->first_source[step + 1];
         i++)
      is_needed[line->sources[i]] = true;
  }
  return is_needed;
}

/* Bytes of the memory that a part of the line lies in. */
static int64_t root_bytes(const Least *least, uint32_t part) {
  uint32_t root = least->memory.root_of[part];
  return line_part_bytes(least->line, least->owner_of[root], root);
}

static int64_t operand_bytes(const Least *least, StepId step) {
  const SearchNode *node = &least->graph->nodes[least->line->nodes[step]];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    uint32_t count = node_operand(least->graph, least->line->nodes[step], i)->num_parts;
    for (uint32_t k = 0; k < count; k++) {
      uint32_t part = line_read_part(least->line, step, i, k);
      StepId *seen_at = &least->seen_at[least->memory.root_of[part]];
      if (*seen_at == step) continue;
      *seen_at = step;
      bytes += root_bytes(least, part);
    }
  }
  return bytes;
}

/* What the results need beside the operands, if each takes over the largest memory that it may. */
static int64_t result_bytes(const Least *least, StepId step) {
  const SearchNode *node = &least->graph->nodes[least->line->nodes[step]];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < node->num_parts && !(node->flags & NODE_IS_GIVEN); i++) {
    const NodePart *part = node_part(least->graph, least->line->nodes[step], i);
    int64_t taken = 0;
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      NodeReuse reuse = least->graph->reuses.data[part->first_reuse + k];
      uint32_t read = line_read_part(least->line, step, reuse.operand, reuse.part);
      int64_t own = root_bytes(least, read);
      if (own > taken) taken = own;
    }
    if (part->bytes > taken) bytes += part->bytes - taken;
  }
  return bytes;
}

int64_t line_least_bytes(const Line *given, Arena *scratch) {
  const SearchGraph *graph = given->graph;
  if (graph->form_of) return 0;
  Arena *arena = arena_new(arena_options(scratch));
  uint32_t num_parts = line_num_parts(given);
  Least least = {.line = given,
                 .graph = graph,
                 .memory = line_measure(given, arena),
                 .owner_of = line_owners(given, arena),
                 .seen_at = arena_array(arena, StepId, num_parts)};
  if (num_parts) memset(least.seen_at, 0xff, num_parts * sizeof *least.seen_at);
  const bool *is_needed = find_needed(given, arena);
  int64_t most_bytes = 0;
  for (StepId step = 0; step < given->len; step++) {
    if (!is_needed[step]) continue;
    const SearchNode *node = &graph->nodes[given->nodes[step]];
    int64_t beside = node->twice_bytes > node->inner_bytes ? node->twice_bytes : node->inner_bytes;
    int64_t bytes = beside + operand_bytes(&least, step) + result_bytes(&least, step);
    if (bytes > most_bytes) most_bytes = bytes;
  }
  arena_free(arena);
  return graph->held_bytes + most_bytes;
}
