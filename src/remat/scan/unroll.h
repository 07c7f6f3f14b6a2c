/* Writes the iterations of loops out, one after the other. This is for loops that stack values in
 * other steps than those in which other loops read them (analysis/loop/misaligned.h). In one
 * sequence, each slice is a value of one step (parts.h), and to recompute it is the algorithms'
 * work.
 */
#ifndef REMAT_HLO_REMAT_SCAN_UNROLL_H
#define REMAT_HLO_REMAT_SCAN_UNROLL_H

#include "remat/rewrite/rewrite.h"
#include "remat/scan/scan.h"

/* Whether a loop, by index, may be written out. */
bool scan_can_unroll(const ScanModule *scans, uint32_t loop, Arena *scratch);

/* The loops for which it is meant, as far as they have no more instructions than this. */
IdVec scan_misaligned(const ScanModule *scans, int64_t max_insts, Arena *out, Arena *scratch);

/* Writes loops out, by index, none of which contains another, and each of which may be.
 * Lets what reads a part of an array that is put together of others read the other.
 *
 * updates: module and schedule. breaks: every analysis, that of the loops included. */
void scan_unroll(Rewrite *rewrite, Schedule *schedule, const Loops *all, const IdVec *loops,
                 Arena *out, Arena *scratch);

#endif
