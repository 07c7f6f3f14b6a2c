/* File names. */
#ifndef REMAT_HLO_CLI_PATH_H
#define REMAT_HLO_CLI_PATH_H

#include <dirent.h>

#include "remat_hlo.h"

/* `directory/name` with a suffix, to be freed; NULL without memory. */
char *path_join(const char *directory, const char *name, const char *suffix);

/* Whether it is a directory or says so by a `/` at its end. */
bool path_is_directory(const char *path);

/* Makes a directory if it is not there. RH_ERR_WRITE, the reason on stderr. */
rh_status path_make_directory(const char *path);

/* The file that a path leads to, through links that may end nowhere yet; to be freed. NULL with
 * errno. */
char *path_follow(const char *path);

/* The one name of that file, from the root on and without links, dots and double slashes, whether
 * or not it or folders before it are there yet; to be freed. NULL without memory. */
char *path_real(const char *path);

/* What is in a directory, by name; `wants` chooses. Returns how many, to be freed with them, or -1
 * and the reason in errno. */
int path_list(const char *path, int (*wants)(const struct dirent *), struct dirent ***entries);
void path_free_list(struct dirent **entries, int count);

/* The last part of a path. */
const char *path_base(const char *path);

/* Whether a name, or a part of one, ends so. */
bool path_ends_in(const char *name, const char *ending);

/* `PREFIX.NAME.SUFFIX` for a module's name as part of a file name, to be freed: what does not
 * belong into one becomes `_`. */
char *path_for_module(const char *prefix, rh_text name, const char *suffix);

#endif
