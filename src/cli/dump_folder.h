/* A folder into which XLA has dumped modules. For example,
 * `module_0042.jit_step.gpu_after_optimizations.txt` is one stage of a module. The folder also
 * contains other stages and files that are not HLO. */
#ifndef REMAT_HLO_CLI_DUMP_FOLDER_H
#define REMAT_HLO_CLI_DUMP_FOLDER_H

#include "options.h"

typedef struct DumpStage {
  char *path;
  char *module; /* the part that the names of its stages share, with the folders that contain them:
                   `host_3/module_0042.jit_step` */
  char *name;   /* of the module, as its text says; empty if it is not where a dump has it */
  char *stage;  /* the rest without extensions, `gpu_after_optimizations`; empty if there is none */
  bool is_scheduled;
} DumpStage;

typedef struct DumpFolder {
  DumpStage *stages; /* sorted by name; the stages of a module are adjacent */
  size_t num_stages, room;
  size_t num_others; /* files that are not HLO text */
} DumpFolder;

/* Lists the HLO texts in a folder and its subfolders. Hidden subfolders and symbolic links to
 * folders are left out. Modules of different folders are different modules. If something cannot be
 * read, it returns RH_ERR_WRITE or RH_ERR_INPUT and reports the reason on stderr; the rest is still
 * listed. Call dump_folder_free() in any case. */
rh_status dump_folder_read(const char *path, const Options *options, DumpFolder *folder);
void dump_folder_free(DumpFolder *folder);

/* Returns how many stages, from `first` on, belong to the same module. */
size_t dump_folder_count(const DumpFolder *folder, size_t first);

/* Returns the stage that is closest to what runs: a scheduled stage is preferred to an unscheduled
 * one, then an optimized stage to an unoptimized one, then the last stage to the others. */
size_t dump_folder_choose(const DumpFolder *folder, size_t first, size_t count);

#endif
