/* File names. */
#ifndef REMAT_HLO_CLI_PATH_H
#define REMAT_HLO_CLI_PATH_H

#include <dirent.h>

#include "remat_hlo.h"

/* Returns `directory/name` with a suffix, which the caller frees, or NULL if out of memory. */
char *path_join(const char *directory, const char *name, const char *suffix);

/* Returns whether the path is a directory or ends in `/`. */
bool path_is_directory(const char *path);

/* Creates a directory unless it exists. On failure it returns RH_ERR_WRITE and reports the reason
 * on stderr. */
rh_status path_make_directory(const char *path);

/* Returns the path of the file that a path refers to through symbolic links, whose last target need
 * not exist yet. The caller frees it. Returns NULL and sets errno on failure. */
char *path_follow(const char *path);

/* Returns the unique name of that file: absolute and without links, dots and double slashes.
 * Neither the file nor the folders that contain it need to exist. The caller frees it. Returns NULL
 * if out of memory. */
char *path_real(const char *path);

/* Lists the entries of a directory that `wants` accepts, sorted by name. Returns their number; free
 * them with path_free_list(). On failure it returns -1 and sets errno. */
int path_list(const char *path, int (*wants)(const struct dirent *), struct dirent ***entries);
void path_free_list(struct dirent **entries, int count);

/* Returns the last component of a path. */
const char *path_base(const char *path);

/* Returns whether a name, or a part of one, has this ending. */
bool path_ends_in(const char *name, const char *ending);

/* Returns `PREFIX.NAME.SUFFIX`, where NAME is the name of a module. Characters that do not belong
 * in a file name become `_`. The caller frees it. */
char *path_for_module(const char *prefix, rh_text name, const char *suffix);

#endif
