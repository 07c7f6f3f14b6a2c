/* The web page of pictures: its files in src/emit/picture/page/ and the library that they use. The
 * build embeds them in the program (cmake/embed.cmake). */
#ifndef REMAT_HLO_EMIT_PICTURE_PAGE_H
#define REMAT_HLO_EMIT_PICTURE_PAGE_H

#include <stddef.h>

typedef struct PagePart {
  const char *name; /* it replaces `@name@` in the part `page` */
  const unsigned char *bytes;
  size_t length;
} PagePart;

/* The last element has no name. */
extern const PagePart page_parts[];

#endif
