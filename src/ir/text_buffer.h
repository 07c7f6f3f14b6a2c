/* A text that grows piece by piece in an arena: `TextBuffer text = {.arena = out};`. */
#ifndef REMAT_HLO_IR_TEXT_BUFFER_H
#define REMAT_HLO_IR_TEXT_BUFFER_H

#include "ir/ids.h"
#include "ir/vec.h"

typedef struct TextBuffer {
  Arena *arena;
  VEC(char) chars;
} TextBuffer;

void text_put_bytes(TextBuffer *text, const char *data, uint32_t len);
void text_put(TextBuffer *text, const char *literal);
void text_put_int(TextBuffer *text, int64_t value);

static inline void text_put_char(TextBuffer *text, char c) {
  *vec_push(text->arena, &text->chars) = c;
}

static inline void text_put_str(TextBuffer *text, Str piece) {
  text_put_bytes(text, piece.data, piece.len);
}

/* What has been put so far; valid until more is. */
static inline Str text_str(const TextBuffer *text) {
  return (Str){text->chars.data, text->chars.len};
}

/* The same as a string that ends in NUL. */
char *text_c_string(TextBuffer *text);

/* An rh_write_fn whose context is a TextBuffer. Fails beyond 4 GiB, which no module may have. */
int text_take(void *context, const char *data, size_t length);

#endif
