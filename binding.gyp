# The CPU-only source build for machines without cmake: `octavo build` falls back to it.
{
  "variables": {
    "octavo_version": "<!(node -p \"require('./package.json').version\")",
    "memtrace_libc": "<!(node -p \"process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'other'\")"
  },
  "targets": [{
    "target_name": "octavo",
    "sources": ["<!@(node scripts/sources.cjs cpp)"],
    "include_dirs": ["cpp", ".", "<!(node -p \"require('node-addon-api').include_dir\")"],
    "defines": [
      "NAPI_VERSION=9",
      "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
      "OCTAVO_VERSION=\"<(octavo_version)\""
    ],
    "cflags!": ["-fno-exceptions"],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
    "cflags_cc": ["-std=c++20", "-fno-omit-frame-pointer", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"],
    "conditions": [
      # gcc 12 is wrong about "text" + std::string (PR 105651); clang does not know the warning by name.
      ["OS=='linux'", {
        "cflags_cc": ["-Wno-restrict", "-Wno-unknown-warning-option"],
        "ldflags": ["-static-libstdc++", "-Wl,--gc-sections", "-Wl,-z,nodelete", "-Wl,--version-script=<(module_root_dir)/cpp/exports.map"]
      }]
    ],
    "xcode_settings": {
      "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
      "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
      "GCC_ENABLE_CPP_RTTI": "YES"
    },
    "msvs_settings": { "VCCLCompilerTool": { "AdditionalOptions": ["/std:c++20"], "ExceptionHandling": 1 } }
  }],
  "conditions": [
    # memtrace/CMakeLists.txt says why these flags.
    ["OS=='linux' and target_arch in ['x64', 'arm64'] and memtrace_libc=='glibc'", {
      "targets": [{
        "target_name": "octavo-memtrace",
        "type": "shared_library",
        "product_prefix": "",
        "product_extension": "so",
        "sources": ["<!@(node scripts/sources.cjs memtrace)"],
        "include_dirs": ["memtrace"],
        "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
        "cflags_cc": [
          "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
          "-fno-omit-frame-pointer", "-foptimize-sibling-calls", "-ftls-model=initial-exec", "-ffunction-sections",
          "-fdata-sections"
        ],
        "ldflags": [
          "-static-libstdc++", "-static-libgcc", "-Wl,--version-script=<(module_root_dir)/memtrace/exports.map",
          "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--gc-sections", "-Wl,--as-needed"
        ]
      }]
    }]
  ]
}
