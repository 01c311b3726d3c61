import type { Model } from '@heddle/explore';
import { realPlatform } from '@heddle/memory';
import { auditPool } from './audit.js';
import { NONE } from './descriptor.js';
import { type Body, IDS, laned, model, type Player, SECOND, type Subject } from './pool-player.explore.js';

/** Gets one and passes it on in a box. */
function getAndPass(player: Player, box: number): void {
  const descriptor = player.wait();
  player.unmark(descriptor);
  player.send(box, descriptor);
}

function keep(player: Player, descriptor: number): number[] {
  player.flush();
  return descriptor === NONE ? [] : [descriptor];
}

/** Gets `count`, passes them on, and then gets what it can: from lanes to its own shard. */
const passAndGet =
  (count: number): Body =>
  (player) => {
    for (let box = 0; box < count; box++) getAndPass(player, box);
    return keep(player, player.take());
  };

const waitAndPut: Body = (player) => {
  player.put(player.wait());
  player.flush();
};

/** Puts what was passed on into the lane to the getter's shard. Where the getter has died, it may have come back. */
const putPassed =
  (count: number): Body =>
  (player) => {
    for (let box = 0; box < count; box++) putMaybeAgain(player, player.receive(box), false);
    player.flush();
  };

/** The same, and then gets: a thief, since its own shard is empty. */
const putPassedAndGet: Body = (player) => {
  putMaybeAgain(player, player.receive(0), false);
  return keep(player, player.take());
};

/** Collects what is on its way, with an id that shares the getter's shard. */
const takeOne: Body = (player) => keep(player, player.take());

/** Puts, says so, and sends off. */
const putAndSay: Body = (player) => {
  const descriptor = player.receive(0);
  player.put(descriptor);
  player.send(1, descriptor);
  player.flush();
};

/** Passes one on, and waits until it is put, by `putAndSay`. */
function passUntilPut(player: Player): void {
  getAndPass(player, 0);
  player.unmark(player.receive(1));
}

/** Passes the only one on, and gets it again, whatever becomes of who was to put it. */
const passAndWait: Body = (player) => {
  const descriptor = player.wait();
  player.unmark(descriptor);
  player.send(0, descriptor);
  if (player.receive(1) === NONE) putMaybeAgain(player, descriptor);
  else player.unmark(descriptor);
  return keep(player, player.wait());
};

/** Lease words are read that others are about to change: the lane's shard decides only about those that it governs. */
const whole = { races: false, hints: [] } satisfies Partial<Model>;

const searched = {
  ...whole,
  search: { preemptions: 2 },
  deep: { search: { preemptions: Number.POSITIVE_INFINITY, maxStates: 200_000_000 } },
} satisfies Partial<Model>;

const killed = { ...searched, kills: 1, search: { preemptions: 1 } } satisfies Partial<Model>;

/** Puts a descriptor that others put as well. Returns how often that was accepted. */
function putMaybeAgain(player: Player, descriptor: number, flush = true): number {
  if (descriptor === NONE) return 0;
  player.unmark(descriptor);
  const accepted = player.tryPut(descriptor) ? 1 : 0;
  if (flush) player.flush();
  return accepted;
}

/** One put counts, whoever was first; the others are refused, at the call or by whoever collects them. */
function oneCounts(subject: Subject, more: (end: Parameters<Subject['check']>[0]) => number[]) {
  return (end: Parameters<Subject['check']>[0]) => {
    const { pool, shards } = subject.over(end.words, IDS - 1, realPlatform);
    const { put, refused, putTwice, outstanding } = auditPool(pool, shards);
    const accepted = more(end).reduce((sum, count) => sum + count, 0);
    if (outstanding !== 0 || put !== 1) return `put ${put}, outstanding ${outstanding}`;
    if (accepted - putTwice.length !== 1 || refused !== putTwice.length) {
      return `${accepted} accepted, ${putTwice.length} refused late, ${refused} refused`;
    }
    return subject.check({ ...end, results: [] });
  };
}

/** A descriptor put by who got it and by another thread, while a third gets: from the list, the lane, or the seat. */
function splitPut(subject: Subject): Model {
  return model(
    subject,
    'one descriptor put by its getter and by another thread, while a thief collects (PL-03)',
    [
      (player) => {
        const descriptor = player.take();
        player.unmark(descriptor);
        player.send(0, descriptor);
        return putMaybeAgain(player, descriptor);
      },
      (player) => putMaybeAgain(player, player.receive(0)),
      (player) => {
        player.audit();
        return 0;
      },
    ],
    { ...searched, check: oneCounts(subject, ({ results }) => results.map(Number)) },
  );
}

/** Puts one into a lane, gives the same slot away when it is got again, and keeps what it can get. */
const passAndGiveAway: Body = (player) => {
  getAndPass(player, 0);
  const descriptor = player.wait();
  player.unmark(descriptor);
  if (player.detach(descriptor, SECOND)) player.send(1, descriptor);
  return keep(player, player.take());
};

/** Puts what was passed on, and without adopting it what was given: at the call that is one like the other. */
const putPassedAndGiven: Body = (player) => {
  for (const box of [0, 1]) putMaybeAgain(player, player.receive(box));
};

/** The same with what is there, which nobody else gets: small enough to look at every schedule. */
const takeAndPass: Body = (player) => {
  const descriptor = player.take();
  player.unmark(descriptor);
  player.send(0, descriptor);
};

const takePassAndGet: Body = (player) => {
  takeAndPass(player);
  return keep(player, player.take());
};

const one = laned(1);
const two = laned(2);

export default [
  model(one, 'put into a lane, against its owner', [passAndGet(1), putPassed(1)], whole),
  model(one, 'put into a lane, against its owner and a thief', [passAndGet(1), putPassedAndGet], whole),
  model(two, 'a full lane, against its owner', [passAndGet(2), putPassed(2)], whole),
  model(laned(2, 2, 2), 'two puts in a batch, one by flush', [passAndGet(2), putPassed(2)], whole),
  model(one, 'put into a lane, and a death of the putter', [takeAndPass, putPassed(1)], {
    ...whole,
    kills: 1,
    killable: [1],
  }),
  model(one, 'put into a lane, and a death of the getter', [takeAndPass, putPassed(1)], {
    ...whole,
    kills: 1,
    killable: [0],
  }),
  model(one, 'put into a lane, and a death of who collects', [takePassAndGet, putPassed(1)], {
    ...whole,
    kills: 1,
    killable: [0],
  }),
  model(one, 'put into a lane, and a death at every step', [passAndGet(1), putPassedAndGet], killed),
  model(two, 'a full lane, and a death at every step', [passAndGet(2), putPassed(2)], killed),
  model(laned(2, 2, 2), 'a batch, and a death at every step', [passAndGet(2), putPassed(2)], killed),
  model(one, 'put into a lane, and two deaths, the second of who recovers', [passAndGet(1), putPassed(1)], {
    ...killed,
    kills: 2,
    search: { preemptions: 0 },
  }),
  model(one, 'given away, and put without being adopted', [passAndGiveAway, putPassedAndGiven], whole),
  model(
    one,
    'given away, put without being adopted, and a death at every step of who gave it',
    [passAndGiveAway, putPassedAndGiven],
    { ...killed, killable: [0] },
  ),
  model(
    two,
    'a death of who collects is not taken for a second put',
    [passAndGet(1), putPassed(1), takeOne],
    {
      ...killed,
      killable: [2],
      check: (end) => {
        const { pool, shards } = two.over(end.words, IDS - 1, realPlatform);
        const { refused } = auditPool(pool, shards);
        return refused > 0 ? `${refused} refused` : two.check(end);
      },
    },
  ),
  splitPut(one),
  model(
    one,
    'a getter that sleeps is woken by a put into a lane',
    [(player) => getAndPass(player, 0), putPassed(1), waitAndPut],
    { ...searched, strayWakes: 1, search: { preemptions: 1 } },
  ),
  model(laned(1, 2, 2), 'what a dead thread has put comes back', [passAndWait, putAndSay], {
    ...killed,
    killable: [1],
  }),
  model(
    laned(1, 2, 2),
    'closed while another thread puts what it was passed',
    [
      (player) => {
        getAndPass(player, 0);
        player.close();
      },
      (player) => player.put(player.receive(0)),
    ],
    { ...whole, check: (end) => one.lists(end) },
  ),
  model(
    laned(1, 2, 2),
    'what was put before is not out for who closes, while its putter sends it off',
    [
      (player) => {
        passUntilPut(player);
        if (!player.close()) throw new Error('It cannot be closed, and nothing is out');
      },
      putAndSay,
    ],
    { ...whole, check: (end) => one.lists(end) },
  ),
  model(
    laned(1, 2, 2),
    'what was put before is not out for who looks, while its putter sends it off',
    [
      (player) => {
        passUntilPut(player);
        const { outstanding } = player.audit();
        if (outstanding > 0) throw new Error(`${outstanding} outstanding`);
      },
      putAndSay,
    ],
    whole,
  ),
  model(
    one,
    'adopted, and put by a third thread: the lane leads to who adopted it',
    [
      (player) => {
        const descriptor = player.take();
        player.unmark(descriptor);
        if (player.detach(descriptor, SECOND)) player.send(0, descriptor);
      },
      (player) => {
        const descriptor = player.receive(0);
        if (!player.adopt(descriptor)) throw new Error('Not adopted');
        player.unmark(descriptor);
        player.send(1, descriptor);
      },
      (player) => {
        player.put(player.receive(1));
        player.flush();
      },
    ],
    whole,
  ),
] satisfies Model[];
