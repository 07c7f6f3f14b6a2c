/* Reading the corpus. */
#ifndef REMAT_HLO_TESTS_CORPUS_FILES_H
#define REMAT_HLO_TESTS_CORPUS_FILES_H

#include <cjson/cJSON.h>

#include "corpus.h"
#include "remat_hlo.h"

/* A module of the corpus with its text, which must stay as long as it does. */
typedef struct CorpusModule {
  char *text;
  size_t length;
  rh_module *module;
} CorpusModule;

/* The bytes of a file with a NUL behind them; free() them. Fails the test when it cannot be read.
 */
char *corpus_read(const char *name, size_t *length);

cJSON *corpus_read_json(const char *name);

/* What is in scheduled/ was scheduled by XLA without copy-insertion (../shared/README.md): says so.
 */
void corpus_set_copies(rh_module *module, const char *name);

/* Fails the test when the module cannot be parsed; says whether it has its copies. */
CorpusModule corpus_load(const char *name);
void corpus_unload(CorpusModule *loaded);

/* A number of a JSON object; fails the test when it has none of this name. */
double corpus_number(const cJSON *object, const char *key);

/* Names of the files in a folder of the corpus that end so, sorted, with the folder before them;
 * those in folders in it too. */
typedef struct CorpusFiles {
  char **names;
  size_t count;
} CorpusFiles;
CorpusFiles corpus_list(const char *folder, const char *ending);
void corpus_list_free(CorpusFiles *files);

/* Whether everything is to be tested, however long it takes: REMAT_HLO_LONG_TESTS=1. */
bool corpus_wants_all(void);

/* Whether this build has sanitizers, which make it ten times slower. */
bool corpus_is_slow_build(void);

#endif
