/** The evaluation's configuration (section 8.1), which the experiments take from here. */
import { NS_PER_MS } from "../../../src/base/units.ts";
import { nEbirdLimited } from "../../../src/policy/e2bird/n_ebird.ts";

/** Section 8.2: requests at a low rate, then at a high one. */
export const LOW_REQUESTS = 150;
export const HIGH_REQUESTS = 250;
/** Section 8.2, ms. */
export const QOS_MS = 200;
export const QOS_NS = QOS_MS * NS_PER_MS;
/** Section 3.2. */
export const BATCH_MAX = 32;
/** N-Ebird's workers for it (section 7.2.1). */
export const N_EBIRD = nEbirdLimited(BATCH_MAX);
/** Section 3.2: OPT_Wait's wait for ResNet-152, and after how many requests Fig. 2's rate rises. */
export const WAIT_MS = 30;
export const REQUESTS_PER_RATE = 150;
/** Streams of the device: as many as the largest engine has workers. */
export const STREAMS = 40;
