#include "decompress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Module texts are shorter than 4 GiB, but a small compressed file can expand to any number of
 * bytes. */
static const size_t MAX_TEXT_BYTES = UINT32_MAX;

/* A growing buffer for text. */
typedef struct Text {
  char *data;
  size_t length, room;
  size_t most_bytes; /* limit on the length that is needed */
} Text;

/* Enlarges the buffer. */
static rh_status enlarge(const Input *input, Text *text) {
  size_t room = text->room ? text->room * 2 : 4 * input->length + 4096;
  if (text->length >= MAX_TEXT_BYTES)
    return input_fail(input, "unpacked, the text is larger than 4 GiB");
  if (room > MAX_TEXT_BYTES) room = MAX_TEXT_BYTES;
  if (room > text->most_bytes) room = text->most_bytes;
  char *larger = realloc(text->data, room);
  if (!larger) return input_out_of_memory(input);
  text->data = larger;
  text->room = room;
  return RH_OK;
}

/* ---- gzip ---- */

static uInt at_most_uint(size_t count) {
  return count > UINT_MAX ? UINT_MAX : (uInt)count;
}

/* A file can contain several members, as `cat a.gz b.gz` makes them. */
static rh_status inflate_all(const Input *input, z_stream *stream, Text *text) {
  const char *end = input->text + input->length;
  stream->next_in = (z_const Bytef *)(uintptr_t)input->text;
  while (text->length < text->most_bytes) {
    if (text->length == text->room) {
      rh_status status = enlarge(input, text);
      if (status != RH_OK) return status;
    }
    stream->avail_in = at_most_uint((size_t)(end - (const char *)stream->next_in));
    stream->next_out = (Bytef *)text->data + text->length;
    stream->avail_out = at_most_uint(text->room - text->length);
    int result = inflate(stream, Z_NO_FLUSH);
    text->length = (size_t)((char *)stream->next_out - text->data);
    bool is_over = (const char *)stream->next_in == end;
    if (result == Z_STREAM_END && is_over) return RH_OK;
    if (result == Z_STREAM_END) result = inflateReset(stream);
    if (result == Z_BUF_ERROR && is_over) {
      return input->is_cut ? RH_OK : input_fail(input, "the gzip file is cut off");
    }
    if (result == Z_MEM_ERROR) return input_out_of_memory(input);
    if (result != Z_OK && result != Z_BUF_ERROR)
      return input_fail(input, "the gzip file is damaged");
  }
  return RH_OK;
}

static rh_status unpack_gzip(const Input *input, Text *text) {
  enum { GZIP_HEADER = 16 };
  z_stream stream = {0};
  if (inflateInit2(&stream, MAX_WBITS + GZIP_HEADER) != Z_OK) return input_out_of_memory(input);
  rh_status status = inflate_all(input, &stream, text);
  inflateEnd(&stream);
  return status;
}

/* ---- zstd ---- */

/* Reports an error of zstd. Memory can run out in the middle of a frame, because the window, whose
 * size is in the frame header, is allocated during decompression. */
static rh_status fail_zstd(const Input *input, ZSTD_ErrorCode code) {
  if (code == ZSTD_error_memory_allocation) return input_out_of_memory(input);
  if (code == ZSTD_error_frameParameter_windowTooLarge) {
    return input_fail(input, "unpacking takes more than 128 MiB; `zstd -d --long=31` does it");
  }
  return input_fail(input, "the zstd file is damaged");
}

static rh_status unpack_zstd(const Input *input, Text *text) {
  ZSTD_DStream *stream = ZSTD_createDStream();
  if (!stream) return input_out_of_memory(input);
  ZSTD_inBuffer in = {.src = input->text, .size = input->length};
  rh_status status = RH_OK;
  size_t missing = 1; /* 0 if a frame has ended */
  while (status == RH_OK && text->length < text->most_bytes) {
    if (text->length == text->room && (status = enlarge(input, text)) != RH_OK) break;
    ZSTD_outBuffer out = {.dst = text->data, .size = text->room, .pos = text->length};
    missing = ZSTD_decompressStream(stream, &out, &in);
    text->length = out.pos;
    if (ZSTD_isError(missing)) {
      status = fail_zstd(input, ZSTD_getErrorCode(missing));
    } else if (in.pos == in.size && out.pos < out.size) {
      if (missing && !input->is_cut) status = input_fail(input, "the zstd file is cut off");
      break;
    }
  }
  ZSTD_freeDStream(stream);
  return status;
}

/* ---- both formats ---- */

static bool begins_with(const Input *input, const char *magic, size_t length) {
  return input->length >= length && memcmp(input->text, magic, length) == 0;
}

rh_status input_decompress(Input *input, size_t most_bytes) {
  bool is_gzip = begins_with(input, "\x1f\x8b", 2);
  bool is_zstd = begins_with(input, "\x28\xb5\x2f\xfd", 4);
  if (!is_gzip && !is_zstd) return RH_OK;
  Text text = {.most_bytes = most_bytes};
  rh_status status = is_gzip ? unpack_gzip(input, &text) : unpack_zstd(input, &text);
  if (status != RH_OK) {
    free(text.data);
    return status;
  }
  input_free(input);
  input->text = text.data;
  input->length = text.length;
  input->is_mapped = false;
  input->is_cut |= text.length == most_bytes;
  return RH_OK;
}
