#include "memory/trace/event_json.h"

#include <cinttypes>
#include <cstdio>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace octavo {

namespace {

std::string quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    char escaped[8];
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
      quoted += escaped;
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

std::string place(uintptr_t address) {
  std::string module;
  uintptr_t offset = address;
#if !defined(_WIN32)
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_fname) {
    const std::string path = info.dli_fname;
    module = path.substr(path.find_last_of('/') + 1);
    offset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
  }
#endif
  char number[32];
  std::snprintf(number, sizeof number, "+0x%" PRIxPTR, offset);
  return module + number;
}

const std::string& nameOf(TagId tag, const std::vector<std::string>& tags) { return tags[tag < tags.size() ? tag : 0]; }

}  // namespace

std::string headerLine() { return R"({"format":"octavo-memory-events","version":1})"; }

std::string stackLine(StackId id, const StackFrames& frames) {
  std::string line = "{\"stack\":" + std::to_string(id) + ",\"frames\":[";
  for (int index = 0; index < kStackFrames && frames[index] != 0; ++index) {
    line += (index > 0 ? "," : "") + quoted(place(frames[index] - 1));
  }
  return line + "]}";
}

std::string eventLine(const TraceEvent& event, const std::vector<std::string>& tags) {
  char numbers[320];
  std::snprintf(numbers, sizeof numbers,
                "{\"sequence\":%" PRIu64 ",\"timeNs\":%" PRId64 ",\"operation\":\"%s\",\"region\":\"%s\","
                "\"address\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"owner\":{\"kind\":\"%s\",\"id\":%" PRIu64 "},"
                "\"thread\":%u,\"stack\":%u,\"tag\":",
                event.sequence, event.timeNanoseconds, traceOperationName(event.operation), regionName(event.region),
                event.address, event.bytes, ownerKindName(event.owner.kind), event.owner.id, event.thread, event.stack);
  std::string line = numbers;
  line += event.tag == 0 ? "null" : quoted(nameOf(event.tag, tags));
  if (event.operation == TraceOperation::kTransferred || event.fromTag != 0) {
    line += std::string(",\"from\":{\"kind\":\"") + ownerKindName(event.from.kind) +
            "\",\"id\":" + std::to_string(event.from.id) + "},\"fromTag\":" + quoted(nameOf(event.fromTag, tags));
  }
  return line + '}';
}

}  // namespace octavo
