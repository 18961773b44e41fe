/** A promise with its handles (Node 20 has no Promise.withResolvers). Unobserved rejections are not reported. */
export class Deferred<Value> {
  readonly promise: Promise<Value>
  resolve!: (value: Value) => void
  reject!: (reason: unknown) => void

  constructor() {
    this.promise = new Promise<Value>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.promise.catch(() => {})
  }
}
