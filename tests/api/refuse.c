#include "refuse.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __real_free(void *memory);
int __real_regcomp(regex_t *expression, const char *text, int flags);
int __real_regexec(const regex_t *expression, const char *text, size_t count, regmatch_t *matches,
                   int flags);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __wrap_free(void *memory);
int __wrap_regcomp(regex_t *expression, const char *text, int flags);
int __wrap_regexec(const regex_t *expression, const char *text, size_t count, regmatch_t *matches,
                   int flags);

static struct {
  long num_left; /* -1 = all are granted */
  bool for_good, was_refused;
  long num_blocks;
} state = {.num_left = -1};

static bool is_refused(void) {
  if (state.num_left < 0) return false;
  if (state.num_left > 0) {
    state.num_left--;
    return false;
  }
  state.was_refused = true;
  if (!state.for_good) state.num_left = -1;
  return true;
}

static void *count(void *memory) {
  state.num_blocks += memory != NULL;
  return memory;
}

void *__wrap_malloc(size_t bytes) {
  return is_refused() ? NULL : count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t number, size_t bytes) {
  return is_refused() ? NULL : count(__real_calloc(number, bytes));
}

void *__wrap_realloc(void *old, size_t bytes) {
  if (is_refused()) return NULL;
  return old ? __real_realloc(old, bytes) : count(__real_realloc(NULL, bytes));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  int error = is_refused() ? ENOMEM : __real_posix_memalign(memory, alignment, bytes);
  state.num_blocks += error == 0;
  return error;
}

void __wrap_free(void *memory) {
  state.num_blocks -= memory != NULL;
  __real_free(memory);
}

int __wrap_regcomp(regex_t *expression, const char *text, int flags) {
  return is_refused() ? REG_ESPACE : __real_regcomp(expression, text, flags);
}

int __wrap_regexec(const regex_t *expression, const char *text, size_t number, regmatch_t *matches,
                   int flags) {
  return is_refused() ? REG_ESPACE : __real_regexec(expression, text, number, matches, flags);
}

void refuse_after(long num_granted, bool for_good) {
  cJSON_Hooks hooks = {__wrap_malloc, __wrap_free};
  cJSON_InitHooks(&hooks);
  state.num_left = num_granted;
  state.for_good = for_good;
  state.was_refused = false;
}

bool refuse_end(void) {
  state.num_left = -1;
  return state.was_refused;
}

long refuse_num_blocks(void) {
  return state.num_blocks;
}
