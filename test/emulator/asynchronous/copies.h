// Copies that threads start and do not make themselves: cp.async and the bulk copies of sm_90. They read and write at
// the last moment that the ISA allows, or at one of the machine's choice.
#pragma once

#include <cstdint>

#include "asynchronous/tensor_map.h"

namespace octavo::emulator {

void copyAsync(uint32_t to, const void* from, int bytes);
void commitCopies();
void waitCopies(int pending);
/** cp.async.mbarrier.arrive.noinc. */
void arriveAfterCopies(uint32_t barrier);

void loadBytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier);
void loadBox(uint32_t to, const void* map, uint32_t barrier, std::initializer_list<int> at);
/** To the same place of every block of the mask. */
void loadBoxShared(uint32_t to, const void* map, uint32_t barrier, std::initializer_list<int> at, uint16_t mask);
void storeBox(const void* map, uint32_t from, std::initializer_list<int> at);
void commitStores();
void waitStoresRead(int pending);

}  // namespace octavo::emulator
