#include "text/words.h"

static const char *const keywords[NUM_KEYWORDS] = {
    [KW_TRUE] = "true",
    [KW_FALSE] = "false",
    [KW_INF] = "inf",
    [KW_HLO_MODULE] = "HloModule",
    [KW_ENTRY] = "ENTRY",
    [KW_ROOT] = "ROOT",
    [KW_FILE_NAMES] = "FileNames",
    [KW_FUNCTION_NAMES] = "FunctionNames",
    [KW_FILE_LOCATIONS] = "FileLocations",
    [KW_STACK_FRAMES] = "StackFrames",
    [KW_MAXIMAL] = "maximal",
    [KW_REPLICATED] = "replicated",
    [KW_MANUAL] = "manual",
    [KW_UNKNOWN] = "unknown",
    [KW_UNREDUCED] = "unreduced",
    [KW_LAST_TILE_DIM_REPLICATE] = "last_tile_dim_replicate",
    [KW_SHARD_AS] = "shard_as",
    [KW_SHARD_LIKE] = "shard_like",
};

enum { MAX_WORDS = NUM_TYPES + NUM_KEYWORDS + NUM_OPCODES + NUM_ATTRS };

const Word *words_find(const Words *words, Str text, uint64_t hash) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&words->table, hash); id_probe_next(&probe, &id);) {
    const Word *word = &words->list[id];
    if (word->len == text.len && bytes_equal(word->text, text.data, text.len)) return word;
  }
  return NULL;
}

/* Returns the row of a text, which is added if it is new. */
static Word *row_of(Words *words, const char *text, Arena *out) {
  Str str = str_make(text, strlen(text));
  uint64_t hash = hash_str(str);
  const Word *known = words_find(words, str, hash);
  if (known) return &words->list[known - words->list];
  id_table_add(&words->table, out, hash, words->len);
  Word *row = &words->list[words->len++];
  *row = (Word){.text = text,
                .len = str.len,
                .type = NUM_TYPES,
                .keyword = NUM_KEYWORDS,
                .opcode = NUM_OPCODES,
                .attr = NUM_ATTRS};
  return row;
}

void words_init(Words *words, Arena *out) {
  *words = (Words){.list = arena_array(out, Word, MAX_WORDS)};
  for (unsigned i = 0; i < NUM_TYPES; i++) {
    row_of(words, type_info((ElementType)i)->text, out)->type = (uint8_t)i;
  }
  for (unsigned i = 0; i < NUM_KEYWORDS; i++) {
    row_of(words, keywords[i], out)->keyword = (uint8_t)i;
  }
  for (unsigned i = 0; i < NUM_OPCODES; i++) {
    row_of(words, opcode_text((Opcode)i), out)->opcode = (uint16_t)i;
  }
  for (unsigned i = 0; i < NUM_ATTRS; i++) {
    Word *row = row_of(words, attribute_info((AttrId)i)->text, out);
    if (row->attr == NUM_ATTRS) row->attr = (uint16_t)i;
    words->attr_name[i] = row->attr;
  }
}
