/* Where the large dumps are that are not part of the tree. */
#ifndef REMAT_HLO_TESTS_CORPUS_H
#define REMAT_HLO_TESTS_CORPUS_H

#include <stdbool.h>

#include "suite.h"

enum { CORPUS_PATH_CHARS = 4096 };

/* False, with a message, when they are not on this machine: main returns EXIT_SKIPPED. They are in
 * the folder that the environment variable REMAT_HLO_SHARED names, or in `shared` beside the source
 * tree. */
bool corpus_is_there(void);

/* The path of one of its files, written to `buffer`. */
const char *corpus_path(char buffer[CORPUS_PATH_CHARS], const char *name);

#endif
