// Whether devices map pages of memory singly, or take every range of addresses whole.
#pragma once

namespace octavo {

/**
 * True unless the environment says OCTAVO_PAGE_MAPPING=off, or a test said so: then ranges are taken as where the
 * driver has no virtual memory calls (cudaMalloc). Read when a range is reserved. Thread-safe.
 */
bool isPageMappingAllowed();

/** For tests: of ranges reserved from now on. */
void allowPageMapping(bool allowed);

}  // namespace octavo
