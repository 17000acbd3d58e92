/** What `shoal load` is asked for, checked. */
import { describe } from "../base/describe.ts";
import { msToNs } from "../base/units.ts";
import {
  pathOf,
  type Protocol,
  protocolOf,
  PROTOCOLS,
} from "../load/endpoints.ts";
import type { Target } from "../load/result.ts";
import { SHARE } from "../load/summarize.ts";
import type { TextOptions } from "../load/texts.ts";
import { type Arrivals, arrivals, traceReplay } from "../workload/arrivals.ts";
import { corpusLengths } from "../workload/lengths.ts";
import { traceSeconds } from "../workload/trace.ts";
import { checkApart, checkWritable, readText } from "./files.ts";
import {
  CONNECTIONS_MAX,
  LOAD_REQUESTS_MAX,
  RATE_PER_S_MAX,
} from "./limits.ts";
import {
  integerOf,
  integerOption,
  numberOption,
  oneName,
  readOptions,
  see,
  seedOption,
  sloNsOption,
} from "./options.ts";
import { takeCredentials } from "./secrets.ts";
import { UsageError } from "./terminal.ts";

const NAME = "shoal load";

const HELP = `${NAME} URL --rate R [options]

Puts a server under load in an open loop: requests are sent when they are due, whatever has become of those before,
and latency counts from then. Says whether the figures mean anything, and if not, why. Exits with 0 when the run is
valid and holds its target.

  --rate R          requests per second; with --search, where to begin (default 32)
  --arrivals A      poisson (default), interval, or a trace: FILE.csv with t_seconds,input_tokens,output_tokens or
                    t_seconds,count, as recorded or, with --rate, so much faster
  --slo-ms MS       target: requests are to be answered within it
  --percentile P    so many of a hundred (default 99)
  --search          finds the greatest rate that holds the target
  --precision F     until rates differ by this factor less 1 (default 0.05)
  --seconds S       measured time (default 30)
  --warm-up S       before that, sent and not counted (default: a fifth of it, at most 5)
  --seed N          of arrivals, texts and their order (default 1)

  --protocol P      ${PROTOCOLS.join(", ")} (default: as the URL's path says)
  --model NAME      of the requests; oip: of the path, too
  --output NAME     oip: asks for it alone; may be given more than once
  --body FILE       each request's body, with {{text}}, {{tokens}} and {{seed}}; without one raw sends GET
  --header H        "name: value"; may be given more than once; a user and password in URL are one (Basic)
  --max-tokens N    of completions (default 64)
  --no-stream       asks for completions as a whole
  --lengths CORPUS  lengths of sentences (default europarl-v7.de-en)
  --sentences A-B   of a text (default 1-1)
  --tokens A-B      leaves shorter and longer texts out

  --connections N   at most (default 512)
  --fresh           a new connection for each request
  --timeout-ms MS   after which a client gives up (default 30000)
  --leave SHARE     of the clients leave at a random time up to the target
  --html FILE       writes a report
  --json            prints everything as JSON`;

export interface LoadSettings {
  readonly url: URL;
  readonly protocol: Protocol;
  readonly model: string;
  readonly outputs: readonly string[];
  readonly template?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tokensMax: number;
  readonly stream: boolean;
  readonly texts: TextOptions;
  /** The process at a rate; for a trace without a rate, as recorded. */
  readonly arrivals: (ratePerS: number) => Arrivals;
  readonly ratePerS: number;
  readonly target?: Target;
  readonly search?: { readonly precision: number };
  readonly seconds: number;
  readonly warmUpS: number;
  readonly seed: number;
  readonly connections: number;
  readonly keepAlive: boolean;
  readonly timeoutNs: number;
  readonly leaves: number;
  readonly leavesWithinNs: number;
  readonly html?: string;
  readonly json: boolean;
}

const OPTIONS = {
  rate: { type: "string" },
  arrivals: { type: "string", default: "poisson" },
  "slo-ms": { type: "string" },
  percentile: { type: "string" },
  search: { type: "boolean", default: false },
  precision: { type: "string" },
  seconds: { type: "string" },
  "warm-up": { type: "string" },
  seed: { type: "string" },
  protocol: { type: "string" },
  model: { type: "string", default: "model" },
  output: { type: "string", multiple: true, default: [] as string[] },
  body: { type: "string" },
  header: { type: "string", multiple: true, default: [] as string[] },
  "max-tokens": { type: "string" },
  "no-stream": { type: "boolean", default: false },
  lengths: { type: "string", default: "europarl-v7.de-en" },
  sentences: { type: "string" },
  tokens: { type: "string" },
  connections: { type: "string" },
  fresh: { type: "boolean", default: false },
  "timeout-ms": { type: "string" },
  leave: { type: "string" },
  html: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** @returns undefined when help or the version was asked for */
export function loadSettings(args: string[]): LoadSettings | undefined {
  const given = readOptions(
    { name: NAME, help: HELP, options: OPTIONS, positionalsMax: 1 },
    args,
  );
  if (given === undefined) return undefined;
  const { values, positionals } = given;
  const url = urlOf(positionals[0]);
  const credentials = takeCredentials(url);
  const protocol = values.protocol === undefined
    ? protocolOf(url.pathname)
    : oneName("--protocol", values.protocol, PROTOCOLS);
  if (url.pathname === "/") url.pathname = pathOf(protocol, values.model);
  const sloNs = values["slo-ms"] === undefined
    ? undefined
    : sloNsOption(values["slo-ms"]);
  if (values.search && sloNs === undefined) {
    throw new UsageError(`--search takes a target: --slo-ms${see(NAME)}`);
  }
  const unused = values.percentile !== undefined && sloNs === undefined
    ? "--percentile is of a target: --slo-ms"
    : values.precision !== undefined && !values.search
    ? "--precision is of --search"
    : values.output.length > 0 &&
        (protocol !== "oip" || values.body !== undefined)
    ? "--output is of bodies for oip"
    : undefined;
  if (unused !== undefined) throw new UsageError(`${unused}${see(NAME)}`);
  const process = arrivalsOf(values.arrivals, values.search, values.rate);
  const seconds = numberOption("seconds", values.seconds, 30, 1e6);
  const warmUpS = values["warm-up"] === "0"
    ? 0
    : numberOption("warm-up", values["warm-up"], Math.min(5, seconds / 5), 1e5);
  if (process.ratePerS * (seconds + warmUpS) > LOAD_REQUESTS_MAX) {
    throw new UsageError(
      `--rate times --seconds is at most ${LOAD_REQUESTS_MAX} requests`,
    );
  }
  const timeoutNs = msToNs(
    numberOption("timeout-ms", values["timeout-ms"], 30_000, 1e9),
  );
  const share =
    numberOption("percentile", values.percentile, 100 * SHARE, 99.99) /
    100;
  if (values.html !== undefined) {
    checkWritable(values.html);
    checkApart(values.html, [values.body, values.arrivals]);
  }
  return {
    ...{ url, protocol, model: values.model, outputs: values.output },
    ...(values.body !== undefined && { template: readText(values.body) }),
    headers: { ...credentials, ...headersOf(values.header) },
    tokensMax: integerOption("max-tokens", values["max-tokens"], 64, {
      min: 1,
      max: 1e6,
    }),
    stream: !values["no-stream"],
    texts: {
      lengths: lengthsOf(values.lengths),
      ...(values.sentences !== undefined &&
        { sentences: rangeOf("sentences", values.sentences) }),
      ...(values.tokens !== undefined &&
        { tokens: rangeOf("tokens", values.tokens) }),
    },
    ...process,
    ...(sloNs !== undefined && { target: { sloNs, share } }),
    ...(values.search &&
      {
        search: {
          precision: numberOption("precision", values.precision, 0.05, 10),
        },
      }),
    ...{ seconds, warmUpS, seed: seedOption(values.seed) },
    connections: integerOption("connections", values.connections, 512, {
      min: 1,
      max: CONNECTIONS_MAX,
    }),
    keepAlive: !values.fresh,
    timeoutNs,
    leaves: values.leave === undefined
      ? 0
      : numberOption("leave", values.leave, 0, 1),
    leavesWithinNs: sloNs ?? timeoutNs,
    ...(values.html !== undefined && { html: values.html }),
    json: values.json,
  };
}

function urlOf(text: string | undefined): URL {
  if (text === undefined) throw new UsageError(`a URL is missing${see(NAME)}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      `a URL begins with http:// or https://, got ${describe(text)}`,
    );
  }
  return url;
}

function arrivalsOf(
  name: string,
  searches: boolean,
  rate: string | undefined,
): Pick<LoadSettings, "arrivals" | "ratePerS"> {
  if (rate === undefined && !searches && !name.endsWith(".csv")) {
    throw new UsageError(`--rate is missing${see(NAME)}`);
  }
  const ratePerS = numberOption("rate", rate, 32, RATE_PER_S_MAX);
  if (!name.endsWith(".csv")) {
    const known = oneName("--arrivals", name, ["poisson", "interval"]);
    return {
      ratePerS,
      arrivals: (perS) => arrivals(known, { ratePerS: perS }),
    };
  }
  const csv = readText(name);
  const seconds = usage(() => traceSeconds(csv, name));
  const recordedPerS = (seconds.length - 1) / seconds[seconds.length - 1];
  if (!(recordedPerS > 0 && recordedPerS < Infinity)) {
    throw new UsageError(`${name}: all requests arrive at one time`);
  }
  return {
    ratePerS: rate === undefined && !searches ? recordedPerS : ratePerS,
    arrivals: (perS) =>
      traceReplay({ csv, file: name, rateScale: perS / recordedPerS }),
  };
}

function headersOf(given: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
  };
  for (const header of given) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e]*)$/
      .exec(header);
    if (match === null) {
      throw new UsageError(
        `--header is "name: value", got ${describe(header)}`,
      );
    }
    headers[match[1].toLowerCase()] = match[2];
  }
  return headers;
}

function lengthsOf(name: string) {
  return usage(() => corpusLengths(name));
}

function rangeOf(name: string, text: string): [number, number] {
  const [least, most = least, ...more] = text.split("-");
  const range = { min: 1, max: 65_536 };
  const from = integerOf(`--${name}`, least, range);
  const to = integerOf(`--${name}`, most, range);
  if (more.length > 0 || to < from) {
    throw new UsageError(
      `--${name} is LEAST-MOST, got ${describe(text)}`,
    );
  }
  return [from, to];
}

/** What the caller's mistake throws, as such. */
function usage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
