/* Decides which files of a module's stack tables belong to libraries, so that a source position can
 * be the innermost frame of the user's own program. */
#ifndef REMAT_HLO_IR_LIBRARY_FILES_H
#define REMAT_HLO_IR_LIBRARY_FILES_H

#include "ir/diag.h"
#include "ir/module.h"

/* Whether a file belongs to a library without any rule: a folder on its path is `site-packages` or
 * `dist-packages`, is named as a library that traces programs (flax, optax, jax, jaxlib, keras,
 * tensorflow), or is Python's own (`lib/python3.12`); or the file is a frozen module of Python. */
bool library_file_by_name(Str file);

/* Sets `*is_library` to one flag for each file name of the stack tables, in `out`; NULL if there
 * are no tables. `rules` are expressions (ir/expression.h), one in each line: a file that matches
 * belongs to a library, and one that matches an expression after `!` does not. The last rule that
 * matches decides, and without one library_file_by_name(). `rules` and `source` may be NULL.
 * Returns RH_ERR_USAGE if an expression is not valid. O(files * rules). */
rh_status library_files_find(const ModuleSource *source, const char *rules, const bool **is_library,
                             rh_diags *diags, Arena *out);

#endif
