// Events on disk, one JSON object a line, for runs longer than the ring.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace octavo {

struct SpillReport {
  std::string path;        // empty: no file
  uint64_t bytes = 0;      // handed to the system
  uint64_t lines = 0;
  uint64_t dropped = 0;    // lines that came after the file was full or failed
  std::string problem;     // why it stopped: a sentence; empty while it goes on
};

/**
 * A bounded file. Not thread-safe. After it was opened nothing throws: a full disk or the bound stops the file,
 * not the process, and `report` says so.
 */
class SpillFile {
 public:
  SpillFile() = default;
  ~SpillFile() { close(); }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /** Makes the file anew; it will hold at most `limitBytes`. Throws kIoFailed. */
  void open(const std::string& path, uint64_t limitBytes);
  /** True from the first `open` on, also after the file has stopped. */
  bool isUsed() const { return !report_.path.empty(); }
  /** Adds the line and an end of line. */
  void write(std::string_view line) noexcept;
  /** What was written so far can be read by others after this. */
  void flush() noexcept;
  void close() noexcept;
  /** Closes and forgets the file. */
  void reset() noexcept {
    close();
    report_ = {};
  }
  const SpillReport& report() const { return report_; }

 private:
  void fail(const char* doing, int code) noexcept;

  std::FILE* file_ = nullptr;
  uint64_t limitBytes_ = 0;
  SpillReport report_;
};

}  // namespace octavo
