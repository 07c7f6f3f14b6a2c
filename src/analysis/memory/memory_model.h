/* Memory models behind one interface: how many bytes a scheduled module needs, and where. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_MEMORY_MODEL_H
#define REMAT_HLO_ANALYSIS_MEMORY_MEMORY_MODEL_H

#include "ir/schedule.h"
#include "remat_hlo.h"

/* A buffer that lives at the peak. */
typedef struct LiveBuffer {
  InstId inst; /* that defines it */
  uint32_t part;
  int64_t bytes; /* that the peak has of it */
  InstId first;  /* that runs when its life begins */
  InstId last;   /* that runs when it ends; NO_ID when it outlives the module */
} LiveBuffer;

/* How a peak counts constants. */
typedef enum ConstantCount {
  CONSTANTS_APART, /* not at all */
  CONSTANTS_LIVE,  /* as temporaries, while they live */
  CONSTANTS_HELD,  /* all the time */
} ConstantCount;

typedef struct MemoryProfile {
  int64_t peak_bytes; /* of the module, as the model counts */
  InstId peak_inst;   /* that runs at the peak: the innermost, where one calls the next; NO_ID when
                         nothing needs memory */
  int64_t *bytes_at;  /* by InstId: live while it runs; -1 for what runs in no sequence */
  int64_t parameter_bytes;     /* of the entry, tables of pointers included */
  int64_t output_bytes;        /* likewise */
  int64_t aliased_bytes;       /* outputs that are parameters (input_output_alias) */
  int64_t constant_bytes;      /* of all computations that run */
  int64_t fragmentation_bytes; /* of peak_bytes: gaps that packing leaves at the peak */
  const int64_t *heap_bytes; /* of allocations that temporaries are in, where the model has some */
  uint32_t num_heaps;
  bool is_flat; /* bytes_at is of the module, which lies in one time (analysis/memory/live_range.h),
                   not of the instruction's computation and what that calls */
  bool counts_params; /* peak_bytes holds the parameters; it holds the outputs in all models */
  ConstantCount constants;
} MemoryProfile;

/* What lives at the peak, largest first, each piece of memory once: the sum is the peak without
 * unused_bytes. Outputs that the model xla-remat counts as such are not in it. */
typedef struct LiveSet {
  LiveBuffer *list;
  uint32_t len;
} LiveSet;

/* Fills `live`, too, unless it is NULL. */
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

/* What the peak holds besides parameters, outputs and constants that are held. An output that is a
 * parameter, or is there twice, counts once in the peak; XLA will copy it, so this is never
 * negative. */
int64_t memory_profile_temp_bytes(const MemoryProfile *profile);

/* What the device must hold: parameters, outputs, constants and temporaries. */
int64_t memory_profile_total_bytes(const MemoryProfile *profile);

/* The figures of a profile as the library gives them, without the lower bound and without names. */
rh_memory memory_of_profile(const MemoryProfile *profile);

/* What a budget that counts `counts` bounds. */
int64_t memory_counted_bytes(const rh_memory *memory, rh_limit_counts counts);

/* What shapes take of the device's memory. */
typedef struct ShapeSizes {
  int64_t (*of_part)(const Module *module, ShapeId part); /* an array or a table of pointers */
  int64_t (*of_all)(const Module *module, ShapeId shape); /* the sum of its parts */
} ShapeSizes;

extern const ShapeSizes plain_sizes;  /* ShapeUtil::ByteSizeOf */
extern const ShapeSizes target_sizes; /* on the module's target */

/* Sizes of what comes into the module and goes out of it: parameters, outputs, aliases. */
MemoryProfile memory_profile_outside(const Module *module, const ShapeSizes *sizes);

/* The sizes that all models give: those and the constants. */
void memory_profile_init(MemoryProfile *profile, const Module *module, const ShapeSizes *sizes,
                         Arena *out, Arena *scratch);

/* Sorts a live set, largest first. */
void live_set_sort(LiveSet *live);

extern const MemoryModel memory_models[];
extern const size_t num_memory_models;

/* NULL when there is none of this name. */
const MemoryModel *memory_model_find(const char *name);

#endif
