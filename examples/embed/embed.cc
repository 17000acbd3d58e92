// A host that is not JavaScript: the work of embed.js on wabt's interpreter.
// Build (Debian: g++, wabt) and run from the checkout's root:
//   g++ -std=c++17 -O2 examples/embed/embed.cc -lwabt -o build/embed
//   build/embed build/shoal.wasm
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "wabt/binary-reader.h"
#include "wabt/interp/binary-reader-interp.h"
#include "wabt/interp/interp.h"

using namespace wabt;
using namespace wabt::interp;

constexpr uint32_t kAbiVersion = 12;
constexpr uint32_t kPages = 16;

[[noreturn]] static void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

// The module over a memory that this host owns.
class Shoal {
 public:
  explicit Shoal(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(std::string("cannot read ") + path);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    Features features;
    features.EnableAll();
    Errors errors;
    ModuleDesc desc;
    const ReadBinaryOptions options(features, nullptr, false, true, true);
    if (Failed(ReadBinaryInterp(path, bytes.data(), bytes.size(), options, &errors, &desc))) {
      fail(errors.empty() ? "not a module" : errors[0].message);
    }
    store_.setFeatures(features);
    memory_ = Memory::New(store_, MemoryType{Limits(kPages)});
    auto module = Module::New(store_, desc);
    Trap::Ptr trap;
    instance_ = Instance::Instantiate(store_, module.ref(), {memory_->self()}, &trap);
    if (!instance_) fail("cannot instantiate: " + (trap ? trap->message() : std::string()));
    for (const auto& entry : module->desc().exports) {
      if (entry.type.type->kind == ExternKind::Func) exports_[entry.type.name] = instance_->funcs()[entry.index];
    }
    if (call("shoal_abi_version", {}) != kAbiVersion) fail("another ABI version");
    top_ = call("shoal_static_end", {});
  }

  // Calls an export; returns its i32 result, or 0 if it has none.
  uint32_t call(const std::string& name, const std::vector<uint32_t>& arguments) {
    Values params, results;
    for (uint32_t argument : arguments) params.push_back(Value::Make(argument));
    Trap::Ptr trap;
    auto function = store_.UnsafeGet<Func>(exports_.at(name));
    if (Failed(function->Call(store_, params, results, &trap))) fail(name + ": " + trap->message());
    return results.empty() ? 0 : results[0].Get<uint32_t>();
  }

  uint32_t alloc(uint32_t size) {
    const uint32_t at = top_;
    top_ = (at + size + 15) & ~15u;
    return at;
  }
  void f32(uint32_t at, float value) { std::memcpy(memory_->UnsafeData() + at, &value, 4); }
  void u32(uint32_t at, uint32_t value) { std::memcpy(memory_->UnsafeData() + at, &value, 4); }
  const uint8_t* bytes(uint32_t at) { return memory_->UnsafeData() + at; }

 private:
  Store store_;
  Memory::Ptr memory_;
  Instance::Ptr instance_;
  std::map<std::string, Ref> exports_;
  uint32_t top_ = 0;
};

// As in embed.js.
static float value(uint32_t stream, uint32_t i) {
  uint32_t x = stream * 0x9e3779b9u + i;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return float((x ^ x >> 16) >> 8) / 8388608.0f - 1.0f;
}

struct Rows {
  uint32_t data, table, bytes;
};

static Rows rows(Shoal& shoal, uint32_t count, uint32_t width, int stream = -1) {
  const Rows made{shoal.alloc(4 * count * width), shoal.alloc(4 * count), 4 * count * width};
  for (uint32_t i = 0; i < count * width; ++i) {
    shoal.f32(made.data + 4 * i, stream < 0 ? 0.0f : value(uint32_t(stream), i));
  }
  for (uint32_t i = 0; i < count; ++i) shoal.u32(made.table + 4 * i, made.data + 4 * i * width);
  return made;
}

static uint32_t hash(Shoal& shoal, const Rows& block, uint32_t h = 0x811c9dc5u) {
  for (uint32_t i = 0; i < block.bytes; ++i) h = (h ^ shoal.bytes(block.data)[i]) * 0x01000193u;
  return h;
}

static uint32_t gemm(Shoal& shoal) {
  const uint32_t m = 5, n = 19, k = 37, sigmoid = 2;
  const Rows a = rows(shoal, m, k, 1);
  const uint32_t panels = (n + 7) / 8;
  const uint32_t w = shoal.alloc(panels * 32 * (1 + k));
  for (uint32_t j = 0; j < panels * 8; ++j) {
    const uint32_t at = w + j / 8 * 32 * (1 + k) + j % 8 * 4;
    shoal.f32(at, j < n ? value(3, j) : 0);
    for (uint32_t l = 0; l < k; ++l) shoal.f32(at + 32 * (1 + l), j < n ? value(2, j * k + l) : 0);
  }
  const Rows c = rows(shoal, m, n);
  shoal.call("gemm_f32", {m, n, k, a.table, 0, 0, w, c.table, sigmoid});
  return hash(shoal, c);
}

static uint32_t lstm(Shoal& shoal) {
  const uint32_t batch = 3, hidden = 20, input = 12, steps = 10, k = input + hidden;
  // Panels of 8 units for each gate, filled up with zeros.
  const uint32_t panels = (hidden + 7) / 8;
  const uint32_t w = shoal.alloc(4 * panels * 32 * (1 + k));
  for (uint32_t unit = 0; unit < hidden; ++unit) {
    for (uint32_t gate = 0; gate < 4; ++gate) {  // i, g, f, o
      const uint32_t panel = gate * panels + unit / 8;
      const uint32_t at = w + panel * 32 * (1 + k) + unit % 8 * 4;
      const uint32_t j = gate * hidden + unit;
      shoal.f32(at, value(5, j));
      for (uint32_t l = 0; l < k; ++l) shoal.f32(at + 32 * (1 + l), value(4, j * k + l) / 4);
    }
  }
  Rows h = rows(shoal, batch, hidden), c = rows(shoal, batch, hidden);
  Rows h_next = rows(shoal, batch, hidden), c_next = rows(shoal, batch, hidden);
  uint32_t sum = 0x811c9dc5u;
  for (uint32_t step = 0; step < steps; ++step) {
    const Rows x = rows(shoal, batch, input, int(6 + step));
    shoal.call("lstm_step_f32",
               {batch, hidden, input, x.table, h.table, c.table, w, h_next.table, c_next.table});
    std::swap(h, h_next);
    std::swap(c, c_next);
    sum = hash(shoal, c, hash(shoal, h, sum));
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: embed <shoal.wasm>");
  Shoal shoal(argv[1]);
  const uint32_t gemm_hash = gemm(shoal);
  std::printf("gemm %08x\nlstm %08x\n", gemm_hash, lstm(shoal));
}
