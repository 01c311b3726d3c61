import { exploreTests } from '@heddle/explore/vitest';
import models from './waiter.explore.js';

exploreTests(models);
