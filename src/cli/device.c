#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "path.h"

/* Returns the folder of the profiles: the installed one, else the one in the source tree from which
 * this program was built. */
static const char *profile_folder(void) {
  return access(REMAT_HLO_PROFILE_DIR, R_OK) == 0 ? REMAT_HLO_PROFILE_DIR
                                                  : REMAT_HLO_SOURCE_PROFILE_DIR;
}

static int is_profile(const struct dirent *entry) {
  return entry->d_name[0] != '.' && path_ends_in(entry->d_name, ".json");
}

static rh_status load_file(const char *path, MessageForm form, const rh_profile_options *link,
                           rh_profile **profile) {
  Input input;
  rh_status status = input_read(path, form, &input);
  if (status != RH_OK) return status;
  rh_diags *diags = rh_diags_new();
  status = rh_profile_parse(input.text, input.length, link, profile, diags);
  messages_print(&input, diags);
  rh_diags_free(diags);
  input_free(&input);
  return status;
}

static rh_status fail_name(const char *name) {
  struct dirent **files = NULL;
  const char *names[64];
  size_t num_names = 0;
  int count = path_list(profile_folder(), is_profile, &files);
  for (int i = 0; i < count && num_names < 64; i++) {
    files[i]->d_name[strlen(files[i]->d_name) - 5] = 0;
    names[num_names++] = files[i]->d_name;
  }
  const char *meant = rh_closest_word(name, names, num_names);
  fprintf(stderr, "remat-hlo: error: there is no device '%s'%s%s%s\n", name,
          meant ? "; did you mean '" : "", meant ? meant : "; remat-hlo list shows all",
          meant ? "'?" : "");
  path_free_list(files, count);
  return RH_ERR_USAGE;
}

static rh_status load_named(const char *name, MessageForm form, const rh_profile_options *link,
                            rh_profile **profile) {
  if (strchr(name, '/') || path_ends_in(name, ".json")) {
    return load_file(name, form, link, profile);
  }
  char *path = path_join(profile_folder(), name, ".json");
  if (!path) return RH_ERR_WRITE;
  bool exists = access(path, F_OK) == 0;
  rh_status status = exists ? load_file(path, form, link, profile) : fail_name(name);
  free(path);
  return status;
}

rh_status device_load(const Options *options, rh_profile **profile) {
  rh_profile_options link = RH_PROFILE_OPTIONS_INIT;
  link.to_host = (double)options->to_host_bytes;
  link.to_device = (double)options->to_device_bytes;
  return load_named(options->device, (MessageForm)options->diagnostics, &link, profile);
}

rh_status device_visit(device_fn visit, void *context) {
  struct dirent **files = NULL;
  int count = path_list(profile_folder(), is_profile, &files);
  rh_status status = RH_OK;
  for (int i = 0; i < count && status == RH_OK; i++) {
    rh_profile *profile = NULL;
    char *path = path_join(profile_folder(), files[i]->d_name, "");
    status = path ? load_file(path, FORM_TEXT, NULL, &profile) : RH_ERR_WRITE;
    if (status == RH_OK) visit(context, profile);
    rh_profile_free(profile);
    free(path);
  }
  path_free_list(files, count);
  return status;
}
