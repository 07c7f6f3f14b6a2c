#include "corpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char *shared_folder(void) {
  const char *named = getenv("REMAT_HLO_SHARED");
  return named && *named ? named : TEST_SOURCE_DIR "/../shared";
}

const char *corpus_path(char buffer[CORPUS_PATH_CHARS], const char *name) {
  snprintf(buffer, CORPUS_PATH_CHARS, "%s/corpus/%s", shared_folder(), name);
  return buffer;
}

bool corpus_is_there(void) {
  char path[CORPUS_PATH_CHARS];
  DIR *folder = opendir(corpus_path(path, ""));
  if (folder) {
    closedir(folder);
    return true;
  }
  printf("skipped: there is no folder %s; REMAT_HLO_SHARED can name the one above it\n", path);
  return false;
}
