import { workerData } from 'node:worker_threads';
import { Context, Idle } from '@heddle/transport';
import { type HeddleWorkerData, headerOf, MESSAGE, readHeader } from './heddle-messages.js';
import { runJob } from './job.js';

const { heddle, main, job } = workerData as HeddleWorkerData;
const context = Context.attach(heddle);
// There are more threads than cores: whoever polls takes one from who works.
const worker = context.createWorker({ idle: Idle.park() });
const answers = worker.connect(main);
let ended = false;

worker.on(MESSAGE.block, (message) => {
  const [sequence, byteLength] = readHeader(message);
  const { crc, output } = runJob(job, message.data.subarray(0, byteLength));
  // The reader got this block's slot, and it goes back from here, when the handler returns.
  answers.send(MESSAGE.answer, output, headerOf(sequence, crc));
});
worker.on(MESSAGE.end, () => {
  ended = true;
});

answers.send(MESSAGE.ready);
while (!ended) {
  worker.wait();
  worker.progress();
}
void context.close();
