#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "messages.h"
#include "path.h"

/* ---- where profiles are ---- */

/* Returns the folder of profiles that is installed with this program, found from where the program
 * is, so that both can be moved. It need not exist. Returns NULL if the system does not say where
 * the program is, or if out of memory. */
static char *profile_folder(void) {
  char *program = realpath("/proc/self/exe", NULL);
  if (!program) return NULL;
  *strrchr(program, '/') = 0;
  char *folder = path_join(program, REMAT_HLO_PROFILES_FROM_BIN, "");
  free(program);
  return folder;
}

/* Returns the file of the folder that has the profile of a device, or NULL if there is none. */
static char *find_file(const char *folder, const char *name) {
  char *path = folder ? path_join(folder, name, ".json") : NULL;
  if (path && access(path, F_OK) == 0) return path;
  free(path);
  return NULL;
}

static int is_profile(const struct dirent *entry) {
  return entry->d_name[0] != '.' && path_ends_in(entry->d_name, ".json");
}

/* The devices that --device can name: those of the folder, and those that are built in. */
typedef struct Devices {
  char *folder;
  struct dirent **files; /* their names have lost the ending */
  int num_files;
  const char **names; /* sorted, without duplicates */
  size_t num_names;
} Devices;

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void drop_duplicates(Devices *devices) {
  size_t count = 0;
  for (size_t i = 0; i < devices->num_names; i++) {
    bool is_new = count == 0 || strcmp(devices->names[count - 1], devices->names[i]) != 0;
    if (is_new) devices->names[count++] = devices->names[i];
  }
  devices->num_names = count;
}

static rh_status find_devices(Devices *devices) {
  const rh_entry *entry;
  size_t num_built_in = 0;
  *devices = (Devices){.folder = profile_folder()};
  if (devices->folder) {
    devices->num_files = path_list(devices->folder, is_profile, &devices->files);
  }
  while (rh_list(RH_DEVICES, num_built_in))
    num_built_in++;
  size_t num_files = devices->num_files > 0 ? (size_t)devices->num_files : 0;
  devices->names = calloc(num_files + num_built_in + 1, sizeof *devices->names);
  if (!devices->names) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < num_files; i++) {
    char *name = devices->files[i]->d_name;
    name[strlen(name) - strlen(".json")] = 0;
    devices->names[devices->num_names++] = name;
  }
  for (size_t i = 0; (entry = rh_list(RH_DEVICES, i)); i++)
    devices->names[devices->num_names++] = entry->name;
  qsort(devices->names, devices->num_names, sizeof *devices->names, by_text);
  drop_duplicates(devices);
  return RH_OK;
}

static void free_devices(Devices *devices) {
  free(devices->names);
  if (devices->files) path_free_list(devices->files, devices->num_files);
  free(devices->folder);
}

/* ---- loading ---- */

static rh_status load_file(const char *path, MessageForm form, const rh_profile_options *link,
                           rh_profile **profile) {
  Input input;
  rh_status status = input_read(path, form, &input);
  if (status != RH_OK) return status;
  rh_diags *diags = memory_need(rh_diags_new());
  status = rh_profile_parse(input.text, input.length, link, profile, diags);
  messages_print(&input, diags);
  rh_diags_free(diags);
  input_free(&input);
  return status;
}

static rh_status load_built_in(const char *name, MessageForm form, const rh_profile_options *link,
                               rh_profile **profile) {
  rh_diags *diags = memory_need(rh_diags_new());
  rh_status status = rh_profile_named(name, link, profile, diags);
  messages_print(&(Input){.path = name, .form = form}, diags);
  rh_diags_free(diags);
  return status;
}

static rh_status fail_name(const char *name) {
  Devices devices;
  rh_status status = find_devices(&devices);
  if (status == RH_OK) {
    const char *meant = rh_closest_word(name, devices.names, devices.num_names);
    fprintf(stderr, "remat-hlo: error: there is no device '%s'%s%s%s\n", name,
            meant ? "; did you mean '" : "", meant ? meant : "; remat-hlo list shows all",
            meant ? "'?" : "");
    status = RH_ERR_USAGE;
  }
  free_devices(&devices);
  return status;
}

/* A profile in the folder goes before the one of the same name that is built in: someone has put it
 * there. */
static rh_status load_named(const char *folder, const char *name, MessageForm form,
                            const rh_profile_options *link, rh_profile **profile) {
  char *path = find_file(folder, name);
  if (!path && !rh_find(RH_DEVICES, name)) return fail_name(name);
  rh_status status =
      path ? load_file(path, form, link, profile) : load_built_in(name, form, link, profile);
  free(path);
  return status;
}

static rh_status load_by(const char *name, const Options *options, rh_profile **profile) {
  MessageForm form = (MessageForm)options->diagnostics;
  rh_profile_options link = RH_PROFILE_OPTIONS_INIT;
  link.to_host = (double)options->to_host_bytes;
  link.to_device = (double)options->to_device_bytes;
  if (strchr(name, '/') || path_ends_in(name, ".json")) {
    return load_file(name, form, &link, profile);
  }
  char *folder = profile_folder();
  rh_status status = load_named(folder, name, form, &link, profile);
  free(folder);
  return status;
}

bool device_is_auto(const Options *options) {
  return strcmp(options->device, "auto") == 0;
}

rh_status device_load(const Options *options, rh_profile **profile) {
  return load_by(device_is_auto(options) ? DEVICE_ASSUMED : options->device, options, profile);
}

rh_status device_load_for(const Options *options, const Input *input, const char *target,
                          rh_profile **profile, bool *is_assumed) {
  *is_assumed = false;
  if (!device_is_auto(options)) return load_by(options->device, options, profile);
  DumpDevice device = dump_device(input, target);
  *is_assumed = device.is_assumed;
  return load_by(device.name, options, profile);
}

rh_status device_visit(device_fn visit, void *context) {
  Devices devices;
  rh_status status = find_devices(&devices);
  for (size_t i = 0; i < devices.num_names && status == RH_OK; i++) {
    rh_profile *profile = NULL;
    status = load_named(devices.folder, devices.names[i], FORM_TEXT, NULL, &profile);
    if (status == RH_OK) visit(context, profile);
    rh_profile_free(profile);
  }
  free_devices(&devices);
  return status;
}
