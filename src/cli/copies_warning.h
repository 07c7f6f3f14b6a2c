/* Warnings about modules whose text leaves open whether XLA has inserted its copies (--copies). */
#ifndef REMAT_HLO_CLI_COPIES_WARNING_H
#define REMAT_HLO_CLI_COPIES_WARNING_H

#include "load.h"

/* Returns the word that --copies has for what a module was taken for. `scheduled` is, here and
 * below, what rh_schedule() made of the module that was loaded. */
const char *copies_word(const rh_module *scheduled);

/* Returns the reason for it, as a clause. */
const char *copies_reason(const rh_module *scheduled, const Options *options);

/* Returns whether nothing in the module, in the file's name or in the options excludes the other
 * answer. */
bool copies_are_open(const rh_module *scheduled);

/* Gives both figures if they differ, unless --quiet is given. `peak_bytes` is the peak of
 * `scheduled`. */
void copies_warn_of_peak(const Loaded *loaded, const rh_module *scheduled, const Options *options,
                         int64_t peak_bytes);

/* Warns of a result that is right only if XLA will still insert copies. */
void copies_warn_of_result(const Loaded *loaded, const rh_module *scheduled, const Options *options,
                           const rh_module *result);

#endif
