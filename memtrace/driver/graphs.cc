#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

/** Under this base CUDA 10 and 11 have five parameters, CUDA 12 three: all five registers are passed on. */
Result cuGraphInstantiate(GraphExec* exec, Graph graph, Word third, Word fourth, Word fifth) {
  const Call call;
  const Result result = call.driver<Entry::cuGraphInstantiate>(exec, graph, third, fourth, fifth);
  if (call.succeeded(result)) allocated(Kind::kGraph, addressOf(*exec), 0);
  return result;
}

Result cuGraphInstantiate_v2(GraphExec* exec, Graph graph, Word third, Word fourth, Word fifth) {
  const Call call;
  const Result result = call.driver<Entry::cuGraphInstantiate_v2>(exec, graph, third, fourth, fifth);
  if (call.succeeded(result)) allocated(Kind::kGraph, addressOf(*exec), 0);
  return result;
}

Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
  const Call call;
  const Result result = call.driver<Entry::cuGraphInstantiateWithFlags>(exec, graph, flags);
  if (call.succeeded(result)) allocated(Kind::kGraph, addressOf(*exec), 0);
  return result;
}

Result cuGraphInstantiateWithParams(GraphExec* exec, Graph graph, void* parameters) {
  const Call call;
  const Result result = call.driver<Entry::cuGraphInstantiateWithParams>(exec, graph, parameters);
  if (call.succeeded(result)) allocated(Kind::kGraph, addressOf(*exec), 0);
  return result;
}

Result cuGraphInstantiateWithParams_ptsz(GraphExec* exec, Graph graph, void* parameters) {
  const Call call;
  const Result result = call.driver<Entry::cuGraphInstantiateWithParams_ptsz>(exec, graph, parameters);
  if (call.succeeded(result)) allocated(Kind::kGraph, addressOf(*exec), 0);
  return result;
}

Result cuGraphExecDestroy(GraphExec exec) {
  const Call call;
  Release release(call.isProgram(), Space::kGraph, addressOf(exec));
  return release.settle(call.driver<Entry::cuGraphExecDestroy>(exec));
}

}  // extern "C"

}  // namespace octavo::memtrace
