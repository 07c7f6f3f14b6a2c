/* Targets: the properties of the platforms that a module can be compiled for, as far as its memory
 * depends on them. */
#ifndef REMAT_HLO_IR_TARGET_H
#define REMAT_HLO_IR_TARGET_H

#include "ir/shape.h"

/* What the code generator computes with excess precision, within one function: more exactly than
 * HLO says. */
typedef enum ExcessPrecision {
  EXCESS_PRODUCTS, /* a product and a sum may become one instruction, which rounds once */
  EXCESS_NARROWED, /* a value of a narrow type, such as bf16, may be read before it is rounded to
                      that type */
  EXCESS_NONE,
} ExcessPrecision;

typedef struct Target {
  const char *name;
  const char *summary;
  int64_t alignment;      /* alignment of the values in a heap of device memory, in bytes */
  int64_t granule;        /* sizes in device memory are multiples of it */
  bool pads_tiles;        /* an array occupies whole tiles if its layout has tiles */
  bool has_dynamic_sizes; /* 4 bytes for each dynamic dimension follow an array */
  bool gpu_sharing; /* GpuAliasInfo decides whether a result may share the buffer of an operand */
  bool removes_barriers; /* between scheduling and buffer assignment, with the tuples around them */
  bool has_spaces; /* every layout with S(n), n > 0, is in memory apart from the device's; on other
                      targets only that of the host is */
  bool has_trip_counts; /* the backend_config of a loop may have known_trip_count */
  bool has_windows; /* a fusion is computed window by window, and needs one that suits all of it */
  ExcessPrecision excess;
} Target;

extern const Target known_targets[]; /* the first one is the default */
extern const size_t num_known_targets;

/* Returns NULL if there is no target of this name. */
const Target *target_find(const char *name);

/* Returns the bytes of an array or of a table of pointers in the memory where it is, or -1 on
 * overflow. */
int64_t target_bytes(const Target *target, const Shape *shape);

/* Memory spaces: S(n) of a layout is another memory than that of the device, which is S(0). On
 * XLA:GPU, S(1) only chooses the allocator of the device's memory. */

enum { DEVICE_MEMORY_SPACE = 0, VMEM_SPACE = 1 };

/* Returns the memory space that an array or a table of pointers is in: DEVICE_MEMORY_SPACE if it
 * counts as memory of the device. */
int64_t target_memory_space(const Target *target, const Shape *shape);

/* Returns whether values of layouts with S(`space`) are in the device's memory. */
bool target_is_device_space(const Target *target, int64_t space);

/* Returns the alignment of values in the heap of a memory space. */
int64_t target_space_alignment(const Target *target, int64_t space);

/* Returns the bytes that an array or a table of pointers takes of the device's memory: without
 * padding and granule (ShapeUtil::ByteSizeOf), and as the target's buffer assignment has them. The
 * second is the same as the first where padding would overflow. */
int64_t target_plain_device_bytes(const Target *target, const Shape *shape);
int64_t target_device_bytes(const Target *target, const Shape *shape);

/* The memories of a TPU; 0 on other targets. */
typedef struct TpuMemory {
  int64_t vmem_bytes;       /* S(1) */
  int64_t vmem_value_bytes; /* the part that XLA uses for values; it keeps the rest for what runs */
  int64_t hbm_bytes;        /* that XLA offers to a program */
} TpuMemory;

/* Returns the memories of a device, which has the name of its profile; of a device that is not
 * known, or of NULL, those of the one with the most VMEM. */
TpuMemory target_tpu_memory(const Target *target, const char *device);

/* Returns the name of the memory space S(`space`), such as `VMEM`; NULL if it has none. */
const char *target_space_name(const Target *target, int64_t space);

/* Returns the same array in the layout that needs the fewest bytes. Other dimensions may become the
 * two that are minor-most in memory; the remaining ones keep their order. Returns `shape` itself if
 * no layout needs less. */
ShapeId target_compact_shape(const Target *target, ShapeTable *table, ShapeId shape);

#endif
