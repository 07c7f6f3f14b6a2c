/* What compilers have noted of where a slice begins, in its backend_config, before they schedule.
 *
 * XLA:GPU: of a slice whose start depends on nothing but the number of a loop's iteration, the
 * offset in bytes (dynamic_slice_config). A fusion that only copies such a slice is then no kernel:
 * a copy from or to the noted offset takes its place, and the operands that say where the slice
 * begins are not read (xla/service/gpu/backend_configs.proto: DynamicSliceConfig;
 * xla/backends/gpu/runtime/dynamic_slice_fusion_v2_thunk.cc: ComputeSliceOffset).
 *
 * XLA:TPU: the bits of each start that are known (indices_config), which say how it is aligned.
 *
 * So a note is a part of what is computed: in another loop, it may say something else than the
 * operands. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_SLICE_NOTE_H
#define REMAT_HLO_ANALYSIS_FLOW_SLICE_NOTE_H

#include "ir/module.h"

/* The bits of a start that are known. */
typedef struct KnownBits {
  uint64_t zeroes, ones;
  int64_t width; /* of the start's type */
} KnownBits;

typedef struct SliceNote {
  bool is_there;
  bool is_known; /* the note is of a known form, and the other fields are set */
  /* of XLA:GPU */
  bool has_offset;
  bool has_loop;  /* else the offset is the same in all iterations */
  int64_t loop;   /* how many loops are between the slice and the loop that counts: 0 = none */
  int64_t offset; /* in bytes, in the first iteration */
  int64_t stride; /* in bytes, added in each iteration */
  /* of XLA:TPU: by dimension */
  KnownBits *bits;
  uint32_t num_bits;
} SliceNote;

/* Whether an instruction has a note: only a dynamic-slice and a dynamic-update-slice may. */
bool slice_has_note(const Module *module, InstId id);

/* The note, whose bits are in `out`. */
SliceNote slice_note_read(const Module *module, InstId id, Arena *out);

#endif
