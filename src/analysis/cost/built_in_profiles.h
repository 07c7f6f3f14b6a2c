/* The device profiles of share/remat-hlo/profiles, which the build embeds (cmake/profiles.cmake).
 */
#ifndef REMAT_HLO_ANALYSIS_COST_BUILT_IN_PROFILES_H
#define REMAT_HLO_ANALYSIS_COST_BUILT_IN_PROFILES_H

#include <stddef.h>

typedef struct BuiltInProfile {
  const char *name;
  const unsigned char *json;
  size_t length;
} BuiltInProfile;

/* In the order of the names. The last element has no name. */
extern const BuiltInProfile built_in_profiles[];

#endif
