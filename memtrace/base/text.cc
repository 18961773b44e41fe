#include "base/text.h"

#include <errno.h>
#include <unistd.h>

namespace octavo::memtrace {

Text& Text::add(std::string_view text) {
  letters_.addAll(text.data(), text.size());
  return *this;
}

Text& Text::unsignedNumber(uint64_t value) {
  char digits[20];
  size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return add({digits + at, sizeof digits - at});
}

Text& Text::number(int64_t value) {
  if (value >= 0) return unsignedNumber(static_cast<uint64_t>(value));
  return add('-').unsignedNumber(~static_cast<uint64_t>(value) + 1);
}

Text& Text::hex(uint64_t value) {
  char digits[16];
  size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return add("0x").add({digits + at, sizeof digits - at});
}

Text& Text::decimal(uint64_t scaled, int digits) {
  uint64_t unit = 1;
  for (int digit = 0; digit < digits; digit++) unit *= 10;
  unsignedNumber(scaled / unit);
  if (digits == 0) return *this;
  add('.');
  for (unit /= 10; unit > 0; unit /= 10) add(static_cast<char>('0' + scaled / unit % 10));
  return *this;
}

Text& Text::bytes(uint64_t value) {
  static constexpr std::string_view kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  if (value < 1024) return unsignedNumber(value).add(kUnits[0]);
  int unit = 1;
  while (unit < 4 && value >> (10 * (unit + 1)) != 0) unit++;
  const int shift = 10 * unit;
  const uint64_t whole = value >> shift;
  const int digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
  const uint64_t scale = digits == 0 ? 1 : digits == 1 ? 10 : 100;
  const uint64_t remainder = (value & ((uint64_t{1} << shift) - 1)) >> (shift - 10);  // in 1024ths
  return decimal(whole * scale + (remainder * scale + 512) / 1024, digits).add(kUnits[unit]);
}

Text& Text::quoted(std::string_view text) {
  add('"');
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      add('\\').add(letter);
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      add("\\u00").add("01"[letter >> 4]).add("0123456789abcdef"[letter & 15]);
    } else {
      add(letter);
    }
  }
  return add('"');
}

bool Text::writeTo(int file) const {
  std::string_view rest = view();
  while (!rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace octavo::memtrace
