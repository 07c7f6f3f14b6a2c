/* Random modules with scans, the same for the same seed on every machine: loops that write stacks,
 * slice by slice, and loops behind them that read these. Counters begin anywhere, change by any
 * step in either direction, are of any integer type, and several in a loop; slices are written and
 * read in order, reversed, with strides and offsets; some loops make several slices, and some read
 * what another reading loop has written. */
#ifndef REMAT_HLO_TESTS_GENERATE_SCAN_H
#define REMAT_HLO_TESTS_GENERATE_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* A text that parses and passes rh_check, ended by NUL; free() it. */
char *generate_scan(uint64_t seed, size_t *length);

#endif
