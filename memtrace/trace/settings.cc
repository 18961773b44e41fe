#include "trace/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "base/text.h"
#include "elf/loaded_object.h"

namespace octavo::memtrace {

namespace {

constexpr const char* kRootVariable = "OCTAVO_MEMTRACE_ROOT";
constinit Settings current;

void readPath(const char* name, char* path) {
  const char* value = getenv(name);
  if (value != nullptr && strlen(value) < kPathBytes) strcpy(path, value);
}

uint64_t readNumber(const char* name, uint64_t otherwise) {
  const char* value = getenv(name);
  if (value == nullptr || *value == '\0') return otherwise;
  char* end = nullptr;
  const uint64_t number = strtoull(value, &end, 10);
  return *end == '\0' ? number : otherwise;
}

bool isOurs(std::string_view path) {
  constexpr std::string_view kName = "octavo-memtrace.so";
  if (!path.ends_with(kName)) return false;
  path.remove_suffix(kName.size());
  return path.empty() || path.back() == '/';
}

/** Takes our library out of LD_PRELOAD, so that programs started from here run untraced. */
void stopPreloading() {
  const char* preload = getenv("LD_PRELOAD");
  if (preload == nullptr) return;
  char rest[kPathBytes] = "";
  size_t length = 0;
  for (const char* path = preload; *path != '\0';) {
    const size_t bytes = strcspn(path, ": ");
    if (bytes > 0 && !isOurs({path, bytes}) && length + bytes + 2 <= sizeof rest) {
      if (length > 0) rest[length++] = ':';
      memcpy(rest + length, path, bytes);
      length += bytes;
    }
    path += bytes + (path[bytes] != '\0');
  }
  rest[length] = '\0';
  if (length == 0) unsetenv("LD_PRELOAD");
  else setenv("LD_PRELOAD", rest, 1);
}

/** The first traced process leaves its id for those it starts; an exec in place keeps both. */
bool markRoot() {
  Text id;
  id.number(getpid()).add('\0');
  const char* root = getenv(kRootVariable);
  const bool isRoot = root == nullptr || strcmp(root, id.view().data()) == 0;
  if (root == nullptr) setenv(kRootVariable, id.view().data(), 1);
  id.clear();
  return isRoot;
}

}  // namespace

const Settings& settings() { return current; }

void readSettings() {
  readPath("OCTAVO_MEMTRACE_JSON", current.json);
  readPath("OCTAVO_MEMTRACE_EVENTS", current.events);
  readPath("OCTAVO_MEMTRACE_OUTPUT", current.output);
  current.top = readNumber("OCTAVO_MEMTRACE_TOP", current.top);
  current.minimumBytes = readNumber("OCTAVO_MEMTRACE_MIN_BYTES", current.minimumBytes);
  current.maximumEvents = readNumber("OCTAVO_MEMTRACE_MAX_EVENTS", current.maximumEvents);
  const uint64_t frames = readNumber("OCTAVO_MEMTRACE_FRAMES", 8);
  current.frames = frames < 1 ? 1 : frames > 32 ? 32 : static_cast<int>(frames);
  const uint64_t python = readNumber("OCTAVO_MEMTRACE_PYTHON", 0);
  current.pythonFrames = python > 32 ? 32 : static_cast<int>(python);
  current.children = readNumber("OCTAVO_MEMTRACE_CHILDREN", 1) != 0;
  current.term = readNumber("OCTAVO_MEMTRACE_TERM", 0) != 0;
  current.live = readNumber("OCTAVO_MEMTRACE_LIVE", 0) != 0;
  current.isRoot = markRoot();
  if (!current.children) stopPreloading();
}

void leaveReports() { setenv(kRootVariable, "0", 1); }

void becomeChild() { current.isRoot = false; }

bool expandPath(const char* pattern, char* path, size_t bytes) {
  Text text;
  const char* mark = strstr(pattern, "%p");
  if (mark != nullptr) text.add({pattern, static_cast<size_t>(mark - pattern)}).number(getpid()).add(mark + 2);
  else text.add(pattern);
  if (mark == nullptr && !settings().isRoot) text.add('.').number(getpid());
  const bool fits = text.size() < bytes;
  if (fits) {
    memcpy(path, text.view().data(), text.size());
    path[text.size()] = '\0';
  }
  text.clear();
  return fits;
}

}  // namespace octavo::memtrace
