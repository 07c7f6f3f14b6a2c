/* Formats a module as XLA's printer would write it, from the text that it was parsed from. This is
 * the implementation of `remat-hlo fmt`. */
#ifndef REMAT_HLO_TEXT_FORMAT_H
#define REMAT_HLO_TEXT_FORMAT_H

#include "ir/module.h"
#include "ir/writer.h"

/* Writes a module that has not been changed since it was parsed. The time is linear. */
void text_format(const Module *module, const rh_format_options *options, Writer *out,
                 Arena *scratch);

#endif
