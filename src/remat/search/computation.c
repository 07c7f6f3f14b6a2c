/* One computation: with and without loops that run again, under a limit or as low as possible. */
#include "remat/search/job.h"
#include "remat/search/trim.h"

enum { SHORT_PART = 4 }; /* of the steps, as a divisor, for a short search */

/* A computation, and how it is to be searched. */
typedef struct Task {
  const Line *given;
  const SearchGraph *graph;   /* of that line */
  const SearchGraph *without; /* the same one, in which no loop runs again; or itself */
  const OtherLines *known;    /* lines of it that were found for a limit nearby; or NULL */
  LineLimit limit;
} Task;

/* Searches in one of the graphs of a task. */
static PricedLine search_in(SearchJob *search, const Task *task, const SearchGraph *graph,
                            bool is_thorough, Patience *patience, OtherLines *others,
                            Arena *arena) {
  SearchRules rules = search->rules;
  rules.is_thorough = is_thorough;
  rules.known = task->known;
  Line line = *task->given;
  line.graph = graph;
  PricedLine found =
      search_line(&line, task->limit.bytes, &rules, patience, others, arena, search->scratch);
  found.line.graph = task->graph;
  for (uint32_t i = 0; i < others->len; i++)
    others->list[i].line.graph = task->graph;
  return found;
}

/* Searches without repeating loops first, if any can be repeated, with half of the steps: loops are
 * large pieces, which prices choose too early. If that meets the limit, to repeat them is worth
 * more than a short search only if that finds something faster. */
static PricedLine search_both(SearchJob *search, const Task *task, Patience *patience,
                              OtherLines *others, Arena *arena) {
  CompId comp = task->graph->comp;
  bool is_known = task->without == task->graph || task->known ||
                  (search->unmet_comp == comp && task->limit.bytes <= search->unmet.bytes);
  if (is_known) return search_in(search, task, task->graph, true, patience, others, arena);
  Patience half = patience_part(patience, patience_steps_left(patience) / 2);
  PricedLine best = search_in(search, task, task->without, true, &half, others, arena);
  patience_join(patience, &half);
  OtherLines also = {0};
  if (best.fits) {
    Patience part = patience_part(patience, patience_steps_left(patience) / SHORT_PART);
    PricedLine quick = search_in(search, task, task->graph, false, &part, &also, arena);
    patience_join(patience, &part);
    if (!priced_is_better(&quick, &best)) return best;
  } else {
    search->unmet_comp = comp;
    search->unmet = task->limit;
  }
  PricedLine found = search_in(search, task, task->graph, true, patience, &also, arena);
  if (!priced_is_better(&found, &best)) return best;
  *others = also;
  return found;
}

/* As search_lowest(), and at first without repeating loops, if any can be repeated, with half of
 * the steps: what does not lower the peak further is to take no time. */
static PricedLine search_lowest_both(SearchJob *search, const Task *task, const PricedLine *known,
                                     Patience *patience, OtherLines *others, Arena *arena) {
  PricedLine simple;
  if (task->without != task->graph) {
    Line line = *task->given;
    line.graph = task->without;
    Patience half = patience_part(patience, patience_steps_left(patience) / 2);
    simple = search_lowest(&line, task->limit.bytes, NULL, &search->rules, &half, NULL, arena,
                           search->scratch);
    simple.line.graph = task->graph;
    patience_join(patience, &half);
    if (!known || priced_is_lower(&simple, known)) known = &simple;
  }
  return search_lowest(task->given, task->limit.bytes, known, &search->rules, patience, others,
                       arena, search->scratch);
}

/* The lines that are known of a graph; NULL = none is. */
static const OtherLines *lines_known(const SearchJob *search, const SearchGraph *graph) {
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
static void note_found(SearchJob *search, const PricedLine *best, const OtherLines *others) {
  const SearchGraph *graph = best->line.graph;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchNode *nodes = arena_array(arena, SearchNode, graph->num_nodes);
  memcpy(nodes, graph->nodes, graph->num_nodes * sizeof *nodes);
  OtherLines lines = {.list[0] = *best, .len = 1};
  for (uint32_t i = 0; i < others->len && lines.len < MAX_OTHERS; i++)
    lines.list[lines.len++] = others->list[i];
  for (uint32_t i = 0; i < lines.len; i++)
    lines.list[i].line = line_copy(&lines.list[i].line, arena);
  if (search->found.arena) arena_free(search->found.arena);
  search->found = (KnownLines){lines, nodes, graph->num_nodes, arena};
}

/* Searches under lower limits if what was found nearly fits: where prices go up further from the
 * beginning, they may lead elsewhere. */
static void find_below(SearchJob *search, const Task *task, PricedLine *found, Patience *patience,
                       OtherLines *others, Arena *arena) {
  static const double factors[] = {0.96, 0.92};
  int64_t most_missing = task->limit.bytes / search->job->parameters->search_nearly;
  if (found->peak_bytes - task->limit.bytes > most_missing) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && !found->fits; i++) {
    Task below = *task;
    below.limit.bytes = (int64_t)((double)task->limit.bytes * factors[i]);
    Patience half = patience_part(patience, patience_steps_left(patience) / 2);
    OtherLines also = {0};
    PricedLine lower = search_in(search, &below, task->graph, false, &half, &also, arena);
    patience_join(patience, &half);
    if (lower.peak_bytes > task->limit.bytes) continue;
    *found = priced_trimmed(&lower.line, task->limit.bytes, patience, arena, search->scratch);
    others->len = 0;
  }
}

PricedLine search_computation(SearchJob *search, const SearchGraph *graph, LineLimit limit,
                              OtherLines *others, Arena *arena) {
  Patience *patience = search->job->patience;
  Patience own = patience_part(patience, patience_steps_left(patience) / 4 * 3);
  Line given = line_of_graph(graph, arena);
  Task task = {.given = &given,
               .graph = graph,
               .without = search_graph_without_loops(graph, arena),
               .limit = limit};
  bool is_to_know = graph->comp == search->job->rewrite->module->entry;
  if (is_to_know) task.known = lines_known(search, graph);
  PricedLine found = {0};
  if (limit.bytes > 0) {
    Patience most = patience_part(&own, patience_steps_left(&own) / 4 * 3);
    found = search_both(search, &task, &most, others, arena);
    patience_join(&own, &most);
    if (!found.fits) find_below(search, &task, &found, &own, others, arena);
  }
  if (!found.fits) {
    OtherLines also = {0};
    const PricedLine *known = limit.bytes > 0 ? &found : NULL;
    PricedLine lower = search_lowest_both(search, &task, known, &own, &also, arena);
    if (!known || lower.peak_bytes < found.peak_bytes) {
      found = lower;
      *others = also;
    }
    found.fits = limit.bytes > 0 && found.peak_bytes <= limit.bytes;
  }
  patience_join(patience, &own);
  if (is_to_know && search_job_may_go_on(search)) note_found(search, &found, others);
  return found;
}
