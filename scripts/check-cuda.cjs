// Whether the addon that was built has the CUDA that this machine can compile: an nvcc that is here and a build without
// CUDA is a failure; without nvcc it is said, loudly, that no CUDA source was compiled. Argument: the addon.
'use strict'
const { accessSync, constants } = require('node:fs')
const { delimiter, join, resolve } = require('node:path')

/** Where CMakeLists.txt looks for it. */
function findNvcc({ CUDA_PATH, CUDA_HOME, PATH = '' }, defaultFolder = '/usr/local/cuda') {
  const toolkits = [CUDA_PATH, CUDA_HOME].filter(Boolean).map((folder) => join(folder, 'bin'))
  const folders = [
    ...toolkits,
    ...PATH.split(delimiter).filter(Boolean),
    join(defaultFolder, 'bin'),
  ]
  return folders
    .map((folder) => join(folder, 'nvcc'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** One sentence, and whether it is a failure. */
function judge(nvcc, cuda) {
  if (cuda)
    return {
      failed: false,
      sentence: `CUDA sources were compiled${nvcc ? `; nvcc is ${nvcc}` : ''}`,
    }
  if (nvcc === undefined) {
    return {
      failed: false,
      sentence: '*** NO NVCC HERE: CUDA SOURCES WERE NOT COMPILED, NOR ANYTHING OF THEM TESTED ***',
    }
  }
  return { failed: true, sentence: `nvcc is ${nvcc}, but the build that is tested has no CUDA` }
}

module.exports = { findNvcc, judge }

if (require.main === module) {
  const { buildInfo } = require(resolve(process.argv[2] ?? 'build/Release/octavo.node'))
  const { failed, sentence } = judge(findNvcc(process.env), buildInfo.cuda)
  console.log(sentence)
  process.exitCode = failed ? 1 : 0
}
