/* HLO text to a module. */
#ifndef REMAT_HLO_TEXT_PARSE_H
#define REMAT_HLO_TEXT_PARSE_H

#include "ir/diag.h"
#include "ir/module.h"

/* Reads a module; `text` must outlive it. On RH_ERR_INPUT `*module` is NULL and `diags` says why.
 *
 * Source: xla/hlo/parser/hlo_parser.cc, ParseAndReturnUnverifiedModule. Linear in the text. */
rh_status text_parse(const char *text, size_t length, const ArenaOptions *memory, Module **module,
                     rh_diags *diags);

/* The same, telling of up to `max_errors` errors, from 1 on, instead of the first. */
rh_status text_parse_all(const char *text, size_t length, const ArenaOptions *memory,
                         uint32_t max_errors, Module **module, rh_diags *diags);

#endif
