#include "memory/trace/spill_file.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace octavo {

void SpillFile::open(const std::string& path, uint64_t limitBytes) {
  close();
  file_ = std::fopen(path.c_str(), "wb");
  if (!file_) {
    const int code = errno;
    throw Error(ErrorCode::kIoFailed, "the trace cannot be written to " + path + ": " + std::strerror(code) +
                                          "; name a file that can be made (memory.trace.spill)");
  }
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
