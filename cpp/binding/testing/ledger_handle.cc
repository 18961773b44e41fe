#include "binding/testing/ledger_handle.h"

#include <thread>

#include "binding/device_values.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

size_t sizeOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

std::string textOf(Napi::Value value) { return value.As<Napi::String>().Utf8Value(); }

/** What one thread of many does: its own line and one that all share, by name and by handle. */
void hammerOnce(Ledger& ledger, uint64_t thread, uint64_t rounds) {
  const Owner owner{OwnerKind::kSession, thread};
  const Owner engine{OwnerKind::kEngine, 0};
  const LineHandle shared = ledger.line(Region::kWorkspace, engine, "shared");
  for (uint64_t round = 0; round < rounds; ++round) {
    const size_t bytes = 512 * (1 + round % 7);
    const std::string tag = "round " + std::to_string(round % 5);
    ledger.add(shared, bytes);
    LineHandle own = ledger.transfer(shared, owner, tag, bytes, 1, 1);
    if (round % 2 == 0) {
      ledger.transfer(std::move(own), shared, bytes, 1, 1);
      ledger.remove(shared, bytes);
    } else {
      ledger.remove(Region::kWorkspace, owner, tag, bytes);
    }
  }
}

}  // namespace

Napi::Function LedgerHandle::define(Napi::Env env) {
  using L = LedgerHandle;
  return DefineClass(env, "Ledger",
                     {
                         method<&L::line>("line"),
                         method<&L::release>("release"),
                         method<&L::add>("add"),
                         method<&L::remove>("remove"),
                         method<&L::transfer>("transfer"),
                         method<&L::handOut>("handOut"),
                         method<&L::handBack>("handBack"),
                         method<&L::addNamed>("addNamed"),
                         method<&L::removeNamed>("removeNamed"),
                         method<&L::transferNamed>("transferNamed"),
                         method<&L::hammer>("hammer"),
                         method<&L::lines>("lines"),
                         method<&L::regionBytes>("regionBytes"),
                         method<&L::check>("check"),
                     });
}

LineHandle& LedgerHandle::at(Napi::Value number) {
  const auto found = held_.find(number.As<Napi::Number>().Uint32Value());
  if (found == held_.end()) throw Error(ErrorCode::kInvalidArgument, "there is no such line");
  return found->second;
}

Napi::Value LedgerHandle::keep(Napi::Env env, LineHandle line) {
  held_.emplace(next_, std::move(line));
  return Napi::Number::New(env, next_++);
}

Napi::Value LedgerHandle::line(const Napi::CallbackInfo& info) {
  return keep(info.Env(), ledger_.line(readRegion(info[0]), readOwner(info[1], info[2]), textOf(info[3])));
}

Napi::Value LedgerHandle::release(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held_.erase(info[0].As<Napi::Number>().Uint32Value()) == 1);
}

Napi::Value LedgerHandle::add(const Napi::CallbackInfo& info) {
  ledger_.add(at(info[0]), sizeOf(info[1]), sizeOf(info[2]));
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::remove(const Napi::CallbackInfo& info) {
  ledger_.remove(at(info[0]), sizeOf(info[1]), sizeOf(info[2]));
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::transfer(const Napi::CallbackInfo& info) {
  ledger_.transfer(at(info[0]), at(info[1]), sizeOf(info[2]), sizeOf(info[3]), sizeOf(info[4]));
  return info.Env().Undefined();
}

/** handOut(from, ownerKind, ownerId, tag, bytes, fromCount, toCount) → line */
Napi::Value LedgerHandle::handOut(const Napi::CallbackInfo& info) {
  return keep(info.Env(), ledger_.transfer(at(info[0]), readOwner(info[1], info[2]), textOf(info[3]),
                                           sizeOf(info[4]), sizeOf(info[5]), sizeOf(info[6])));
}

/** handBack(line, to, bytes, fromCount, toCount): the line is released. */
Napi::Value LedgerHandle::handBack(const Napi::CallbackInfo& info) {
  ledger_.transfer(std::move(at(info[0])), at(info[1]), sizeOf(info[2]), sizeOf(info[3]), sizeOf(info[4]));
  held_.erase(info[0].As<Napi::Number>().Uint32Value());
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::addNamed(const Napi::CallbackInfo& info) {
  ledger_.add(readRegion(info[0]), readOwner(info[1], info[2]), textOf(info[3]), sizeOf(info[4]), sizeOf(info[5]));
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::removeNamed(const Napi::CallbackInfo& info) {
  ledger_.remove(readRegion(info[0]), readOwner(info[1], info[2]), textOf(info[3]), sizeOf(info[4]),
                 sizeOf(info[5]));
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::transferNamed(const Napi::CallbackInfo& info) {
  ledger_.transfer(readRegion(info[0]), readOwner(info[1], info[2]), textOf(info[3]), readOwner(info[4], info[5]),
                   textOf(info[6]), sizeOf(info[7]), sizeOf(info[8]), sizeOf(info[9]));
  return info.Env().Undefined();
}

/** hammer(threads, rounds): every thread takes away what it put in. */
Napi::Value LedgerHandle::hammer(const Napi::CallbackInfo& info) {
  const uint64_t rounds = sizeOf(info[1]);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < sizeOf(info[0]); ++thread) {
    threads.emplace_back([this, thread, rounds] { hammerOnce(ledger_, thread, rounds); });
  }
  for (std::thread& thread : threads) thread.join();
  return info.Env().Undefined();
}

Napi::Value LedgerHandle::lines(const Napi::CallbackInfo& info) {
  const std::vector<LedgerLine> held = ledger_.lines();
  Napi::Array lines = Napi::Array::New(info.Env(), held.size());
  for (uint32_t index = 0; index < held.size(); ++index) lines.Set(index, toValue(info.Env(), held[index]));
  return lines;
}

Napi::Value LedgerHandle::regionBytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(ledger_.regionBytes(readRegion(info[0]))));
}

Napi::Value LedgerHandle::check(const Napi::CallbackInfo& info) {
  ledger_.check();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
