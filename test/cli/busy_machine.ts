/** Imported first (`--preload`), it makes a machine of which others have everything: each look finds an hour more. */
import os from "node:os";

const { cpus } = os;
let hours = 0;
os.cpus = () => {
  hours++;
  return cpus().map((cpu) => ({
    ...cpu,
    times: { ...cpu.times, user: cpu.times.user + hours * 3_600_000 },
  }));
};
