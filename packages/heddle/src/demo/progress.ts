import { Presets, SingleBar } from 'cli-progress';
import { formatBytes } from './format.js';

/** A progress bar on a terminal, nothing elsewhere. */
export class Progress {
  readonly #bar: SingleBar | undefined;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    if (!stream.isTTY) return;
    this.#bar = new SingleBar(
      {
        stream,
        format: '{phase} {bar} {percentage}%  {done} of {all}',
        hideCursor: true,
        clearOnComplete: true,
        barsize: 30,
      },
      Presets.shades_classic,
    );
  }

  /** Begins a phase over so many bytes. Returns what to call with the bytes done. */
  begin(phase: string, bytes: number): (bytesDone: number) => void {
    const all = formatBytes(bytes);
    this.#bar?.start(Math.max(bytes, 1), 0, { phase: phase.padEnd(24), done: formatBytes(0), all });
    return (bytesDone) => this.#bar?.update(bytesDone, { done: formatBytes(bytesDone) });
  }

  end(): void {
    this.#bar?.stop();
  }
}
