import { type FileHandle, open } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { BlockReader } from './block-reader.js';
import { type Courier, type CourierOptions, type Variant, WorkerDiedError } from './courier.js';
import { HeddleCourier } from './heddle-courier.js';
import { describe } from './options.js';
import { runPipeline } from './pipeline.js';
import { PostMessageCourier } from './postmessage-courier.js';
import type { VariantMessage, VariantResult, VariantTask } from './variant.js';

/** Blocks under way for each worker: enough that none waits for the reader, few enough to keep memory small. */
const WINDOW_PER_WORKER = 4;
/** Most blocks that measuring the way alone takes; more of them would give the same figure. */
const MOVING_BLOCKS = 1024;

function createCourier(variant: Variant, options: CourierOptions): Promise<Courier> {
  if (variant === 'heddle') return HeddleCourier.create(options);
  return PostMessageCourier.create(options, variant === 'transfer');
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function run(task: VariantTask): Promise<VariantResult> {
  const { variant, job, workers, blockBytes, killAtBlock } = task;
  const window = workers * WINDOW_PER_WORKER;
  const file = task.writingPath === undefined ? undefined : await open(task.writingPath, 'w');
  const source = new BlockReader(task.files);
  const courier = await createCourier(variant, { job, workers, blockBytes, window, killAtBlock });
  try {
    const cpuBefore = process.cpuUsage();
    const startMs = performance.now();
    const { bytes, blockCrcs, crc } = await runPipeline(courier, {
      source,
      sink: file && { write: (output) => writeAll(file, output) },
      window,
      atLeastOneBlock: job === 'gzip',
      onProgress: (bytesDone) => send({ bytesDone }),
    });
    const wallMs = performance.now() - startMs;
    const cpu = process.cpuUsage(cpuBefore);
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    const account = await courier.close();
    const movingMs = await measureMoving(task, blockCrcs.length);
    return {
      bytes,
      blockCrcs: Uint32Array.from(blockCrcs),
      crc,
      wallMs,
      cpuMs: (cpu.user + cpu.system) / 1000,
      movingMs,
      peakMemoryBytes,
      account,
    };
  } finally {
    await courier.close();
    await source.close();
    await file?.close();
  }
}

/** Sends so many blocks of nothing, and scales the time to the number of real ones. */
async function measureMoving({ variant, workers, blockBytes }: VariantTask, blocks: number): Promise<number> {
  const window = workers * WINDOW_PER_WORKER;
  const courier = await createCourier(variant, { job: 'move', workers, blockBytes, window });
  try {
    const moved = Math.min(blocks, MOVING_BLOCKS);
    let left = moved;
    const startMs = performance.now();
    await runPipeline(courier, { source: { read: () => (left-- > 0 ? blockBytes : 0) }, window });
    return moved === 0 ? 0 : ((performance.now() - startMs) * blocks) / moved;
  } finally {
    await courier.close();
  }
}

function send(message: VariantMessage): void {
  process.send?.(message);
}

process.once('message', (task: VariantTask) => {
  run(task).then(
    (result) => process.send!({ result } satisfies VariantMessage, () => process.disconnect()),
    (error: unknown) => {
      const leftOver = error instanceof WorkerDiedError ? error.leftOver : undefined;
      const death = leftOver && { worker: (error as WorkerDiedError).worker, ...leftOver };
      process.send!({ failed: describe(error), death } satisfies VariantMessage, () => process.exit(1));
    },
  );
});
// The demonstration ended without us.
process.once('disconnect', () => process.exit());
