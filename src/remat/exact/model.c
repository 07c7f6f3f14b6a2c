#include "remat/exact/model.h"

#include <math.h>
#include <stdlib.h>

#include "ir/sort.h"

enum {
  COST_OF_LINE = 10000, /* of all steps of the line, in units of the program */
  LARGEST_FACTOR = 10000,
};

/* So that a clone that takes no time is not made for nothing. */
static const double least_cost = 1e-5;

/* ---- values ---- */

static const SearchNode *node_of(const Model *model, StepId step) {
  return &model->line->graph->nodes[model->line->nodes[step]];
}

/* The model does not see that each run of an update in place needs its own run to write into. */
static bool can_clone(const Model *model, StepId step) {
  unsigned flags = node_of(model, step)->flags;
  if (flags & NODE_IN_PLACE && !model->rules.is_bound) return false;
  return flags & (model->rules.is_bound ? NODE_CAN_CLONE | NODE_IS_LEGAL : NODE_CAN_CLONE);
}

/* Where the parts are overwritten, through what they are forwarded to. */
static void find_gone(Model *model) {
  const Line *line = model->line;
  StepId *step_of = arena_array(model->arena, StepId, line->graph->num_nodes);
  memset(step_of, 0xff, line->graph->num_nodes * sizeof *step_of);
  for (StepId step = 0; step < line->len; step++)
    step_of[line->nodes[step]] = step;
  model->gone_at = arena_array(model->arena, StepId, line_num_parts(line));
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(model, step);
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *part = &line->graph->parts.data[node->first_part + i];
      StepId *gone_at = &model->gone_at[line->first_part[step] + i];
      if (part->operand != NO_ID) {
        *gone_at = model->gone_at[line_read_part(line, step, part->operand, part->of_operand)];
      } else {
        *gone_at = part->overwriter == NO_ID ? NO_ID : step_of[part->overwriter];
      }
    }
  }
}

static void add_value(Model *model, StepId step, uint32_t index) {
  const Line *line = model->line;
  uint32_t part = line->first_part[step] + index, from = NO_ID;
  if (model->value_of[part] != NO_ID) return;
  const NodePart *of_node = node_part(line->graph, line->nodes[step], index);
  if (of_node->operand != NO_ID) {
    from = model->value_of[line_read_part(line, step, of_node->operand, of_node->of_operand)];
    if (from == NO_ID) return;
  } else if (of_node->bytes == 0) {
    return;
  }
  model->value_of[part] = model->values.len;
  *vec_push(model->arena, &model->values) = (ModelValue){.owner = step,
                                                         .part = part,
                                                         .bytes = of_node->bytes,
                                                         .from = from,
                                                         .gone_at = model->gone_at[part]};
}

static void add_unique(IdVec *list, uint32_t id, Arena *arena) {
  for (uint32_t i = 0; i < list->len; i++) {
    if (list->data[i] == id) return;
  }
  *vec_push(arena, list) = id;
}

/* Steps are visited in their order, so values come in the order of their owners, and what one is
 * forwarded from is there already. */
static void find_values(Model *model) {
  const Line *line = model->line;
  uint32_t num_parts = line_num_parts(line);
  model->value_of = arena_array(model->arena, uint32_t, num_parts);
  if (num_parts) memset(model->value_of, 0xff, num_parts * sizeof *model->value_of);
  bool *is_read = arena_zarray(model->arena, bool, num_parts);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = 0; i < node_of(model, step)->num_operands; i++) {
      uint32_t count = node_operand(line->graph, line->nodes[step], i)->num_parts;
      for (uint32_t k = 0; k < count; k++)
        is_read[line_read_part(line, step, i, k)] = true;
    }
  }
  model->reads = arena_zarray(model->arena, IdVec, line->len);
  model->roots = arena_zarray(model->arena, IdVec, line->len);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(model, step);
    for (uint32_t i = 0; i < node->num_parts; i++) {
      if (is_read[line->first_part[step] + i]) add_value(model, step, i);
    }
    for (uint32_t i = 0; i < node->num_operands; i++) {
      uint32_t count = node_operand(line->graph, line->nodes[step], i)->num_parts;
      for (uint32_t k = 0; k < count; k++) {
        uint32_t part = line_read_part(line, step, i, k), value = model->value_of[part];
        if (value == NO_ID) continue;
        add_unique(&model->reads[step], value, model->arena);
        add_unique(&model->roots[step], model->value_of[model->memory.root_of[part]], model->arena);
      }
    }
    for (uint32_t i = 0; i < model->reads[step].len; i++)
      *vec_push(model->arena, &model->values.data[model->reads[step].data[i]].readers) = step;
    for (uint32_t i = 0; i < model->roots[step].len; i++)
      *vec_push(model->arena, &model->values.data[model->roots[step].data[i]].holders) = step;
  }
  model->first_read = arena_array(model->arena, StepId, line->len);
  memset(model->first_read, 0xff, line->len * sizeof *model->first_read);
  for (uint32_t i = 0; i < model->values.len; i++) {
    const ModelValue *value = &model->values.data[i];
    StepId *first = &model->first_read[value->owner];
    if (value->readers.len && value->readers.data[0] < *first) *first = value->readers.data[0];
  }
}

/* ---- clones ---- */

/* A clone that the program may have. */
typedef struct Wanted {
  StepId step, stage;
  uint32_t depth;
} Wanted;

typedef struct WantedList {
  VEC(Wanted) list;
  uint32_t *num_over; /* by step: the steps before it at which the line exceeds the limit */
} WantedList;

/* Whether a clone of a step can run at a stage at all: somebody has read the original run, if that
 * has to stay where it is, and nothing that always lives has been overwritten that it reads.
 */
static bool can_run(const Model *model, StepId step, StepId stage) {
  const Line *line = model->line;
  if (!can_clone(model, step)) return false;
  if (stage <= (model->runs[step] == NO_ID ? model->first_read[step] : step)) return false;
  for (uint32_t i = 0; i < node_of(model, step)->num_operands; i++) {
    uint32_t count = node_operand(line->graph, line->nodes[step], i)->num_parts;
    for (uint32_t k = 0; k < count; k++) {
      uint32_t part = line_read_part(line, step, i, k);
      if (model->value_of[part] == NO_ID && model->gone_at[part] < stage) return false;
    }
  }
  return true;
}

static void want(Model *model, WantedList *wanted, StepId step, StepId stage, uint32_t depth) {
  if (!can_run(model, step, stage)) return;
  IdVec *stages = &model->clones[step].stages;
  uint32_t len = stages->len;
  add_unique(stages, stage, model->arena);
  if (stages->len > len) *vec_push(model->arena, &wanted->list) = (Wanted){step, stage, depth};
}

/* Wants a clone of the step of a value for whoever reads it at a stage, unless the value could be
 * kept since somebody read it before: no step in between exceeds the limit. */
static void want_for(Model *model, WantedList *wanted, uint32_t number, StepId stage,
                     uint32_t depth) {
  const ModelValue *value = &model->values.data[number];
  StepId before = value->owner;
  for (uint32_t i = 0; i < value->readers.len && value->readers.data[i] < stage; i++)
    before = value->readers.data[i];
  bool has_lack = wanted->num_over[stage] > wanted->num_over[before + 1];
  if (!has_lack && value->gone_at >= stage) return;
  want(model, wanted, value->owner, stage, depth);
  if (!model->rules.has_early) return;
  const IdVec *reads = &model->reads[value->owner];
  for (uint32_t i = 0; i < reads->len; i++) {
    const IdVec *readers = &model->values.data[reads->data[i]].readers;
    for (uint32_t k = 0; k < readers->len && readers->data[k] < stage; k++) {
      bool is_between = readers->data[k] > before + 1;
      bool is_after = wanted->num_over[readers->data[k]] > wanted->num_over[before + 1];
      if (is_between && is_after) want(model, wanted, value->owner, readers->data[k], depth);
    }
  }
}

/* Where a value is made again, what reads it can be made again, too, for its own readers that come
 * later. */
static void want_readers(Model *model, WantedList *wanted, const Wanted *clone) {
  const Line *line = model->line;
  for (uint32_t part = line->first_part[clone->step]; part < line->first_part[clone->step + 1];
       part++) {
    if (model->value_of[part] == NO_ID) continue;
    const IdVec *readers = &model->values.data[model->value_of[part]].readers;
    for (uint32_t i = 0; i < readers->len && readers->data[i] < clone->stage; i++) {
      StepId reader = readers->data[i];
      for (uint32_t made = line->first_part[reader]; made < line->first_part[reader + 1]; made++) {
        uint32_t number = model->value_of[made];
        if (number == NO_ID) continue;
        const ModelValue *value = &model->values.data[number];
        StepId before = reader;
        for (uint32_t k = 0; k < value->readers.len && value->readers.data[k] < clone->stage; k++)
          before = value->readers.data[k];
        bool is_read_later =
            value->readers.len && value->readers.data[value->readers.len - 1] > clone->stage;
        if (is_read_later && wanted->num_over[clone->stage] > wanted->num_over[before + 1])
          want(model, wanted, reader, clone->stage, clone->depth + 1);
      }
    }
  }
}

static void want_all(Model *model, WantedList *wanted) {
  for (StepId step = 0; step < model->line->len; step++) {
    bool has_values = false;
    for (uint32_t part = model->line->first_part[step]; part < model->line->first_part[step + 1];
         part++)
      has_values |= model->value_of[part] != NO_ID;
    for (StepId stage = step + 1; has_values && stage < model->line->len; stage++) {
      if (can_run(model, step, stage)) *vec_push(model->arena, &model->clones[step].stages) = stage;
    }
  }
  (void)wanted;
}

static void want_for_readers(Model *model, WantedList *wanted) {
  for (uint32_t number = 0; number < model->values.len; number++) {
    const ModelValue *value = &model->values.data[number];
    for (uint32_t i = 0; i < value->readers.len; i++)
      want_for(model, wanted, number, value->readers.data[i], 0);
  }
  for (uint32_t next = 0; next < wanted->list.len; next++) {
    Wanted clone = wanted->list.data[next];
    if (clone.depth == model->rules.depth) continue;
    if (wanted->list.len > model->rules.most_columns) break;
    for (uint32_t i = 0; i < model->reads[clone.step].len; i++)
      want_for(model, wanted, model->reads[clone.step].data[i], clone.stage, clone.depth + 1);
    if (model->rules.has_early) want_readers(model, wanted, &clone);
  }
}

static void sort_unique(IdVec *list) {
  uint32_t len = 0;
  sort_numbers(list->data, list->len);
  for (uint32_t i = 0; i < list->len; i++) {
    if (i == 0 || list->data[i] != list->data[i - 1]) list->data[len++] = list->data[i];
  }
  list->len = len;
}

/* Finds the steps that may be computed later: nobody waits for them, and no memory of theirs is
 * overwritten. */
static void find_movable(Model *model) {
  const Line *line = model->line;
  const SearchGraph *graph = line->graph;
  bool *is_waited_for = arena_zarray(model->arena, bool, graph->num_nodes);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(model, step);
    for (uint32_t i = 0; i < node->num_waits; i++)
      is_waited_for[graph->waits.data[node->first_wait + i]] = true;
  }
  model->runs = arena_array(model->arena, uint32_t, line->len);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(model, step);
    model->runs[step] = NO_ID;
    bool can_move = !model->rules.keeps_places && can_clone(model, step) &&
                    model->first_read[step] != NO_ID && node->num_waits == 0 &&
                    !is_waited_for[line->nodes[step]];
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      can_move &= model->gone_at[part] == NO_ID;
    if (!can_move) model->fixed_seconds += node->seconds;
    if (can_move)
      model->runs[step] = program_add_column(&model->program, node->seconds * model->scale, true);
  }
}

static void find_clones(Model *model) {
  const Line *line = model->line;
  find_movable(model);
  model->clones = arena_zarray(model->arena, ModelClones, line->len);
  WantedList wanted = {.num_over = arena_zarray(model->arena, uint32_t, (size_t)line->len + 1)};
  for (StepId step = 0; step < line->len; step++)
    wanted.num_over[step + 1] =
        wanted.num_over[step] + (model->memory.bytes_at[step] > model->limit_bytes);
  if (model->rules.is_dense) {
    want_all(model, &wanted);
  } else {
    want_for_readers(model, &wanted);
  }
  for (StepId step = 0; step < line->len; step++) {
    ModelClones *clones = &model->clones[step];
    sort_unique(&clones->stages);
    clones->first_column = model->program.columns.len;
    double cost = node_of(model, step)->seconds * model->scale;
    if (!model->rules.is_bound) cost += least_cost;
    for (uint32_t i = 0; i < clones->stages.len; i++)
      (void)program_add_column(&model->program, cost, true);
  }
}

/* ---- events ---- */

static void add_all(IdVec *list, const IdVec *more, Arena *arena) {
  for (uint32_t i = 0; i < more->len; i++)
    *vec_push(arena, list) = more->data[i];
}

/* What a value is forwarded to has its events first: its owner comes later. */
static void find_events(Model *model) {
  for (uint32_t number = model->values.len; number-- > 0;) {
    ModelValue *value = &model->values.data[number];
    add_all(&value->events, &value->readers, model->arena);
    add_all(&value->events, &model->clones[value->owner].stages, model->arena);
    for (uint32_t i = 0; i < value->readers.len; i++)
      add_all(&value->events, &model->clones[value->readers.data[i]].stages, model->arena);
    sort_unique(&value->events);
    if (value->from != NO_ID)
      add_all(&model->values.data[value->from].events, &value->events, model->arena);
  }
}

static void add_kept_columns(Model *model) {
  for (uint32_t number = 0; number < model->values.len; number++) {
    ModelValue *value = &model->values.data[number];
    value->first_kept = model->program.columns.len;
    for (uint32_t i = 0; i < value->events.len; i++)
      (void)program_add_column(&model->program, 0, true);
  }
}

/* The first place in an ascending list whose number is at least `id`; the length if there is none.
 */
static uint32_t place_in(const IdVec *list, uint32_t id) {
  uint32_t low = 0, high = list->len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (list->data[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool has_id(const IdVec *list, uint32_t id) {
  uint32_t place = place_in(list, id);
  return place < list->len && list->data[place] == id;
}

uint32_t model_clone(const Model *model, StepId step, StepId stage) {
  const ModelClones *clones = &model->clones[step];
  uint32_t place = place_in(&clones->stages, stage);
  bool is_found = place < clones->stages.len && clones->stages.data[place] == stage;
  return is_found ? clones->first_column + place : NO_ID;
}

/* ---- rows about values ---- */

static void add_clone_term(Model *model, StepId step, StepId stage, double factor) {
  uint32_t column = model_clone(model, step, stage);
  if (column != NO_ID) program_add_term(&model->program, column, factor);
}

/* Who reads a value needs it. */
static void add_reads(Model *model, const ModelValue *value, uint32_t event) {
  Program *program = &model->program;
  StepId stage = value->events.data[event];
  uint32_t kept = value->first_kept + event;
  if (has_id(&value->readers, stage)) {
    bool always_runs = model->runs[stage] == NO_ID;
    program_add_row(program, always_runs ? -1 : 0);
    if (!always_runs) program_add_term(program, model->runs[stage], 1);
    program_add_term(program, kept, -1);
    add_clone_term(model, value->owner, stage, -1);
  }
  for (uint32_t i = 0; i < value->readers.len && value->readers.data[i] < stage; i++) {
    uint32_t reader = model_clone(model, value->readers.data[i], stage);
    if (reader == NO_ID) continue;
    program_add_row(program, 0);
    program_add_term(program, reader, 1);
    program_add_term(program, kept, -1);
    add_clone_term(model, value->owner, stage, -1);
  }
}

/* What is forwarded keeps what it is forwarded from. */
static void add_forwarding(Model *model, const ModelValue *value, uint32_t event) {
  const ModelValue *from = &model->values.data[value->from];
  StepId begin = event ? value->events.data[event - 1] : value->owner;
  StepId end = value->events.data[event];
  for (uint32_t i = place_in(&from->events, begin + 1);
       i < from->events.len && from->events.data[i] <= end; i++) {
    program_add_row(&model->program, 0);
    program_add_term(&model->program, value->first_kept + event, 1);
    program_add_term(&model->program, from->first_kept + i, -1);
  }
}

static void add_value_rows(Model *model, const ModelValue *value) {
  Program *program = &model->program;
  for (uint32_t event = 0; event < value->events.len; event++) {
    add_reads(model, value, event);
    if (value->from != NO_ID) add_forwarding(model, value, event);
    StepId begin = event ? value->events.data[event - 1] : value->owner;
    if (event) {
      program_add_row(program, 0);
      program_add_term(program, value->first_kept + event, 1);
      program_add_term(program, value->first_kept + event - 1, -1);
      add_clone_term(model, value->owner, begin, -1);
    }
    if (event == 0 && model->runs[value->owner] != NO_ID) {
      program_add_row(program, 0);
      program_add_term(program, value->first_kept, 1);
      program_add_term(program, model->runs[value->owner], -1);
    }
    /* A clone that was made before may be kept, which only a relaxation has to allow. */
    bool is_gone = value->gone_at != NO_ID && begin <= value->gone_at &&
                   value->gone_at < value->events.data[event];
    if (is_gone && !model->rules.is_bound) {
      program_add_row(program, 0);
      program_add_term(program, value->first_kept + event, 1);
    }
  }
}

/* The original run is read by the first step that reads the node: otherwise it would not be needed,
 * and the node would run later instead. */
static void add_first_reads(Model *model, StepId step) {
  const Line *line = model->line;
  StepId first = model->first_read[step];
  if (first == NO_ID || model->clones[step].stages.len == 0 || model->runs[step] != NO_ID) return;
  program_add_row(&model->program, -1);
  for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
    uint32_t number = model->value_of[part];
    if (number == NO_ID) continue;
    const ModelValue *value = &model->values.data[number];
    if (value->readers.len && value->readers.data[0] == first)
      program_add_term(&model->program, value->first_kept + place_in(&value->events, first), -1);
  }
}

/* ---- memory ---- */

/* The sum of a row that is being made, in bytes. */
typedef struct Sum {
  Model *model;
  int64_t bytes;          /* that are always there */
  int64_t most_bytes;     /* with all columns 1 */
  VEC(ProgramTerm) terms; /* in bytes */
  Arena *arena;
} Sum;

static void sum_add(Sum *sum, uint32_t column, int64_t bytes) {
  *vec_push(sum->arena, &sum->terms) = (ProgramTerm){column, (double)bytes};
  if (bytes > 0) sum->most_bytes += bytes;
}

/* Whoever may still need a value after the step or clone that runs at a stage; `bytes` < 0 is what
 * it frees if nobody does. */
typedef struct Later {
  VEC(uint32_t) columns; /* of which each keeps it */
  bool is_needed;        /* in any case */
} Later;

/* For a clone, others of the same stage come later. */
static Later find_later(const Model *model, const ModelValue *value, StepId step, StepId stage,
                        Arena *arena) {
  Later later = {0};
  bool is_clone = step != stage;
  uint32_t place = place_in(&value->events, stage);
  bool is_event = place < value->events.len && value->events.data[place] == stage;
  uint32_t next = is_event ? place + 1 : place;
  if (next < value->events.len) *vec_push(arena, &later.columns) = value->first_kept + next;
  if (!is_clone || !is_event) return later;
  later.is_needed = has_id(&value->holders, stage);
  for (uint32_t i = 0; i < value->holders.len && value->holders.data[i] < stage; i++) {
    if (value->holders.data[i] <= step) continue;
    uint32_t column = model_clone(model, value->holders.data[i], stage);
    if (column != NO_ID) *vec_push(arena, &later.columns) = column;
  }
  return later;
}

/* Memory that parts take over from operands that nobody needs later. */
static void add_reuses(Sum *sum, StepId step, StepId stage, bool is_twice) {
  Model *model = sum->model;
  Program *program = &model->program;
  const Line *line = model->line;
  const SearchNode *node = node_of(model, step);
  typedef struct Taken {
    uint32_t value, column;
  } Taken;
  VEC(Taken) taken = {0};
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &line->graph->parts.data[node->first_part + i];
    uint32_t first = taken.len;
    for (uint32_t k = 0; part->bytes > 0 && k < part->num_reuses; k++) {
      NodeReuse reuse = line->graph->reuses.data[part->first_reuse + k];
      uint32_t root = model->memory.root_of[line_read_part(line, step, reuse.operand, reuse.part)];
      uint32_t number = model->value_of[root];
      if (number == NO_ID || (is_twice && reuse.is_counted_twice)) continue;
      const ModelValue *value = &model->values.data[number];
      Later later = find_later(model, value, step, stage, sum->arena);
      if (later.is_needed) continue;
      uint32_t column = program_add_column(program, 0, false);
      for (uint32_t n = 0; n < later.columns.len; n++) {
        program_add_row(program, 1);
        program_add_term(program, column, 1);
        program_add_term(program, later.columns.data[n], 1);
      }
      int64_t shared = part->bytes < value->bytes ? part->bytes : value->bytes;
      sum_add(sum, column, -shared);
      *vec_push(sum->arena, &taken) = (Taken){number, column};
    }
    if (taken.len - first < 2) continue; /* of several, a part takes over one */
    program_add_row(program, 1);
    for (uint32_t k = first; k < taken.len; k++)
      program_add_term(program, taken.data[k].column, 1);
  }
  for (uint32_t i = 0; i < taken.len; i++) { /* an operand is taken over by one */
    bool is_first = true, has_more = false;
    for (uint32_t k = 0; k < taken.len; k++) {
      is_first &= k >= i || taken.data[k].value != taken.data[i].value;
      has_more |= k > i && taken.data[k].value == taken.data[i].value;
    }
    if (!is_first || !has_more) continue;
    program_add_row(program, 1);
    for (uint32_t k = i; k < taken.len; k++) {
      if (taken.data[k].value == taken.data[i].value)
        program_add_term(program, taken.data[k].column, 1);
    }
  }
}

/* Adds a value that neither the step nor the clone reads or makes. */
static void add_kept(Sum *sum, const ModelValue *value, StepId step, StepId stage) {
  Model *model = sum->model;
  Program *program = &model->program;
  bool is_clone = step != stage;
  Later later = find_later(model, value, step, stage, sum->arena);
  uint32_t place = place_in(&value->events, stage);
  bool is_event = place < value->events.len && value->events.data[place] == stage;
  if (!is_clone || !is_event) {
    if (later.columns.len) sum_add(sum, later.columns.data[0], value->bytes);
    return;
  }
  /* It lives here if it was there before, or has been made at this stage, and is needed later. */
  uint32_t before[2] = {value->first_kept + place, NO_ID};
  if (value->owner < step) before[1] = model_clone(model, value->owner, stage);
  if (later.columns.len == 0 && !later.is_needed) return;
  uint32_t lives = program_add_column(program, 0, false);
  for (int i = 0; i < 2; i++) {
    if (before[i] == NO_ID) continue;
    for (uint32_t k = 0; !later.is_needed && k < later.columns.len; k++) {
      program_add_row(program, 1);
      program_add_term(program, before[i], 1);
      program_add_term(program, later.columns.data[k], 1);
      program_add_term(program, lives, -1);
    }
    if (!later.is_needed) continue;
    program_add_row(program, 0);
    program_add_term(program, before[i], 1);
    program_add_term(program, lives, -1);
  }
  sum_add(sum, lives, value->bytes);
}

/* Adds the row of a sum; it only counts if what has the column `run` runs. */
static uint32_t add_sum(Sum *sum, uint32_t run) {
  Model *model = sum->model;
  Program *program = &model->program;
  double most = (double)(model->limit_bytes - sum->bytes) / model->unit_bytes;
  double slack = (double)(sum->bytes + sum->most_bytes - model->limit_bytes) / model->unit_bytes;
  program_add_row(program, run == NO_ID ? most : most + slack);
  for (uint32_t i = 0; i < sum->terms.len; i++)
    program_add_term(program, sum->terms.data[i].column,
                     sum->terms.data[i].factor / model->unit_bytes);
  if (run != NO_ID) program_add_term(program, run, slack);
  return program->rows.len - 1;
}

/* Adds the memory of a step, or of a clone of it at a stage. `is_twice`: what memory that is handed
 * over counts for twice, instead of what the step needs inside. Returns the row; NO_ID if it holds
 * in any case. */
static uint32_t add_memory_row(Model *model, StepId step, StepId stage, bool is_twice,
                               bool is_wanted) {
  const Line *line = model->line;
  const SearchNode *node = node_of(model, step);
  Arena *arena = arena_new(arena_options(model->arena));
  Sum sum = {.model = model, .bytes = line->graph->held_bytes, .arena = arena};
  bool is_clone = step != stage;
  sum.bytes += is_twice ? node->twice_bytes : node->inner_bytes;
  for (uint32_t i = 0; i < node->num_parts; i++)
    sum.bytes += line->graph->parts.data[node->first_part + i].bytes;
  for (uint32_t i = 0; i < model->roots[step].len; i++)
    sum.bytes += model->values.data[model->roots[step].data[i]].bytes;
  for (uint32_t i = 0; i < model->values.len; i++) {
    const ModelValue *value = &model->values.data[i];
    if (value->owner >= stage) break;
    if (value->bytes == 0 || value->owner == step || has_id(&value->holders, step)) continue;
    add_kept(&sum, value, step, stage);
  }
  uint32_t row = NO_ID;
  if (sum.bytes + sum.most_bytes > model->limit_bytes || is_wanted) {
    add_reuses(&sum, step, stage, is_twice);
    row = add_sum(&sum, is_clone ? model_clone(model, step, stage) : model->runs[step]);
  }
  arena_free(arena);
  return row;
}

/* Whether a step counts memory twice that is handed over to it. */
static bool counts_twice(const Model *model, StepId step) {
  const SearchNode *node = node_of(model, step);
  if (node->twice_bytes > 0) return true;
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &model->line->graph->parts.data[node->first_part + i];
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      if (model->line->graph->reuses.data[part->first_reuse + k].is_counted_twice) return true;
    }
  }
  return false;
}

uint32_t model_add_clone_row(Model *model, StepId step, StepId stage) {
  if (counts_twice(model, step)) (void)add_memory_row(model, step, stage, true, false);
  return add_memory_row(model, step, stage, false, true);
}

uint32_t model_step_row(Model *model, StepId step) {
  if (model->row_of[step] == NO_ID)
    model->row_of[step] = add_memory_row(model, step, step, false, true);
  return model->row_of[step];
}

/* Whether a column is that of a clone: those come first. */
static bool is_clone_column(const Model *model, uint32_t column) {
  return column < model->values.data[0].first_kept;
}

void model_exclude(Model *model, uint32_t row, StepId step, StepId stage, const bool *is_one) {
  Program *program = &model->program;
  const Line *line = model->line;
  const SearchNode *node = node_of(model, step);
  Arena *arena = arena_new(arena_options(model->arena));
  bool is_last = row + 1 == program->rows.len;
  uint32_t begin = program->rows.data[row].first_term;
  uint32_t end = is_last ? program->terms.len : program->rows.data[row + 1].first_term;
  IdVec ones = {0}, others = {0};
  for (uint32_t i = begin; i < end; i++) {
    ProgramTerm term = program->terms.data[i];
    bool is_counted = term.factor > 0 && !is_clone_column(model, term.column);
    if (is_counted && is_one[term.column]) *vec_push(arena, &ones) = term.column;
  }
  for (uint32_t column = 0; column < model->values.data[0].first_kept; column++) {
    if (is_one[column]) *vec_push(arena, &ones) = column;
  }
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &line->graph->parts.data[node->first_part + i];
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      NodeReuse reuse = line->graph->reuses.data[part->first_reuse + k];
      uint32_t root = model->memory.root_of[line_read_part(line, step, reuse.operand, reuse.part)];
      if (model->value_of[root] == NO_ID) continue;
      const ModelValue *value = &model->values.data[model->value_of[root]];
      Later later = find_later(model, value, step, stage, arena);
      for (uint32_t n = 0; n < later.columns.len; n++) {
        if (!is_one[later.columns.data[n]]) add_unique(&others, later.columns.data[n], arena);
      }
    }
  }
  program_add_row(program, (double)ones.len - 1);
  for (uint32_t i = 0; i < ones.len; i++)
    program_add_term(program, ones.data[i], 1);
  for (uint32_t i = 0; i < others.len; i++) {
    program_add_term(program, others.data[i], -1);
  }
  arena_free(arena);
}

/* ---- all of it ---- */

bool model_build(const Line *line, int64_t limit_bytes, const ModelRules *rules, Model *model,
                 Arena *out, Arena *scratch) {
  (void)scratch;
  *model = (Model){.line = line,
                   .rules = *rules,
                   .memory = line_measure(line, out),
                   .limit_bytes = limit_bytes,
                   .program = {.arena = out},
                   .row_of = arena_array(out, uint32_t, line->len),
                   .arena = out};
  model->scale = model->memory.seconds > 0 ? COST_OF_LINE / model->memory.seconds : 1;
  double largest = (double)(limit_bytes > 0 ? limit_bytes : 1);
  model->unit_bytes = largest > LARGEST_FACTOR ? largest / LARGEST_FACTOR : 1;
  find_gone(model);
  find_values(model);
  if (rules->is_dense && (uint64_t)line->len * model->values.len / 2 > rules->most_columns)
    return false;
  find_clones(model);
  if (model->program.columns.len > rules->most_columns) return false;
  find_events(model);
  add_kept_columns(model);
  if (model->program.columns.len > rules->most_columns) return false;
  for (uint32_t i = 0; i < model->values.len; i++)
    add_value_rows(model, &model->values.data[i]);
  for (StepId step = 0; step < line->len; step++) {
    add_first_reads(model, step);
    if (counts_twice(model, step)) (void)add_memory_row(model, step, step, true, false);
    model->row_of[step] = add_memory_row(model, step, step, false, false);
  }
  return true;
}
