/* The state of the parser and the functions that its files share. Callers outside the parser use
 * text/parse.h.
 *
 * A function is named after what it reads. It returns false on an error, which is then in
 * `parser->error`. The first error stays there until parse_report() reports and removes it. Only
 * the functions for computations and their bodies (recover.c) do so, because they know where the
 * parser can continue.
 *
 * Where XLA's parser tries an alternative and continues if it fails, this parser does the same
 * (parse_operands, layouts). If the text is accepted in the end, such an error becomes a
 * warning. */
#ifndef REMAT_HLO_TEXT_PARSER_H
#define REMAT_HLO_TEXT_PARSER_H

#include "ir/diag.h"
#include "ir/module.h"
#include "text/lexer.h"

enum {
  /* The limit for the nesting of shapes, operands, computations and literals. XLA allows 8,192
   * levels and may then run out of stack; dumps of real programs stay below 10. */
  MAX_NESTING = 400,
};

/* The kind of thing that an undefined name was expected to name. */
typedef enum NameKind {
  NAME_OF_NOTHING,
  NAME_OF_INST,
  NAME_OF_COMP,
} NameKind;

typedef struct ParseError {
  const char *message; /* NULL = no error */
  uint32_t offset;
  uint32_t opener;
  /* An undefined name. Similar names are searched for only when the error is reported, because the
   * parser may recover from it. */
  NameKind kind;
  Str name;
} ParseError;

/* An undefined name that was already reported; it is reported once in each computation. */
typedef struct MissingName {
  CompId scope; /* NO_ID if the name is that of a computation */
  Str name;
} MissingName;

typedef VEC(bool) IdFlags; /* an id beyond the end of the array means false */

typedef struct Parser {
  Lexer lex;
  Module *module;
  ModuleSource *source;
  Arena *arena;   /* the module's arena */
  Arena *tables;  /* memory that lives as long as the parse: tables, stacks, messages */
  Arena *scratch; /* memory that is used within one function, which resets it */
  rh_diags *diags;
  ParseError error;
  uint32_t depth;
  uint32_t num_errors; /* the number of errors that were reported */
  uint32_t max_errors;
  uint32_t num_searches; /* the number of searches for names similar to an undefined one */
  VEC(MissingName) missing;
  IdFlags unknown_insts; /* instructions of which only the name is known; see recover.c */
  IdFlags unknown_comps; /* computations of which only the name is known, or that hold unknown
                            instructions */

  Words words;
  IdTable shape_texts; /* maps the text of an array shape to its id */
  VEC(Str) shape_text_keys;
  VEC(ShapeId) shape_text_ids;

  IdTable inst_names; /* names in the open computations, hashed with the id of the computation */
  VEC(uint32_t) name_slots;   /* slots of inst_names that are in use, valid until the table grows */
  uint32_t name_slots_mask;   /* the mask of inst_names when the first of name_slots was taken */
  IdTable comp_names;         /* names of top-level computations */
  CompId comp;                /* the computation that is being parsed */
  uint32_t body;              /* offset of the '{' of the last top-level computation */
  bool is_single_instruction; /* undefined operands become parameters */
  uint32_t num_created_params;

  VEC(InstId) comp_insts;        /* stack: the instructions of the open computations */
  VEC(InstId) operands;          /* stack: the operands of the open instructions */
  VEC(uint32_t) operand_offsets; /* stack: the offset in the text of each of `operands` */
  VEC(CompId) callees;           /* stack: computations named by the attributes being parsed */
  VEC(InstId) predecessors;      /* stack: control predecessors, as `callees` */
  VEC(Attr) attrs;               /* stack: the attributes being parsed */
  VEC(InstId) async_starts;      /* by InstId, for async updates; it ends after the last of them */
  uint32_t num_anonymous;
  uint32_t lead; /* InstSource.lead of the instruction that is being parsed */
} Parser;

/* ---- errors (parse_module.c, report.c) ---- */

bool parse_fail(Parser *parser, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_fail_opened(Parser *parser, uint32_t offset, uint32_t opener, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails because a name is not defined before its use: an instruction of the current computation, or
 * a computation. */
bool parse_fail_name(Parser *parser, uint32_t offset, NameKind kind, const char *what, Str name);

/* Fails with "expected WANTED, found …" at the current token. */
bool parse_expected(Parser *parser, const char *wanted);

/* Fails as parse_expected() does, where one word of a list is expected. */
bool parse_expected_word(Parser *parser, const char *wanted, const char *const *words,
                         uint32_t num_words);

/* Returns `; did you mean 'X'?` for the most similar of some words, or an empty text. The result is
 * in `scratch`. */
const char *parse_meant(Parser *parser, Str word, const char *const *words, uint32_t num_words);

/* Returns what parse_meant() does for a word of another notation where an element type or an opcode
 * is expected. */
const char *parse_meant_type(Parser *parser, Str word, const char *const *types,
                             uint32_t num_types);
const char *parse_meant_opcode(Parser *parser, Str word, const char *const *opcodes,
                               uint32_t num_opcodes);

/* Checks for a missing end of a list. If the current token begins an attribute, fails with the
 * error that the list which opened at `opener` is not closed, and returns false. Returns true
 * otherwise. */
bool parse_check_closed(Parser *parser, TokKind close, uint32_t opener, const char *what);

/* Adds `parser->error` to the diagnostics and clears it. Returns true if more errors may be
 * reported. */
bool parse_report(Parser *parser);

bool parse_enter(Parser *parser, const char *what);
static inline void parse_leave(Parser *parser) {
  parser->depth--;
}

/* ---- recovery from errors (recover.c) ---- */

typedef enum LineKind {
  LINE_OTHER,
  LINE_INSTRUCTION,
  LINE_COMPUTATION,
  LINE_CLOSE, /* the '}' of a computation */
} LineKind;

/* What a line seems to be, judged by its first bytes. */
typedef struct LineStart {
  LineKind kind;
  uint32_t offset; /* the line's first character that is not blank */
  uint32_t indent;
  Span name; /* without `%` */
} LineStart;
LineStart parse_line_start(const Lexer *lexer, uint32_t pos);

/* Returns true if the line at `pos` does not begin an instruction of the body that opens at
 * `opener` but the computation after that body. The body then lacks its '}'. */
bool parse_begins_next(const Lexer *lexer, uint32_t pos, uint32_t opener);

/* Reports the error in the instruction of a computation's body that begins at `begin`, and
 * continues at the next line of the body. Returns false if the body has ended. Then either
 * parser->error is still set, or the lexer is at the beginning of the next computation or at the
 * end of the text. */
bool recover_in_body(Parser *parser, CompId comp, uint32_t opener, uint32_t begin, InstId *root);

/* Reports the error in the computation or the module header that begins at `begin`, and continues
 * at the next computation or at the end of the text. Returns false if nothing more is to be
 * parsed. */
bool recover_at_computation(Parser *parser, uint32_t begin, bool is_header);

static inline bool parser_is_unknown(const Parser *parser, InstId id) {
  return id < parser->unknown_insts.len && parser->unknown_insts.data[id];
}
static inline bool parser_is_unknown_comp(const Parser *parser, CompId id) {
  return id < parser->unknown_comps.len && parser->unknown_comps.data[id];
}
void parser_mark_unknown(Parser *parser, InstId id);

/* Returns the shape of instructions whose shape is not known. */
ShapeId parser_unknown_shape(Parser *parser);

/* ---- tokens ---- */

static inline const Token *tok(const Parser *parser) {
  return &parser->lex.tok;
}
static inline bool at(const Parser *parser, TokKind kind) {
  return parser->lex.tok.kind == kind;
}
static inline Str tok_word(const Parser *parser) {
  Span word = parser->lex.tok.word;
  return (Str){parser->lex.text + word.begin, word.end - word.begin};
}
static inline bool at_ident(const Parser *parser, const char *word) {
  return at(parser, TOK_IDENT) && str_is(tok_word(parser), word);
}
static inline bool eat(Parser *parser, TokKind kind) {
  if (!at(parser, kind)) return false;
  lex_next(&parser->lex);
  return true;
}

/* Reads a token of this kind. `where` completes the message "expected ')' …". */
bool parse_token(Parser *parser, TokKind kind, const char *where);

/* Reads a closing bracket as parse_token() does; the message names the bracket at `opener`. */
bool parse_close(Parser *parser, TokKind kind, uint32_t opener, const char *what);

bool parse_int(Parser *parser, int64_t *value);
bool parse_int32(Parser *parser, int64_t *value); /* fails if the value does not fit 32 bits */
bool parse_bool(Parser *parser, bool *value);
bool parse_name(Parser *parser, Str *name);
bool parse_string(Parser *parser, Span *text);

/* int_list = '{' int (',' int)* '}'
 *
 * The brackets and the separator are parameters. Appends to the module's integers. */
bool parse_int_list(Parser *parser, TokKind open, TokKind close, TokKind separator);

static inline void push_int(Parser *parser, int64_t value) {
  *vec_push(parser->arena, &parser->source->ints) = value;
}

/* ---- shapes (parse_shape.c) ---- */

bool parse_shape(Parser *parser, ShapeId *shape);

/* Fails because the current word is not an element type. */
bool parse_fail_type(Parser *parser);
bool parse_at_shape(const Parser *parser);

/* Checks one array as ShapeUtil::ValidateShapeWithOptionalLayout does, which XLA requires for the
 * elements of a tuple. Tuples are valid because they were checked when they were made. `*why` is a
 * constant text. */
bool parse_array_is_valid(const Shape *shape, const char **why);

/* ---- attributes (parse_attribute.c, parse_metadata.c, parse_sharding.c) ---- */

/* Reads the value of an attribute whose name was already read. Integers, callees and predecessors
 * are stored as ir/attribute.h describes. */
bool parse_attribute_value(Parser *parser, AttrId attr);
bool parse_metadata(Parser *parser, Metadata *metadata);
bool parse_frontend_attributes(Parser *parser);
bool parse_string_or_dict(Parser *parser);
bool parse_sharding(Parser *parser);
bool parse_replica_groups(Parser *parser);
bool parse_original_array(Parser *parser);
bool parse_shape_index(Parser *parser);
bool parse_double(Parser *parser, double *value);

/* ---- literals (parse_literal.c) ---- */

/* Reads the literal of a constant whose shape is known. Sets `*is_elided` if the literal holds
 * `...`. */
bool parse_literal(Parser *parser, ShapeId shape, bool *is_elided);

/* shaped_literal = shape literal | '(' shaped_literal (',' shaped_literal)* ')' */
bool parse_shaped_literal(Parser *parser);

/* ---- instructions and computations (parse_instruction.c, parse_module.c) ---- */

/* Returns true for names that XLA reserves, and renames: those that begin with `__` but not
 * `__xla_`. */
bool parse_is_reserved_name(Str name);

/* instruction = ['ROOT'] name '=' rhs */
bool parse_instruction(Parser *parser, InstId *root);

/* rhs = [shape] opcode '(' operands ')' attributes
 *
 * `name` is empty for a nested instruction, which has no attributes. */
bool parse_instruction_rhs(Parser *parser, Str name, uint32_t begin, uint32_t name_offset,
                           bool with_attributes, InstId *id);

/* body = '{' instruction+ '}'
 *
 * The name may be empty for a computation inside an attribute. */
bool parse_computation_body(Parser *parser, Str name, unsigned flags, CompId *comp);
bool parse_header(Parser *parser);

/* Parses the unescaped text of a string, which must be a module by itself. */
bool parse_quoted_module(Parser *parser, Span quoted, uint32_t place);

/* Completes the header after the entry computation is known: aliases refer to parts of its
 * shapes. */
bool parse_resolve_header(Parser *parser);

InstId parser_find_inst(const Parser *parser, Str name);
CompId parser_find_comp(const Parser *parser, Str name);

/* The description of a new instruction of the current computation. parser_add_inst() takes its
 * operands, the last `num_operands` ones, from the operand stack. */
typedef struct NewInst {
  Str name;
  Opcode opcode;
  ShapeId shape;
  uint32_t num_operands;
  uint32_t first_callee; /* index in parser->callees */
  uint32_t num_callees;
  int64_t index;
  unsigned flags;
  InstSource source;
} NewInst;
InstId parser_add_inst(Parser *parser, const NewInst *inst);

/* Pushes an operand on the stack. `offset` is its place in the text. */
void parser_push_operand(Parser *parser, InstId operand, uint32_t offset);

/* An open computation. All instructions that are added between parser_open_comp() and
 * parser_close_comp() belong to it. parser_close_comp() fails if its parameters are not numbered 0,
 * 1, 2, … without repetition. */
typedef struct OpenComp {
  CompId id;
  CompId outer;
  uint32_t first_inst;
} OpenComp;
OpenComp parser_open_comp(Parser *parser, Str name, unsigned flags);
bool parser_close_comp(Parser *parser, OpenComp open, InstId root);

/* ---- rules of one opcode (parse_opcode.c) ---- */

/* An instruction whose operands and attributes were parsed but which is not added yet. */
typedef struct Candidate {
  Opcode opcode;
  bool has_shape;
  ShapeId shape; /* set by parse_check_opcode() if the shape was inferred or replaced */
  const InstId *operands;
  uint32_t num_operands;
  const Attr *attrs;
  uint32_t num_attrs;
  const CompId *callees;
  uint32_t num_callees;
  uint32_t offset; /* offset of the opcode, for messages */
  Opcode wrapped;  /* for async forms such as `add-done`; NUM_OPCODES otherwise */
  bool is_implied; /* it is the instruction of an implied async wrapper */
} Candidate;

/* Returns true if an operand or a called computation is unknown. Then no rule can be checked. */
bool parser_depends_on_unknown(const Parser *parser, const Candidate *candidate);

/* Checks the rules for the operand count, the attributes and the shape that XLA's parser
 * enforces. */
bool parse_check_opcode(Parser *parser, Candidate *candidate);

/* ---- asynchronous forms (parse_async.c) ---- */

typedef struct OpcodeText {
  Opcode opcode;
  Opcode wrapped; /* for async forms such as `add-start`; NUM_OPCODES otherwise */
  uint32_t place;
} OpcodeText;

bool parse_async_check_shape(Parser *parser, ShapeId shape, uint32_t place);

/* Adds the computation that a form such as `add-start` implies. */
bool parse_async_wrapper(Parser *parser, const OpcodeText *op, const NewInst *start,
                         CompId *wrapper);

/* Returns the async-start that `id` continues, found by following updates. Returns NO_ID if `id`
 * continues something else, such as a parameter. */
InstId parse_async_start_of(const Parser *parser, InstId id);

/* Records an async-update that was added. */
void parse_async_note_update(Parser *parser, InstId id);

/* Changes the computation that the start implied so that it fits `add-update` or `add-done`. */
bool parse_async_follow(Parser *parser, const Candidate *candidate);

#endif
