#include "binding/testing/pages_handle.h"

#include <algorithm>

#include "binding/arguments.h"
#include "binding/testing/accounted_range.h"
#include "binding/testing/memory_handle.h"
#include "device/host_range.h"

namespace octavo::testing {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

size_t sizeOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

}  // namespace

Napi::Function PagesHandle::define(Napi::Env env) {
  using P = PagesHandle;
  return DefineClass(env, "Pages",
                     {
                         method<&P::map>("map"),
                         method<&P::unmap>("unmap"),
                         method<&P::counts>("counts"),
                         method<&P::write>("write"),
                         method<&P::read>("read"),
                         method<&P::check>("check"),
                         method<&P::dispose>("dispose"),
                     });
}

PagesHandle::PagesHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    DeviceAllocator& allocator = MemoryHandle::Unwrap(info[0].As<Napi::Object>())->allocator();
    const Fields options(info[1], "options");
    const std::string kind = options.text("kind");
    const Region region = readRegion(options.get("region"));
    const std::string tag = options.text("tag");
    const size_t pages = options.size("pages");
    allocator_ = allocator.shared_from_this();
    stream_ = allocator.device().createStream();
    if (kind == "device") {
      range_ = std::make_unique<PageRange>(PageRange::reserve(allocator, region, pages, kEngine, tag));
      return;
    }
    std::unique_ptr<AddressRange> range;
    if (kind == "accounted") range = std::make_unique<AccountedRange>(pages, options.size("room"));
    else range = reserveWholeRange(allocator.device(), pages);
    range_ = std::make_unique<PageRange>(allocator, std::move(range), region, kEngine, tag);
  });
}

PageRange& PagesHandle::range() {
  if (!range_) throw Error(ErrorCode::kDisposed, "the pages were disposed");
  return *range_;
}

char* PagesHandle::addressOf(Napi::Value offset) { return static_cast<char*>(range().base()) + sizeOf(offset); }

Napi::Value PagesHandle::map(const Napi::CallbackInfo& info) {
  range().map(sizeOf(info[0]), sizeOf(info[1]));
  return info.Env().Undefined();
}

Napi::Value PagesHandle::unmap(const Napi::CallbackInfo& info) {
  range().unmap(sizeOf(info[0]), sizeOf(info[1]));
  return info.Env().Undefined();
}

Napi::Value PagesHandle::counts(const Napi::CallbackInfo& info) {
  Napi::Object counts = Napi::Object::New(info.Env());
  counts.Set("pages", static_cast<double>(range().pages()));
  counts.Set("mapped", static_cast<double>(range().mappedPages()));
  counts.Set("elastic", range().elastic());
  const auto address = reinterpret_cast<uintptr_t>(range().base());
  counts.Set("alignment", static_cast<double>(std::min<uintptr_t>(address & (~address + 1), kPageBytes)));
  return counts;
}

/** write(offset, bytes): into mapped pages, through the device. */
Napi::Value PagesHandle::write(const Napi::CallbackInfo& info) {
  const auto bytes = info[1].As<Napi::Uint8Array>();
  allocator_->device().copy(addressOf(info[0]), bytes.Data(), bytes.ByteLength(), CopyKind::kHostToDevice, *stream_);
  stream_->synchronize();
  return info.Env().Undefined();
}

/** read(offset, bytes) → what lies there */
Napi::Value PagesHandle::read(const Napi::CallbackInfo& info) {
  const size_t bytes = sizeOf(info[1]);
  auto array = Napi::Uint8Array::New(info.Env(), bytes);
  allocator_->device().copy(array.Data(), addressOf(info[0]), bytes, CopyKind::kDeviceToHost, *stream_);
  stream_->synchronize();
  return array;
}

Napi::Value PagesHandle::check(const Napi::CallbackInfo& info) {
  range().check();
  return info.Env().Undefined();
}

Napi::Value PagesHandle::dispose(const Napi::CallbackInfo& info) {
  range_.reset();
  stream_.reset();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
