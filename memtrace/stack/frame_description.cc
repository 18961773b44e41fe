#include "stack/frame_description.h"

#include <link.h>

#include "stack/byte_reader.h"

namespace octavo::memtrace {

namespace {

constexpr uint8_t kSortedTable = 0x3b;  // pairs of 32-bit offsets from .eh_frame_hdr: what every linker writes

struct Search {
  uint64_t address;
  const uint8_t* header = nullptr;
};

int visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool contains = false;
  const uint8_t* header = nullptr;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const auto& segment = object->dlpi_phdr[index];
    const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) contains |= search.address - begin < segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) header = reinterpret_cast<const uint8_t*>(begin);
  }
  if (contains) search.header = header;
  return contains ? 1 : 0;
}

struct TableRow {
  int32_t function;
  int32_t entry;
};

/** The entry of the last function that begins at or before `address`; nullptr when there is none. */
const uint8_t* findEntry(const uint8_t* header, uint64_t address) {
  if (header == nullptr || header[0] != 1 || header[3] != kSortedTable) return nullptr;
  ByteReader reader(header + 4, header + 64);
  reader.encodedNumber(header[1] & 0x0f);  // .eh_frame itself
  const uint64_t count = reader.encodedNumber(header[2] & 0x0f);
  const auto* rows = reinterpret_cast<const TableRow*>(reader.position());
  const auto offset = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(header));
  if (reader.failed() || count == 0 || rows[0].function > offset) return nullptr;
  uint64_t low = 0;
  for (uint64_t high = count; high - low > 1;) {
    const uint64_t middle = (low + high) / 2;
    if (rows[middle].function <= offset) low = middle;
    else high = middle;
  }
  return header + rows[low].entry;
}

/** A reader over the body of the entry at `at`, after its length. */
ByteReader bodyOf(const uint8_t* at) {
  uint32_t length;
  std::memcpy(&length, at, sizeof length);
  const bool isLong = length == 0xffffffff;  // 64-bit entries are not written by anyone
  return {at + 4, at + 4 + (isLong ? 0 : length)};
}

bool readCommon(const uint8_t* at, FrameDescription* description) {
  ByteReader reader = bodyOf(at);
  reader.skip(4);
  const auto version = reader.number<uint8_t>();
  const char* augmentation = reader.text();
  description->codeAlignment = reader.uleb();
  description->dataAlignment = reader.sleb();
  description->returnRegister = version == 1 ? reader.number<uint8_t>() : reader.uleb();
  description->pointerEncoding = 0;
  description->isSignalFrame = false;
  if (*augmentation != 'z') return false;  // then .eh_frame has neither encoding nor a length to skip by
  const uint64_t length = reader.uleb();
  ByteReader data(reader.position(), reader.position() + length);
  reader.skip(length);
  for (const char* letter = augmentation + 1; *letter != '\0'; letter++) {
    switch (*letter) {
      case 'R': description->pointerEncoding = data.number<uint8_t>(); break;
      case 'P': data.encodedNumber(data.number<uint8_t>() & 0x0f); break;
      case 'L': data.skip(1); break;
      case 'S': description->isSignalFrame = true; break;
      case 'B': case 'G': break;  // arm64: keys of signed return addresses, tagged stacks
      default: return false;
    }
  }
  description->commonProgram = reader.position();
  description->commonEnd = reader.end();
  return !reader.failed() && !data.failed() && (version == 1 || version == 3);
}

}  // namespace

bool describeFrame(uint64_t address, FrameDescription* description) {
  Search search{address};
  dl_iterate_phdr(visit, &search);
  const uint8_t* entry = findEntry(search.header, address);
  if (entry == nullptr) return false;
  ByteReader reader = bodyOf(entry);
  const uint8_t* place = reader.position();
  const auto distance = reader.number<uint32_t>();
  if (reader.failed() || !readCommon(place - distance, description)) return false;
  description->begin = reader.pointer(description->pointerEncoding);
  const uint64_t length = reader.encodedNumber(description->pointerEncoding & 0x0f);
  reader.skip(reader.uleb());
  description->program = reader.position();
  description->programEnd = reader.end();
  return !reader.failed() && address - description->begin < length;
}

}  // namespace octavo::memtrace
