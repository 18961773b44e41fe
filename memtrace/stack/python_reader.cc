#include "stack/python_reader.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <atomic>

#include "stack/python.h"
#include "trace/thread_state.h"

namespace octavo::memtrace {

namespace {

constexpr long kPatienceNanoseconds = 20000000;

/** One question at a time. Whoever moves it on from kAsked owns the answer; one given up is idle again in time. */
enum State { kIdle, kAsked, kReading, kAnswered, kGivenUp };
constinit std::atomic<int> state{kIdle};
constinit bool isServed = false;
pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
sem_t asked;
sem_t answered;
struct {
  const PythonApi* python;
  void* thread;
  int maximum;
  Frames frames;
} question;

void answer() {
  const PythonApi& python = *question.python;
  const int held = python.takeLock();
  int expected = kAsked;
  if (state.compare_exchange_strong(expected, kReading)) {
    question.frames.count = 0;
    addPythonFrames(python, python.threadFrame(question.thread), question.maximum, &question.frames);
    state.store(kAnswered);
    sem_post(&answered);
  } else {
    state.store(kIdle);  // given up
  }
  python.giveLock(held);
}

void* serve(void*) {
  threadState.depth++;  // nothing that happens on this thread is the program's
  for (;;) {
    while (sem_wait(&asked) != 0) {
    }
    answer();
  }
  return nullptr;
}

bool startServing() {
  if (isServed) return true;
  sem_init(&asked, 0, 0);
  sem_init(&answered, 0, 0);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  isServed = pthread_create(&thread, nullptr, serve, nullptr) == 0;
  if (isServed) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return isServed;
}

/** False when no answer came and the question is withdrawn. */
bool awaitAnswer() {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kPatienceNanoseconds;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  int result;
  while ((result = sem_timedwait(&answered, &until)) != 0 && errno == EINTR) {
  }
  if (result == 0) return true;
  int expected = kAsked;
  if (state.compare_exchange_strong(expected, kGivenUp)) return false;
  while (sem_wait(&answered) != 0) {  // the reader is at it, and waits for nobody
  }
  return true;
}

}  // namespace

void readPythonFrames(const PythonApi& python, void* thread, int maximum, Frames* frames) {
  pthread_mutex_lock(&asking);
  // Not idle: the reader still waits for the interpreter on behalf of a question that was given up.
  if (state.load() == kIdle && startServing()) {
    question.python = &python;
    question.thread = thread;
    question.maximum = maximum;
    state.store(kAsked);
    sem_post(&asked);
    if (awaitAnswer()) {
      for (int index = 0; index < question.frames.count; index++) frames->add(question.frames.frame[index]);
      state.store(kIdle);
    }
  }
  pthread_mutex_unlock(&asking);
}

void restartPythonReader() {
  isServed = false;
  state.store(kIdle);
  pthread_mutex_init(&asking, nullptr);
}

}  // namespace octavo::memtrace
