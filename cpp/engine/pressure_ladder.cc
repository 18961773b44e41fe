#include "engine/pressure_ladder.h"

#include <cstdio>

#include "memory/format_bytes.h"

namespace octavo {

namespace {

constexpr double kTightFree = 0.05;  // of the memory this process may use
constexpr double kStall = 10;        // percent of the last 10 seconds
constexpr double kStallFree = 0.25;  // with more free than this the waiting is not for want of memory of ours

std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", value);
  return text;
}

}  // namespace

const char* pressureLevelName(PressureLevel level) {
  switch (level) {
    case PressureLevel::kNone: return "none";
    case PressureLevel::kTight: return "tight";
    case PressureLevel::kCritical: return "critical";
  }
  return "none";
}

PressureLevel PressureLadder::judge(const HostPressure& reading) {
  const PressureLevel rung = rungOf(reading);
  last_ = reading;
  if (rung >= level_) {
    level_ = rung;
    calm_ = 0;
  } else if (++calm_ == kCalmReadings) {
    level_ = static_cast<PressureLevel>(static_cast<int>(level_) - 1);
    calm_ = 0;
  }
  return level_;
}

PressureLevel PressureLadder::rungOf(const HostPressure& reading) {
  const HostPressure before = last_.value_or(reading);
  const auto free = static_cast<double>(reading.memory.freeBytes);
  const auto total = static_cast<double>(reading.memory.totalBytes);
  const bool known = reading.memory.totalBytes > 0;
  const auto say = [this](PressureLevel level, std::string reason) {
    reason_ = std::move(reason);
    return level;
  };
  const std::string left = percent(known ? 100 * free / total : 0) + " of " +
                           formatBytes(reading.memory.totalBytes) + " free";
  if (known && free < kCriticalFree * total) return say(PressureLevel::kCritical, left);
  if (reading.oomKills > before.oomKills) return say(PressureLevel::kCritical, "a process of the group was killed");
  if (reading.maxEvents > before.maxEvents) return say(PressureLevel::kCritical, "memory.max was met");
  const bool stallsCount = !known || free < kStallFree * total;
  if (stallsCount && reading.fullStall >= kStall) {
    return say(PressureLevel::kCritical, "all tasks waited for memory " + percent(reading.fullStall) + " of the time");
  }
  if (known && free < kTightFree * total) return say(PressureLevel::kTight, left);
  if (reading.highEvents > before.highEvents) return say(PressureLevel::kTight, "memory.high was passed");
  if (stallsCount && reading.someStall >= kStall) {
    return say(PressureLevel::kTight, "some task waited for memory " + percent(reading.someStall) + " of the time");
  }
  return PressureLevel::kNone;
}

}  // namespace octavo
