#include "remat/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "output.h"
#include "path.h"
#include "peek.h"

/* The file names in a folder are the input's own name, or PREFIX.MODULE.SUFFIX. */
static const struct {
  const char *option, *prefix, *suffix;
  size_t place; /* offset of the field in Options */
} outputs[NUM_REMAT_OUTPUTS] = {
    [OUTPUT_MODULE] = {"--output", NULL, NULL, offsetof(Options, output)},
    [OUTPUT_GRAPH_BEFORE] = {"--dump-dot", "before", "dot", offsetof(Options, dump_dot)},
    [OUTPUT_GRAPH_AFTER] = {"--dump-dot", "remat", "dot", offsetof(Options, dump_dot)},
    [OUTPUT_MEMLOG] = {"--dump-memlog", "mem", "log", offsetof(Options, dump_memlog)},
    [OUTPUT_PLAN] = {"--save-plan", "plan", "json", offsetof(Options, save_plan)},
    [OUTPUT_PICTURES + RH_PICTURE_HTML] = {"--html", "memory", "html",
                                           offsetof(Options, pictures[RH_PICTURE_HTML])},
    [OUTPUT_PICTURES +
        RH_PICTURE_SVG] = {"--svg", "memory", "svg", offsetof(Options, pictures[RH_PICTURE_SVG])},
    [OUTPUT_PICTURES + RH_PICTURE_PERFETTO] = {"--perfetto", "memory", "json",
                                               offsetof(Options, pictures[RH_PICTURE_PERFETTO])},
};

/* Returns NULL if the output is not asked for. */
static const char *place_of(const Options *options, RematOutput output) {
  const char *field = (const char *)options + outputs[output].place;
  return *(const char *const *)field;
}

static bool is_in_folder(const Options *options, RematOutput output) {
  const char *place = place_of(options, output);
  bool is_graph = output == OUTPUT_GRAPH_BEFORE || output == OUTPUT_GRAPH_AFTER;
  return is_graph || (strcmp(place, "-") != 0 && path_is_directory(place));
}

static bool is_named_after_module(const Options *options, RematOutput output) {
  return place_of(options, output) && outputs[output].prefix && is_in_folder(options, output);
}

/* Returns the path of an output, which the caller frees, or NULL if out of memory. */
static char *path_of(const Options *options, const Places *places, size_t input, RematOutput output,
                     rh_text module_name) {
  const char *place = place_of(options, output);
  if (!is_in_folder(options, output)) return strdup(place);
  const char *path = places->inputs[input];
  const char *own = strcmp(path, "-") == 0 ? "<stdin>" : path_base(path);
  char *name = outputs[output].prefix
                   ? path_for_module(outputs[output].prefix, module_name, outputs[output].suffix)
                   : strdup(own);
  char *whole = name ? places_join(places, input, place, name) : NULL;
  free(name);
  return whole;
}

static rh_status note(const Options *options, Places *places, size_t input, RematOutput output,
                      rh_text module_name, char **path) {
  *path = path_of(options, places, input, output, module_name);
  if (!*path) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  return places_claim(places, *path, outputs[output].option, (ptrdiff_t)input);
}

rh_status remat_output_prepare(const Options *options, Places *places, size_t input,
                               RematOutput output, rh_text module_name, char **path) {
  rh_status status = note(options, places, input, output, module_name, path);
  if (status != RH_OK || !is_in_folder(options, output)) return status;
  return places_make_folders(places, input, place_of(options, output));
}

/* ---- before the first run ---- */

typedef enum InputKind {
  INPUT_MISSING, /* nothing will be written for it */
  INPUT_FILE,
  INPUT_STREAM, /* can be read only once */
} InputKind;

static InputKind kind_of(const char *path) {
  struct stat kind;
  if (strcmp(path, "-") == 0) return INPUT_STREAM;
  if (stat(path, &kind) != 0) return INPUT_MISSING;
  return S_ISREG(kind.st_mode) ? INPUT_FILE : INPUT_STREAM;
}

static bool has_named_after_module(const Options *options) {
  for (int i = 0; i < NUM_REMAT_OUTPUTS; i++) {
    if (is_named_after_module(options, (RematOutput)i)) return true;
  }
  return false;
}

/* `module` is NULL when its name is not known. */
static rh_status note_input(const Options *options, Places *places, size_t input,
                            const char *module) {
  rh_status status = RH_OK;
  rh_text name = {module ? module : "", module ? strlen(module) : 0};
  for (int i = 0; i < NUM_REMAT_OUTPUTS && status == RH_OK; i++) {
    RematOutput output = (RematOutput)i;
    char *path = NULL;
    bool is_known = module || !is_named_after_module(options, output);
    if (!place_of(options, output) || !is_known) continue;
    status = note(options, places, input, output, name, &path);
    free(path);
  }
  return status;
}

rh_status remat_outputs_note(const Options *options, Places *places) {
  bool asks_names = has_named_after_module(options);
  rh_status status = RH_OK;
  for (size_t i = 0; i < places->num_inputs && status == RH_OK; i++) {
    InputKind kind = kind_of(places->inputs[i]);
    if (kind == INPUT_MISSING) continue;
    char *module = kind == INPUT_FILE && asks_names ? peek_module_name(places->inputs[i]) : NULL;
    status = note_input(options, places, i, module);
    free(module);
  }
  return status;
}
