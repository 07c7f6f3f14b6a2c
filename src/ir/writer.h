/* Output: bytes go through a buffer to whoever takes them. Errors are kept, so that code that
 * writes need not look at each call; the caller asks once at the end. */
#ifndef REMAT_HLO_IR_WRITER_H
#define REMAT_HLO_IR_WRITER_H

#include <stdbool.h>

#include "ir/ids.h"
#include "remat_hlo.h"

typedef struct Writer {
  rh_write_fn write;
  void *context;
  bool has_failed;
  char last; /* the last byte written, '\n' at the beginning */
  uint32_t len;
  char buffer[1 << 16];
} Writer;

void writer_init(Writer *writer, rh_write_fn write, void *context);

void write_bytes(Writer *writer, const char *data, size_t length);
void write_text(Writer *writer, const char *text);
void write_str(Writer *writer, Str text);
void write_format(Writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sends what is buffered. RH_ERR_WRITE when anything failed since writer_init. */
rh_status writer_finish(Writer *writer);

#endif
