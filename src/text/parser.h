/* The parser's state, and the functions that its files give each other. text/parse.h is the way in.
 *
 * Functions are named after what they read. They return false on an error, which is then in
 * `parser->error`: the first one stays, until it is reported and taken out (parse_report), which
 * those do that know where to go on: computations and their bodies (recover.c). Where XLA's parser
 * tries something and goes on when it fails, so does this one (parse_operands, layouts); such an
 * error becomes a warning if the text is accepted in the end. */
#ifndef REMAT_HLO_TEXT_PARSER_H
#define REMAT_HLO_TEXT_PARSER_H

#include "ir/diag.h"
#include "ir/module.h"
#include "text/lexer.h"

enum {
  /* Nesting of shapes, operands, computations and literals. XLA allows 8,192 and then may run out
   * of stack; real dumps stay below 10. */
  MAX_NESTING = 400,
};

/* What an unknown name was meant to be a name of. */
typedef enum NameKind {
  NAME_OF_NOTHING,
  NAME_OF_INST,
  NAME_OF_COMP,
} NameKind;

typedef struct ParseError {
  const char *message; /* NULL = no error */
  uint32_t offset;
  uint32_t opener;
  /* A name that is not defined: what comes close to it is only looked for when this is reported, as
   * it may be no error in the end. */
  NameKind kind;
  Str name;
} ParseError;

/* A name that was not defined, told of once in a computation. */
typedef struct MissingName {
  CompId scope; /* NO_ID for the name of a computation */
  Str name;
} MissingName;

typedef VEC(bool) IdFlags; /* false beyond the end */

typedef struct Parser {
  Lexer lex;
  Module *module;
  ModuleSource *source;
  Arena *arena;   /* the module's */
  Arena *tables;  /* what lives as long as the parse: tables, stacks, messages */
  Arena *scratch; /* what lives within one function, which resets it */
  rh_diags *diags;
  ParseError error;
  uint32_t depth;
  uint32_t num_errors; /* that have been reported */
  uint32_t max_errors;
  uint32_t num_searches; /* for names that are not defined */
  VEC(MissingName) missing;
  IdFlags unknown_insts; /* nothing is known of them but their name, see recover.c */
  IdFlags unknown_comps; /* likewise, or they hold such instructions */

  Words words;
  IdTable shape_texts; /* from the text of an array shape to its id */
  VEC(Str) shape_text_keys;
  VEC(ShapeId) shape_text_ids;

  IdTable inst_names; /* in the computations that are open: hashed with the computation's id */
  VEC(uint32_t) name_slots;   /* of that table, as long as it does not grow */
  uint32_t name_slots_mask;   /* of the table when the first of them was taken */
  IdTable comp_names;         /* top-level computations */
  CompId comp;                /* the computation that is being read */
  uint32_t body;              /* offset of the '{' of the last one at top level */
  bool is_single_instruction; /* unknown operands become parameters */
  uint32_t num_created_params;

  VEC(InstId) comp_insts;        /* stack: the instructions of the computations that are open */
  VEC(InstId) operands;          /* stack: the operands of the instructions that are open */
  VEC(uint32_t) operand_offsets; /* likewise */
  VEC(CompId) callees;           /* stack: computations named by the attributes being read */
  VEC(InstId) predecessors;      /* stack: likewise control predecessors */
  VEC(Attr) attrs;               /* stack: the attributes being read */
  VEC(InstId) async_starts;      /* by InstId: of async updates; as long as the last of them */
  uint32_t num_anonymous;
  uint32_t lead; /* InstSource.lead of the instruction being read */
} Parser;

/* ---- errors (parse_module.c, report.c) ---- */

bool parse_fail(Parser *parser, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_fail_opened(Parser *parser, uint32_t offset, uint32_t opener, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A name of the current computation, or of a computation, that is not defined above. */
bool parse_fail_name(Parser *parser, uint32_t offset, NameKind kind, const char *what, Str name);

/* "expected WANTED, found …" at the current token. */
bool parse_expected(Parser *parser, const char *wanted);

/* The same where one of a list of words should stand. */
bool parse_expected_word(Parser *parser, const char *wanted, const char *const *words,
                         uint32_t num_words);

/* `; did you mean 'X'?` for the closest of some words, or nothing; in `scratch`. */
const char *parse_meant(Parser *parser, Str word, const char *const *words, uint32_t num_words);

/* The same for a word of another notation that stands where an element type or an opcode should. */
const char *parse_meant_type(Parser *parser, Str word, const char *const *types,
                             uint32_t num_types);
const char *parse_meant_opcode(Parser *parser, Str word, const char *const *opcodes,
                               uint32_t num_opcodes);

/* When an attribute stands where a list goes on, the list lacks its end: false, and that is the
 * error. True when something else stands there. */
bool parse_check_closed(Parser *parser, TokKind close, uint32_t opener, const char *what);

/* Adds `parser->error` to the diagnostics and takes it out. True when there may be more of them. */
bool parse_report(Parser *parser);

bool parse_enter(Parser *parser, const char *what);
static inline void parse_leave(Parser *parser) {
  parser->depth--;
}

/* ---- going on behind an error (recover.c) ---- */

typedef enum LineKind {
  LINE_OTHER,
  LINE_INSTRUCTION,
  LINE_COMPUTATION,
  LINE_CLOSE, /* the '}' of a computation */
} LineKind;

/* What a line seems to be, by its first bytes. */
typedef struct LineStart {
  LineKind kind;
  uint32_t offset; /* of its first character that is no blank */
  uint32_t indent;
  Span name; /* without `%` */
} LineStart;
LineStart parse_line_start(const Lexer *lexer, uint32_t pos);

/* Whether the line at `pos` is no instruction of the body that opens at `opener`, but the
 * computation behind it: then it lacks its '}'. */
bool parse_begins_next(const Lexer *lexer, uint32_t pos, uint32_t opener);

/* Reports the error in the instruction that begins at `begin` of a computation's body, and goes to
 * what follows it there. False when the body does not go on; then, unless parser->error is still
 * set, the lexer is where the next computation begins, or at the end. */
bool recover_in_body(Parser *parser, CompId comp, uint32_t opener, uint32_t begin, InstId *root);

/* Likewise for a computation, or the module's header, that begins at `begin`: goes to the next
 * computation, or the end. False when nothing more is to be read. */
bool recover_at_computation(Parser *parser, uint32_t begin, bool is_header);

static inline bool parser_is_unknown(const Parser *parser, InstId id) {
  return id < parser->unknown_insts.len && parser->unknown_insts.data[id];
}
static inline bool parser_is_unknown_comp(const Parser *parser, CompId id) {
  return id < parser->unknown_comps.len && parser->unknown_comps.data[id];
}
void parser_mark_unknown(Parser *parser, InstId id);

/* What instructions have whose shape is not known. */
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

/* Reads a token of this kind; `where` ends the sentence "expected ')' …". */
bool parse_token(Parser *parser, TokKind kind, const char *where);

/* As parse_token for a bracket that closes the one at `opener`. */
bool parse_close(Parser *parser, TokKind kind, uint32_t opener, const char *what);

bool parse_int(Parser *parser, int64_t *value);
bool parse_int32(Parser *parser, int64_t *value); /* fails for one beyond 32 bits */
bool parse_bool(Parser *parser, bool *value);
bool parse_name(Parser *parser, Str *name);
bool parse_string(Parser *parser, Span *text);

/* '{' int (',' int)* '}' with other brackets and separators; appends to module ints. */
bool parse_int_list(Parser *parser, TokKind open, TokKind close, TokKind separator);

static inline void push_int(Parser *parser, int64_t value) {
  *vec_push(parser->arena, &parser->source->ints) = value;
}

/* ---- shapes (parse_shape.c) ---- */

bool parse_shape(Parser *parser, ShapeId *shape);

/* The current word stands where an element type should. */
bool parse_fail_type(Parser *parser);
bool parse_at_shape(const Parser *parser);

/* ShapeUtil::ValidateShapeWithOptionalLayout of one array, which XLA demands of a tuple's elements;
 * tuples, which were checked when they were made, are valid. `*why` is a constant text. */
bool parse_array_is_valid(const Shape *shape, const char **why);

/* ---- attributes (parse_attribute.c, parse_metadata.c, parse_sharding.c) ---- */

/* Reads the value of an attribute, its name already read. Integers, callees and predecessors go to
 * the places that ir/attribute.h describes. */
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

/* The literal of a constant, its shape known. Sets `*is_elided` when it holds `...`. */
bool parse_literal(Parser *parser, ShapeId shape, bool *is_elided);

/* `shape literal`, or a tuple of such. */
bool parse_shaped_literal(Parser *parser);

/* ---- instructions and computations (parse_instruction.c, parse_module.c) ---- */

/* Names that XLA keeps for itself, and changes: `__` but not `__xla_`. */
bool parse_is_reserved_name(Str name);

/* [ROOT] name = rhs */
bool parse_instruction(Parser *parser, InstId *root);

/* [shape] opcode(operands) attributes. `name` is empty for a nested one, which takes no attributes.
 */
bool parse_instruction_rhs(Parser *parser, Str name, uint32_t begin, uint32_t name_offset,
                           bool with_attributes, InstId *id);

/* '{' instruction+ '}'; the name may be empty for a computation inside an attribute. */
bool parse_computation_body(Parser *parser, Str name, unsigned flags, CompId *comp);
bool parse_header(Parser *parser);

/* The text in a string, unescaped, must be a module by itself. */
bool parse_quoted_module(Parser *parser, Span quoted, uint32_t place);

/* Finishes what parse_header could only note: aliases name parts of the entry's shapes. */
bool parse_resolve_header(Parser *parser);

InstId parser_find_inst(const Parser *parser, Str name);
CompId parser_find_comp(const Parser *parser, Str name);

/* Registers a new instruction of the current computation. Its operands are the last `num_operands`
 * of the operand stack, which are popped. */
typedef struct NewInst {
  Str name;
  Opcode opcode;
  ShapeId shape;
  uint32_t num_operands;
  uint32_t first_callee; /* in parser->callees */
  uint32_t num_callees;
  uint32_t attrs;
  uint32_t num_attrs;
  int64_t index;
  unsigned flags;
  InstSource source;
} NewInst;
InstId parser_add_inst(Parser *parser, const NewInst *inst);

/* Puts an operand on the stack; `offset` is where it stands in the text. */
void parser_push_operand(Parser *parser, InstId operand, uint32_t offset);

/* Opens and closes a computation: everything added in between belongs to it. False when its
 * parameters are not numbered from 0 on, each once. */
typedef struct OpenComp {
  CompId id;
  CompId outer;
  uint32_t first_inst;
} OpenComp;
OpenComp parser_open_comp(Parser *parser, Str name, unsigned flags);
bool parser_close_comp(Parser *parser, OpenComp open, InstId root);

/* ---- rules of one opcode (parse_opcode.c) ---- */

/* What is known of an instruction when its operands and attributes have been read. */
typedef struct Candidate {
  Opcode opcode;
  bool has_shape;
  ShapeId shape; /* set by parse_check_opcode when it was inferred or replaced */
  const InstId *operands;
  uint32_t num_operands;
  const Attr *attrs;
  uint32_t num_attrs;
  const CompId *callees;
  uint32_t num_callees;
  uint32_t offset; /* of the opcode, for messages */
  Opcode wrapped;  /* of `add-done` and its kind; NUM_OPCODES otherwise */
  bool is_implied; /* the instruction of an implied async wrapper */
} Candidate;

/* Whether an operand or a called computation is unknown: then no rule can be checked. */
bool parser_depends_on_unknown(const Parser *parser, const Candidate *candidate);

/* Operand count, attribute and shape rules that XLA enforces while it parses. */
bool parse_check_opcode(Parser *parser, Candidate *candidate);

/* ---- asynchronous sugar (parse_async.c) ---- */

typedef struct OpcodeText {
  Opcode opcode;
  Opcode wrapped; /* of `add-start` and its kind; NUM_OPCODES otherwise */
  uint32_t place;
} OpcodeText;

bool parse_async_check_shape(Parser *parser, ShapeId shape, uint32_t place);

/* Adds the computation that `add-start` implies. */
bool parse_async_wrapper(Parser *parser, const OpcodeText *op, const NewInst *start,
                         CompId *wrapper);

/* The async instruction that `id` continues, looked for through updates; NO_ID when it continues
 * something else, such as a parameter. */
InstId parse_async_start_of(const Parser *parser, InstId id);

/* Notes an async-update that has been added. */
void parse_async_note_update(Parser *parser, InstId id);

/* Makes the computation that the start implied fit what `add-update` or `add-done` says. */
bool parse_async_follow(Parser *parser, const Candidate *candidate);

#endif
