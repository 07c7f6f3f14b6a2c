/* The modules that the command line names: each file, and one stage of each module of a folder. */
#ifndef REMAT_HLO_CLI_MODULE_LIST_H
#define REMAT_HLO_CLI_MODULE_LIST_H

#include "dump_folder.h"

typedef struct ListedModule {
  const char *path;        /* the file that is read; belongs to the options or to a folder */
  const char *root;        /* the folder in which it was found; NULL if the file itself was given */
  const DumpStage *stages; /* all stages of the module; NULL for a file */
  size_t num_stages;
  const DumpStage *chosen; /* the stage that is read; NULL for a file */
  size_t number;           /* place in the list of all shards, from 1 */
} ListedModule;

typedef struct ModuleList {
  ListedModule *modules; /* in the order of the command line, those of a folder sorted by name */
  size_t len, room;
  DumpFolder *folders;
  size_t num_folders;
  size_t num_stages, num_others; /* of the modules in the list; files that are no HLO text */
  size_t num_all;                /* how many modules all shards have together */
} ModuleList;

/* Lists the modules and leaves out those whose names --module does not match and those of other
 * shards. If there is no HLO
 * text, if something cannot be read or if no name matches, it returns the most severe status and
 * reports the reasons on stderr; the rest is still listed. Call module_list_free() in any case. */
rh_status module_list_read(const Options *options, ModuleList *list);
void module_list_free(ModuleList *list);

/* Returns the peak below which a module is left out. The default is for folders, in which most
 * modules are helpers of a few bytes. */
int64_t module_min_peak(const ListedModule *module, const Options *options);

/* Writes the line that says how many modules are left out because of their peaks, if any are. */
void print_left_out(size_t num_left_out, const Options *options, FILE *out);

/* Returns whether the glob of --module matches a name, with or without the number that makes it
 * unique. */
bool module_matches(const char *glob, const char *name);

/* Writes the line that says which part of the modules this is, if --shard is given. */
void print_shard(const ModuleList *list, const Options *options, FILE *out);

/* Returns how long the name of a module is without the number that XLA appends to make names
 * unique: `jit_step` in `jit_step.42`. */
size_t module_name_length(rh_text name);

#endif
