/* What the parts share that find the calls of functions and the scopes of a forward part:
 * traced_lines.c says what was traced at each line, loop_steps.c how often a function is called and
 * which loops are in it, call_roles.c what tells calls apart, layer_calls.c which instruction is of
 * which call, layer_borders.c of which of two, layer_scopes.c of which scope, and layers.c what is
 * worth it. */
#ifndef REMAT_HLO_ADVICE_LAYER_FINDER_H
#define REMAT_HLO_ADVICE_LAYER_FINDER_H

#include "advice/layers.h"
#include "ir/hash.h"

enum { MAX_LAYERS = 64 };

/* A function as it is called from one frame, or a loop in it, of which each step counts as a call.
 */
typedef struct Call {
  Str function, file;            /* of the callee */
  int32_t caller;                /* number of the frame that calls it */
  int32_t first_line, last_line; /* of the loop's step; 0 = the whole function */
} Call;

/* How often a function, or the step of a loop in it, is called from one frame. */
typedef struct CallSite {
  uint32_t call; /* of the finder's calls */
  int32_t caller;
  uint32_t most_calls;           /* UINT32_MAX = nothing tells */
  int32_t first_line, last_line; /* of the step, if the function may have a loop instead; else 0 */
} CallSite;

typedef struct Finder {
  const ForwardPart *forward;
  LayersList *found;
  VEC(Call) calls; /* one for each function: its first call; behind them those of loops */
  VEC(CallSite) sites;
  SchedPos *positions; /* by InstId; NO_ID = not in the sequence */
  InstId *named;       /* by InstId: what has the metadata for it, itself or one inside of it */
  bool *is_derived;    /* by InstId: computed from a parameter of the computation */
  bool *is_of_floats;  /* by InstId: from a parameter, or an element of one, of floats */
  bool *is_product;    /* by InstId: find_products() */
  bool *is_copy;       /* by InstId: for the backward part, of what the forward part has, too */
  Arena *out, *scratch;
} Finder;

/* What tells one instruction of a function from the others: where it was traced, and what it is. */
typedef struct Role {
  uint64_t key;
  uint32_t count;
  SchedPos first, last;
} Role;

typedef struct Roles {
  VEC(Role) list;
  IdTable table;
} Roles;

/* How often each frame occurs among the instructions that are computed from the arguments, those
 * within fusions included, up to the turn, where the last call may end. Masks and the like are left
 * out: XLA merges what is alike in all calls.
 */
typedef struct FrameCounts {
  uint32_t *of; /* by number of the frame */
} FrameCounts;

/* ---- call_roles.c ---- */

/* The number of the frame from which a function is called on this stack, 0 = it is not on it. Of
 * several, the outermost call counts. */
int32_t call_on_stack(const Module *module, int32_t number, const Call *call);

/* The number of the frame of the function itself there, 0 = it is not on the stack. */
int32_t call_frame(const Module *module, int32_t number, const Call *call);

/* Whether an operation was traced in a function of a library that JAX traces once, such as relu:
 * its stack is that of the first call, which may be anywhere. */
bool frame_is_of_first_call(const Module *module, InstId id);

/* Numbers in names are left out, because scopes of repetitions differ in them. */
uint64_t role_key(const Finder *finder, InstId id);
uint64_t role_key_of(const Module *module, InstId id);
Role *role_of(Roles *roles, uint64_t key, SchedPos pos, Arena *arena);
void roles_add(Roles *roles, uint64_t key, SchedPos pos, Arena *arena);

/* Whether an instruction tells calls apart. */
bool role_tells_calls(const Finder *finder, InstId id);

/* The role that marks where each call begins, and its count is how often the function is called, at
 * most so often. */
Role roles_begin(const Finder *finder, const Layers *layers, const Roles *roles,
                 uint32_t most_calls);

/* Whether an instruction computes something; of a fusion, something that is not only there because
 * XLA writes it so. */
bool layer_is_work(const Module *module, InstId id);
bool layer_is_inner_work(const Module *module, InstId id);

/* Whether an instruction only gives another form to what the computation is given: an order that
 * goes by breadth does that to all weights before the first call. */
bool layer_is_form_of_given(const Module *module, InstId id);

/* Whether the forward part reads a value. */
bool finder_is_read_early(const Finder *finder, InstId id);

bool layer_is_float(const Module *module, InstId id);

/* Fill in the finder's fields of these names. */
void finder_find_derived(Finder *finder);
void finder_find_copies(Finder *finder);

FrameCounts frame_counts_of(const Finder *finder);

/* The function is not called more often from `caller`. */
uint32_t frame_counts_most_calls(const Module *module, const FrameCounts *counts, const Call *call,
                                 int32_t caller);

/* A call that what is at a position reads something of; NO_ID if there is none. */
uint32_t call_read(const Finder *finder, const Layers *layers, SchedPos pos);

/* ---- loop_steps.c ---- */

/* Finds the sites of the calls, and adds the loops in functions to the calls. */
void loop_steps_find(Finder *finder);

/* The site of a call; NULL if it is not known. */
const CallSite *call_site_of(const Finder *finder, uint32_t call, int32_t caller);

/* ---- traced_lines.c ---- */

/* Operations that were traced at one frame under one name. */
typedef struct Traced {
  uint64_t key;
  int32_t frame;
  uint32_t num_early, num_late; /* how many values, up to the turn and behind it */
  IdVec early, late;            /* at which positions of the sequence, each once */
} Traced;

typedef struct TracedList {
  VEC(Traced) list;
  IdTable table;
} TracedList;

/* All operations, those within fusions included, whose frames tell where they belong to. */
TracedList traced_find(const Finder *finder);

/* A line of a function, with what was traced there or in what it calls there. */
typedef struct TracedLine {
  int32_t line, end_line;
  IdVec traced; /* indices */
  IdVec counts; /* how often each is executed */
  uint32_t count;
  bool is_early;        /* something of it is in the forward part */
  SchedPos first, last; /* there; NO_ID if nothing that tells calls apart is */
  bool is_core;         /* it is executed in nearly each step of a loop */
} TracedLine;

typedef struct TracedLines {
  VEC(TracedLine) list;
} TracedLines;

/* The number that most of some counts are, the larger one of several; 0 if there are none. */
uint32_t counts_mode(const IdVec *counts);

/* The line, which is made if need be. */
TracedLine *traced_line(TracedLines *lines, int32_t line, Arena *arena);
void traced_line_add(TracedLine *line, const TracedList *traced, uint32_t index, uint32_t count,
                     Arena *arena);

/* ---- layer_calls.c ---- */

void layers_add_functions(Finder *finder);

/* By position: no instance. */
uint32_t *layers_new_instances(const Finder *finder);

/* ---- layer_borders.c ---- */

/* Moves the borders between calls, from number `first` up to `end`, and the next one each to where
 * the fewest bytes are handed on. `count` is how often what each call has is there. */
void layers_move_borders(const Finder *finder, Layers *layers, uint32_t count, uint32_t first,
                         uint32_t end);

/* What has no place in the program, such as a conversion that XLA adds or a call of a kernel that
 * it makes of several operations, goes with what it is computed from. */
void layers_add_nameless(const Finder *finder, Layers *layers);

/* What a call has by its position only goes to the call that reads it. */
void layers_settle_early(const Finder *finder, Layers *layers);

/* ---- layer_scopes.c ---- */

void layers_add_scopes(Finder *finder);

/* The text with `*` in place of each number. */
Str scope_starred(Str text, Arena *out);

/* The path of the scope that an instruction is in, down to the first part with a number and `below`
 * parts more. Empty if there is none. */
Str scope_numbered_path(const Module *module, InstId id, uint32_t below, Arena *out);

#endif
