import { exploreTests } from '@heddle/explore/vitest';
import context from './context.explore.js';
import contextLock from './context-lock.explore.js';
import entry from './entry.explore.js';
import lane from './lane.explore.js';
import multi from './multi.explore.js';
import ready from './ready.explore.js';
import sending from './sending.explore.js';
import worker from './transport-worker.explore.js';

exploreTests(lane);
exploreTests(entry);
exploreTests(context);
exploreTests(contextLock);
exploreTests(multi);
exploreTests(ready);
exploreTests(sending);
exploreTests(worker);
