// Resizing of NHWC images. Where an output line or column comes from is the host's
// choice (all of ONNX Resize's coordinate modes are tables): the kernels only follow it.
import { checkArray, checkLeast, checkRows, volumeBytes } from "./checks";
import { get, put, row } from "./simd";

/**
 * out[y][x] = in[lines[y]][columns[x]]; lines: outHeight i32, columns: outWidth i32,
 * all inside the image.
 */
export function resize_nearest_f32(
  m: i32, height: i32, width: i32, channels: i32, outHeight: i32, outWidth: i32,
  inRows: usize, lines: usize, columns: usize, outRows: usize
): void {
  if (!ASC_NO_ASSERT) {
    check(m, height, width, channels, outHeight, outWidth, inRows, outRows);
    checkIndices(lines, outHeight, height, 4);
    checkIndices(columns, outWidth, width, 4);
  }
  const pixel = <usize>channels << 2;
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(inRows, at);
    let out = row(outRows, at);
    for (let y = 0; y < outHeight; ++y) {
      const line = a + <usize>(load<i32>(lines + (<usize>y << 2)) * width) * pixel;
      for (let x = 0; x < outWidth; ++x, out += pixel) {
        memory.copy(out, line + <usize>load<i32>(columns + (<usize>x << 2)) * pixel, pixel);
      }
    }
  }
}

/**
 * Bilinear: lines and columns hold per output line (column) 16 bytes: two i32 indices
 * i0, i1 and two f32 weights w0, w1.
 *   out[y][x] = w0y (w0x a00 + w1x a01) + w1y (w0x a10 + w1x a11)
 */
export function resize_linear_f32(
  m: i32, height: i32, width: i32, channels: i32, outHeight: i32, outWidth: i32,
  inRows: usize, lines: usize, columns: usize, outRows: usize
): void {
  if (!ASC_NO_ASSERT) {
    check(m, height, width, channels, outHeight, outWidth, inRows, outRows);
    checkIndices(lines, outHeight, height, 16);
    checkIndices(lines + 4, outHeight, height, 16);
    checkIndices(columns, outWidth, width, 16);
    checkIndices(columns + 4, outWidth, width, 16);
  }
  const pixel = <usize>channels << 2;
  const lineBytes = <usize>outWidth * pixel;
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(inRows, at);
    let out = row(outRows, at);
    for (let y = 0; y < outHeight; ++y, out += lineBytes) {
      const line = lines + (<usize>y << 4);
      const upper = a + <usize>(load<i32>(line) * width) * pixel;
      const lower = a + <usize>(load<i32>(line, 4) * width) * pixel;
      // Lines between the same two of the input go in pairs.
      const pair = y + 1 < outHeight && load<u64>(line) == load<u64>(line, 16);
      let to = out;
      for (let x = 0; x < outWidth; ++x, to += pixel) {
        const column = columns + (<usize>x << 4);
        const first = <usize>load<i32>(column) * pixel;
        const second = <usize>load<i32>(column, 4) * pixel;
        blend(
          channels, upper + first, upper + second, lower + first, lower + second, line, column, to,
          pair ? lineBytes : 0
        );
      }
      if (pair) {
        ++y;
        out += lineBytes;
      }
    }
  }
}

/**
 * One output pixel and, if nextBytes is not 0, that of the next line, so many bytes on: what they
 * take from the input is the same.
 */
function blend(
  channels: i32, a: usize, b: usize, c: usize, d: usize, line: usize, column: usize, out: usize, nextBytes: usize
): void {
  const x0 = v128.load_splat<f32>(column, 8), x1 = v128.load_splat<f32>(column, 12);
  const y0 = v128.load_splat<f32>(line, 8), y1 = v128.load_splat<f32>(line, 12);
  // The next line's weights stand behind this one's.
  const next = nextBytes ? line + 16 : line;
  const z0 = v128.load_splat<f32>(next, 8), z1 = v128.load_splat<f32>(next, 12);
  let left = channels;
  if (nextBytes) {
    let below = out + nextBytes;
    for (; left >= 4; left -= 4, a += 16, b += 16, c += 16, d += 16, out += 16, below += 16) {
      const upper = mix(v128.load(a), v128.load(b), x0, x1);
      const lower = mix(v128.load(c), v128.load(d), x0, x1);
      v128.store(out, mix(upper, lower, y0, y1));
      v128.store(below, mix(upper, lower, z0, z1));
    }
  } else {
    for (; left >= 8; left -= 8, a += 32, b += 32, c += 32, d += 32, out += 32) {
      const upper = mix(v128.load(a), v128.load(b), x0, x1);
      const lower = mix(v128.load(c), v128.load(d), x0, x1);
      const upper4 = mix(v128.load(a, 16), v128.load(b, 16), x0, x1);
      const lower4 = mix(v128.load(c, 16), v128.load(d, 16), x0, x1);
      v128.store(out, mix(upper, lower, y0, y1));
      v128.store(out, mix(upper4, lower4, y0, y1), 16);
    }
  }
  for (; left > 0; left -= 4, a += 16, b += 16, c += 16, d += 16, out += 16) {
    const upper = mix(get(a, left), get(b, left), x0, x1);
    const lower = mix(get(c, left), get(d, left), x0, x1);
    put(out, mix(upper, lower, y0, y1), left);
    if (nextBytes) put(out + nextBytes, mix(upper, lower, z0, z1), left);
  }
}

// @ts-ignore: decorator
@inline function mix(a: v128, b: v128, w0: v128, w1: v128): v128 {
  return f32x4.add(f32x4.mul(w0, a), f32x4.mul(w1, b));
}

function check(
  m: i32, height: i32, width: i32, channels: i32, outHeight: i32, outWidth: i32,
  inRows: usize, outRows: usize
): void {
  checkLeast(height, 1);
  checkLeast(width, 1);
  checkLeast(channels, 1);
  checkLeast(outHeight, 1);
  checkLeast(outWidth, 1);
  checkRows(inRows, m, volumeBytes(height, width, channels));
  checkRows(outRows, m, volumeBytes(outHeight, outWidth, channels));
}

function checkIndices(table: usize, count: i32, size: i32, stride: usize): void {
  checkArray(table, <usize>count * stride - (stride - 4));
  for (let i = 0; i < count; ++i) {
    assert(load<u32>(table + <usize>i * stride) < <u32>size, "index is outside the image");
  }
}
