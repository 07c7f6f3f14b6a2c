/* Groups of values and their colours: scopes of op_names where these separate the values, or else
 * categories. Arguments have groups of their own, because they are most of the memory of many
 * programs and would leave no colours for what is computed. */
#ifndef REMAT_HLO_EMIT_PICTURE_GROUPS_H
#define REMAT_HLO_EMIT_PICTURE_GROUPS_H

#include "emit/picture/picture.h"

enum {
  NUM_COMPUTED_GROUPS = 8, /* the last of them holds what has no group of its own */
  NUM_ARGUMENT_GROUPS = 4, /* likewise; they follow the computed ones */
  NUM_SCOPE_GROUPS = NUM_COMPUTED_GROUPS + NUM_ARGUMENT_GROUPS,
};

/* The colour of each group of scopes. */
typedef struct GroupColor {
  const char *color;
  bool is_dark; /* text on it is white */
} GroupColor;

extern const GroupColor group_colors[NUM_SCOPE_GROUPS];

typedef struct PictureGroup {
  rh_text name; /* empty: values without an op_name */
  const char *color;
  bool is_dark;
  bool is_used; /* some value is in it */
} PictureGroup;

typedef struct PictureGroups {
  bool by_scope;       /* or else by category */
  int depth;           /* number of parts of scopes for what is computed */
  int argument_depth;  /* the same for the paths of arguments */
  uint32_t num_groups; /* NUM_SCOPE_GROUPS or NUM_PICTURE_CATEGORIES */
  PictureGroup groups[NUM_SCOPE_GROUPS];
  uint32_t **of; /* by map of the picture: the group of each of its values */
} PictureGroups;

/* Returns the length of the beginning of a scope that has at most `depth` parts. Parts end at
 * slashes; those of an argument also end before brackets and dots: `state.params['w']` has three.
 */
size_t picture_scope_prefix(rh_text scope, bool is_argument, int depth);

/* Returns true for arguments, and for what is only a form of one, such as its copy. */
bool picture_is_argument(const rh_live_value *value);

/* Groups the values of a picture. The depth is the one at which colours separate the values best:
 * the entropy of the groups that have a colour of their own, times their share of all, is the
 * largest. Half of what a value weighs is its bytes times positions, half its bytes at the peak. */
PictureGroups picture_groups(const PictureMaps *maps, Arena *out);

#endif
