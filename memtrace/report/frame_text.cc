#include "report/frame_text.h"

#include "elf/loaded_object.h"
#include "report/symbol.h"
#include "stack/python.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

namespace {

constexpr int kPatience = 100;

void addNativeLine(Text& text, uint64_t address, bool mayAllocate) {
  const Symbol symbol = symbolAt(address);
  if (symbol.name != nullptr) {
    addName(text, symbol.name, mayAllocate);
    text.add('+').hex(symbol.offset).add("  ").add(fileNameOf(symbol.file)).add('+').hex(symbol.fileOffset);
  } else if (*symbol.file != '\0') {
    text.add(fileNameOf(symbol.file)).add('+').hex(symbol.fileOffset);
  } else {
    text.hex(address);
  }
}

void addPythonLine(Text& text, uint64_t frame) {
  const PythonFrame python = pythonFrame(frame);
  text.add(python.function).add("  ").add(python.file).add(':').number(python.line);
}

void addPythonJson(Text& text, uint64_t frame) {
  const PythonFrame python = pythonFrame(frame);
  text.add("{\"file\":").quoted(python.file).add(",\"line\":").number(python.line);
  text.add(",\"function\":").quoted(python.function).add('}');
}

void addNativeJson(Text& text, uint64_t address, bool mayAllocate) {
  const Symbol symbol = symbolAt(address);
  text.add("{\"address\":\"").hex(address).add("\",\"file\":").quoted(symbol.file);
  text.add(",\"fileOffset\":\"").hex(symbol.fileOffset).add("\",\"function\":");
  if (symbol.name == nullptr) {
    text.add("null}");
    return;
  }
  Text name;
  addName(name, symbol.name, mayAllocate);
  text.quoted(name.view()).add(",\"offset\":\"").hex(symbol.offset).add("\"}");
  name.clear();
}

}  // namespace

void addStackLines(Text& text, uint32_t stack, bool mayAllocate) {
  Frames frames;
  uint64_t allocations;
  if (!tracer().stacks.read(stack, kPatience, &frames, &allocations)) {
    text.add("       (no stack)\n");
    return;
  }
  for (int index = 0; index < frames.count; index++) {
    text.add("       ");
    if (isPythonFrame(frames.frame[index])) addPythonLine(text, frames.frame[index]);
    else addNativeLine(text, frames.frame[index], mayAllocate);
    text.add('\n');
  }
}

void addStackJson(Text& text, uint32_t stack, bool mayAllocate) {
  Frames frames;
  uint64_t allocations;
  tracer().stacks.read(stack, kPatience, &frames, &allocations);
  text.add('[');
  for (int index = 0; index < frames.count; index++) {
    if (index > 0) text.add(',');
    if (isPythonFrame(frames.frame[index])) addPythonJson(text, frames.frame[index]);
    else addNativeJson(text, frames.frame[index], mayAllocate);
  }
  text.add(']');
}

}  // namespace octavo::memtrace
