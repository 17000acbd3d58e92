import { PAGE_SCRIPT } from "./page_script.ts";
import { PAGE_STYLE } from "./page_style.ts";

/** See page.ts. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shoal</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
  <h1>Shoal</h1>
  <dl>
    <div><dt>policy</dt><dd id="policy">…</dd></div>
    <div><dt>running</dt><dd id="running">0</dd></div>
    <div><dt>waiting</dt><dd id="waiting">0</dd></div>
    <div><dt>served a second</dt><dd id="served">0</dd></div>
    <div><dt>refused a second</dt><dd id="refused">0</dd></div>
    <div><dt>rows in a batch</dt><dd id="rows">–</dd></div>
    <div><dt>median</dt><dd id="p50">–</dd></div>
    <div><dt>99th percentile</dt><dd id="p99">–</dd></div>
  </dl>
  <p id="state" role="status">connecting</p>
</header>
<main>
  <section class="wide">
    <h2>Requests in batches</h2>
    <p>A line is a request, from its first batch to its last; a block is a batch that it was in; blocks that begin and
    end together are one batch. The last two seconds.</p>
    <canvas id="swim" role="img" aria-label="Requests joining and leaving batches over the last two seconds"></canvas>
    <ul id="cells" class="legend"></ul>
  </section>
  <section>
    <h2>Running and waiting</h2>
    <p>Requests, over the last two minutes.</p>
    <canvas id="queue" role="img" aria-label="Requests running and waiting over the last two minutes"></canvas>
    <ul class="legend"><li class="k-running">running</li><li class="k-waiting">waiting</li></ul>
  </section>
  <section>
    <h2>Latency</h2>
    <p id="latency-note">Requests that ended in the last minute, by milliseconds from arrival to result.</p>
    <canvas id="latency" role="img" aria-label="Distribution of latency over the last minute"></canvas>
  </section>
  <section>
    <h2>The machine's curve</h2>
    <p>Mean time of a batch by its rows, padding included, as seen.</p>
    <canvas id="curve" role="img" aria-label="Time of a batch over its rows"></canvas>
    <ul id="curve-cells" class="legend"></ul>
  </section>
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
