#include "model/mapped_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace octavo {

MappedFiles::MappedFiles(const std::vector<std::string>& paths) {
  files_.reserve(paths.size());
  try {
    for (const std::string& path : paths) map(path);
  } catch (...) {
    release();
    throw;
  }
}

MappedFiles& MappedFiles::operator=(MappedFiles&& other) noexcept {
  if (this == &other) return *this;
  release();
  files_ = std::move(other.files_);
  other.files_.clear();
  return *this;
}

void MappedFiles::map(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  const bool opened = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
  const auto bytes = opened ? static_cast<size_t>(status.st_size) : 0;
  void* const data = opened ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);  // the mapping keeps the file
  if (data == MAP_FAILED) {
    throw Error(ErrorCode::kIoFailed, "cannot map " + path + ": " + std::strerror(reason));
  }
  files_.push_back({path, data, bytes});
}

void MappedFiles::release() noexcept {
  for (const File& file : files_) ::munmap(file.data, file.bytes);
  files_.clear();
}

uint64_t MappedFiles::residentBytes() const {
  const auto pageBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kPagesAtOnce = 1 << 16;
  std::vector<unsigned char> states(kPagesAtOnce);
  uint64_t resident = 0;
  for (const File& file : files_) {
    for (uint64_t start = 0; start < file.bytes; start += kPagesAtOnce * pageBytes) {
      const uint64_t bytes = std::min(file.bytes - start, kPagesAtOnce * pageBytes);
      if (::mincore(static_cast<char*>(file.data) + start, bytes, states.data()) != 0) return 0;
      for (uint64_t at = 0; at < bytes; at += pageBytes) {
        if (states[at / pageBytes] & 1) resident += std::min(bytes - at, pageBytes);
      }
    }
  }
  return resident;
}

const void* MappedFiles::at(int32_t index, uint64_t offset, uint64_t bytes) const {
  const File& file = files_[index];
  if (offset > file.bytes || bytes > file.bytes - offset) {
    throw Error(ErrorCode::kCheckpointInvalid,
                file.path + " has " + std::to_string(file.bytes) + " bytes, a tensor needs those up to " +
                    std::to_string(offset + bytes) + ": it shrank since it was checked; copy it again");
  }
  return static_cast<const char*>(file.data) + offset;
}

}  // namespace octavo
