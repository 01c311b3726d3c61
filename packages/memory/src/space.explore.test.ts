import { exploreTests } from '@heddle/explore/vitest';
import models from './space.explore.js';

exploreTests(models);
