#pragma once

#include "report/snapshot.h"

namespace octavo::memtrace {

/** The report as people read it. */
void addTextReport(Text& text, const Snapshot& snapshot);

}  // namespace octavo::memtrace
