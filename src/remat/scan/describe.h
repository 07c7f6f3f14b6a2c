/* What there is to say about a loop's stacks: for reports, and for the record of a choice. */
#ifndef REMAT_HLO_REMAT_SCAN_DESCRIBE_H
#define REMAT_HLO_REMAT_SCAN_DESCRIBE_H

#include "remat/scan/scan.h"

/* Why something is stored: a name for programs, and a sentence for people. */
typedef struct ScanReason {
  const char *name, *sentence;
} ScanReason;

int64_t scan_stack_bytes(const ScanModule *scans, uint32_t stack);

/* Why a stack of the loop is stored under a choice. The name is "none" for a stack that is not. */
ScanReason scan_reason(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                       uint32_t stack);

/* Why a while whose body writes slices is no loop with stacks, of which nothing else is known. */
ScanReason scan_reason_of_while(const Module *module, InstId id);

/* The loops that read the loop's stacks slice by slice, in the order in which they were found. */
IdVec scan_readers(const ScanModule *scans, uint32_t loop, Arena *out);

/* The instruction whose metadata says where a stack's value, or a loop, comes from. */
InstId scan_place_of_stack(const ScanModule *scans, const ScanValues *values, uint32_t stack);
InstId scan_place_of_loop(const ScanModule *scans, const ScanValues *values);

/* Fills in what a step's record says about the stacks besides its names. */
void scan_describe(const ScanModule *scans, const ScanValues *values, const ScanChoice *choice,
                   ScanStep *step, Arena *out);

/* The record of a loop whose iterations are written out. `loops` has all that are, by index. */
ScanStep scan_record_unrolled(const ScanModule *scans, const IdVec *loops, uint32_t loop,
                              Arena *out);

/* The same for a loop that is cut into segments of `length` iterations. */
void scan_describe_segments(const ScanModule *scans, const ScanValues *values, int64_t length,
                            ScanStep *step, Arena *out);

#endif
