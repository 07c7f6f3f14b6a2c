/* Arenas: memory that lives and dies together.
 *
 * Two lifetimes cover the whole program: a module's arena (graph, names, results) and a scratch
 * arena per call, reset at the one exit of a pass. A parameter called `out` or `scratch` says which
 * one is meant. Nothing outside arena.c calls malloc.
 *
 * Running out of memory is the one error that is not a value: the arena calls `on_oom`, which must
 * not return (the tool reports and exits with 4; without a handler the library aborts). */
#ifndef REMAT_HLO_IR_ARENA_H
#define REMAT_HLO_IR_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

typedef struct ArenaOptions {
  size_t max_bytes;                                                       /* 0 = no limit */
  void (*on_oom)(void *context, size_t wanted_bytes, size_t limit_bytes); /* must not return */
  void *context;
} ArenaOptions;

/* A place to return to. Valid until the arena is reset to an earlier mark. */
typedef struct ArenaMark {
  void *chunk;
  char *next;
  uint64_t num_blocks_ever;
} ArenaMark;

/* A new arena, empty; `options` may be NULL for the defaults. */
Arena *arena_new(const ArenaOptions *options);
void arena_free(Arena *arena);

/* The options that the arena was made with, for making another of the same kind. */
const ArenaOptions *arena_options(const Arena *arena);

/* `bytes` of uninitialised memory aligned for any object; never NULL, also for 0 bytes. */
void *arena_alloc(Arena *arena, size_t bytes);
void *arena_zalloc(Arena *arena, size_t bytes);

/* As realloc: a block that arena_alloc or arena_grow returned, enlarged, its contents kept. The old
 * block may become waste until the arena is freed; doubling keeps that below the final size. Large
 * blocks move without being copied where the system can remap pages. */
void *arena_grow(Arena *arena, void *old, size_t old_bytes, size_t new_bytes);

/* Gets memory for the next requests, large ones too, in one piece: for whoever knows about how much
 * it takes. The system then maps large pages; by small ones, a fault for each, reading a text took
 * a quarter longer. What is not used is not touched, but for the rest of a page. */
void arena_reserve(Arena *arena, size_t bytes);

/* A NUL-terminated copy. */
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

ArenaMark arena_mark(const Arena *arena);
void arena_reset(Arena *arena, ArenaMark mark);

/* Bytes taken from the system at this moment. */
size_t arena_bytes(const Arena *arena);

/* Reports `count * size` as out of memory when the product overflows. */
size_t arena_array_bytes(Arena *arena, size_t count, size_t size);

#define arena_array(arena, type, count) \
  ((type *)arena_alloc((arena), arena_array_bytes((arena), (count), sizeof(type))))
#define arena_zarray(arena, type, count) \
  ((type *)arena_zalloc((arena), arena_array_bytes((arena), (count), sizeof(type))))

#endif
