/* The functions of the program around an instruction, by the stack in which it was traced. */
#ifndef REMAT_HLO_ADVICE_FRAMES_H
#define REMAT_HLO_ADVICE_FRAMES_H

#include "ir/source_place.h"

/* The number of the frame in which an instruction was traced, 0 = none. */
int32_t frame_of(const Module *module, InstId id);

/* The innermost frame outside of libraries, from the one of this number on, and its number. An
 * empty frame if there is none. */
int32_t frame_outside_libraries(const Module *module, int32_t number, SourceFrame *frame);

/* The function on the stack of `id` that was called, through libraries or not, from the place where
 * `caller` was traced: the body of a scan, if that is the loop. Empty if there is none. Tracing a
 * derivative repeats frames, so the innermost such place counts. The function of `caller` itself
 * does not. */
Str function_called_by(const Module *module, InstId id, InstId caller);

/* The innermost frame of the stack of `id` whose function is also on the stack of `other`, called
 * from the same lines: where `id` comes from in the function that both are in. Returns its number
 * and how deep it is, 0 = there is none. */
int32_t frame_in_common(const Module *module, InstId id, InstId other, uint32_t *depth,
                        Arena *scratch);

#endif
