// Linear layers: ours beside peer, floor, goal and limit, cold, inside replayed graphs.
//   node scripts/bench/gemm.cjs [--list] [--only TEXT]… [--no-peers] [--json ROWS.json] [--record] [--commit HASH]
// The kernels run in octavo-bench-gemm (scripts/bench/native), which checks each result against fp64 before it times it:
// built in build/, or named in OCTAVO_BENCH. The peer is PyTorch's F.linear (cuBLAS) where python3 has it (PYTHON names
// another python), else the quoted figure of gemm-bars.json. --record keeps the rows in docs/performance.json; elsewhere
// --json writes them, for `npm run performance -- ROWS.json`.
'use strict'
const { join } = require('node:path')
const { main } = require('./kernels/main.cjs')

main({
  area: 'gemm',
  target: 'octavo-bench-gemm',
  bars: require('./gemm-bars.json'),
  peerScript: join(__dirname, 'gemm-torch.py'),
})
