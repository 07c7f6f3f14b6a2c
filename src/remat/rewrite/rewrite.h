/* Changes to a module that all algorithms share. The names, channels and called computations of
 * clones are the same as those that XLA gives them. */
#ifndef REMAT_HLO_REMAT_REWRITE_REWRITE_H
#define REMAT_HLO_REMAT_REWRITE_REWRITE_H

#include "ir/names.h"
#include "ir/schedule.h"
#include "ir/written_shape.h"

typedef VEC(InstId) InstMap; /* by InstId; an id beyond its end maps to NO_ID */

typedef struct Rewrite {
  Module *module;
  NameSet inst_names;
  NameSet comp_names;
  WrittenShapes written;
  int64_t next_channel_id; /* hlo_query::NextChannelId */
  InstMap cloned_from;     /* for a clone, the instruction that it recomputes; else NO_ID */
  InstMap copied_from;     /* for a new copy, the instruction whose value it holds; else NO_ID */
  InstMap callee_original; /* for an instruction of a callee's clone, the original instruction in
                              the callee; else NO_ID (remat/job/clone_callees.h) */
  InstMap inner_of; /* for an instruction in a copied computation, the instruction that it is a copy
                       of; else NO_ID */
  VEC(InstId) image;     /* by InstId, for the computation that is being copied: the copies */
  VEC(uint32_t) visited; /* by InstId, for inst_post_order() */
  bool any_rounding;     /* fusions may be merged and cut where that changes how their sums round */
  bool starts_kernels;   /* each fusion is a kernel, which takes longer to start than a few thousand
                            elements take to compute: XLA:GPU */
  bool drops_control; /* dead code goes together with its control dependencies, which the order of
                        the sequences restates */
} Rewrite;

/* The names are allocated in the module's arena. */
Rewrite rewrite_begin(Module *module);

/* The same for a copy of the module, which lasts as long as `out`. */
Rewrite rewrite_begin_copy(Module *module, Arena *out);

/* Gives the names of what has been removed free, so that the names that follow depend only on what
 * is there: applying a plan does not make what a search has removed again. */
void rewrite_free_names(Rewrite *rewrite);

/* The shape of a new scalar, as the module writes scalars of the type. */
ShapeId rewrite_scalar(Rewrite *rewrite, ElementType type);

/* Clones an instruction for recomputation: `x.remat`, with the same operands and, if it has a
 * channel id, a new one. A fusion gets its own copy of the computation that it calls; other called
 * computations are shared. Control dependencies are left to the caller. */
InstId rewrite_clone(Rewrite *rewrite, InstId original, Arena *scratch);

/* Returns the instruction that a clone recomputes, NO_ID for an instruction that is not a clone. */
static inline InstId rewrite_original(const Rewrite *rewrite, InstId clone) {
  return clone < rewrite->cloned_from.len ? rewrite->cloned_from.data[clone] : NO_ID;
}

/* Follows a chain of clones of clones back to the instruction that the first clone was made from.
 * Returns `id` for an instruction that is not a clone. */
static inline InstId rewrite_first_original(const Rewrite *rewrite, InstId id) {
  while (rewrite_original(rewrite, id) != NO_ID)
    id = rewrite_original(rewrite, id);
  return id;
}

/* Returns the instruction whose value a clone or a new copy holds, NO_ID for any other
 * instruction. */
static inline InstId rewrite_value_source(const Rewrite *rewrite, InstId id) {
  InstId original = rewrite_original(rewrite, id);
  if (original != NO_ID || id >= rewrite->copied_from.len) return original;
  return rewrite->copied_from.data[id];
}

/* Follows an instruction of a copied computation back to the instruction that it is a copy of, and
 * so on from there. Returns the first instruction on this path with an id below `num_old`. */
static inline InstId rewrite_inner_original(const Rewrite *rewrite, InstId id, uint32_t num_old) {
  while (id >= num_old && id < rewrite->inner_of.len)
    id = rewrite->inner_of.data[id];
  return id;
}

/* Records that `id`, an instruction of a callee's clone, is a copy of `of_callee`, an instruction
 * of the computation that was cloned. That computation may itself be a clone. */
void rewrite_set_callee_original(Rewrite *rewrite, InstId id, InstId of_callee);

/* Records that an instruction of a copied computation recomputes what it is a copy of. */
void rewrite_mark_clone(Rewrite *rewrite, InstId copy);

/* Returns, for an instruction of a callee's clone, the instruction of the input module that it is a
 * copy of, and for any other instruction `id` itself. */
static inline InstId rewrite_callee_original(const Rewrite *rewrite, InstId id) {
  InstId original = id < rewrite->callee_original.len ? rewrite->callee_original.data[id] : NO_ID;
  return original == NO_ID ? id : original;
}

/* Clones an instruction for recomputation in another computation, where it reads `operands`, as
 * many as the original has. It gets its own copies of all computations that it calls, because their
 * text may come after that of `comp`. Those that run as sequences are in the order of `schedule`.
 */
InstId rewrite_clone_into(Rewrite *rewrite, InstId original, CompId comp, const InstId *operands,
                          const Schedule *schedule, Arena *scratch);

/* Clones an instruction for recomputation beside the original, also one that runs computations: it
 * gets its own copies of these, as in rewrite_clone_into(). */
InstId rewrite_repeat(Rewrite *rewrite, InstId original, const Schedule *schedule, Arena *scratch);

/* Copies a computation, as `x.clone`, together with the computations of its fusions. If `schedule`
 * is not NULL, the instructions of the copy are in its order. */
CompId rewrite_clone_computation(Rewrite *rewrite, CompId original, const Schedule *schedule,
                                 Arena *scratch);

/* Copies the instructions of an expression, the computation of a fusion, into another one, with its
 * parameters, which the caller must replace. Returns the copy of the root; `image` has the copies.
 */
InstId rewrite_copy_expression(Rewrite *rewrite, CompId from, CompId to, Arena *scratch);

/* Puts the instructions of an expression in an order in which operands come before users, as its
 * text must have them. */
void rewrite_order_expression(Rewrite *rewrite, CompId comp, Arena *scratch);

/* As rewrite_clone_computation(), for one that runs as a sequence: all computations that it calls,
 * and these in turn, are copied, too, because XLA wants each of them to have one caller. */
CompId rewrite_clone_sequence(Rewrite *rewrite, CompId original, const Schedule *schedule,
                              Arena *scratch);

/* Makes a caller call another computation. If the caller starts an asynchronous operation, the
 * instructions that continue the operation are changed in the same way. */
void rewrite_set_callee(Rewrite *rewrite, InstId caller, uint32_t index, CompId callee,
                        Arena *scratch);

/* The ids of new instructions: begin … end - 1. */
typedef struct NewInsts {
  InstId begin, end;
} NewInsts;

/* Replaces an asynchronous operation, from its start to the instruction that ends it and is all
 * that reads the start, by what it runs, which takes the place of either. The result gets the name
 * of `done`. */
NewInsts rewrite_unwrap(Rewrite *rewrite, InstId start, InstId done, const Schedule *schedule,
                        Arena *scratch);

/* Replaces a call or a fusion by copies of the instructions of its called computation. The call is
 * removed, and its users read the copy of the computation's root instead. The copies are in the
 * order that `schedule` has for the called computation or, if it has none, in XLA's post order.
 * Their names get `suffix`; NULL = they keep their names, because the called computation is removed
 * too. */
NewInsts rewrite_inline(Rewrite *rewrite, InstId call, const Schedule *schedule, const char *suffix,
                        Arena *scratch);

/* Adds a helper instruction for clones, named after its opcode: `tuple.remat`. The name in `spec`
 * is ignored. */
InstId rewrite_add_helper(Rewrite *rewrite, CompId comp, InstSpec spec);

/* Copies an instruction into another computation, `comp`, where it reads `operands`. The copy has
 * the same name, and is a clone or copy of the same instruction as before. The caller must remove
 * the instruction from its old computation. */
InstId rewrite_move(Rewrite *rewrite, InstId id, CompId comp, const InstId *operands);

/* Add helper instructions for a clone: a get-tuple-element that takes element `index` of a tuple,
 * the same where the tuple is to get an element of this shape, and a bitcast of the operand to
 * another shape. */
InstId rewrite_add_get_tuple_element(Rewrite *rewrite, InstId tuple, int64_t index);
InstId rewrite_add_element(Rewrite *rewrite, InstId tuple, int64_t index, ShapeId shape);
InstId rewrite_add_bitcast(Rewrite *rewrite, InstId operand, ShapeId shape);

/* Adds a copy of `operand` with another layout, or a conversion of it to another element type. It
 * is named after `original`, with a suffix. It holds the value of `original`, but does not
 * recompute it. */
InstId rewrite_add_copy(Rewrite *rewrite, InstId operand, ShapeId shape, InstId original,
                        const char *suffix, Arena *scratch);

/* Add the two halves of an asynchronous copy. The shape of the start is (`to`, the operand's,
 * u32[]). Both halves hold the value of `original` without recomputing it, and have the names that
 * XLA gives them. */
InstId rewrite_add_copy_start(Rewrite *rewrite, InstId operand, ShapeId to, InstId original);
InstId rewrite_add_copy_done(Rewrite *rewrite, InstId start, InstId original);

/* Calls module_set_operand(). A compact get-tuple-element is renamed after its new operand. */
void rewrite_set_operand(Rewrite *rewrite, InstId user, uint32_t index, InstId operand);

/* Makes a get-tuple-element take another element. Its own shape is not changed. */
void rewrite_set_tuple_index(Rewrite *rewrite, InstId gte, int64_t index);

/* Gives an instruction another shape, which its users' texts name, too. */
void rewrite_set_shape(Rewrite *rewrite, InstId id, ShapeId shape);

/* Renames an instruction. The name must be free and stay valid. Elements of it that are written
 * `x#1` are renamed too. */
void rewrite_rename(Rewrite *rewrite, InstId id, Str name);

/* Gives a get-tuple-element that is written `x#1` a line of its own and a name, which must be free
 * and stay valid. */
void rewrite_write_out(Rewrite *rewrite, InstId gte, Str name);

/* A get-tuple-element may be written `x#1` only if it is neither a root nor a control predecessor,
 * and if it is the only one that is written so. This function gives all others, which come from
 * inlining or shrunk fusions, a line of their own. It must be called before the module is printed.
 * O(instructions + users). */
void rewrite_write_out_elements(Rewrite *rewrite, Arena *scratch);

/* The FusionKind of a fusion: a loop if it is a new one, otherwise what its text says. */
int64_t rewrite_fusion_kind(const Module *module, InstId fusion);

/* Makes every user of `old` read `new_operand` instead. If `old` is the root of its computation,
 * `new_operand` becomes the root. */
void rewrite_replace_all_uses(Rewrite *rewrite, InstId old, InstId new_operand, Arena *scratch);

#endif
