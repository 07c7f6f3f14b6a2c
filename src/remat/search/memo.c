#include "remat/search/memo.h"

enum {
  /* A search gives some of its parts half of the steps that are left, so that none of them was
   * short of steps if all have spent less than a third of them. */
  ENOUGH = 3,
};

struct MemoLine {
  MemoQuery query;
  PricedLine best;
  OtherLines others;
  uint64_t num_spent;
};

SearchMemo *search_memo_new(uint64_t most_kept, Arena *arena) {
  SearchMemo *memo = arena_zalloc(arena, sizeof *memo);
  memo->arena = arena;
  memo->most_kept = most_kept;
  return memo;
}

/* ---- queries ---- */

static uint64_t mix_double(uint64_t hash, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return hash_mix(hash, bits);
}

static uint64_t mix_pair(uint64_t hash, uint32_t a, uint32_t b) {
  return hash_mix(hash, (uint64_t)a << 32 | b);
}

static uint64_t mix_node(uint64_t hash, const SearchNode *node) {
  hash = mix_pair(hash, node->num_operands, node->num_parts);
  hash = mix_pair(hash, node->num_waits, node->flags);
  hash = mix_double(hash, node->seconds);
  hash = hash_mix(hash, (uint64_t)node->inner_bytes);
  return hash_mix(hash, (uint64_t)node->twice_bytes);
}

static uint64_t mix_part(uint64_t hash, const NodePart *part) {
  hash = hash_mix(hash, (uint64_t)part->bytes);
  hash = mix_pair(hash, part->operand, part->of_operand);
  return mix_pair(hash, part->num_reuses, part->overwriter);
}

static uint64_t mix_graph(uint64_t hash, const SearchGraph *graph) {
  for (NodeId node = 0; node < graph->num_nodes; node++)
    hash = mix_node(hash, &graph->nodes[node]);
  for (uint32_t i = 0; i < graph->operands.len; i++) {
    const NodeOperand *operand = &graph->operands.data[i];
    hash = mix_pair(hash, operand->node, operand->is_copied);
    hash = mix_pair(hash, operand->first_part, operand->num_parts);
  }
  for (uint32_t i = 0; i < graph->parts.len; i++)
    hash = mix_part(hash, &graph->parts.data[i]);
  for (uint32_t i = 0; i < graph->reuses.len; i++) {
    const NodeReuse *reuse = &graph->reuses.data[i];
    hash = mix_pair(hash, reuse->operand, reuse->part);
    hash = hash_mix(hash, reuse->is_counted_twice);
  }
  for (uint32_t i = 0; i < graph->waits.len; i++)
    hash = hash_mix(hash, graph->waits.data[i]);
  hash = mix_double(hash, graph->seconds_per_byte);
  hash = hash_mix(hash, (uint64_t)graph->held_bytes);
  return mix_pair(hash, graph->has_given_bytes, graph->has_overwriters);
}

static uint64_t mix_line(uint64_t hash, const Line *line) {
  hash = hash_mix(hash, line->len);
  for (StepId step = 0; step < line->len; step++)
    hash = hash_mix(hash, line->nodes[step]);
  for (uint32_t i = 0; i < line->first_source[line->len]; i++)
    hash = hash_mix(hash, line->sources[i]);
  return hash;
}

MemoQuery search_memo_query(const Line *given, int64_t limit_bytes, const SearchRules *rules) {
  MemoQuery query = {.limit_bytes = limit_bytes,
                     .is_thorough = rules->is_thorough,
                     .keeps_order = rules->keeps_order};
  for (uint64_t i = 0; i < 2; i++)
    query.hash[i] = mix_line(mix_graph(HASH_SEED + i, given->graph), given);
  return query;
}

static bool is_same(const MemoQuery *a, const MemoQuery *b) {
  return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] && a->limit_bytes == b->limit_bytes &&
         a->is_thorough == b->is_thorough && a->keeps_order == b->keeps_order;
}

/* ---- lines ---- */

/* `graph` is the line's own, or the same one, built again. */
static PricedLine copied(const PricedLine *priced, const SearchGraph *graph, Arena *out) {
  PricedLine copy = *priced;
  copy.line.graph = graph;
  copy.line = line_copy(&copy.line, out);
  return copy;
}

static void copy_others(const OtherLines *others, const SearchGraph *graph, OtherLines *copies,
                        Arena *out) {
  copies->len = others->len;
  for (uint32_t i = 0; i < others->len; i++)
    copies->list[i] = copied(&others->list[i], graph, out);
}

static uint64_t size_of(const Line *line) {
  return (uint64_t)line->len + line->first_source[line->len];
}

bool search_memo_find(const SearchMemo *memo, const MemoQuery *query, const SearchGraph *graph,
                      Patience *patience, PricedLine *best, OtherLines *others, Arena *out) {
  uint64_t num_steps = patience_steps_left(patience);
  uint32_t number;
  for (IdProbe probe = id_table_probe(&memo->of_query, query->hash[0]);
       id_probe_next(&probe, &number);) {
    const MemoLine *known = &memo->list.data[number];
    if (!is_same(&known->query, query)) continue;
    if (known->num_spent >= num_steps / ENOUGH) continue;
    *best = copied(&known->best, graph, out);
    if (others) copy_others(&known->others, graph, others, out);
    (void)patience_spend(patience, known->num_spent);
    return true;
  }
  return false;
}

void search_memo_add(SearchMemo *memo, const MemoQuery *query, const PricedLine *best,
                     const OtherLines *others, uint64_t num_steps, uint64_t num_spent) {
  uint64_t size = size_of(&best->line);
  for (uint32_t i = 0; i < others->len; i++)
    size += size_of(&others->list[i].line);
  bool had_enough = num_spent < num_steps / ENOUGH;
  if (!had_enough || size > memo->most_kept - memo->num_kept) return;
  memo->num_kept += size;
  const SearchGraph *graph = best->line.graph; /* it goes before the memo does */
  (void)id_table_add(&memo->of_query, memo->arena, query->hash[0], memo->list.len);
  MemoLine *line = vec_push(memo->arena, &memo->list);
  *line =
      (MemoLine){.query = *query, .best = copied(best, graph, memo->arena), .num_spent = num_spent};
  copy_others(others, graph, &line->others, memo->arena);
}
