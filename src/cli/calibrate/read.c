/* Reads measured times, and the modules that they are of. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/job.h"
#include "messages.h"
#include "path.h"

static rh_status fail_run(const Measured *measured, size_t index, const char *what) {
  messages_say(&measured->input, RH_SEVERITY_ERROR, "runs[%zu]: %s", index, what);
  return RH_ERR_INPUT;
}

/* A path is relative to the folder of the file that it stands in. */
static char *path_of_module(const char *file, const char *path) {
  const char *slash = strrchr(file, '/');
  if (path[0] == '/' || !slash) return strdup(path);
  char *folder = strndup(file, (size_t)(slash - file) + (slash == file));
  char *joined = folder ? path_join(folder, path, "") : NULL;
  free(folder);
  return joined;
}

/* Other keys of a run are those of who measured it. */
static rh_status read_run(Measured *measured, size_t index, const cJSON *run) {
  const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "module"));
  const char *program = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, "program"));
  const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(run, "seconds");
  if (!path) return fail_run(measured, index, "'module' must be the path of a module");
  if (!cJSON_IsNumber(seconds) || !(seconds->valuedouble > 0) || !isfinite(seconds->valuedouble)) {
    return fail_run(measured, index, "'seconds' must be a number above 0");
  }
  measured->seconds[index] = seconds->valuedouble;
  measured->paths[index] = path_of_module(measured->input.path, path);
  measured->groups[index] = program ? program : measured->paths[index];
  return measured->paths[index] ? RH_OK : input_out_of_memory(&measured->input);
}

static rh_status read_runs(Measured *measured) {
  const cJSON *runs = cJSON_GetObjectItemCaseSensitive(measured->json, "runs"), *run;
  if (!cJSON_IsArray(runs)) {
    return input_fail(&measured->input, "must be JSON with a list 'runs'");
  }
  size_t len = (size_t)cJSON_GetArraySize(runs), index = 0;
  if (len < 2) return input_fail(&measured->input, "at least two measurements are needed");
  measured->len = len;
  measured->paths = calloc(len, sizeof *measured->paths);
  measured->groups = calloc(len, sizeof *measured->groups);
  measured->seconds = calloc(len, sizeof *measured->seconds);
  measured->loaded = calloc(len, sizeof *measured->loaded);
  measured->modules = calloc(len, sizeof *measured->modules);
  if (!measured->paths || !measured->groups || !measured->seconds || !measured->loaded ||
      !measured->modules) {
    return input_out_of_memory(&measured->input);
  }
  cJSON_ArrayForEach(run, runs) {
    rh_status status = read_run(measured, index++, run);
    if (status != RH_OK) return status;
  }
  return RH_OK;
}

static rh_status load_modules(const Options *options, Measured *measured) {
  for (size_t i = 0; i < measured->len; i++) {
    Loaded *loaded = &measured->loaded[measured->num_loaded++];
    rh_status status = load_to_measure(measured->paths[i], options, loaded);
    if (status != RH_OK) return status;
    measured->modules[i] = loaded->module;
  }
  return RH_OK;
}

rh_status measured_read(const Options *options, Measured *measured) {
  *measured = (Measured){0};
  if (path_is_directory(options->files[0])) return measured_read_folder(options, measured);
  rh_status status =
      input_read(options->files[0], (MessageForm)options->diagnostics, &measured->input);
  if (status != RH_OK) return status;
  measured->json = cJSON_ParseWithLength(measured->input.text, measured->input.length);
  status = read_runs(measured);
  return status == RH_OK ? load_modules(options, measured) : status;
}

void measured_free(Measured *measured) {
  for (size_t i = 0; i < measured->num_loaded; i++)
    load_free(&measured->loaded[i]);
  for (size_t i = 0; measured->paths && i < measured->len; i++)
    free(measured->paths[i]);
  free(measured->modules);
  free(measured->loaded);
  free(measured->seconds);
  free(measured->groups);
  free(measured->paths);
  cJSON_Delete(measured->json);
  input_free(&measured->input);
}
