#include "algorithm.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const char COLLECTION[] = "checkpoint=collection";

static char *copy_text(const char *text, size_t length) {
  char *copy = memory_need(malloc(length + 1));
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

static rh_status read_expressions(const char *path, MessageForm form, Algorithm *algorithm) {
  Input input;
  rh_status status = input_read(path, form, &input);
  if (status != RH_OK) return status;
  if (memchr(input.text, 0, input.length)) {
    status = input_fail(&input, "expressions have no NUL in them");
  } else {
    algorithm->collection = copy_text(input.text, input.length);
    if (!algorithm->collection) status = input_out_of_memory(&input);
  }
  input_free(&input);
  return status;
}

static rh_status fail_usage(const char *what) {
  fprintf(stderr, "remat-hlo: error: --algorithm: %s\n", what);
  return RH_ERR_USAGE;
}

/* Selects the published variant of `path`. */
static rh_status read_compat(const char *text, Algorithm *algorithm) {
  static const char NAME[] = "path-compat";
  const rh_remat_options defaults = RH_REMAT_OPTIONS_INIT;
  bool is_default = strcmp(text, defaults.algorithm) == 0;
  if (!is_default && strcmp(text, "path") != 0 && strcmp(text, NAME) != 0) {
    fprintf(stderr, "remat-hlo: error: --path-compat is for --algorithm=path, not '%s'\n", text);
    return RH_ERR_USAGE;
  }
  algorithm->name = copy_text(NAME, strlen(NAME));
  return algorithm->name ? RH_OK : RH_ERR_WRITE;
}

rh_status algorithm_read(const Options *options, Algorithm *algorithm) {
  const char *text = options->remat.algorithm;
  MessageForm form = (MessageForm)options->diagnostics;
  *algorithm = (Algorithm){0};
  if (options->path_compat) return read_compat(text, algorithm);
  size_t len = strlen(COLLECTION);
  bool is_collection = strncmp(text, COLLECTION, len) == 0 && (!text[len] || text[len] == ':');
  algorithm->name = is_collection ? copy_text(text, len) : copy_text(text, strlen(text));
  if (!algorithm->name) return RH_ERR_WRITE;
  if (!is_collection) return RH_OK;
  const char *argument = text[len] ? text + len + 1 : "";
  if (!*argument || strcmp(argument, "@") == 0) {
    return fail_usage(
        "checkpoint=collection needs what to keep: checkpoint=collection:REGEX or "
        "checkpoint=collection:@FILE");
  }
  if (*argument == '@') return read_expressions(argument + 1, form, algorithm);
  algorithm->collection = copy_text(argument, strlen(argument));
  return algorithm->collection ? RH_OK : RH_ERR_WRITE;
}

void algorithm_free(Algorithm *algorithm) {
  free(algorithm->name);
  free(algorithm->collection);
}
