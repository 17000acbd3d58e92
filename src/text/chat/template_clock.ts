import { templateError } from "./template_error.ts";
import { ELEMENT_WORK, work } from "./template_work.ts";

const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(
  " ",
);
const MONTHS =
  "January February March April May June July August September October November December"
    .split(" ");

const digits = (number: number, count = 2) => `${number}`.padStart(count, "0");

/** Days of the year up to a time, it among them. */
const dayOfYear = (time: Date) =>
  Math.round(
    (Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()) -
      Date.UTC(time.getFullYear(), 0, 0)) / 86_400_000,
  );

const FIELDS: Readonly<Record<string, (time: Date) => string>> = {
  a: (time) => DAYS[time.getDay()].slice(0, 3),
  A: (time) => DAYS[time.getDay()],
  b: (time) => MONTHS[time.getMonth()].slice(0, 3),
  B: (time) => MONTHS[time.getMonth()],
  d: (time) => digits(time.getDate()),
  e: (time) => `${time.getDate()}`.padStart(2),
  F: (time) => strftime(time, "%Y-%m-%d", 1),
  H: (time) => digits(time.getHours()),
  I: (time) => digits(time.getHours() % 12 || 12),
  j: (time) => digits(dayOfYear(time), 3),
  m: (time) => digits(time.getMonth() + 1),
  M: (time) => digits(time.getMinutes()),
  p: (time) => time.getHours() < 12 ? "AM" : "PM",
  S: (time) => digits(time.getSeconds()),
  T: (time) => strftime(time, "%H:%M:%S", 1),
  y: (time) => digits(time.getFullYear() % 100),
  Y: (time) => `${time.getFullYear()}`,
  "%": () => "%",
};

/**
 * A local time as C writes it in English; "-" in front of a field leaves its zeros out.
 * @throws TextFileError on a field that is not known
 */
export function strftime(time: Date, format: string, line: number): string {
  work(format.length * ELEMENT_WORK);
  return format.replace(
    /%(-?)([\s\S]|$)/g,
    (all, mark: string, name: string) => {
      const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
      if (!field || mark && !"deHIjmMSyY".includes(name)) {
        throw templateError(`"strftime_now" knows no ${all}`, line);
      }
      return mark ? `${Number(field(time))}` : field(time);
    },
  );
}
