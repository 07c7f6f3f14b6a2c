/* The texts of a picture piece by piece, in the languages of graphviz: HTML-like labels (without
 * the outer < >), escStrings and names. Any bytes may go in. */
#ifndef REMAT_HLO_EMIT_DOT_TEXT_H
#define REMAT_HLO_EMIT_DOT_TEXT_H

#include "ir/text_buffer.h"

/* In bytes. graphviz does not read strings of more than 16384. */
enum { DOT_NAME_CHARS = 40, DOT_SHAPE_CHARS = 36 };

/* For HTML-like labels; what is between " in them, too. */
void dot_put_html(TextBuffer *text, Str raw);

/* For an escString; the end of a very long one is left out. */
void dot_put_escaped(TextBuffer *text, Str raw);

void dot_put_size(TextBuffer *text, int64_t bytes);
void dot_put_count(TextBuffer *text, uint64_t count);

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
void dot_put_shortened(TextBuffer *text, Str name, uint32_t max_chars);

/* Paths of scopes say most at their end: the parts before are left out of a long one. */
void dot_put_path(TextBuffer *text, Str path);

/* Long names of parameters differ in the middle: they get two lines. */
void dot_put_name_lines(TextBuffer *text, Str name);

/* A name that graphviz can hold: UTF-8, backslashes doubled, the end of a very long one left out.
 * Names that differ may come out alike. */
char *dot_name(const char *prefix, Str name, Arena *out);

#endif
