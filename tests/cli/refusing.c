/* Makes one request for memory fail, in a tool that is linked with this and with --wrap for what
 * allocates: the one whose number, from 0, REFUSED_REQUEST has. Says at the end whether there were
 * as many, so that a test knows when it has seen all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
FILE *__real_open_memstream(char **text, size_t *length);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
FILE *__wrap_open_memstream(char **text, size_t *length);

static long num_left = -1;

static void say_if_unused(void) {
  static const char unused[] = "all requests were granted\n";
  if (num_left >= 0 && write(STDERR_FILENO, unused, strlen(unused)) < 0) return;
}

__attribute__((constructor)) static void begin(void) {
  const char *number = getenv("REFUSED_REQUEST");
  if (!number) return;
  num_left = atol(number);
  atexit(say_if_unused);
}

static int is_refused(void) {
  if (num_left < 0 || num_left-- > 0) return 0;
  errno = ENOMEM;
  return 1;
}

void *__wrap_malloc(size_t bytes) {
  return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return is_refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
  return is_refused() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text) {
  return is_refused() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length) {
  return is_refused() ? NULL : __real_strndup(text, length);
}

FILE *__wrap_open_memstream(char **text, size_t *length) {
  return is_refused() ? NULL : __real_open_memstream(text, length);
}
