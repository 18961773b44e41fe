// One source, three objects: a program and two libraries that stand before one another.
#define _GNU_SOURCE
#include <dlfcn.h>

#if defined(FIRST)
int which(void) {
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "which");
  return next == 0 ? 1 : 10 + next();
}
#elif defined(SECOND)
int which(void) { return 2; }
#else
int which(void);
int main(void) { return which(); }
#endif
