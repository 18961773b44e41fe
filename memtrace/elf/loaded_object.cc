#include "elf/loaded_object.h"

namespace octavo::memtrace {

namespace {

constexpr std::string_view kDriver = "libcuda.so";
constexpr uint16_t kHiddenVersion = 0x8000;  // an old version, kept for programs linked against it

struct Search {
  std::string_view prefix;
  const ElfW(Dyn)* dynamic;
  ElfW(Addr) base;
};

int visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!fileNameOf(object->dlpi_name).starts_with(search.prefix)) return 0;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const auto& header = object->dlpi_phdr[index];
    if (header.p_type != PT_DYNAMIC) continue;
    search.base = object->dlpi_addr;
    search.dynamic = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr);
    return 1;
  }
  return 0;
}

uint32_t gnuHashOf(std::string_view name) {
  uint32_t hash = 5381;
  for (const unsigned char letter : name) hash = hash * 33 + letter;
  return hash;
}

uint32_t systemVHashOf(std::string_view name) {
  uint32_t hash = 0;
  for (const unsigned char letter : name) {
    hash = (hash << 4) + letter;
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

}  // namespace

std::string_view fileNameOf(const char* path) {
  std::string_view name = path == nullptr ? "" : path;
  name.remove_prefix(name.rfind('/') + 1);  // substr can throw, and would bring the exceptions of libstdc++ in
  return name;
}

bool isDriverFile(const char* path) { return fileNameOf(path).starts_with(kDriver); }

LoadedObject findDriver() { return LoadedObject::find(kDriver); }

LoadedObject LoadedObject::find(std::string_view prefix) {
  Search search{prefix, nullptr, 0};
  dl_iterate_phdr(visit, &search);
  LoadedObject object;
  object.dynamic_ = search.dynamic;
  object.base_ = search.base;
  if (object.found()) object.readDynamic();
  return object;
}

void LoadedObject::readDynamic() {
  for (const auto* entry = dynamic_; entry->d_tag != DT_NULL; entry++) {
    // glibc relocates these in place on x86-64 and arm64; an object it left alone holds offsets.
    const ElfW(Addr) value = entry->d_un.d_ptr;
    const ElfW(Addr) address = value < base_ ? base_ + value : value;
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: strings_ = reinterpret_cast<const char*>(address); break;
      case DT_GNU_HASH: gnuHash_ = reinterpret_cast<const uint32_t*>(address); break;
      case DT_HASH: hash_ = reinterpret_cast<const uint32_t*>(address); break;
      case DT_VERSYM: versions_ = reinterpret_cast<const uint16_t*>(address); break;
      default: break;
    }
  }
}

const char* LoadedObject::name(uint32_t symbol) const { return strings_ + symbols_[symbol].st_name; }

bool LoadedObject::matches(uint32_t symbol, std::string_view wanted) const {
  const bool isOld = versions_ != nullptr && (versions_[symbol] & kHiddenVersion) != 0;
  return symbols_[symbol].st_shndx != SHN_UNDEF && !isOld && wanted == name(symbol);
}

uint32_t LoadedObject::lookUpGnu(std::string_view wanted) const {
  const uint32_t buckets = gnuHash_[0];
  const uint32_t firstSymbol = gnuHash_[1];
  const uint32_t filterWords = gnuHash_[2];
  const auto* bucket = gnuHash_ + 4 + filterWords * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const auto* chain = bucket + buckets;
  const uint32_t hash = gnuHashOf(wanted);
  if (buckets == 0) return 0;
  uint32_t symbol = bucket[hash % buckets];
  if (symbol < firstSymbol) return 0;
  for (;; symbol++) {
    const uint32_t entry = chain[symbol - firstSymbol];  // its lowest bit ends the chain
    if ((entry | 1) == (hash | 1) && matches(symbol, wanted)) return symbol;
    if ((entry & 1) != 0) return 0;
  }
}

uint32_t LoadedObject::lookUpSystemV(std::string_view wanted) const {
  const uint32_t buckets = hash_[0];
  const auto* bucket = hash_ + 2;
  const auto* chain = bucket + buckets;
  if (buckets == 0) return 0;
  for (uint32_t symbol = bucket[systemVHashOf(wanted) % buckets]; symbol != 0; symbol = chain[symbol]) {
    if (matches(symbol, wanted)) return symbol;
  }
  return 0;
}

void* LoadedObject::symbol(std::string_view wanted) const {
  if (symbols_ == nullptr || strings_ == nullptr) return nullptr;
  const uint32_t index = gnuHash_ != nullptr ? lookUpGnu(wanted) : hash_ != nullptr ? lookUpSystemV(wanted) : 0;
  if (index == 0) return nullptr;
  return reinterpret_cast<void*>(base_ + symbols_[index].st_value);
}

}  // namespace octavo::memtrace
