// A program over the CUDA runtime; it does not matter to it whether the call succeeds.
#include <cuda_runtime_api.h>

int main() {
  void* memory = nullptr;
  cudaMalloc(&memory, 1000000);
  return 0;
}
