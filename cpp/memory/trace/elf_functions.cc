#include "memory/trace/elf_functions.h"

#include <algorithm>

#if defined(__linux__)
#include <elf.h>

#include <cstring>
#include <fstream>
#endif

namespace octavo {

#if defined(__linux__)

namespace {

/** `count` structures at `offset`; none when the file is shorter than that. */
template <typename Entry>
std::vector<Entry> readEntries(std::ifstream& file, uint64_t offset, uint64_t count) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (count > kMost / sizeof(Entry)) return {};
  file.seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file.tellg());
  if (!file || offset > size || count * sizeof(Entry) > size - offset) return {};
  std::vector<Entry> entries(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(entries.data()), static_cast<std::streamsize>(count * sizeof(Entry)));
  return file ? entries : std::vector<Entry>{};
}

std::vector<ElfFunction> functionsIn(const std::vector<Elf64_Sym>& symbols, const std::vector<char>& names) {
  std::vector<ElfFunction> functions;
  for (const Elf64_Sym& symbol : symbols) {
    const bool isFunction = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 0;
    if (!isFunction || symbol.st_name >= names.size()) continue;
    const char* const name = names.data() + symbol.st_name;
    functions.push_back({symbol.st_value, symbol.st_size, {name, strnlen(name, names.size() - symbol.st_name)}});
  }
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return functions;
}

}  // namespace

std::vector<ElfFunction> readElfFunctions(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::vector<Elf64_Ehdr> headers = readEntries<Elf64_Ehdr>(file, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return {};
  const Elf64_Ehdr& header = headers[0];
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const auto sections = readEntries<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    return functionsIn(readEntries<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym)),
                       readEntries<char>(file, names.sh_offset, names.sh_size));
  }
  return {};
}

#else

std::vector<ElfFunction> readElfFunctions(const std::string&) { return {}; }

#endif

}  // namespace octavo
