#include "memory/trace/spill_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace octavo {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::kIoFailed, "the trace cannot be written to " + path + ": " + reason +
                                        "; name a file that can be made (memory.trace.spill)");
}

/** An empty regular file. A pipe is not waited for, and nothing is emptied before it is known to be one. */
std::FILE* makeFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) refuse(path, errno == ENXIO ? "it is not a regular file" : std::strerror(errno));
  struct stat status = {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  std::FILE* const file = regular && ::ftruncate(descriptor, 0) == 0 ? ::fdopen(descriptor, "wb") : nullptr;
  if (file) return file;
  const int code = errno;
  ::close(descriptor);
  refuse(path, known && !regular ? "it is not a regular file" : std::strerror(code));
}

}  // namespace

void SpillFile::open(const std::string& path, uint64_t limitBytes) {
  close();
  file_ = makeFile(path);
  limitBytes_ = limitBytes;
  report_ = {path, 0, 0, 0, ""};
}

void SpillFile::write(std::string_view line) noexcept {
  if (!file_) {
    report_.dropped += !report_.problem.empty();
    return;
  }
  if (report_.bytes + line.size() + 1 > limitBytes_) {
    ++report_.dropped;
    try {
      report_.problem = "the trace in " + report_.path + " has reached its bound of " +
                        std::to_string(limitBytes_) + " bytes and stopped; raise memory.trace.spill.maxBytes";
    } catch (const std::exception&) {
      report_.problem.assign("bound");  // fits without taking memory
    }
    close();
    return;
  }
  const bool written = std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fputc('\n', file_) != EOF;
  if (!written) return fail("written", errno);
  report_.bytes += line.size() + 1;
  ++report_.lines;
}

void SpillFile::flush() noexcept {
  if (file_ && std::fflush(file_) != 0) fail("written", errno);
}

void SpillFile::close() noexcept {
  if (!file_) return;
  std::FILE* const file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0 && report_.problem.empty()) fail("closed", errno);
}

void SpillFile::fail(const char* doing, int code) noexcept {
  ++report_.dropped;
  try {
    report_.problem = "the trace in " + report_.path + " could not be " + doing + " after " +
                      std::to_string(report_.bytes) + " bytes: " + std::strerror(code) +
                      "; free room on that disk, or name another file (memory.trace.spill)";
  } catch (const std::exception&) {
    report_.problem.assign("disk");
  }
  close();
}

}  // namespace octavo
