/* Value numbering: two expressions, of one module or of two, get the same number if and only if
 * they apply the same operations to the same operands (hash-consing; Cocke and Schwartz, 1970).
 * Numbers are ids of nodes. A node is an operation together with the numbers of its operands: in
 * both modules, `add(p0, p0)` is the node (add, n, n), where n is the number of parameter 0.
 *
 * Loops have nodes of their own. A loop is a recurrence: the state x(t) after t iterations, of
 * which x(0) is given and x(t + 1) = step(x(t), t). While a loop's body is evaluated, the elements
 * of its state and the number of its iteration are variables of a certain depth: 1 for an outermost
 * loop, 2 for a loop in its body. When the body has been evaluated, these variables are replaced by
 * formal ones, of depth 0, and so are the values from outside of the loop. The result is a system:
 * a closed term, which does not depend on how the loop is written (remat/verify/recurrence.h). */
#ifndef REMAT_HLO_REMAT_VERIFY_VALUE_NUMBER_H
#define REMAT_HLO_REMAT_VERIFY_VALUE_NUMBER_H

#include "ir/module.h"

typedef uint32_t ValueNumber;

typedef enum NodeKind {
  NODE_PARAMETER, /* detail: parameter number */
  NODE_TUPLE,     /* args: elements */
  NODE_ELEMENT,   /* detail: index; args: the tuple */
  NODE_BITCAST,   /* detail: the operand's shape, layout included; args: the operand */
  NODE_OPERATION, /* detail: text of opcode and attributes; args: operands, then called functions */
  NODE_FUNCTION,  /* a computation; detail: number of parameters; args: result, then side effects */
  NODE_TAGGED,    /* detail: text; args: a value, then numbers that are no values */
  NODE_LINEAR,    /* an integer: a constant plus multiples of symbols; remat/verify/linear.h */
  NODE_STATE,     /* an element of a loop's state; detail: which; args: depth */
  NODE_TIME,     /* the number of a loop's iteration; args: depth, number of iterations (2 words) */
  NODE_OUTER,    /* in a system: a value from outside of the loop; detail: which */
  NODE_SYSTEM,   /* args: the next state; detail: see system_make() in remat/verify/recurrence.c */
  NODE_ITERATED, /* element 0 of a system's state after some iterations; args: the system, the
                    number of the first iteration, how many, the first state, the outer values */
} NodeKind;

/* What a node depends on, itself or through its arguments. */
enum NodeFlag {
  NODE_HAS_PARAMETER = 1 << 0,
  NODE_HAS_FORMAL = 1 << 1, /* formal variables of a system */
  NODE_HAS_TIME = 1 << 2,   /* the formal number of the iteration */
};

typedef struct Node {
  uint8_t kind;
  uint8_t flags;  /* NodeFlag */
  uint16_t depth; /* the largest depth of a loop's variables that it depends on; 0 = none */
  ShapeId shape;  /* in Numbering.shapes; NO_ID for a function */
  uint32_t detail;
  uint32_t args; /* in Numbering.args */
  uint32_t num_args;
} Node;

typedef struct Numbering {
  Arena *arena;
  ShapeTable shapes; /* shared by all modules, so that equal shapes have equal ids */
  VEC(Node) nodes;
  VEC(ValueNumber) args;
  IdTable table;
  ValueNumber expected; /* the one after the last that was asked for, which may not exist yet */
  VEC(Str) texts;
  IdTable text_table;
  ShapeId integer; /* s64[], the shape of numbers of iterations */
} Numbering;

Numbering numbering_make(Arena *out);

/* Adds the module's shapes to the numbering's table, and returns their ids there, by ShapeId. */
ShapeId *numbering_import_shapes(Numbering *numbering, const Module *module, Arena *out);

/* A dynamic-slice or a dynamic-update-slice may convert the part that it takes or writes. The shape
 * of the part as the array has it: `part` with the type and the layout of the array. NO_ID if both
 * have the same type. */
ShapeId converted_part_shape(Numbering *numbering, const Shape *array, const Shape *part);

/* With which the text begins of an operation whose first argument is a value, and that says what is
 * noted of it and could not be shown. */
#define NOTED_BEGIN "noted("

/* What is before copies into other layouts (inst_copies_layout). */
InstId before_layout_copies(const Module *module, InstId id);

/* The shape of a part of a copy, in the layout of what was copied: copies have the number of what
 * they copy, and so is such a part one of that. NO_ID if `array` is no copy. */
ShapeId copied_part_shape(Numbering *numbering, const Module *module, InstId array,
                          const Shape *part);

/* The id of a text; equal texts have equal ids. A new text is copied. */
uint32_t number_text(Numbering *numbering, Str text);

ValueNumber number_parameter(Numbering *numbering, ShapeId shape, uint32_t number);
ValueNumber number_tuple(Numbering *numbering, ShapeId shape, const ValueNumber *elements,
                         uint32_t count);
ValueNumber number_element(Numbering *numbering, ShapeId shape, ValueNumber tuple, uint32_t index);
ValueNumber number_bitcast(Numbering *numbering, ShapeId shape, ShapeId from, ValueNumber operand);
ValueNumber number_operation(Numbering *numbering, ShapeId shape, uint32_t text,
                             const ValueNumber *args, uint32_t count);
ValueNumber number_function(Numbering *numbering, uint32_t num_params, const ValueNumber *args,
                            uint32_t count);

/* A value with a tag, so that it differs from the value itself. args[0] is the value. */
ValueNumber number_tagged(Numbering *numbering, ShapeId shape, uint32_t text,
                          const ValueNumber *args, uint32_t count);

/* Depth 0 gives the formal variables of a system. `trips` is the number of the loop's iterations.
 */
ValueNumber number_state(Numbering *numbering, ShapeId shape, uint32_t index, uint32_t depth);
ValueNumber number_time(Numbering *numbering, uint32_t depth, int64_t trips);
ValueNumber number_outer(Numbering *numbering, ShapeId shape, uint32_t index);
int64_t time_trips(const Numbering *numbering, ValueNumber time);

/* A node of kind NODE_LINEAR, NODE_SYSTEM or NODE_ITERATED. */
ValueNumber number_of_kind(Numbering *numbering, NodeKind kind, ShapeId shape, uint32_t detail,
                           const ValueNumber *args, uint32_t count);

/* The arguments of a node that are values. The place of number `index` among the arguments is
 * node_value_arg(). */
uint32_t node_num_values(const Node *node);
uint32_t node_value_arg(const Node *node, uint32_t index);

static inline const Node *numbered_node(const Numbering *numbering, ValueNumber number) {
  return &numbering->nodes.data[number];
}
static inline const ValueNumber *node_args(const Numbering *numbering, ValueNumber number) {
  return numbering->args.data + numbering->nodes.data[number].args;
}

#endif
