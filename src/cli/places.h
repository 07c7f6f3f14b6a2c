/* The paths of the outputs of several inputs. The folders of the inputs are reproduced in an output
 * folder, relative to the deepest folder that all inputs share. No file is written twice. */
#ifndef REMAT_HLO_CLI_PLACES_H
#define REMAT_HLO_CLI_PLACES_H

#include <stddef.h>

#include "remat_hlo.h"

typedef struct PlacedInput {
  const char *path; /* `-` for stdin */
  const char *root; /* the folder in which it was found; NULL if the input itself was given */
} PlacedInput;

/* The input number of a file that is written for all inputs together. */
enum { PLACE_OF_ALL = -1 };

/* A file that an option writes. */
typedef struct Claim {
  char *file;         /* the real path, with dots and links resolved; owned */
  const char *option; /* NULL = none: an input */
  ptrdiff_t input;    /* an input number or PLACE_OF_ALL */
} Claim;

typedef struct Places {
  const char **inputs; /* paths */
  Claim *files;        /* the inputs that are files, as claims without option; sorted by file */
  size_t num_files;
  /* One for each input, relative to an output folder; empty for that folder itself. */
  char **folders;
  size_t num_inputs;
  Claim *claims; /* sorted by file */
  size_t num_claims, room;
} Places;

/* Determines the folders. All inputs in one folder, stdin, pipes and devices get no subfolder; an
 * input that was found in a folder keeps its path relative to that folder. If out of memory, it
 * returns RH_ERR_MEMORY and reports the reason on stderr. Call places_free() in any case. */
rh_status places_find(const PlacedInput *inputs, size_t count, Places *places);
void places_free(Places *places);

/* Returns `directory/FOLDER/name`, which the caller frees, or NULL if out of memory. */
char *places_join(const Places *places, size_t input, const char *directory, const char *name);

/* Creates `directory` and the subfolders that an input needs. On failure it returns RH_ERR_WRITE
 * and reports the reason on stderr. */
rh_status places_make_folders(const Places *places, size_t input, const char *directory);

/* Notes that an option writes to `path`, for an input or PLACE_OF_ALL. `-` and paths that are not
 * files are ignored. It returns RH_ERR_USAGE and reports the reason on stderr if another option
 * writes to the same file, if this option writes to it for another input, or if the file is another
 * input, which would be lost. An input may be replaced by its own result. `option` must stay valid.
 * O(claims + log inputs). */
rh_status places_claim(Places *places, const char *path, const char *option, ptrdiff_t input);

#endif
