import {
  ABORT,
  type Choice,
  choice,
  choiceAlternative,
  choiceKind,
  choiceThread,
  KILL,
  STEP,
  STRAY_WAKE,
  TIME_OUT,
} from './choice.js';

/**
 * A step of a schedule that is given from outside. A hint read is given by the value that it gave, since the number of
 * the alternative depends on what else has been explored.
 */
export interface ScheduleStep {
  readonly choice: Choice;
  readonly hintValue?: number;
}

const letters: Readonly<Record<number, string>> = {
  [STEP]: '',
  [KILL]: 'k',
  [TIME_OUT]: 't',
  [STRAY_WAKE]: 's',
  [ABORT]: 'a',
};

/**
 * A schedule as a string: for each step the number of its thread, `k` before it for a death, `t` for a time-out,
 * `s` for a stray wake, `a` for an abort; `=2` after it for the answer chosen, `~7` for the value of a hint, `x3` for
 * three such steps in a row.
 */
export function encodeSchedule(schedule: readonly ScheduleStep[]): string {
  const steps = schedule.map(encodeStep);
  const parts: string[] = [];
  for (let at = 0; at < steps.length; ) {
    let times = 1;
    while (steps[at + times] === steps[at]) times++;
    parts.push(`${steps[at]}${times === 1 ? '' : `x${times}`}`);
    at += times;
  }
  return parts.join('.');
}

function encodeStep({ choice: step, hintValue }: ScheduleStep): string {
  const start = `${letters[choiceKind(step)]}${choiceThread(step)}`;
  if (hintValue !== undefined) return `${start}~${hintValue}`;
  const alternative = choiceAlternative(step);
  return alternative === 0 ? start : `${start}=${alternative}`;
}

/**
 * The schedule that a string stands for.
 *
 * @throws TypeError where it is none.
 */
export function decodeSchedule(text: string): ScheduleStep[] {
  const schedule: ScheduleStep[] = [];
  if (text === '') return schedule;
  for (const part of text.split('.')) {
    const match = /^([ktsa]?)(\d+)(?:=(\d+)|~(-?\d+))?(?:x(\d+))?$/.exec(part);
    if (match === null) throw new TypeError(`"${part}" is no step of a schedule, such as 0, k1 or 2x3`);
    const [, letter, thread, alternative, hintValue, times] = match;
    const kind = Number(Object.keys(letters).find((key) => letters[Number(key)] === letter));
    const step: ScheduleStep = {
      choice: choice(kind, Number(thread), Number(alternative ?? 0)),
      ...(hintValue === undefined ? {} : { hintValue: Number(hintValue) }),
    };
    for (let count = Number(times ?? 1); count > 0; count--) schedule.push(step);
  }
  return schedule;
}
