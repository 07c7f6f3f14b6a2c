/* The texts of a picture piece by piece, in the languages of graphviz: HTML-like labels (without
 * the outer < >), escStrings and names. Any bytes may go in. */
#ifndef REMAT_HLO_EMIT_DOT_TEXT_H
#define REMAT_HLO_EMIT_DOT_TEXT_H

#include "ir/ids.h"
#include "ir/vec.h"

typedef struct DotText {
  VEC(char) chars;
  Arena *arena;
} DotText;

/* In bytes. graphviz does not read strings of more than 16384. */
enum { DOT_NAME_CHARS = 40, DOT_SHAPE_CHARS = 36 };

void dot_put_bytes(DotText *text, const char *data, uint32_t len);
void dot_put(DotText *text, const char *literal);

/* For HTML-like labels; what is between " in them, too. */
void dot_put_html(DotText *text, Str raw);

/* For an escString; the end of a very long one is left out. */
void dot_put_escaped(DotText *text, Str raw);

void dot_put_size(DotText *text, int64_t bytes);
void dot_put_count(DotText *text, uint64_t count);

/* A number that somebody may search for, without commas. */
void dot_put_number(DotText *text, int64_t number);

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
void dot_put_shortened(DotText *text, Str name, uint32_t max_chars);

/* Paths of scopes say most at their end: the parts before are left out of a long one. */
void dot_put_path(DotText *text, Str path);

/* Long names of parameters differ in the middle: they get two lines. */
void dot_put_name_lines(DotText *text, Str name);

/* What was put, ending in NUL. */
char *dot_text_end(DotText *text);

/* A name that graphviz can hold: UTF-8, backslashes doubled, the end of a very long one left out.
 * Names that differ may come out alike. */
char *dot_name(const char *prefix, Str name, Arena *out);

#endif
