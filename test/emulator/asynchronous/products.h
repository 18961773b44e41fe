// wgmma: issued by a warpgroup, done at a moment of the machine's choice between commit and wait.
#pragma once

#include "asynchronous/pending.h"

namespace octavo::emulator {

void fenceProducts();
/** `sums`: this thread's, columns / 2 of them; `left`: its four registers of the left side, or null. */
void issueProduct(const Product& product, void* sums, const uint32_t* left);
void commitProducts();
void waitProducts(int pending);

}  // namespace octavo::emulator
