// From readings of the host's memory to what the engine does about them. Pure: no files, no clock, no threads.
#pragma once

#include <optional>
#include <string>

#include "device/host_pressure.h"

namespace octavo {

enum class PressureLevel { kNone, kTight, kCritical };
const char* pressureLevelName(PressureLevel level);  // "none" "tight" "critical"

/**
 * Climbs at once, descends one rung after `kCalmReadings` readings without a reason to stay. Reasons:
 *   tight     less than 5 % free, memory.high was passed since the last reading, or some task waited for memory 10 %
 *             of the last 10 seconds
 *   critical  less than 2 % free, memory.max was met or a process was killed since the last reading, or all tasks
 *             waited 10 % of the time
 * Waiting counts while less than a quarter is free: with more, others wait behind limits of their own.
 */
class PressureLadder {
 public:
  static constexpr int kCalmReadings = 3;
  static constexpr double kCriticalFree = 0.02;  // of the memory this process may use

  /** Takes the next reading in. The first one sets what counters are compared with. */
  PressureLevel judge(const HostPressure& reading);
  PressureLevel level() const { return level_; }
  /** Of the last reading that was not calm: "1.20 % of 512 MiB free". */
  const std::string& reason() const { return reason_; }

 private:
  PressureLevel rungOf(const HostPressure& reading);

  std::optional<HostPressure> last_;
  PressureLevel level_ = PressureLevel::kNone;
  int calm_ = 0;
  std::string reason_;
};

}  // namespace octavo
