/* Runs a fuzz target over files, for compilers without libFuzzer and for CTest: `replay FILE…`, a
 * folder standing for the files in it. A failure aborts; the last name printed is the file's. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *path) {
  printf("%s\n", path);
  fflush(stdout);
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  size_t size = 0, cap = 0;
  while (file && !feof(file) && !ferror(file)) {
    if (size == cap) {
      cap = cap ? cap * 2 : 1 << 12;
      data = realloc(data, cap);
      if (!data) abort();
    }
    size += fread(data + size, 1, cap - size, file);
  }
  if (!file || ferror(file)) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  fclose(file);
  /* As libFuzzer: a block of exactly this size, so that sanitizers see the first byte beyond it. */
  uint8_t *exact = malloc(size ? size : 1);
  if (!exact) abort();
  memcpy(exact, data, size);
  free(data);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

/* The number of files; 0 for what is no folder. */
static int run_folder(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return 0;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", path, entry->d_name);
    run_file(full);
    count++;
  }
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  int count = 0;
  for (int i = 1; i < argc; i++) {
    int in_folder = run_folder(argv[i]);
    if (!in_folder) run_file(argv[i]);
    count += in_folder ? in_folder : 1;
  }
  printf("%d inputs\n", count);
  return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
