/* What stands in memory, from the definitions: the judges of peaks share it with each other and
 * with nothing else. It knows the opcodes that generate.h makes, and no others. */
#ifndef REMAT_HLO_TESTS_BUFFERS_H
#define REMAT_HLO_TESTS_BUFFERS_H

#include "ir/module.h"

/* A part of what an instruction gives. */
typedef struct Place {
  InstId inst;
  uint32_t part;
} Place;

static inline bool place_equal(Place a, Place b) {
  return a.inst == b.inst && a.part == b.part;
}

/* Where the memory comes from that holds a part: the instruction itself, or what it hands on. */
Place place_source(const Module *module, Place place);

ShapeId place_shape(const Module *module, Place place);

/* Bytes of an array, or of a tuple's table of pointers. */
int64_t place_bytes(const Module *module, Place place);

/* The number of the part at which an element of a tuple begins. */
uint32_t element_part(const Module *module, InstId tuple, int64_t index);

bool has_operand(const Module *module, InstId id, InstId operand);

#endif
