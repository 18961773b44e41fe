#pragma once

#include "report/snapshot.h"

namespace octavo::memtrace {

/** The report as one JSON object; docs/memtrace.md describes it. */
void addJsonReport(Text& text, const Snapshot& snapshot);

}  // namespace octavo::memtrace
