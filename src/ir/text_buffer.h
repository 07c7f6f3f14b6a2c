/* A text that grows by appending, in an arena:
 *
 *   TextBuffer text = {.arena = out};
 *   text_put(&text, "peak ");
 *   text_put_int(&text, bytes);
 *   use(text_str(&text)); */
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

/* Returns the text so far. It is valid until the next append. */
static inline Str text_str(const TextBuffer *text) {
  return (Str){text->chars.data, text->chars.len};
}

/* Returns the text so far as a string that ends in NUL. */
char *text_c_string(TextBuffer *text);

/* An rh_write_fn whose context is a TextBuffer. It fails beyond 4 GiB, which no module may
 * exceed. */
int text_take(void *context, const char *data, size_t length);

#endif
