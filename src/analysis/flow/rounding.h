/* How the instructions of a compiled function round.
 *
 * Code generators contract a multiplication and an addition of its result into one instruction that
 * rounds once (LLVM's AllowFPOpFusion=Fast, which XLA:CPU sets), within one function: a
 * fusion, or a call that XLA:CPU compiles alone. How an instruction rounds is then a matter of the
 * function that it is in. Four cases are told apart:
 *   - ROUND_ALONE: no product of the function can be contracted with it. It rounds as HLO says.
 *   - ROUND_WITH_PRODUCT: exactly one operand is a product of the same function, or passes one on.
 *     That product is contracted wherever both are in one function.
 *     Of a difference of two products, a*b - c*d, it is the one on the left.
 *   - ROUND_WITH_SHARED: one operand is a product that something else of the function certainly
 *     reads, and no other is one. A processor leaves it, or contracts it with all of its readers
 *     (LLVM's enableAggressiveFMAFusion), but in every function in the same way. Beside a product
 *     that nothing else reads, which comes first, it does not count.
 *   - ROUND_BY_FUNCTION: several products compete, such as those of a*b + c*d, or something else
 *     decides that depends on details of the backend: the product may have other users, which may
 *     also be removed, it does not depend on the innermost loop and may be moved out of it, the
 *     instruction adds up many numbers itself, or it is an erf, of which XLA:CPU's code generators
 *     have two expansions. LLVM sorts the operands of a sum by ranks that every other instruction
 *     of the function can change (llvm/lib/Transforms/Scalar/Reassociate.cpp: operands are made
 *     canonical), and contracts the first product that has no other user
 *     (llvm/lib/CodeGen/SelectionDAG/DAGCombiner.cpp, visitFADDForFMACombine). The same rounding is
 *     then certain only in the same function.
 *
 * XLA:GPU and XLA:TPU contract nothing (Target.excess): there only what adds by itself, in an order
 * that is not known to be the same in every function, is not ROUND_ALONE, and on TPU what reads a
 * value of a narrow type, such as bf16, that the same function computes: its LLO leaves out the
 * rounding between the two, and which ones depends on the function (ROUND_BY_FUNCTION).
 *
 * Example: of a*b + c the case is ROUND_WITH_PRODUCT, of p + c, where p is a parameter of the
 * function, ROUND_ALONE, and of a*b + c*d ROUND_BY_FUNCTION. Where p = c*d, and p*e is added to
 * a*b + p, as in the derivative of gelu, both sums are ROUND_WITH_PRODUCT: p has two readers. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_ROUNDING_H
#define REMAT_HLO_ANALYSIS_FLOW_ROUNDING_H

#include "ir/module.h"

typedef enum RoundingKind {
  ROUND_ALONE,
  ROUND_WITH_PRODUCT,
  ROUND_WITH_SHARED,
  ROUND_BY_FUNCTION,
} RoundingKind;

typedef struct Rounding {
  uint8_t kind;    /* RoundingKind */
  uint8_t operand; /* of ROUND_WITH_…: the operand that is a product, 0 or 1 */
} Rounding;

/* How the instructions of one computation that is compiled within a function round. */
typedef struct FunctionRounding {
  const uint32_t *place; /* by InstId, for instructions of the computation: index in `of` */
  Rounding *of;          /* by place */
  const bool *is_needed; /* by place: a result depends on it */
  VEC(uint64_t)
  products;                 /* hashes of what a sum may be contracted with: equal ones, also in
                               different fusions, for products that LLVM may compute once */
  bool root_may_be_product; /* a sum that reads the result may be contracted with it */
  bool root_is_whole; /* the result is computed from a parameter without a broadcast, so that it
                         depends on the index of the innermost loop */
  bool has_products;  /* some instruction is ROUND_WITH_PRODUCT */
  bool is_settled;    /* none is ROUND_BY_FUNCTION: the instructions round alike in every
                         function in which they have the same operands */
  bool is_rigid;      /* complex numbers are multiplied, and each product is a sum of products:
                         not even the size of an array may change of which only a slice is read.
                         Seen on XLA:CPU of JAX 0.12.0.1; the reason is not known */
} FunctionRounding;

/* The memory that an operand is read from: equal numbers for values that XLA passes to a function
 * as one array. LLVM computes once what a function computes twice from one array. */
uint64_t rounding_memory_of(const Module *module, InstId operand);

/* `caller`: the fusion that the computation belongs to; NO_ID if it is called otherwise.
 * `is_nested`: other computations of the same function call this one, so that its parameters may be
 * products. `place`, by InstId, is space: what it holds for the computation's instructions is
 * overwritten, and the result refers to it. `of` is in `out`; what is needed meanwhile is in
 * `scratch`, and may be the same arena. O(instructions). */
FunctionRounding rounding_of(const Module *module, CompId comp, InstId caller, bool is_nested,
                             ExcessPrecision excess, uint32_t *place, Arena *out, Arena *scratch);

/* The same for the computation of a fusion. */
FunctionRounding rounding_of_fusion(const Module *module, InstId fusion, Arena *out);

/* Whether the computation of a fusion is settled. */
bool rounding_is_settled(const Module *module, InstId fusion, Arena *scratch);

/* Whether what some values in the computation of a fusion are computed from rounds alike in a
 * fusion that has nothing but these as its results. */
bool rounding_is_separable(const Module *module, InstId fusion, const InstId *results,
                           uint32_t num_results, Arena *scratch);

/* Whether the functions may compute the same product, which then has a reader more if one function
 * computes both. */
bool rounding_shares_products(const FunctionRounding *a, const FunctionRounding *b);

/* Whether the fusion is a kernel that another code generator makes than that of loops: Triton of
 * XLA:GPU, YNNPACK of XLA:CPU. These have elementary functions of their own: tanh, erf and logistic
 * are other instructions in Triton's PTX (JAX 0.12.0.1, H100). All that it computes then rounds as
 * the whole of it does. */
bool rounding_is_opaque(const Module *module, InstId caller);

/* Whether the result of the instruction may be rounded at all. */
bool rounding_may_round(const Module *module, InstId id);

/* Whether the instruction may be contracted with a product among its operands. */
bool rounding_takes_products(const Module *module, InstId id);

/* Whether the instruction, if it were in one function with an operand, could read it before it is
 * rounded, as the module is compiled. */
bool rounding_takes_unrounded(const Module *module, InstId id);

/* Whether the elements are real numbers of fewer bits than a word has. */
bool rounding_is_narrow(const Shape *shape);

/* Whether the instruction only moves or selects elements, or changes a sign, so that a product
 * among its operands may still be contracted with a sum that reads its result. */
bool rounding_passes_products(Opcode opcode);

#endif
