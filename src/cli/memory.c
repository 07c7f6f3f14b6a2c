#include "memory.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "interrupt.h"

void *memory_need(void *memory) {
  static const char message[] = "remat-hlo: error: out of memory\n";
  if (memory) return memory;
  interrupt_remove_temporaries();
  /* stdio might ask for memory, too; and what it has buffered is not whole */
  if (write(STDERR_FILENO, message, strlen(message)) < 0) _exit(EXIT_CODE_SYSTEM);
  _exit(EXIT_CODE_SYSTEM);
}

static void *allocate(size_t bytes) {
  return memory_need(malloc(bytes));
}

static void release(void *memory) {
  free(memory);
}

void memory_install(void) {
  cJSON_InitHooks(&(cJSON_Hooks){allocate, release});
}
