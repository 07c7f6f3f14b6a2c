#include "ir/writer.h"

#include <stdarg.h>
#include <stdio.h>

void writer_init(Writer *writer, rh_write_fn write, void *context) {
  writer->write = write;
  writer->context = context;
  writer->has_failed = false;
  writer->last = '\n';
  writer->len = 0;
}

static void flush(Writer *writer) {
  if (writer->len && !writer->has_failed) {
    writer->has_failed = writer->write(writer->context, writer->buffer, writer->len) != 0;
  }
  writer->len = 0;
}

void write_bytes(Writer *writer, const char *data, size_t length) {
  if (length == 0) return;
  writer->last = data[length - 1];
  if (length > sizeof writer->buffer - writer->len) flush(writer);
  if (length > sizeof writer->buffer) { /* too large for a copy to be worthwhile */
    if (!writer->has_failed) {
      writer->has_failed = writer->write(writer->context, data, length) != 0;
    }
    return;
  }
  memcpy(writer->buffer + writer->len, data, length);
  writer->len += (uint32_t)length;
}

void write_text(Writer *writer, const char *text) {
  write_bytes(writer, text, strlen(text));
}

void write_str(Writer *writer, Str text) {
  write_bytes(writer, text.data, text.len);
}

void write_format(Writer *writer, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (length < 0 || (size_t)length >= sizeof text) { /* formats here are short: numbers, units */
    writer->has_failed = true;
    return;
  }
  write_bytes(writer, text, (size_t)length);
}

rh_status writer_finish(Writer *writer) {
  flush(writer);
  return writer->has_failed ? RH_ERR_WRITE : RH_OK;
}
