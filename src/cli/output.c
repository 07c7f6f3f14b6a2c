#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "messages.h"
#include "path.h"

bool output_is_stdout(const char *path) {
  return path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0);
}

/* Returns whether two paths refer to the same file, under any names. If memory runs out, they count
 * as different. */
static bool is_same_file(const char *a, const char *b) {
  if (!a || !b || path_is_directory(a) || strncmp(a, "/dev/", 5) == 0) return false;
  char *real_a = path_real(a), *real_b = path_real(b);
  bool is_same = real_a && real_b && strcmp(real_a, real_b) == 0;
  free(real_a);
  free(real_b);
  return is_same;
}

rh_status output_check(const char *const *paths, size_t count) {
  size_t num_stdout = 0;
  for (size_t i = 0; i < count; i++) {
    if (output_is_stdout(paths[i])) {
      if (++num_stdout < 2) continue;
      fputs("remat-hlo: error: only one output can go to stdout\n", stderr);
      return RH_ERR_USAGE;
    }
    for (size_t k = 0; k < i; k++) {
      if (output_is_stdout(paths[k]) || !is_same_file(paths[i], paths[k])) continue;
      fprintf(stderr, "remat-hlo: error: two outputs have the same name: %s\n", paths[i]);
      return RH_ERR_USAGE;
    }
  }
  return RH_OK;
}

static rh_status fail(const Output *output, const char *what) {
  Input place = {.path = output->path, .form = output->form};
  messages_say(&place, RH_SEVERITY_ERROR, "%s", what);
  return RH_ERR_WRITE;
}

/* Returns the mode of a new file, which depends on the umask. */
static mode_t default_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

static rh_status fail_to_open(Output *output, const char *what) {
  free(output->temporary);
  free(output->target);
  return fail(output, what);
}

static rh_status open_temporary(Output *output, const struct stat *old) {
  output->target = path_follow(output->path);
  if (!output->target) return fail_to_open(output, strerror(errno));
  size_t len = strlen(output->target);
  output->temporary = malloc(len + sizeof ".XXXXXX");
  if (!output->temporary) return fail_to_open(output, "out of memory");
  memcpy(output->temporary, output->target, len);
  strcpy(output->temporary + len, ".XXXXXX");
  int fd = interrupt_make_temporary(output->temporary);
  if (fd < 0) return fail_to_open(output, strerror(errno));
  fchmod(fd, old ? old->st_mode & 07777 : default_mode());
  output->file = fdopen(fd, "wb");
  if (output->file) return RH_OK;
  close(fd);
  unlink(output->temporary);
  interrupt_forget_temporary(output->temporary);
  return fail_to_open(output, "out of memory");
}

rh_status output_open(const char *path, const Options *options, Output *output) {
  *output = (Output){.path = path, .form = (MessageForm)options->diagnostics};
  if (strcmp(path, "-") == 0) {
    output->path = "<stdout>";
    output->file = stdout;
    return RH_OK;
  }
  struct stat status;
  bool exists = stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return fail(output, "is a directory");
  if (!exists || S_ISREG(status.st_mode)) return open_temporary(output, exists ? &status : NULL);
  output->file = fopen(path, "wb");
  return output->file ? RH_OK : fail(output, strerror(errno));
}

int output_write(void *context, const char *data, size_t length) {
  Output *output = context;
  if (fwrite(data, 1, length, output->file) == length) return 0;
  if (errno == EPIPE) output->is_closed_pipe = true;
  return -1;
}

rh_status output_close(Output *output, bool keep) {
  rh_status status = RH_OK;
  bool has_failed = fflush(output->file) != 0 || ferror(output->file);
  int error = errno;
  if (has_failed && error == EPIPE) output->is_closed_pipe = true;
  if (output->file != stdout && fclose(output->file) != 0 && !has_failed) {
    has_failed = true;
    error = errno;
  }
  if (has_failed && !output->is_closed_pipe) {
    status = fail(output, error ? strerror(error) : "could not be written");
  }
  if (output->target) {
    if (keep && status == RH_OK && rename(output->temporary, output->target) != 0) {
      status = fail(output, strerror(errno));
    }
    if (!keep || status != RH_OK) unlink(output->temporary);
    interrupt_forget_temporary(output->temporary);
  }
  free(output->temporary);
  free(output->target);
  return status;
}

rh_status output_write_json(char *text, const char *path, const Options *options) {
  if (!text) return input_out_of_memory(&(Input){.path = path});
  Output output;
  rh_status status = output_open(path, options, &output);
  if (status == RH_OK) {
    output_write(&output, text, strlen(text));
    output_write(&output, "\n", 1);
    status = output_close(&output, true);
  }
  free(text);
  return status;
}
