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

/* ---- protocol buffers ---- */

/* A module's message begins with the tag of its name, a string, and has that of the entry's name, a
 * control character, soon after. */
bool input_is_proto(const Input *input) {
  enum { NAME_TAG = 0x0a, ENTRY_NAME_TAG = 0x12, MAX_LOOK = 1 << 14 };
  if (input->length == 0 || input->text[0] != NAME_TAG) return false;
  return memchr(input->text, ENTRY_NAME_TAG, smaller_of(input->length, MAX_LOOK)) != NULL;
}

typedef struct Growing {
  char *data;
  size_t length, room;
  bool has_failed;
} Growing;

static int grow(void *context, const char *data, size_t length) {
  Growing *text = context;
  if (length > text->room - text->length) {
    size_t room = text->room * 2 > text->length + length ? text->room * 2 : text->length + length;
    char *larger = realloc(text->data, room);
    text->has_failed = !larger;
    if (!larger) return 1;
    text->data = larger;
    text->room = room;
  }
  memcpy(text->data + text->length, data, length);
  text->length += length;
  return 0;
}

/* Says why a message has no text. Without protobuf-c, and for bytes that are no message after all
 * and are not called one, the parser says what they are. */
static rh_status fail_proto(const Input *input, const Growing *text, rh_status status,
                            const rh_diags *diags) {
  const rh_diag *diag = rh_diags_len(diags) ? rh_diags_get(diags, 0) : NULL;
  bool is_called_proto = strstr(input->path, ".pb") != NULL;
  if (text->has_failed || status == RH_ERR_MEMORY) return input_out_of_memory(input);
  if (diag && diag->code == RH_CODE_NOT_BUILT) {
    if (is_called_proto)
      messages_say(input, RH_SEVERITY_NOTE, "%s; one with protobuf-c does", diag->message);
    return RH_OK;
  }
  if (diag && diag->code == RH_CODE_PROTO && !is_called_proto) return RH_OK;
  return input_fail(input, diag ? diag->message : "the message cannot be read");
}

/* Replaces the bytes of a message by its text. */
static rh_status print_proto(Input *input) {
  Growing text = {0};
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_print_proto(input->text, input->length, grow, &text, diags);
  if (status == RH_OK) {
    input_free(input);
    input->text = text.data;
    input->length = text.length;
    input->is_mapped = false;
  } else {
    status = fail_proto(input, &text, status, diags);
    free(text.data);
  }
  rh_diags_free(diags);
  return status;
}

/* Of a profile, the text of the largest module in it. */
static rh_status take_module_of_profile(Input *input) {
  const char *hlo;
  size_t length;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_times_find_hlo(input->text, input->length, NULL, &hlo, &length, diags);
  char *copy = hlo ? malloc(length) : NULL;
  if (copy) memcpy(copy, hlo, length);
  if (status == RH_OK && !hlo) status = input_fail(input, "the profile has no HLO module");
  if (status == RH_OK && !copy) status = input_out_of_memory(input);
  rh_diags_free(diags);
  if (status != RH_OK) return status;
  input_free(input);
  input->text = copy;
  input->length = length;
  input->is_mapped = false;
  return RH_OK;
}

bool input_is_profile(const char *path) {
  return strstr(path, ".xplane.pb") != NULL;
}

rh_status input_read(const char *path, MessageForm form, Input *input) {
  rh_status status = input_read_beginning(path, form, SIZE_MAX, input);
  if (status == RH_OK && input_is_profile(path)) status = take_module_of_profile(input);
  return status == RH_OK && input_is_proto(input) ? print_proto(input) : status;
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
