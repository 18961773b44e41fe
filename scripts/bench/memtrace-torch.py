"""octavo-memtrace.so on PyTorch, on a machine with a card: a planted leak, and what tracing costs.

    python3 memtrace-torch.py --library octavo-memtrace.so [--keep FOLDER]

Runs itself three times under the tracer, by LD_PRELOAD alone:
  leak        every tensor its own cudaMalloc; seven of 3 MiB are forgotten in plant(). The report must name them.
  caching     PyTorch's caching allocator; what the tracer sees alive must be what PyTorch calls reserved.
  expandable  the same with expandable segments, which are cuMemCreate and cuMemMap.
and twice each way to time the driver's calls. Needs torch with CUDA; no Node. Exit status 1 when a check fails.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PLANTED, PLANTED_BYTES = 7, 3 << 20


def plant(torch):
    """Tensors with one reference too many, as a faulty extension leaves them: even the interpreter's end keeps them."""
    for _ in range(PLANTED):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(torch.empty(PLANTED_BYTES, dtype=torch.uint8, device='cuda')))


def train(torch):
    """Something of everything: a small network, its gradients, streams, events, pinned memory."""
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    side = torch.cuda.Stream()
    for _ in range(20):
        batch = torch.randn(64, 256).pin_memory().cuda(non_blocking=True)
        with torch.cuda.stream(side):
            scratch = torch.empty(1 << 20, device='cuda')
        event = torch.cuda.Event()
        event.record()
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del scratch
    torch.cuda.synchronize()


def run_leak():
    import torch
    train(torch)
    plant(torch)
    torch.cuda.synchronize()
    print(json.dumps({'torch': torch.__version__, 'device': torch.cuda.get_device_name()}), flush=True)


def run_caching():
    import torch
    train(torch)
    plant(torch)
    torch.cuda.synchronize()
    print(json.dumps({'reserved': torch.cuda.memory_reserved()}), flush=True)


def run_time():
    """Medians of cuMemAlloc, cuMemFree and their stream-ordered forms, called by ctypes."""
    cuda = ctypes.CDLL('libcuda.so.1')
    word = ctypes.c_ulonglong

    def call(name, *args):
        result = getattr(cuda, name)(*args)
        assert result == 0, f'{name}: error {result}'

    context, address = word(), word()
    call('cuInit', 0)
    call('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0)
    call('cuCtxSetCurrent', context)

    def median(pairs, allocate, free):
        taken = []
        for _ in range(pairs):
            start = time.perf_counter_ns()
            result = allocate(ctypes.byref(address), ctypes.c_size_t(1 << 20), *no_stream)
            middle = time.perf_counter_ns()
            result |= free(address, *no_stream)
            taken.append((middle - start, time.perf_counter_ns() - middle))
            assert result == 0
        return [statistics.median(column) for column in zip(*taken)]

    no_stream = []
    plain = median(4000, cuda.cuMemAlloc_v2, cuda.cuMemFree_v2)
    no_stream = [None]
    ordered = median(4000, cuda.cuMemAllocAsync, cuda.cuMemFreeAsync)
    print(json.dumps(dict(zip(['cuMemAlloc', 'cuMemFree', 'cuMemAllocAsync', 'cuMemFreeAsync'], plain + ordered))))


def spawn(mode, library, folder, **variables):
    """This script in a mode, traced when there is a library: what it printed, and the tracer's report."""
    env = {name: value for name, value in os.environ.items() if not name.startswith('OCTAVO_MEMTRACE')}
    report = os.path.join(folder, f'{mode}{len(os.listdir(folder))}.json')
    if library:
        env.update(LD_PRELOAD=library, OCTAVO_MEMTRACE_JSON=report, OCTAVO_MEMTRACE_OUTPUT=report + '.txt')
    env.update(variables)
    done = subprocess.run([sys.executable, __file__, '--mode', mode], env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f'{mode} ended with status {done.returncode}')
    printed = json.loads(done.stdout.strip().splitlines()[-1])
    if not library:
        return printed, None
    with open(report) as file:
        return printed, json.load(file)


def live_bytes(report, kind):
    return sum(row['liveBytes'] for row in report['kinds'] if row['kind'] == kind)


def functions(group):
    return [frame['function'] or '?' for frame in group['stack']]


def check_leak(library, folder):
    printed, report = spawn('leak', library, folder, PYTORCH_NO_CUDA_MEMORY_CACHING='1', OCTAVO_MEMTRACE_PYTHON='6')
    print(f"leak: torch {printed['torch']} on {printed['device']}")
    print(f"  {report['allocations']} allocations, {report['frees']} frees, {report['unmatchedAllocations']} unmatched, "
          f"{report['unmatchedBytes']} bytes; lost {report['lost']}, frees of unknown {report['unknownFrees']}")
    for group in report['unmatched'][:8]:
        print(f"  {group['bytes']} bytes in {group['count']} {group['kind']}: {' < '.join(functions(group)[:12])}")
    planted = [group for group in report['unmatched'] if 'plant' in functions(group)]
    count, size = (sum(group[figure] for group in planted) for figure in ('count', 'bytes'))
    good = (count, size) == (PLANTED, PLANTED * PLANTED_BYTES) and report['lost'] == 0
    print(f"  planted {PLANTED} allocations of {PLANTED_BYTES} bytes; the report has under plant() {count}, {size} bytes "
          f"together, in {len(planted)} stacks: {'ok' if good else 'WRONG'}")
    return good


def check_reserved(library, folder, name, kind, **variables):
    printed, report = spawn('caching', library, folder, **variables)
    live = live_bytes(report, kind)
    difference = live - printed['reserved']
    good = 0 <= difference <= 160 << 20  # libraries beside PyTorch allocate too: 64 MiB a cuBLAS handle
    print(f"{name}: PyTorch reserved {printed['reserved']} bytes, the tracer sees {live} of kind {kind} alive "
          f"(difference {difference}), peak {report['deviceBytesPeak']}: {'ok' if good else 'WRONG'}")
    return good


def check_time(library, folder):
    print('| call | untraced, us | traced, us | added, us |\n| --- | --- | --- | --- |')
    plain = [spawn('time', None, folder)[0] for _ in range(2)]
    traced = [spawn('time', library, folder)[0] for _ in range(2)]
    good = True
    for name in plain[0]:
        before, after = (min(run[name] for run in runs) / 1000 for runs in (plain, traced))
        print(f'| {name} | {before:.2f} | {after:.2f} | {after - before:.2f} |')
        good = good and after - before <= 6
    print(f"at most 6 us added a call: {'ok' if good else 'WRONG'}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--library')
    parser.add_argument('--keep', help='a folder for the reports')
    parser.add_argument('--mode', choices=['leak', 'caching', 'time'])
    options = parser.parse_args()
    if options.mode:
        return {'leak': run_leak, 'caching': run_caching, 'time': run_time}[options.mode]()
    if not options.library:
        parser.error('--library names octavo-memtrace.so')
    library = os.path.abspath(options.library)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        results = [
            check_time(library, folder),
            check_leak(library, folder),
            check_reserved(library, folder, 'caching', 'device'),
            check_reserved(library, folder, 'expandable', 'physical',
                           PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True'),
        ]
    sys.exit(0 if all(results) else 1)


if __name__ == '__main__':
    main()
