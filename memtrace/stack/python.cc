#include "stack/python.h"

#include <new>

#include "base/hash_map.h"
#include "base/list.h"
#include "base/spin_lock.h"
#include "stack/python_reader.h"

namespace octavo::memtrace {

namespace {

constexpr int kLineBits = 24;
constexpr uint64_t kPythonMark = uint64_t{1} << 63;

/** One code object: it is kept alive from here on, so its address stays its own. */
struct Code {
  size_t function;
  size_t functionLength;
  size_t file;
  size_t fileLength;
};

constinit SpinLock lock;
constinit HashMap<uint32_t> known;
constinit List<Code> codes;
constinit List<char> names;

bool findKnown(PythonApi::Object code, uint32_t* number) {
  const Hold hold(lock);
  const uint32_t* found = known.find(reinterpret_cast<uintptr_t>(code));
  if (found != nullptr) *number = *found;
  return found != nullptr;
}

std::string_view textOf(const PythonApi& python, PythonApi::Object text) {
  ptrdiff_t length = 0;
  const char* letters = text == nullptr ? nullptr : python.utf8(text, &length);
  return letters == nullptr ? std::string_view("?") : std::string_view(letters, static_cast<size_t>(length));
}

/** Copies the names of a code object; false when there is no memory. */
bool remember(PythonApi::Object code, std::string_view function, std::string_view file, uint32_t* number) {
  const Hold hold(lock);
  *number = static_cast<uint32_t>(codes.size());
  const Code entry{names.size(), function.size(), names.size() + function.size(), file.size()};
  return names.addAll(function.data(), function.size()) && names.addAll(file.data(), file.size()) &&
         codes.add(entry) && known.put(reinterpret_cast<uintptr_t>(code), *number) != nullptr;
}

bool learn(const PythonApi& python, PythonApi::Object code, uint32_t* number) {
  PythonApi::Object function = python.attribute(code, "co_qualname");  // from 3.11 on
  if (function == nullptr) function = python.attribute(code, "co_name");
  PythonApi::Object file = python.attribute(code, "co_filename");
  const bool done = remember(code, textOf(python, function), textOf(python, file), number);
  if (done) python.increment(code);
  if (function != nullptr) python.decrement(function);
  if (file != nullptr) python.decrement(file);
  return done;
}

/** The error indicator and the collector are as they were when this ends. */
class Undisturbed {
 public:
  explicit Undisturbed(const PythonApi& python) : python_(python), collected_(python.disableCollection() != 0) {
    python_.takeError(&type_, &value_, &trace_);
  }
  ~Undisturbed() {
    python_.giveError(type_, value_, trace_);
    if (collected_) python_.enableCollection();
  }

 private:
  const PythonApi& python_;
  const bool collected_;
  PythonApi::Object type_ = nullptr;
  PythonApi::Object value_ = nullptr;
  PythonApi::Object trace_ = nullptr;
};

void addFrame(const PythonApi& python, PythonApi::Object frame, Frames* frames) {
  PythonApi::Object code = python.frameCode(frame);
  const auto line = static_cast<uint64_t>(python.frameLine(frame)) & ((1u << kLineBits) - 1);
  uint32_t number;
  if (findKnown(code, &number) || learn(python, code, &number)) {
    frames->add(kPythonMark | uint64_t{number} << kLineBits | line);
  }
  python.decrement(code);
}

}  // namespace

void addPythonFrames(const PythonApi& python, PythonApi::Object frame, int maximum, Frames* frames) {
  const Undisturbed undisturbed(python);
  for (int count = 0; frame != nullptr && count < maximum; count++) {
    addFrame(python, frame, frames);
    PythonApi::Object back = python.frameBack(frame);
    python.decrement(frame);
    frame = back;
  }
  if (frame != nullptr) python.decrement(frame);
}

void capturePython(int maximum, Frames* frames) {
  const PythonApi* python = pythonApi();
  void* thread = python == nullptr ? nullptr : python->thisThread();
  if (thread == nullptr) return;
  if (thread == python->currentThread()) addPythonFrames(*python, python->threadFrame(thread), maximum, frames);
  else readPythonFrames(*python, thread, maximum, frames);
}

void abandonPython() {
  new (&lock) SpinLock();
  known = {};
  codes = {};
  names = {};
  restartPythonReader();
}

PythonFrame pythonFrame(uint64_t frame) {
  const Hold hold(lock, 100);
  const uint64_t number = (frame & ~kPythonMark) >> kLineBits;
  const auto line = static_cast<uint32_t>(frame & ((1u << kLineBits) - 1));
  if (!hold.held() || number >= codes.size()) return {"?", "?", line};
  const Code& code = codes[number];
  return {{&names[code.function], code.functionLength}, {&names[code.file], code.fileLength}, line};
}

}  // namespace octavo::memtrace
