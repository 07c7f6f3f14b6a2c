/* Compressed input. */
#ifndef REMAT_HLO_CLI_DECOMPRESS_H
#define REMAT_HLO_CLI_DECOMPRESS_H

#include "input.h"

/* Replaces what was read by what it stands for when it begins like a gzip or zstd file; else leaves
 * it as it is. RH_ERR_INPUT when it is damaged, cut off, or larger than any module can be. */
rh_status input_decompress(Input *input);

#endif
