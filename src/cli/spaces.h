/* The memory spaces that a module uses apart from the device's memory. */
#ifndef REMAT_HLO_CLI_SPACES_H
#define REMAT_HLO_CLI_SPACES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "remat_hlo.h"

typedef struct Spaces {
  rh_space *list; /* by ascending number; owned */
  size_t len;
} Spaces;

/* Collects the memory spaces of a scheduled module, as long as which their texts live. */
rh_status spaces_collect(const rh_module *module, const rh_settings *settings, Spaces *spaces,
                         rh_diags *diags);

void spaces_free(Spaces *spaces);

/* The space of this number; NULL if it is not used. */
const rh_space *spaces_find(const Spaces *spaces, int64_t number);

/* Whether XLA:TPU has placed values in VMEM, which it does after the hook. */
bool spaces_are_assigned(const Spaces *spaces);

#define SPACE_LABEL_CHARS 32

/* Writes a label such as `VMEM, S(1)`. */
void space_label(const rh_space *space, char label[SPACE_LABEL_CHARS]);

/* Adds the number and the name of a space to an object, and its figures, which are 0 if `space` is
 * NULL. */
void json_add_space(cJSON *object, const rh_space *space);
void json_add_space_figures(cJSON *object, const rh_space *space);

#endif
