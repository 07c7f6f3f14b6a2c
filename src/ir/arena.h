/* Arenas: memory that lives and dies together.
 *
 * Two lifetimes cover the whole program: a module's arena (graph, names, results) and a scratch
 * arena per call, reset at the one exit of a pass. A parameter called `out` or `scratch` says which
 * one is meant. Nothing outside arena.c calls malloc.
 *
 * No pass looks whether there is memory: an arena that gets none jumps to the guard that it was
 * made under, which frees every arena made since it was opened and goes on as an error value
 * (api/call.h; each public function opens one). What is held beside memory goes with the arena that
 * owns it. An arena without a guard ends the program. */
#ifndef REMAT_HLO_IR_ARENA_H
#define REMAT_HLO_IR_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

/* Where to go on when memory runs out. `jump` is set by setjmp, all else is zero at first. One
 * thread uses a guard and the arenas under it. */
typedef struct ArenaGuard {
  jmp_buf jump;
  Arena *arenas;       /* that were made under it and are not freed yet, the newest first */
  size_t wanted_bytes; /* what could not be had, for the message */
  size_t limit_bytes;  /* ArenaOptions.max_bytes of the arena that wanted them */
} ArenaGuard;

typedef struct ArenaOptions {
  size_t max_bytes;  /* 0 = no limit */
  ArenaGuard *guard; /* NULL = running out of memory ends the program */
} ArenaOptions;

/* A place to return to. Valid until the arena is reset to an earlier mark. */
typedef struct ArenaMark {
  void *chunk;
  char *next;
  void *owned;
  uint64_t num_blocks_ever;
} ArenaMark;

/* A new arena, empty; `options` may be NULL for the defaults. */
Arena *arena_new(const ArenaOptions *options);
void arena_free(Arena *arena);

/* The options that the arena was made with, for making another of the same kind. */
const ArenaOptions *arena_options(const Arena *arena);

/* Frees all arenas under the guard, in any order: after a jump. */
void arena_guard_free_all(ArenaGuard *guard);

/* Lets go of them: those that are not freed are results, and stay. */
void arena_guard_release_all(ArenaGuard *guard);

/* Has an arena that was there before jump to another guard, which does not free it, and returns
 * the one it had. NULL = none. The arena is as it was before the request that failed. */
ArenaGuard *arena_swap_guard(Arena *arena, ArenaGuard *guard);

/* Goes where the arena goes when there is no memory: for what others could not get. */
_Noreturn void arena_fail(Arena *arena, size_t wanted_bytes);

/* A place, at first NULL, for what is no memory of ours and goes with the arena: unless it is NULL,
 * `release` is called with what is in it when the arena is freed or reset to a mark from before;
 * the newest first, and while the arena's memory is still there. */
void **arena_own(Arena *arena, void (*release)(void *thing));

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
