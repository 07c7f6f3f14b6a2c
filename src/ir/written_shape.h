/* The layouts that a module writes. A backend may give each kind of array a layout with tiles, as
 * XLA:TPU does even for scalars (`s32[]{:T(128)}`), and XLA refuses a module in which a caller and
 * a callee write one value in two ways. So whatever is new in a module takes the layout that its
 * kind of array has there. */
#ifndef REMAT_HLO_IR_WRITTEN_SHAPE_H
#define REMAT_HLO_IR_WRITTEN_SHAPE_H

#include "ir/module.h"

typedef struct WrittenShapes {
  ShapeId scalars[NUM_TYPES]; /* the commonest in device memory; NO_ID = the module has none */
  int64_t tile_bytes;         /* the tile of the commonest scalar of all; 0 = it has none */
} WrittenShapes;

WrittenShapes written_shapes_find(const Module *module, Arena *scratch);

/* The shape of a scalar. If the module has none of the type, the tile has as many bytes as that of
 * other scalars: XLA:TPU writes T(128) for 32 bits and T(256) for 16. */
ShapeId written_scalar(const WrittenShapes *written, ShapeTable *table, ElementType type);

/* The shape of what an asynchronous copy knows of itself, the last element of a copy-start. XLA:TPU
 * has it in a memory of its own: `u32[]{:S(2)}`. */
ShapeId written_context(const WrittenShapes *written, ShapeTable *table);

/* The shape of an array in device memory, which `spec` describes but for its tiles: those of an
 * array in the table that has its type, its order of dimensions and the sizes of its two most minor
 * dimensions. If there is none, the array keeps the tiles of `spec`, and one without tiles stays
 * so. */
ShapeId written_array(ShapeTable *table, const ArraySpec *spec);

#endif
