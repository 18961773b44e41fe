// Checkpoint files as addresses: their bytes are page cache, which the kernel reads in and gives back on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

/** Read-only, shared mappings. A file that is cut short while it is mapped must not be read through them. */
class MappedFiles {
 public:
  MappedFiles() = default;
  /** Throws kIoFailed naming the file and the system's reason. */
  explicit MappedFiles(const std::vector<std::string>& paths);
  ~MappedFiles() { release(); }
  MappedFiles(MappedFiles&& other) noexcept : files_(std::move(other.files_)) { other.files_.clear(); }
  MappedFiles& operator=(MappedFiles&& other) noexcept;

  /** `bytes` from `offset` on must lie in the file: checked against what it had when it was mapped. */
  const void* at(int32_t file, uint64_t offset, uint64_t bytes) const;
  /** Bytes of all files that are in memory now, whoever read them in; 0 where the system does not tell. O(pages). */
  uint64_t residentBytes() const;

 private:
  struct File {
    std::string path;
    void* data = nullptr;
    uint64_t bytes = 0;
  };
  void map(const std::string& path);
  void release() noexcept;
  std::vector<File> files_;
};

}  // namespace octavo
