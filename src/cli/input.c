#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decompress.h"
#include "interrupt.h"
#include "messages.h"

/* Below this size a copy costs less than a mapping, and a file that shrinks does no harm. */
static const size_t MAP_FROM_BYTES = 16 << 20;

rh_status input_fail(const Input *input, const char *what) {
  messages_say(input, RH_SEVERITY_ERROR, "%s", what);
  return RH_ERR_INPUT;
}

rh_status input_out_of_memory(const Input *input) {
  messages_say(input, RH_SEVERITY_ERROR, "out of memory");
  return RH_ERR_MEMORY;
}

static size_t smaller_of(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Reads a file, pipe or device to its end, or up to `most_bytes` bytes. */
static rh_status read_all(int fd, size_t expected, size_t most_bytes, Input *input) {
  size_t length = 0, room = expected + 1 > 65536 ? expected + 1 : 65536;
  room = smaller_of(room, most_bytes);
  char *text = malloc(room);
  while (length < most_bytes) {
    if (text && length == room) {
      room = smaller_of(room * 2, most_bytes);
      char *larger = realloc(text, room);
      if (!larger) free(text);
      text = larger;
    }
    if (!text) return input_out_of_memory(input);
    ssize_t got = read(fd, text + length, room - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      free(text);
      return input_fail(input, strerror(errno));
    }
    if (got == 0) break;
    length += (size_t)got;
  }
  input->text = text;
  input->length = length;
  input->is_cut = length == most_bytes;
  return RH_OK;
}

static rh_status map(int fd, size_t length, Input *input) {
  void *text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
  if (text == MAP_FAILED) return read_all(fd, length, SIZE_MAX, input);
  posix_madvise(text, length, POSIX_MADV_SEQUENTIAL);
  interrupt_note_mapping(input->path);
  input->text = text;
  input->length = length;
  input->is_mapped = true;
  return RH_OK;
}

rh_status input_read_beginning(const char *path, MessageForm form, size_t most_bytes,
                               Input *input) {
  bool is_stdin = strcmp(path, "-") == 0;
  *input = (Input){.path = is_stdin ? "<stdin>" : path, .form = form};
  int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return input_fail(input, strerror(errno));
  struct stat status;
  rh_status result;
  if (fstat(fd, &status) != 0) {
    result = input_fail(input, strerror(errno));
  } else if (S_ISDIR(status.st_mode)) {
    result = input_fail(input, "is a directory; give the dump files in it");
  } else {
    size_t expected = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    bool is_large = smaller_of(expected, most_bytes) >= MAP_FROM_BYTES;
    result = is_large ? map(fd, expected, input) : read_all(fd, expected, most_bytes, input);
  }
  if (!is_stdin) close(fd);
  return result == RH_OK ? input_decompress(input, most_bytes) : result;
}

rh_status input_read(const char *path, MessageForm form, Input *input) {
  return input_read_beginning(path, form, SIZE_MAX, input);
}

void input_hash(const Input *input, char digits[INPUT_HASH_CHARS]) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < input->length; i++)
    hash = (hash ^ (unsigned char)input->text[i]) * UINT64_C(0x100000001b3);
  snprintf(digits, INPUT_HASH_CHARS, "%016" PRIx64, hash);
}

void input_free(Input *input) {
  if (input->is_mapped) {
    munmap((void *)(uintptr_t)input->text, input->length);
  } else {
    free((void *)(uintptr_t)input->text);
  }
  input->text = NULL;
}
