/* Compressed input. */
#ifndef REMAT_HLO_CLI_DECOMPRESS_H
#define REMAT_HLO_CLI_DECOMPRESS_H

#include "input.h"

/* Replaces what was read by what it stands for, or the first bytes of that, when it begins like a
 * gzip or zstd file; else leaves it as it is. RH_ERR_INPUT when it is damaged, cut off though it
 * was read to its end, or larger than any module can be. */
rh_status input_decompress(Input *input, size_t most_bytes);

#endif
