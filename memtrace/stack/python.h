// Python frames of a stack: a function of a file, and the line it is at, in one word that no native address equals.
#pragma once

#include <cstdint>
#include <string_view>

#include "stack/python_api.h"
#include "trace/stack_table.h"

namespace octavo::memtrace {

/** Adds up to `maximum` Python frames of the calling thread, innermost first; none where it runs no Python. */
void capturePython(int maximum, Frames* frames);

/**
 * The same from a frame, whose reference it takes, by a thread that holds the interpreter's lock. Runs no Python code,
 * and no garbage collection that could run some.
 */
void addPythonFrames(const PythonApi& python, PythonApi::Object frame, int maximum, Frames* frames);

struct PythonFrame {
  std::string_view function;
  std::string_view file;
  uint32_t line;
};

constexpr bool isPythonFrame(uint64_t frame) { return frame >> 63 != 0; }

/** What a frame stands for. */
PythonFrame pythonFrame(uint64_t frame);

/** For the child of a fork: whatever another thread was at, the names begin anew. */
void abandonPython();

}  // namespace octavo::memtrace
