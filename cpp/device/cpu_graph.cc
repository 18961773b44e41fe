#include "device/cpu_graph.h"

namespace octavo {

void CpuGraph::launch(Stream& stream) {
  cpuStream(stream).run([work = work_] {
    for (const auto& each : *work) each();
  });
}

std::unique_ptr<Graph> captureOnCpu(const std::shared_ptr<ObjectCounts>& counts, CpuStream& stream,
                                    const std::function<void()>& record) {
  stream.beginCapture();
  try {
    record();
  } catch (...) {
    stream.endCapture();
    throw;
  }
  return std::make_unique<CpuGraph>(counts, stream.endCapture());
}

}  // namespace octavo
