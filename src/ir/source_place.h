/* The source position of an instruction: the part of the user's program that it comes from, as its
 * metadata and XLA's stack tables give it. */
#ifndef REMAT_HLO_IR_SOURCE_PLACE_H
#define REMAT_HLO_IR_SOURCE_PLACE_H

#include "ir/module.h"

/* Fields that the metadata does not give are empty or 0. */
typedef struct SourcePlace {
  Str op_name;
  Str file;
  int32_t line;
} SourcePlace;

/* Returns the strings as in the text, without resolving escapes. Backend.frames of the module says
 * which frame of the stack gives the position; without a stack it is the metadata's source_file. */
SourcePlace source_place_of(const Module *module, InstId id);

/* Returns the position where the instruction was traced, whatever Backend.frames says: the
 * metadata's source_file, or else the innermost frame. */
SourcePlace source_place_innermost(const Module *module, InstId id);

/* ---- frames ---- */

/* Frames further out than this are ignored. Python's own limit of recursion is 1000; a table whose
 * frames form a cycle ends here, too. */
enum { MAX_STACK_DEPTH = 1000 };

/* A call that led to an instruction. */
typedef struct SourceFrame {
  Str file, function; /* as in the text; empty if the tables do not give them */
  int32_t line;       /* 0 = unknown */
  int32_t end_line;   /* of the expression that begins there */
  int32_t parent;     /* the number of the caller's frame; 0 = none */
  bool is_library;    /* see ir/library_files.h */
} SourceFrame;

/* Returns false if the module has no frame of this number, which counts from 1. */
bool source_frame_get(const Module *module, int32_t number, SourceFrame *frame);

#endif
