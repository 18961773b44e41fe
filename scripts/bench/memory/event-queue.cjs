// Events by time: a binary heap.
'use strict'

class EventQueue {
  #heap = []

  get size() {
    return this.#heap.length
  }

  get nextTime() {
    return this.#heap[0].time
  }

  push(event) {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent].time <= event.time) break
      heap[at] = heap[parent]
      at = parent
    }
    heap[at] = event
  }

  pop() {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1].time < heap[child].time) child++
      if (heap[child].time >= last.time) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
    return first
  }
}

module.exports = { EventQueue }
