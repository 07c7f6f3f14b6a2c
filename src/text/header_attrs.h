/* The attributes of the HloModule line. Each has one row in header_attrs.def. */
#ifndef REMAT_HLO_TEXT_HEADER_ATTRS_H
#define REMAT_HLO_TEXT_HEADER_ATTRS_H

typedef enum HeaderAttr {
#define HEADER_ATTR(id, name) HEADER_##id,
#include "text/header_attrs.def"
  NUM_HEADER_ATTRS
} HeaderAttr;

static const char *const header_names[NUM_HEADER_ATTRS] = {
#define HEADER_ATTR(id, name) name,
#include "text/header_attrs.def"
};

#endif
