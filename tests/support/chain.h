/* Training steps of layers in a row, as texts: in each a dot and two elementwise operations, whose
 * results the backward part reads again. All values take CHAIN_BYTES. */
#ifndef REMAT_HLO_TESTS_CHAIN_H
#define REMAT_HLO_TESTS_CHAIN_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { CHAIN_BYTES = 64 * 64 * 4, CHAIN_LINE_CHARS = 200 };

#define CHAIN_SHAPE "f32[64,64]"

typedef struct ChainText {
  VEC(char) chars;
  Arena *arena;
} ChainText;

__attribute__((format(printf, 2, 3))) static inline void chain_add(ChainText *text,
                                                                   const char *format, ...) {
  char line[CHAIN_LINE_CHARS];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  ck_assert(len > 0 && len < CHAIN_LINE_CHARS);
  memcpy(vec_extend(text->arena, &text->chars, (uint32_t)len), line, (size_t)len);
}

#define CHAIN_OP(name, op) name ".%d = " CHAIN_SHAPE " " op
#define CHAIN_DOT ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"

/* h = dot(b of the layer before, w), a = tanh(h), b = exponential(a); and back: e = d * a, f = e *
 * b, d = dot(f, w); with `has_weights` also g = dot(f, b), and u = g * w when all is over, which
 * are summed up. The last instruction is `end`. Reads x and w. */
static inline void chain_add_layers(ChainText *text, int num_layers, bool has_backward,
                                    bool has_weights) {
  int n = num_layers;
  chain_add(text, "b.0 = " CHAIN_SHAPE " sine(x)\n");
  for (int i = 1; i <= n; i++) {
    chain_add(text, CHAIN_OP("h", "dot(b.%d, w)") CHAIN_DOT, i, i - 1);
    chain_add(text, CHAIN_OP("a", "tanh(h.%d)\n"), i, i);
    chain_add(text, CHAIN_OP("b", "exponential(a.%d)\n"), i, i);
  }
  chain_add(text, CHAIN_OP("d", "negate(b.%d)\n"), n + 1, n);
  for (int i = n; has_backward && i > 0; i--) {
    chain_add(text, CHAIN_OP("e", "multiply(d.%d, a.%d)\n"), i, i + 1, i);
    chain_add(text, CHAIN_OP("f", "multiply(e.%d, b.%d)\n"), i, i, i);
    if (has_weights) chain_add(text, CHAIN_OP("g", "dot(f.%d, b.%d)") CHAIN_DOT, i, i, i);
    chain_add(text, CHAIN_OP("d", "dot(f.%d, w)") CHAIN_DOT, i, i);
  }
  chain_add(text, CHAIN_OP("s", "cosine(d.%d)\n"), 0, has_backward ? 1 : n + 1);
  for (int i = 1; has_weights && i <= n; i++) {
    chain_add(text, CHAIN_OP("u", "multiply(g.%d, w)\n"), i, i);
    chain_add(text, CHAIN_OP("s", "add(u.%d, s.%d)\n"), i, i, i - 1);
  }
  chain_add(text, "end = " CHAIN_SHAPE " negate(s.%d)\n", has_weights ? n : 0);
}

static inline const char *chain_end(ChainText *text) {
  *vec_push(text->arena, &text->chars) = 0;
  return text->chars.data;
}

/* The chain as an entry computation. */
static inline Fixture chain_parse(int num_layers, bool has_backward, bool has_weights) {
  ChainText text = {.arena = arena_new(NULL)};
  chain_add(&text, "x = " CHAIN_SHAPE " parameter(0)\n w = " CHAIN_SHAPE " parameter(1)\n");
  chain_add_layers(&text, num_layers, has_backward, has_weights);
  chain_add(&text, "ROOT root = " CHAIN_SHAPE " abs(end)\n");
  Fixture fixture = fixture_parse_body("", chain_end(&text));
  arena_free(text.arena);
  return fixture;
}

#endif
