/* Where the outputs of several inputs go. Below an output folder are folders like those that the
 * inputs are in, from the deepest one on that they have in common; no file is written twice. */
#ifndef REMAT_HLO_CLI_PLACES_H
#define REMAT_HLO_CLI_PLACES_H

#include <stddef.h>

#include "remat_hlo.h"

typedef struct PlacedInput {
  const char *path; /* `-` is stdin */
  const char *root; /* the folder that it was found in; NULL = it was given itself */
} PlacedInput;

/* What is written for all inputs, not for one. */
enum { PLACE_OF_ALL = -1 };

/* A file that an option writes. */
typedef struct Claim {
  char *file; /* wherever dots and links lead; owned */
  const char *option;
  ptrdiff_t input; /* or PLACE_OF_ALL */
} Claim;

/* Where the dots and links of an input lead. */
typedef struct InputFile {
  char *file; /* owned */
  size_t input;
} InputFile;

typedef struct Places {
  const char **inputs; /* paths */
  InputFile *files;    /* of the inputs that are files, by file and input */
  size_t num_files;
  char **folders; /* by input: below an output folder; empty = in it */
  size_t num_inputs;
  Claim *claims; /* by file */
  size_t num_claims, room;
} Places;

/* Finds the folders. Inputs in one folder, stdin, pipes and devices have none of their own; those
 * that were found in a folder keep theirs below it. RH_ERR_MEMORY without memory, the reason on
 * stderr. places_free() in any case. */
rh_status places_find(const PlacedInput *inputs, size_t count, Places *places);
void places_free(Places *places);

/* `directory/FOLDER/name`, to be freed; NULL without memory. */
char *places_join(const Places *places, size_t input, const char *directory, const char *name);

/* Makes `directory`, and the folders below it that an input needs. RH_ERR_WRITE, the reason on
 * stderr. */
rh_status places_make_folders(const Places *places, size_t input, const char *directory);

/* Notes that an option writes to `path`, of which `-` and what is no file are not looked at;
 * `input` may be PLACE_OF_ALL. RH_ERR_USAGE, the reason on stderr, when another option does, or
 * this one for another input, or when the file is another input, which would be lost. An input may
 * be replaced by its own result. The option must stay valid. O(claims + log inputs). */
rh_status places_claim(Places *places, const char *path, const char *option, ptrdiff_t input);

#endif
