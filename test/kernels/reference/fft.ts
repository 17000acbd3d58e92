/** Fourier transforms as their defining sums, in double precision; rows of planes: real parts, then imaginary ones. */

/** Frequencies 0 .. n / 2 of n real numbers. */
export function rfft(row: ArrayLike<number>): Float64Array {
  const n = row.length;
  const count = n / 2 + 1;
  const { cos, sin } = turns(n);
  const out = new Float64Array(2 * count);
  for (let k = 0; k < count; ++k) {
    for (let j = 0; j < n; ++j) {
      out[k] += row[j] * cos[j * k % n];
      out[count + k] -= row[j] * sin[j * k % n];
    }
  }
  return out;
}

/** The n real numbers that have these frequencies, whatever the imaginary parts of the first and last are. */
export function irfft(row: ArrayLike<number>): Float64Array {
  const count = row.length / 2;
  const n = 2 * (count - 1);
  const { cos, sin } = turns(n);
  return Float64Array.from({ length: n }, (_, j) => {
    let sum = row[0] + (j % 2 ? -1 : 1) * row[n / 2];
    for (let k = 1; k < n / 2; ++k) {
      const turn = j * k % n;
      sum += 2 * (row[k] * cos[turn] - row[count + k] * sin[turn]);
    }
    return sum / n;
  });
}

function turns(n: number) {
  const angles = Float64Array.from(
    { length: n },
    (_, i) => 2 * Math.PI * i / n,
  );
  return { cos: angles.map(Math.cos), sin: angles.map(Math.sin) };
}
