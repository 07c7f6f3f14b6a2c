/* Changing a module: what all algorithms share. Names, channels and called computations of clones
 * come out as XLA makes them. */
#ifndef REMAT_HLO_REMAT_REWRITE_REWRITE_H
#define REMAT_HLO_REMAT_REWRITE_REWRITE_H

#include "ir/names.h"
#include "ir/schedule.h"

typedef VEC(InstId) InstMap; /* by InstId; behind its end all is NO_ID */

typedef struct Rewrite {
  Module *module;
  NameSet inst_names;
  NameSet comp_names;
  int64_t next_channel_id; /* hlo_query::NextChannelId */
  InstMap cloned_from;     /* what a clone computes again, NO_ID for anything else */
  InstMap copied_from;     /* what a new copy stands for, likewise */
  InstMap callee_original; /* for an instruction of a callee's clone, the original instruction in
                              the callee; else NO_ID (remat/job/clone_callees.h) */
  InstMap inner_of;        /* for an instruction in a copied computation, what it is a copy of; else
                              NO_ID */
  VEC(InstId) image;       /* by InstId, for the computation that is being copied: its copies */
  VEC(uint8_t) visited;    /* by InstId, for the computation that is being walked */
} Rewrite;

/* The names live in the module's arena. */
Rewrite rewrite_begin(Module *module);

/* Clones an instruction for recomputation: `x.remat`, with the same operands and a new channel id
 * if it has one. A fusion gets its own copy of the computation that it calls, other called
 * computations are shared. Control dependencies are left to the caller. */
InstId rewrite_clone(Rewrite *rewrite, InstId original, Arena *scratch);

/* The instruction that a clone computes again, NO_ID for what is no clone. */
static inline InstId rewrite_original(const Rewrite *rewrite, InstId clone) {
  return clone < rewrite->cloned_from.len ? rewrite->cloned_from.data[clone] : NO_ID;
}

/* The instruction that the first clone of a row of clones was made from, `id` for what is no clone.
 */
static inline InstId rewrite_first_original(const Rewrite *rewrite, InstId id) {
  while (rewrite_original(rewrite, id) != NO_ID)
    id = rewrite_original(rewrite, id);
  return id;
}

/* The instruction that a clone or a new copy stands for, NO_ID for anything else. */
static inline InstId rewrite_value_source(const Rewrite *rewrite, InstId id) {
  InstId original = rewrite_original(rewrite, id);
  if (original != NO_ID || id >= rewrite->copied_from.len) return original;
  return rewrite->copied_from.data[id];
}

/* The first instruction with an id below `num_old` in the row that begins with `id`: what it is a
 * copy of as part of a copied computation, what that is a copy of, and so on. */
static inline InstId rewrite_inner_original(const Rewrite *rewrite, InstId id, uint32_t num_old) {
  while (id >= num_old && id < rewrite->inner_of.len)
    id = rewrite->inner_of.data[id];
  return id;
}

/* Records that `id`, an instruction of a callee's clone, is a copy of `of_callee`, an instruction
 * of the computation that was cloned. That one may be a clone itself. */
void rewrite_set_callee_original(Rewrite *rewrite, InstId id, InstId of_callee);

/* For an instruction of a callee's clone, the instruction of the input module that it is a copy of;
 * `id` itself for any other instruction. */
static inline InstId rewrite_callee_original(const Rewrite *rewrite, InstId id) {
  InstId original = id < rewrite->callee_original.len ? rewrite->callee_original.data[id] : NO_ID;
  return original == NO_ID ? id : original;
}

/* A copy of a computation, `x.clone`, with copies of its fusions' computations; in the order of the
 * schedule, if there is one. */
CompId rewrite_clone_computation(Rewrite *rewrite, CompId original, const Schedule *schedule,
                                 Arena *scratch);

/* Makes a caller call another computation; what continues an asynchronous operation says the same.
 */
void rewrite_set_callee(Rewrite *rewrite, InstId caller, uint32_t index, CompId callee,
                        Arena *scratch);

/* New instructions have ids begin … end - 1. */
typedef struct NewInsts {
  InstId begin, end;
} NewInsts;

/* Puts copies of a called computation's instructions in the place of the call, or fusion, which
 * dies: whoever read it reads the copy of the computation's result. The copies, in the
 * computation's order by `schedule` or, where that has none, in XLA's post order, are named with
 * `suffix`; NULL = they keep their names, because the computation dies too. */
NewInsts rewrite_inline(Rewrite *rewrite, InstId call, const Schedule *schedule, const char *suffix,
                        Arena *scratch);

/* A helper of clones, named after its opcode: `tuple.remat`. The spec's name is disregarded. */
InstId rewrite_add_helper(Rewrite *rewrite, CompId comp, InstSpec spec);

/* An instruction in another computation, `comp`, where it reads `operands`: a copy under the same
 * name that stands for what it stood for. Removing it where it was is left to the caller. */
InstId rewrite_move(Rewrite *rewrite, InstId id, CompId comp, const InstId *operands);

/* Helpers of a clone: element `index` of a tuple; the operand seen with another shape. */
InstId rewrite_add_get_tuple_element(Rewrite *rewrite, InstId tuple, int64_t index);
InstId rewrite_add_bitcast(Rewrite *rewrite, InstId operand, ShapeId shape);

/* A copy of `operand` with another layout, or the same converted to another element type, named
 * `original` with a suffix. It stands for the original, but does not compute it again. */
InstId rewrite_add_copy(Rewrite *rewrite, InstId operand, ShapeId shape, InstId original,
                        const char *suffix, Arena *scratch);

/* An asynchronous copy in two halves: the start's shape is (`to`, the operand's, u32[]). They stand
 * for the original likewise, under XLA's names. */
InstId rewrite_add_copy_start(Rewrite *rewrite, InstId operand, ShapeId to, InstId original);
InstId rewrite_add_copy_done(Rewrite *rewrite, InstId start, InstId original);

/* module_set_operand; a compact get-tuple-element takes the name of its new operand. */
void rewrite_set_operand(Rewrite *rewrite, InstId user, uint32_t index, InstId operand);

/* Makes a get-tuple-element take another element; its own shape stays. */
void rewrite_set_tuple_index(Rewrite *rewrite, InstId gte, int64_t index);

/* The name must be free and stay valid; what is written `x#1` is renamed with x. */
void rewrite_rename(Rewrite *rewrite, InstId id, Str name);

/* Gives a get-tuple-element written `x#1` a line of its own; the name must be free and stay valid.
 */
void rewrite_write_out(Rewrite *rewrite, InstId gte, Str name);

/* What is written `x#1` is nobody's root or control predecessor, and there is one of it: gives a
 * line to the others, which come from inlining or shrunk fusions. To be called before the module is
 * printed. O(instructions + users). */
void rewrite_write_out_elements(Rewrite *rewrite, Arena *scratch);

/* Every use of `old` reads `new` instead; if `old` is its computation's root, `new` becomes that.
 */
void rewrite_replace_all_uses(Rewrite *rewrite, InstId old, InstId new_operand, Arena *scratch);

#endif
