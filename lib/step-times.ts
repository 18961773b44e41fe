/** What the engine's thread spends its time on. */

/** Nanoseconds of the engine thread over all steps, by stage; mirrors cpp/engine/step_times.h. */
export interface NativeStepTimes {
  plan: number
  upload: number
  launch: number
  wait: number
  book: number
  tell: number
}

/**
 * Milliseconds that the engine's thread has spent over all steps, by stage. All but `waitMs`, in which the device works, is
 * the host's. On the CPU `launchMs` is the computing.
 */
export interface StepTimes {
  /** Who runs next; requests that ended, blocks that move. */
  planMs: number
  /** Tokens, block tables and sampling of the batch put together. */
  uploadMs: number
  /** Kernels and copies handed to the device. */
  launchMs: number
  waitMs: number
  /** Tokens to sessions and requests. */
  bookMs: number
  /** Callers woken. */
  tellMs: number
}

export function stepTimes(times: NativeStepTimes): StepTimes {
  return {
    planMs: times.plan / 1e6,
    uploadMs: times.upload / 1e6,
    launchMs: times.launch / 1e6,
    waitMs: times.wait / 1e6,
    bookMs: times.book / 1e6,
    tellMs: times.tell / 1e6,
  }
}
