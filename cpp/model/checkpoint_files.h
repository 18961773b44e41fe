// The files of a checkpoint, opened once, read by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

class CheckpointFiles {
 public:
  /** Opens all of them for reading. Throws kIoFailed naming the file and the system's reason. */
  explicit CheckpointFiles(const std::vector<std::string>& paths);
  /** One of any length, of which nothing can be read: that of dummy weights. */
  static CheckpointFiles absent();
  ~CheckpointFiles();
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  size_t count() const { return files_.size(); }
  const std::string& path(int32_t file) const { return files_[file].path; }
  /** As it was when opened. */
  uint64_t bytes(int32_t file) const { return files_[file].bytes; }

  /** Throws kIoFailed, or kCheckpointInvalid when the file ends before the range does. */
  void read(int32_t file, uint64_t offset, void* to, size_t bytes) const;
  /** Gives the page cache of a range back to the system, which would keep it at others' cost; never fails. */
  void dropCache(int32_t file, uint64_t offset, size_t bytes) const;

 private:
  struct File {
    std::string path;
    int descriptor = -1;
    uint64_t bytes = 0;
  };
  explicit CheckpointFiles(File file) : files_{std::move(file)} {}
  void open(const std::string& path);
  void close() noexcept;
  std::vector<File> files_;
};

}  // namespace octavo
