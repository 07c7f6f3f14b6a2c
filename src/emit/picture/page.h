/* The page for browsers: its files in src/emit/picture/page/ and the library that it uses, put into
 * the program when it is built (cmake/embed.cmake). */
#ifndef REMAT_HLO_EMIT_PICTURE_PAGE_H
#define REMAT_HLO_EMIT_PICTURE_PAGE_H

#include <stddef.h>

typedef struct PagePart {
  const char *name; /* `@name@` in the part `page` stands for it */
  const unsigned char *bytes;
  size_t length;
} PagePart;

/* Ends in one without a name. */
extern const PagePart page_parts[];

#endif
