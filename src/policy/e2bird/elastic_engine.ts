/**
 * What N-Ebird and E-Ebird share: a memory pool and a multi-granularity inference engine per model, and
 * the loop that launches workers which the waiting requests fill exactly.
 * Source: E2bird, section 7.2.2, Algorithm 1; line numbers below are its. A round is one pass through its
 * outer loop: MemState is looked at once (Algorithm 2, l. 2-4), R is taken once and used up by launches,
 * and the next round follows as soon as no worker fits. What arrives or ends in between is the next round's.
 * Assumption: a worker of size 2^n is a role, played by any idle worker of the device; a device with as
 * many slots as the engine has workers is the paper's GPU with a stream each.
 */
import { assert } from "../../base/assert.ts";
import { Fifo } from "../../base/fifo.ts";
import type { Model } from "../../graph/model.ts";
import type { Launch, Note } from "../launch.ts";
import { lockstep, paddingObstacle } from "../common/lockstep.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import type { Request } from "../request.ts";
import { SlotRing } from "./slot_ring.ts";
import { IdleWorkers, type WorkerCounts } from "./idle_workers.ts";

export interface ElasticOptions {
  name: string;
  /** Workers at the start. */
  workers: WorkerCounts;
  maxInf: number;
  slots: number;
  /** Asked at the start of a round when MemState has changed; returns the engine's workers (Alg. 2, l. 2-4). */
  reconfigure?: (memState: number) => WorkerCounts;
  /** MemState counts alive inferences, too, not only what is ready in the pool; default false. */
  countsAlive?: boolean;
}

interface Entry {
  readonly request: Request;
  /** In the ring; -1 while it waits for a slot or runs. */
  place: number;
}

/** Pool and engine of one model. */
interface Service {
  readonly ring: SlotRing<Entry>;
  /** Requests that found the ring full. */
  readonly outside: Fifo<Entry>;
  readonly idle: IdleWorkers;
  /** Alive inferences: sizes of busy workers. */
  curInf: number;
  /** As it was when the workers were last chosen. */
  memState: number;
  /** CurConf. */
  counts: WorkerCounts;
  /** R: inferences that the round under way may still start. */
  rest: number;
  notes: Note[];
}

/** What a worker of the device runs. */
interface Busy {
  readonly service: Service;
  readonly size: number;
  readonly places: readonly number[];
}

export function elasticEngine(options: ElasticOptions): Policy {
  const { name, workers, maxInf, slots, reconfigure, countsAlive } = options;
  const byModel = new Map<Model, Service>();
  const services: Service[] = [];
  /** By worker of the device, and those that have nothing to do. */
  const busy: (Busy | undefined)[] = [];
  let idleWorkers: number[] | undefined;
  let turn = 0;

  function serviceOf(model: Model): Service {
    let service = byModel.get(model);
    if (service === undefined) {
      service = {
        ring: new SlotRing(slots),
        outside: new Fifo(),
        idle: new IdleWorkers(workers),
        curInf: 0,
        memState: 0,
        counts: workers,
        rest: 0,
        notes: [],
      };
      byModel.set(model, service);
      services.push(service);
    }
    return service;
  }

  function enter({ ring, outside }: Service): void {
    while (outside.size > 0 && !ring.isFull) {
      const entry = outside.shift()!;
      entry.place = ring.push(entry);
    }
  }

  function adapt(service: Service): void {
    const { ring, curInf, memState, counts } = service;
    const now = ring.ready + (countsAlive ? curInf : 0);
    if (!reconfigure || now === memState) return;
    service.memState = now;
    service.counts = reconfigure(now);
    if (service.counts === counts) return;
    service.idle.configure(service.counts);
    const why = `${now} requests in the pool: workers [${service.counts}]`;
    service.notes.push({ op: "reconfigure", requests: [], why });
  }

  function startRound(service: Service): void {
    enter(service);
    adapt(service);
    service.rest = Math.min(service.ring.ready, maxInf - service.curInf); // l. 3
  }

  /** What happens to a pool or its engine between launches is the next round's. */
  function endRound(service: Service): void {
    service.rest = 0;
  }

  /** R; holes behind a slice have left the ring with it. */
  function startable({ rest, ring }: Service): number {
    return Math.min(rest, ring.ready);
  }

  /** One pass through lines 6-13; when the round has come to its end, of the next one. */
  function launchOne(service: Service, worker: number): Launch | undefined {
    const { ring, idle } = service;
    let most = startable(service);
    let size = idle.largestIdle(most); // l. 4-6, 12, 13
    if (size === 0) {
      startRound(service);
      most = startable(service);
      size = idle.largestIdle(most);
    }
    if (size === 0) return undefined;
    service.rest -= size; // l. 9
    const { places, entries } = ring.take(size); // l. 7, 10
    for (const entry of entries) entry.place = -1;
    service.curInf += size;
    idle.remove(size); // l. 11
    const launch: Launch = { // l. 8
      ...lockstep({
        worker,
        requests: entries.map(({ request }) => request),
        why:
          `${most} requests may start; the largest idle worker they fill has size ${size}`,
      }),
      paddedRows: size,
      notes: service.notes,
    };
    service.notes = [];
    busy[worker] = { service, size, places };
    return launch;
  }

  return {
    name,
    supports: paddingObstacle,
    enqueue(request: Request<Entry>) {
      const entry: Entry = { request, place: -1 };
      request.tag = entry;
      const service = serviceOf(request.model);
      service.outside.push(entry);
      endRound(service);
    },
    schedule(view: EngineView): Decision {
      // Kept here, as looking through the view would take time in proportion to the workers.
      idleWorkers ??= view.workers.map(({ id }) => id).reverse();
      const worker = idleWorkers[idleWorkers.length - 1];
      if (worker === undefined) return IDLE;
      const { length } = services;
      for (let i = 0; i < length; i++) {
        const launch = launchOne(services[(turn + i) % length], worker);
        if (launch === undefined) continue;
        turn = (turn + i + 1) % length;
        idleWorkers.pop();
        return { kind: "launch", launch };
      }
      return IDLE;
    },
    finished({ worker }) {
      const run = busy[worker];
      assert(run !== undefined, "a worker that completes a task runs one");
      const { service, size, places } = run;
      busy[worker] = undefined;
      idleWorkers!.push(worker);
      service.curInf -= size;
      service.idle.add(size);
      for (const place of places) service.ring.release(place);
      endRound(service);
    },
    ended({ model, tag: entry }: Request<Entry>) {
      const service = byModel.get(model)!;
      const { outside, ring } = service;
      if (!outside.delete(entry) && entry.place >= 0) ring.cancel(entry.place);
      endRound(service);
    },
  };
}
