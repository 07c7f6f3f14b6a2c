/* The parts of the search, each one by itself. The graph of every computation is consistent. What
 * line_measure counts is what a slow count finds that keeps a list of all memory. Whatever hoists,
 * settles, puts off, prices or trims gives a line that is right, and what is claimed of it is what
 * is measured. A line that has been applied is a valid module of the same meaning, whose own graph
 * takes what the line takes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flow/copy_stage.h"
#include "interpret.h"
#include "ir/module_check.h"
#include "property.h"
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/forms.h"
#include "remat/search/hoist.h"
#include "remat/search/least.h"
#include "remat/search/mend.h"
#include "remat/search/post_order.h"
#include "remat/search/search.h"
#include "remat/search/trim.h"
#include "remat/search/updates.h"

/* ---- a slow recount ---- */

/* A piece of memory: it is there while the steps from `begin` to `end` run. */
typedef struct Piece {
  uint32_t part; /* whose it was at first */
  StepId begin, end, taken_at;
  int64_t bytes;
} Piece;

typedef struct Recount {
  const Line *line;
  StepId *owner; /* by part */
  StepId *last;  /* by part: NO_ID = not known yet */
  Piece *pieces; /* by part of the line that has memory */
  Arena *arena;
} Recount;

static uint32_t part_read(const Line *line, StepId step, uint32_t operand, uint32_t part) {
  StepId source = line->sources[line->first_source[step] + operand];
  return line->first_part[source] +
         node_operand(line->graph, line->nodes[step], operand)->first_part + part;
}

static const NodePart *part_of(const Recount *recount, uint32_t part) {
  StepId owner = recount->owner[part];
  return node_part(recount->line->graph, recount->line->nodes[owner],
                   part - recount->line->first_part[owner]);
}

/* The last step that reads a part, through whatever forwards it. */
static StepId last_read_of(Recount *recount, uint32_t part) {
  const Line *line = recount->line;
  if (recount->last[part] != NO_ID) return recount->last[part];
  StepId last = recount->owner[part];
  for (StepId step = recount->owner[part] + 1; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      uint32_t count = node_operand(line->graph, line->nodes[step], i)->num_parts;
      for (uint32_t k = 0; k < count; k++) {
        if (part_read(line, step, i, k) == part && step > last) last = step;
      }
    }
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *forwarded = node_part(line->graph, line->nodes[step], i);
      if (forwarded->operand == NO_ID) continue;
      if (part_read(line, step, forwarded->operand, forwarded->of_operand) != part) continue;
      StepId through = last_read_of(recount, line->first_part[step] + i);
      if (through > last) last = through;
    }
  }
  return recount->last[part] = last;
}

static uint32_t root_of(const Recount *recount, uint32_t part) {
  for (;;) {
    const NodePart *of = part_of(recount, part);
    if (of->operand == NO_ID) return part;
    part = part_read(recount->line, recount->owner[part], of->operand, of->of_operand);
  }
}

/* A part that the step makes takes over what an operand's part had, if nobody reads that later. */
static void make_piece(Recount *recount, StepId step, uint32_t part, int64_t *twice) {
  const Line *line = recount->line;
  const NodePart *of = part_of(recount, part);
  Piece *piece = &recount->pieces[part];
  *piece = (Piece){part, step, last_read_of(recount, part), NO_ID, of->bytes};
  for (uint32_t k = 0; k < of->num_reuses; k++) {
    NodeReuse reuse = line->graph->reuses.data[of->first_reuse + k];
    Piece *from =
        &recount->pieces[root_of(recount, part_read(line, step, reuse.operand, reuse.part))];
    if (from->bytes == 0 || from->taken_at != NO_ID || from->end != step) continue;
    from->taken_at = step;
    if (from->bytes > piece->bytes) piece->bytes = from->bytes;
    if (reuse.is_counted_twice) *twice += from->bytes;
    return;
  }
}

static int64_t bytes_at(const Recount *recount, StepId step) {
  int64_t sum = recount->line->graph->held_bytes;
  for (uint32_t part = 0; part < line_num_parts(recount->line); part++) {
    const Piece *piece = &recount->pieces[part];
    bool is_taken = piece->taken_at != NO_ID && piece->taken_at <= step;
    if (piece->bytes && piece->begin <= step && step <= piece->end && !is_taken)
      sum += piece->bytes;
  }
  return sum;
}

static void check_measure(const Line *line, const char *what, const Sample *sample) {
  Arena *arena = arena_new(NULL);
  LineMemory memory = line_measure(line, arena);
  uint32_t num_parts = line_num_parts(line);
  Recount recount = {.line = line,
                     .owner = arena_array(arena, StepId, num_parts),
                     .last = arena_array(arena, StepId, num_parts),
                     .pieces = arena_zarray(arena, Piece, num_parts),
                     .arena = arena};
  int64_t peak_bytes = 0;
  double seconds = 0;
  memset(recount.last, 0xff, num_parts * sizeof *recount.last);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      recount.owner[part] = step;
  }
  /* What is given is there before anything runs. */
  for (StepId step = 0; step < line->len; step++) {
    if (!(line->graph->nodes[line->nodes[step]].flags & NODE_IS_GIVEN)) continue;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      recount.pieces[part] =
          (Piece){part, 0, last_read_of(&recount, part), NO_ID, part_of(&recount, part)->bytes};
  }
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    int64_t twice = node->twice_bytes;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      ck_assert_msg(memory.last_of[part] == last_read_of(&recount, part) &&
                        memory.root_of[part] == root_of(&recount, part),
                    "%s: part %u of step %u is read last at %u, not %u\n%s", what, part, step,
                    memory.last_of[part], last_read_of(&recount, part), sample_shown(sample));
      bool is_given = node->flags & NODE_IS_GIVEN;
      if (!is_given && part_of(&recount, part)->bytes) make_piece(&recount, step, part, &twice);
    }
    int64_t bytes = bytes_at(&recount, step);
    bytes += twice > node->inner_bytes ? twice : node->inner_bytes;
    ck_assert_msg(memory.bytes_at[step] == bytes,
                  "%s: %" PRId64 " bytes at %u, not %" PRId64 "\n%s", what, memory.bytes_at[step],
                  step, bytes, sample_shown(sample));
    if (bytes > peak_bytes) peak_bytes = bytes;
    seconds += node->seconds;
  }
  ck_assert_msg(memory.peak_bytes == peak_bytes, "%s: a peak of %" PRId64 ", not %" PRId64 "\n%s",
                what, memory.peak_bytes, peak_bytes, sample_shown(sample));
  ck_assert(memory.seconds == seconds);
  arena_free(arena);
}

/* ---- lines ---- */

/* The module whose lines are checked, for messages. Each test runs in a process of its own. */
static const Module *shown_module;

/* The instruction that a node is, for messages. */
static const char *name_of(const Line *line, NodeId node, Arena *arena) {
  InstId id = line->graph->nodes[node].inst;
  return id == NO_ID ? "the end" : names_of(shown_module, &id, 1, arena);
}

static bool step_reads_root(const Recount *recount, StepId step, uint32_t root) {
  const Line *line = recount->line;
  for (uint32_t i = 0; i < line->graph->nodes[line->nodes[step]].num_operands; i++) {
    for (uint32_t k = 0; k < node_operand(line->graph, line->nodes[step], i)->num_parts; k++) {
      if (root_of(recount, part_read(line, step, i, k)) == root) return true;
    }
  }
  return false;
}

/* The step that overwrites a part with memory of its own: the part's overwriter takes the memory of
 * the run that it reads, or, if it reads none, that of the first one. */
static StepId overwriting_step(const Recount *recount, const StepId *first, uint32_t root) {
  const Line *line = recount->line;
  NodeId overwriter = part_of(recount, root)->overwriter, node = line->nodes[recount->owner[root]];
  if (overwriter == NO_ID || first[overwriter] == NO_ID) return NO_ID;
  for (StepId step = 0; step < line->len; step++) {
    if (line->nodes[step] == overwriter && step_reads_root(recount, step, root)) return step;
  }
  uint32_t index = root - line->first_part[recount->owner[root]];
  for (StepId step = 0; step < line->len; step++) {
    if (line->nodes[step] == node &&
        step_reads_root(recount, first[overwriter], line->first_part[step] + index))
      return NO_ID;
  }
  return first[node] == recount->owner[root] ? first[overwriter] : NO_ID;
}

/* Why a line is wrong, found by looking at all pairs; NULL if it is right. */
static const char *wrong_line(const Line *line, Arena *arena) {
  const SearchGraph *graph = line->graph;
  StepId *first = arena_array(arena, StepId, graph->num_nodes);
  StepId *owner = arena_array(arena, StepId, line_num_parts(line));
  Recount recount = {.line = line, .owner = owner, .arena = arena};
  for (NodeId node = 0; node < graph->num_nodes; node++)
    first[node] = NO_ID;
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    if (first[node] != NO_ID && !(graph->nodes[node].flags & NODE_CAN_CLONE))
      return "what must not be cloned runs twice";
    if (first[node] == NO_ID) first[node] = step;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      owner[part] = step;
  }
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    unsigned flags = graph->nodes[node].flags;
    if (first[node] == NO_ID && !(flags & (NODE_CAN_CLONE | NODE_IS_BYPASSED)))

      return arena_printf(arena, "%s does not run", name_of(line, node, arena));
  }
  for (StepId step = 0; step < line->len; step++) {
    NodeId number = line->nodes[step];
    const SearchNode *node = &graph->nodes[number];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      const NodeOperand *operand = node_operand(graph, number, i);
      StepId source = line->sources[line->first_source[step] + i];
      if (source >= step)
        return arena_printf(arena, "step %u, %s, runs before its source %u, %s", step,
                            name_of(line, number, arena), source,
                            name_of(line, operand->node, arena));
      if (line->nodes[source] != operand->node) return "a source is of another node";
      for (uint32_t k = 0; k < operand->num_parts; k++) {
        uint32_t root = root_of(&recount, part_read(line, step, i, k));
        StepId overwriter = overwriting_step(&recount, first, root);
        if (overwriter < step)
          return arena_printf(arena, "step %u, %s, reads %s, which step %u, %s, has overwritten",
                              step, name_of(line, number, arena),
                              name_of(line, operand->node, arena), overwriter,
                              name_of(line, line->nodes[overwriter], arena));
      }
    }
    for (uint32_t i = 0; first[number] == step && i < node->num_waits; i++) {
      NodeId waited = graph->waits.data[node->first_wait + i];
      if (graph->nodes[waited].flags & NODE_CAN_CLONE) continue; /* it reads memory, as above */
      StepId on = first[waited];
      if (on != NO_ID && on > step)
        return arena_printf(arena, "step %u, %s, does not wait for step %u, %s", step,
                            name_of(line, number, arena), on,
                            name_of(line, line->nodes[on], arena));
    }
  }
  return NULL;
}

static void check_line(const Line *line, const char *what, const Sample *sample) {
  Arena *arena = arena_new(NULL);
  const char *why = wrong_line(line, arena);
  bool is_valid = line_is_valid(line, arena);
  ck_assert_msg(!why, "%s: %s\n%s", what, why, sample_shown(sample));
  ck_assert_msg(is_valid, "%s: line_is_valid refuses it\n%s", what, sample_shown(sample));
  arena_free(arena);
  check_measure(line, what, sample);
}

static int by_node_id(const void *pa, const void *pb) {
  const NodeId *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

/* The same steps, each of them once. */
static void check_permutation(const Line *line, const Line *of, const char *what,
                              const Sample *sample) {
  ck_assert_msg(line->len == of->len, "%s: %u steps, not %u\n%s", what, line->len, of->len,
                sample_shown(sample));
  NodeId *nodes = malloc(2 * line->len * sizeof *nodes);
  memcpy(nodes, line->nodes, line->len * sizeof *nodes);
  memcpy(nodes + line->len, of->nodes, line->len * sizeof *nodes);
  qsort(nodes, line->len, sizeof *nodes, by_node_id);
  qsort(nodes + line->len, line->len, sizeof *nodes, by_node_id);
  ck_assert_msg(memcmp(nodes, nodes + line->len, line->len * sizeof *nodes) == 0,
                "%s: other steps\n%s", what, sample_shown(sample));
  free(nodes);
}

static double excess_of(const Line *line, int64_t limit_bytes, Arena *arena) {
  LineMemory memory = line_measure(line, arena);
  return line_excess(line, &memory, limit_bytes);
}

static void check_priced(const ScoredLine *priced, int64_t limit_bytes, const char *what,
                         const Sample *sample) {
  check_line(&priced->line, what, sample);
  Arena *arena = arena_new(NULL);
  LineMemory memory = line_measure(&priced->line, arena);
  ck_assert_msg(memory.peak_bytes == priced->score.bytes &&
                    memory.seconds == priced->score.seconds &&
                    priced->score.is_met == (memory.peak_bytes <= limit_bytes),
                "%s: claims %" PRId64 " bytes and %g seconds, has %" PRId64 " and %g\n%s", what,
                priced->score.bytes, priced->score.seconds, memory.peak_bytes, memory.seconds,
                sample_shown(sample));
  Line given = line_of_graph(priced->line.graph, arena);
  int64_t least_bytes = line_least_bytes(&given, arena);
  ck_assert_msg(least_bytes <= memory.peak_bytes,
                "%s: has %" PRId64 " bytes, and no line has less than %" PRId64 "\n%s", what,
                memory.peak_bytes, least_bytes, sample_shown(sample));
  arena_free(arena);
}

/* ---- what makes lines of lines ---- */

static void check_orders(const Line *line, int64_t limit_bytes, const Sample *sample) {
  char what[100];
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  for (int moves_sources = 0; moves_sources < 2; moves_sources++) {
    Line settled = line_settled(line, moves_sources, arena, scratch);
    snprintf(what, sizeof what, "settled, sources %d", moves_sources);
    check_permutation(&settled, line, what, sample);
    check_line(&settled, what, sample);
  }
  for (int rules = 0; rules < 16; rules++) {
    HoistRules hoisting = {rules & 1, rules & 2, rules & 4, rules & 8 ? 1 : 4};
    Line settled = line_settled(line, hoisting.frees_sources, arena, scratch);
    Line hoisted = hoist(line, limit_bytes, &hoisting, NULL, arena, scratch);
    snprintf(what, sizeof what, "hoisted by rules %d, limit %" PRId64, rules, limit_bytes);
    check_permutation(&hoisted, line, what, sample);
    check_line(&hoisted, what, sample);
    ck_assert_msg(
        excess_of(&hoisted, limit_bytes, arena) <= excess_of(&settled, limit_bytes, arena),
        "%s: more excess\n%s", what, sample_shown(sample));
  }
  bool has_moved;
  Line late = line_with_late_updates(line, &has_moved, arena, scratch);
  check_permutation(&late, line, "late updates", sample);
  check_line(&late, "late updates", sample);
  Line settled = line_settled(line, false, arena, scratch);
  Line early = line_with_early_updates(&settled, &has_moved, arena, scratch);
  check_permutation(&early, line, "early updates", sample);
  check_line(&early, "early updates", sample);
  Line post_order = line_in_post_order(&settled, &has_moved, arena, scratch);
  check_permutation(&post_order, line, "post-order", sample);
  check_line(&post_order, "post-order", sample);
  arena_free(scratch);
  arena_free(arena);
}

static void check_trimmed(const Line *line, int64_t limit_bytes, const char *what,
                          const Sample *sample) {
  char how[160];
  snprintf(how, sizeof how, "%s, trimmed to %" PRId64, what, limit_bytes);
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  LineMemory before = line_measure(line, arena);
  Line trimmed = line_trimmed(line, limit_bytes, NULL, arena, scratch);
  LineMemory after = line_measure(&trimmed, arena);
  check_line(&trimmed, how, sample);
  int64_t most = before.peak_bytes > limit_bytes ? before.peak_bytes : limit_bytes;
  ck_assert_msg(after.peak_bytes <= most, "%s: the peak is %" PRId64 ", it was %" PRId64 "\n%s",
                how, after.peak_bytes, before.peak_bytes, sample_shown(sample));
  ck_assert_msg(trimmed.len <= line->len && after.seconds <= before.seconds, "%s: slower\n%s", how,
                sample_shown(sample));
  arena_free(scratch);
  arena_free(arena);
}

/* Whether a node makes what the caller of its computation holds: a clone of it takes memory that
 * the graph does not count. No price makes such clones, because there is nothing to be gained. */
static bool makes_held_part(const SearchGraph *graph, NodeId number) {
  bool is_held = false;
  for (uint32_t i = 0; i < graph->nodes[number].num_parts; i++) {
    const NodePart *part = node_part(graph, number, i);
    is_held |= part->operand == NO_ID && part->bytes == 0;
  }
  return is_held;
}

/* The line with some steps run again for some of their readers, drawn by lot. */
static Line with_clones(const Line *line, uint64_t *state, Arena *out) {
  const SearchGraph *graph = line->graph;
  uint32_t most = 4 * line->len + 8, len = 0;
  NodeId *nodes = arena_array(out, NodeId, most);
  StepId *old = arena_array(out, StepId, most);
  StepId *now = arena_array(out, StepId, line->len); /* by old step: its newest run */
  bool *is_clone = arena_zarray(out, bool, most);
  StepId **runs = arena_zarray(out, StepId *, most);
  uint32_t one_in = 1 + random_below(state, 6);
  for (StepId step = 0; step < line->len; step++) {
    uint32_t first = line->first_source[step], count = line->first_source[step + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
      StepId source = line->sources[first + i];
      bool can_clone = graph->nodes[line->nodes[source]].flags & NODE_CAN_CLONE &&
                       !makes_held_part(graph, line->nodes[source]);
      if (!can_clone || random_below(state, one_in) || len + line->len - step > most - 2) continue;
      uint32_t of_source = line->first_source[source];
      uint32_t num = line->first_source[source + 1] - of_source;
      runs[len] = arena_array(out, StepId, num);
      for (uint32_t k = 0; k < num; k++)
        runs[len][k] = now[line->sources[of_source + k]];
      old[len] = source;
      is_clone[len] = true;
      now[source] = len++;
    }
    runs[len] = arena_array(out, StepId, count);
    for (uint32_t i = 0; i < count; i++)
      runs[len][i] = now[line->sources[first + i]];
    old[len] = step;
    now[step] = len++;
  }
  for (StepId step = 0; step < len; step++)
    nodes[step] = line->nodes[old[step]];
  Line result = line_new(graph, nodes, len, out);
  for (StepId step = 0; step < len; step++) {
    uint32_t first = result.first_source[step];
    for (uint32_t i = first; i < result.first_source[step + 1]; i++)
      result.sources[i] = runs[step][i - first];
  }
  return result;
}

/* Many of these lines read overwritten memory and are left out. */
/* The first runs, without the others, are the line before. */
static void check_places(const Line *line, const Line *of, const char *what, const Sample *sample) {
  bool *has_run = calloc(line->graph->num_nodes, sizeof *has_run);
  uint32_t next = 0;
  for (StepId step = 0; step < line->len; step++) {
    if (has_run[line->nodes[step]]) continue;
    has_run[line->nodes[step]] = true;
    ck_assert_msg(next < of->len && line->nodes[step] == of->nodes[next],
                  "%s: a step has moved\n%s", what, sample_shown(sample));
    next++;
  }
  free(has_run);
}

/* Mending never adds to what exceeds the limit. */
static void check_mended(const Line *line, int64_t limit_bytes, const char *what,
                         const Sample *sample) {
  for (int keeps_places = 0; keeps_places < 2; keeps_places++) {
    Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
    char name[100];
    snprintf(name, sizeof name, "%s, mended under %" PRId64, what, limit_bytes);
    Line mended = line_mended(line, limit_bytes, keeps_places, NULL, arena, scratch);
    check_line(&mended, name, sample);
    LineMemory before = line_measure(line, arena), after = line_measure(&mended, arena);
    ck_assert_msg(
        line_excess(&mended, &after, limit_bytes) <= line_excess(line, &before, limit_bytes),
        "%s: more exceeds the limit\n%s", name, sample_shown(sample));
    if (before.peak_bytes <= limit_bytes) ck_assert(line_equals(&mended, line));
    arena_free(scratch);
    arena_free(arena);
  }
}

static void check_clones(const Line *line, uint64_t *state, const Sample *sample) {
  for (int i = 0; i < 4; i++) {
    Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
    Line cloned = with_clones(line, state, arena);
    if (!wrong_line(&cloned, arena)) {
      check_line(&cloned, "with clones", sample);
      LineMemory memory = line_measure(&cloned, arena);
      int64_t limit_bytes = memory.peak_bytes + random_below(state, 3) * memory.peak_bytes / 8;
      check_trimmed(&cloned, limit_bytes, "with clones", sample);
      Line settled = line_settled(&cloned, random_below(state, 2), arena, scratch);
      check_permutation(&settled, &cloned, "with clones, settled", sample);
      check_line(&settled, "with clones, settled", sample);
      HoistRules rules = {true, random_below(state, 2), random_below(state, 2), 2};
      Line hoisted = hoist(&cloned, memory.peak_bytes / 4 * 3, &rules, NULL, arena, scratch);
      check_permutation(&hoisted, &cloned, "with clones, hoisted", sample);
      check_line(&hoisted, "with clones, hoisted", sample);
      check_mended(&cloned, memory.peak_bytes / 8 * (5 + random_below(state, 4)), "with clones",
                   sample);
    } else {
      ck_assert_msg(!line_is_valid(&cloned, arena), "line_is_valid accepts: %s\n%s",
                    wrong_line(&cloned, arena), sample_shown(sample));
    }
    arena_free(scratch);
    arena_free(arena);
  }
}

static void check_prices(const Line *line, int64_t limit_bytes, const Sample *sample) {
  static const PriceRules rules[] = {{20, 0.5, 10, 0.1, 0}, {10, 0.3, 3, 0, 1}};
  for (int i = 0; i < 4; i++) {
    Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
    char what[100];
    snprintf(what, sizeof what, "priced by rules %d, limit %" PRId64, i, limit_bytes);
    ScoredLine priced = price_line(line, limit_bytes, &rules[i / 2], i % 2, NULL, arena, scratch);
    if (i % 2) check_places(&priced.line, line, what, sample);
    check_priced(&priced, limit_bytes, what, sample);
    if (priced.score.is_met) check_trimmed(&priced.line, limit_bytes, what, sample);
    check_mended(&priced.line, limit_bytes, what, sample);
    arena_free(scratch);
    arena_free(arena);
  }
}

/* ---- what becomes of the module ---- */

/* What one module is searched with. */
typedef struct Setting {
  const rh_module *scheduled;
  Module *module;
  Rewrite rewrite;
  Schedule schedule;
  Legality legality;
  Overwriters overwriters;
  CostTable costs;
  rh_remat_options options;
  RematParameters parameters;
  RematJob job;
  Arena *arena, *scratch;
} Setting;

static void setting_begin(Setting *setting, const rh_module *scheduled, const MemoryModel *model) {
  Arena *arena = arena_new(NULL);
  *setting = (Setting){.scheduled = scheduled,
                       .rewrite = rewrite_begin(module_copy(scheduled->module)),
                       .options = RH_REMAT_OPTIONS_INIT,
                       .parameters = parameters_default(),
                       .arena = arena,
                       .scratch = arena_new(NULL)};
  setting->module = setting->rewrite.module;
  setting->schedule = schedule_copy(&scheduled->schedule, setting->module, arena);
  dce_run(&setting->rewrite, setting->scratch);
  dce_update_schedule(setting->module, &setting->schedule, arena);
  setting->costs = cost_analyze(setting->module, arena, setting->scratch);
  setting->legality =
      (Legality){.module = setting->module,
                 .effects = side_effects_build(setting->module, arena, setting->scratch)};
  if (copies_are_inserted(setting->module)) {
    ValueAnalysis values = value_analysis_build(setting->module, arena, setting->scratch);
    setting->overwriters =
        overwriters_find(setting->module, &values, &setting->schedule, arena, setting->scratch);
    setting->legality.overwriters = &setting->overwriters;
  }
  setting->job = (RematJob){.rewrite = &setting->rewrite,
                            .schedule = &setting->schedule,
                            .options = &setting->options,
                            .parameters = &setting->parameters,
                            .memory_model = model,
                            .modes = RH_REMAT_RECOMPUTE,
                            .legality = &setting->legality,
                            .costs = &setting->costs};
}

static void setting_end(Setting *setting) {
  module_free(setting->rewrite.module);
  arena_free(setting->scratch);
  arena_free(setting->arena);
}

/* The context with what called computations need, as the algorithm fills it. */
static SearchContext context_of(Setting *setting) {
  SearchContext context = search_context_build(&setting->job, setting->arena, setting->scratch);
  int64_t *inner_bytes =
      arena_zarray(setting->arena, int64_t, setting->job.rewrite->module->comps.len);
  context.inner_bytes = inner_bytes;
  const CallGraph *calls = &context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (!comp_is_sequential(calls, comp) || setting->schedule.of[comp].len == 0) continue;
    SearchGraph graph = search_graph_build(&context, comp, setting->arena, setting->scratch);
    Line line = line_of_graph(&graph, setting->arena);
    inner_bytes[comp] = line_measure(&line, setting->arena).peak_bytes;
  }
  return context;
}

/* What a line was applied to is a module with a valid order. */
static void check_module(Setting *setting, const char *what, const Sample *sample) {
  dce_run(&setting->rewrite, setting->arena);
  dce_update_schedule(setting->module, &setting->schedule, setting->arena);
  rh_diags *diags = rh_diags_new();
  ck_assert_msg(module_check(setting->module, diags) == RH_OK, "%s: %s\n%s", what,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "", sample_shown(sample));
  rh_diags_free(diags);
  InstId bad = NO_ID;
  ck_assert_msg(schedule_is_valid(setting->module, &setting->schedule, &bad, setting->arena),
                "%s: %s stands at the wrong place\n%s", what,
                names_of(setting->module, &bad, 1, setting->arena), sample_shown(sample));
}

/* It computes what the input computes. */
static void check_outcome(Setting *setting, Outcome wanted, const char *what,
                          const Sample *sample) {
  rewrite_write_out_elements(&setting->rewrite, setting->arena);
  char *text = print_or_fail(setting->module, &setting->schedule, PRINT_SCHEDULED, NULL);
  rh_module *fresh = parse_printed((Text){text, strlen(text)}, setting->scheduled, what);
  Outcome outcome = interpret(fresh->module);
  ck_assert_msg(outcome.result == wanted.result && outcome.effects == wanted.effects &&
                    outcome.num_effects == wanted.num_effects,
                "%s: it computes something else\n%s", what, sample_shown(sample));
  /* Reads that the input has may come to be others, which the engine judges. */
  rh_copies copies = sample->has_known_reads ? RH_COPIES_PENDING : RH_COPIES_AUTO;
  check_equivalent(setting->scheduled, fresh, copies, false, what, sample);
  rh_module_free(fresh);
  free(text);
}

static void check_applied(const rh_module *scheduled, const MemoryModel *model, CompId comp,
                          const Line *line, Outcome wanted, const char *what,
                          const Sample *sample) {
  Setting setting;
  setting_begin(&setting, scheduled, model);
  SearchContext context = context_of(&setting);
  /* The same graph, of the copy. */
  SearchGraph graph = search_graph_build(&context, comp, setting.arena, setting.scratch);
  Line same = *line;
  same.graph = &graph;
  int64_t line_bytes = line_measure(line, setting.arena).peak_bytes;
  Applied applied = line_apply(&same, &setting.job, setting.arena, setting.scratch);
  uint32_t num_clones = 0;
  bool has_bypassed = false;
  for (NodeId node = 0; node < graph.num_nodes; node++)
    has_bypassed |= (graph.nodes[node].flags & NODE_IS_BYPASSED) != 0;
  bool *has_run = arena_zarray(setting.arena, bool, graph.num_nodes);
  for (StepId step = 0; step < line->len; step++) {
    num_clones += has_run[line->nodes[step]];
    has_run[line->nodes[step]] = true;
  }
  ck_assert_uint_eq(applied.num_clones, num_clones);
  check_module(&setting, what, sample);
  setting.costs = cost_analyze(setting.module, setting.arena, setting.scratch);
  SearchContext after = context_of(&setting);
  SearchGraph rebuilt = search_graph_build(&after, comp, setting.arena, setting.scratch);
  Line again = line_of_graph(&rebuilt, setting.arena);
  int64_t bytes = line_measure(&again, setting.arena).peak_bytes;
  /* What nobody reads is gone: results of a fusion's clone, and what only a bypassed tuple reads.
   */
  bool is_right = num_clones || has_bypassed ? bytes <= line_bytes : bytes == line_bytes;
  ck_assert_msg(is_right, "%s: the line takes %" PRId64 ", the module %" PRId64 "\n%s", what,
                line_bytes, bytes, sample_shown(sample));
  check_outcome(&setting, wanted, what, sample);
  setting_end(&setting);
}

/* ---- other forms ---- */

/* A line whose readers may read copies back is valid, and measures as it claims. */
static void check_with_forms(const ScoredLine *priced, const char *what, const Sample *sample) {
  Arena *arena = arena_new(NULL);
  ck_assert_msg(line_is_valid(&priced->line, arena), "%s: not valid\n%s", what,
                sample_shown(sample));
  LineMemory memory = line_measure(&priced->line, arena);
  ck_assert_msg(memory.peak_bytes == priced->score.bytes && memory.seconds == priced->score.seconds,
                "%s: it measures otherwise\n%s", what, sample_shown(sample));
  arena_free(arena);
}

static void check_forms(const rh_module *scheduled, const MemoryModel *model, CompId comp,
                        Outcome wanted, uint64_t *state, const Sample *sample) {
  static const unsigned others[] = {RH_REMAT_OFFLOAD, RH_REMAT_NARROW | RH_REMAT_COMPRESS,
                                    RH_REMAT_OFFLOAD | RH_REMAT_NARROW};
  Setting setting;
  setting_begin(&setting, scheduled, model);
  Arena *arena = setting.arena, *scratch = setting.scratch;
  DeviceProfile device = device_profile_default();
  setting.job.device = &device;
  if (random_below(state, 2)) device.host_to_device = device.device_to_host = 1e15;
  setting.job.modes = others[random_below(state, 3)];
  if (random_below(state, 3)) setting.job.modes |= RH_REMAT_RECOMPUTE;
  SearchContext context = context_of(&setting);
  CompactShapes forms =
      compact_shapes_build(&setting.job, search_sizes(&setting.job), arena, scratch);
  SearchGraph graph = search_graph_build(&context, comp, arena, scratch);
  search_graph_add_forms(&graph, &context, &forms, arena, scratch);
  Line given = line_of_graph(&graph, arena);
  int64_t limit_bytes =
      1 + line_measure(&given, arena).peak_bytes / 8 * (1 + random_below(state, 7));
  PriceRules prices = {20, 0.5, 10, 0.1, 1};
  ScoredLine priced = price_line(&given, limit_bytes, &prices, false, NULL, arena, scratch);
  check_with_forms(&priced, "priced with forms", sample);
  Line trimmed = line_trimmed(&priced.line, limit_bytes, NULL, arena, scratch);
  ck_assert(line_is_valid(&trimmed, scratch));
  ck_assert(!priced.score.is_met || line_measure(&trimmed, arena).peak_bytes <= limit_bytes);
  SearchRules rules = {.is_thorough = random_below(state, 4) == 0};
  ScoredLine found = search_line(&given, limit_bytes, &rules, NULL, arena, scratch).list[0];
  check_with_forms(&found, "search_line with forms", sample);
  Line *applicable[] = {&priced.line, &trimmed, &found.line};
  Applied applied = line_apply(applicable[random_below(state, 3)], &setting.job, arena, scratch);
  if (!(setting.job.modes & RH_REMAT_RECOMPUTE)) ck_assert_uint_eq(applied.num_clones, 0);
  check_module(&setting, "with forms", sample);
  check_outcome(&setting, wanted, "with forms", sample);
  setting_end(&setting);
}

static void check_graph(const SearchGraph *graph, const Sample *sample) {
  bool is_right = true;
  for (NodeId number = 0; number < graph->num_nodes; number++) {
    const SearchNode *node = &graph->nodes[number];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      const NodeOperand *operand = node_operand(graph, number, i);
      is_right &= operand->node < number &&
                  operand->first_part + operand->num_parts <= graph->nodes[operand->node].num_parts;
    }
    for (uint32_t i = 0; i < node->num_waits; i++)
      is_right &= graph->waits.data[node->first_wait + i] < number;
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *part = node_part(graph, number, i);
      is_right &= part->bytes >= 0 && (part->operand == NO_ID || part->bytes == 0);
      is_right &= part->operand == NO_ID ||
                  (part->operand < node->num_operands &&
                   part->of_operand < node_operand(graph, number, part->operand)->num_parts);
      is_right &= part->overwriter == NO_ID || part->overwriter > number;
    }
    ck_assert_msg(is_right, "node %u is inconsistent\n%s", number, sample_shown(sample));
  }
  unsigned end = graph->nodes[graph->num_nodes - 1].flags;
  ck_assert(end & NODE_IS_END && !(end & NODE_CAN_CLONE));
}

static ScoredLine search_with(const Line *given, int64_t limit_bytes, SearchRules rules,
                              unsigned num_threads, uint64_t num_steps, Arena *arena) {
  Arena *scratch = arena_new(NULL);
  Patience patience = patience_part(NULL, num_steps);
  rules.num_threads = num_threads;
  ScoredLine found = search_line(given, limit_bytes, &rules, &patience, arena, scratch).list[0];
  arena_free(scratch);
  return found;
}

/* The result is the same for any number of threads, also where the steps do not suffice. */
static void check_threads(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                          uint64_t *state, const Sample *sample) {
  Arena *arena = arena_new(NULL);
  uint64_t num_steps = (uint64_t)given->len << random_below(state, 16);
  ScoredLine one = search_with(given, limit_bytes, *rules, 1, num_steps, arena);
  check_priced(&one, limit_bytes, "search_line with few steps", sample);
  for (unsigned num_threads = 1; num_threads <= 3; num_threads++) {
    ScoredLine found = search_with(given, limit_bytes, *rules, num_threads, num_steps, arena);
    ck_assert_msg(found.line.len == one.line.len &&
                      memcmp(found.line.nodes, one.line.nodes, one.line.len * sizeof(NodeId)) == 0,
                  "%u threads find something else\n%s", num_threads, sample_shown(sample));
  }
  arena_free(arena);
}

/* A search that begins with lines for another limit is right, and no worse than one of them that is
 * within its own. Returns what it finds. */
static ScoredLine check_known(const ScoredLine *found, const Line *given, int64_t limit_bytes,
                              SearchRules rules, const Sample *sample, Arena *arena) {
  Arena *scratch = arena_new(NULL);
  FoundLines known = {.list = {*found}, .len = 1};
  rules.known = &known;
  ScoredLine again = search_line(given, limit_bytes, &rules, NULL, arena, scratch).list[0];
  check_priced(&again, limit_bytes, "search_line with a known line", sample);
  if (found->score.bytes <= limit_bytes)
    ck_assert_msg(again.score.is_met && again.score.seconds <= found->score.seconds * (1 + 1e-9),
                  "search_line is worse than the line it knows\n%s", sample_shown(sample));
  arena_free(scratch);
  return again;
}

static void check_comp(const rh_module *scheduled, const MemoryModel *model,
                       const SearchContext *context, CompId comp, Outcome wanted, uint64_t *state,
                       const Sample *sample) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  SearchGraph graph = search_graph_build(context, comp, arena, scratch);
  check_graph(&graph, sample);
  Line given = line_of_graph(&graph, arena);
  /* The input itself may read overwritten memory, or hold it in a tuple whose element nobody reads.
   * Then no line is right. */
  if (wrong_line(&given, arena)) {
    check_measure(&given, "given", sample);
    arena_free(scratch);
    arena_free(arena);
    return;
  }
  check_line(&given, "given", sample);
  int64_t peak_bytes = line_measure(&given, arena).peak_bytes;
  static const int percents[] = {1, 30, 50, 70, 90};
  int64_t limit_bytes = 1 + peak_bytes / 100 * percents[random_below(state, 5)];
  check_orders(&given, limit_bytes, sample);
  check_mended(&given, limit_bytes, "given", sample);
  check_clones(&given, state, sample);
  check_prices(&given, limit_bytes, sample);
  SearchRules rules = {.keeps_order = random_below(state, 4) == 0,
                       .is_thorough = random_below(state, 4) == 0};
  ScoredLine found = search_line(&given, limit_bytes, &rules, NULL, arena, scratch).list[0];
  check_priced(&found, limit_bytes, "search_line", sample);
  check_applied(scheduled, model, comp, &found.line, wanted, "search_line", sample);
  check_threads(&given, limit_bytes, &rules, state, sample);
  int64_t near_bytes = limit_bytes / 100 * (int64_t)(90 + random_below(state, 20));
  ScoredLine again = check_known(&found, &given, near_bytes, rules, sample, arena);
  check_applied(scheduled, model, comp, &again.line, wanted, "with a known line", sample);
  rules.is_thorough = false;
  ScoredLine lowest = search_lowest(&given, 0, NULL, &rules, NULL, arena, scratch).list[0];
  lowest.score.is_met = true;
  check_priced(&lowest, lowest.score.bytes, "search_lowest", sample);
  ck_assert_msg(lowest.score.bytes <= peak_bytes, "search_lowest raises the peak\n%s",
                sample_shown(sample));
  check_applied(scheduled, model, comp, &lowest.line, wanted, "search_lowest", sample);
  Line cloned = with_clones(&given, state, arena);
  if (!wrong_line(&cloned, arena))
    check_applied(scheduled, model, comp, &cloned, wanted, "with clones", sample);
  check_forms(scheduled, model, comp, wanted, state, sample);
  arena_free(scratch);
  arena_free(arena);
}

START_TEST(lines_are_what_they_claim) {
  Sample sample = sample_make((uint64_t)_i, 120, GENERATE_ALL | GENERATE_ASYNC);
  if (_i % 4 == 0) sample_take_as_it_is(&sample);
  uint64_t state = seed_state(sample.seed);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "input"};
  rh_module *scheduled = schedule_sample(&sample, schedulers[random_below(&state, 4)]);
  Text text = print_text(scheduled);
  rh_module *printed = parse_printed(text, scheduled, "scheduled");
  Outcome wanted = interpret(printed->module);
  static const char *const models[] = {"heap", "liveness", "xla-remat"};
  const MemoryModel *model = memory_model_find(models[random_below(&state, 3)]);
  Setting setting;
  setting_begin(&setting, scheduled, model);
  shown_module = setting.module;
  SearchContext context = context_of(&setting);
  const CallGraph *calls = &context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (!comp_is_sequential(calls, comp) || setting.schedule.of[comp].len == 0) continue;
    check_comp(scheduled, model, &context, comp, wanted, &state, &sample);
  }
  setting_end(&setting);
  rh_module_free(printed);
  free(text.data);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("search", lines_are_what_they_claim, 300);
}
