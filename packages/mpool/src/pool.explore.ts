import type { End, Model } from '@heddle/explore';
import { realPlatform } from '@heddle/memory';
import { auditPool } from './audit.js';
import { NONE } from './descriptor.js';
import { CLOSED, CLOSING, mpoolLayout } from './mpool.layout.js';
import { type Body, IDS, list, model, type Player, SECOND, Subject, sharded } from './pool-player.explore.js';

export const getAndPut: Body = (player) => {
  player.put(player.take());
  player.flush();
};

const getPutGet: Body = (player) => {
  player.put(player.take());
  return kept(player, player.take());
};

const waitAndPut: Body = (player) => {
  player.put(player.wait());
  player.flush();
};

const getAndKeep: Body = (player) => kept(player, player.take());

/** Gets one here, to be put there. */
export const getAndSend: Body = (player) => {
  const descriptor = player.wait();
  player.unmark(descriptor);
  player.send(0, descriptor);
};

export const receiveAndPut: Body = (player) => {
  player.put(player.receive(0));
  player.flush();
};

/** The same, and gets and puts another one meanwhile. */
const sendAndGoOn: Body = (player) => {
  getAndSend(player);
  getAndPut(player);
};

/** Its getter may die, then it has come back and is refused. */
const receiveAndTryPut: Body = (player) => {
  const descriptor = player.receive(0);
  if (descriptor !== NONE) putMaybeAgain(player, descriptor);
};

/** Gets one, gives it to the second thread, and leaves. */
const detachAndSend =
  (to: number): Body =>
  (player) => {
    const descriptor = player.take();
    player.unmark(descriptor);
    if (player.detach(descriptor, to)) player.send(0, descriptor);
    else player.put(descriptor);
  };

const receiveAndAdopt: Body = (player) => {
  const descriptor = player.receive(0);
  if (descriptor === NONE) return [];
  if (!player.adopt(descriptor)) {
    player.unmark(descriptor);
    return [];
  }
  return kept(player, descriptor);
};

/** For the mail: there will be no descriptor. */
const NOTHING = -2;

const detachAndSendUnlessClosed: Body = (player) => {
  const descriptor = player.take();
  if (descriptor === NONE) player.send(0, NOTHING);
  else {
    player.unmark(descriptor);
    if (player.detach(descriptor, SECOND)) player.send(0, descriptor);
    else player.put(descriptor);
  }
  player.flush();
};

const receiveAdoptAndPut: Body = (player) => {
  const [descriptor = NONE] = receiveAndAdopt(player) as number[];
  player.put(descriptor);
  player.flush();
};

function kept(player: Player, descriptor: number): number[] {
  player.flush();
  return descriptor === NONE ? [] : [descriptor];
}

/** Puts what another thread may have put as well. Returns how often that was accepted. */
function putMaybeAgain(player: Player, descriptor: number): number {
  player.unmark(descriptor);
  const accepted = player.tryPut(descriptor) ? 1 : 0;
  player.flush();
  return accepted;
}

/** Bounds a search that is too large for every test run; a deep run has no bound. */
const bounded = {
  search: { preemptions: 2 },
  deep: { search: { preemptions: Number.POSITIVE_INFINITY, maxStates: 200_000_000 } },
} satisfies Partial<Model>;

/** The same for the largest ones. */
const narrow = { ...bounded, search: { preemptions: 1 } } satisfies Partial<Model>;

/** The same for three threads that take every latch. */
const sampled = {
  search: { strategy: 'pct', schedules: 300 },
  deep: { search: { strategy: 'exhaustive', preemptions: 1 } },
} satisfies Partial<Model>;

/**
 * Models that every policy passes.
 *
 * @param more for those in which lease words are read that other threads are about to change. Recovery, repair and
 *   close read them all, and decide only about those that nobody else may change; words are read whole.
 */
function common(make: (slots: number) => Subject, more: Partial<Model> = {}): Model[] {
  const { policy, shape } = make(1).plan;
  const hasMagazines = shape.seats > 0;
  return [
    model(make(2), 'two threads get, put and get (PL-01)', [getPutGet, getPutGet]),
    model(make(2), 'three threads get and put (PL-01)', [getAndPut, getAndPut, getAndPut], bounded),
    model(
      make(1),
      'here got and there put, and got again (PL-05)',
      [getAndSend, receiveAndPut, waitAndPut],
      hasMagazines ? bounded : {},
    ),
    model(make(1), 'two wait for one slot', [waitAndPut, waitAndPut], {
      strayWakes: 1,
      // As with one list, but for the second one.
      ...(policy === 'sharded' && !hasMagazines ? bounded : {}),
    }),
    model(
      make(1),
      'a task that may be given up, and two threads',
      [waitAndPut, (player) => player.put(player.drive({ timeoutMs: 5, abortable: true })), waitAndPut],
      bounded,
    ),
    putTwice(make(1)),
    model(make(1), 'audited while another one gets and puts', [getAndPut, (player) => player.audit()], {
      ...more,
    }),
    model(make(1), 'closed while another one gets and puts', [getAndPut, (player) => player.close()], more),
    model(
      make(1),
      'closed by who waits until another thread has put what it has',
      [getAndPut, (player) => player.closeWaiting()],
      {
        ...more,
        check: (end) => (end.results[1] === true ? make(1).lists(end) : 'Not closed'),
        ...(hasMagazines ? bounded : {}),
      },
    ),
    model(
      make(1),
      'who waits for a slot is told that another one waits until it can close',
      [
        (player) => {
          getAndSend(player);
          return player.closeWaiting();
        },
        waitAndSay,
        (player) => {
          player.told(1);
          receiveAndPut(player);
        },
      ],
      {
        ...more,
        ...narrow,
        check: (end) => (end.results[0] === true ? make(1).lists(end) : 'Not closed'),
      },
    ),
    model(
      make(1),
      'closed, and noticed by another one while its elements are ended, with a death at every step',
      [(player) => player.close(), (player) => player.notice()],
      {
        kills: 1,
        ...more,
        ...narrow,
        check: (end) => {
          const subject = make(1);
          const gone = end.words[subject.ranges]! % 32 === 0;
          const closed = end.words[mpoolLayout.offsets.closed] === CLOSED;
          return gone === closed ? subject.lists(end) : `Closed: ${closed}, its memory is gone: ${gone}`;
        },
      },
    ),
    closedUnderGetter(make(1), { ...more, ...narrow }),
    model(
      make(1),
      'a death at every step of who waits until it can close, and of who has something',
      [getAndPut, (player) => player.closeWaiting()],
      {
        kills: 1,
        ...more,
        ...narrow,
        check: (end) => openAfterDeath(make(1), end),
      },
    ),
    model(
      make(1),
      'two wait until they can close, another one has something, and any of them dies',
      [getAndPut, (player) => player.closeWaiting(), (player) => player.closeWaiting()],
      {
        kills: 1,
        ...more,
        ...sampled,
        check: (end) => closedByLiving(make(1), end),
      },
    ),
    model(
      make(1),
      'two wait until they can close, and one gives that up',
      [getAndPut, (player) => player.closeWaiting(), (player) => player.closeWaiting(5) || true],
      {
        ...more,
        ...bounded,
        check: (end) => closedByLiving(make(1), end),
      },
    ),
    model(
      make(1),
      'who waits until it can close waits also for what is sent, and adopted meanwhile',
      [detachAndSendUnlessClosed, receiveAdoptAndPut, (player) => player.closeWaiting()],
      {
        kills: 1,
        // What is sent and nobody heard of comes back when its receiver ends.
        killable: [1, 2],
        ...more,
        ...(hasMagazines ? sampled : narrow),
        check: (end) => closedByLiving(make(1), end),
      },
    ),
    model(
      make(1),
      'closed by force while another one gets and puts',
      [getAndPut, (player) => player.close(true)],
      more,
    ),
    model(make(1), 'a death at every step', [getAndPut, getAndKeep], {
      kills: 1,
      ...more,
      ...(hasMagazines ? narrow : {}),
    }),
    model(make(1), 'a death at every step, of who holds or who waits', [waitAndPut, waitAndPut], {
      kills: 1,
      ...more,
      ...narrow,
    }),
    model(make(1), 'two deaths, the second of who recovers', [getAndPut], { kills: 2, ...more }),
    ...(hasMagazines
      ? []
      : [model(make(1), 'two deaths of three', [getAndKeep, getAndKeep], { kills: 2, ...more, ...narrow })]),
    model(
      make(1),
      'sent to a thread, and a death at every step (PL-08)',
      [detachAndSend(SECOND), receiveAndAdopt],
      {
        kills: 1,
        ...more,
        ...(hasMagazines ? bounded : {}),
      },
    ),
    model(make(1), 'given to anyone, and a death of who gave', [detachAndSend(0), receiveAndAdopt], {
      kills: 1,
      killable: [0],
      ...more,
    }),
  ];
}

/** Where who waits until it can close gives that up, the pool is as before. */
function closedUnderGetter(subject: Subject, more: Partial<Model>): Model {
  return model(
    subject,
    'one waits until it can close, and gives that up, while another one waits for a slot',
    [
      (player) => {
        const descriptor = player.take();
        if (descriptor === NONE) return 'none';
        player.closeWaiting(5);
        player.put(descriptor);
        player.flush();
        return player.state();
      },
      (player) => {
        player.put(player.wait());
        player.flush();
      },
    ],
    {
      ...more,
      check: (end) =>
        end.results[0] === 'none' || end.results[0] === 0 ? subject.check(end) : `In state ${end.results[0]}`,
    },
  );
}

/** What is out is put only when who waits for it was told that nothing is given out any more. */
const waitAndSay: Body = (player) => {
  player.put(player.wait());
  player.flush();
  player.send(1, 0);
};

/** Who waited until it could close, lives, and did not give that up, has closed it; nobody waits any more. */
function closedByLiving(subject: Subject, end: End): string | undefined {
  const unclosed = end.results.findIndex((result, i) => !end.dead[i] && result === false);
  return unclosed >= 0 ? `Thread ${unclosed} has not closed it` : openAfterDeath(subject, end);
}

/** Where who waited until it could close is dead, and did not close it, the pool is open. */
function openAfterDeath(subject: Subject, end: End): string | undefined {
  const state = end.words[mpoolLayout.offsets.closed]!;
  return state === CLOSING ? 'Nobody waits any more until it can be closed' : subject.lists(end);
}

/** The second put is refused at the call, or when it is sent off; with `exact` only at the call. */
function putTwice(subject: Subject, exact = false): Model {
  return model(
    subject,
    'one descriptor put by two threads (PL-03)',
    [
      (player) => {
        const descriptor = player.take();
        player.unmark(descriptor);
        player.send(0, descriptor);
        const accepted = player.tryPut(descriptor) ? 1 : 0;
        player.flush();
        return accepted;
      },
      (player) => putMaybeAgain(player, player.receive(0)),
    ],
    {
      // Who puts what somebody else may have put reads a lease that may change.
      races: false,
      check: (end) => {
        const { pool, shards } = subject.over(end.words, IDS - 1, realPlatform);
        const { put, refused, putTwice: late, outstanding } = auditPool(pool, shards);
        const accepted = end.results.reduce<number>((sum, result) => sum + Number(result), 0);
        if (outstanding !== 0 || put !== 1) return `put ${put}, outstanding ${outstanding}`;
        if (exact && late.length > 0) return `refused late: ${JSON.stringify(late)}`;
        if (accepted - late.length !== 1) return `${accepted} accepted, ${late.length} refused late`;
        return refused === late.length ? subject.check(end) : `refused ${refused}`;
      },
    },
  );
}

const growing = list(2, { elemsPerChunk: 1 }, 0);

/** With shards, and none of its slots there at first. */
function shardedGrowing(magazine: number): Subject {
  const { name, plan } = sharded(2, magazine);
  return new Subject(name, plan, 0);
}

const grown = list(2, { elemsPerChunk: 1 });

/** What marks decide, with a death at every step, and of who recovers. */
function checked(subject: Subject): Model[] {
  const { races, kills } = { races: false, kills: 1 };
  return [
    putTwice(subject, true),
    model(subject, 'got here and put there, while the getter goes on', [sendAndGoOn, receiveAndPut], {
      races,
    }),
    model(subject, 'a death at every step', [getAndPut, getAndKeep], { races, kills, ...narrow }),
    model(subject, 'a death of who puts what another one got', [getAndSend, receiveAndPut], {
      races,
      kills,
      killable: [1],
    }),
    model(subject, 'a death of who got what another one puts', [getAndSend, receiveAndTryPut], {
      races,
      kills,
      killable: [0],
    }),
    model(subject, 'the same, and a third one gets it', [getAndSend, receiveAndTryPut, waitAndPut], {
      races,
      kills,
      killable: [0],
      ...bounded,
      search: { preemptions: 0 },
    }),
    model(subject, 'two deaths, the second of who recovers', [getAndPut], { races, kills: 2 }),
  ];
}

const models = [
  ...common(list),
  model(grown, 'chunks given back while another one gets and puts', [getPutGet, (player) => player.shrink()]),
  model(
    grown,
    'chunks given back and taken again, while a third one looks at all',
    [
      getAndKeep,
      (player) => {
        player.shrink();
        return kept(player, player.take());
      },
      (player) => player.audit(),
    ],
    narrow,
  ),
  model(grown, 'chunks given back, and a death at every step', [getAndKeep, (player) => player.shrink()], {
    kills: 1,
    ...bounded,
  }),
  model(
    grown,
    'chunks given back and taken again, and a death at every step',
    [
      (player) => {
        player.shrink();
        return kept(player, player.take());
      },
    ],
    { kills: 2 },
  ),
  model(growing, 'two threads make it grow', [getAndKeep, getAndKeep], bounded),
  ...[0, 1].map((magazine) =>
    model(
      shardedGrowing(magazine),
      'two threads make it grow, and a death at every step',
      [getAndKeep, getAndKeep],
      {
        kills: 1,
        races: false,
        hints: [],
        ...narrow,
      },
    ),
  ),
  model(growing, 'growth, and a death at every step', [getAndKeep, getAndKeep], {
    kills: 1,
    killable: [0],
    ...bounded,
  }),
  ...common((slots) => sharded(slots, 1), { races: false, hints: [] }),
  ...common((slots) => sharded(slots, 0), { races: false }),
  ...checked(sharded(1, 1, { checked: 'exact' })),
  ...checked(sharded(1, 1, { debug: true })),
];

export default models;
