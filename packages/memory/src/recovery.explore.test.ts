import { exploreTests } from '@heddle/explore/vitest';
import models from './recovery.explore.js';

exploreTests(models);
