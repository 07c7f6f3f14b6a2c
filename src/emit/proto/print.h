/* Writes HLO text from a serialized HloModuleProto, or from an HloProto or HloSnapshot that has
 * one, byte for byte as XLA prints it with its default options and all constants. Whatever it does
 * not know how to print exactly, it refuses: a field that hlo_text.proto does not have, an opcode,
 * a value. So a module is either printed as XLA would, or not at all.
 *
 * After the first refusal, what is written does not matter; functions go on, within their bounds,
 * and the refusal is looked at after each instruction. */
#ifndef REMAT_HLO_EMIT_PROTO_PRINT_H
#define REMAT_HLO_EMIT_PROTO_PRINT_H

#include "emit/proto/message.h"
#include "hlo_text.pb-c.h"
#include "ir/attribute.h"
#include "ir/diag.h"
#include "ir/hash.h"
#include "ir/opcode.h"
#include "ir/shape.h"
#include "ir/text_buffer.h"
#include "ir/writer.h"

typedef RematHloText__Instruction InstText;

/* The text of a shape. */
typedef struct ShapeText {
  Bytes bytes;
  Str full;         /* with layouts */
  Str plain;        /* without */
  ElementType type; /* NUM_TYPES for a tuple */
} ShapeText;

/* The text of metadata, with a stack frame that has a new number in the text. */
typedef struct MetadataText {
  Bytes bytes;
  Str head; /* up to the number, if there is one */
  Str tail;
  int32_t frame; /* 0 = none */
} MetadataText;

typedef struct ShapeTexts {
  VEC(ShapeText) list;
  IdTable table;
} ShapeTexts;

typedef struct MetadataTexts {
  VEC(MetadataText) list;
  IdTable table;
} MetadataTexts;

/* One line, without its number of a stack frame. */
typedef struct LineText {
  uint32_t begin, frame_at, end; /* in `lines` */
  uint32_t name_len;             /* the name follows `%` at `begin` */
  int32_t frame;
  uint32_t shape; /* in `shapes` */
  int32_t local_id;
  uint32_t operands, num_operands; /* in `edges`: places of lines, then of control predecessors */
  uint32_t num_control;
  uint32_t callees, num_callees; /* in `callees` of the computation */
  Opcode opcode;
  uint32_t async_comp;         /* what an operation that is split wraps; NO_ID = none */
  uint32_t extras, extras_end; /* in `lines`: what follows the operands, up to the metadata */
  bool has_frontend;
  int64_t parameter_number; /* -1 = no parameter */
  bool has_users;
} LineText;

/* A computation whose text is in `text`. */
typedef struct CompText {
  Str name;
  uint32_t begin, end;
  /* Of one that an async-start wraps: one instruction over its parameters is printed in its place.
   */
  bool is_async, is_one;
  bool is_named;     /* a line has been printed so */
  Opcode opcode;     /* of that instruction */
  Str extras;        /* what follows its operands */
  bool has_frontend; /* there is a frontend attribute among them */
  IdVec calls;       /* for each caller by its id: the number of callees, and they */
} CompText;

typedef struct Frames Frames;

typedef struct Printer {
  Arena *arena;   /* for the whole text */
  Arena *comp;    /* for one computation */
  Arena *scratch; /* for one instruction */
  const RematHloText__Module *module;
  IdTable opcodes;   /* by the hashes of their texts */
  IdTable sequences; /* places in the schedule by the hash of a computation's id */
  ShapeTexts shapes;
  MetadataTexts metadata;
  Frames *frames;
  TextBuffer text; /* of all computations, in the order of the message */
  VEC(CompText) comps;
  IdTable comp_ids; /* places in `comps` by the hash of an id */
  VEC(int64_t) ids;
  /* of the computation that is being printed */
  TextBuffer lines;
  VEC(LineText) list;
  IdVec edges, callees;
  IdTable local_ids; /* places in `list` by the hash of a local id */
  uint64_t max_text; /* bytes that a sound message does not need */
  bool has_carried;  /* an operation that is split ends in another iteration than it starts in */
  bool has_no_sugar; /* what is split is printed as async-start and async-done */
  const char *refusal;
  bool is_malformed;
} Printer;

/* The first refusal is kept. `malformed` is one of bytes that are no message. */
void print_refuse(Printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void print_malformed(Printer *printer);

/* Reads a message into an arena. Returns NULL, and refuses, if the bytes are not one, or if it has
 * a field of its own that is unknown. Messages in it are checked by print_known. */
void *print_read(Printer *printer, const ProtobufCMessageDescriptor *type, Bytes data, Arena *out);

/* Refuses a message with unknown fields. */
void print_known(Printer *printer, const ProtobufCMessage *message);

/* Returns a copy that lasts as long as the printer. */
Bytes print_keep(Printer *printer, Bytes data);

/* Refuses a text that is getting far longer than its message, as where long names are repeated. */
static inline bool print_is_too_long(Printer *printer, uint64_t more) {
  uint64_t len = (uint64_t)printer->text.chars.len + printer->lines.chars.len + more;
  bool is_too_long = len > printer->max_text;
  if (is_too_long) print_refuse(printer, "the text would be far longer than the message");
  return is_too_long;
}

/* ---- pieces of text ---- */

void print_ints(TextBuffer *text, const int64_t *values, size_t count);
void print_key_ints(TextBuffer *text, const char *key, const int64_t *values, size_t count);
void print_key_int(TextBuffer *text, const char *key, int64_t value);

/* What stands before an element of a long list: XLA numbers every fifth. */
void print_separator(TextBuffer *text, size_t index);

/* A word of an enumeration, whose numbers are those of XLA's messages. */
void print_word(Printer *printer, TextBuffer *text, const char *key, AttrKind kind, int32_t value);

/* Escapes as absl::CEscape does. */
void print_escaped(TextBuffer *text, Bytes value);

/* Writes a value as it is if it is a dictionary of JSON for XLA, or else in quotes. */
void print_config(Printer *printer, TextBuffer *text, Bytes value);

/* Refuses a name that XLA would change when it reads it. */
void print_name(Printer *printer, TextBuffer *text, Bytes name);

void print_float(TextBuffer *text, float value);
void print_double(TextBuffer *text, double value);
void print_f16(TextBuffer *text, uint16_t bits);
void print_bf16(TextBuffer *text, uint16_t bits);

/* ---- parts of a line ---- */

/* Returns the place of the shape in `shapes`. */
uint32_t print_find_shape(Printer *printer, Bytes data);

void print_literal(Printer *printer, TextBuffer *text, Bytes data);
void print_sharding(Printer *printer, TextBuffer *text, Bytes data, bool is_of_tuple);
void print_replica_groups(Printer *printer, TextBuffer *text, const InstText *inst);

/* `, metadata={...}`; sets the frame of the line. */
void print_metadata(Printer *printer, TextBuffer *text, Bytes data, LineText *line);

/* `{a="b"}`, or nothing after a prefix that is then left out. */
void print_frontend_attributes(Printer *printer, TextBuffer *text, const char *prefix, Bytes data);

void print_window(Printer *printer, TextBuffer *text, const RematHloText__Window *window);
void print_dim_labels(Printer *printer, TextBuffer *text,
                      const RematHloText__ConvolutionDims *dims);
void print_dot_dims(Printer *printer, TextBuffer *text, const RematHloText__DotDims *dims);
void print_gather_dims(Printer *printer, TextBuffer *text, const RematHloText__GatherDims *dims);
void print_scatter_dims(Printer *printer, TextBuffer *text, const RematHloText__ScatterDims *dims);
void print_padding(Printer *printer, TextBuffer *text, const RematHloText__PaddingConfig *padding);
void print_precision(Printer *printer, TextBuffer *text, const RematHloText__Precision *precision,
                     size_t num_operands);

/* Returns NUM_OPCODES, and refuses, if it is not known. */
Opcode print_find_opcode(Printer *printer, Bytes name);

/* The attributes of an opcode, and what it calls. */
void print_attributes(Printer *printer, TextBuffer *text, const InstText *inst,
                      const LineText *line);

/* `, calls=%comp`, and what else a caller says of what it calls. */
void print_callees(Printer *printer, TextBuffer *text, const InstText *inst, const LineText *line);

/* Whether `OPCODE-start` means nothing but an operation of this opcode that is split. */
bool print_async_has_name(Opcode opcode);

/* Finds what an operation wraps; called before its line is printed. */
void print_note_async(Printer *printer, const InstText *inst, LineText *line);

/* The word of an opcode, which for an operation that is split is that of what it wraps. */
void print_opcode(Printer *printer, TextBuffer *text, const LineText *line);

/* The attributes of async-start and async-update. */
void print_async_start(Printer *printer, TextBuffer *text, const InstText *inst,
                       const LineText *line);
void print_async_update(Printer *printer, TextBuffer *text, const InstText *inst);

/* `output_to_operand_aliasing={...}`, if there is any. */
void print_output_aliases(Printer *printer, TextBuffer *text, const InstText *inst);

/* Adds the line of an instruction to `lines` and `list`. */
void print_instruction(Printer *printer, Bytes data);

/* Adds the text of a computation to `text` and `comps`. */
void print_computation(Printer *printer, Bytes data);

/* ---- tables of source locations ---- */

Frames *frames_new(Printer *printer, const RematHloText__StackFrameIndex *index);

/* Returns the number that a frame has in the text. */
int32_t frames_number(Printer *printer, int32_t frame);

void frames_print(Printer *printer, TextBuffer *text);

/* ---- all of it ---- */

/* Fails with RH_CODE_PROTO if the bytes are no HloModuleProto, or with RH_CODE_NO_TEXT if they have
 * something that is refused. Nothing is written then. O(n), but for the sorting of frontend
 * attributes. */
rh_status proto_print(Bytes data, Writer *out, rh_diags *diags, Arena *scratch);

#endif
