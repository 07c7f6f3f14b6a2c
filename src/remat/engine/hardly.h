/* Whether a result that misses its budget is worth having. */
#ifndef REMAT_HLO_REMAT_ENGINE_HARDLY_H
#define REMAT_HLO_REMAT_ENGINE_HARDLY_H

#include <stdbool.h>
#include <stdint.h>

/* What a result is compared by: bytes are those that the budget bounds, seconds are modelled. */
typedef struct HardlyFigures {
  int64_t before_bytes, after_bytes, limit_bytes;
  double before_seconds, after_seconds;
} HardlyFigures;

/* A result hardly helps if all of this holds: it misses a limit above 0, it frees less than a tenth
 * of the bytes that the limit asks for, and it adds a larger share to the time than it takes from
 * the memory. A limit of 0 asks for as little as is possible, and there is nothing to miss. */
bool hardly_helps(const HardlyFigures *figures);

#endif
