/* Compilers write other files next to the HLO text: protos, StableHLO, compressed dumps,
 * reports. */
#include "text/foreign.h"

#include <stdbool.h>
#include <string.h>

#define HOW_TO_DUMP "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text' writes HLO text"

typedef struct Bytes {
  const char *p, *end;
} Bytes;

static bool begins_with(Bytes bytes, const char *prefix) {
  size_t len = strlen(prefix);
  return (size_t)(bytes.end - bytes.p) >= len && memcmp(bytes.p, prefix, len) == 0;
}

/* ---- formats with known first bytes ---- */

static const char *by_magic(Bytes bytes) {
  static const struct {
    const char *magic, *message;
  } formats[] = {
      {"\x1f\x8b", "this is compressed with gzip: unpack it first"},
      {"\x28\xb5\x2f\xfd", "this is compressed with zstd: unpack it first"},
      {"\xfd\x37zXZ", "this is compressed with xz: unpack it first"},
      {"\xef\xbb\xbf",
       "the text begins with a byte order mark, which XLA does not read: remove it"},
      {"\xff\xfe", "this is UTF-16, which XLA does not read: store it as UTF-8"},
      {"\xfe\xff", "this is UTF-16, which XLA does not read: store it as UTF-8"},
      {"ML\xefR", "this is MLIR bytecode (StableHLO), not HLO: " HOW_TO_DUMP},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (begins_with(bytes, formats[i].magic)) return formats[i].message;
  }
  return NULL;
}

/* UTF-16 without a byte order mark: every second byte of the first word is 0. */
static bool is_utf16(Bytes bytes) {
  if (bytes.end - bytes.p < 4) return false;
  const char *p = bytes.p;
  return (p[0] && !p[1] && p[2] && !p[3]) || (!p[0] && p[1] && !p[2] && p[3]);
}

/* ---- protos ---- */

/* Reads field 1 of a message, which is a string or a message: tag 0x0a, length, content. */
static bool read_field_1(Bytes *bytes, Bytes *content) {
  if (bytes->p == bytes->end || *bytes->p != 0x0a) return false;
  const char *p = bytes->p + 1;
  uint64_t len = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (p == bytes->end) return false;
    unsigned char byte = (unsigned char)*p++;
    len |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    *content = (Bytes){p, bytes->end};
    if (len < (uint64_t)(bytes->end - p)) content->end = p + len;
    bytes->p = content->end;
    return true;
  }
  return false;
}

/* HloModuleProto begins with the module's name and the entry's name (fields 1 and 2). HloProto
 * begins with an HloModuleProto, and HloSnapshot with an HloProto. */
static bool is_proto(Bytes bytes) {
  Bytes content;
  for (int level = 0; level < 3; level++) {
    if (!read_field_1(&bytes, &content)) return false;
    if (bytes.p < bytes.end && *bytes.p == 0x12 && content.p < content.end) return true;
    bytes = content;
  }
  return false;
}

/* ---- formats with known first words ---- */

static void skip_blank(Bytes *bytes) {
  while (bytes->p < bytes->end) {
    if (strchr(" \t\r\n", *bytes->p) && *bytes->p) {
      bytes->p++;
    } else if (begins_with(*bytes, "//")) {
      const char *newline = memchr(bytes->p, '\n', (size_t)(bytes->end - bytes->p));
      bytes->p = newline ? newline : bytes->end;
    } else {
      break;
    }
  }
}

static bool skip_word(Bytes *bytes, const char *word) {
  if (!begins_with(*bytes, word)) return false;
  bytes->p += strlen(word);
  skip_blank(bytes);
  return true;
}

static bool is_mlir(Bytes bytes) {
  skip_blank(&bytes);
  if (bytes.p == bytes.end) return false;
  if (*bytes.p == '#' || begins_with(bytes, "\"builtin.module\"")) return true;
  if (skip_word(&bytes, "module") || skip_word(&bytes, "builtin.module")) {
    if (begins_with(bytes, "@") || begins_with(bytes, "attributes")) return true;
    if (!skip_word(&bytes, "{")) return false;
  }
  return begins_with(bytes, "func.func ");
}

#define BESIDE(SUFFIX) ", not HLO: the HLO text is the file beside it whose name lacks '" SUFFIX "'"

static const char *by_first_words(Bytes bytes) {
  static const struct {
    const char *words, *message;
  } formats[] = {
      {"BufferAssignment:", "this is a buffer assignment" BESIDE("-buffer-assignment")},
      {"HloLiveRange (", "this is a list of live ranges" BESIDE("-live-range")},
      {"Total bytes", "this is a report of memory usage" BESIDE("-memory-usage-report")},
      {"Memory Space: ", "this is a report of memory usage" BESIDE("-memory-usage-report")},
      {"digraph ", "this is a graph for dot, not HLO: " HOW_TO_DUMP},
      {"{ lambda ",
       "this is a jaxpr, not HLO: jax.jit(f).lower(…).as_text(dialect=\"hlo\") is HLO"},
      {"{", "this is JSON, not HLO"},
      {"[", "this is JSON, not HLO"},
      {"<!doctype ", "this is HTML, not HLO"},
      {"<!DOCTYPE ", "this is HTML, not HLO"},
      {"<html", "this is HTML, not HLO"},
      {"; ModuleID", "this is LLVM's IR, not HLO: " HOW_TO_DUMP},
      {".version ", "this is PTX, not HLO: " HOW_TO_DUMP},
      {"hlo_module {", "this is an HLO proto as text: " HOW_TO_DUMP},
      {"hlo {", "this is an HLO proto as text: " HOW_TO_DUMP},
      {"name: \"", "this is an HLO proto as text: " HOW_TO_DUMP},
      {"version https://git-lfs", "this is a pointer of Git LFS: `git lfs pull` gets the file"},
      {"diff --git ", "this is a difference of two files, not HLO"},
      {"--- ", "this is a difference of two files, not HLO"},
  };
  skip_blank(&bytes);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (begins_with(bytes, formats[i].words)) return formats[i].message;
  }
  return NULL;
}

/* ---- errors of compilations that ran out of memory ---- */

static bool contains(Bytes bytes, const char *word) {
  for (size_t len = strlen(word); (size_t)(bytes.end - bytes.p) >= len; bytes.p++) {
    const char *at = memchr(bytes.p, word[0], (size_t)(bytes.end - bytes.p) - len + 1);
    if (!at) return false;
    if (memcmp(at, word, len) == 0) return true;
    bytes.p = at;
  }
  return false;
}

static bool has_readable_module(Bytes bytes) {
  skip_blank(&bytes);
  return begins_with(bytes, "HloModule ");
}

/* The error may come after what else a program wrote. */
static const char *by_error(Bytes bytes) {
  enum { MAX_LOOK = 1 << 20 };
  if (bytes.end - bytes.p > MAX_LOOK) bytes.end = bytes.p + MAX_LOOK;
  if (contains(bytes, "CompileTimeHbmOom") || contains(bytes, "Ran out of memory in memory space"))
    return "this is the error of a program that is too large for a TPU, not HLO: with the compiler "
           "options xla_dump_to=DIR and xla_dump_hlo_as_text=True the file whose name ends in "
           "after_optimizations_before_buffer_assignment.txt is the one to take";
  if (contains(bytes, "RESOURCE_EXHAUSTED"))
    return "this is the error of a program that ran out of memory, not HLO: with "
           "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text' the file whose name ends in "
           "after_optimizations.txt is the one to take";
  return NULL;
}

const char *foreign_format(const char *text, uint32_t length, uint32_t offset) {
  Bytes bytes = {text, text + length};
  const char *message = by_magic(bytes);
  if (message) return message;
  if (is_utf16(bytes)) return "this is UTF-16, which XLA does not read: store it as UTF-8";
  bool has_readable_fault = offset < length && text[offset] >= ' ';
  if (!has_readable_fault && is_proto(bytes)) return "this is a binary HLO proto: " HOW_TO_DUMP;
  if (!has_readable_module(bytes)) {
    message = by_error(bytes);
    if (message) return message;
  }
  if (is_mlir(bytes)) return "this is MLIR (StableHLO), not HLO: " HOW_TO_DUMP;
  return by_first_words(bytes);
}
