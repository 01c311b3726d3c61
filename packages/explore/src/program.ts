import { type Model, recoveriesOf, type ThreadBody } from './model.js';
import type { Role } from './thread-runner.js';
import { placedLayouts, WordNames } from './word-names.js';

/** A model, checked and resolved: names became numbers, defaults were filled in. */
export interface Program {
  readonly model: Model;
  readonly wordCount: number;
  readonly names: WordNames;
  /** Threads of the model, without those that recover. */
  readonly threadCount: number;
  /** Recovery bodies that start at each death. */
  readonly recoverers: number;
  /** Places for threads: those of the model, then one for each recovery that may start. */
  readonly slots: number;
  /**
   * What threads run: first the threads of the model; then, for each place of a recovering thread and each thread that
   * may have died, the recovery body of that place for that thread.
   */
  readonly roles: readonly Role[];
  readonly killable: readonly boolean[];
  /** 1 for words declared a hint. */
  readonly hints: Uint8Array;
  readonly kills: number;
  readonly strayWakes: number;
  readonly timeouts: boolean;
  readonly clockJumps: readonly number[];
  readonly maxClockJumps: number;
  readonly randoms: readonly number[];
  readonly races: boolean;
  readonly maxThreadSteps: number;
  readonly spinSteps: number;
  readonly preemptions: number;
}

/**
 * Resolves a model.
 *
 * @throws TypeError or RangeError where it names a word or a thread that is not there.
 */
export function compileModel(model: Model): Program {
  const layouts = placedLayouts(model.layout);
  const laidOut = layouts.reduce((end, { at, layout }) => Math.max(end, at + layout.wordCount), 0);
  const wordCount = model.words ?? laidOut;
  if (wordCount < laidOut) {
    throw new RangeError(
      `Model "${model.name}": ${wordCount} words do not hold its layouts, which need ${laidOut}`,
    );
  }
  const names = new WordNames(layouts, model.names ?? {});
  const bodies = namedBodies(model);
  const threadCount = bodies.length;
  const recoveries = recoveriesOf(model);
  const kills = model.kills ?? 0;
  const roles: Role[] = bodies.map(([name, body], index) => ({ index, name, body }));
  const slots = threadCount + kills * recoveries.length;
  for (let slot = threadCount; slot < slots; slot++) {
    const body = recoveries[(slot - threadCount) % recoveries.length]!;
    const suffix = slots === threadCount + 1 ? '' : ` #${slot - threadCount + 1}`;
    for (let dead = 0; dead < threadCount; dead++) {
      roles.push({
        index: slot,
        name: `recovery of ${bodies[dead]![0]}${suffix}`,
        body: (thread) => body(thread, dead),
      });
    }
  }
  const { killable } = model;
  const mayDie = Array.from({ length: slots }, () => killable === undefined);
  for (const thread of killable ?? []) mayDie[threadIndex(model, bodies, thread)] = true;
  // Whatever may be killed in the model, a recovery may die too.
  mayDie.fill(true, threadCount);

  const hints = new Uint8Array(wordCount);
  for (const hint of model.hints ?? []) {
    const index = typeof hint === 'number' ? hint : names.indexOf(hint);
    if (index === undefined || !(index >= 0 && index < wordCount)) {
      throw new RangeError(`Model "${model.name}": the hint ${hint} is no word of it`);
    }
    hints[index] = 1;
  }

  const search = model.search ?? {};
  return {
    model,
    wordCount,
    names,
    threadCount,
    recoverers: recoveries.length,
    slots,
    roles,
    killable: mayDie,
    hints,
    kills,
    strayWakes: model.strayWakes ?? 0,
    timeouts: model.timeouts ?? true,
    clockJumps: model.clockJumps ?? [],
    maxClockJumps: model.maxClockJumps ?? 1,
    randoms: model.randoms ?? [0],
    races: model.races ?? true,
    maxThreadSteps: search.maxThreadSteps ?? 1000,
    spinSteps: search.spinSteps ?? 200,
    preemptions: search.preemptions ?? Number.POSITIVE_INFINITY,
  };
}

function namedBodies(model: Model): [name: string, body: ThreadBody][] {
  const { threads } = model;
  if (!Array.isArray(threads)) return Object.entries(threads as Record<string, ThreadBody>);
  return (threads as readonly ThreadBody[]).map((body, index) => [`T${index}`, body]);
}

function threadIndex(model: Model, bodies: readonly [string, ThreadBody][], thread: number | string): number {
  const index = typeof thread === 'number' ? thread : bodies.findIndex(([name]) => name === thread);
  if (!(index >= 0 && index < bodies.length)) {
    throw new RangeError(`Model "${model.name}": the killable thread ${thread} is none of its threads`);
  }
  return index;
}
