import { exploreTests } from '@heddle/explore/vitest';
import waits from './get-steps.explore.js';
import lanes from './lanes.explore.js';
import latch from './latch.explore.js';
import models from './pool.explore.js';
import story from './pool-story.explore.js';
import users from './pool-users.explore.js';

exploreTests([...waits, ...story, ...models, ...lanes, ...users, ...latch]);
