#include "remat/exact/optimal.h"

#include <math.h>

#include "remat/exact/model.h"
#include "remat/search/trim.h"

enum {
  MOST_DENSE = 4000, /* columns with clones at all places; with fewer places the best line hardly
                        ever is another one */
};

/* How much more than the best line a result may cost, in the cost of the program: 10^-7 of the
 * time of the line. */
static const double gap = 1e-3;

/* Depths of clones that read clones, the first of which leads to few enough columns is taken. */
static const uint32_t depths[] = {1000, 32, 16, 8, 4, 2, 1};
enum { NUM_DEPTHS = sizeof depths / sizeof *depths };

OptimalRules optimal_rules(const RematParameters *parameters, int effort) {
  int64_t num_nodes = parameters->optimal_nodes;
  for (int i = 0; i < effort; i++)
    num_nodes *= 3;
  if (num_nodes > INT32_MAX) num_nodes = INT32_MAX;
  return (OptimalRules){.most_columns = (uint32_t)parameters->optimal_columns,
                        .num_nodes = (uint32_t)num_nodes,
                        .num_rounds = (uint32_t)parameters->optimal_rounds};
}

/* ---- from a solution to a line ---- */

/* What runs at a step of the line that comes out. */
typedef struct Run {
  StepId step, stage; /* of the line of originals; equal for the original run */
} Run;

typedef struct Runs {
  VEC(Run) list;
} Runs;

static Runs runs_of(const Model *model, const bool *is_one, Arena *arena) {
  uint32_t len = model->line->len;
  IdVec *clones_at = arena_zarray(arena, IdVec, len); /* by stage, in the order of the line */
  for (StepId step = 0; step < len; step++) {
    const ModelClones *clones = &model->clones[step];
    for (uint32_t i = 0; i < clones->stages.len; i++) {
      if (is_one[clones->first_column + i])
        *vec_push(arena, &clones_at[clones->stages.data[i]]) = step;
    }
  }
  Runs runs = {0};
  for (StepId stage = 0; stage < len; stage++) {
    for (uint32_t i = 0; i < clones_at[stage].len; i++)
      *vec_push(arena, &runs.list) = (Run){clones_at[stage].data[i], stage};
    *vec_push(arena, &runs.list) = (Run){stage, stage};
  }
  return runs;
}

/* Whether a run stays even if nobody reads it. */
static bool is_kept(const Model *model, Run run) {
  return run.step == run.stage && model->runs[run.step] == NO_ID;
}

/* Removes runs that nobody reads: each reader reads the last run before it. */
static void remove_unread(const Model *model, Runs *runs, Arena *arena) {
  const Line *line = model->line;
  uint32_t len = runs->list.len, kept = 0;
  bool *is_read = arena_zarray(arena, bool, len);
  uint32_t *last = arena_array(arena, uint32_t, line->len); /* run of a step that is to be read */
  uint32_t *source = arena_array(arena, uint32_t, len ? len : 1);
  memset(last, 0xff, line->len * sizeof *last);
  for (uint32_t i = 0; i < len; i++) { /* the run of the same step before */
    StepId step = runs->list.data[i].step;
    source[i] = last[step];
    last[step] = i;
  }
  for (uint32_t i = len; i-- > 0;) {
    Run run = runs->list.data[i];
    last[run.step] = source[i];
    if (!is_kept(model, run) && !is_read[i]) continue;
    for (uint32_t k = line->first_source[run.step]; k < line->first_source[run.step + 1]; k++)
      is_read[last[line->sources[k]]] = true;
  }
  for (uint32_t i = 0; i < len; i++) {
    Run run = runs->list.data[i];
    if (is_kept(model, run) || is_read[i]) runs->list.data[kept++] = run;
  }
  runs->list.len = kept;
}

static Line line_of_runs(const Line *line, const Runs *runs, Arena *out, Arena *arena) {
  StepId *steps = arena_array(arena, StepId, runs->list.len);
  for (uint32_t i = 0; i < runs->list.len; i++)
    steps[i] = runs->list.data[i].step;
  return line_of_steps(line, steps, runs->list.len, out, arena);
}

/* ---- rounds ---- */

typedef struct Solving {
  const Line *line; /* that is given */
  int64_t limit_bytes;
  const OptimalRules *rules;
  Model model;
  IdVec *rows_of; /* by step: the stages, and then the rows, of clones with a row, in pairs */
  OptimalLine best;
  Patience *patience;
  Arena *out, *arena, *scratch;
} Solving;

/* Asks more of the program where a line exceeds the limit: the memory of a clone, or, where the
 * program knows it but counts less than the line, another solution. */
static void correct(Solving *solving, const Runs *runs, const LineMemory *memory,
                    const bool *is_one) {
  Model *model = &solving->model;
  for (uint32_t i = 0; i < runs->list.len; i++) {
    Run run = runs->list.data[i];
    if (memory->bytes_at[i] <= solving->limit_bytes) continue;
    uint32_t row = NO_ID;
    if (run.step == run.stage) {
      row = model_step_row(model, run.step);
    } else {
      IdVec *known = &solving->rows_of[run.step];
      for (uint32_t k = 0; k < known->len; k += 2) {
        if (known->data[k] == run.stage) row = known->data[k + 1];
      }
      if (row == NO_ID) {
        *vec_push(solving->arena, known) = run.stage;
        uint32_t added = model_add_clone_row(model, run.step, run.stage);
        *vec_push(solving->arena, known) = added;
        continue;
      }
    }
    model_exclude(model, row, run.step, run.stage, is_one);
  }
}

/* Solves the program as it is. Returns whether it is worth while to correct it and solve again. */
static bool solve_once(Solving *solving) {
  Model *model = &solving->model;
  OptimalLine *best = &solving->best;
  SolverLimits limits = {(int)solving->rules->num_nodes, gap, INFINITY};
  if (best->scored.score.is_met) {
    limits.cutoff = (best->scored.score.seconds - model->fixed_seconds) * model->scale + gap;
  }
  Arena *arena = arena_new(arena_options(solving->scratch));
  SolverAnswer answer =
      program_solve(&model->program, &limits, solving->patience, arena, solving->scratch);
  bool goes_on = false;
  if (answer.status == SOLVER_MISSING) {
    best->status = OPTIMAL_NO_SOLVER;
  } else if (answer.status == SOLVER_FAILED) {
    best->status = OPTIMAL_FAILED;
    best->end = answer.end;
  } else {
    bool is_whole = answer.status != SOLVER_LIMITED;
    best->status = is_whole ? OPTIMAL_FOUND : OPTIMAL_LIMITED;
  }
  if (answer.has_solution) {
    Runs runs = runs_of(model, answer.is_one, arena);
    remove_unread(model, &runs, arena);
    Line line = line_of_runs(solving->line, &runs, arena, arena);
    LineMemory memory = line_measure(&line, arena);
    ScoredLine found = scored_of(&line, &memory, solving->limit_bytes);
    found.score.is_met = found.score.is_met && line_is_valid(&line, solving->scratch);
    if (found.score.is_met) {
      found =
          scored_trimmed(&line, solving->limit_bytes, solving->patience, arena, solving->scratch);
    } else {
      correct(solving, &runs, &memory, answer.is_one);
      goes_on = true;
    }
    if (score_is_better(found.score, best->scored.score)) {
      best->scored = found;
      best->scored.line = line_copy(&found.line, solving->out);
    }
  }
  arena_free(arena);
  return goes_on;
}

/* The largest program that is small enough. */
static bool build(Solving *solving) {
  uint32_t most_columns = solving->rules->most_columns;
  ModelRules rules = {.most_columns = most_columns < MOST_DENSE ? most_columns : MOST_DENSE,
                      .keeps_places = solving->rules->keeps_places,
                      .is_dense = true};
  for (uint32_t i = 0; i <= 2 * NUM_DEPTHS; i++) {
    if (solving->arena) arena_free(solving->arena);
    solving->arena = arena_new(arena_options(solving->scratch));
    if (model_build(solving->line, solving->limit_bytes, &rules, &solving->model, solving->arena,
                    solving->scratch))
      return true;
    rules.is_dense = false;
    rules.most_columns = most_columns;
    rules.has_early = i < NUM_DEPTHS;
    rules.depth = depths[i % NUM_DEPTHS];
  }
  return false;
}

OptimalLine optimal_line(const Line *given, const ScoredLine *known, int64_t limit_bytes,
                         const OptimalRules *rules, Patience *patience, Arena *out,
                         Arena *scratch) {
  Solving solving = {.line = given,
                     .limit_bytes = limit_bytes,
                     .rules = rules,
                     .best = {*known, OPTIMAL_TOO_LARGE, {0}},
                     .patience = patience,
                     .out = out,
                     .scratch = scratch};
  if (build(&solving)) {
    solving.rows_of = arena_zarray(solving.arena, IdVec, given->len);
    bool goes_on = true;
    for (uint32_t i = 0; goes_on && i < rules->num_rounds && !patience_is_stopped(patience); i++)
      goes_on = solve_once(&solving);
    if (goes_on && solving.best.status == OPTIMAL_FOUND) solving.best.status = OPTIMAL_LIMITED;
    if (patience_is_stopped(patience)) solving.best.status = OPTIMAL_LIMITED;
  }
  arena_free(solving.arena);
  return solving.best;
}

/* ---- the bound ---- */

/* Dead code elimination makes clones of fusions with several results smaller, of which the program
 * knows nothing. */
static bool has_shrinking(const Line *line) {
  for (StepId step = 0; step < line->len; step++) {
    unsigned flags = line->graph->nodes[line->nodes[step]].flags;
    if (flags & NODE_CAN_SHRINK && flags & (NODE_CAN_CLONE | NODE_IS_LEGAL)) return true;
  }
  return false;
}

double optimal_time_bound(const Line *given, int64_t limit_bytes, const OptimalRules *rules,
                          Patience *patience, SolverEnd *end, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Line line = line_of_originals(given, arena);
  ModelRules model_rules = {.most_columns = rules->most_columns,
                            .keeps_places = true,
                            .is_dense = true,
                            .is_bound = true};
  Model model;
  double bound = 0;
  *end = (SolverEnd){0};
  if (!has_shrinking(&line) &&
      model_build(&line, limit_bytes, &model_rules, &model, arena, scratch)) {
    SolverLimits limits = {(int)rules->num_nodes, gap, INFINITY};
    SolverAnswer answer = program_solve(&model.program, &limits, patience, arena, scratch);
    *end = answer.end;
    if (answer.status == SOLVER_INFEASIBLE) bound = INFINITY;
    bool is_known = answer.status == SOLVER_SOLVED || answer.status == SOLVER_LIMITED;
    /* The solver's tolerance must not make it a bound that a line can beat. */
    double least = (answer.bound - 2 * gap) / model.scale;
    if (is_known && least > 0 && isfinite(least)) bound = least;
  }
  arena_free(arena);
  return bound;
}
