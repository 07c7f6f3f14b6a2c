#include "remat/search/memo.h"

enum {
  /* A search gives some of its parts half of the steps that are left, so that none of them was
   * short of steps if all have spent less than a third of them. */
  ENOUGH = 3,
};

struct MemoLine {
  MemoQuery query;
  FoundLines found;
  uint64_t num_spent;
};

SearchMemo *search_memo_new(uint64_t most_kept, Arena *arena) {
  SearchMemo *memo = arena_zalloc(arena, sizeof *memo);
  memo->arena = arena;
  memo->most_kept = most_kept;
  return memo;
}

/* ---- queries ---- */

/* Two hashes of the same, made in one walk. */
typedef struct Hashes {
  uint64_t of[2];
} Hashes;

static void mix(Hashes *hashes, uint64_t value) {
  for (int i = 0; i < 2; i++)
    hashes->of[i] = hash_mix(hashes->of[i], value);
}

static void mix_double(Hashes *hashes, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  mix(hashes, bits);
}

static void mix_pair(Hashes *hashes, uint32_t a, uint32_t b) {
  mix(hashes, (uint64_t)a << 32 | b);
}

static void mix_node(Hashes *hashes, const SearchNode *node) {
  mix_pair(hashes, node->num_operands, node->num_parts);
  mix_pair(hashes, node->num_waits, node->flags);
  mix_double(hashes, node->seconds);
  mix(hashes, (uint64_t)node->inner_bytes);
  mix(hashes, (uint64_t)node->twice_bytes);
}

static void mix_part(Hashes *hashes, const NodePart *part) {
  mix(hashes, (uint64_t)part->bytes);
  mix_pair(hashes, part->operand, part->of_operand);
  mix_pair(hashes, part->num_reuses, part->overwriter);
}

static void mix_graph(Hashes *hashes, const SearchGraph *graph) {
  for (NodeId node = 0; node < graph->num_nodes; node++)
    mix_node(hashes, &graph->nodes[node]);
  for (uint32_t i = 0; i < graph->operands.len; i++) {
    const NodeOperand *operand = &graph->operands.data[i];
    mix_pair(hashes, operand->node, operand->is_copied);
    mix_pair(hashes, operand->first_part, operand->num_parts);
  }
  for (uint32_t i = 0; i < graph->parts.len; i++)
    mix_part(hashes, &graph->parts.data[i]);
  for (uint32_t i = 0; i < graph->reuses.len; i++) {
    const NodeReuse *reuse = &graph->reuses.data[i];
    mix_pair(hashes, reuse->operand, reuse->part);
    mix(hashes, reuse->is_counted_twice);
  }
  for (uint32_t i = 0; i < graph->waits.len; i++)
    mix(hashes, graph->waits.data[i]);
  mix_double(hashes, graph->seconds_per_byte);
  mix(hashes, (uint64_t)graph->held_bytes);
  mix_pair(hashes, graph->has_given_bytes, graph->has_overwriters);
}

static void mix_line(Hashes *hashes, const Line *line) {
  mix(hashes, line->len);
  for (StepId step = 0; step < line->len; step++)
    mix(hashes, line->nodes[step]);
  for (uint32_t i = 0; i < line->first_source[line->len]; i++)
    mix(hashes, line->sources[i]);
}

MemoQuery search_memo_query(const Line *given, int64_t limit_bytes, const SearchRules *rules) {
  Hashes hashes = {{HASH_SEED, HASH_SEED + 1}};
  mix_graph(&hashes, given->graph);
  mix_line(&hashes, given);
  return (MemoQuery){.hash = {hashes.of[0], hashes.of[1]},
                     .limit_bytes = limit_bytes,
                     .is_thorough = rules->is_thorough,
                     .keeps_order = rules->keeps_order};
}

static bool is_same(const MemoQuery *a, const MemoQuery *b) {
  return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] && a->limit_bytes == b->limit_bytes &&
         a->is_thorough == b->is_thorough && a->keeps_order == b->keeps_order;
}

/* ---- lines ---- */

/* `graph` is that of the lines, or the same one, built again. */
static FoundLines copied(const FoundLines *found, const SearchGraph *graph, Arena *out) {
  FoundLines copies = *found;
  for (uint32_t i = 0; i < copies.len; i++) {
    Line *line = &copies.list[i].line;
    line->graph = graph;
    *line = line_copy(line, out);
  }
  return copies;
}

static uint64_t size_of(const Line *line) {
  return (uint64_t)line->len + line->first_source[line->len];
}

bool search_memo_find(const SearchMemo *memo, const MemoQuery *query, const SearchGraph *graph,
                      Patience *patience, FoundLines *found, Arena *out) {
  uint64_t num_steps = patience_steps_left(patience);
  uint32_t number;
  for (IdProbe probe = id_table_probe(&memo->of_query, query->hash[0]);
       id_probe_next(&probe, &number);) {
    const MemoLine *known = &memo->list.data[number];
    if (!is_same(&known->query, query)) continue;
    if (known->num_spent >= num_steps / ENOUGH) continue;
    *found = copied(&known->found, graph, out);
    (void)patience_spend(patience, known->num_spent);
    return true;
  }
  return false;
}

void search_memo_add(SearchMemo *memo, const MemoQuery *query, const FoundLines *found,
                     uint64_t num_steps, uint64_t num_spent) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < found->len; i++)
    size += size_of(&found->list[i].line);
  bool had_enough = num_spent < num_steps / ENOUGH;
  if (!had_enough || size > memo->most_kept - memo->num_kept) return;
  memo->num_kept += size;
  const SearchGraph *graph = found_best(found)->line.graph; /* it goes before the memo does */
  (void)id_table_add(&memo->of_query, memo->arena, query->hash[0], memo->list.len);
  *vec_push(memo->arena, &memo->list) = (MemoLine){
      .query = *query, .found = copied(found, graph, memo->arena), .num_spent = num_spent};
}
