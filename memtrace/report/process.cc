#include "report/process.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "elf/loaded_object.h"

namespace octavo::memtrace {

namespace {

int addIfDriver(dl_phdr_info* object, size_t, void* text) {
  if (!isDriverFile(object->dlpi_name)) return 0;
  static_cast<Text*>(text)->add(object->dlpi_name);
  return 1;
}

}  // namespace

void addCommandLine(Text& text) {
  char line[200];
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t length = read(file, line, sizeof line);
  close(file);
  while (length > 0 && line[length - 1] == '\0') length--;
  for (ssize_t index = 0; index < length; index++) {
    const auto letter = static_cast<unsigned char>(line[index]);
    text.add(letter < 0x20 ? ' ' : line[index]);
  }
}

void addDriverPath(Text& text) { dl_iterate_phdr(addIfDriver, &text); }

}  // namespace octavo::memtrace
