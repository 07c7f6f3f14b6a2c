/* The table of words that have a meaning in HLO text: element types, keywords, opcodes and
 * attribute names. There is only one table, so the lexer looks up each word once. For example,
 * `slice` is an opcode and an attribute name, and `s32` is an element type. */
#ifndef REMAT_HLO_TEXT_WORDS_H
#define REMAT_HLO_TEXT_WORDS_H

#include "ir/attribute.h"
#include "ir/hash.h"
#include "ir/opcode.h"
#include "ir/shape.h"

typedef enum Keyword {
  KW_TRUE,
  KW_FALSE,
  KW_INF,
  KW_HLO_MODULE,
  KW_ENTRY,
  KW_ROOT,
  KW_FILE_NAMES,
  KW_FUNCTION_NAMES,
  KW_FILE_LOCATIONS,
  KW_STACK_FRAMES,
  KW_MAXIMAL,
  KW_REPLICATED,
  KW_MANUAL,
  KW_UNKNOWN,
  KW_UNREDUCED,
  KW_LAST_TILE_DIM_REPLICATE,
  KW_SHARD_AS,
  KW_SHARD_LIKE,
  NUM_KEYWORDS,
} Keyword;

/* The possible meanings of a word. NUM_… means that it has none of that kind. */
typedef struct Word {
  const char *text;
  uint32_t len;
  uint8_t type;    /* ElementType */
  uint8_t keyword; /* Keyword */
  uint16_t opcode; /* Opcode */
  uint16_t attr;   /* AttrId: the first row with this text */
} Word;

typedef struct Words {
  Word *list;
  uint32_t len;
  IdTable table;
  uint16_t attr_name[NUM_ATTRS]; /* the first row with the same text */
} Words;

void words_init(Words *words, Arena *out);

/* Returns NULL if the text has no meaning. `hash` is its hash_str(). */
const Word *words_find(const Words *words, Str text, uint64_t hash);

#endif
