/* Decompression of input. */
#ifndef REMAT_HLO_CLI_DECOMPRESS_H
#define REMAT_HLO_CLI_DECOMPRESS_H

#include "input.h"

/* Decompresses input that begins like a gzip or zstd file: replaces it by the decompressed text, or
 * by the first bytes of that text. Other input is left unchanged. Returns RH_ERR_INPUT if the input
 * is damaged, if it is truncated although the file was read to its end, or if the text is larger
 * than any module can be. */
rh_status input_decompress(Input *input, size_t most_bytes);

#endif
