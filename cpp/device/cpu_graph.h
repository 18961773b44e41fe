// Work of the CPU device that is recorded: what a captured graph is on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/cpu_stream.h"
#include "device/graph.h"

namespace octavo {

class CpuGraph final : public Graph {
 public:
  using Work = std::vector<std::function<void()>>;

  CpuGraph(std::shared_ptr<ObjectCounts> counts, Work work)
      : counted_(std::move(counts), ObjectKind::kGraph), work_(std::make_shared<Work>(std::move(work))) {}
  void launch(Stream& stream) override;
  size_t nodes() const override { return work_->size(); }

 private:
  CountedObject counted_;
  std::shared_ptr<const Work> work_;  // shared with launches that are under way
};

/** See Device::capture. */
std::unique_ptr<Graph> captureOnCpu(const std::shared_ptr<ObjectCounts>& counts, CpuStream& stream,
                                    const std::function<void()>& record);

}  // namespace octavo
