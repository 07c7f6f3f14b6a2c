/* Parses HLO text into a module. */
#ifndef REMAT_HLO_TEXT_PARSE_H
#define REMAT_HLO_TEXT_PARSE_H

#include "ir/diag.h"
#include "ir/module.h"

/* Parses a module. `text` must live longer than the module. On RH_ERR_INPUT, `*module` is NULL and
 * `diags` holds the error.
 *
 * Source: xla/hlo/parser/hlo_parser.cc, ParseAndReturnUnverifiedModule. The time is linear in the
 * text. */
rh_status text_parse(const char *text, size_t length, const ArenaOptions *memory, Module **module,
                     rh_diags *diags);

/* Parses a module as text_parse does, but continues after an error and reports up to `max_errors`
 * errors, at least 1. */
rh_status text_parse_all(const char *text, size_t length, const ArenaOptions *memory,
                         uint32_t max_errors, Module **module, rh_diags *diags);

#endif
