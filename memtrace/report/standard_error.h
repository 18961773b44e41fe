// The standard error of the process, as it was when the trace began.
#pragma once

namespace octavo::memtrace {

/** Keeps a descriptor of its own: many programs close theirs before they end. */
void keepStandardError();

/** A descriptor for reports; -1 when what is open now under the kept numbers is another file. */
int standardError();

}  // namespace octavo::memtrace
