#include <string.h>

#include "remat/job/algorithm.h"

const RematAlgorithm remat_algorithms[] = {
#define ALGORITHM(id, name, modes, traits, summary) {name, summary, remat_##id, modes, traits},
#include "remat/job/algos.def"
};

const size_t num_remat_algorithms = sizeof remat_algorithms / sizeof *remat_algorithms;

const RematAlgorithm *remat_algorithm_find(const char *name) {
  for (size_t i = 0; i < num_remat_algorithms; i++) {
    if (strcmp(remat_algorithms[i].name, name) == 0) return &remat_algorithms[i];
  }
  return NULL;
}
