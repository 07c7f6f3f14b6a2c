/* The interface of all memory models: how many bytes a scheduled module needs, and when it needs
 * them.
 *
 * Example: under `liveness` the module a = parameter(0), b = negate(a), ROOT c = negate(b), all of
 * them f32[8], holds 32 bytes at a, and 64 at b and at c (a is the caller's and lives to the end; c
 * overwrites b), so its peak is 64 bytes. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_MEMORY_MODEL_H
#define REMAT_HLO_ANALYSIS_MEMORY_MEMORY_MODEL_H

#include "ir/schedule.h"
#include "remat_hlo.h"

/* A buffer that lives at the peak. */
typedef struct LiveBuffer {
  InstId inst; /* the instruction that defines it */
  uint32_t part;
  int64_t bytes; /* the part of the peak that it accounts for */
  InstId first;  /* the instruction that runs when its live range begins */
  InstId last; /* the instruction that runs when it ends; NO_ID if the buffer outlives the module */
} LiveBuffer;

/* The shape of what a buffer holds: the part of its instruction's result. */
ShapeId live_buffer_shape(const Module *module, const LiveBuffer *buffer);

/* How a peak counts constants. */
typedef enum ConstantCount {
  CONSTANTS_APART, /* they are not counted */
  CONSTANTS_LIVE,  /* they are counted as temporaries, while they live */
  CONSTANTS_HELD,  /* they are counted all the time */
} ConstantCount;

typedef struct MemoryProfile {
  int64_t peak_bytes; /* of the module, as the model counts */
  InstId peak_inst;   /* the instruction that runs at the peak, the innermost if it is in a callee;
                         NO_ID when nothing needs memory */
  int64_t *bytes_at;  /* by InstId: bytes live while it runs; -1 for an instruction that is in no
                         sequence */
  int64_t parameter_bytes;     /* of the entry, tables of pointers included */
  int64_t output_bytes;        /* of the entry, tables of pointers included */
  int64_t aliased_bytes;       /* outputs that alias parameters (input_output_alias) */
  int64_t constant_bytes;      /* of all computations that run */
  int64_t fragmentation_bytes; /* the part of peak_bytes that is gaps left by packing at the peak */
  int64_t temp_more_bytes;     /* rh_memory has these two as well */
  int64_t temp_less_bytes;
  const int64_t *heap_bytes; /* sizes of the allocations of temporaries, if the model has such */
  uint32_t num_heaps;
  bool is_flat; /* bytes_at counts the whole module, which is laid out on one time axis
                   (analysis/memory/live_range.h), not only the instruction's computation and its
                   callees */
  /* values that must share memory are counted once where they live at the same time, except where
   * copies are counted that XLA will insert */
  bool joins_values;
  bool counts_copies; /* those copies are counted */
  bool counts_params; /* peak_bytes includes the parameters; all models include the outputs */
  ConstantCount constants;
} MemoryProfile;

/* The buffers live at the peak, largest first, each piece of memory once: their sum is the peak
 * without fragmentation_bytes. Outputs that the model xla-remat counts as such are not included. */
typedef struct LiveSet {
  LiveBuffer *list;
  uint32_t len;
} LiveSet;

/* Also fills `live` unless it is NULL. */
typedef MemoryProfile (*MemoryFn)(const Module *module, const Schedule *schedule, LiveSet *live,
                                  Arena *out, Arena *scratch);

typedef struct MemoryModel {
  const char *name;
  const char *summary;
  MemoryFn measure;
  unsigned traits; /* RH_TRAIT_… */
} MemoryModel;

#define MODEL(id, name, traits, summary)                                                    \
  MemoryProfile measure_##id(const Module *module, const Schedule *schedule, LiveSet *live, \
                             Arena *out, Arena *scratch);
#include "analysis/memory/models.def"

/* The part of the peak that is not parameters, outputs or constants that are held. An output that
 * is a parameter, or that occurs twice, is counted once in the peak. XLA will copy it, so the
 * result is never negative. */
int64_t memory_profile_temp_bytes(const MemoryProfile *profile);

/* What the device must hold: parameters, outputs, constants and temporaries. */
int64_t memory_profile_total_bytes(const MemoryProfile *profile);

/* A profile's figures for the public interface, without the lower bound and without names. */
rh_memory memory_of_profile(const MemoryProfile *profile);

/* rh_memory.temp_more_bytes, 0 if the struct is one of before there was that field. */
int64_t memory_temp_more_bytes(const rh_memory *memory);

/* The bytes that a budget bounds when it counts `counts`. */
int64_t memory_counted_bytes(const rh_memory *memory, rh_limit_counts counts);

/* How many bytes of the device's memory a shape takes. */
typedef struct ShapeSizes {
  int64_t (*of_part)(const Module *module, ShapeId part); /* an array or a table of pointers */
  int64_t (*of_all)(const Module *module, ShapeId shape); /* the sum of its parts */
} ShapeSizes;

extern const ShapeSizes plain_sizes;  /* ShapeUtil::ByteSizeOf */
extern const ShapeSizes target_sizes; /* on the module's target */

/* A profile with the sizes of what enters and leaves the module: parameters, outputs, aliases. */
MemoryProfile memory_profile_outside(const Module *module, const ShapeSizes *sizes);

/* Fills in the sizes that all models report: those of memory_profile_outside() and the
 * constants. */
void memory_profile_init(MemoryProfile *profile, const Module *module, const ShapeSizes *sizes,
                         Arena *out, Arena *scratch);

/* Sorts a live set, largest first. */
void live_set_sort(LiveSet *live);

extern const MemoryModel memory_models[];
extern const size_t num_memory_models;

/* NULL when there is none of this name. */
const MemoryModel *memory_model_find(const char *name);

#endif
