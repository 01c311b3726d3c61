import { parentPort, workerData } from 'node:worker_threads';
import { HeddleError, Segment } from '@heddle/memory';
import { Mpool } from '@heddle/mpool';
import { type RingRecord, SpscRing } from '@heddle/ring';
import { answersRing, BLOCK_POOL, type HeddleWorkerData, OUTPUT_POOL, tasksRing } from './heddle-names.js';
import { runJob } from './job.js';

const { segment: handle, index, job, main } = workerData as HeddleWorkerData;
const segment = Segment.attach(handle);
const blocks = Mpool.open(segment, BLOCK_POOL);
const outputs = job === 'gzip' ? Mpool.open(segment, OUTPUT_POOL) : undefined;
const tasks = SpscRing.open(segment, tasksRing(index)).consumer();
const answerRing = SpscRing.open(segment, answersRing(index));
const answers = answerRing.producer();

/** The next task, undefined when there will be none. */
function next(): RingRecord | undefined {
  try {
    return tasks.read();
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED') return undefined;
    throw error;
  }
}

parentPort!.postMessage(segment.thread.token);
for (let task = next(); task; task = next()) {
  const sequence = task.tag;
  const block = task.word(0);
  const byteLength = task.word(1);
  blocks.adopt(block);
  const { crc, output } = runJob(job, blocks.bytes(block).subarray(0, byteLength));
  // The reader got this block, and it goes back from here.
  blocks.put(block);
  let result = 0;
  if (outputs && output.byteLength > 0) {
    result = outputs.get();
    outputs.bytes(result).set(output);
    outputs.detach(result, main);
  }
  if (!answers.tryWriteWords(sequence, crc | 0, result, output.byteLength)) {
    throw new Error('The ring of answers is full, though it has room for every block under way');
  }
}
answerRing.close();
segment.detach();
