/* Reads the modules of a folder whose texts have estimates of XLA:TPU. */
#define _GNU_SOURCE /* for memmem() */
#include <stdlib.h>
#include <string.h>

#include "calibrate/job.h"
#include "dump_folder.h"
#include "messages.h"

static bool has_estimates(const Input *input) {
  static const char KEY[] = "estimated_cycles";
  return input->text && memmem(input->text, input->length, KEY, strlen(KEY)) != NULL;
}

static rh_status make_room(Measured *measured, size_t room) {
  measured->paths = calloc(room + 1, sizeof *measured->paths);
  measured->groups = calloc(room + 1, sizeof *measured->groups);
  measured->loaded = calloc(room + 1, sizeof *measured->loaded);
  measured->modules = calloc(room + 1, sizeof *measured->modules);
  bool has_all = measured->paths && measured->groups && measured->loaded && measured->modules;
  return has_all ? RH_OK : input_out_of_memory(&measured->input);
}

/* Adds a text if it has estimates. */
static rh_status add_text(const char *path, const Options *options, Measured *measured) {
  Input input;
  rh_status status = input_read(path, (MessageForm)options->diagnostics, &input);
  bool is_wanted = status == RH_OK && has_estimates(&input);
  input_free(&input);
  if (!is_wanted) return status;
  size_t index = measured->num_loaded++;
  measured->paths[index] = strdup(path);
  if (!measured->paths[index]) return input_out_of_memory(&measured->input);
  measured->groups[index] = measured->paths[index];
  status = load_to_measure(path, options, &measured->loaded[index]);
  measured->modules[index] = measured->loaded[index].module;
  measured->len = measured->num_loaded;
  return status;
}

rh_status measured_read_folder(const Options *options, Measured *measured) {
  DumpFolder folder;
  measured->is_folder = true;
  measured->input = (Input){.path = options->files[0], .form = (MessageForm)options->diagnostics};
  rh_status status = dump_folder_read(options->files[0], options, &folder);
  if (status == RH_OK) status = make_room(measured, folder.num_stages);
  for (size_t i = 0; i < folder.num_stages && status == RH_OK; i++)
    status = add_text(folder.stages[i].path, options, measured);
  dump_folder_free(&folder);
  if (status != RH_OK || measured->len > 0) return status;
  return input_fail(&measured->input, "has no HLO text with estimates of XLA:TPU");
}
