/* Reads and writes tables of live ranges in minimalloc's CSV format:
 *
 *   id,lower,upper,size
 *   a,0,3,4
 *   b,1,2,8 */
#ifndef REMAT_HLO_TEXT_LIVE_RANGE_CSV_H
#define REMAT_HLO_TEXT_LIVE_RANGE_CSV_H

#include "ir/diag.h"
#include "ir/writer.h"

/* Reads a table as rh_live_ranges_parse does, and reports up to `max_errors` errors, at least 1. */
rh_status live_ranges_read(const char *text, size_t length, uint32_t max_errors,
                           const ArenaOptions *memory, rh_live_ranges **ranges, rh_diags *diags);

/* Writes a table as rh_live_ranges_print does. */
void live_ranges_write(const rh_live_ranges *ranges, const int64_t *offsets, const uint32_t *heaps,
                       Writer *writer);

#endif
