/* What a module is compiled for, as far as memory depends on it. */
#ifndef REMAT_HLO_IR_TARGET_H
#define REMAT_HLO_IR_TARGET_H

#include "ir/shape.h"

typedef struct Target {
  const char *name;
  const char *summary;
  int64_t alignment;      /* of what is placed in a heap, bytes */
  bool pads_tiles;        /* an array takes whole tiles, where its layout has some */
  bool has_dynamic_sizes; /* an array with dynamic dimensions is followed by 4 bytes for each */
  bool gpu_sharing; /* whether a result may take its operand's place is asked of GpuAliasInfo */
} Target;

extern const Target known_targets[]; /* the first one is the default */
extern const size_t num_known_targets;

/* NULL when there is none of this name. */
const Target *target_find(const char *name);

/* What an array or a table of pointers takes; -1 when it overflows. */
int64_t target_bytes(const Target *target, const Shape *shape);

/* The same array in the layout that takes the fewest bytes: other dimensions may be the two that
 * are minor-most in memory, the others keep their order. Its own shape when nothing takes less. */
ShapeId target_compact_shape(const Target *target, ShapeTable *table, ShapeId shape);

#endif
