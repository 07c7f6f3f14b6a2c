#include "pictures.h"

#include <assert.h>

#include "output.h"
#include "path.h"

bool pictures_are_wanted(const Options *options) {
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS; i++) {
    if (options->pictures[i]) return true;
  }
  return false;
}

bool pictures_take_stdout(const Options *options) {
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS; i++) {
    if (output_is_stdout(options->pictures[i])) return true;
  }
  return false;
}

bool pictures_have_folders(const Options *options) {
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS; i++) {
    if (options->pictures[i] && !path_is_directory(options->pictures[i])) return false;
  }
  return true;
}

rh_status pictures_check(const Options *options, const char *const *others, size_t num_others) {
  const char *paths[MAX_OTHER_OUTPUTS + RH_NUM_PICTURE_FORMATS];
  assert(num_others <= MAX_OTHER_OUTPUTS && "the others have room");
  for (size_t i = 0; i < num_others; i++)
    paths[i] = others[i];
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS; i++)
    paths[num_others + (size_t)i] = options->pictures[i];
  rh_status status = output_check(paths, num_others + RH_NUM_PICTURE_FORMATS);
  if (status != RH_OK) return status;
#ifndef REMAT_HLO_PICTURES
  if (options->pictures[RH_PICTURE_HTML]) {
    fputs("remat-hlo: error: --html: this remat-hlo was built without pages for browsers\n",
          stderr);
    return RH_ERR_USAGE;
  }
#endif
  return RH_OK;
}

rh_status pictures_map(rh_picture *picture, const PictureSide *before, const PictureSide *after,
                       rh_diags *diags) {
  rh_memory_map *maps[2] = {NULL, NULL};
  rh_status status = rh_memory_map_make(before->module, before->settings, &maps[0], diags);
  if (status == RH_OK && after) {
    status = rh_memory_map_make(after->module, after->settings, &maps[1], diags);
  }
  picture->before = maps[0];
  picture->after = maps[1];
  picture->before_title = after ? before->title : NULL;
  picture->after_title = after ? after->title : NULL;
  return status;
}

void pictures_free(rh_picture *picture) {
  rh_memory_map_free((rh_memory_map *)picture->after);
  rh_memory_map_free((rh_memory_map *)picture->before);
}
