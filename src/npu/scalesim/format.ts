/**
 * Numbers as C's and Python's %g print them, which is how the reference tables are written:
 * `digits` significant digits, exact ties to even, trailing zeros dropped, exponent form below 1e-4
 * and from 10^digits. (JavaScript's toPrecision rounds ties up and switches at other sizes.)
 */
export function significant(value: number, digits: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa, exponentText] = roundedToEven(value, digits).split("e");
  const exponent = Number(exponentText);
  const trimmed = mantissa.includes(".")
    ? mantissa.replace(/\.?0+$/, "")
    : mantissa;
  if (exponent < -4 || exponent >= digits) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${trimmed}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  const decimals = Math.max(0, trimmed.replace(/^-/, "").length - 2 - exponent);
  return Number(`${trimmed}e${exponent}`).toFixed(
    trimmed.includes(".") ? decimals : Math.max(0, -exponent),
  );
}

/** Exponent form with `digits` digits. 60 digits show every tie: doubles near one have fewer. */
function roundedToEven(value: number, digits: number): string {
  const exact =
    value.toExponential(60).replace("-", "").replace(".", "").split("e")[0];
  const up = value.toExponential(digits - 1);
  if (
    !/^50*$/.test(exact.slice(digits)) || Number(exact[digits - 1]) % 2 === 1
  ) return up;
  const sign = value < 0 ? "-" : "";
  const kept = exact.slice(0, digits);
  const mantissa = digits > 1 ? `${kept[0]}.${kept.slice(1)}` : kept;
  return `${sign}${mantissa}e${Math.floor(Math.log10(Math.abs(value)))}`;
}
