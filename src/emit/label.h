/* What a value is called in pictures and graphs. */
#ifndef REMAT_HLO_EMIT_LABEL_H
#define REMAT_HLO_EMIT_LABEL_H

#include "ir/arena.h"
#include "ir/handle.h"

/* Returns true if XLA's name of a value says nothing about the program: each of its words is part
 * of an opcode, a word that XLA puts into names (`fusion`, `loop`, `wrapped`, ...), a number, or a
 * word of the operation at the end of the op_name. `ynn_fusion.113` and `loop_add_fusion` say
 * nothing; `gelu.1` does. */
bool value_name_is_generic(const rh_live_value *value);

/* Returns the label of a value, in `out` or in the value. It is
 *
 * - the path of an argument, such as `params['w']`, which follows the opcode for what is made of
 * it;
 * - the name, if it says something;
 * - the end of the op_name with the scope before it, such as `mlp/dot_general`;
 * - if there is no scope, the operation and the source position: `dot_general model.py:20`;
 * - or else the name. */
rh_text value_label(const rh_live_value *value, Arena *out);

/* Finds a shorter form of a label, for where there is little room: an argument loses its beginning
 * (`…['w']`, number 1 the longest), `mlp/dot_general` its scope, and `dot_general model.py:20` its
 * place. Number 0 is the label. Returns false if there is no form of this number. */
bool value_label_form(rh_text label, uint32_t number, Arena *out, rh_text *form);

#endif
