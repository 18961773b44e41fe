// Numbers in sentences: as short as they can be written and still be told apart.
#pragma once

#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

namespace octavo {

/** The fewest digits that read back as the same number: "0.1", "1e-300", "inf". */
template <typename Number>
std::string numberText(Number number) {
  using Limits = std::numeric_limits<Number>;
  for (int digits = Limits::digits10;; ++digits) {
    std::ostringstream text;
    text.precision(digits);
    text << number;
    const bool same = static_cast<Number>(std::strtod(text.str().c_str(), nullptr)) == number;
    if (same || digits == Limits::max_digits10) return text.str();
  }
}

}  // namespace octavo
