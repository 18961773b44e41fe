// Where the time of a run goes: OCTAVO_EMULATED_TIMES=1 prints a line a kernel when the process ends.
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** The seconds of this thread's processor from here to the end of the scope count for `kernel`. */
class Timed {
 public:
  explicit Timed(const char* kernel);
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed();

 private:
  const char* kernel_;
  double since_ = 0;
};

}  // namespace octavo::emulator
