// A framework's lock, held while the driver is called, and wanted by a thread that keeps the interpreter's lock.
#include <pthread.h>
#include <unistd.h>

#include "driver.h"

static pthread_mutex_t framework = PTHREAD_MUTEX_INITIALIZER;
static volatile int allocating, waiting;

int is_allocating(void) { return allocating; }

// Called without the interpreter's lock.
int allocate_locked(void) {
  word address;
  pthread_mutex_lock(&framework);
  allocating = 1;
  while (!waiting) usleep(100);
  int result = cuMemAlloc_v2(&address, 8000);
  pthread_mutex_unlock(&framework);
  return result;
}

// Called with it.
int wait_for_framework(void) {
  waiting = 1;
  pthread_mutex_lock(&framework);
  pthread_mutex_unlock(&framework);
  return 0;
}
