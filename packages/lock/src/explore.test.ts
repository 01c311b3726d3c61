import { exploreTests } from '@heddle/explore/vitest';
import { models as conditionModels } from './condition.explore.js';
import { models as exclusionModels } from './exclusion.explore.js';
import { models as rwLockModels } from './rw-lock.explore.js';
import { models as seqLockModels } from './seq-lock.explore.js';
import { models as signallingModels } from './signalling.explore.js';

exploreTests(exclusionModels);
exploreTests(signallingModels);
exploreTests(conditionModels);
exploreTests(rwLockModels);
exploreTests(seqLockModels);
