/* Signals: the one place that holds process-wide state. Ctrl-C and its like leave no half-written
 * files behind, and a mapped file that shrinks is an error, not a crash. */
#ifndef REMAT_HLO_CLI_INTERRUPT_H
#define REMAT_HLO_CLI_INTERRUPT_H

/* Handles SIGINT, SIGTERM, SIGHUP and SIGBUS; SIGPIPE becomes an error of write(). */
void interrupt_install(void);

/* As mkstemp(). The file is removed when the program is interrupted, until it is forgotten; the
 * path must stay valid as long. */
int interrupt_make_temporary(char *path);
void interrupt_forget_temporary(const char *path);

/* Removes all of them now. */
void interrupt_remove_temporaries(void);

/* From now on the first signal but SIGBUS only writes a byte to a pipe, for whoever has results to
 * keep; the next one ends the program. -1 = the first does so again. */
void interrupt_defer(int pipe_end);

/* The signal that came meanwhile, 0 = none. */
int interrupt_signal(void);

/* What is mapped, for the message. The path must stay valid. */
void interrupt_note_mapping(const char *path);

#endif
