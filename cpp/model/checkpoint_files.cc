#include "model/checkpoint_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

[[noreturn]] void failed(const std::string& path, const std::string& action, const std::string& reason) {
  throw Error(ErrorCode::kIoFailed, "cannot " + action + " " + path + ": " + reason);
}

}  // namespace

CheckpointFiles::CheckpointFiles(const std::vector<std::string>& paths) {
  files_.reserve(paths.size());
  try {
    for (const std::string& path : paths) open(path);
  } catch (...) {
    close();
    throw;
  }
}

CheckpointFiles CheckpointFiles::absent() {
  return CheckpointFiles(File{"dummy weights", -1, std::numeric_limits<uint64_t>::max()});
}

CheckpointFiles::~CheckpointFiles() { close(); }

void CheckpointFiles::open(const std::string& path) {
  files_.push_back({path, -1, 0});
  File& file = files_.back();
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hang us
  if (file.descriptor < 0) failed(path, "open", std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.descriptor, &status) != 0) failed(path, "examine", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) failed(path, "read", "it is not a regular file");
  file.bytes = static_cast<uint64_t>(status.st_size);
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

void CheckpointFiles::close() noexcept {
  for (File& file : files_) {
    if (file.descriptor >= 0) ::close(file.descriptor);
    file.descriptor = -1;
  }
}

void CheckpointFiles::read(int32_t file, uint64_t offset, void* to, size_t bytes) const {
  constexpr size_t kMost = size_t{1} << 30;  // one system call; Linux stops at 2 GiB less a page
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(files_[file].descriptor, at, std::min(bytes, kMost), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failed(path(file), "read", std::strerror(errno));
    if (got == 0) {
      throw Error(ErrorCode::kCheckpointInvalid,
                  path(file) + " ends at byte " + std::to_string(offset) + ", had " +
                      std::to_string(files_[file].bytes) +
                      " when it was opened: it shrank while it was read; copy it again");
    }
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

void CheckpointFiles::dropCache([[maybe_unused]] int32_t file, [[maybe_unused]] uint64_t offset,
                                [[maybe_unused]] size_t bytes) const {
#ifdef POSIX_FADV_DONTNEED
  ::posix_fadvise(files_[file].descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_DONTNEED);
#endif
}

}  // namespace octavo
