/* Targets: the properties of the platforms that a module can be compiled for, as far as its memory
 * depends on them. */
#ifndef REMAT_HLO_IR_TARGET_H
#define REMAT_HLO_IR_TARGET_H

#include "ir/shape.h"

typedef struct Target {
  const char *name;
  const char *summary;
  int64_t alignment;      /* alignment of the values in a heap, in bytes */
  bool pads_tiles;        /* an array occupies whole tiles if its layout has tiles */
  bool has_dynamic_sizes; /* 4 bytes for each dynamic dimension follow an array */
  bool gpu_sharing; /* GpuAliasInfo decides whether a result may share the buffer of an operand */
  bool removes_barriers; /* between scheduling and buffer assignment, with the tuples around them */
} Target;

extern const Target known_targets[]; /* the first one is the default */
extern const size_t num_known_targets;

/* Returns NULL if there is no target of this name. */
const Target *target_find(const char *name);

/* Returns the bytes of an array or of a table of pointers, or -1 on overflow. */
int64_t target_bytes(const Target *target, const Shape *shape);

/* Returns the same array in the layout that needs the fewest bytes. Other dimensions may become the
 * two that are minor-most in memory; the remaining ones keep their order. Returns `shape` itself if
 * no layout needs less. */
ShapeId target_compact_shape(const Target *target, ShapeTable *table, ShapeId shape);

#endif
