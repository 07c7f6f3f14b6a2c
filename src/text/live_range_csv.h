/* Tables of live ranges: minimalloc's CSV. */
#ifndef REMAT_HLO_TEXT_LIVE_RANGE_CSV_H
#define REMAT_HLO_TEXT_LIVE_RANGE_CSV_H

#include "ir/diag.h"
#include "ir/writer.h"

/* As rh_live_ranges_parse; with at most so many errors, at least 1. */
rh_status live_ranges_read(const char *text, size_t length, uint32_t max_errors,
                           const ArenaOptions *memory, rh_live_ranges **ranges, rh_diags *diags);

/* As rh_live_ranges_print. */
void live_ranges_write(const rh_live_ranges *ranges, const int64_t *offsets, const uint32_t *heaps,
                       Writer *writer);

#endif
