/* The input files of the tool. */
#ifndef REMAT_HLO_CLI_INPUT_H
#define REMAT_HLO_CLI_INPUT_H

#include "remat_hlo.h"

/* The format in which problems with an input are reported. */
typedef enum MessageForm {
  FORM_TEXT,
  FORM_JSON,
  FORM_NONE, /* they are not reported */
} MessageForm;

/* The bytes of a file, which is memory-mapped if it is large and read otherwise. */
typedef struct Input {
  const char *path; /* as it is shown to the user: `<stdin>` for `-` */
  const char *text;
  size_t length;
  bool is_mapped;
  bool is_cut; /* the file may contain more than was read */
  MessageForm form;
} Input;

/* Reads a file, or stdin for `-`, decompresses gzip and zstd, and gives the text of a module that
 * is a protocol buffer, as XLA's dumps `*.hlo.pb` are. On failure it returns RH_ERR_INPUT or
 * RH_ERR_WRITE and reports the reason on stderr. */
rh_status input_read(const char *path, MessageForm form, Input *input);

/* Like input_read(), but reads only about the first `most_bytes` bytes of the text. Damage after
 * them is not detected. */
rh_status input_read_beginning(const char *path, MessageForm form, size_t most_bytes, Input *input);
void input_free(Input *input);

/* Whether a file is called like a profile of jax.profiler, NAME.xplane.pb, of which input_read()
 * gives the largest module. */
bool input_is_profile(const char *path);

/* Whether what was read is a module as a protocol buffer, of which input_read() gives the text. */
bool input_is_proto(const Input *input);

enum { INPUT_HASH_CHARS = 17 };

/* Computes the FNV-1a hash of the text, 64 bits, in hexadecimal digits. */
void input_hash(const Input *input, char digits[INPUT_HASH_CHARS]);

/* These report a problem with the input and return RH_ERR_INPUT and RH_ERR_WRITE, respectively. */
rh_status input_fail(const Input *input, const char *what);
rh_status input_out_of_memory(const Input *input);

#endif
