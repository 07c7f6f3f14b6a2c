/* One computation: with and without loops that run again, under a limit or as low as possible. */
#include "remat/search/job.h"
#include "remat/search/trim.h"

enum { SHORT_PART = 4 }; /* of the steps, as a divisor, for a short search */

/* A computation, and how it is to be searched. */
typedef struct Task {
  const Line *given;
  const SearchGraph *graph;   /* of that line */
  const SearchGraph *without; /* the same one, in which no loop runs again; or itself */
  const FoundLines *known;    /* lines of it that were found for a limit nearby; or NULL */
  LineLimit limit;
} Task;

/* Searches in one of the graphs of a task. */
static FoundLines search_in(SearchJob *search, const Task *task, const SearchGraph *graph,
                            bool is_thorough, Patience *patience, Arena *arena) {
  SearchRules rules = search->rules;
  rules.is_thorough = is_thorough;
  rules.known = task->known;
  Line line = *task->given;
  line.graph = graph;
  FoundLines found =
      search_line(&line, task->limit.bytes, &rules, patience, arena, search->scratch);
  for (uint32_t i = 0; i < found.len; i++)
    found.list[i].line.graph = task->graph;
  return found;
}

static bool is_better(const FoundLines *a, const FoundLines *b) {
  return score_is_better(found_best(a)->score, found_best(b)->score);
}

/* Searches without repeating loops first, if any can be repeated, with half of the steps: loops are
 * large pieces, which prices choose too early. If that meets the limit, to repeat them is worth
 * more than a short search only if that finds something faster. */
static FoundLines search_both(SearchJob *search, const Task *task, Patience *patience,
                              Arena *arena) {
  CompId comp = task->graph->comp;
  bool is_known = task->without == task->graph || task->known ||
                  (search->unmet_comp == comp && task->limit.bytes <= search->unmet.bytes);
  if (is_known) return search_in(search, task, task->graph, true, patience, arena);
  Patience half = patience_part(patience, patience_steps_left(patience) / 2);
  FoundLines simple = search_in(search, task, task->without, true, &half, arena);
  patience_join(patience, &half);
  if (found_best(&simple)->score.is_met) {
    Patience part = patience_part(patience, patience_steps_left(patience) / SHORT_PART);
    FoundLines quick = search_in(search, task, task->graph, false, &part, arena);
    patience_join(patience, &part);
    if (!is_better(&quick, &simple)) return simple;
  } else {
    search->unmet_comp = comp;
    search->unmet = task->limit;
  }
  FoundLines found = search_in(search, task, task->graph, true, patience, arena);
  return is_better(&found, &simple) ? found : simple;
}

/* As search_lowest(), and at first without repeating loops, if any can be repeated, with half of
 * the steps: what does not lower the peak further is to take no time. */
static FoundLines search_lowest_both(SearchJob *search, const Task *task, const ScoredLine *known,
                                     Patience *patience, Arena *arena) {
  ScoredLine simple;
  if (task->without != task->graph) {
    Line line = *task->given;
    line.graph = task->without;
    Patience half = patience_part(patience, patience_steps_left(patience) / 2);
    FoundLines found = search_lowest(&line, task->limit.bytes, NULL, &search->rules, &half, arena,
                                     search->scratch);
    patience_join(patience, &half);
    simple = *found_best(&found);
    simple.line.graph = task->graph;
    if (!known || scored_is_lower(&simple, known)) known = &simple;
  }
  return search_lowest(task->given, task->limit.bytes, known, &search->rules, patience, arena,
                       search->scratch);
}

/* The lines that are known of a graph; NULL = none is. */
static const FoundLines *lines_known(const SearchJob *search, const SearchGraph *graph) {
  const KnownLines *known = search->known;
  if (!known || !known->arena || known->num_nodes != graph->num_nodes) return NULL;
  for (NodeId i = 0; i < graph->num_nodes; i++) {
    const SearchNode *a = &known->nodes[i], *b = &graph->nodes[i];
    if (a->inst != b->inst || a->num_parts != b->num_parts || a->num_operands != b->num_operands)
      return NULL;
  }
  return &known->lines;
}

/* Notes what a search of the entry has found, for one with a limit nearby. */
static void note_found(SearchJob *search, FoundLines found) {
  const SearchGraph *graph = found_best(&found)->line.graph;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchNode *nodes = arena_array(arena, SearchNode, graph->num_nodes);
  memcpy(nodes, graph->nodes, graph->num_nodes * sizeof *nodes);
  if (found.len > MAX_KNOWN) found.len = MAX_KNOWN;
  for (uint32_t i = 0; i < found.len; i++)
    found.list[i].line = line_copy(&found.list[i].line, arena);
  if (search->found.arena) arena_free(search->found.arena);
  search->found = (KnownLines){found, nodes, graph->num_nodes, arena};
}

/* Searches under lower limits if what was found nearly fits: where prices go up further from the
 * beginning, they may lead elsewhere. */
static void find_below(SearchJob *search, const Task *task, FoundLines *found, Patience *patience,
                       Arena *arena) {
  static const double factors[] = {0.96, 0.92};
  const Score *best = &found_best(found)->score;
  int64_t most_missing = task->limit.bytes / search->job->parameters->search_nearly;
  if (best->bytes - task->limit.bytes > most_missing) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && !best->is_met; i++) {
    Task below = *task;
    below.limit.bytes = (int64_t)((double)task->limit.bytes * factors[i]);
    Patience half = patience_part(patience, patience_steps_left(patience) / 2);
    FoundLines lower = search_in(search, &below, task->graph, false, &half, arena);
    patience_join(patience, &half);
    const ScoredLine *lowest = found_best(&lower);
    if (lowest->score.bytes > task->limit.bytes) continue;
    found->list[0] =
        scored_trimmed(&lowest->line, task->limit.bytes, patience, arena, search->scratch);
    found->len = 1;
  }
}

FoundLines search_computation(SearchJob *search, const SearchGraph *graph, LineLimit limit,
                              Arena *arena) {
  Patience *patience = search->job->patience;
  Patience own = patience_part(patience, patience_steps_left(patience) / 4 * 3);
  Line given = line_of_graph(graph, arena);
  Task task = {.given = &given,
               .graph = graph,
               .without = search_graph_without_loops(graph, arena),
               .limit = limit};
  bool is_to_know = graph->comp == search->job->rewrite->module->entry;
  if (is_to_know) task.known = lines_known(search, graph);
  FoundLines found = {0};
  Score *best = &found.list[0].score;
  if (limit.bytes > 0) {
    Patience most = patience_part(&own, patience_steps_left(&own) / 4 * 3);
    found = search_both(search, &task, &most, arena);
    patience_join(&own, &most);
    if (!best->is_met) find_below(search, &task, &found, &own, arena);
  }
  if (!best->is_met) {
    const ScoredLine *known = limit.bytes > 0 ? found_best(&found) : NULL;
    FoundLines lower = search_lowest_both(search, &task, known, &own, arena);
    if (!known || found_best(&lower)->score.bytes < best->bytes) found = lower;
    best->is_met = limit.bytes > 0 && best->bytes <= limit.bytes;
  }
  patience_join(patience, &own);
  if (is_to_know && search_job_may_go_on(search)) note_found(search, found);
  return found;
}
