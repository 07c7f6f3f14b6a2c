/* What a target leaves by longjmp it cannot free: this frees it. The program is
 * linked with --wrap for each function below, so that they see what the library allocates. */
#ifndef REMAT_HLO_FUZZ_TRACKED_H
#define REMAT_HLO_FUZZ_TRACKED_H

/* Notes what is allocated from here on. What was noted before is forgotten, not freed. */
void tracked_begin(void);
void tracked_end(void);

/* Ends it and frees what was allocated since and has not been freed. */
void tracked_free_all(void);

#endif
