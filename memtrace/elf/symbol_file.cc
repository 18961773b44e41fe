#include "elf/symbol_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace octavo::memtrace {

namespace {

/** Whether `count` things of `size` from `offset` on lie in a file of so many bytes. */
bool isInside(uint64_t offset, uint64_t count, uint64_t size, size_t bytes) {
  return offset <= bytes && count <= (bytes - offset) / size;
}

}  // namespace

SymbolFile SymbolFile::open(const char* path) {
  SymbolFile symbols;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<size_t>(status.st_size);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    const bool isMapped = mapped != MAP_FAILED;
    if (isMapped && !symbols.readSections(static_cast<const uint8_t*>(mapped), bytes)) munmap(mapped, bytes);
  }
  if (file >= 0) close(file);
  return symbols;
}

bool SymbolFile::readSections(const uint8_t* file, size_t bytes) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file);
  if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  if (!isInside(header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr), bytes)) return false;
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file + header->e_shoff);
  for (int index = 0; index < header->e_shnum; index++) {
    const auto& table = sections[index];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) continue;
    const auto& strings = sections[table.sh_link];
    if (!isInside(table.sh_offset, table.sh_size, 1, bytes)) return false;
    if (!isInside(strings.sh_offset, strings.sh_size, 1, bytes)) return false;
    symbols_ = reinterpret_cast<const Elf64_Sym*>(file + table.sh_offset);
    count_ = table.sh_size / sizeof(Elf64_Sym);
    strings_ = reinterpret_cast<const char*>(file + strings.sh_offset);
    stringBytes_ = strings.sh_size;
    isFixed_ = header->e_type == ET_EXEC;
    return true;
  }
  return false;
}

SymbolFile::Found SymbolFile::find(uint64_t address, uint64_t base) const {
  const uint64_t value = isFixed_ ? address : address - base;
  for (size_t index = 0; index < count_; index++) {
    const auto& symbol = symbols_[index];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (value - symbol.st_value >= symbol.st_size || symbol.st_name >= stringBytes_) continue;
    return {strings_ + symbol.st_name, value - symbol.st_value};
  }
  return {nullptr, 0};
}

}  // namespace octavo::memtrace
