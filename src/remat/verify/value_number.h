/* Value numbering: two expressions, of one module or of two, get the same number if and only if
 * they apply the same operations to the same operands (hash-consing; Cocke and Schwartz, 1970).
 * Numbers are ids of nodes. A node is an operation together with the numbers of its operands: in
 * both modules, `add(p0, p0)` is the node (add, n, n), where n is the number of parameter 0. */
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
} NodeKind;

typedef struct Node {
  uint8_t kind;
  ShapeId shape; /* in Numbering.shapes; NO_ID for a function */
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
  VEC(Str) texts;
  IdTable text_table;
} Numbering;

Numbering numbering_make(Arena *out);

/* Adds the module's shapes to the numbering's table, and returns their ids there, by ShapeId. */
ShapeId *numbering_import_shapes(Numbering *numbering, const Module *module, Arena *out);

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

static inline const Node *numbered_node(const Numbering *numbering, ValueNumber number) {
  return &numbering->nodes.data[number];
}
static inline const ValueNumber *node_args(const Numbering *numbering, ValueNumber number) {
  return numbering->args.data + numbering->nodes.data[number].args;
}

#endif
