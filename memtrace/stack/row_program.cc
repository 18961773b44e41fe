// Runs the call frame instructions of DWARF 4, section 6.4.2, as far as the row of one address, and keeps of it what a
// walk needs: the CFA, the return address, the frame pointer.
#include "stack/row_program.h"

#include "stack/byte_reader.h"
#include "stack/frame_description.h"
#include "stack/registers.h"

namespace octavo::memtrace {

namespace {

/** Where a register of the caller is found. */
struct Rule {
  enum Kind : uint8_t { kUnset, kOffset, kUndefined, kOther };
  Kind kind = kUnset;
  int64_t offset = 0;
};

struct State {
  uint64_t cfaRegister = 0;
  int64_t cfaOffset = 0;
  bool cfaIsExpression = false;
  Rule framePointer;
  Rule returnAddress;
};

class Program {
 public:
  Program(const FrameDescription& description, uint64_t address) : description_(description), address_(address) {}

  /** False when an instruction is unknown or the table is broken. */
  bool run() {
    location_ = description_.begin;
    if (!execute(description_.commonProgram, description_.commonEnd)) return false;
    initial_ = state_;
    return execute(description_.program, description_.programEnd);
  }

  const State& state() const { return state_; }

 private:
  static constexpr int kRemembered = 16;

  bool execute(const uint8_t* begin, const uint8_t* end);
  bool executeExtended(uint8_t code, ByteReader& reader);
  bool defineCfa(uint8_t code, ByteReader& reader);

  void set(uint64_t number, Rule rule) {
    if (number == kFramePointer) state_.framePointer = rule;
    if (number == description_.returnRegister) state_.returnAddress = rule;
  }
  void restore(uint64_t number) {
    if (number == kFramePointer) state_.framePointer = initial_.framePointer;
    if (number == description_.returnRegister) state_.returnAddress = initial_.returnAddress;
  }
  Rule atOffset(int64_t factored) const { return {Rule::kOffset, factored * description_.dataAlignment}; }
  void advance(uint64_t delta) { location_ += delta * description_.codeAlignment; }

  const FrameDescription& description_;
  const uint64_t address_;
  uint64_t location_ = 0;
  State state_;
  State initial_;
  State remembered_[kRemembered];
  int depth_ = 0;
};

bool Program::execute(const uint8_t* begin, const uint8_t* end) {
  ByteReader reader(begin, end);
  while (!reader.done() && location_ <= address_) {
    const auto code = reader.number<uint8_t>();
    const uint8_t low = code & 0x3f;
    bool known = true;
    switch (code >> 6) {
      case 1: advance(low); break;
      case 2: set(low, atOffset(static_cast<int64_t>(reader.uleb()))); break;
      case 3: restore(low); break;
      default: known = executeExtended(code, reader);
    }
    if (!known || reader.failed()) return false;
  }
  return true;
}

bool Program::executeExtended(uint8_t code, ByteReader& reader) {
  const auto number = [&] { return reader.uleb(); };
  switch (code) {
    case 0x00: return true;  // nop
    case 0x01: location_ = reader.pointer(description_.pointerEncoding); return true;
    case 0x02: advance(reader.number<uint8_t>()); return true;
    case 0x03: advance(reader.number<uint16_t>()); return true;
    case 0x04: advance(reader.number<uint32_t>()); return true;
    case 0x05: { const auto at = number(); set(at, atOffset(static_cast<int64_t>(number()))); return true; }
    case 0x06: restore(number()); return true;
    case 0x07: set(number(), {Rule::kUndefined, 0}); return true;
    case 0x08: set(number(), {Rule::kUnset, 0}); return true;
    case 0x09: set(number(), {Rule::kOther, 0}); number(); return true;
    case 0x0a:
      if (depth_ == kRemembered) return false;
      remembered_[depth_++] = state_;
      return true;
    case 0x0b:
      if (depth_ == 0) return false;
      state_ = remembered_[--depth_];
      return true;
    case 0x10: case 0x16: set(number(), {Rule::kOther, 0}); reader.skip(number()); return true;
    case 0x11: { const auto at = number(); set(at, atOffset(reader.sleb())); return true; }
    case 0x14: case 0x15: set(number(), {Rule::kOther, 0}); reader.uleb(); return true;
    case 0x2c: case 0x2d: return true;  // arm64: the return address is signed from here on; the walk strips it
    case 0x2e: number(); return true;   // size of arguments
    case 0x2f: { const auto at = number(); set(at, atOffset(-static_cast<int64_t>(number()))); return true; }
    default: return defineCfa(code, reader);
  }
}

bool Program::defineCfa(uint8_t code, ByteReader& reader) {
  if (code == 0x0f) {
    state_.cfaIsExpression = true;
    reader.skip(reader.uleb());
    return true;
  }
  if (code == 0x0c || code == 0x0d || code == 0x12) {
    state_.cfaRegister = reader.uleb();
    state_.cfaIsExpression = false;
  }
  switch (code) {
    case 0x0c: case 0x0e: state_.cfaOffset = static_cast<int64_t>(reader.uleb()); return true;
    case 0x12: case 0x13: state_.cfaOffset = reader.sleb() * description_.dataAlignment; return true;
    default: return code == 0x0d;
  }
}

}  // namespace

UnwindRow computeRow(uint64_t returnAddress) {
  FrameDescription description;
  if (!describeFrame(returnAddress - 1, &description) || description.isSignalFrame) return {};
  Program program(description, returnAddress - 1);
  if (!program.run()) return {};
  const State& state = program.state();
  if (state.returnAddress.kind == Rule::kUndefined) return {UnwindRow::Kind::kEnd};
  const bool fromFramePointer = state.cfaRegister == kFramePointer;
  const bool isPlain = !state.cfaIsExpression && (fromFramePointer || state.cfaRegister == kStackPointer) &&
                       state.returnAddress.kind == Rule::kOffset && state.framePointer.kind != Rule::kOther;
  if (!isPlain) return {};
  const bool isSaved = state.framePointer.kind == Rule::kOffset;
  return {UnwindRow::Kind::kStep, fromFramePointer, state.cfaOffset,
          isSaved ? state.framePointer.offset : UnwindRow::kUnsaved, state.returnAddress.offset};
}

}  // namespace octavo::memtrace
