// What a program looks like that is bundled: it starts a worker that dies with a lock, and asks for the lock.
import { Worker } from 'node:worker_threads';
import { HeddleError, Mutex, Segment } from '@heddle/lock';

console.log('started');

const [detector] = process.argv.slice(2);
let segment: Segment;
try {
  segment = Segment.create({ janitor: detector === 'janitor' });
} catch (error) {
  if (!(error instanceof HeddleError)) throw error;
  console.log(error.code);
  process.exit();
}
const mutex = Mutex.create(segment, { name: 'mutex' });
const { handle, transferList } = detector === 'janitor' ? segment.lifeline() : { handle: segment.handle };
const worker = new Worker(new URL('./program.test-worker.js', import.meta.url), {
  workerData: handle,
  transferList,
});
if (detector === 'watch') segment.watch(worker);
worker.once('message', async () => {
  const guard = await mutex.lockAsync();
  console.log(guard.outcome);
  guard.release();
});
