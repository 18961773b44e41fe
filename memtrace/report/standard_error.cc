#include "report/standard_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace octavo::memtrace {

namespace {

/** Above what programs number by hand, below the usual limit of 1024. */
constexpr int kFirstDescriptor = 900;

int kept = -1;
struct stat identity;

bool isSame(int file) {
  struct stat now;
  return file >= 0 && fstat(file, &now) == 0 && now.st_dev == identity.st_dev && now.st_ino == identity.st_ino;
}

}  // namespace

void keepStandardError() {
  if (fstat(STDERR_FILENO, &identity) != 0) return;
  kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kFirstDescriptor);
}

int standardError() { return isSame(kept) ? kept : isSame(STDERR_FILENO) ? STDERR_FILENO : -1; }

}  // namespace octavo::memtrace
