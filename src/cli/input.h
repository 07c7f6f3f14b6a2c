/* Where modules come from. */
#ifndef REMAT_HLO_CLI_INPUT_H
#define REMAT_HLO_CLI_INPUT_H

#include "remat_hlo.h"

/* How what is wrong with it is told. */
typedef enum MessageForm {
  FORM_TEXT,
  FORM_JSON,
  FORM_NONE, /* nobody is told */
} MessageForm;

/* Bytes of a file: mapped when it is large, else read. */
typedef struct Input {
  const char *path; /* as it is shown: `<stdin>` for `-` */
  const char *text;
  size_t length;
  bool is_mapped;
  bool is_cut; /* there may be more of it than was read */
  MessageForm form;
} Input;

/* Reads a file, or stdin for `-`; gzip and zstd are unpacked. RH_ERR_INPUT or RH_ERR_WRITE, the
 * reason on stderr. */
rh_status input_read(const char *path, MessageForm form, Input *input);

/* The same for the first bytes of the text, about `most_bytes`. What is damaged behind them goes
 * unseen. */
rh_status input_read_beginning(const char *path, MessageForm form, size_t most_bytes, Input *input);
void input_free(Input *input);

/* Say what is wrong with it. RH_ERR_INPUT; RH_ERR_WRITE. */
rh_status input_fail(const Input *input, const char *what);
rh_status input_out_of_memory(const Input *input);

#endif
