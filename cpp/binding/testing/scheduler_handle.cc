#include "binding/testing/scheduler_handle.h"

#include "binding/arguments.h"
#include "binding/prefix_values.h"
#include "binding/testing/pool_handle.h"

namespace octavo::testing {

namespace {

int64_t numberOf(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }

template <typename Range, typename Number>
Napi::Array toNumbers(Napi::Env env, const Range& range, Number number) {
  Napi::Array made = Napi::Array::New(env);
  for (const auto& each : range) made.Set(made.Length(), static_cast<double>(number(each)));
  return made;
}

SchedulerLimits readLimits(const Fields& options) {
  SchedulerLimits limits;
  limits.maxSequences = options.int32("maxSequences");
  limits.maxBatchTokens = options.int32("maxBatchTokens");
  limits.maxLogitRows = options.int32("maxLogitRows");
  if (options.has("maxSamplingEntries")) limits.maxSamplingEntries = options.int32("maxSamplingEntries");
  limits.admission = options.flag("optimistic") ? Admission::kOptimistic : Admission::kGuaranteed;
  return limits;
}

}  // namespace

Napi::Function SchedulerHandle::define(Napi::Env env) {
  using S = SchedulerHandle;
  return DefineClass(env, "Scheduler",
                     {
                         method<&S::createSession>("createSession"),
                         method<&S::forkSession>("forkSession"),
                         method<&S::disposeSession>("disposeSession"),
                         method<&S::submit>("submit"),
                         method<&S::cancel>("cancel"),
                         method<&S::grant>("grant"),
                         method<&S::step>("step"),
                         method<&S::clearPrefixCache>("clearPrefixCache"),
                         method<&S::compact>("compact"),
                         method<&S::state>("state"),
                         method<&S::check>("check"),
                     });
}

SchedulerHandle::SchedulerHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    const Napi::Object pool = info[0].As<Napi::Object>();
    const Fields options(info[1], "options");
    poolObject_ = Napi::Persistent(pool);
    pool_ = &PoolHandle::Unwrap(pool)->pool();
    SessionSettings settings;
    settings.blockSize = options.int32("blockSize");
    if (options.has("prefix")) settings.prefix = readPrefix(options.fields("prefix"));
    sessions_ = std::make_unique<SessionTable>(*pool_, clock_, settings);
    scheduler_ = std::make_unique<Scheduler>(*sessions_, readLimits(options));
  });
}

Session& SchedulerHandle::session(const Napi::Value& id) {
  Session* const found = sessions_->find(static_cast<SessionId>(numberOf(id)));
  if (!found) throw Error(ErrorCode::kDisposed, "no such session");
  return *found;
}

/** createSession(tenant) → id */
Napi::Value SchedulerHandle::createSession(const Napi::CallbackInfo& info) {
  const std::string tenant = info[0].As<Napi::String>();
  return Napi::Number::New(info.Env(), static_cast<double>(sessions_->create(tenant).id));
}

Napi::Value SchedulerHandle::forkSession(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(sessions_->fork(session(info[0])).id));
}

Napi::Value SchedulerHandle::disposeSession(const Napi::CallbackInfo& info) {
  Session& disposed = session(info[0]);
  const auto request = requests_.find(disposed.request);
  if (request != requests_.end()) finish(*request->second);
  sessions_->remove(disposed, 0);
  return info.Env().Undefined();
}

/** submit(session, prompt, { maxNewTokens, priority, credits, score }) → id */
Napi::Value SchedulerHandle::submit(const Napi::CallbackInfo& info) {
  const auto prompt = info[1].As<Napi::Int32Array>();
  const Fields options(info[2], "request");
  auto request = std::make_unique<Request>();
  request->session = session(info[0]).id;
  request->spec.prompt.assign(prompt.Data(), prompt.Data() + prompt.ElementLength());
  request->spec.maxNewTokens = options.int32("maxNewTokens");
  request->spec.priority = options.int32("priority");
  request->spec.score = options.flag("score");
  request->credits = options.int32("credits");
  if (options.has("repetitionPenalty")) request->spec.sampling.repetitionPenalty = 2;
  request->prepare(0);
  request->promisedBlocks = blocksOf(request->spec, sessions_->blockSize());
  request->id = ++lastRequest_;
  Request& entered = *request;
  requests_.emplace(entered.id, std::move(request));
  scheduler_->enqueue(entered);
  return Napi::Number::New(info.Env(), static_cast<double>(entered.id));
}

void SchedulerHandle::finish(Request& request) {
  scheduler_->remove(request);
  sessions_->trim(*sessions_->find(request.session), 0);
  requests_.erase(request.id);
}

Napi::Value SchedulerHandle::cancel(const Napi::CallbackInfo& info) {
  const auto request = requests_.find(static_cast<RequestId>(numberOf(info[0])));
  if (request != requests_.end()) finish(*request->second);
  return info.Env().Undefined();
}

Napi::Value SchedulerHandle::grant(const Napi::CallbackInfo& info) {
  const auto request = requests_.find(static_cast<RequestId>(numberOf(info[0])));
  if (request != requests_.end()) request->second->credits += static_cast<int32_t>(numberOf(info[1]));
  return info.Env().Undefined();
}

/** As the engine books a step; the token sampled stands for itself. */
void SchedulerHandle::book(const StepPlan& plan, Napi::Array finished) {
  for (const PlannedSequence& planned : plan.sequences) {
    Request& request = *requests_.at(planned.request);
    Session& booked = *sessions_->find(request.session);
    for (int32_t index = 0; index < planned.count; ++index) {
      booked.tokens.push_back(request.token(planned.start + index));
    }
    if (!request.spec.score) sessions_->publish(booked, 0);
    bool ended = request.spec.score && planned.start + planned.count == request.promptTokens();
    if (planned.logits == LogitsWanted::kLast) {
      request.output.push_back(static_cast<int32_t>(request.length() % 7));
      scheduler_->countOutput();
      --request.credits;
      if (request.history) request.history->addOutput(request.output.back());
      ended = request.left() == 0;
    }
    if (!ended) continue;
    finished.Set(finished.Length(), static_cast<double>(request.id));
    finish(request);
  }
}

/** step() → { sequences: [request, start, count, logits, …], starved, refused, finished, planNanoseconds } */
Napi::Value SchedulerHandle::step(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const SteadyClock clock;
  const int64_t began = clock.now();
  const StepPlan plan = scheduler_->plan(++step_, 0, 0);
  const int64_t took = clock.now() - began;
  sessions_->takeCopies();
  Napi::Array sequences = Napi::Array::New(env);
  for (const PlannedSequence& planned : plan.sequences) {
    for (const double value : {static_cast<double>(planned.request), static_cast<double>(planned.start),
                               static_cast<double>(planned.count), static_cast<double>(planned.logits)}) {
      sequences.Set(sequences.Length(), value);
    }
  }
  Napi::Array finished = Napi::Array::New(env);
  const auto id = [](RequestId request) { return request; };
  Napi::Object made = Napi::Object::New(env);
  made.Set("sequences", sequences);
  made.Set("starved", toNumbers(env, plan.starved, id));
  made.Set("refused", toNumbers(env, plan.refused, id));
  made.Set("finished", finished);
  made.Set("planNanoseconds", static_cast<double>(took));
  for (const RequestId refused : plan.refused) finish(*requests_.at(refused));
  if (plan.refused.empty()) book(plan, finished);
  pool_->passFence(step_);
  return made;
}

Napi::Value SchedulerHandle::clearPrefixCache(const Napi::CallbackInfo& info) {
  sessions_->clearPrefixCache(0);
  return info.Env().Undefined();
}

/** compact(): one slice, followed by the sessions → how many blocks moved */
Napi::Value SchedulerHandle::compact(const Napi::CallbackInfo& info) {
  const std::vector<BlockMove> moves = pool_->compact();
  sessions_->relocate(moves);
  return Napi::Number::New(info.Env(), static_cast<double>(moves.size()));
}

/** state() → { running, waiting, held: [session, blocks, …], preemptions, stalls, prefix } */
Napi::Value SchedulerHandle::state(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto id = [](const Request* request) { return request->id; };
  Napi::Object made = Napi::Object::New(env);
  made.Set("running", toNumbers(env, scheduler_->running(), id));
  made.Set("waiting", toNumbers(env, scheduler_->waiting().order(), id));
  Napi::Array held = Napi::Array::New(env);
  for (const auto& [number, each] : sessions_->all()) {
    held.Set(held.Length(), static_cast<double>(number));
    held.Set(held.Length(), static_cast<double>(each->blocks.size()));
  }
  made.Set("held", held);
  made.Set("preemptions", static_cast<double>(scheduler_->report().preemptions));
  made.Set("stalls", static_cast<double>(scheduler_->report().stalls));
  made.Set("prefix", makePrefix(env, sessions_->prefixReport()));
  return made;
}

Napi::Value SchedulerHandle::check(const Napi::CallbackInfo& info) {
  pool_->check();
  sessions_->check();
  scheduler_->check();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
