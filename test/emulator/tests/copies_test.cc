// What the emulator promises of barriers in shared memory and of copies. Ends with 1 when a promise is broken.
#include <cuda.h>

#include <vector>

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "runtime/tensor_map.h"
#include "tests/promise.h"

namespace octavo::emulator {
namespace {

namespace ptx = octavo::cuda::ptx;

constexpr uint32_t kBarrier = 1024, kTile = 2048;  // addresses; dynamic memory begins with 1024

template <class T>
T& at(uint32_t address) {
  return *reinterpret_cast<T*>(sharedPointer(address));
}

void barriersHavePhases() {
  int order = 0;
  const std::string failure = launch(2, 96, [&] {
    if (self().number == 0) ptx::initBarrier(kBarrier, 64);
    namedBarrier(0, 0, true);
    ptx::waitBarrier(kBarrier, 1);  // as fresh
    namedBarrier(0, 0, true);
    for (uint32_t phase = 0; phase < 4; ++phase) {
      if (self().number >= 32) ptx::arrive(kBarrier);
      ptx::waitBarrier(kBarrier, phase & 1);
      if (self().number == 40) ++order;
      namedBarrier(0, 0, true);
    }
  });
  expect("a phase ends with its arrivals", failure.empty() && order == 8);
  const auto init = [](uint32_t count) {
    if (self().number == 0) ptx::initBarrier(kBarrier, count);
    namedBarrier(0, 0, true);
  };
  expect("bytes that do not come are waited for", contains(launch(1, 32, [&] {
    init(1);
    if (self().number == 0) ptx::arriveExpecting(kBarrier, 16);
    ptx::waitBarrier(kBarrier, 0);
  }), "mbarrier at 0x400 to end a phase of parity 0"));
  expect("an arrival too many is a fault", contains(launch(1, 32, [&] {
    init(1);
    if (self().number == 0) ptx::arriveExpecting(kBarrier, 16);
    if (self().number == 0) ptx::arrive(kBarrier);
  }), "whose 1 arrivals of the phase have come"));
  expect("a copy to a barrier that was overwritten is a fault", contains(launch(1, 32, [&] {
    static const uint4 from{};
    init(1);
    if (self().number == 0) ptx::loadBytes(kTile, &from, 16u, kBarrier);
    if (self().number == 0) at<uint64_t>(kBarrier) = 0;
    namedBarrier(0, 0, true);
  }), "completes on an mbarrier that was overwritten"));
  expect("a barrier that was not initialised is a fault", contains(launch(1, 32, [&] {
    ptx::arrive(kBarrier);
  }), "no initialised mbarrier"));
}

void asynchronousCopiesComeLate() {
  alignas(16) uint32_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  bool late = true, right = true;
  const std::string failure = launch(1, 1, [&] {
    ptx::copyAsync(kTile, from, 12);
    ptx::commitCopies();
    ptx::copyAsync(kTile + 16, from + 4);
    ptx::commitCopies();
    late = late && at<uint32_t>(kTile) == 0xffffffff;
    ptx::waitCopies<1>();
    right = right && at<uint32_t>(kTile + 8) == 3 && at<uint32_t>(kTile + 12) == 0;
    late = late && at<uint32_t>(kTile + 16) == 0xffffffff;
    ptx::initBarrier(kBarrier, 1);
    ptx::arriveAfterCopies(kBarrier);
    ptx::waitBarrier(kBarrier, 0);
    right = right && at<uint32_t>(kTile + 28) == 8;
  });
  expect("cp.async writes when it is waited for", failure.empty() && late && right);
}

CUtensorMap mapOf(std::vector<uint16_t>& data, cuuint64_t columns, cuuint64_t rows, cuuint32_t boxRows) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {columns, rows}, strides[] = {data.size() / rows * 2};
  const cuuint32_t box[] = {64, boxRows}, steps[] = {1, 1};
  if (encodeTensorMap(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data.data(), sizes, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    expect("a tensor map is made", false);
  }
  return map;
}

/** Where element (row, column) of a tile of 128-byte rows lies. */
uint16_t& inTile(int row, int column) {
  return at<uint16_t>(kTile + static_cast<uint32_t>(row * 128 + (((column >> 3) ^ (row & 7)) << 4) + (column & 7) * 2));
}

std::vector<uint16_t> counted(size_t count) {
  std::vector<uint16_t> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<uint16_t>(i + 1);
  return data;
}

void tilesAreSwizzled() {
  std::vector<uint16_t> data = counted(20 * 96);
  const CUtensorMap map = mapOf(data, 90, 20, 16);
  bool right = true;
  const std::string failure = launch(1, 32, [&] {
    for (const auto& [column, row] : {std::pair{0, 0}, {48, 10}, {-5, -3}, {200, 0}}) {
      const uint32_t phase = column == 48 || column == 200;
      if (self().number == 0) {
        if (column == 0) ptx::initBarrier(kBarrier, 1);
        ptx::arriveExpecting(kBarrier, 16 * 128);
        ptx::loadTile(kTile, &map, kBarrier, column, row);
      }
      __syncwarp();
      ptx::waitBarrier(kBarrier, phase);
      for (int i = 0; i < 16 * 64; ++i) {
        const int r = row + i / 64, c = column + i % 64;
        const bool inside = r >= 0 && r < 20 && c >= 0 && c < 90;
        right = right && inTile(i / 64, i % 64) == (inside ? data[static_cast<size_t>(r * 96 + c)] : 0);
      }
      __syncwarp();
    }
  });
  expect("tiles come swizzled, zeros for what is outside", failure.empty() && right);
}

void tilesAreStored() {
  std::vector<uint16_t> data(20 * 96, 0);
  const CUtensorMap map = mapOf(data, 90, 20, 16);
  const std::string failure = launch(1, 1, [&] {
    for (int i = 0; i < 16 * 64; ++i) inTile(i / 64, i % 64) = static_cast<uint16_t>(i + 1);
    ptx::fenceForCopies();
    ptx::storeTile(&map, kTile, 48, 10);
    ptx::commitStores();
    ptx::waitStoresRead<0>();
  });
  bool right = failure.empty();
  for (int i = 0; i < 20 * 96; ++i) {
    const int r = i / 96 - 10, c = i % 96 - 48;
    right = right && data[static_cast<size_t>(i)] == (r >= 0 && c >= 0 && i % 96 < 90 ? r * 64 + c + 1 : 0);
  }
  expect("tiles are stored, nothing outside", right);
}

void clustersShareTiles() {
  std::vector<uint16_t> data = counted(16 * 64);
  const CUtensorMap map = mapOf(data, 64, 16, 16);
  bool right = true;
  const std::string failure = launch(4, 32, [&] {
    if (self().number == 0) ptx::initBarrier(kBarrier, 1);
    ptx::syncCluster();
    if (self().number == 0) ptx::arriveExpecting(kBarrier, 16 * 128);
    if (self().number == 0 && ptx::clusterRank() == 1) ptx::loadTileShared(kTile, &map, kBarrier, 0, 0, 3);
    ptx::waitBarrier(kBarrier, 0);
    right = right && inTile(15, 63) == 1024 && inTile(3, 9) == 3 * 64 + 10;
    ptx::syncCluster();
    ptx::storeRemote(ptx::addressIn(kTile, ptx::clusterRank() ^ 1), 1.5f);
    ptx::syncCluster();
    right = right && ptx::loadRemote(kTile, ptx::clusterRank()) == 1.5f;
  }, 2);
  expect("a tile comes to all blocks of a mask", failure.empty() && right);
}

void mapsAreChecked() {
  alignas(64) CUtensorMap map;
  alignas(16) uint16_t data[4096];
  const auto encode = [&](void* at, cuuint64_t stride, cuuint32_t columns, cuuint32_t rows) {
    const cuuint64_t sizes[] = {64, 32}, strides[] = {stride};
    const cuuint32_t box[] = {columns, rows}, steps[] = {1, 1};
    return encodeTensorMap(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, at, sizes, strides, box, steps,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  };
  expect("a map within the limits is made", encode(data, 128, 64, 32));
  expect("an unaligned base is refused", !encode(data + 1, 128, 64, 32));
  expect("an unaligned stride is refused", !encode(data, 136, 64, 32));
  expect("a box wider than the swizzle is refused", !encode(data, 128, 72, 32));
  expect("a box of more than 256 rows is refused", !encode(data, 128, 64, 257));
  expect("a tile that is not aligned is a fault", contains(launch(1, 1, [&] {
    ptx::initBarrier(kBarrier, 1);
    ptx::loadTile(kTile + 64, &map, kBarrier, 0, 0);
  }), "boundary of 128 bytes"));
}

}  // namespace
}  // namespace octavo::emulator

int main() {
  using namespace octavo::emulator;
  for (uint64_t seed : {1, 2, 3}) {
    setSeed(seed);
    barriersHavePhases();
    asynchronousCopiesComeLate();
    tilesAreSwizzled();
    tilesAreStored();
    clustersShareTiles();
  }
  mapsAreChecked();
  return broken ? 1 : 0;
}
