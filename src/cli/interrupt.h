/* Signal handling, the only part of the program with process-wide state. Ctrl-C and similar signals
 * leave no partially written files, and a mapped file that shrinks causes an error message instead
 * of a crash. */
#ifndef REMAT_HLO_CLI_INTERRUPT_H
#define REMAT_HLO_CLI_INTERRUPT_H

/* Installs handlers for SIGINT, SIGTERM, SIGHUP and SIGBUS. SIGPIPE becomes an error of write(). */
void interrupt_install(void);

/* Like mkstemp(). If the program is interrupted before interrupt_forget_temporary() is called, the
 * file is removed; the path must stay valid until then. */
int interrupt_make_temporary(char *path);
void interrupt_forget_temporary(const char *path);

/* Removes all temporary files immediately. */
void interrupt_remove_temporaries(void);

/* Values of interrupt_defer() that are no end of a pipe. */
enum {
  INTERRUPT_AT_ONCE = -1, /* the first signal ends the program */
  INTERRUPT_NOTED = -2,   /* the first signal is only noted */
};

/* From now on the first signal other than SIGBUS is only noted and, if `to` is the end of a pipe,
 * writes a byte to it, so that results can still be saved; the next one ends the program. */
void interrupt_defer(int to);

/* Returns the signal that arrived while signals were deferred, or 0 if there was none. */
int interrupt_signal(void);

/* Notes the path of the mapped file for the error message. The path must stay valid. */
void interrupt_note_mapping(const char *path);

#endif
