/* How often a function is called, and the loops in it.
 *
 * Python has unrolled all loops, and the stack of an operation says neither whether a function was
 * called six times nor whether it was called once and has a loop of six steps. Its other lines say
 * it: those before the loop and behind it are executed once for each call, and what the function
 * calls the loop's lines are executed for each step. Where it has no other lines, those of the
 * function that calls it may say it. Where nothing says it, it is taken as called.
 *
 * Sites are looked at from the innermost on, because how often a line is executed that calls a
 * function depends on what is found of that. O(sites * operations * depth of stacks). */
#include <stdlib.h>

#include "advice/frames.h"
#include "advice/layer_finder.h"

enum { MAX_SITES = 256 };

/* A loop in a function. */
typedef struct Steps {
  int32_t first_line, last_line;
  uint32_t count;   /* of steps, in all calls from this site */
  bool is_doubtful; /* the function has loops, but these lines are perhaps not those of one */
  SchedPos first, last;
  uint32_t mark;      /* what is traced in each step; NO_ID = nothing */
  uint32_t late_mark; /* the same of its derivative */
} Steps;

typedef struct Site {
  uint32_t call;
  int32_t caller;
  int depth;
  bool is_known;      /* how often it is called */
  uint32_t num_calls; /* or may be called; 0 = it has not been looked at */
  VEC(Steps) loops;
} Site;

typedef struct Sites {
  Finder *finder;
  TracedList traced;
  VEC(Site) list;
} Sites;

/* ---- sites ---- */

static int depth_of(const Module *module, int32_t number) {
  SourceFrame frame;
  int depth = 0;
  for (; depth < MAX_STACK_DEPTH && source_frame_get(module, number, &frame); depth++)
    number = frame.parent;
  return depth;
}

static Site *site_of(const Sites *sites, uint32_t call, int32_t caller) {
  for (uint32_t i = 0; i < sites->list.len; i++) {
    Site *site = &sites->list.data[i];
    if (site->call == call && site->caller == caller) return site;
  }
  return NULL;
}

static int by_depth(const void *pa, const void *pb) {
  const Site *a = pa, *b = pb;
  if (a->depth != b->depth) return a->depth > b->depth ? -1 : 1;
  if (a->call != b->call) return a->call < b->call ? -1 : 1;
  return (a->caller > b->caller) - (a->caller < b->caller);
}

static void find_sites(Sites *sites) {
  const Finder *finder = sites->finder;
  const Module *module = finder->forward->module;
  for (uint32_t t = 0; t < sites->traced.list.len; t++) {
    for (uint32_t c = 0; c < finder->calls.len && sites->list.len < MAX_SITES; c++) {
      int32_t caller =
          call_on_stack(module, sites->traced.list.data[t].frame, &finder->calls.data[c]);
      if (caller == 0 || site_of(sites, c, caller)) continue;
      *vec_push(finder->scratch, &sites->list) =
          (Site){.call = c, .caller = caller, .depth = depth_of(module, caller)};
    }
  }
  if (sites->list.len) qsort(sites->list.data, sites->list.len, sizeof *sites->list.data, by_depth);
}

/* The site of the function that a frame's function calls on the stack of `number`; NULL if it is no
 * function of the program. */
static Site *site_called(const Sites *sites, int32_t number, int32_t from) {
  const Module *module = sites->finder->forward->module;
  SourceFrame frame, callee = {0};
  for (int depth = 0; depth < MAX_STACK_DEPTH && number != from; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) return NULL;
    if (!frame.is_library && frame.function.len) callee = frame;
  }
  for (uint32_t i = 0; i < sites->list.len && callee.function.len; i++) {
    Site *site = &sites->list.data[i];
    const Call *call = &sites->finder->calls.data[site->call];
    if (site->caller == callee.parent && str_equal(call->function, callee.function) &&
        str_equal(call->file, callee.file))
      return site;
  }
  return NULL;
}

/* ---- lines of a site ---- */

/* Whether an operation is in the call of a site, and the function's own frame on its stack. */
static bool is_at_site(const Sites *sites, const Site *site, const Traced *traced, int32_t *own) {
  const Module *module = sites->finder->forward->module;
  SourceFrame frame;
  *own = call_frame(module, traced->frame, &sites->finder->calls.data[site->call]);
  return *own && source_frame_get(module, *own, &frame) && frame.parent == site->caller;
}

/* The lines of a function with what is executed there; with `is_own`, only what says for sure how
 * often: not what is executed in a function of which it is not known how often it is called. */
static TracedLines lines_of(const Sites *sites, const Site *site, bool is_own) {
  const Module *module = sites->finder->forward->module;
  Arena *arena = sites->finder->scratch;
  TracedLines lines = {0};
  for (uint32_t t = 0; t < sites->traced.list.len; t++) {
    const Traced *traced = &sites->traced.list.data[t];
    int32_t own;
    SourceFrame frame;
    if (!is_at_site(sites, site, traced, &own)) continue;
    const Site *callee = site_called(sites, traced->frame, own);
    if (is_own && callee && !callee->is_known) continue;
    (void)source_frame_get(module, own, &frame);
    TracedLine *line = traced_line(&lines, frame.line, arena);
    if (frame.end_line > line->end_line) line->end_line = frame.end_line;
    uint32_t count = traced->num_early + traced->num_late;
    bool is_counted = callee && callee->is_known && callee->num_calls < count;
    traced_line_add(line, &sites->traced, t, is_counted ? callee->num_calls : count, arena);
  }
  for (uint32_t i = 0; i < lines.list.len; i++)
    lines.list.data[i].count = counts_mode(&lines.list.data[i].counts);
  return lines;
}

/* ---- loops ---- */

/* Whether the last execution of something depends on the first one. What is computed of weights for
 * all steps in advance is no loop. */
static bool is_chain(const Finder *finder, const Traced *traced) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  if (traced->early.len < 2) return false;
  SchedPos first = traced->early.data[0], last = traced->early.data[traced->early.len - 1];
  ArenaMark mark = arena_mark(finder->scratch);
  bool *is_behind = arena_zarray(finder->scratch, bool, (size_t)(last - first) + 1);
  is_behind[0] = true;
  for (SchedPos pos = first + 1; pos <= last; pos++) {
    InstId id = forward->sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      SchedPos operand = finder->positions[inst_operand(module, id, i)];
      if (operand != NO_ID && operand >= first && operand < pos)
        is_behind[pos - first] |= is_behind[operand - first];
    }
  }
  bool is_reached = is_behind[last - first];
  arena_reset(finder->scratch, mark);
  return is_reached;
}

static bool is_line_chain(const Sites *sites, const TracedLine *line) {
  for (uint32_t i = 0; i < line->traced.len; i++) {
    if (is_chain(sites->finder, &sites->traced.list.data[line->traced.data[i]])) return true;
  }
  return false;
}

/* What is executed so often at the most positions, of the derivative or not. */
static void find_marks(const Sites *sites, const TracedLine *line, Steps *steps) {
  for (uint32_t i = 0; i < line->traced.len; i++) {
    uint32_t index = line->traced.data[i];
    const Traced *one = &sites->traced.list.data[index];
    if (line->counts.data[i] != steps->count) continue;
    const Traced *best = steps->mark == NO_ID ? NULL : &sites->traced.list.data[steps->mark];
    if (one->early.len && (!best || one->early.len > best->early.len)) steps->mark = index;
  }
}

/* The derivatives of a line are in other operations than those that say how often it is executed.
 */
static void find_late_mark(const Sites *sites, const Site *site, Steps *steps) {
  for (uint32_t t = 0; t < sites->traced.list.len; t++) {
    const Traced *one = &sites->traced.list.data[t];
    SourceFrame frame;
    int32_t own;
    if (one->num_early || !is_at_site(sites, site, one, &own)) continue;
    (void)source_frame_get(sites->finder->forward->module, own, &frame);
    bool is_inside = frame.line >= steps->first_line && frame.line <= steps->last_line;
    uint32_t most =
        steps->late_mark == NO_ID ? 0 : sites->traced.list.data[steps->late_mark].late.len;
    if (is_inside && one->late.len > most) steps->late_mark = t;
  }
}

/* The lines whose executions are between those of a line, with that: a loop is no more than what
 * most of them are executed. */
static Steps steps_from(const Sites *sites, const TracedLines *lines, uint32_t from,
                        bool *is_taken) {
  Steps steps = {.mark = NO_ID,
                 .late_mark = NO_ID,
                 .first = lines->list.data[from].first,
                 .last = lines->list.data[from].last};
  IdVec members = {0}, counts = {0};
  for (uint32_t before = UINT32_MAX; before != members.len;) {
    before = members.len;
    for (uint32_t i = 0; i < lines->list.len; i++) {
      const TracedLine *line = &lines->list.data[i];
      bool is_repeated = !is_taken[i] && line->count >= 2 && line->first != NO_ID;
      if (!is_repeated || (i != from && !(line->first < steps.last && line->last > steps.first)))
        continue;
      is_taken[i] = true;
      *vec_push(sites->finder->scratch, &members) = i;
      if (line->first < steps.first) steps.first = line->first;
      if (line->last > steps.last) steps.last = line->last;
    }
  }
  for (uint32_t m = 0; m < members.len; m++) {
    const TracedLine *line = &lines->list.data[members.data[m]];
    for (uint32_t k = 0; k < line->counts.len; k++)
      *vec_push(sites->finder->scratch, &counts) = line->counts.data[k];
  }
  steps.count = counts_mode(&counts);
  for (uint32_t m = 0; m < members.len; m++) {
    TracedLine *line = &lines->list.data[members.data[m]];
    line->is_core = 2 * line->count > steps.count;
    if (!line->is_core) continue;
    if (!steps.first_line || line->line < steps.first_line) steps.first_line = line->line;
    if (line->end_line > steps.last_line) steps.last_line = line->end_line;
    find_marks(sites, line, &steps);
  }
  return steps;
}

/* Whether what seem to be two steps may be other lines, such as those of two loops: a line among
 * theirs is executed once. Of more steps, it may be one that some of them execute. */
static bool is_doubtful(const TracedLines *lines, const Steps *steps) {
  for (uint32_t i = 0; i < lines->list.len && steps->count == 2; i++) {
    const TracedLine *line = &lines->list.data[i];
    bool is_among = line->line > steps->first_line && line->line < steps->last_line;
    if (is_among && line->count == 1) return true;
  }
  return false;
}

static void find_loops(Sites *sites, Site *site, const TracedLines *lines) {
  Arena *arena = sites->finder->scratch;
  bool *is_taken = arena_zarray(arena, bool, lines->list.len + 1);
  for (uint32_t i = 0; i < lines->list.len; i++) {
    const TracedLine *line = &lines->list.data[i];
    bool is_repeated = !is_taken[i] && line->count >= 2 && line->first != NO_ID;
    if (!is_repeated || !is_line_chain(sites, line)) continue;
    Steps steps = steps_from(sites, lines, i, is_taken);
    if (steps.count < 2 || !steps.first_line) continue;
    steps.is_doubtful = is_doubtful(lines, &steps);
    find_late_mark(sites, site, &steps);
    *vec_push(arena, &site->loops) = steps;
  }
}

/* ---- what says how often a function is called ---- */

/* How many of some positions are at most, or less than, one. */
static uint32_t count_up_to(const IdVec *marks, SchedPos pos, bool is_included) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < marks->len; i++)
    count += marks->data[i] < pos || (is_included && marks->data[i] == pos);
  return count;
}

/* Whether some positions are each before the steps of one call, all of them, or each behind them.
 */
static bool is_around(const IdVec *at, const IdVec *marks) {
  bool is_before = at->len > 0, is_behind = at->len > 0;
  if (at->len == 0 || marks->len % at->len) return false;
  uint32_t steps = marks->len / at->len;
  for (uint32_t i = 0; i < at->len; i++) {
    uint32_t least = count_up_to(marks, at->data[i], false);
    uint32_t most = count_up_to(marks, at->data[i], true);
    is_before &= least <= i * steps && i * steps <= most;
    is_behind &= least <= (i + 1) * steps && (i + 1) * steps <= most;
  }
  return is_before || is_behind;
}

/* Whether a line is outside of a loop: it is above its lines or below them, and executed before or
 * after them. A line that only some steps execute is between them. */
static bool is_outside_loop(const Sites *sites, const Steps *steps, const TracedLine *line) {
  bool is_inside = line->line >= steps->first_line && line->line <= steps->last_line;
  if (is_inside || line->count == 0 || 2 * line->count > steps->count) return false;
  uint32_t mark = line->is_early ? steps->mark : steps->late_mark;
  if (mark == NO_ID) return false;
  const Traced *marks = &sites->traced.list.data[mark];
  for (uint32_t i = 0; i < line->traced.len; i++) {
    const Traced *one = &sites->traced.list.data[line->traced.data[i]];
    if (line->counts.data[i] != line->count) continue;
    const IdVec *at = line->is_early ? &one->early : &one->late;
    if (is_around(at, line->is_early ? &marks->early : &marks->late)) return true;
  }
  return false;
}

/* How often a function is called whose lines tell it; 0 if they do not. */
static uint32_t calls_by_lines(const Sites *sites, const Site *site, const TracedLines *lines) {
  IdVec counts = {0};
  for (uint32_t l = 0; l < site->loops.len; l++) {
    for (uint32_t i = 0; i < lines->list.len; i++) {
      const TracedLine *line = &lines->list.data[i];
      if (is_outside_loop(sites, &site->loops.data[l], line))
        *vec_push(sites->finder->scratch, &counts) = line->count;
    }
  }
  if (counts.len) return counts_mode(&counts);
  return site->loops.len > 1 ? 1 : 0; /* one is behind the other */
}

/* A line that only some steps execute belongs to the step, wherever it is. Where there are two
 * steps, what is executed once may as well be outside of them, early or late. */
static void take_rare_lines(Site *site, const Sites *sites, const TracedLines *lines) {
  for (uint32_t l = 0; l < site->loops.len; l++) {
    Steps *steps = &site->loops.data[l];
    for (uint32_t i = 0; i < lines->list.len; i++) {
      const TracedLine *line = &lines->list.data[i];
      bool is_between = steps->count > 2 && line->first != NO_ID && line->first > steps->first &&
                        line->last < steps->last && !is_outside_loop(sites, steps, line);
      if (!is_between) continue;
      if (line->line < steps->first_line) steps->first_line = line->line;
      if (line->end_line > steps->last_line) steps->last_line = line->end_line;
    }
  }
}

/* Whether stacks of a function lack what calls it, as tracing under a checkpoint leaves them:
 * others have more between the function and the same caller. */
static bool is_cut(const Sites *sites, const Site *site) {
  const Module *module = sites->finder->forward->module;
  for (uint32_t i = 0; i < sites->list.len; i++) {
    const Site *other = &sites->list.data[i];
    if (other->call != site->call || other->caller == site->caller) continue;
    SourceFrame frame;
    int32_t number = other->caller;
    for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
      if (number == site->caller) return true;
      if (!source_frame_get(module, number, &frame)) break;
    }
  }
  return false;
}

/* The line of a site's function that calls another one says how often that is called, if it does
 * something else, too. */
static void settle_callees(const Sites *sites, const Site *site) {
  const Module *module = sites->finder->forward->module;
  TracedLines own = lines_of(sites, site, true);
  for (uint32_t t = 0; t < sites->traced.list.len; t++) {
    int32_t frame_number;
    SourceFrame frame;
    if (!is_at_site(sites, site, &sites->traced.list.data[t], &frame_number)) continue;
    Site *callee = site_called(sites, sites->traced.list.data[t].frame, frame_number);
    if (!callee || callee->is_known || callee->num_calls == 0 || is_cut(sites, callee)) continue;
    (void)source_frame_get(module, frame_number, &frame);
    for (uint32_t i = 0; i < own.list.len; i++) {
      const TracedLine *line = &own.list.data[i];
      if (line->line != frame.line || line->count == 0) continue;
      callee->is_known = true;
      if (2 * line->count > callee->num_calls) callee->loops.len = 0;
      if (2 * line->count <= callee->num_calls) callee->num_calls = line->count;
    }
  }
}

/* Functions that are called in a loop of several lines are called in each step. */
static void settle_in_loops(const Sites *sites, const Site *site, const TracedLines *lines) {
  const Module *module = sites->finder->forward->module;
  for (uint32_t t = 0; t < sites->traced.list.len; t++) {
    int32_t own;
    SourceFrame frame;
    if (!is_at_site(sites, site, &sites->traced.list.data[t], &own)) continue;
    Site *callee = site_called(sites, sites->traced.list.data[t].frame, own);
    if (!callee || callee->is_known) continue;
    (void)source_frame_get(module, own, &frame);
    for (uint32_t l = 0; l < site->loops.len; l++) {
      const Steps *steps = &site->loops.data[l];
      bool is_inside = frame.line >= steps->first_line && frame.line <= steps->last_line;
      uint32_t num_lines = 0;
      for (uint32_t i = 0; i < lines->list.len; i++) {
        const TracedLine *line = &lines->list.data[i];
        num_lines +=
            line->is_core && line->line >= steps->first_line && line->line <= steps->last_line;
      }
      if (!is_inside || num_lines < 2) continue;
      callee->is_known = true;
      callee->loops.len = 0;
    }
  }
}

static void look_at(Sites *sites, Site *site) {
  settle_callees(sites, site);
  TracedLines lines = lines_of(sites, site, false);
  IdVec counts = {0};
  for (uint32_t i = 0; i < lines.list.len; i++)
    *vec_push(sites->finder->scratch, &counts) = lines.list.data[i].count;
  find_loops(sites, site, &lines);
  uint32_t num_calls = calls_by_lines(sites, site, &lines);
  site->is_known = num_calls > 0 || site->loops.len == 0;
  site->num_calls = num_calls              ? num_calls
                    : site->loops.len == 0 ? counts_mode(&counts)
                                           : site->loops.data[0].count;
  take_rare_lines(site, sites, &lines);
  settle_in_loops(sites, site, &lines);
}

/* ---- what is found ---- */

/* The call that is the step of a loop, which is made if need be: of a function that is called from
 * several places, the same. */
static uint32_t call_of_steps(Finder *finder, const Call *function, const Steps *steps) {
  for (uint32_t i = 0; i < finder->calls.len; i++) {
    Call *call = &finder->calls.data[i];
    bool is_same = call->first_line && call->first_line <= steps->last_line &&
                   steps->first_line <= call->last_line &&
                   str_equal(call->function, function->function) &&
                   str_equal(call->file, function->file);
    if (!is_same) continue;
    if (steps->first_line < call->first_line) call->first_line = steps->first_line;
    if (steps->last_line > call->last_line) call->last_line = steps->last_line;
    return i;
  }
  Call made = *function;
  made.first_line = steps->first_line;
  made.last_line = steps->last_line;
  *vec_push(finder->scratch, &finder->calls) = made;
  return finder->calls.len - 1;
}

static void add_site(Finder *finder, const Site *site) {
  CallSite found = {.call = site->call, .caller = site->caller, .most_calls = UINT32_MAX};
  if (site->is_known && site->loops.len) found.most_calls = site->num_calls;
  if (!site->is_known) {
    found.first_line = site->loops.data[0].first_line;
    found.last_line = site->loops.data[0].last_line;
  }
  *vec_push(finder->scratch, &finder->sites) = found;
  for (uint32_t i = 0; i < site->loops.len && site->is_known; i++) {
    if (site->loops.data[i].is_doubtful) continue;
    const Call function = finder->calls.data[site->call];
    uint32_t call = call_of_steps(finder, &function, &site->loops.data[i]);
    *vec_push(finder->scratch, &finder->sites) =
        (CallSite){.call = call, .caller = site->caller, .most_calls = site->loops.data[i].count};
  }
}

const CallSite *call_site_of(const Finder *finder, uint32_t call, int32_t caller) {
  for (uint32_t i = 0; i < finder->sites.len; i++) {
    const CallSite *site = &finder->sites.data[i];
    if (site->call == call && site->caller == caller) return site;
  }
  return NULL;
}

void loop_steps_find(Finder *finder) {
  Sites sites = {.finder = finder, .traced = traced_find(finder)};
  find_sites(&sites);
  for (uint32_t i = 0; i < sites.list.len; i++)
    look_at(&sites, &sites.list.data[i]);
  for (uint32_t i = 0; i < sites.list.len; i++)
    add_site(finder, &sites.list.data[i]);
}
