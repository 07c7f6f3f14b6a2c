/* A buffered writer for output. It records errors, so that code which writes need not check each
 * call; the caller checks once, at the end:
 *
 *   writer_init(&writer, write, context);
 *   write_text(&writer, "HloModule ");
 *   write_str(&writer, name);
 *   return writer_finish(&writer); */
#ifndef REMAT_HLO_IR_WRITER_H
#define REMAT_HLO_IR_WRITER_H

#include <stdbool.h>

#include "ir/ids.h"
#include "remat_hlo.h"

typedef struct Writer {
  rh_write_fn write;
  void *context;
  bool has_failed;
  char last; /* the last byte written; '\n' at the beginning */
  uint32_t len;
  char buffer[1 << 16];
} Writer;

void writer_init(Writer *writer, rh_write_fn write, void *context);

void write_bytes(Writer *writer, const char *data, size_t length);
void write_text(Writer *writer, const char *text);
void write_str(Writer *writer, Str text);
void write_format(Writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the contents of the buffer. Returns RH_ERR_WRITE if any write failed since writer_init. */
rh_status writer_finish(Writer *writer);

#endif
