/* A folder that XLA has dumped modules into: `module_0042.jit_step.gpu_after_optimizations.txt` is
 * a stage of a module, beside other stages of it and files that are no HLO. */
#ifndef REMAT_HLO_CLI_DUMP_FOLDER_H
#define REMAT_HLO_CLI_DUMP_FOLDER_H

#include "options.h"

typedef struct DumpStage {
  char *path;
  char *module; /* what the names of its stages share, with the folders that they are in:
                   `host_3/module_0042.jit_step` */
  char *stage;  /* the rest without endings: `gpu_after_optimizations`; empty when there is none */
  bool is_scheduled;
} DumpStage;

typedef struct DumpFolder {
  DumpStage *stages; /* those of a module together, by name */
  size_t num_stages, room;
  size_t num_others; /* files that are no HLO text */
} DumpFolder;

/* Lists the HLO texts in a folder and in those below it, but for hidden ones and what links lead
 * to; modules of different folders are different ones. RH_ERR_WRITE or RH_ERR_INPUT, the reason on
 * stderr, when something could not be read; the rest is listed. dump_folder_free() in any case. */
rh_status dump_folder_read(const char *path, const Options *options, DumpFolder *folder);
void dump_folder_free(DumpFolder *folder);

/* How many stages from `first` on are of one module. */
size_t dump_folder_count(const DumpFolder *folder, size_t first);

/* The one of them that tells most of what runs: scheduled before not, optimized before not, the
 * last before others. */
size_t dump_folder_choose(const DumpFolder *folder, size_t first, size_t count);

#endif
